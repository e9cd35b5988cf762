/* One whole run: the command's streams as pipes of ours, spawn, supervision. */
#include "audit.h"
#include "cleanup.h"
#include "notify.h"
#include "observe.h"
#include "../platform.h"
#include "../../core/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>

struct pipes {
	int in[2], out[2], err[2]; /* [0] is read, [1] is written */
	int source_fd;		   /* the file that standard input is copied from */
	int cancel_fd, wake_fd;
};

#define NO_PIPES                                                                                                        \
	{                                                                                                               \
		.in = { -1, -1 }, .out = { -1, -1 }, .err = { -1, -1 }, .source_fd = -1, .cancel_fd = -1, .wake_fd = -1 \
	}

/* A run that is looked after a step at a time. */
struct pc_running {
	struct pc_supervisor *supervisor;
	struct pipes pipes;
	char *input; /* on its way to the command */
};

static void close_pair(int pair[2])
{
	int i;

	for (i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pc_take_fd(&pair[i]));
}

static void close_pipes(struct pipes *pipes)
{
	close_pair(pipes->in);
	close_pair(pipes->out);
	close_pair(pipes->err);
	if (pipes->source_fd >= 0)
		close(pc_take_fd(&pipes->source_fd));
	if (pipes->cancel_fd >= 0)
		close(pc_take_fd(&pipes->cancel_fd));
	if (pipes->wake_fd >= 0)
		close(pc_take_fd(&pipes->wake_fd));
}

/* A FIFO would be waited for, and nobody says for how long: a file or a device, opened without waiting. */
static bool is_null_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

static int open_source(const char *path)
{
	cleanup_fd int fd = -1;
	struct stat st;

	struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		/* It is opened with the host's rights: a link that a command has planted could name any file. */
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	if (fd < 0 && errno == ENOSYS)
		fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode) && !is_null_device(&st))
		return -EINVAL;
	return pc_take_fd(&fd);
}

/* SIGPIPE comes from writing to a pipe whose reader is gone; it is blocked meanwhile, and ours is taken back before. */
struct sigpipe {
	sigset_t before;
	bool was_pending; /* blocked by the caller, and his */
};

static void block_sigpipe(struct sigpipe *sigpipe)
{
	sigset_t pipe_only, pending;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &sigpipe->before);
	sigpending(&pending);
	sigpipe->was_pending = sigismember(&pending, SIGPIPE);
}

static void restore_sigpipe(const struct sigpipe *sigpipe)
{
	static const struct timespec at_once;
	sigset_t pipe_only;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	if (!sigpipe->was_pending)
		while (sigtimedwait(&pipe_only, NULL, &at_once) > 0)
			;
	pthread_sigmask(SIG_SETMASK, &sigpipe->before, NULL);
}

static int open_pipes(const struct pc_run *run, struct pipes *pipes, struct pc_failure *failure)
{
	if (run->has_terminal)
		return 0; /* the child opens it, and sends the other end */
	if (run->stdin_path) {
		int fd = open_source(run->stdin_path);

		if (fd < 0) {
			failure->step = PC_STEP_INPUT;
			return fd;
		}
		pipes->source_fd = fd;
	}
	if ((run->input || run->stdin_fd >= 0 || run->stdin_path || run->is_input_open) && pipe2(pipes->in, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(pipes->out, O_CLOEXEC) < 0)
		return -errno;
	if (!run->is_merged && pipe2(pipes->err, O_CLOEXEC) < 0)
		return -errno;
	return 0;
}

static void ending_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGWINCH);
}

static int take_signals(struct pipes *pipes, sigset_t *before)
{
	sigset_t ending;
	int fd;

	ending_signals(&ending);
	pthread_sigmask(SIG_BLOCK, &ending, before);
	fd = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0) {
		int rc = -errno;

		pthread_sigmask(SIG_SETMASK, before, NULL);
		return rc;
	}
	pipes->cancel_fd = fd;
	return 0;
}

/* Reading and writing end apart, so each has a descriptor of its own; without room for a second there is no input. */
static void take_terminal(struct pipes *pipes, struct pc_process *process)
{
	if (process->terminal_fd < 0)
		return;
	pipes->out[0] = pc_take_fd(&process->terminal_fd);
	pipes->in[1] = fcntl(pipes->out[0], F_DUPFD_CLOEXEC, 0);
}

