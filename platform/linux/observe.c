#include "observe.h"
#include "access_log.h"
#include "caller.h"
#include "cleanup.h"
#include "path_rules.h"
#include "uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Distinct paths that are kept; further ones are counted. */
#define MAX_REFUSED 256
#define MAX_ALL	    65536

#define MAKES_FILE LANDLOCK_ACCESS_FS_MAKE_REG

/* ---- the calls ------------------------------------------------------------------------------------------------------------ */

enum action {
	OPEN, /* x: argument with the flags */
	CREAT,
	MAKE,	   /* rights: what is made */
	MAKE_NODE, /* x: argument with the mode */
	LINK,	   /* rights: what is made at the second name */
	RENAME,
	UNLINK, /* x: argument with the flags, or -1 */
	RMDIR,
	TRUNCATE,
	CHANGE, /* mode, owner, times, attributes; x: argument with AT_SYMLINK_NOFOLLOW or -1 */
	CHANGE_LINK,
};

/* Where in the registers the names are: directory (-1: the working directory) and path; once more for the second name. */
static const struct observed {
	int number;
	enum action action;
	int8_t directory, path, directory2, path2, x;
	uint64_t rights;
} observed[] = {
#ifdef __NR_open /* the calls that newer architectures never had */
	{ __NR_open, OPEN, -1, 0, 0, 0, 1, 0 },
	{ __NR_creat, CREAT, -1, 0, 0, 0, 0, 0 },
	{ __NR_mkdir, MAKE, -1, 0, 0, 0, 0, LANDLOCK_ACCESS_FS_MAKE_DIR },
	{ __NR_mknod, MAKE_NODE, -1, 0, 0, 0, 1, 0 },
	{ __NR_symlink, MAKE, -1, 1, 0, 0, 0, LANDLOCK_ACCESS_FS_MAKE_SYM },
	{ __NR_link, LINK, -1, 0, -1, 1, 0, MAKES_FILE },
	{ __NR_rename, RENAME, -1, 0, -1, 1, 0, 0 },
	{ __NR_unlink, UNLINK, -1, 0, 0, 0, -1, 0 },
	{ __NR_rmdir, RMDIR, -1, 0, 0, 0, 0, 0 },
	{ __NR_chmod, CHANGE, -1, 0, 0, 0, -1, 0 },
	{ __NR_chown, CHANGE, -1, 0, 0, 0, -1, 0 },
	{ __NR_lchown, CHANGE_LINK, -1, 0, 0, 0, -1, 0 },
	{ __NR_utime, CHANGE, -1, 0, 0, 0, -1, 0 },
	{ __NR_utimes, CHANGE, -1, 0, 0, 0, -1, 0 },
	{ __NR_futimesat, CHANGE, 0, 1, 0, 0, -1, 0 },
#endif
#ifdef __NR_renameat
	{ __NR_renameat, RENAME, 0, 1, 2, 3, 0, 0 },
#endif
	{ __NR_openat, OPEN, 0, 1, 0, 0, 2, 0 },
	{ __NR_mkdirat, MAKE, 0, 1, 0, 0, 0, LANDLOCK_ACCESS_FS_MAKE_DIR },
	{ __NR_mknodat, MAKE_NODE, 0, 1, 0, 0, 2, 0 },
	{ __NR_symlinkat, MAKE, 1, 2, 0, 0, 0, LANDLOCK_ACCESS_FS_MAKE_SYM },
	{ __NR_linkat, LINK, 0, 1, 2, 3, 0, MAKES_FILE },
	{ __NR_renameat2, RENAME, 0, 1, 2, 3, 0, 0 },
	{ __NR_unlinkat, UNLINK, 0, 1, 0, 0, 2, 0 },
	{ __NR_truncate, TRUNCATE, -1, 0, 0, 0, 0, 0 },
	{ __NR_fchmodat, CHANGE, 0, 1, 0, 0, -1, 0 },
	{ __NR_fchmodat2, CHANGE, 0, 1, 0, 0, 3, 0 },
	{ __NR_fchownat, CHANGE, 0, 1, 0, 0, 4, 0 },
	{ __NR_utimensat, CHANGE, 0, 1, 0, 0, 3, 0 },
	{ __NR_setxattr, CHANGE, -1, 0, 0, 0, -1, 0 },
	{ __NR_lsetxattr, CHANGE_LINK, -1, 0, 0, 0, -1, 0 },
	{ __NR_removexattr, CHANGE, -1, 0, 0, 0, -1, 0 },
	{ __NR_lremovexattr, CHANGE_LINK, -1, 0, 0, 0, -1, 0 },
};

