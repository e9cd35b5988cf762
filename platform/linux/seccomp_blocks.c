/*
 * The blocks of a filter: calls whose arguments count. Every block returns on every path.
 *
 * int arguments are compared as 32 bits, as the kernel reads them: setting bit 32 passes a 64-bit compare.
 */
#include "notify.h"
#include "seccomp_blocks.h"
#include "seccomp_ioctl.h"
#include "seccomp_program.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "uapi.h"

/*
 * What socket() answers to a program that has no network. python, node and curl name the error and go on; getaddrinfo still
 * resolves localhost and answers "try again" for the rest, as it does with EAFNOSUPPORT. But that one also reads as "this
 * machine has no IPv6" (or no IPv4): test suites skip in silence and runtimes try the other family, where "Permission denied"
 * says that somebody refused.
 */
#define NO_NETWORK EACCES

/* With the family known to be AF_INET or AF_INET6. */
static void inet_socket(struct program *p, const struct pc_filter_spec *spec)
{
	size_t mark;

	/* SOCK_CLOEXEC and SOCK_NONBLOCK share the word with the type; SOCK_TYPE_MASK of the kernel is 0xf. */
	load_arg_low(p, 1);
	and_mask(p, 0xf);

	if (spec->tcp_only) {
		/*
		 * Landlock's TCP rules see plain TCP. MPTCP (262) and SMC (256) are streams that reach the same peers, SCTP (132) is
		 * one with ports of its own: by allow-list, so that the next such protocol is refused too.
		 */
		mark = begin_if_equal(p, SOCK_STREAM);
		load_arg_low(p, 2);
		ret_if_equal(p, 0, ALLOW);
		ret_if_equal(p, 6 /* IPPROTO_TCP */, ALLOW);
		ret(p, REFUSE(NO_NETWORK));
		end(p, mark);
		if (spec->datagram) {
			/* IPPROTO_ICMP datagrams (ping) have no port that a rule could name. */
			mark = begin_if_equal(p, SOCK_DGRAM);
			load_arg_low(p, 2);
			ret_if_equal(p, 0, ALLOW);
			ret_if_equal(p, 17 /* IPPROTO_UDP */, ALLOW);
			ret(p, REFUSE(NO_NETWORK));
			end(p, mark);
		}
		ret(p, REFUSE(NO_NETWORK));
	} else if (!spec->datagram) {
		ret_if_equal(p, SOCK_STREAM, ALLOW);
		ret(p, REFUSE(NO_NETWORK));
	} else {
		/* socket(AF_INET, SOCK_PACKET) is AF_PACKET by its name of 1995. The rest is up to the network namespace. */
		ret_if_equal(p, SOCK_PACKET, REFUSE(NO_NETWORK));
		ret(p, ALLOW);
	}
}

/*
 * With the family loaded, and loaded still when it is another one. A datagram socket names its peer by path in sendto and
 * sendmsg, which are not mediated; SOCK_RAW is the same by its old name. ESOCKTNOSUPPORT is the kernel's answer
 * for a type that a family has not. Where nobody can look at an address, none is made: EACCES as for the network.
 */
static void unix_socket(struct program *p, const struct pc_filter_spec *spec)
{
	size_t mark;

	if (spec->no_unix) {
		ret_if_equal(p, AF_UNIX, REFUSE(EACCES));
		return;
	}
	if (!spec->mediated) {
		ret_if_equal(p, AF_UNIX, ALLOW);
		return;
	}
	mark = begin_if_equal(p, AF_UNIX);
	load_arg_low(p, 1);
	and_mask(p, 0xf);
	ret_if_equal(p, SOCK_STREAM, ALLOW);
	ret_if_equal(p, SOCK_SEQPACKET, ALLOW);
	ret(p, REFUSE(ESOCKTNOSUPPORT));
	end(p, mark);
}

/*
 * Families by allow-list. AF_VSOCK reaches the hypervisor past a network namespace; AF_ALG, AF_PACKET, AF_XDP, AF_KEY, AF_TIPC,
 * AF_RDS, AF_SMC and whatever comes next are kernel code that a build does not need.
 */
