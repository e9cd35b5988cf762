/*
 * The run's private directory: made, marked as somebody's, and swept away when nobody is left whose it is.
 *
 * PATH/lock says whose: who made it holds a shared lock on it, which the kernel drops when he dies, however that happens. A
 * process that becomes the command can hold no descriptor; it writes its number and start time into the file instead.
 */
#include "cleanup.h"
#include "../platform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define PREFIX	    "procage-"
#define PREFIX_SIZE (sizeof(PREFIX) - 1)
#define UNIQUE_SIZE 6 /* mkdtemp(3) */

/* A directory without a lock is being made, for a moment. */
#define MAKING_S 60

/* Removed by one sweep: what crashed a hundred times should not hold up one start. */
#define MAX_SWEPT 64

static const char *const names[] = { "tmp", "var", "shm" };
#define NAMES (sizeof(names) / sizeof(names[0]))

/* Locked under another name first: a lock that is there is held, or its holder is dead. */
static int make_lock(int dir)
{
	cleanup_fd int fd = -1;

	fd = openat(dir, "lock.new", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0600) < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0 || renameat(dir, "lock.new", dir, "lock") < 0)
		return -errno;
	return pc_take_fd(&fd);
}

static int fill(int dir)
{
	size_t i;

	for (i = 0; i < NAMES; i++) {
		/* fchmodat besides, since the caller's umask may take bits away that the command needs. */
		if (mkdirat(dir, names[i], 0700) < 0 || fchmodat(dir, names[i], 0700, 0) < 0)
			return -errno;
	}
	return 0;
}

int pc_private_directory(char *path)
{
	cleanup_fd int dir = -1;
	int rc;

	if (!mkdtemp(path))
		return -errno;
	/* The caller's umask may have taken bits away that we need; nobody else can have put another one in its place. */
	rc = chmod(path, 0700) < 0 ? -errno : 0;
	if (rc == 0)
		rc = dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = rc < 0 ? -errno : fill(dir);
	if (rc == 0)
		rc = make_lock(dir);
	if (rc < 0)
		pc_remove_tree(path);
	return rc;
}

/* ---- whose it is ---------------------------------------------------------------------------------------------------------- */

/*
 * Start time of a process that lives: -ESRCH for a zombie, unless threads of it outlive its first one.
 * Source: proc_pid_stat(5): fields 3 (state), 20 (threads) and 22; the name, field 2, may hold anything.
 */
static int start_time(const char *stat_path, unsigned long long *start)
{
	char text[1024], *at, state;
	cleanup_fd int fd = -1;
	ssize_t size;
	int field;
	long threads;

	fd = open(stat_path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size = read(fd, text, sizeof(text) - 1);
	if (size < 0)
		return -errno;
	text[size] = '\0';
	at = strrchr(text, ')');
	if (!at || sscanf(at, ") %c", &state) != 1)
		return -EPROTO;
	for (field = 2; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, " %ld %*d %llu", &threads, start) != 2)
		return -EPROTO;
	return (state == 'Z' || state == 'X') && threads <= 1 ? -ESRCH : 0;
}

int pc_private_claim(const char *path)
{
	cleanup_fd int dir = -1, fd = -1;
	unsigned long long start;
	char text[64];
	int rc, size;

	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	rc = start_time("/proc/self/stat", &start);
	if (rc < 0)
		return rc;
	fd = openat(dir, "lock", O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size = snprintf(text, sizeof(text), "%d %llu\n", (int)getpid(), start);
	return write(fd, text, (size_t)size) == size ? 0 : -EIO;
}

/* What is in doubt lives. */
static bool claimant_lives(int lock)
{
	unsigned long long start, found;
	char text[64], stat_path[64];
	ssize_t size;
	int pid, rc;

	size = pread(lock, text, sizeof(text) - 1, 0);
	if (size <= 0)
		return size < 0;
	text[size] = '\0';
	if (sscanf(text, "%d %llu", &pid, &start) != 2)
		return true;
	snprintf(stat_path, sizeof(stat_path), "/proc/%d/stat", pid);
	rc = start_time(stat_path, &found);
	return rc == 0 ? found == start : rc != -ENOENT && rc != -ESRCH;
}

/* ---- sweeping -------------------------------------------------------------------------------------------------------------- */

static bool is_ours(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 07777) == 0700;
}

/* What was left between mkdtemp and the lock is empty, so that nothing but emptiness is removed. */
static bool remove_unfinished(int base, int dir, const char *name)
{
	struct stat st;
	size_t i;

	if (fstat(dir, &st) < 0 || time(NULL) - st.st_ctime < MAKING_S)
		return false;
	unlinkat(dir, "lock.new", 0);
	for (i = 0; i < NAMES; i++)
		unlinkat(dir, names[i], AT_REMOVEDIR);
	return unlinkat(base, name, AT_REMOVEDIR) == 0;
}

static bool sweep_one(int base, const char *base_path, const char *name)
{
	cleanup_fd int dir = -1, lock = -1;
	char path[PATH_MAX];
	int size;

	dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || !is_ours(dir))
		return false;
	lock = openat(dir, "lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (lock < 0)
		return errno == ENOENT && remove_unfinished(base, dir, name);
	/* Held while the tree goes, so that a second sweep leaves it alone. */
	if (flock(lock, LOCK_EX | LOCK_NB) < 0 || claimant_lives(lock))
		return false;
	size = snprintf(path, sizeof(path), "%s/%s", base_path, name);
	return size > 0 && (size_t)size < sizeof(path) && pc_remove_tree(path) == 0;
}

static bool is_private_name(const char *name)
{
	return strlen(name) == PREFIX_SIZE + UNIQUE_SIZE && !memcmp(name, PREFIX, PREFIX_SIZE);
}

int pc_private_sweep(const char *base_path)
{
	struct dirent *entry;
	int swept = 0, base;
	DIR *list;

	base = open(base_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base < 0)
		return -errno;
	list = fdopendir(base);
	if (!list) {
		int rc = -errno;

		close(base);
		return rc;
	}
	while (swept < MAX_SWEPT && (entry = readdir(list)))
		if (is_private_name(entry->d_name) && sweep_one(dirfd(list), base_path, entry->d_name))
			swept++;
	closedir(list);
	return swept;
}