/* ---- what is kept --------------------------------------------------------------------------------------------------------- */

struct pc_observer {
	struct pc_path_rules *rules;
	enum pc_observes keeps;
	struct pc_access_log log;
	/* of the call at hand */
	uint32_t tid;
	int number;
	int root_fd; /* the caller's root directory; -1: not open yet */
};

static void note(struct pc_observer *o, const char *path, uint64_t wanted, uint64_t refused, int error)
{
	struct pc_access *entry;

	if (!refused && o->keeps != PC_OBSERVES_ALL)
		return;
	entry = pc_access_log_entry(&o->log, path);
	if (!entry)
		return;
	/* The first refusal names itself; what else was done with the path adds up. */
	if (!entry->count || (refused && !entry->refused)) {
		pc_call_name(o->number, entry->call, sizeof(entry->call));
		pc_caller_name(o->tid, entry->process, sizeof(entry->process));
		entry->error = error;
	}
	entry->wanted |= wanted;
	entry->refused |= refused;
	entry->count++;
}

/* ---- paths ---------------------------------------------------------------------------------------------------------------- */

struct found {
	int fd; /* O_PATH */
	struct stat st;
	char path[PATH_MAX]; /* as the run sees it */
};

/* What a magic link of the caller's in /proc leads to, as a path of the run; -ENOENT for what has none, a pipe. */
static int read_magic(const struct pc_observer *o, const char *name, char path[PATH_MAX])
{
	char link[64];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/%u/%s", o->tid, name);
	size = readlink(link, path, PATH_MAX - 1);
	if (size <= 0)
		return size < 0 ? -errno : -ENOENT;
	path[size] = '\0';
	return path[0] == '/' ? 0 : -ENOENT;
}

/* The same, where the name stands in the buffer that the path goes to. */
static int read_magic_of(const struct pc_observer *o, char path[PATH_MAX])
{
	char name[32];

	if (strlen(path) >= sizeof(name))
		return -ENOENT;
	memcpy(name, path, strlen(path) + 1);
	return read_magic(o, name, path);
}

static int directory_path(const struct pc_observer *o, int directory, char path[PATH_MAX])
{
	char name[24];

	if (directory == AT_FDCWD)
		return read_magic(o, "cwd", path);
	snprintf(name, sizeof(name), "fd/%d", directory);
	return read_magic(o, name, path);
}

static int append(char path[PATH_MAX], const char *more)
{
	size_t have = strlen(path), size = strlen(more);

	if (have + size + 2 > PATH_MAX)
		return -ENAMETOOLONG;
	path[have] = '/';
	memcpy(path + have + 1, more, size + 1);
	return 0;
}

/* "fd/3", "cwd", "root", "exe" at the start of what follows /proc/self/ are the caller's; NULL: it is no such name. */
static const char *magic_end(const char *name)
{
	const char *end = name + strcspn(name, "/");

	if (strncmp(name, "fd/", 3) == 0)
		return name + 3 + strspn(name + 3, "0123456789");
	if (!strncmp(name, "cwd", 3) || !strncmp(name, "exe", 3) || !strncmp(name, "root", 4))
		return end;
	return NULL;
}

/* /proc/self would be the supervisor's own; what /dev has are links to there. */
static int translate_magic(const struct pc_observer *o, char path[PATH_MAX])
{
	static const struct {
		const char *prefix, *as;
	} spellings[] = {
		{ "/proc/self/", "" },	  { "/proc/thread-self/", "" }, { "/dev/fd/", "fd/" },
		{ "/dev/stdin", "fd/0" }, { "/dev/stdout", "fd/1" },	{ "/dev/stderr", "fd/2" },
	};
	char name[PATH_MAX + 8];
	const char *end;
	size_t i, size;
	int rc;

	for (i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		size = strlen(spellings[i].prefix);
		if (strncmp(path, spellings[i].prefix, size) != 0)
			continue;
		snprintf(name, sizeof(name), "%s%s", spellings[i].as, path + size);
		end = magic_end(name);
		if (!end)
			return -ENOENT; /* the caller's own state: nothing to tell */
		size = (size_t)(end - name);
		snprintf(path, PATH_MAX, "%.*s", (int)size, name);
		memmove(name, end, strlen(end) + 1);
		rc = read_magic_of(o, path);
		return rc < 0 || !name[0] ? rc : append(path, name + strspn(name, "/"));
	}
	return 0;
}