static void socket_block(struct program *p, const struct pc_filter_spec *spec)
{
	size_t mark;

	load_arg_low(p, 0);
	unix_socket(p, spec);

	/*
	 * getaddrinfo and getifaddrs ask NETLINK_ROUTE for addresses. EPROTONOSUPPORT is the kernel's answer for a protocol that
	 * is not built in; libaudit (su, sudo, sshd) and libudev know it.
	 */
	mark = begin_if_equal(p, AF_NETLINK);
	load_arg_low(p, 2);
	ret_if_equal(p, 0 /* NETLINK_ROUTE */, ALLOW);
	ret(p, REFUSE(EPROTONOSUPPORT));
	end(p, mark);

	if (!spec->inet) {
		ret_if_equal(p, AF_INET, REFUSE(NO_NETWORK));
		ret_if_equal(p, AF_INET6, REFUSE(NO_NETWORK));
		ret(p, REFUSE(EAFNOSUPPORT));
		return;
	}
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0);
	ret(p, REFUSE(EAFNOSUPPORT));
	inet_socket(p, spec);
}

/* The kernel has pairs of AF_UNIX and AF_TIPC alone; every other family answers EOPNOTSUPP there anyway. */
static void socketpair_block(struct program *p, const struct pc_filter_spec *spec)
{
	size_t mark;

	load_arg_low(p, 0);
	if (!spec->mediated && !spec->no_unix) {
		ret_if_equal(p, AF_UNIX, ALLOW);
		ret(p, REFUSE(EAFNOSUPPORT));
		return;
	}
	/*
	 * A pair of streams is connected for good (EISCONN); one of datagrams can still name a third party. Programs make such
	 * pairs for themselves (socat's log): where there is a supervisor it gives them a pair that keeps messages apart just so
	 * and cannot, SOCK_SEQPACKET.
	 */
	mark = begin_if_equal(p, AF_UNIX);
	load_arg_low(p, 1);
	and_mask(p, 0xf);
	ret_if_equal(p, SOCK_STREAM, ALLOW);
	ret_if_equal(p, SOCK_SEQPACKET, ALLOW);
	if (spec->mediated)
		ret_if_equal(p, SOCK_DGRAM, SECCOMP_RET_USER_NOTIF);
	ret(p, REFUSE(ESOCKTNOSUPPORT));
	end(p, mark);
	ret(p, REFUSE(EAFNOSUPPORT));
}

/*
 * A user namespace gives every capability inside it: mounts, network set-up and the kernel code behind them.
 * clone has no CLONE_NEWTIME: that bit is part of its exit signal. The flags are the first argument on both architectures.
 */
static void clone_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	load_arg_low(p, 0);
	ret_if_any_bit(
		p, CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET,
		REFUSE(EPERM));
	ret(p, ALLOW);
}

/*
 * By allow-list, since unshare's flags still grow (CLONE_NEWTIME took bit 7, UNSHARE_EMPTY_MNTNS one of clone's). The kernel
 * reads a long here, so the upper half counts.
 */
static void unshare_block(struct program *p, const struct pc_filter_spec *spec)
{
	const uint32_t harmless = CLONE_FILES | CLONE_FS | CLONE_SYSVSEM | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;

	(void)spec;
	load_arg_low(p, 0);
	ret_if_any_bit(p, ~harmless, REFUSE(EPERM));
	load_arg_high(p, 0);
	ret_if_equal(p, 0, ALLOW);
	ret(p, REFUSE(EPERM));
}

/*
 * Allowed: asking (0xffffffff), PER_LINUX and PER_LINUX32 (setarch, linux32), with UNAME26 (0x20000) and ADDR_NO_RANDOMIZE
 * (0x40000, for gdb and setarch -R). Not READ_IMPLIES_EXEC, MMAP_PAGE_ZERO and the personalities of other systems, which weaken
 * every later exec.
 */
static void personality_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	load_arg_low(p, 0);
	ret_if_equal(p, 0xffffffff, ALLOW);
	ret_if_any_bit(p, ~(uint32_t)(0x8 | 0x20000 | 0x40000), REFUSE(EPERM));
	ret(p, ALLOW);
}

