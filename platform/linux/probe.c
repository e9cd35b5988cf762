/*
 * What this host can do, tried in throw-away children: each does the thing and then looks whether it took effect.
 *
 * A child shares the host's memory and writes its answers there; it may only do what [child] functions do. It cannot hang: it
 * waits for nothing, and touches no file system but its own tmpfs, proc and devpts. The calling thread sleeps until it has
 * ended.
 */
#include "../platform.h"
#include "child_stack.h"
#include "cleanup.h"
#include "image.h"
#include "sys.h"
#include "audit.h"
#include "tcp_diag.h"
#include "uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* One child: what it is to find out, and how far it came. */
struct trial {
	struct pc_host *host;
	unsigned int wanted; /* bits of 1 << enum pc_fact */
	unsigned long flags; /* of clone(2) */
	const char *step;    /* being done */
	int ruleset_fd;
};

#define BIT(fact) (1u << (fact))

static bool is_settled(const struct pc_host *host, enum pc_fact fact)
{
	return host->facts[fact].has || host->facts[fact].step;
}

static unsigned int settled_facts(const struct pc_host *host)
{
	unsigned int facts = 0;
	int fact;

	for (fact = 0; fact < PC_FACTS; fact++)
		if (is_settled(host, (enum pc_fact)fact))
			facts |= BIT(fact);
	return facts;
}

/* The first answer stays: it names the step that really failed. */
static void settle(struct trial *trial, enum pc_fact fact, int rc)
{
	struct pc_fact_result *result = &trial->host->facts[fact];

	if (!(trial->wanted & BIT(fact)) || is_settled(trial->host, fact))
		return;
	if (rc < 0) {
		result->error = rc;
		result->step = trial->step;
	} else {
		result->has = true;
	}
}

static void settle_all(struct trial *trial, int rc)
{
	int fact;

	for (fact = 0; fact < PC_FACTS; fact++)
		settle(trial, (enum pc_fact)fact, rc);
}

/* An open that was to be refused with `error`, and whose result is `rc`. */
static int must_refuse(int rc, int error)
{
	if (rc >= 0) {
		pc_sys_close(rc);
		return -EPROTO;
	}
	return rc == -error ? 0 : rc;
}

/* An open that was to succeed. */
static int must_open(int rc)
{
	return rc < 0 ? rc : pc_sys_close(rc);
}

static int open_at(const char *path, int flags)
{
	return pc_sys_openat(AT_FDCWD, path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* ---- Landlock, seccomp, descriptors: one child without namespaces ------------------------------------------------------- */

static int try_landlock(struct trial *trial)
{
	static const char *const readable[] = { "/", "/proc", "/dev/null", "/usr" };
	const char *control = NULL;
	size_t i;
	int rc;

	/* A caller that is confined itself may be able to open none; then the kernel's word has to do. */
	for (i = 0; i < sizeof(readable) / sizeof(readable[0]) && !control; i++)
		if (must_open(open_at(readable[i], O_RDONLY | O_NONBLOCK)) == 0)
			control = readable[i];

	trial->step = "no_new_privs";
	rc = pc_no_new_privs();
	if (rc < 0)
		return rc;
	trial->step = "landlock_restrict";
	rc = pc_landlock_restrict(trial->ruleset_fd, 0);
	if (rc < 0 || !control)
		return rc;
	trial->step = "landlock_refusal";
	return must_refuse(open_at(control, O_RDONLY | O_NONBLOCK), EACCES);
}

/* Answers one call with `action`, all others are let through. */
#define ANSWER(call, action)                                                                                    \
	{                                                                                                       \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),                          \
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, (action)), \
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),                                           \
	}

static int try_filter(struct trial *trial)
{
	static const struct sock_filter program[] = ANSWER(__NR_getppid, SECCOMP_RET_ERRNO | EDOM);
	long rc;

	trial->step = "no_new_privs";
	rc = pc_no_new_privs();
	if (rc < 0)
		return (int)rc;
	trial->step = "seccomp";
	rc = pc_filter_install(program, sizeof(program) / sizeof(program[0]));
	if (rc < 0)
		return (int)rc;
	trial->step = "seccomp_refusal";
	rc = pc_sys0(__NR_getppid);
	return rc == -EDOM ? 0 : rc < 0 ? (int)rc : -EPROTO;
}

