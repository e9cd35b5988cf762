/*
 * What `procage-lua test --real` asks the kernel: may this process do that? Each is the call itself, made so that nothing comes
 * of it: nothing is written, nothing is sent, no program gets to its first instruction.
 *
 * 0: the kernel let it; an errno: it refused; EOPNOTSUPP: it cannot be tried without doing something.
 */
#include "address.h"
#include "attack.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* Linux 5.14 */
#endif

/* ---- Files -------------------------------------------------------------------------------------------------------------- */

/* A device that nothing comes of: null, zero, full, random, urandom. Opening another may start something (a watchdog). */
static bool is_idle_device(const struct stat *found)
{
	static const unsigned int minors[] = { 3, 5, 7, 8, 9 };
	size_t i;

	for (i = 0; S_ISCHR(found->st_mode) && i < sizeof(minors) / sizeof(minors[0]); i++)
		if (found->st_rdev == makedev(1, minors[i]))
			return true;
	return false;
}

static bool may_be_opened(const struct stat *found)
{
	return S_ISREG(found->st_mode) || S_ISDIR(found->st_mode) || is_idle_device(found);
}

/* A directory in which nothing is shown is as good as closed: so looks one that is hidden. */
static int list(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	int rc = -ENODATA;

	if (!directory)
		return -errno;
	while (rc != 0 && (entry = readdir(directory)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = 0;
	closedir(directory);
	return rc;
}

/* try-read PATH */
static int try_read(const char *const *words)
{
	struct stat found;
	char byte;
	int fd, rc;

	if (stat(words[0], &found) < 0)
		return -errno;
	if (!may_be_opened(&found))
		return -EOPNOTSUPP;
	if (S_ISDIR(found.st_mode))
		return list(words[0]);
	fd = open(words[0], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = pc_attack_result(read(fd, &byte, 1));
	close(fd);
	return rc;
}

/* Makes a name, and takes it away again. */
static int make_name(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	unlink(path);
	return 0;
}

/* What access(2) says of a name, or of the directory that would hold it: for who must leave no trace. */
static int check_write(const char *path)
{
	char parent[4096];
	const char *slash = strrchr(path, '/');

	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0)
		return 0;
	if (errno != ENOENT || !slash)
		return -errno;
	snprintf(parent, sizeof(parent), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	return pc_attack_result(faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS));
}

/* try-write PATH ["check"] */
static int try_write(const char *const *words)
{
	struct stat found;
	char inside[4096];
	int fd;

	if (words[1][0])
		return check_write(words[0]);
	if (stat(words[0], &found) < 0)
		return errno == ENOENT ? make_name(words[0]) : -errno;
	if (!may_be_opened(&found))
		return -EOPNOTSUPP;
	if (S_ISDIR(found.st_mode)) {
		snprintf(inside, sizeof(inside), "%s/.procage-test.%d", words[0], (int)getpid());
		return make_name(inside);
	}
	fd = open(words[0], O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* ---- Programs ----------------------------------------------------------------------------------------------------------- */

/* Nothing may be mapped: an execve that was let ends in the kernel, past its checks and before the program's first instruction. */
static int forbid_mappings(void)
{
	const struct rlimit none = { 0, 0 };
	const struct rlimit no_core = { 1, 1 }; /* core(5): with 1 byte a handler behind a pipe is not started either */

	if (setrlimit(RLIMIT_CORE, &no_core) < 0 || setrlimit(RLIMIT_AS, &none) < 0)
		return -errno;
	return 0;
}

/* The second lock: whatever came to run would be killed at its first system call. */
static int forbid_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return pc_attack_result(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
}

/* try-exec PATH: killed by a signal where it was let (the answer is then minus that signal), else the errno. */
static int try_exec(const char *const *words)
{
	char *const argv[] = { (char *)(uintptr_t)words[0], NULL }, *const envp[] = { NULL };
	struct stat found;

	if (stat(words[0], &found) == 0 && !S_ISREG(found.st_mode))
		return -EACCES;
	if (forbid_mappings() < 0 || forbid_calls() < 0)
		return -EOPNOTSUPP;
	syscall(SYS_execve, words[0], argv, envp);
	/* Only this call is left. */
	syscall(SYS_exit_group, errno);
	return -EACCES;
}

/* ---- Sockets ------------------------------------------------------------------------------------------------------------ */

static int connect_within(int fd, const union pc_attack_address *address, socklen_t size)
{
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	socklen_t error_size = sizeof(int);
	int error = 0;

	if (connect(fd, &address->any, size) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	if (poll(&wait, 1, 200) <= 0)
		return -EINPROGRESS;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size) < 0)
		return -errno;
	return -error;
}

/* A server of this process's own, where the address is free and it may: a loopback of the run's has no other. */
static void serve(const union pc_attack_address *address, socklen_t size)
{
	int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* It stays until the process ends. */
	if (fd >= 0 && bind(fd, &address->any, size) == 0)
		(void)listen(fd, 8);
}

/* try-loopback HOST PORT */
static int try_loopback(const char *const *words)
{
	union pc_attack_address address;
	socklen_t size = pc_attack_inet_address(words[0], words[1], &address);
	int fd;

	if (size == 0)
		return -EOPNOTSUPP;
	serve(&address, size);
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return fd < 0 ? -errno : connect_within(fd, &address, size);
}

/* Whether a socket lies in another network namespace than the one with this cookie. */
static bool is_elsewhere(int fd, const char *cookie)
{
	uint64_t own = 0;
	socklen_t size = sizeof(own);

	return cookie[0] && getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &own, &size) == 0 && own != strtoull(cookie, NULL, 10);
}

/*
 * What a socket is let to send stays on the loopback device. Where a filter refuses to tie it to that device, it is given the
 * loopback's address, from which no route leads out: the kernel answers EINVAL then (ip_route_output_key, martian source).
 */
static bool keep_here(int fd, int family)
{
	const struct sockaddr_in loopback = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };

	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof("lo")) == 0)
		return true;
	return family == AF_INET && bind(fd, (const struct sockaddr *)&loopback, sizeof(loopback)) == 0;
}