/*
 * By the process that is named: 0 is the caller itself, what numactl, the JVM and chrt ask for. Other processes' pages tell what
 * they read, and one that is made to wait for all others (SCHED_IDLE) looks after nothing.
 */
static void itself_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	load_arg_low(p, 0);
	ret_if_equal(p, 0, ALLOW);
	ret(p, REFUSE(EPERM));
}

/* Every process of the user. A single process outside can still be named: the report says so (signal_scope). */
static void kill_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	load_arg_low(p, 0);
	ret_if_equal(p, (uint32_t)-1, REFUSE(EPERM));
	ret(p, ALLOW);
}

static void setpriority_block(struct program *p, const struct pc_filter_spec *spec)
{
	load_arg_low(p, 0);
	ret_if_equal(p, PRIO_USER, REFUSE(EPERM));
	if (spec->groups & PC_REFUSE_PEERS) {
		load_arg_low(p, 1);
		ret_if_equal(p, 0, ALLOW);
		ret(p, REFUSE(EPERM));
		return;
	}
	ret(p, ALLOW);
}

/*
 * A limit on processor time kills any process of the user's, one on descriptors cripples it, and no scope of Landlock's looks at
 * it. In a PID namespace only init is spared: its death would end the run without a word. Asking (no new limit) is free.
 */
static void prlimit_block(struct program *p, const struct pc_filter_spec *spec)
{
	size_t mark, asked;

	load_arg_low(p, 2);
	mark = begin_if_equal(p, 0);
	load_arg_high(p, 2);
	ret_if_equal(p, 0, ALLOW);
	end(p, mark);
	load_arg_low(p, 1);
	mark = begin_if_equal(p, RLIMIT_CORE);
	load_arg_low(p, 3);
	asked = begin_if_equal(p, 0);
	load_arg_high(p, 3);
	ret_if_equal(p, 0, REFUSE(0));
	end(p, asked);
	/* Nothing would be written where the old one is asked for. */
	ret(p, REFUSE(EPERM));
	end(p, mark);
	load_arg_low(p, 0);
	if (spec->groups & PC_REFUSE_PEERS) {
		ret_if_equal(p, 0, ALLOW);
		ret(p, REFUSE(EPERM));
		return;
	}
	ret_if_equal(p, 1, REFUSE(EPERM));
	ret(p, ALLOW);
}

/*
 * The limit on core dumps stays as it is: at 1 byte the kernel starts no handler, at 0 it does, as root and outside. Who sets it
 * (gpg, ssh-agent: to 0, and they end when they cannot) is told that all went well: no core is written. Source: core(5).
 */
static void setrlimit_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	load_arg_low(p, 0);
	ret_if_equal(p, RLIMIT_CORE, REFUSE(0));
	ret(p, ALLOW);
}

static void ioprio_set_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	size_t mark;

	load_arg_low(p, 0);
	mark = begin_if_equal(p, 1 /* IOPRIO_WHO_PROCESS */);
	load_arg_low(p, 1);
	ret_if_equal(p, 0, ALLOW); /* the caller itself: what ionice -c does */
	end(p, mark);
	ret(p, REFUSE(EPERM));
}

/*
 * A lease makes whoever opens the file wait until its holder lets go, up to 45 s, and takes no more than to own the file: a
 * run could stall the user's shell on ~/.bashrc, and root's the whole machine. File servers use it; builds do not.
 */
static void fcntl_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	load_arg_low(p, 1);
	ret_if_equal(p, 1024 /* F_SETLEASE */, REFUSE(EPERM));
	ret_if_equal(p, 1040 /* F_SETDELEG, Linux 6.19: on directories too */, REFUSE(EPERM));
	ret(p, ALLOW);
}

/*
 * MSG_FASTOPEN connects and sends in one call; kernels before 7.2 make no Landlock check there. EOPNOTSUPP is the kernel's own
 * answer when net.ipv4.tcp_fastopen is off, so programs fall back to connect.
 */
static void no_fastopen(struct program *p, unsigned int flags_arg)
{
	load_arg_low(p, flags_arg);
	ret_if_any_bit(p, MSG_FASTOPEN, REFUSE(EOPNOTSUPP));
	ret(p, ALLOW);
}

