/*
 * The command's process of a run that was started ahead: confined like the command, and waiting for what it is to execute.
 *
 * It ends with the control socket's other end, so with the host, and after a while without words in any case: nobody is there to
 * let go of it, and it keeps the workspace and the file systems of its mounts.
 */
#include "spare.h"
#include "../message.h"
#include "../sys.h"

#include <asm/errno.h>
#include <asm/fcntl.h>
#include <linux/mman.h>
#include <linux/poll.h>
#include <linux/time.h>

#ifndef F_DUPFD_CLOEXEC
#define F_DUPFD_CLOEXEC 1030
#endif
#define MSG_CMSG_CLOEXEC_BIT 0x40000000
#define MSG_CTRUNC_BIT	     8
#define MSG_TRUNC_BIT	     0x20
#define MOST		     4 /* the words and three streams */

struct descriptors {
	uint64_t size;
	int level, type;
	int fds[MOST];
};

/* Where they stand: the block is this process's private copy. */
static void point(struct pc_image *image, uint32_t offset, uint32_t count)
{
	uint64_t *at = (uint64_t *)((char *)image + offset);
	uint32_t i;

	for (i = 0; i < count; i++)
		at[i] = (uint64_t)(uintptr_t)((char *)image + at[i]);
	at[count] = 0;
}

/* A block as it was written; size: of what there is of it. */
static int open_block(struct pc_image *image, uint64_t size)
{
	if (size < sizeof(*image) || image->magic != PC_IMAGE_MAGIC || image->size != size)
		return -EINVAL;
	point(image, image->argv_offset, image->argc);
	point(image, image->envp_offset, image->envc);
	point(image, image->programs_offset, image->programs);
	return 0;
}

int pc_map_block(int fd, struct pc_image **mapped)
{
	struct pc_statx st;
	long rc;

	rc = pc_sys_statx(fd, "", PC_AT_EMPTY_PATH, PC_STATX_BASIC, &st);
	if (rc < 0)
		return (int)rc;
	rc = pc_sys6(__NR_mmap, 0, (long)st.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (pc_sys_failed(rc))
		return (int)rc;
	*mapped = (struct pc_image *)rc;
	return open_block(*mapped, st.size);
}

/* Every signal is blocked, so nothing ends the wait early. */
static int await(uint32_t ms)
{
	struct __kernel_timespec longest = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
	struct pollfd control = { .fd = PC_INIT_CONTROL, .events = POLLIN };
	long rc;

	rc = pc_sys5(__NR_ppoll, pc_ptr(&control), 1, pc_ptr(&longest), 0, 0);
	return rc > 0 ? 0 : rc < 0 ? (int)rc : -ETIMEDOUT;
}

static char room[PC_WORDS_SENT] __attribute__((aligned(8)));

/* How many descriptors came, or -errno; and in the room so many bytes of words. */
static int receive(struct descriptors *got, uint64_t *size)
{
	char order = 0;
	struct pc_io_vector vectors[2] = { { &order, 1 }, { room, sizeof(room) } };
	struct pc_message message = {
		.vectors = vectors,
		.vector_count = 2,
		.control = got,
		.control_size = sizeof(*got),
	};
	long rc;

	got->size = 0;
	rc = pc_sys3(__NR_recvmsg, PC_INIT_CONTROL, pc_ptr(&message), MSG_CMSG_CLOEXEC_BIT);
	if (rc < 0)
		return (int)rc;
	if (rc == 0)
		return -EPIPE;
	if (order != PC_ORDER_GO || message.flags & (MSG_TRUNC_BIT | MSG_CTRUNC_BIT) || got->level != PC_LEVEL_SOCKET ||
	    got->type != PC_RIGHTS || got->size < PC_CONTROL_HEADER + 2 * sizeof(int))
		return -EPROTO;
	*size = (uint64_t)rc - 1;
	return (int)((got->size - PC_CONTROL_HEADER) / sizeof(int));
}

/* Off the three numbers first, which are free and may be where they have come to. */
static int place_streams(int *fds, int count)
{
	int target = 3 - count, i, fd;

	for (i = 0; i < count; i++) {
		fd = pc_sys_fcntl(fds[i], F_DUPFD_CLOEXEC, PC_INIT_FREE);
		if (fd < 0)
			return fd;
		pc_sys_close(fds[i]);
		fds[i] = fd;
	}
	for (i = 0; i < count; i++) {
		fd = (int)pc_sys3(__NR_dup3, fds[i], target + i, 0);
		if (fd < 0)
			return fd;
	}
	return 0;
}

static int take_words(struct pc_image **words)
{
	struct descriptors got;
	int *streams = got.fds, count, rc;
	uint64_t size = 0;

	count = receive(&got, &size);
	if (count < 0)
		return count;
	if (size) {
		*words = (struct pc_image *)room;
		rc = open_block(*words, size);
	} else {
		rc = pc_map_block(*streams, words);
		pc_sys_close(*streams++);
		count--;
	}
	if (rc < 0)
		return rc;
	if (count != ((*words)->flags & PC_IMAGE_STDIN_NULL ? 2 : 3))
		return -EPROTO;
	return place_streams(streams, count);
}

void pc_spare_command(const struct pc_image *image, int ruleset_fd, bool is_in_cgroup, int gate_fd, struct pc_status *failed)
{
	struct pc_image *words = NULL;
	int rc;

	if (pc_prepare_command(image, ruleset_fd, is_in_cgroup, failed) < 0)
		return;
	rc = await(image->spare_ms);
	if (rc == 0)
		rc = take_words(&words);
	if (rc == 0)
		pc_finish_command(image, words, gate_fd, failed);
	else
		*failed = (struct pc_status) {
			.kind = PC_STATUS_FAILED, .step = PC_STEP_INIT, .op = PC_NO_OPERATION, .error = rc
		};
}
