/* What plans need to know of the file system: kinds, owners and identities of names. */
#include "../platform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "link";
	case S_IFSOCK:
		return "socket";
	case S_IFIFO:
		return "fifo";
	case S_IFCHR:
	case S_IFBLK:
		return "device";
	default:
		return "other";
	}
}

int pc_file_facts(const char *path, bool follow, struct pc_file *file)
{
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*file = (struct pc_file){
		.kind = kind_of(st.st_mode),
		.mode = st.st_mode & 07777,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.links = st.st_nlink,
		.size = (uint64_t)st.st_size,
		.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
		.ctime_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec,
	};
	return 0;
}

int pc_real_path(const char *path, char *resolved)
{
	return realpath(path, resolved) ? 0 : -errno;
}

static const char *kind_of_entry(int at, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return kind_of(DTTOIF(entry->d_type));
	/* Some file systems do not say. */
	if (fstatat(at, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return "other";
	return kind_of(st.st_mode);
}

int pc_list_directory(const char *path, size_t limit, int (*each)(void *, const char *, const char *), void *context)
{
	struct dirent *entry;
	size_t count = 0;
	DIR *list;
	int fd, rc = 0;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	list = fdopendir(fd);
	if (!list) {
		rc = -errno;
		close(fd);
		return rc;
	}
	while (rc == 0) {
		errno = 0;
		entry = readdir(list);
		if (!entry) {
			rc = -errno;
			break;
		}
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		rc = ++count > limit ? -E2BIG : each(context, entry->d_name, kind_of_entry(fd, entry));
	}
	closedir(list);
	return rc;
}

/*
 * Moves without replacing. RENAME_NOREPLACE rather than a look before: what is moved was made by a stranger.
 * Source: renameat2(2), Linux 3.15.
 */
int pc_move(const char *from, const char *to)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

int pc_make_directory(const char *path, unsigned int mode)
{
	return mkdir(path, mode) < 0 ? -errno : 0;
}