static void sendto_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	no_fastopen(p, 3);
}

static void sendmsg_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	no_fastopen(p, 2);
}

static void sendmmsg_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	no_fastopen(p, 3);
}

static void ret_unless_any_of(struct program *p, const uint8_t *values, size_t count, uint32_t action)
{
	for (size_t i = 0; i < count; i++)
		ret_if_equal(p, values[i], ALLOW);
	ret(p, action);
}

/*
 * TCP_FASTOPEN_CONNECT puts the connection off to the first write. TCP_ULP can turn the socket into an SMC one ("smc"), which
 * Landlock takes for no TCP; its name is behind a pointer, so kernel TLS goes as well and ENOENT says "no such protocol here".
 */
static void tcp_options(struct program *p)
{
	size_t mark = begin_if_equal(p, 6 /* IPPROTO_TCP */);

	load_arg_low(p, 2);
	ret_if_equal(p, 30 /* TCP_FASTOPEN_CONNECT */, REFUSE(EOPNOTSUPP));
	ret_if_equal(p, 31 /* TCP_ULP */, REFUSE(ENOENT));
	ret(p, ALLOW);
	end(p, mark);
}

/*
 * Options that say where packets go, whatever address was judged. Of a socket: another interface, and an address shared with a
 * program outside (SO_REUSEPORT, which then has half of its connections; ENOPROTOOPT is what a kernel without it answers, and
 * gRPC goes on without). Of IP, by allow-list: source routes, segment routing, multicast, foreign addresses
 * (IP_TRANSPARENT, IP_FREEBIND) and a way to change the family (IPV6_ADDRFORM) are among the rest.
 */
static void loopback_options(struct program *p)
{
	static const uint8_t ip[] = {
		1,  /* IP_TOS */
		2,  /* IP_TTL */
		8,  /* IP_PKTINFO */
		10, /* IP_MTU_DISCOVER */
		11, /* IP_RECVERR */
		12, /* IP_RECVTTL */
		13, /* IP_RECVTOS */
		21, /* IP_MINTTL */
		24, /* IP_BIND_ADDRESS_NO_PORT */
		51, /* IP_LOCAL_PORT_RANGE */
	};
	static const uint8_t ipv6[] = {
		16, /* IPV6_UNICAST_HOPS */
		23, /* IPV6_MTU_DISCOVER */
		24, /* IPV6_MTU */
		25, /* IPV6_RECVERR */
		26, /* IPV6_V6ONLY */
		49, /* IPV6_RECVPKTINFO */
		51, /* IPV6_RECVHOPLIMIT */
		66, /* IPV6_RECVTCLASS */
		67, /* IPV6_TCLASS */
		70, /* IPV6_AUTOFLOWLABEL */
		73, /* IPV6_MINHOPCOUNT */
	};
	static const uint8_t elsewhere[] = {
		25, /* SO_BINDTODEVICE */
		62, /* SO_BINDTOIFINDEX */
	};
	static const uint8_t shared[] = {
		15, /* SO_REUSEPORT */
		51, /* SO_ATTACH_REUSEPORT_CBPF */
		52, /* SO_ATTACH_REUSEPORT_EBPF */
	};
	size_t mark;

	mark = begin_if_equal(p, 0 /* IPPROTO_IP */);
	load_arg_low(p, 2);
	ret_unless_any_of(p, ip, sizeof(ip), REFUSE(ENOPROTOOPT));
	end(p, mark);
	mark = begin_if_equal(p, 41 /* IPPROTO_IPV6 */);
	load_arg_low(p, 2);
	ret_unless_any_of(p, ipv6, sizeof(ipv6), REFUSE(ENOPROTOOPT));
	end(p, mark);
	mark = begin_if_equal(p, SOL_SOCKET);
	load_arg_low(p, 2);
	for (size_t i = 0; i < sizeof(elsewhere); i++)
		ret_if_equal(p, elsewhere[i], REFUSE(EPERM));
	for (size_t i = 0; i < sizeof(shared); i++)
		ret_if_equal(p, shared[i], REFUSE(ENOPROTOOPT));
	ret(p, ALLOW);
	end(p, mark);
}

