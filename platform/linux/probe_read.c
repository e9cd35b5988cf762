/* Facts that nobody can try: what the host is called, who we are in it, what confines us already, which cgroup is ours. */
#include "../platform.h"
#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

/* The first `size - 1` bytes of a file, ended with NUL. Their number or -errno. */
static ssize_t read_start(const char *path, char *buffer, size_t size)
{
	cleanup_fd int fd = -1;
	size_t used = 0;
	ssize_t n;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	while (used < size - 1) {
		n = read(fd, buffer + used, size - 1 - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	buffer[used] = '\0';
	return (ssize_t)used;
}

/* ---- container ---------------------------------------------------------------------------------------------------------- */

/* A name from outside ends up in messages: letters, digits, dash and dot only, else it is "other". */
static void set_container(struct pc_host *host, const char *name, size_t size)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";

	if (!size)
		return;
	if (size >= sizeof(host->container) || strspn(name, allowed) < size) {
		name = "other";
		size = strlen(name);
	}
	memcpy(host->container, name, size);
	host->container[size] = '\0';
}

/* "container=podman" in the environment of PID 1, by the convention of systemd; where we may read it. */
static void read_container_variable(struct pc_host *host)
{
	static const char key[] = "container=";
	char text[16384], *at;
	ssize_t size;

	size = read_start("/proc/1/environ", text, sizeof(text));
	for (at = text; at < text + (size > 0 ? size : 0); at += strlen(at) + 1) {
		if (strncmp(at, key, sizeof(key) - 1) == 0) {
			at += sizeof(key) - 1;
			set_container(host, at, strlen(at));
			return;
		}
	}
}

static void read_container_cgroup(struct pc_host *host)
{
	static const struct {
		const char *part, *name;
	} rows[] = {
		{ "/kubepods", "kubernetes" },	{ "/docker", "docker" }, { "/libpod", "podman" }, { "/lxc", "lxc" },
		{ "containerd", "containerd" },
	};
	char text[4096];
	size_t i;

	if (read_start("/proc/1/cgroup", text, sizeof(text)) <= 0)
		return;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strstr(text, rows[i].part)) {
			set_container(host, rows[i].name, strlen(rows[i].name));
			return;
		}
	}
}

static void read_container(struct pc_host *host)
{
	char text[64];
	ssize_t size;

	if (access("/run/.containerenv", F_OK) == 0)
		set_container(host, "podman", strlen("podman"));
	else if (access("/.dockerenv", F_OK) == 0)
		set_container(host, "docker", strlen("docker"));
	if (!*host->container)
		read_container_variable(host);
	if (!*host->container) {
		/* What systemd as PID 1 found in its environment, for those who may not read that. */
		size = read_start("/run/systemd/container", text, sizeof(text));
		if (size > 0)
			set_container(host, text, strcspn(text, "\n"));
	}
	if (!*host->container)
		read_container_cgroup(host);
}

/* ---- cgroup v2 ---------------------------------------------------------------------------------------------------------- */

/* Our path in the unified hierarchy: "0::/user.slice/..." */
static int read_own_cgroup(char *path, size_t size)
{
	cleanup_free char *line = NULL;
	size_t room = 0;
	int rc = -ENOENT;
	FILE *file;

	file = fopen("/proc/self/cgroup", "re");
	if (!file)
		return -errno;
	while (rc == -ENOENT && getline(&line, &room, file) > 0) {
		if (strncmp(line, "0::/", 4) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		rc = snprintf(path, size, "%s", line + 3) < (int)size ? 0 : -ENAMETOOLONG;
	}
	fclose(file);
	return rc;
}

/* mountinfo writes space, tab, newline and backslash as three octal digits. */
static void decode_octal(char *text)
{
	char *to = text;

	for (; *text; to++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] && text[3]) {
			*to = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
			text += 4;
		} else {
			*to = *text++;
		}
	}
	*to = '\0';
}

/* Splits "ID PARENT DEV ROOT POINT OPTIONS... - TYPE ..." in place; false when it is no cgroup2 mount. */
static bool parse_cgroup_mount(char *line, char **root, char **point)
{
	char *type = strstr(line, " - "), *rest = line;
	int i;

	if (!type || strncmp(type + 3, "cgroup2 ", 8) != 0)
		return false;
	for (i = 0; i < 3; i++)
		strsep(&rest, " ");
	*root = strsep(&rest, " ");
	*point = strsep(&rest, " ");
	if (!*root || !*point)
		return false;
	decode_octal(*root);
	decode_octal(*point);
	return true;
}

