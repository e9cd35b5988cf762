/* What a file holds, as SHA-256. The function is nettle's: well kept, without state of its own, and quick where the CPU helps. */
#include "cleanup.h"
#include "../platform.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(PC_DIGEST_SIZE == SHA256_DIGEST_SIZE, "the contract says so");

/*
 * Held without opening it first: opening a device may do something, and a FIFO in its place would be waited for. What was looked
 * at is what is then opened, by way of /proc.
 */
static int open_file(const char *path, struct stat *st)
{
	cleanup_fd int held = -1;
	char name[32];
	int fd;

	held = pc_open_resolved(path);
	if (held < 0)
		return held;
	if (fstat(held, st) < 0)
		return -errno;
	if (S_ISLNK(st->st_mode))
		return -ELOOP;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", held);
	fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int pc_digest_file(const char *path, uint64_t limit, struct pc_digest *digest)
{
	struct sha256_ctx state;
	cleanup_fd int fd = -1;
	uint8_t buffer[32768];
	uint64_t size = 0;
	struct stat st;

	fd = open_file(path, &st);
	if (fd < 0)
		return fd;
	if ((uint64_t)st.st_size > limit)
		return -EFBIG;
	sha256_init(&state);
	for (;;) {
		ssize_t n = read(fd, buffer, sizeof(buffer));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		/* It may grow while it is read. */
		size += (uint64_t)n;
		if (size > limit)
			return -EFBIG;
		sha256_update(&state, (size_t)n, buffer);
	}
	sha256_digest(&state, sizeof(digest->sha256), digest->sha256);
	digest->mode = st.st_mode & 07777;
	digest->size = size;
	return 0;
}

void pc_digest(const void *data, size_t size, uint8_t *sha256)
{
	struct sha256_ctx state;

	sha256_init(&state);
	sha256_update(&state, size, data);
	sha256_digest(&state, PC_DIGEST_SIZE, sha256);
}