static void setsockopt_block(struct program *p, const struct pc_filter_spec *spec)
{
	load_arg_low(p, 1);
	tcp_options(p);
	if (spec->loopback)
		loopback_options(p);
	ret(p, ALLOW);
}

#define SET_UID 04000
#define SET_GID 02000

/*
 * A program with one of these bits outlives the run, in a tree where others may execute it: root's run would leave them a root
 * program. tar and install say that they could not set the mode.
 */
static void refuse_mode(struct program *p, unsigned int mode_arg, uint32_t bits)
{
	load_arg_low(p, mode_arg);
	ret_if_any_bit(p, bits, REFUSE(EPERM));
}

/*
 * chmod's number and mode alone do not tell a set-group-ID program from a directory that hands its group down, which copies
 * of shared trees set all the time. Where there is a broker it looks, and acts; else there are neither.
 */
static void refuse_set_ids(struct program *p, const struct pc_filter_spec *spec, unsigned int mode_arg)
{
	bool has_broker = spec->mediated || spec->loopback || spec->names;

	refuse_mode(p, mode_arg, SET_UID);
	ret_if_any_bit(p, SET_GID, has_broker ? SECCOMP_RET_USER_NOTIF | PC_NOTIFIED_NAME : REFUSE(EPERM));
}

static void fchmod_block(struct program *p, const struct pc_filter_spec *spec)
{
	refuse_set_ids(p, spec, 1);
	ret(p, ALLOW);
}

/*
 * A process that lets nobody look at its memory (gpg-agent, ssh-agent) could have no call of it performed, and its socket could
 * not be bound. It stays one that can be looked at, and is told that all went well: of those who could look, the run's own
 * processes share its fate, and a core is never written.
 */
static void prctl_block(struct program *p, const struct pc_filter_spec *spec)
{
	size_t mark;

	(void)spec;
	load_arg_low(p, 0);
	mark = begin_if_equal(p, 4 /* PR_SET_DUMPABLE */);
	load_arg_low(p, 1);
	ret_if_equal(p, 0, REFUSE(0));
	end(p, mark);
	ret(p, ALLOW);
}

/* A call that names a file: the path observer, where it was asked for, sees it on its way. */
static void path_block(struct program *p, const struct pc_filter_spec *spec)
{
	ret(p, spec->observed ? SECCOMP_RET_USER_NOTIF | PC_NOTIFIED_OBSERVE : ALLOW);
}

/* A call that makes a name, where some names stay absent: the broker makes it. */
static void name_block(struct program *p, const struct pc_filter_spec *spec)
{
	if (spec->names)
		ret(p, SECCOMP_RET_USER_NOTIF | PC_NOTIFIED_NAME);
	else
		path_block(p, spec);
}

/*
 * What is made with such a mode is empty, and a write takes the bits away from who has no CAP_FSETID: but not the group's without
 * group execute, which an ACL adds later, and not when root outside writes into it. Directories (mkdir) lose them in the kernel.
 */
static void creat_block(struct program *p, const struct pc_filter_spec *spec)
{
	refuse_mode(p, 1, SET_UID | SET_GID);
	name_block(p, spec);
}

static void mknodat_block(struct program *p, const struct pc_filter_spec *spec)
{
	refuse_mode(p, 2, SET_UID | SET_GID);
	name_block(p, spec);
}

/* The mode counts where something may be made. Source: open(2); fs/open.c, WILL_CREATE. */
static void open_with(struct program *p, const struct pc_filter_spec *spec, unsigned int flags_arg)
{
	const uint32_t nameless = O_TMPFILE & ~(uint32_t)O_DIRECTORY;
	size_t skip;

	load_arg_low(p, flags_arg);
	emit(p, BPF_JMP | BPF_JSET | BPF_K, O_CREAT | nameless, 0, 0);
	skip = p->count - 1;
	refuse_mode(p, flags_arg + 1, SET_UID | SET_GID);
	if (spec->names) {
		load_arg_low(p, flags_arg);
		ret_if_any_bit(p, O_CREAT, SECCOMP_RET_USER_NOTIF | PC_NOTIFIED_NAME);
	}
	end(p, skip);
	/* It opens nothing, so nothing is told of it; and a program that was chosen is looked at so before anybody could answer. */
	if (spec->observed) {
		load_arg_low(p, flags_arg);
		ret_if_any_bit(p, O_PATH, ALLOW);
	}
	path_block(p, spec);
}

