/* One whole run: the command's streams as pipes of ours, spawn, supervision. */
#include "cleanup.h"
#include "notify.h"
#include "../platform.h"
#include "../../core/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

struct pipes {
	int in[2], out[2], err[2];	/* [0] is read, [1] is written */
	int cancel_fd;
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
	if (pipes->cancel_fd >= 0)
		close(pc_take_fd(&pipes->cancel_fd));
}

static int open_pipes(const struct pc_run *run, struct pipes *pipes)
{
	if (run->has_terminal)
		return 0; /* the child opens it, and sends the other end */
	if ((run->input || run->stdin_fd >= 0) && pipe2(pipes->in, O_CLOEXEC) < 0)
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

static int supervise(struct pipes *pipes, const struct pc_run *run, struct pc_process *process, struct pc_notify *notify,
		     struct pc_result *result)
{
	struct pc_supervision how = {
		.notify = notify,
		.timeout_ms = run->timeout_ms,
		.grace_ms = run->grace_ms,
		.in_from_fd = run->input ? -1 : run->stdin_fd,
		.input = run->input,
		.input_size = run->input_size,
		.in_fd = pc_take_fd(&pipes->in[1]),
		.out_fd = pc_take_fd(&pipes->out[0]),
		.err_fd = pc_take_fd(&pipes->err[0]),
		.out_to_fd = run->stdout_fd,
		.err_to_fd = run->stderr_fd,
		.capture_bytes = run->capture_bytes,
		.cancel_fd = pipes->cancel_fd,
		.has_terminal = run->has_terminal,
	};

	return pc_supervise(process, &how, result);
}

static int run_in_pipes(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, struct pc_command *command,
			const struct pc_run *run, struct pipes *pipes, struct pc_result *result, struct pc_failure *failure)
{
	struct pc_notify *notify = NULL;
	struct pc_process process;
	int rc;

	command->has_terminal = run->has_terminal;
	command->stdin_fd = pipes->in[0];
	command->stdout_fd = pipes->out[1];
	command->stderr_fd = run->is_merged ? pipes->out[1] : pipes->err[1];
	rc = pc_spawn(plan, plan_bytes, plan_size, command, &process, failure);
	if (rc < 0)
		return rc;
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
		pc_notify_open(plan->answers, plan->answer_count, process.listener_fd, process.broker_fd, &notify);
	}
	return supervise(pipes, run, &process, notify, result);
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
	struct pipes pipes = { .in = { -1, -1 }, .out = { -1, -1 }, .err = { -1, -1 }, .cancel_fd = -1 };
	sigset_t before;
	int rc;

	*result = (struct pc_result){ 0 };
	*failure = (struct pc_failure){ .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION };
	rc = open_pipes(run, &pipes);
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
