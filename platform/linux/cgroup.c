/* See cgroup.h. */
#include "cgroup.h"
#include "cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct pc_cgroup {
	struct pc_cgroup_limits limits;
	int parent_fd, fd, procs_fd, kill_fd; /* all -1 while it rests */
	dev_t dev;
	ino_t ino;
	char name[48]; /* empty: not made */
	char parent[]; /* its path */
};

static int write_at(int at, const char *name, const char *text)
{
	cleanup_fd int fd = -1;

	fd = openat(at, name, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

static int write_number(int at, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return write_at(at, name, text);
}

/* The number after `key` in a file of "key number" lines; -errno, ENOENT when it has no such line. */
static int read_number(int at, const char *name, const char *key, uint64_t *number)
{
	cleanup_fd int fd = -1;
	char text[1024], *line, *rest = text;
	unsigned long long found;
	ssize_t size;

	fd = openat(at, name, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size < 0)
		return -errno;
	text[size] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		size_t length = strlen(key);

		if (!strncmp(line, key, length) && line[length] == ' ' && sscanf(line + length, "%llu", &found) == 1) {
			*number = found;
			return 0;
		}
	}
	return -ENOENT;
}

/* Those of hosts that were killed; one that still holds a process stays. */
static void remove_stale(int parent)
{
	struct dirent *entry;
	DIR *list;
	int fd;

	fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(list))) {
		int host;

		if (sscanf(entry->d_name, "procage-run-%d-", &host) == 1 && kill(host, 0) < 0 && errno == ESRCH)
			unlinkat(parent, entry->d_name, AT_REMOVEDIR);
	}
	closedir(list);
}

static int set_limits(int fd, const struct pc_cgroup_limits *limits)
{
	int rc = 0;

	if (limits->processes)
		rc = write_number(fd, "pids.max", limits->processes);
	if (rc < 0 || !limits->memory_bytes)
		return rc;
	rc = write_number(fd, "memory.max", limits->memory_bytes);
	/* One process killed is the run killed: what is left of it could only fail in stranger ways. Linux 4.19. */
	if (rc == 0)
		rc = write_number(fd, "memory.oom.group", 1);
	if (rc == 0)
		rc = write_number(fd, "memory.swap.max", 0);
	/* Without swap in the kernel there is no such file, and nothing to limit. */
	return rc == -ENOENT && faccessat(fd, "memory.max", F_OK, 0) == 0 ? 0 : rc;
}