/* The text of argument `at`, made absolute: symbolic links and dots are still in it. */
static int absolute_path(const struct pc_observer *o, const struct seccomp_data *data, int directory_at, int path_at,
			 char path[PATH_MAX])
{
	int directory = directory_at < 0 ? AT_FDCWD : (int)data->args[directory_at];
	char given[PATH_MAX];
	int rc;

	rc = pc_caller_read_text(o->tid, data->args[path_at], given, sizeof(given));
	if (rc < 0)
		return rc;
	if (given[0] == '/') {
		memcpy(path, given, strlen(given) + 1);
		return translate_magic(o, path);
	}
	rc = directory_path(o, directory, path);
	return rc < 0 || !given[0] ? rc : append(path, given);
}

/*
 * Resolves as the kernel will: from the caller's root and in its mounts, never past them. What is found is only looked at.
 * Source: openat2(2), RESOLVE_IN_ROOT, Linux 5.6.
 */
static int resolve(struct pc_observer *o, const char *path, bool follow, struct found *found)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (uint64_t)(follow ? 0 : O_NOFOLLOW),
		.resolve = RESOLVE_IN_ROOT,
	};
	char link[40];
	ssize_t size;

	if (o->root_fd < 0) {
		snprintf(link, sizeof(link), "/proc/%u/root", o->tid);
		o->root_fd = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (o->root_fd < 0)
			return -errno;
	}
	found->fd = (int)syscall(SYS_openat2, o->root_fd, path, &how, sizeof(how));
	if (found->fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found->fd);
	size = readlink(link, found->path, sizeof(found->path) - 1);
	if (size < 0 || fstat(found->fd, &found->st) < 0) {
		close(pc_take_fd(&found->fd));
		return -ENOENT;
	}
	found->path[size] = '\0';
	return 0;
}

/* The directory of the last name, and that name. */
static int resolve_parent(struct pc_observer *o, const char *path, struct found *parent, char name[NAME_MAX + 1])
{
	char directory[PATH_MAX];
	size_t size = strlen(path), start;

	memcpy(directory, path, size + 1);
	while (size > 1 && directory[size - 1] == '/')
		directory[--size] = '\0';
	for (start = size; start > 0 && directory[start - 1] != '/'; start--)
		;
	if (size - start > NAME_MAX || start == size)
		return -ENOENT;
	memcpy(name, directory + start, size - start + 1);
	directory[start ? start : 1] = '\0';
	return resolve(o, start ? directory : ".", true, parent);
}

/* ---- judging -------------------------------------------------------------------------------------------------------------- */

#define READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE)

/* Whether the mode bits refuse it anyway: that is the user's matter and not the profile's, and no change of it would help. */
static bool is_closed_by_mode(const struct found *object, uint64_t wanted)
{
	int mode = (wanted & READS ? R_OK : 0) | (wanted & ~(uint64_t)(READS | PC_ACCESS_METADATA) ? W_OK : 0);

	if (wanted & PC_ACCESS_METADATA && geteuid() != 0 && object->st.st_uid != geteuid())
		return true;
	return mode && syscall(SYS_faccessat2, object->fd, "", mode, AT_EMPTY_PATH | AT_EACCESS) < 0 && errno == EACCES;
}

/* What lies over a hidden file: nobody else makes a file of mode 0 on a read-only mount. */
static bool is_mask(const struct found *object)
{
	struct statvfs mount;

	return S_ISREG(object->st.st_mode) && (object->st.st_mode & 07777) == 0 && object->st.st_size == 0 &&
	       fstatvfs(object->fd, &mount) == 0 && mount.f_flag & ST_RDONLY;
}

/* Rights on an object, by the rules, and by its mount where that counts: a device or a FIFO is written through it. */
static void judge(struct pc_observer *o, const struct found *object, const char *reported, uint64_t wanted)
{
	bool is_plain = S_ISREG(object->st.st_mode) || S_ISDIR(object->st.st_mode);
	uint64_t refused = pc_path_rules_refused(o->rules, object->path, wanted), writes = wanted & ~(uint64_t)READS;
	bool is_hidden = pc_path_rules_hide(o->rules, object->path);
	struct statvfs mount;
	int error = EACCES;

	/* In a writable tree, and below the run's own /tmp, the rules let a hidden file be read, and the mask alone does not. */
	if (is_hidden && !refused && is_mask(object))
		refused = wanted;
	is_hidden = is_hidden && refused;
	/* Landlock's own word is had elsewhere; a mask is closed by its mode first. */
	if (o->keeps == PC_OBSERVES_MOUNTS && !is_hidden)
		refused = 0;

	/* The kernel looks at the mount before it asks Landlock. */
	if (is_plain && writes && fstatvfs(object->fd, &mount) == 0 && mount.f_flag & ST_RDONLY) {
		refused |= writes;
		error = EROFS;
	}
	/* The mode of a mask is ours. */
	if (refused && !is_hidden && is_closed_by_mode(object, wanted))
		refused = 0;
	note(o, reported, wanted, refused, error);
}

