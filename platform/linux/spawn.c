/*
 * Starts a run: ruleset and block made in the host, one clone into new namespaces, init exec'd by descriptor.
 *
 * The child shares the host's memory until it execs (CLONE_VM): it costs the same from a host of any size, and it may only do
 * what ops_child.c does. Meanwhile the host's thread fills the ruleset, or sleeps where there is none; child_stack.c says what the
 * one may do beside the other.
 */
#include "cgroup.h"
#include "child_stack.h"
#include "child_start.h"
#include "cleanup.h"
#include "image_build.h"
#include "remains.h"
#include "spawn.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* Linux 6.3 */
#endif

extern const unsigned char pc_init_image[] __attribute__((visibility("hidden")));
extern const unsigned char pc_init_image_end[] __attribute__((visibility("hidden")));

/* ---- the init program as a descriptor ---------------------------------------------------------------------------------- */

static int write_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int make_memfd(const char *name, unsigned int flags)
{
	int fd = memfd_create(name, flags | MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : fd;
}

/*
 * Made for each run and sealed before use: a descriptor kept for later could be closed by the host and its number reused, and
 * then a stranger's file would be exec'd as init.
 */
int pc_open_init(void)
{
	cleanup_fd int fd = -1;
	int rc;

	fd = make_memfd("procage-init", MFD_EXEC);
	if (fd == -EINVAL) /* before Linux 6.3, where every memfd may be executed */
		fd = make_memfd("procage-init", 0);
	if (fd < 0)
		return fd;
	rc = write_all(fd, pc_init_image, (size_t)(pc_init_image_end - pc_init_image));
	if (rc < 0)
		return rc;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return -errno;
	return pc_take_fd(&fd);
}

int pc_open_image(const struct pc_image *image)
{
	cleanup_fd int fd = -1;
	int rc;

	fd = make_memfd("procage-run", 0);
	if (fd < 0)
		return fd;
	rc = write_all(fd, image, image->size);
	if (rc < 0)
		return rc;
	return pc_take_fd(&fd);
}

/* ---- the child ----------------------------------------------------------------------------------------------------------- */

/* The image and the plan are read by both, and written by neither; the ruleset is the kernel's. */
static void fill_ruleset(void *rules)
{
	pc_ruleset_fill(rules);
}

/* clone(2) makes namespaces in the calling thread; these the child may make itself, beside it. A network takes longest. */
#define MADE_BESIDE (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

/* Without rules there is nothing to do beside it. */
static int clone_child(const struct pc_plan *plan, const struct pc_join *join, struct pc_start *start,
		       struct pc_ruleset_work *rules, struct pc_process *process)
{
	unsigned long flags = (unsigned long)plan->namespaces | CLONE_PIDFD | SIGCHLD;
	int pid, pidfd = -1;

	if (rules->fd >= 0 || join) {
		start->namespaces = flags & MADE_BESIDE;
		flags &= ~(unsigned long)MADE_BESIDE;
		pid = pc_clone_beside(join, flags, &pidfd, pc_start_child, start, fill_ruleset, rules);
	} else {
		pc_ruleset_fill(rules);
		pid = pc_clone_on_stack(flags, &pidfd, pc_start_child, start);
	}
	if (pid < 0)
		return pid;
	process->pid = pid;
	process->pidfd = pidfd;
	return 0;
}

/* ---- starting ------------------------------------------------------------------------------------------------------------ */

void pc_end_process(struct pc_process *process)
{
	syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0);
	pc_reap(process->pidfd);
	close(process->pidfd);
	process->pidfd = -1;
}

/* Init's first word: started, or the step that failed. No word at all is a failure too. */
int pc_await_start(int status_fd, struct pc_status *status)
{
	ssize_t n;

	do {
		n = read(status_fd, status, sizeof(*status));
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(*status) || status->kind != PC_STATUS_STARTED) {
		if (n != sizeof(*status) || status->kind != PC_STATUS_FAILED)
			*status = (struct pc_status) { .step = PC_STEP_INIT,
						       .op = PC_NO_OPERATION,
						       .error = n < 0 ? -errno : -EPIPE };
		return status->error < 0 ? status->error : -EPROTO;
	}
	return 0;
}

