/* Takes down a run's private directory, whatever the command has put there. */
#include "cleanup.h"
#include "../platform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Works on one level: everything that is no directory is unlinked, empty directories are removed, and what a directory below
 * holds is moved up one level first, under a fresh name. So any depth is flattened with two descriptors, no recursion and no
 * path longer than a name.
 */
struct removal {
	int top;
	unsigned long moved; /* for fresh names */
	int error;	     /* the first */
};

static void note(struct removal *removal, int error)
{
	if (!removal->error)
		removal->error = error;
}

/* The command may lock its own directories. fchmodat(2) follows links, so what was opened is named by its descriptor. */
static int unlock_directory(int at, const char *name)
{
	cleanup_fd int fd = -1;
	char path[40];

	fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, 0700) < 0 ? -errno : 0;
}

static int open_directory(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == EACCES && unlock_directory(at, name) == 0)
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* 0 when gone; 1 when it is a directory with something in it. */
static int remove_name(int at, const char *name)
{
	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (unlinkat(at, name, AT_REMOVEDIR) == 0)
		return 0;
	return errno == ENOTEMPTY || errno == EEXIST ? 1 : -errno;
}

static int move_up(struct removal *removal, int from, const char *name)
{
	char fresh[40];

	/* To move a directory is to rewrite its "..", which takes write permission on it. */
	int rc = unlock_directory(from, name);

	if (rc < 0)
		return rc;
	do {
		snprintf(fresh, sizeof(fresh), ".procage-%lu", removal->moved++);
	} while (faccessat(removal->top, fresh, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	return renameat(from, name, removal->top, fresh) < 0 ? -errno : 0;
}

/* Empties the directory `name` of the top level: its full directories go up, the rest goes. */
static void empty_directory(struct removal *removal, const char *name)
{
	struct dirent *entry;
	DIR *list;
	int fd, rc;

	fd = open_directory(removal->top, name);
	if (fd < 0) {
		note(removal, fd);
		return;
	}
	fchmod(fd, 0700);
	list = fdopendir(fd);
	if (!list) {
		note(removal, -errno);
		close(fd);
		return;
	}
	while ((entry = readdir(list))) {
		if (is_dots(entry->d_name))
			continue;
		rc = remove_name(dirfd(list), entry->d_name);
		if (rc == 1)
			rc = move_up(removal, dirfd(list), entry->d_name);
		if (rc < 0)
			note(removal, rc);
	}
	closedir(list);
}

/* One pass over the top level. How many directories it still had to empty, or -errno. */
static long pass(struct removal *removal)
{
	struct dirent *entry;
	long full = 0;
	DIR *list;
	int fd, rc;

	fd = openat(removal->top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	list = fdopendir(fd);
	if (!list) {
		rc = -errno;
		close(fd);
		return rc;
	}
	while ((entry = readdir(list))) {
		if (is_dots(entry->d_name))
			continue;
		rc = remove_name(removal->top, entry->d_name);
		if (rc < 0)
			note(removal, rc);
		if (rc != 1)
			continue;
		full++;
		empty_directory(removal, entry->d_name);
		rc = remove_name(removal->top, entry->d_name);
		if (rc < 0)
			note(removal, rc);
	}
	closedir(list);
	return full;
}

int pc_remove_tree(const char *path)
{
	struct removal removal = { 0 };
	cleanup_fd int top = -1;
	long full;

	top = open_directory(AT_FDCWD, path);
	if (top < 0)
		return top == -ENOENT ? 0 : top;
	removal.top = top;
	/* Each pass takes at least a level off, or notes an error that no pass will cure. */
	do {
		full = pass(&removal);
	} while (full > 0 && !removal.error);
	if (full < 0)
		note(&removal, (int)full);
	if (unlinkat(AT_FDCWD, path, AT_REMOVEDIR) < 0)
		note(&removal, -errno);
	return removal.error;
}