/* What a run needs of it, once it is there. */
static int open_files(struct pc_cgroup *cgroup)
{
	struct stat st;

	cgroup->fd = openat(cgroup->parent_fd, cgroup->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroup->fd < 0 || fstat(cgroup->fd, &st) < 0)
		return -errno;
	cgroup->dev = st.st_dev;
	cgroup->ino = st.st_ino;
	cgroup->procs_fd = openat(cgroup->fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	cgroup->kill_fd = cgroup->procs_fd < 0 ? -1 : openat(cgroup->fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	return cgroup->kill_fd < 0 ? -errno : 0;
}

static int make(struct pc_cgroup *cgroup)
{
	static atomic_uint runs;

	cgroup->parent_fd = open(cgroup->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroup->parent_fd < 0)
		return -errno;
	if (atomic_load(&runs) == 0)
		remove_stale(cgroup->parent_fd);
	snprintf(cgroup->name, sizeof(cgroup->name), "procage-run-%d-%u", (int)getpid(), atomic_fetch_add(&runs, 1));
	if (mkdirat(cgroup->parent_fd, cgroup->name, 0700) < 0) {
		int rc = -errno;

		cgroup->name[0] = '\0'; /* not ours to remove */
		return rc;
	}
	return open_files(cgroup);
}

static void close_all(struct pc_cgroup *cgroup)
{
	int *fds[] = { &cgroup->kill_fd, &cgroup->procs_fd, &cgroup->fd, &cgroup->parent_fd };
	size_t i;

	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			close(pc_take_fd(fds[i]));
}

int pc_cgroup_open(const char *parent, const struct pc_cgroup_limits *limits, struct pc_cgroup **opened)
{
	struct pc_cgroup *cgroup;
	uint64_t unused;
	int rc;

	cgroup = malloc(sizeof(*cgroup) + strlen(parent) + 1);
	if (!cgroup)
		return -ENOMEM;
	*cgroup = (struct pc_cgroup) { .limits = *limits, .parent_fd = -1, .fd = -1, .procs_fd = -1, .kill_fd = -1 };
	memcpy(cgroup->parent, parent, strlen(parent) + 1);
	rc = make(cgroup);
	if (rc == 0)
		rc = set_limits(cgroup->fd, limits);
	if (rc < 0) {
		pc_cgroup_close(cgroup, &unused);
		return rc;
	}
	*opened = cgroup;
	return 0;
}

bool pc_cgroup_is(const struct pc_cgroup *cgroup, const char *parent, const struct pc_cgroup_limits *limits)
{
	if (!cgroup || !parent)
		return !cgroup && !parent;
	return !strcmp(cgroup->parent, parent) && cgroup->limits.memory_bytes == limits->memory_bytes &&
	       cgroup->limits.processes == limits->processes;
}

void pc_cgroup_rest(struct pc_cgroup *cgroup)
{
	close_all(cgroup);
}

/* The name is of this process's number; another hierarchy may be mounted there by now. */
int pc_cgroup_wake(struct pc_cgroup *cgroup)
{
	ino_t ino = cgroup->ino;
	dev_t dev = cgroup->dev;
	int rc;

	cgroup->parent_fd = open(cgroup->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = cgroup->parent_fd < 0 ? -errno : open_files(cgroup);
	if (rc == 0 && (cgroup->dev != dev || cgroup->ino != ino))
		rc = -ESTALE;
	if (rc < 0)
		close_all(cgroup);
	return rc;
}

int pc_cgroup_directory(const struct pc_cgroup *cgroup)
{
	return cgroup->fd;
}

int pc_cgroup_procs(const struct pc_cgroup *cgroup)
{
	return cgroup->procs_fd;
}

int pc_cgroup_kill(const struct pc_cgroup *cgroup)
{
	return cgroup->kill_fd;
}

/* Killed processes take their time to go. A directory that cannot be read tells nothing, and then the removal has to. */
static void await_empty(const struct pc_cgroup *cgroup)
{
	struct timespec pause = { .tv_nsec = 100000 };
	uint64_t populated;

	while (read_number(cgroup->fd, "cgroup.events", "populated", &populated) == 0 && populated) {
		if (write(cgroup->kill_fd, "1", 1) < 0)
			return;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 20000000)
			pause.tv_nsec *= 2;
	}
}

/* Somebody may have been on his way in while his parent was killed: seen empty, and not empty a moment later. */
static void remove_directory(const struct pc_cgroup *cgroup)
{
	struct timespec pause = { .tv_nsec = 100000 };
	int i;

	for (i = 0; i < 100 && unlinkat(cgroup->parent_fd, cgroup->name, AT_REMOVEDIR) < 0 && errno == EBUSY; i++) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 20000000)
			pause.tv_nsec *= 2;
		if (cgroup->kill_fd >= 0)
			await_empty(cgroup);
	}
}

void pc_cgroup_close(struct pc_cgroup *cgroup, uint64_t *memory_kills)
{
	if (!cgroup)
		return;
	if (cgroup->kill_fd >= 0)
		await_empty(cgroup);
	if (cgroup->fd >= 0)
		read_number(cgroup->fd, "memory.events", "oom_kill", memory_kills);
	if (cgroup->name[0] && cgroup->parent_fd >= 0)
		remove_directory(cgroup);
	close_all(cgroup);
	free(cgroup);
}