static void open_block(struct program *p, const struct pc_filter_spec *spec)
{
	open_with(p, spec, 1);
}

static void openat_block(struct program *p, const struct pc_filter_spec *spec)
{
	open_with(p, spec, 2);
}

/*
 * The broker makes names under the run's rules and knows of no others: a sandbox that a command makes for itself in here would
 * not bind it. So none is made; EOPNOTSUPP is the kernel's own answer where Landlock is there and switched off.
 */
static void landlock_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	ret(p, REFUSE(EOPNOTSUPP));
}

static void chmod_block(struct program *p, const struct pc_filter_spec *spec)
{
	refuse_set_ids(p, spec, 1);
	path_block(p, spec);
}

static void fchmodat_block(struct program *p, const struct pc_filter_spec *spec)
{
	refuse_set_ids(p, spec, 2);
	path_block(p, spec);
}

/* The address is behind a pointer: the supervisor takes its own copy, and the broker does what was asked for. */
static void mediated_block(struct program *p, const struct pc_filter_spec *spec)
{
	(void)spec;
	ret(p, SECCOMP_RET_USER_NOTIF);
}

/* When a row counts. */
enum when {
	WHEN_MEDIATED_OR_LOOPBACK,
	WHEN_LOOPBACK,
	WHEN_ALWAYS,
	WHEN_KILL_ALL,
	WHEN_PEERS,
	WHEN_KILL_ALL_OR_PEERS,
	WHEN_TCP_ONLY,
	WHEN_OBSERVED,
	WHEN_DUMPABLE,
	WHEN_NAMES,
	WHEN_NAMES_OR_OBSERVED,
};