/* Takes the pipes' other ends and the run's descriptors, whether or not it goes well. */
static int supervise(struct pipes *pipes, const struct pc_run *run, const struct pc_process *process, struct pc_notify *notify,
		     struct pc_audit *audit, bool is_live, struct pc_supervisor **supervisor)
{
	struct pc_supervision how = {
		.notify = notify,
		.audit = audit,
		.timeout_ms = run->timeout_ms,
		.grace_ms = run->grace_ms,
		.input_grace_ms = run->input_grace_ms,
		.in_from_fd = run->input	    ? -1 :
			      pipes->source_fd >= 0 ? pipes->source_fd :
						      run->stdin_fd,
		.input = run->input,
		.input_size = run->input_size,
		.in_fd = pc_take_fd(&pipes->in[1]),
		.out_fd = pc_take_fd(&pipes->out[0]),
		.err_fd = pc_take_fd(&pipes->err[0]),
		.out_to_fd = run->stdout_fd,
		.err_to_fd = run->stderr_fd,
		.capture_bytes = run->capture_bytes,
		.cancel_fd = pipes->cancel_fd,
		.wake_fd = pipes->wake_fd,
		.has_terminal = run->has_terminal,
		.is_input_open = run->is_input_open,
		.is_live = is_live,
		.may_leave_init = run->may_leave_init,
	};

	return pc_supervise_start(process, &how, supervisor);
}

/* Without memory for it nothing is reported, and the run's own rules hold as ever. */
static void observe(const struct pc_plan *plan, const struct pc_command *command, const struct pc_run *run,
		    struct pc_notify *notify, bool is_audited)
{
	enum pc_observes observes = run->observes;
	struct pc_observer *observer;

	if (!notify || observes == PC_OBSERVES_NONE)
		return;
	if (observes == PC_OBSERVES_MOUNTS && !is_audited)
		observes = PC_OBSERVES_REFUSED;
	if (pc_observer_open(plan, command->directory, observes, &observer) == 0)
		pc_notify_observe(notify, observer);
}

/* Before there is anything to be recorded. Where it fails after all nothing is reported, and the outcome says so. */
static struct pc_audit *listen_to_audit(struct pc_command *command, char name[PC_AUDIT_NAME])
{
	const char *known = command->spare ? pc_spare_domain_name(command->spare) : NULL;
	struct pc_audit *audit;

	if (known)
		memcpy(name, known, strlen(known) + 1);
	else if (pc_audit_make_name(name) < 0)
		return NULL;
	if (pc_audit_open(name, &audit) < 0)
		return NULL;
	command->domain_name = name;
	return audit;
}

static int start_in_pipes(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, struct pc_command *command,
			  const struct pc_run *run, bool is_live, struct pipes *pipes, struct pc_supervisor **supervisor,
			  struct pc_failure *failure)
{
	char domain_name[PC_AUDIT_NAME];
	struct pc_audit *audit = NULL;
	struct pc_notify *notify = NULL;
	struct pc_process process;
	int rc;

	if (run->is_audited)
		audit = listen_to_audit(command, domain_name);
	command->has_terminal = run->has_terminal;
	command->stdin_fd = pipes->in[0];
	command->stdout_fd = pipes->out[1];
	command->stderr_fd = run->is_merged ? pipes->out[1] : pipes->err[1];
	rc = pc_spawn(plan, plan_bytes, plan_size, command, &process, failure);
	command->domain_name = NULL;
	command->spare = NULL;
	if (rc < 0) {
		pc_audit_close(audit, NULL);
		return rc;
	}
	/* The command's ends: while we held them, its streams would never end. */
	if (pipes->in[0] >= 0)
		close(pc_take_fd(&pipes->in[0]));
	if (pipes->out[1] >= 0)
		close(pc_take_fd(&pipes->out[1]));
	if (pipes->err[1] >= 0)
		close(pc_take_fd(&pipes->err[1]));
	take_terminal(pipes, &process);
	if (process.listener_fd >= 0) {
		/*
		 * Refused here, the run goes on without: what the filter would have told somebody is then answered ENOSYS by the
		 * kernel, which opens nothing.
		 */
		pc_notify_open(plan, process.listener_fd, process.broker_fd, &notify);
		observe(plan, command, run, notify, audit != NULL);
	}
	return supervise(pipes, run, &process, notify, audit, is_live, supervisor);
}

/* To the end. An error ends the run too. */
static int run_in_pipes(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, struct pc_command *command,
			const struct pc_run *run, struct pipes *pipes, struct pc_result *result, struct pc_failure *failure)
{
	struct pc_supervisor *supervisor;
	struct sigpipe sigpipe;
	int rc;

	block_sigpipe(&sigpipe);
	rc = start_in_pipes(plan, plan_bytes, plan_size, command, run, false, pipes, &supervisor, failure);
	if (rc == 0) {
		do
			rc = pc_supervise_step(supervisor, -1);
		while (rc == 0);
		pc_supervise_finish(supervisor, result);
	}
	restore_sigpipe(&sigpipe);
	return rc < 0 ? rc : 0;
}

