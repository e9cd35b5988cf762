/*
 * Confines the calling process and becomes the command: no clone, no init, no supervisor. What a run does in three processes
 * happens here in one, in the same order and by the same functions.
 */
#include "cleanup.h"
#include "image_build.h"
#include "sys.h"

#include <errno.h>
#include <linux/prctl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Turns offsets into pointers: the block stays where it is until exec. */
static void point(struct pc_image *image, uint32_t offset, uint32_t count)
{
	uint64_t *at = (uint64_t *)(void *)((char *)image + offset);
	uint32_t i;

	for (i = 0; i < count; i++)
		at[i] = (uint64_t)(uintptr_t)((char *)image + at[i]);
	at[count] = 0;
}

/*
 * A socket that could be aimed at somebody else would outlive every rule about making one: connect(AF_UNSPEC) frees a TCP
 * socket for another peer, and one of datagrams names a peer each time. A connected Unix stream cannot be turned.
 */
static int check_socket(int fd)
{
	int domain, type;
	socklen_t size = sizeof(int);
	struct sockaddr_storage peer;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0)
		return -errno;
	size = sizeof(int);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
		return -errno;
	size = sizeof(peer);
	if (domain != AF_UNIX || (type != SOCK_STREAM && type != SOCK_SEQPACKET) ||
	    getpeername(fd, (struct sockaddr *)&peer, &size) < 0)
		return -EPROTOTYPE;
	return 0;
}

/* The streams stay the caller's own. Nothing else of his does. */
static int check_streams(void)
{
	struct stat st;
	int fd, rc;

	for (fd = 0; fd < 3; fd++) {
		if (fstat(fd, &st) < 0) {
			if (errno == EBADF)
				continue;
			return -errno;
		}
		/* From a directory every name below leads past the run's mounts. */
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		rc = S_ISSOCK(st.st_mode) ? check_socket(fd) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Everything that can fail without having changed the caller. */
static int prepare(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, const struct pc_command *command,
		   struct pc_failure *failure, struct pc_image **image, int *ruleset_fd)
{
	int rc;

	/* A process that has unshared it can start no thread, and nobody is here to answer. */
	if (plan->namespaces & CLONE_NEWPID || plan->joined || plan->answers || command->has_terminal)
		return -EINVAL;
	if (!plan->is_unconfined) {
		rc = check_streams();
		if (rc < 0) {
			failure->step = PC_STEP_DESCRIPTORS;
			return rc;
		}
	}
	rc = pc_image_build(plan, plan_bytes, plan_size, PC_IMAGE_OWN_PROCESS, command, image);
	return rc < 0 ? rc : pc_ruleset_build(*image, plan, failure, ruleset_fd);
}

static void fail(struct pc_status *failed, uint32_t step, int error)
{
	*failed = (struct pc_status) { .kind = PC_STATUS_FAILED, .step = step, .op = PC_NO_OPERATION, .error = error };
}

static void become(const struct pc_plan *plan, struct pc_image *image, int ruleset_fd, struct pc_status *failed)
{
	int rc;

	/* Descriptors are closed before exec: other threads of the caller keep theirs, should it fail. */
	rc = (int)pc_sys1(__NR_unshare, CLONE_FILES);
	if (rc < 0) {
		fail(failed, PC_STEP_DESCRIPTORS, rc);
		return;
	}
	/* What the command leaves running stays below this pid for whoever looks. It lasts across execve: prctl(2). */
	rc = plan->is_unconfined ? 0 : pc_sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (rc < 0) {
		fail(failed, PC_STEP_PREPARE, rc);
		return;
	}
	rc = plan->namespaces ? pc_ns_unshare(plan->namespaces) : 0;
	if (rc < 0) {
		fail(failed, PC_STEP_NAMESPACES, rc);
		return;
	}
	if (pc_enter(image, ruleset_fd, failed) == 0)
		pc_become_command(image, ruleset_fd, false, -1, failed);
}

int pc_become(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, const struct pc_command *command,
	      struct pc_failure *failure)
{
	struct pc_status failed = { .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION };
	cleanup_free struct pc_image *image = NULL;
	cleanup_fd int ruleset_fd = -1;
	int rc;

	*failure = (struct pc_failure) { .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION };
	rc = prepare(plan, plan_bytes, plan_size, command, failure, &image, &ruleset_fd);
	if (rc == 0) {
		point(image, image->argv_offset, image->argc);
		point(image, image->envp_offset, image->envc);
		point(image, image->programs_offset, image->programs);
		become(plan, image, ruleset_fd, &failed);
		/* Closed with all the others, or in a table that is nobody else's: the number may be another's by now. */
		pc_take_fd(&ruleset_fd);
		*failure = (struct pc_failure) { .step = failed.step, .op = failed.op };
		rc = failed.error < 0 ? failed.error : -EPROTO;
	}
	failure->error = rc;
	return rc;
}