/* Where a run may have a directory of its own in place of the host's. What it misses there tells what was meant. */
static void note_missing(struct pc_observer *o, const char *path, uint64_t wanted)
{
	static const char *const places[] = { "/tmp/", "/var/tmp/", "/dev/shm/" };
	size_t i;

	/* The way to it is hidden itself, and not there either. */
	if (path[0] == '/' && pc_path_rules_hide(o->rules, path)) {
		note(o, path, wanted, wanted, ENOENT);
		return;
	}
	for (i = 0; o->keeps == PC_OBSERVES_ALL && i < sizeof(places) / sizeof(places[0]); i++)
		if (strncmp(path, places[i], strlen(places[i])) == 0)
			note(o, path, wanted, 0, ENOENT);
}

/* The rights are the directory's, the report is about the entry. */
static void judge_entry(struct pc_observer *o, const char *path, uint64_t rights)
{
	char name[NAME_MAX + 1], whole[PATH_MAX];
	struct found parent;

	if (resolve_parent(o, path, &parent, name) < 0) {
		note_missing(o, path, rights);
		return;
	}
	memcpy(whole, parent.path, strlen(parent.path) + 1);
	if (!whole[1])
		whole[0] = '\0'; /* the root: its entries have one slash */
	if (append(whole, name) == 0)
		judge(o, &parent, whole, rights);
	close(parent.fd);
}

/* What a mask covers is not there, for the run. */
static void look_at_absent(struct pc_observer *o, const char *path, uint64_t wanted)
{
	char name[NAME_MAX + 1];
	struct found parent;

	if (resolve_parent(o, path, &parent, name) < 0) {
		note_missing(o, path, wanted);
		return;
	}
	if (append(parent.path, name) == 0 && pc_path_rules_hide(o->rules, parent.path))
		note(o, parent.path, wanted, wanted, ENOENT);
	else
		note_missing(o, path, wanted);
	close(parent.fd);
}

/* What is there already is answered EEXIST, whatever the rights: mkdir -p asks for every directory on its way. */
static void judge_new(struct pc_observer *o, const char *path, uint64_t rights)
{
	struct found found;

	if (resolve(o, path, false, &found) == 0)
		close(found.fd);
	else
		judge_entry(o, path, rights);
}

static uint64_t opening_rights(uint64_t flags, mode_t mode)
{
	uint64_t rights = 0;

	if ((flags & O_ACCMODE) != O_WRONLY)
		rights |= S_ISDIR(mode) ? LANDLOCK_ACCESS_FS_READ_DIR : LANDLOCK_ACCESS_FS_READ_FILE;
	if ((flags & O_ACCMODE) != O_RDONLY)
		rights |= LANDLOCK_ACCESS_FS_WRITE_FILE;
	if (flags & O_TRUNC)
		rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
	return rights;
}

static void look_at_open(struct pc_observer *o, const char *path, uint64_t flags)
{
	struct found found;
	int rc;

	if (flags & O_PATH)
		return;
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		rc = resolve(o, path, true, &found);
		if (rc == 0)
			judge(o, &found, found.path, MAKES_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
	} else {
		rc = resolve(o, path, !(flags & O_NOFOLLOW), &found);
		if (rc == -ENOENT && flags & O_CREAT)
			judge_entry(o, path, MAKES_FILE | opening_rights(flags, S_IFREG));
		else if (rc == -ENOENT)
			look_at_absent(o, path, opening_rights(flags, S_IFREG));
		if (rc == 0 && !S_ISLNK(found.st.st_mode))
			judge(o, &found, found.path, opening_rights(flags, found.st.st_mode));
	}
	if (rc == 0)
		close(found.fd);
}

static void look_at_object(struct pc_observer *o, const char *path, bool follow, uint64_t rights)
{
	struct found found;

	if (resolve(o, path, follow, &found) < 0)
		return;
	judge(o, &found, found.path, rights);
	close(found.fd);
}

/* What a name stands for, for what it takes to move or to remove it. */
static bool is_directory(struct pc_observer *o, const char *path)
{
	struct found found;

	if (resolve(o, path, false, &found) < 0)
		return false;
	close(found.fd);
	return S_ISDIR(found.st.st_mode);
}