void pc_close_ends(struct pc_ends *ends)
{
	int *fds[] = { &ends->status, &ends->control, &ends->broker, &ends->listener };
	size_t i;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			close(pc_take_fd(fds[i]));
}

/*
 * Init waits for this word, so nothing runs before the ruleset is full. Its end of the pipe is still open here too: the word
 * is written, and raises no SIGPIPE, whatever has become of init.
 */
static int let_go(struct pc_start *start, const struct pc_ruleset_work *rules, int control_fd)
{
	static const char order = PC_ORDER_GO;

	if (rules->rc < 0)
		start->failed = (struct pc_status) {
			.kind = PC_STATUS_FAILED, .step = rules->failure.step, .op = rules->failure.op, .error = rules->rc
		};
	if (start->failed.kind)
		return start->failed.error;
	return write_all(control_fd, &order, 1);
}

/* Which operation it was, for messages. */
static uint32_t join_op(const struct pc_plan *plan)
{
	uint32_t i;

	for (i = 0; i < plan->op_count; i++)
		if (plan->ops[i].code == PC_OP_JOIN)
			return i;
	return PC_NO_OPERATION;
}

static int start_child(const struct pc_plan *plan, const struct pc_join *join, struct pc_start *start, int control_fd,
		       struct pc_ends *ends, struct pc_process *process, struct pc_ruleset_work *rules)
{
	int rc;

	rc = clone_child(plan, join, start, rules, process);
	if (rc < 0) {
		start->failed = (struct pc_status) { .step = PC_STEP_CLONE, .op = join_op(plan), .error = rc };
		return rc;
	}
	rc = let_go(start, rules, control_fd);
	pc_close_ends(ends);
	if (rc == 0)
		rc = pc_await_start(process->status_fd, &start->failed);
	if (rc < 0)
		pc_end_process(process);
	return rc;
}

static int open_pair(bool is_socket, int pair[2])
{
	if (is_socket)
		return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ? -errno : 0;
	return pipe2(pair, O_CLOEXEC) < 0 ? -errno : 0;
}

/* [0] is read, [1] is written, where it is a pipe. */
int pc_open_ends(bool has_broker, bool has_listener, bool is_spare, struct pc_ends *host, struct pc_ends *child)
{
	int pair[2], rc;

	rc = open_pair(false, pair);
	if (rc < 0)
		return rc;
	host->status = pair[0];
	child->status = pair[1];
	rc = open_pair(is_spare, pair);
	if (rc < 0)
		return rc;
	child->control = pair[0];
	host->control = pair[1];
	rc = has_broker ? open_pair(true, pair) : 0;
	if (rc < 0)
		return rc;
	if (has_broker) {
		host->broker = pair[0];
		child->broker = pair[1];
	}
	rc = has_listener ? open_pair(true, pair) : 0;
	if (rc < 0)
		return rc;
	if (has_listener) {
		host->listener = pair[0];
		child->listener = pair[1];
	}
	return 0;
}

