/*
 * A run started ahead of its command: everything that does not depend on the command's words is done by a child that nobody waits
 * for, up to the process that will be the command, confined and waiting.
 *
 * What it is taken by (descriptors, a process) lies idle for seconds in a host that does not know of it, may close numbers, fork,
 * become somebody else. So each is looked at again before it is used, and closed only if it is still what it was.
 */
#include "audit.h"
#include "cgroup.h"
#include "child_stack.h"
#include "child_start.h"
#include "cleanup.h"
#include "held.h"
#include "here.h"
#include "image_build.h"
#include "remains.h"
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { HELD_STATUS, HELD_CONTROL, HELD_BROKER, HELD_LISTENER, HELD };

struct pc_spare {
	struct pc_apart apart;
	struct pc_start start;
	struct pc_image *image;
	struct pc_inode *room;
	int pid, pidfd;
	struct pc_held held[HELD];
	struct pc_here here;		 /* what a run inherits of its host */
	struct pc_cgroup *cgroup;	 /* at rest; NULL: none */
	char domain_name[PC_AUDIT_NAME]; /* empty: none */
	bool has_pid_namespace;
};

/* ---- Whether it is still there ------------------------------------------------------------------------------------------- */

static bool is_ready_to_read(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return poll(&ready, 1, 0) != 0;
}

static bool is_dead(const struct pc_spare *spare)
{
	return pc_process_of(spare->pidfd) != spare->pid || is_ready_to_read(spare->pidfd);
}

bool pc_spare_is_alive(const struct pc_spare *spare)
{
	int i;

	if (!pc_apart_is_own(&spare->apart))
		return false;
	for (i = 0; i < HELD; i++)
		if (spare->held[i].fd >= 0 && !pc_held_is_same(&spare->held[i]))
			return false;
	/* A word of init's before it was asked for anything is one of failure. */
	return !is_dead(spare) && !is_ready_to_read(spare->held[HELD_STATUS].fd);
}