/* The user's terminal is raw meanwhile: the command's own one makes lines and signals of the keys. */
static int run_in_terminal(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, struct pc_command *command,
			   const struct pc_run *run, struct pipes *pipes, struct pc_result *result, struct pc_failure *failure)
{
	unsigned char state[PC_TERMINAL_STATE] __attribute__((aligned(8)));
	bool is_raw = run->has_terminal && run->stdin_fd >= 0 && pc_is_terminal(run->stdin_fd) &&
		      pc_terminal_raw(run->stdin_fd, state) == 0;
	int rc;

	rc = run_in_pipes(plan, plan_bytes, plan_size, command, run, pipes, result, failure);
	if (is_raw)
		pc_terminal_restore(run->stdin_fd, state);
	return rc;
}

int pc_run(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, struct pc_command *command,
	   const struct pc_run *run, struct pc_result *result, struct pc_failure *failure)
{
	struct pipes pipes = NO_PIPES;
	sigset_t before;
	int rc;

	*result = (struct pc_result) { 0 };
	*failure = (struct pc_failure) { .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION };
	rc = open_pipes(run, &pipes, failure);
	if (rc == 0 && run->takes_signals)
		rc = take_signals(&pipes, &before);
	if (rc == 0)
		rc = run_in_terminal(plan, plan_bytes, plan_size, command, run, &pipes, result, failure);
	if (rc < 0)
		failure->error = rc;
	if (pipes.cancel_fd >= 0) {
		/* What arrived too late to be read is no longer news; the caller learns of the first from the result. */
		struct signalfd_siginfo late;

		while (result->cancel_signal && read(pipes.cancel_fd, &late, sizeof(late)) == sizeof(late))
			;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	close_pipes(&pipes);
	return rc;
}

/* ---- A step at a time --------------------------------------------------------------------------------------------------- */

int pc_run_start(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, struct pc_command *command,
		 const struct pc_run *run, struct pc_running **running, struct pc_failure *failure)
{
	struct pc_running *started;
	struct sigpipe sigpipe;
	int rc;

	*failure = (struct pc_failure) { .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION };
	started = malloc(sizeof(*started));
	if (!started) {
		failure->error = -ENOMEM;
		return -ENOMEM;
	}
	*started = (struct pc_running) { .pipes = NO_PIPES };
	rc = open_pipes(run, &started->pipes, failure);
	if (rc == 0) {
		started->pipes.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		rc = started->pipes.wake_fd < 0 ? -errno : 0;
	}
	if (rc == 0) {
		block_sigpipe(&sigpipe);
		rc = start_in_pipes(plan, plan_bytes, plan_size, command, run, true, &started->pipes, &started->supervisor,
				    failure);
		restore_sigpipe(&sigpipe);
	}
	if (rc < 0) {
		failure->error = rc;
		close_pipes(&started->pipes);
		free(started);
		return rc;
	}
	*running = started;
	return 0;
}

int pc_run_step(struct pc_running *running, int timeout_ms)
{
	struct sigpipe sigpipe;
	int rc;

	block_sigpipe(&sigpipe);
	rc = pc_supervise_step(running->supervisor, timeout_ms);
	restore_sigpipe(&sigpipe);
	return rc;
}

const char *pc_run_output(const struct pc_running *running, bool is_error, size_t *size)
{
	return pc_supervise_output(running->supervisor, is_error, size);
}

int64_t pc_run_write(struct pc_running *running, const char *data, size_t size)
{
	enum { MOST = 1 << 20 };
	char *copy;
	int rc;

	if (pc_supervise_ungiven(running->supervisor))
		return 0;
	if (size > MOST)
		size = MOST;
	copy = malloc(size + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	rc = pc_supervise_give(running->supervisor, copy, size);
	if (rc < 0) {
		free(copy);
		return rc;
	}
	free(running->input);
	running->input = copy;
	return (int64_t)size;
}

void pc_run_end_input(struct pc_running *running)
{
	pc_supervise_end_input(running->supervisor);
}

void pc_run_cancel(struct pc_running *running, bool now)
{
	uint64_t times = now ? 2 : 1;

	/* It cannot fail but by a counter that is full, and then the run has been asked often enough. */
	if (write(running->pipes.wake_fd, &times, sizeof(times)) < 0)
		return;
}

void pc_run_finish(struct pc_running *running, struct pc_result *result)
{
	struct sigpipe sigpipe;

	block_sigpipe(&sigpipe);
	pc_supervise_finish(running->supervisor, result);
	restore_sigpipe(&sigpipe);
	close_pipes(&running->pipes);
	free(running->input);
	free(running);
}