/* Descriptors were sent before exec, so after the first word of init they are there or never will be. */
static int receive_descriptor(int socket)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec vector = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *header;
	int fd;

	if (recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return -errno;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/* In the order in which the child sends them. */
int pc_receive_descriptors(uint32_t flags, int socket, struct pc_process *process)
{
	int rc;

	if (flags & PC_IMAGE_TERMINAL) {
		rc = process->terminal_fd = receive_descriptor(socket);
		if (rc < 0)
			return rc;
	}
	if (flags & PC_IMAGE_BROKER) {
		rc = process->listener_fd = receive_descriptor(socket);
		if (rc < 0) {
			if (process->terminal_fd >= 0)
				close(pc_take_fd(&process->terminal_fd));
			return rc;
		}
	}
	return 0;
}

static int start(const struct pc_plan *plan, const struct pc_join *join, struct pc_start *start, struct pc_ends *host,
		 struct pc_ends *child, struct pc_process *process, struct pc_ruleset_work *rules)
{
	int rc;

	process->status_fd = host->status;
	rc = start_child(plan, join, start, host->control, child, process, rules);
	if (rc < 0)
		return rc;
	rc = pc_receive_descriptors(start->image->flags, host->listener, process);
	if (rc < 0) {
		start->failed = (struct pc_status) { .step = PC_STEP_DESCRIPTORS, .op = PC_NO_OPERATION, .error = rc };
		pc_end_process(process);
		return rc;
	}
	process->status_fd = pc_take_fd(&host->status);
	process->control_fd = pc_take_fd(&host->control);
	process->broker_fd = pc_take_fd(&host->broker);
	return 0;
}

uint32_t pc_image_flags(const struct pc_plan *plan, const struct pc_command *command)
{
	uint32_t flags = 0;

	if (!(plan->namespaces & CLONE_NEWPID))
		flags |= PC_IMAGE_REAPER;
	if ((plan->namespaces | plan->joined) & CLONE_NEWNET)
		flags |= PC_IMAGE_OWN_NETWORK;
	if (command->has_terminal)
		flags |= PC_IMAGE_TERMINAL;
	else if (command->stdin_fd < 0)
		flags |= PC_IMAGE_STDIN_NULL;
	if (plan->answers)
		flags |= PC_IMAGE_BROKER;
	if (command->cgroup)
		flags |= PC_IMAGE_CGROUP;
	return flags;
}

int pc_spawn(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, const struct pc_command *command,
	     struct pc_process *process, struct pc_failure *failure)
{
	struct pc_ends child = { -1, -1, -1, -1 };
	struct pc_ends host = { -1, -1, -1, -1 };
	cleanup_free struct pc_image *image = NULL;
	cleanup_fd int init_fd = -1, image_fd = -1, ruleset_fd = -1;
	struct pc_ruleset_work rules = { .failure = { .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION }, .fd = -1 };
	struct pc_process started = {
		.pidfd = -1, .status_fd = -1, .control_fd = -1, .listener_fd = -1, .broker_fd = -1, .terminal_fd = -1
	};
	struct pc_cgroup *cgroup = NULL;
	uint64_t memory_kills;
	struct pc_start starting = { .failed = { .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION } };
	int rc;

	if (command->spare)
		return pc_spare_take(command->spare, command, process, failure);
	*failure = (struct pc_failure) { .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION, .error = -EINVAL };
	/* Without it the run would be in the host's network. */
	if (plan->joined != (command->join ? command->join->namespaces : 0))
		return -EINVAL;
	rc = pc_image_build(plan, plan_bytes, plan_size, pc_image_flags(plan, command), command, &image);
	if (rc == 0) {
		rc = pc_ruleset_begin(image, plan, &rules);
		ruleset_fd = rules.fd;
		if (rc < 0)
			*failure = rules.failure;
	}
	if (rc == 0)
		rc = image_fd = pc_open_image(image);
	if (rc >= 0)
		rc = init_fd = pc_open_init();
	if (rc >= 0)
		rc = pc_open_ends(plan->answers != NULL, plan->answers || command->has_terminal, false, &host, &child);
	if (rc >= 0 && command->cgroup) {
		rc = pc_cgroup_open(command->cgroup, &command->cgroup_limits, &cgroup);
		if (rc < 0)
			failure->step = PC_STEP_LIMITS;
	}
	if (rc < 0)
		goto failed;

	starting = (struct pc_start) {
		.image = image,
		.fds = { command->stdin_fd, command->stdout_fd, command->stderr_fd, child.status, child.control, ruleset_fd,
			 image_fd, child.broker, child.listener, cgroup ? pc_cgroup_procs(cgroup) : -1,
			 cgroup ? pc_cgroup_kill(cgroup) : -1, cgroup ? pc_cgroup_directory(cgroup) : -1, init_fd },
	};
	rc = start(plan, command->join, &starting, &host, &child, &started, &rules);
	if (rc < 0) {
		*failure = (struct pc_failure) { .step = starting.failed.step, .op = starting.failed.op };
		goto failed;
	}
	pc_close_ends(&host);
	pc_ruleset_end(&rules);
	started.has_pid_namespace = plan->namespaces & CLONE_NEWPID;
	started.cgroup = cgroup;
	*process = started;
	return 0;
failed:
	pc_ruleset_end(&rules);
	pc_cgroup_close(cgroup, &memory_kills);
	pc_close_ends(&child);
	pc_close_ends(&host);
	failure->error = rc;
	return rc;
}