/* Nothing is notified of: the one who could answer would be the thread that waits for this child. */
static int try_notify(struct trial *trial)
{
	static const struct sock_filter program[] = ANSWER(__NR_getppid, SECCOMP_RET_USER_NOTIF);
	const struct sock_fprog filter = {
		.len = sizeof(program) / sizeof(program[0]),
		.filter = (struct sock_filter *)(uintptr_t)program,
	};
	struct seccomp_notif_sizes sizes;
	uint64_t no_such_id = 0;
	long rc;

	trial->step = "no_new_privs";
	rc = pc_no_new_privs();
	if (rc < 0)
		return (int)rc;
	trial->step = "seccomp_notif_sizes";
	rc = pc_sys3(__NR_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, pc_ptr(&sizes));
	if (rc < 0)
		return (int)rc;
	trial->step = "seccomp_listener";
	rc = pc_sys3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, pc_ptr(&filter));
	if (rc < 0)
		return (int)rc;
	trial->step = "seccomp_notif_id_valid";
	rc = pc_sys3(__NR_ioctl, rc, (long)SECCOMP_IOCTL_NOTIF_ID_VALID, pc_ptr(&no_such_id));
	return rc == -ENOENT ? 0 : rc < 0 ? (int)rc : -EPROTO;
}

/* Who listens there must be who listens here. */
static int ask_for_listener(struct trial *trial, int diag, int fd)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct pc_place place = { .address = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } };
	socklen_t size = sizeof(address), cookie_size = sizeof(uint64_t);
	uint64_t cookie = 0, found = 0;
	long rc;

	trial->step = "tcp_listen";
	rc = pc_sys3(__NR_bind, fd, pc_ptr(&address), sizeof(address));
	if (rc == 0)
		rc = pc_sys2(__NR_listen, fd, 1);
	if (rc == 0)
		rc = pc_sys3(__NR_getsockname, fd, pc_ptr(&address), pc_ptr(&size));
	if (rc < 0)
		return (int)rc;
	trial->step = "so_cookie";
	rc = pc_sys5(__NR_getsockopt, fd, SOL_SOCKET, SO_COOKIE, pc_ptr(&cookie), pc_ptr(&cookie_size));
	if (rc < 0)
		return (int)rc;
	trial->step = "sock_diag";
	place.port = ntohs(address.sin_port);
	rc = pc_tcp_diag_listener(diag, &place, &found);
	return rc < 0 ? (int)rc : found == cookie ? 0 : -EPROTO;
}

static int try_tcp_diag(struct trial *trial)
{
	int diag, fd, rc;

	trial->step = "sock_diag";
	diag = pc_tcp_diag_open();
	if (diag < 0)
		return diag;
	trial->step = "tcp_socket";
	fd = rc = (int)pc_sys3(__NR_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		rc = ask_for_listener(trial, diag, fd);
		pc_sys_close(fd);
	}
	pc_sys_close(diag);
	return rc;
}