/* Where `cgroup` lies in a mount of the hierarchy whose root there is `root`. */
static int join_cgroup(const char *root, const char *point, const char *cgroup, char *directory, size_t size)
{
	size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);

	/* Ours may lie outside of what is mounted here ("/../x"). */
	if (strstr(cgroup, "/..") || strncmp(cgroup, root, length) != 0 || (cgroup[length] != '/' && cgroup[length] != '\0'))
		return -ENOENT;
	cgroup += length;
	if (strcmp(cgroup, "/") == 0)
		cgroup = "";
	return snprintf(directory, size, "%s%s", point, cgroup) < (int)size ? 0 : -ENAMETOOLONG;
}

static int find_cgroup_directory(const char *cgroup, char *directory, size_t size)
{
	cleanup_free char *line = NULL;
	char *root, *point;
	size_t room = 0;
	int rc = -ENOENT;
	FILE *file;

	file = fopen("/proc/self/mountinfo", "re");
	if (!file)
		return -errno;
	while (rc == -ENOENT && getline(&line, &room, file) > 0)
		if (parse_cgroup_mount(line, &root, &point))
			rc = join_cgroup(root, point, cgroup, directory, size);
	fclose(file);
	return rc;
}

/* A child cgroup made and removed, whose processes we could move or kill. The name is this thread's own. */
static int try_child_cgroup(struct pc_host *host, const char *directory)
{
	static const struct {
		enum pc_fact fact;
		const char *file, *step;
	} controllers[] = { { PC_FACT_CGROUP_MEMORY, "memory.max", "memory_max" },
			    { PC_FACT_CGROUP_PIDS, "pids.max", "pids_max" } };
	size_t i;

	char child[4096 + 64], file[sizeof(child) + 16];
	int rc = 0;

	snprintf(child, sizeof(child), "%s/procage-probe.%ld", directory, syscall(SYS_gettid));
	if (mkdir(child, 0700) < 0) {
		/* Left by one that was killed. */
		if (errno != EEXIST)
			return -errno;
		if (rmdir(child) < 0 || mkdir(child, 0700) < 0)
			return -errno;
	}
	snprintf(file, sizeof(file), "%s/cgroup.procs", child);
	if (access(file, W_OK) < 0)
		rc = -errno;
	snprintf(file, sizeof(file), "%s/cgroup.kill", child);
	if (rc == 0 && access(file, W_OK) < 0)
		rc = -errno;
	for (i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
		struct pc_fact_result *result = &host->facts[controllers[i].fact];

		snprintf(file, sizeof(file), "%s/%s", child, controllers[i].file);
		result->error = access(file, W_OK) < 0 ? -errno : 0;
		result->has = rc == 0 && result->error == 0;
		result->step = result->has ? NULL : controllers[i].step;
	}
	if (rmdir(child) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

static int try_cgroup(struct pc_host *host, const char **step)
{
	char cgroup[4096], directory[sizeof(host->cgroup)], file[sizeof(directory) + 16];
	int rc;

	*step = "cgroup2";
	rc = read_own_cgroup(cgroup, sizeof(cgroup));
	if (rc == 0)
		rc = find_cgroup_directory(cgroup, directory, sizeof(directory));
	if (rc < 0)
		return rc;
	/* Moving a process into a child needs the right to write this file too, its common ancestor's. */
	*step = "cgroup_procs";
	snprintf(file, sizeof(file), "%s/cgroup.procs", directory);
	if (access(file, W_OK) < 0)
		return -errno;
	*step = "cgroup_mkdir";
	rc = try_child_cgroup(host, directory);
	if (rc < 0)
		return rc;
	memcpy(host->cgroup, directory, sizeof(directory));
	return 0;
}

void pc_probe_read(struct pc_host *host)
{
	struct pc_fact_result *cgroup = &host->facts[PC_FACT_CGROUP];
	const char *step = NULL;
	struct utsname names;
	char text[8];

	host->system = "linux";
	host->uid = geteuid();
	host->gid = getegid();
	if (uname(&names) == 0) {
		snprintf(host->machine, sizeof(host->machine), "%s", names.machine);
		snprintf(host->kernel, sizeof(host->kernel), "%s", names.release);
	}
	if (read_start("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", text, sizeof(text)) > 0)
		host->apparmor_userns = text[0] == '1';
	read_container(host);

	cgroup->error = try_cgroup(host, &step);
	cgroup->has = cgroup->error == 0;
	cgroup->step = cgroup->has ? NULL : step;
}