int pc_processors(void)
{
	cpu_set_t set;

	/* More than the set holds: more than anybody needs here. */
	return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* ---- The end ------------------------------------------------------------------------------------------------------------- */

/* Of a fork of the host it is the other process's. */
static void end_cgroup(struct pc_cgroup *cgroup, bool is_own)
{
	uint64_t unused;

	if (cgroup && is_own && pc_cgroup_wake(cgroup) == 0)
		pc_cgroup_close(cgroup, &unused);
	else
		free(cgroup);
}

/* Returns false when the child is still in the memory that is to be freed. */
static bool end_child(struct pc_spare *spare)
{
	int pid = pc_process_of(spare->pidfd);

	if (pid == spare->pid || pid == -1) {
		struct pc_process process = { .pid = spare->pid, .pidfd = spare->pidfd };

		pc_end_process(&process);
	}
	return pc_apart_end(&spare->apart);
}

void pc_spare_close(struct pc_spare *spare)
{
	bool is_own = pc_apart_is_own(&spare->apart), is_gone = true;
	int i, fd;

	for (i = 0; i < HELD; i++) {
		fd = pc_held_let_go(&spare->held[i]);
		if (fd >= 0)
			close(fd);
	}
	/* The copy in a fork of the host is let go of: the process is the other's. */
	if (is_own)
		is_gone = end_child(spare);
	else if (spare->apart.stack && pc_process_of(spare->pidfd))
		close(spare->pidfd);
	end_cgroup(spare->cgroup, is_own);
	if (!is_gone)
		return; /* memory is lost sooner than taken away from under the child */
	free(spare->image);
	free(spare->room);
	free(spare);
}

/* ---- Starting ------------------------------------------------------------------------------------------------------------ */

/* Whose text would have to be known: the working directory alone is, and for its own operation alone. */
static bool needs_words(const struct pc_plan *plan)
{
	static const uint32_t cwd = PC_TEXT_RUN | PC_RUN_CWD;
	uint32_t i;

	for (i = 0; i < plan->op_count; i++)
		if (plan->ops[i].a == cwd && plan->ops[i].code != PC_OP_CHDIR && plan->ops[i].code != PC_OP_SECCOMP)
			return true;
	return false;
}

static int build(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, const struct pc_ahead *ahead,
		 struct pc_spare *spare, int *ruleset_fd)
{
	static const char *const none[] = { NULL };
	struct pc_command command = {
		.argv = none,
		.envp = none,
		.programs = none,
		.cwd = "/",
		.directory = ahead->directory,
		.stdin_fd = -1,
		.cgroup = ahead->cgroup,
		.domain_name = ahead->is_audited ? spare->domain_name : NULL,
	};
	struct pc_ruleset_work rules;
	int rc;

	rc = ahead->is_audited ? pc_audit_make_name(spare->domain_name) : 0;
	if (rc < 0)
		return rc;
	rc = pc_image_build(plan, plan_bytes, plan_size, pc_image_flags(plan, &command) | PC_IMAGE_SPARE, &command,
			    &spare->image);
	if (rc < 0)
		return rc;
	spare->image->spare_ms = ahead->wait_ms;
	rc = pc_ruleset_begin(spare->image, plan, &rules);
	spare->room = rules.room;
	*ruleset_fd = rules.fd;
	return rc;
}

#define MADE_BY_CHILD (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

static int start(const struct pc_plan *plan, const struct pc_join *join, struct pc_spare *spare, int ruleset_fd,
		 const struct pc_cgroup *cgroup, struct pc_ends *host, struct pc_ends *child)
{
	unsigned long flags = (unsigned long)plan->namespaces | CLONE_PIDFD | SIGCHLD;
	cleanup_fd int image_fd = -1, init_fd = -1;
	int rc;

	rc = image_fd = pc_open_image(spare->image);
	if (rc >= 0)
		rc = init_fd = pc_open_init();
	if (rc >= 0)
		rc = pc_open_ends(plan->answers != NULL, plan->answers != NULL, true, host, child);
	if (rc < 0)
		return rc;
	spare->start = (struct pc_start) {
		.image = spare->image,
		.room = spare->room,
		.namespaces = flags & MADE_BY_CHILD,
		.fds = { -1, -1, -1, child->status, child->control, ruleset_fd, image_fd, child->broker, child->listener,
			 cgroup ? pc_cgroup_procs(cgroup) : -1, cgroup ? pc_cgroup_kill(cgroup) : -1,
			 cgroup ? pc_cgroup_directory(cgroup) : -1, init_fd },
	};
	rc = pc_clone_apart(join, flags & ~(unsigned long)MADE_BY_CHILD, &spare->pidfd, pc_start_child, &spare->start,
			    &spare->apart);
	if (rc < 0)
		return rc;
	spare->pid = rc;
	spare->has_pid_namespace = plan->namespaces & CLONE_NEWPID;
	return 0;
}

/* With a cgroup of its own, where it is to have one. Nothing is left of that when it cannot be started. */
static int start_in_cgroup(const struct pc_plan *plan, const struct pc_ahead *ahead, struct pc_spare *spare, int ruleset_fd,
			   struct pc_ends *host, struct pc_ends *child)
{
	struct pc_cgroup *cgroup = NULL;
	uint64_t unused;
	int rc;

	rc = ahead->cgroup ? pc_cgroup_open(ahead->cgroup, &ahead->cgroup_limits, &cgroup) : 0;
	if (rc == 0)
		rc = start(plan, ahead->join, spare, ruleset_fd, cgroup, host, child);
	if (rc < 0) {
		pc_cgroup_close(cgroup, &unused);
		return rc;
	}
	if (cgroup)
		pc_cgroup_rest(cgroup);
	spare->cgroup = cgroup;
	return 0;
}

int pc_spare_start(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, const struct pc_ahead *ahead,
		   struct pc_spare **started)
{
	struct pc_ends host = PC_NO_ENDS, child = PC_NO_ENDS;
	cleanup_fd int ruleset_fd = -1;
	struct pc_spare *spare;
	int rc, i;

	if (needs_words(plan))
		return -EOPNOTSUPP;
	if (plan->joined != (ahead->join ? ahead->join->namespaces : 0))
		return -EINVAL;
	spare = calloc(1, sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	spare->pidfd = -1;
	for (i = 0; i < HELD; i++)
		spare->held[i].fd = -1;
	rc = pc_here_read(&spare->here);
	if (rc == 0)
		rc = build(plan, plan_bytes, plan_size, ahead, spare, &ruleset_fd);
	if (rc == 0)
		rc = start_in_cgroup(plan, ahead, spare, ruleset_fd, &host, &child);
	pc_close_ends(&child);
	if (rc == 0)
		rc = pc_hold(&spare->held[HELD_STATUS], &host.status);
	if (rc == 0)
		rc = pc_hold(&spare->held[HELD_CONTROL], &host.control);
	if (rc == 0)
		rc = pc_hold(&spare->held[HELD_BROKER], &host.broker);
	if (rc == 0)
		rc = pc_hold(&spare->held[HELD_LISTENER], &host.listener);
	pc_close_ends(&host);
	if (rc < 0) {
		pc_spare_close(spare);
		return rc;
	}
	*started = spare;
	return 0;
}

/* ---- Being taken --------------------------------------------------------------------------------------------------------- */

/* words_fd: -1: the words go with the order. */
static int send_order(int socket, struct pc_image *words, int words_fd, const struct pc_command *command)
{
	int fds[4], count = 0;
	union {
		char bytes[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr align;
	} control = { { 0 } };
	char order = PC_ORDER_GO;
	struct iovec vectors[2] = { { &order, 1 }, { words, words->size } };
	struct msghdr message = { .msg_iov = vectors, .msg_iovlen = words_fd < 0 ? 2 : 1, .msg_control = control.bytes };
	struct cmsghdr *header;

	if (words_fd >= 0)
		fds[count++] = words_fd;
	if (command->stdin_fd >= 0)
		fds[count++] = command->stdin_fd;
	fds[count++] = command->stdout_fd;
	fds[count++] = command->stderr_fd;
	message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
	header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
	memcpy(CMSG_DATA(header), fds, (size_t)count * sizeof(int));
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* What does not go with the order, or found no room in the socket, goes as a file. */
static int give_words(const struct pc_spare *spare, const struct pc_command *command)
{
	cleanup_free struct pc_image *words = NULL;
	int socket = spare->held[HELD_CONTROL].fd, rc;
	cleanup_fd int fd = -1;

	rc = pc_words_build(command, &words);
	if (rc < 0)
		return rc;
	if (words->size <= PC_WORDS_SENT) {
		rc = send_order(socket, words, -1, command);
		if (rc != -EMSGSIZE && rc != -ENOBUFS)
			return rc;
	}
	rc = fd = pc_open_image(words);
	return rc < 0 ? rc : send_order(socket, words, fd, command);
}

const char *pc_spare_domain_name(const struct pc_spare *spare)
{
	return spare->domain_name[0] ? spare->domain_name : NULL;
}

/* A domain with a name that nobody listens for is as good as one without. */
static bool has_domain_name(const struct pc_spare *spare, const struct pc_command *command)
{
	return !command->domain_name || !strcmp(spare->domain_name, command->domain_name);
}

static bool is_right(const struct pc_spare *spare, const struct pc_command *command)
{
	return !command->has_terminal && has_domain_name(spare, command) &&
	       pc_cgroup_is(spare->cgroup, command->cgroup, &command->cgroup_limits) && pc_spare_is_alive(spare) &&
	       pc_here_still(&spare->here, spare->pid);
}

/* Its descriptors become the run's, its memory is let go of. */
static void turn_into(struct pc_spare *spare, struct pc_process *process)
{
	process->pid = spare->pid;
	process->pidfd = spare->pidfd;
	process->status_fd = pc_take_fd(&spare->held[HELD_STATUS].fd);
	process->control_fd = pc_take_fd(&spare->held[HELD_CONTROL].fd);
	process->broker_fd = pc_take_fd(&spare->held[HELD_BROKER].fd);
	process->has_pid_namespace = spare->has_pid_namespace;
	process->cgroup = spare->cgroup;
	close(pc_take_fd(&spare->held[HELD_LISTENER].fd));
	/* It has exec'd: it left long ago. */
	pc_apart_end(&spare->apart);
	free(spare->image);
	free(spare->room);
	free(spare);
}

int pc_spare_take(struct pc_spare *spare, const struct pc_command *command, struct pc_process *process,
		  struct pc_failure *failure)
{
	struct pc_process taken = {
		.pidfd = -1, .status_fd = -1, .control_fd = -1, .listener_fd = -1, .broker_fd = -1, .terminal_fd = -1
	};
	struct pc_status failed = { .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION };
	int rc = is_right(spare, command) ? 0 : -ESTALE;

	if (rc == 0 && spare->cgroup)
		rc = pc_cgroup_wake(spare->cgroup);
	if (rc == 0)
		rc = give_words(spare, command);
	if (rc == 0)
		rc = pc_await_start(spare->held[HELD_STATUS].fd, &failed);
	if (rc == 0)
		rc = pc_receive_descriptors(spare->image->flags, spare->held[HELD_LISTENER].fd, &taken);
	if (rc < 0) {
		if (spare->cgroup)
			pc_cgroup_rest(spare->cgroup);
		pc_spare_close(spare);
		*failure = (struct pc_failure) { .step = failed.step, .op = failed.op, .error = rc };
		return rc;
	}
	turn_into(spare, &taken);
	*process = taken;
	return 0;
}