static int try_close_range(struct trial *trial)
{
	long rc;
	int fd;

	trial->step = "close_range_open";
	fd = pc_sys_openat(AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	trial->step = "close_range";
	rc = pc_sys3(__NR_close_range, fd, fd, 0);
	if (rc < 0)
		return (int)rc;
	return pc_sys_fcntl(fd, F_GETFD, 0) == -EBADF ? 0 : -EPROTO;
}

static int plain_child(void *arg)
{
	struct trial *trial = arg;

	settle(trial, PC_FACT_CLOSE_RANGE, try_close_range(trial));
	settle(trial, PC_FACT_TCP_DIAG, try_tcp_diag(trial));
	settle(trial, PC_FACT_LANDLOCK_AUDIT, pc_audit_try(&trial->step));
	if (trial->ruleset_fd >= 0)
		settle(trial, PC_FACT_LANDLOCK, try_landlock(trial));
	settle(trial, PC_FACT_SECCOMP_FILTER, try_filter(trial));
	settle(trial, PC_FACT_SECCOMP_NOTIFY, try_notify(trial));
	return 0;
}

/* ---- Namespaces --------------------------------------------------------------------------------------------------------- */

static int try_network(struct trial *trial)
{
	const struct sockaddr_in discard = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	long rc;
	int fd;

	trial->step = "lo_up";
	rc = pc_net_lo_up();
	if (rc < 0)
		return (int)rc;
	trial->step = "lo_connect";
	fd = (int)pc_sys3(__NR_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	/* Sends nothing; ENETUNREACH while lo is down. */
	rc = pc_sys3(__NR_connect, fd, pc_ptr(&discard), sizeof(discard));
	pc_sys_close(fd);
	return (int)rc;
}

/* Its own, which is there; the way is the same. */
static int try_join(struct trial *trial)
{
	long fd, rc;

	trial->step = "pidfd_open";
	fd = pc_sys2(__NR_pidfd_open, pc_sys0(__NR_getpid), 0);
	if (fd < 0)
		return (int)fd;
	trial->step = "setns";
	rc = pc_sys2(__NR_setns, fd, CLONE_NEWNET);
	pc_sys_close((int)fd);
	return (int)rc;
}

/* A directory to mount over: any will do, since nobody else sees it. */
static int find_scratch(const char **scratch)
{
	static const char *const places[] = { "/tmp", "/var/tmp", "/run", "/mnt", "/dev", "/proc" };
	struct pc_statx st;
	size_t i;
	int fd, rc = -ENOENT;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		fd = pc_open_resolved(places[i]);
		if (fd < 0) {
			rc = fd;
			continue;
		}
		rc = pc_sys_statx(fd, "", PC_AT_EMPTY_PATH, PC_STATX_TYPE, &st);
		pc_sys_close(fd);
		if (rc == 0 && (st.mode & PC_S_IFMT) == PC_S_IFDIR) {
			*scratch = places[i];
			return 0;
		}
	}
	return rc < 0 ? rc : -ENOTDIR;
}

/* Leaves the child in an empty tmpfs of its own. */
static int enter_scratch(struct trial *trial)
{
	const char *scratch = NULL;
	long rc;

	trial->step = "mount_private";
	rc = pc_mount_private();
	if (rc < 0)
		return (int)rc;
	trial->step = "tmpfs";
	rc = find_scratch(&scratch);
	if (rc == 0)
		rc = pc_mount_tmpfs(scratch, "mode=0700,size=64k");
	if (rc == 0)
		rc = pc_sys1(__NR_chdir, pc_ptr(scratch));
	if (rc < 0)
		return (int)rc;
	trial->step = "tmpfs_write";
	rc = pc_sys3(__NR_mkdirat, AT_FDCWD, pc_ptr("source"), 0700);
	if (rc == 0)
		rc = pc_sys3(__NR_mkdirat, AT_FDCWD, pc_ptr("target"), 0700);
	if (rc == 0)
		rc = must_open(open_at("source/file", O_WRONLY | O_CREAT));
	return (int)rc;
}

/* A copy of source at target, read-only by mount_setattr, else by remounting. */
static int try_bind(struct trial *trial)
{
	int fd, rc, set;

	trial->step = "open_tree";
	fd = pc_tree_clone("source");
	if (fd < 0)
		return fd;
	trial->step = "mount_setattr";
	set = pc_tree_set(fd, MOUNT_ATTR_RDONLY);
	if (set < 0)
		settle(trial, PC_FACT_MOUNT_SETATTR, set);
	trial->step = "move_mount";
	rc = pc_tree_attach(fd, "target");
	pc_sys_close(fd);
	if (rc < 0)
		return rc;
	if (set < 0) {
		trial->step = "remount_read_only";
		rc = pc_mount_remount_read_only("target");
		if (rc < 0)
			return rc;
	}
	trial->step = "bind_refusal";
	rc = must_open(open_at("target/file", O_RDONLY));
	return rc < 0 ? rc : must_refuse(open_at("target/file", O_WRONLY), EROFS);
}

static int try_fresh_proc(struct trial *trial)
{
	int rc;

	trial->step = "pid";
	if (pc_sys0(__NR_getpid) != 1)
		return -EPROTO;
	trial->step = "mount_private";
	rc = pc_mount_private();
	if (rc < 0)
		return rc;
	trial->step = "proc";
	rc = pc_mount_proc("/proc");
	if (rc < 0)
		return rc;
	trial->step = "proc_refusal";
	rc = must_open(open_at("/proc/1/comm", O_RDONLY));
	return rc < 0 ? rc : must_refuse(open_at("/proc/1/comm", O_WRONLY), EROFS);
}

static int try_devpts(struct trial *trial)
{
	int rc;

	trial->step = "devpts";
	rc = (int)pc_sys3(__NR_mkdirat, AT_FDCWD, pc_ptr("pts"), 0700);
	if (rc == 0)
		rc = pc_mount_devpts("pts");
	if (rc < 0)
		return rc;
	trial->step = "ptmx";
	return must_open(open_at("pts/ptmx", O_RDWR | O_NOCTTY));
}

/* The whole tree, as a plan does it. */
static int try_read_only_tree(struct trial *trial)
{
	int rc;

	trial->step = "mount_setattr_tree";
	rc = pc_mount_set("/", MOUNT_ATTR_RDONLY, true);
	if (rc < 0)
		return rc;
	trial->step = "tree_refusal";
	return must_refuse(open_at("source/file", O_WRONLY), EROFS);
}

static void try_mounts(struct trial *trial)
{
	int rc;

	rc = enter_scratch(trial);
	if (rc < 0) {
		settle(trial, PC_FACT_MOUNTNS, rc);
		settle(trial, PC_FACT_MOUNT_SETATTR, rc);
		settle(trial, PC_FACT_DEVPTS, rc);
		return;
	}
	settle(trial, PC_FACT_MOUNTNS, try_bind(trial));
	settle(trial, PC_FACT_DEVPTS, try_devpts(trial));
	/* Last: nothing can be written afterwards. */
	settle(trial, PC_FACT_MOUNT_SETATTR, try_read_only_tree(trial));
}

#define MOUNT_FACTS (BIT(PC_FACT_MOUNTNS) | BIT(PC_FACT_MOUNT_SETATTR) | BIT(PC_FACT_DEVPTS))

static int nothing(void *unused)
{
	(void)unused;
	return 0;
}

/* One more process while `limit` are allowed, reaped. */
static int try_process(uint64_t limit)
{
	char stack[4096] __attribute__((aligned(16)));
	struct rlimit_pair {
		uint64_t current, most;
	} pair = { limit, limit };
	long rc;

	/* Only the soft limit goes down: the hard one stays for the next try. */
	rc = pc_sys4(__NR_prlimit64, 0, 6 /* RLIMIT_NPROC */, 0, pc_ptr(&pair));
	if (rc < 0)
		return (int)rc;
	pair.current = limit;
	rc = pc_sys4(__NR_prlimit64, 0, 6, pc_ptr(&pair), 0);
	if (rc < 0)
		return (int)rc;
	rc = pc_clone_call(CLONE_VM | CLONE_VFORK, stack + sizeof(stack), NULL, nothing, NULL, NULL);
	if (rc > 0)
		pc_sys4(__NR_wait4, rc, 0, __WALL, 0);
	return rc < 0 ? (int)rc : 0;
}

/*
 * There is one process of this namespace, and outside at least one more of the user: two are allowed only where the namespace is
 * counted by itself, and one only where the limit does not bind (uid 0).
 */
static int try_nproc(struct trial *trial)
{
	int rc;

	trial->step = "nproc";
	rc = try_process(2);
	if (rc < 0)
		return rc;
	rc = try_process(1);
	return rc == 0 ? -EPROTO : rc == -EAGAIN ? 0 : rc;
}

static int namespace_child(void *arg)
{
	struct trial *trial = arg;
	int rc;

	trial->step = "uid_map"; /* setgroups and gid_map with it */
	rc = pc_ns_map_ids(trial->host->uid, trial->host->gid);
	settle(trial, PC_FACT_USERNS, rc);
	if (rc < 0) {
		settle_all(trial, rc);
		return 0;
	}
	settle(trial, PC_FACT_IPCNS, 0);
	if (trial->wanted & BIT(PC_FACT_NETNS))
		settle(trial, PC_FACT_NETNS, try_network(trial));
	if (trial->wanted & BIT(PC_FACT_NETNS_JOIN))
		settle(trial, PC_FACT_NETNS_JOIN, try_join(trial));
	if (trial->wanted & BIT(PC_FACT_PIDNS))
		settle(trial, PC_FACT_PIDNS, try_fresh_proc(trial));
	if (trial->wanted & MOUNT_FACTS)
		try_mounts(trial);
	/* Last: the limit stays. */
	if (trial->wanted & BIT(PC_FACT_NPROC))
		settle(trial, PC_FACT_NPROC, try_nproc(trial));
	return 0;
}

/* ---- Children ----------------------------------------------------------------------------------------------------------- */

/* __WALL: a child without an exit signal is no business of the host's handler for SIGCHLD, nor of its wait(2) calls. */
static int reap(idtype_t type, int id)
{
	siginfo_t info;

	while (waitid(type, (id_t)id, &info, WEXITED | __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static int run_child(struct trial *trial)
{
	int pid;

	trial->step = "clone";
	pid = pc_clone_on_stack(trial->flags, NULL, namespace_child, trial);
	if (pid < 0)
		return pid;
	reap(P_PID, pid);
	return 0;
}

static int create_full_ruleset(int abi)
{
	struct pc_landlock_handled all, clipped;

	if (abi < 0)
		return abi;
	all.fs = pc_landlock_mask(PC_LANDLOCK_FS, abi);
	all.net = pc_landlock_mask(PC_LANDLOCK_NET, abi);
	all.scoped = pc_landlock_mask(PC_LANDLOCK_SCOPE, abi);
	return pc_landlock_create(&all, &clipped);
}

/* A kernel that lacks CLONE_PIDFD ignores it and leaves -1. */
static int reap_plain(struct trial *trial, int pid, int pidfd)
{
	int rc;

	trial->step = "clone_pidfd";
	if (pidfd < 0) {
		reap(P_PID, pid);
		return -EINVAL;
	}
	trial->step = "waitid_pidfd";
	rc = reap((idtype_t)P_PIDFD, pidfd);
	close(pidfd);
	if (rc == -EINVAL)
		reap(P_PID, pid);
	return rc == -ECHILD ? 0 : rc; /* the host waits for every kind of child, and was faster */
}

static void try_plain(struct pc_host *host)
{
	const unsigned int facts = BIT(PC_FACT_LANDLOCK) | BIT(PC_FACT_SECCOMP_FILTER) | BIT(PC_FACT_SECCOMP_NOTIFY) |
				   BIT(PC_FACT_CLOSE_RANGE) | BIT(PC_FACT_TCP_DIAG) | BIT(PC_FACT_LANDLOCK_AUDIT);
	struct trial trial = { .host = host, .wanted = facts, .step = "landlock_create_ruleset" };
	cleanup_fd int ruleset_fd = -1;
	int pid, pidfd = -1;

	ruleset_fd = create_full_ruleset(host->offered_abi);
	trial.ruleset_fd = ruleset_fd;
	if (ruleset_fd < 0)
		settle(&trial, PC_FACT_LANDLOCK, ruleset_fd);

	trial.step = "clone";
	pid = pc_clone_on_stack(CLONE_PIDFD, &pidfd, plain_child, &trial);
	if (pid < 0) {
		trial.wanted |= BIT(PC_FACT_PIDFD);
		settle_all(&trial, pid);
		return;
	}
	settle_all(&trial, -ECHILD); /* what it did not say: it was killed, by an outer filter for one, in this step */
	trial.wanted = BIT(PC_FACT_PIDFD);
	settle(&trial, PC_FACT_PIDFD, reap_plain(&trial, pid, pidfd));
	if (host->facts[PC_FACT_LANDLOCK].has)
		host->landlock_abi = host->offered_abi;
}

#define NAMESPACE_FACTS                                                                                          \
	(BIT(PC_FACT_USERNS) | MOUNT_FACTS | BIT(PC_FACT_NETNS) | BIT(PC_FACT_NETNS_JOIN) | BIT(PC_FACT_IPCNS) | \
	 BIT(PC_FACT_PIDNS) | BIT(PC_FACT_NPROC))

/* All in one child; what that one could not answer, one by one. */
static void try_namespaces(struct pc_host *host)
{
	static const struct {
		unsigned long flags;
		unsigned int facts;
	} groups[] = {
		{ CLONE_NEWUSER, BIT(PC_FACT_USERNS) | BIT(PC_FACT_NPROC) },
		{ CLONE_NEWUSER | CLONE_NEWNS, MOUNT_FACTS },
		{ CLONE_NEWUSER | CLONE_NEWNET, BIT(PC_FACT_NETNS) | BIT(PC_FACT_NETNS_JOIN) },
		{ CLONE_NEWUSER | CLONE_NEWIPC, BIT(PC_FACT_IPCNS) },
		{ CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, BIT(PC_FACT_PIDNS) },
	};
	const struct pc_fact_result *userns = &host->facts[PC_FACT_USERNS];
	struct trial trial = { .host = host, .wanted = NAMESPACE_FACTS };
	size_t i;
	int rc;

	trial.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWPID;
	run_child(&trial);
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		trial.flags = groups[i].flags;
		trial.wanted = groups[i].facts & ~settled_facts(host);
		if (!trial.wanted)
			continue;
		rc = run_child(&trial);
		settle_all(&trial, rc < 0 ? rc : -ECHILD);
		if (!userns->has)
			break;
	}
	/* Nothing else can be had without it, for the same reason. */
	if (!userns->has) {
		trial.wanted = NAMESPACE_FACTS;
		trial.step = userns->step;
		settle_all(&trial, userns->error);
	}
}

void pc_probe(struct pc_host *host)
{
	memset(host, 0, sizeof(*host));
	host->pid = getpid();
	host->offered_abi = pc_landlock_abi();
	pc_probe_read(host);
	try_plain(host);
	try_namespaces(host);
	if (host->landlock_abi > 0 && pc_landlock_errata(&host->landlock_errata) < 0)
		host->landlock_errata = 0;
}

bool pc_probe_is_current(const struct pc_host *host)
{
	return host->pid == getpid() && host->uid == geteuid() && host->gid == getegid() &&
	       host->offered_abi == pc_landlock_abi();
}