/*
 * try-outside HOST PORT [COOKIE]: an address that is not this machine's. In a network namespace of the run's own nothing leaves;
 * in the host's the socket is kept here first.
 */
static int try_outside(const char *const *words)
{
	union pc_attack_address address;
	socklen_t size = pc_attack_inet_address(words[0], words[1], &address);
	bool is_apart;
	int fd, rc;

	if (size == 0)
		return -EOPNOTSUPP;
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	is_apart = is_elsewhere(fd, words[2]);
	if (!is_apart && !keep_here(fd, address.any.sa_family))
		return -EOPNOTSUPP;
	rc = connect_within(fd, &address, size);
	if (rc == -EINPROGRESS)
		return 0;
	if (!is_apart && (rc == -ENETUNREACH || rc == -EHOSTUNREACH || rc == -EINVAL || rc == -EADDRNOTAVAIL))
		return 0;
	return rc;
}

/* netns-cookie: told, for try-outside in another process. */
static int netns_cookie(const char *const *words)
{
	uint64_t own = 0;
	socklen_t size = sizeof(own);
	char text[32];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)words;
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &own, &size) < 0)
		return -errno;
	return pc_attack_tell(text, (size_t)snprintf(text, sizeof(text), "%llu", (unsigned long long)own));
}

/* try-bind HOST PORT: an address that is in use was not refused. Nobody listens there but on the loopback. */
static int try_bind(const char *const *words)
{
	union pc_attack_address address;
	socklen_t size = pc_attack_inet_address(words[0], words[1], &address);
	int fd;

	if (size == 0)
		return -EOPNOTSUPP;
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, &address.any, size) < 0)
		return errno == EADDRINUSE ? 0 : errno == EADDRNOTAVAIL ? -EOPNOTSUPP : -errno;
	if (strncmp(words[0], "127.", 4) != 0 && strcmp(words[0], "::1") != 0)
		return 0;
	return pc_attack_result(listen(fd, 1));
}

static int unix_socket(const char *name, union pc_attack_address *address, socklen_t *size)
{
	int directory;

	*size = pc_attack_unix_address(name, &address->un, &directory);
	return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* try-unix NAME ["check"]: opened and closed. That nobody accepts is no refusal. */
static int try_unix(const char *const *words)
{
	union pc_attack_address address;
	socklen_t size;
	int fd;

	if (words[1][0])
		return pc_attack_result(faccessat(AT_FDCWD, words[0], W_OK, AT_EACCESS));
	fd = unix_socket(words[0], &address, &size);
	if (fd < 0)
		return -errno;
	if (connect(fd, &address.any, size) == 0 || errno == EAGAIN || errno == EPROTOTYPE)
		return 0;
	return errno == ECONNREFUSED && words[0][0] != '@' ? 0 : -errno;
}

/* try-bind-unix NAME ["check"] */
static int try_bind_unix(const char *const *words)
{
	union pc_attack_address address;
	socklen_t size;
	int fd;

	if (words[1][0])
		return check_write(words[0]);
	fd = unix_socket(words[0], &address, &size);
	if (fd < 0)
		return -errno;
	if (bind(fd, &address.any, size) < 0)
		return errno == EADDRINUSE ? (words[0][0] == '@' ? 0 : -EOPNOTSUPP) : -errno;
	if (words[0][0] != '@')
		unlink(words[0]);
	return 0;
}

const struct pc_attack pc_tries[] = {
	{ "try-read", try_read, false },	 { "try-write", try_write, false },
	{ "try-exec", try_exec, false },	 { "try-loopback", try_loopback, false },
	{ "try-outside", try_outside, false },	 { "try-bind", try_bind, false },
	{ "try-unix", try_unix, false },	 { "try-bind-unix", try_bind_unix, false },
	{ "netns-cookie", netns_cookie, false }, { NULL, NULL, false },
};