static uint64_t node_rights(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFIFO:
		return LANDLOCK_ACCESS_FS_MAKE_FIFO;
	case S_IFSOCK:
		return LANDLOCK_ACCESS_FS_MAKE_SOCK;
	case S_IFCHR:
		return LANDLOCK_ACCESS_FS_MAKE_CHAR;
	case S_IFBLK:
		return LANDLOCK_ACCESS_FS_MAKE_BLOCK;
	default:
		return MAKES_FILE;
	}
}

static void look_at_second(struct pc_observer *o, const struct observed *call, const struct seccomp_data *data, uint64_t rights)
{
	char path[PATH_MAX];

	if (absolute_path(o, data, call->directory2, call->path2, path) == 0)
		judge_entry(o, path, rights);
}

static void look_at_rename(struct pc_observer *o, const struct observed *call, const struct seccomp_data *data,
			   const char *path)
{
	bool moves_directory = is_directory(o, path);

	judge_entry(o, path, moves_directory ? LANDLOCK_ACCESS_FS_REMOVE_DIR : LANDLOCK_ACCESS_FS_REMOVE_FILE);
	look_at_second(o, call, data, moves_directory ? LANDLOCK_ACCESS_FS_MAKE_DIR : MAKES_FILE);
}

static uint64_t argument(const struct seccomp_data *data, int8_t at)
{
	return at < 0 ? 0 : data->args[at];
}

static void look(struct pc_observer *o, const struct observed *call, const struct seccomp_data *data, const char *path)
{
	/* The kernel reads an int. */
	uint64_t x = (uint32_t)argument(data, call->x);

	switch (call->action) {
	case OPEN:
		look_at_open(o, path, x);
		break;
	case CREAT:
		look_at_open(o, path, O_CREAT | O_WRONLY | O_TRUNC);
		break;
	case MAKE:
		judge_new(o, path, call->rights);
		break;
	case MAKE_NODE:
		judge_new(o, path, node_rights((mode_t)x));
		break;
	case LINK:
		look_at_second(o, call, data, call->rights);
		break;
	case RENAME:
		look_at_rename(o, call, data, path);
		break;
	case UNLINK:
		judge_entry(o, path, x & AT_REMOVEDIR ? LANDLOCK_ACCESS_FS_REMOVE_DIR : LANDLOCK_ACCESS_FS_REMOVE_FILE);
		break;
	case RMDIR:
		judge_entry(o, path, LANDLOCK_ACCESS_FS_REMOVE_DIR);
		break;
	case TRUNCATE:
		look_at_object(o, path, true, LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE);
		break;
	case CHANGE:
		look_at_object(o, path, !(x & AT_SYMLINK_NOFOLLOW), PC_ACCESS_METADATA);
		break;
	case CHANGE_LINK:
		look_at_object(o, path, false, PC_ACCESS_METADATA);
		break;
	}
}

/* ---- opening and closing -------------------------------------------------------------------------------------------------- */

int pc_observer_open(const struct pc_plan *plan, const char *directory, enum pc_observes keeps, struct pc_observer **opened)
{
	struct pc_observer *o = calloc(1, sizeof(*o));
	int rc;

	if (!o)
		return -ENOMEM;
	rc = pc_path_rules_build(plan, directory, &o->rules);
	if (rc < 0) {
		free(o);
		return rc;
	}
	o->keeps = keeps;
	o->log.most = keeps == PC_OBSERVES_ALL ? MAX_ALL : MAX_REFUSED;
	o->log.seen.is_recorded = o->log.seen.is_observed = true;
	o->root_fd = -1;
	*opened = o;
	return 0;
}

void pc_observe(struct pc_observer *o, uint32_t tid, const struct seccomp_data *data)
{
	char path[PATH_MAX];
	size_t i;

	o->tid = tid;
	o->number = data->nr;
	for (i = 0; i < sizeof(observed) / sizeof(observed[0]); i++)
		if (observed[i].number == data->nr &&
		    absolute_path(o, data, observed[i].directory, observed[i].path, path) == 0)
			look(o, &observed[i], data, path);
	if (o->root_fd >= 0)
		close(pc_take_fd(&o->root_fd));
}

void pc_observer_close(struct pc_observer *o, struct pc_accesses *accesses)
{
	if (!o)
		return;
	pc_access_log_close(&o->log, accesses);
	pc_path_rules_free(o->rules);
	free(o);
}