static const struct pc_judged_call judged_calls[] = {
	{ __NR_socket, WHEN_ALWAYS, socket_block },
	{ __NR_socketpair, WHEN_ALWAYS, socketpair_block },
	{ __NR_clone, WHEN_ALWAYS, clone_block },
	{ __NR_unshare, WHEN_ALWAYS, unshare_block },
	{ __NR_ioctl, WHEN_ALWAYS, pc_ioctl_block },
	{ __NR_fcntl, WHEN_ALWAYS, fcntl_block },
	{ __NR_personality, WHEN_ALWAYS, personality_block },
	{ __NR_move_pages, WHEN_ALWAYS, itself_block },
	{ __NR_migrate_pages, WHEN_ALWAYS, itself_block },
#ifdef __NR_chmod /* x86_64 */
	{ __NR_chmod, WHEN_ALWAYS, chmod_block },
#endif
	{ __NR_fchmod, WHEN_ALWAYS, fchmod_block },
	{ __NR_fchmodat, WHEN_ALWAYS, fchmodat_block },
	{ __NR_fchmodat2, WHEN_ALWAYS, fchmodat_block },
	{ __NR_connect, WHEN_MEDIATED_OR_LOOPBACK, mediated_block },
	{ __NR_bind, WHEN_LOOPBACK, mediated_block },
	{ __NR_listen, WHEN_LOOPBACK, mediated_block },
	{ __NR_kill, WHEN_KILL_ALL, kill_block },
	{ __NR_setpriority, WHEN_KILL_ALL_OR_PEERS, setpriority_block },
	{ __NR_prlimit64, WHEN_ALWAYS, prlimit_block },
	{ __NR_setrlimit, WHEN_ALWAYS, setrlimit_block },
	{ __NR_sched_setscheduler, WHEN_PEERS, itself_block },
	{ __NR_sched_setparam, WHEN_PEERS, itself_block },
	{ __NR_sched_setattr, WHEN_PEERS, itself_block },
	{ __NR_ioprio_set, WHEN_KILL_ALL_OR_PEERS, ioprio_set_block },
	{ __NR_sendto, WHEN_TCP_ONLY, sendto_block },
	{ __NR_sendmsg, WHEN_TCP_ONLY, sendmsg_block },
	{ __NR_sendmmsg, WHEN_TCP_ONLY, sendmmsg_block },
	{ __NR_setsockopt, WHEN_TCP_ONLY, setsockopt_block },
	{ __NR_landlock_create_ruleset, WHEN_NAMES, landlock_block },
	{ __NR_prctl, WHEN_DUMPABLE, prctl_block },
/* The same calls as in observe.c and name_calls.c, which know where their names are; the chmod family is above. */
#ifdef __NR_open /* x86_64 */
	{ __NR_open, WHEN_ALWAYS, open_block },
	{ __NR_creat, WHEN_ALWAYS, creat_block },
	{ __NR_mkdir, WHEN_NAMES_OR_OBSERVED, name_block },
	{ __NR_mknod, WHEN_ALWAYS, creat_block },
	{ __NR_symlink, WHEN_NAMES_OR_OBSERVED, name_block },
	{ __NR_link, WHEN_NAMES_OR_OBSERVED, name_block },
	{ __NR_rename, WHEN_NAMES_OR_OBSERVED, name_block },
	{ __NR_unlink, WHEN_OBSERVED, path_block },
	{ __NR_rmdir, WHEN_OBSERVED, path_block },
	{ __NR_chown, WHEN_OBSERVED, path_block },
	{ __NR_lchown, WHEN_OBSERVED, path_block },
	{ __NR_utime, WHEN_OBSERVED, path_block },
	{ __NR_utimes, WHEN_OBSERVED, path_block },
	{ __NR_futimesat, WHEN_OBSERVED, path_block },
#endif
#ifdef __NR_renameat
	{ __NR_renameat, WHEN_NAMES_OR_OBSERVED, name_block },
#endif
	{ __NR_openat, WHEN_ALWAYS, openat_block },
	{ __NR_mkdirat, WHEN_NAMES_OR_OBSERVED, name_block },
	{ __NR_mknodat, WHEN_ALWAYS, mknodat_block },
	{ __NR_symlinkat, WHEN_NAMES_OR_OBSERVED, name_block },
	{ __NR_linkat, WHEN_NAMES_OR_OBSERVED, name_block },
	{ __NR_renameat2, WHEN_NAMES_OR_OBSERVED, name_block },
	{ __NR_unlinkat, WHEN_OBSERVED, path_block },
	{ __NR_truncate, WHEN_OBSERVED, path_block },
	{ __NR_fchownat, WHEN_OBSERVED, path_block },
	{ __NR_utimensat, WHEN_OBSERVED, path_block },
	{ __NR_setxattr, WHEN_OBSERVED, path_block },
	{ __NR_lsetxattr, WHEN_OBSERVED, path_block },
	{ __NR_removexattr, WHEN_OBSERVED, path_block },
	{ __NR_lremovexattr, WHEN_OBSERVED, path_block },
};

const struct pc_judged_call *pc_judged_calls(size_t *count)
{
	*count = sizeof(judged_calls) / sizeof(judged_calls[0]);
	return judged_calls;
}

bool pc_is_judged(const struct pc_judged_call *call, const struct pc_filter_spec *spec)
{
	switch ((enum when)call->when) {
	case WHEN_ALWAYS:
		return true;
	case WHEN_KILL_ALL:
		return (spec->groups & PC_REFUSE_KILL_ALL) != 0;
	case WHEN_PEERS:
		return (spec->groups & PC_REFUSE_PEERS) != 0;
	case WHEN_KILL_ALL_OR_PEERS:
		return (spec->groups & (PC_REFUSE_KILL_ALL | PC_REFUSE_PEERS)) != 0;
	case WHEN_TCP_ONLY:
		return spec->tcp_only;
	case WHEN_MEDIATED_OR_LOOPBACK:
		return spec->mediated || spec->loopback;
	case WHEN_LOOPBACK:
		return spec->loopback;
	case WHEN_DUMPABLE:
		return spec->dumpable;
	case WHEN_OBSERVED:
		return spec->observed;
	case WHEN_NAMES:
		return spec->names;
	case WHEN_NAMES_OR_OBSERVED:
		return spec->names || spec->observed;
	}
	return true;
}
