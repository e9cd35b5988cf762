/*
 * What a system gives procage: every primitive, documented once.
 *
 * Zero or a value on success, negative errno on failure. Out-parameters come last and are written on success only. A system
 * that lacks a primitive answers -EOPNOTSUPP. Nothing here prints, and nothing here sees a lua_State.
 *
 * Functions marked [child] are async-signal-safe: raw system calls, no allocation, no lock, no errno. They may run between
 * clone and exec in a child that shares memory with a threaded host, and inside the init program, which has no libc.
 */
#ifndef PROCAGE_PLATFORM_H
#define PROCAGE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Landlock (landlock.c) ------------------------------------------------------------------------------------------- */

/* One row of the tables of Landlock rights, scopes and flags: the kernel's name, its bit, the first ABI and Linux to have it. */
struct pc_landlock_bit {
	const char *name; /* "READ_FILE" */
	uint64_t bit;
	int abi;
	const char *since; /* "5.13" */
};

enum pc_landlock_table {
	PC_LANDLOCK_FS,	      /* handled_access_fs */
	PC_LANDLOCK_NET,      /* handled_access_net */
	PC_LANDLOCK_SCOPE,    /* scoped */
	PC_LANDLOCK_RESTRICT, /* flags of landlock_restrict_self */
	PC_LANDLOCK_ADD_RULE, /* flags of landlock_add_rule */
};

/* The table's rows, ended by a row whose name is NULL. */
const struct pc_landlock_bit *pc_landlock_bits(enum pc_landlock_table table);

/* Bits of `table` that ABI `abi` has. An ABI above the newest known counts as the newest known. */
uint64_t pc_landlock_mask(enum pc_landlock_table table, int abi);

/* The rights the kernel accepts on a file that is no directory. */
uint64_t pc_landlock_file_mask(void);

/*
 * The ABI this kernel offers, at most the cap: 1 and up; -ENOSYS (not built), -EOPNOTSUPP (built, not enabled).
 * Source: landlock_create_ruleset(2), LANDLOCK_CREATE_RULESET_VERSION, Linux 5.13.
 */
int pc_landlock_abi(void);

/* Test hook: makes pc_landlock_abi() answer at most `abi` in this process; 0 acts as if Landlock were absent, -1 lifts the cap. */
void pc_landlock_cap_abi(int abi);

/* Errata bits that this kernel has fixed (bit n-1 for erratum n); 0 when it cannot tell. Source: kernel docs, Linux 6.15. */
int pc_landlock_errata(uint32_t *errata);

/* What a ruleset handles; what a host cannot do is clipped, never refused. */
struct pc_landlock_handled {
	uint64_t fs, net, scoped;
};

/*
 * Makes an empty ruleset that handles `want`, clipped to this host's ABI.
 *
 * clipped: the bits of `want` that were left out; may not be NULL, so that no caller loses them in silence
 *
 * Returns a close-on-exec descriptor, or -errno: ENOSYS, EOPNOTSUPP, EMFILE; ENOMSG when nothing is left to handle.
 */
int pc_landlock_create(const struct pc_landlock_handled *want, struct pc_landlock_handled *clipped);

/*
 * Grants `access` beneath the object that `fd` names (an O_PATH descriptor will do).  [child]
 * Rights that the object cannot have (directory rights on a file) are left out, as the kernel demands.
 *
 * Returns 0, or -errno: EINVAL (a right the ruleset does not handle), ENOMSG (no right left), EBADFD (not a path).
 * Source: landlock_add_rule(2), Linux 5.13.
 */
int pc_landlock_add_fd(int ruleset_fd, int fd, uint64_t access);

/* The same, where the caller knows what `fd` names.  [child] */
int pc_landlock_add_object(int ruleset_fd, int fd, bool is_directory, uint64_t access);

/*
 * The same by path: absolute; resolved here, once. With `nofollow` a symbolic link anywhere in the path is -ELOOP.
 * Returns 0, or -errno of opening the path or of pc_landlock_add_fd.  [child]
 */
int pc_landlock_add_path(int ruleset_fd, const char *path, uint64_t access, bool nofollow);

/* Grants `access` (network rights) for TCP or UDP port 0..65535. Source: landlock_add_rule(2), NET_PORT, Linux 6.7.  [child] */
int pc_landlock_add_port(int ruleset_fd, uint16_t port, uint64_t access);

/* Enforces the ruleset on the calling thread. no_new_privs must be set. Source: landlock_restrict_self(2).  [child] */
int pc_landlock_restrict(int ruleset_fd, uint32_t flags);

/* For a throw-away child: how many domains it may still take on, which tells how many its parent has. [child] */
struct pc_landlock_count {
	int ruleset_fd, left;
};
int pc_landlock_count_child(void *count);

/* ---- seccomp (seccomp.c, seccomp_blocks.c, seccomp_calls.c) ----------------------------------------------------------- */

/* One refused call: the table is the documentation. */
struct pc_refused_call {
	const char *name;   /* the kernel's name */
	int number;	    /* -1: resolve by name; else the number on every architecture here (calls newer than libseccomp) */
	int error;	    /* errno the caller sees */
	unsigned int group; /* PC_REFUSE_* */
	const char *since;  /* Linux version that has it */
	const char *why;    /* what it would open */
	const char *notice; /* what legitimate program would notice */
};

enum {
	PC_REFUSE_ALWAYS = 1u << 0,
	PC_REFUSE_SYSV = 1u << 1, /* System V IPC, where there is no IPC namespace */
	PC_REFUSE_KILL_ALL =
		1u << 2, /* kill(-1), and calls that touch other processes of the user, where nothing scopes signals */
	PC_REFUSE_PEERS = 1u << 4,  /* limits and scheduling of other processes, where they have numbers */
	PC_REFUSE_LISTEN = 1u << 3, /* listen(2): goes round Landlock's TCP rules without bind */
};

/* Rows, ended by a NULL name. Rows that compare arguments are in seccomp.c, with their reasons beside them. */
const struct pc_refused_call *pc_refused_calls(void);

/* What a filter lets through and refuses. */
struct pc_filter_spec {
	unsigned int groups; /* PC_REFUSE_*; ALWAYS is implied */
	const int *refused;  /* numbers of calls refused besides, with EPERM, whatever their arguments */
	size_t refused_count;
	bool inet;     /* AF_INET and AF_INET6 sockets can be made */
	bool datagram; /* ... also SOCK_DGRAM ones */
	bool mediated; /* connect(2) is a notification, and AF_UNIX datagram sockets are refused: they name a peer in sendmsg */
	bool no_unix;  /* no AF_UNIX socket, but for pairs that cannot name another peer; not with `mediated` */
	bool names;    /* calls that make a name are notifications, for the broker to perform */
	bool dumpable; /* processes stay such that the supervisor can read them, where it has no right of its own to */
	bool observed; /* calls that name files are notifications */
	bool loopback; /* bind, listen and connect(2) are notifications, for addresses of TCP are judged; with inet and tcp_only */
	bool tcp_only; /* refuse what goes round Landlock's TCP rules: MPTCP, SCTP, SMC, MSG_FASTOPEN, TCP_FASTOPEN_CONNECT */
};

/*
 * Compiles a filter into classic BPF. The architectures other than the native one are refused, calls above the newest known
 * get ENOSYS, clone3 gets ENOSYS.
 *
 * program: malloc'ed array of struct sock_filter (8 bytes each), the caller frees; count: instructions
 *
 * Returns 0, or -errno: ENOMEM, EINVAL (libseccomp refused a rule; no_unix with mediated or
 * loopback; loopback without inet or tcp_only, or with datagram), E2BIG (more than 4096 instructions).
 */
int pc_filter_compile(const struct pc_filter_spec *spec, void **program, size_t *count);

/* The number of a call by its name; or -errno: ENOENT (no such call), EOPNOTSUPP (this architecture never had it). */
int pc_filter_call(const char *name);

/*
 * Turns the refusals of a compiled program, but for ENOSYS, into notifications: `notified` has room for `count` instructions.
 * Always 0.
 */
int pc_filter_notify(const void *program, size_t count, void *notified);

/*
 * Installs a program with notifications and returns its listener, a close-on-exec descriptor; or -errno: EBUSY, when the
 * process has a listener already. Source: seccomp_unotify(2), Linux 5.0.  [child]
 */
int pc_filter_install_listener(const void *program, size_t count);

/* Installs a compiled filter on the calling thread. no_new_privs must be set. Source: seccomp(2), Linux 3.17.  [child] */
int pc_filter_install(const void *program, size_t count);

/* ---- Namespaces (ns_child.c) ------------------------------------------------------------------------------------------- */

/* Moves the calling process into new namespaces, CLONE_NEW* bits. -errno as unshare(2): EPERM, ENOSPC, EINVAL.  [child] */
int pc_ns_unshare(uint64_t flags);

/*
 * Maps one user and one group id, each to itself, in the user namespace that the caller has just entered.  [child]
 * setgroups is denied first, as the kernel demands of an unprivileged map.
 *
 * Returns 0, or -errno of /proc/self/{setgroups,uid_map,gid_map}: EPERM, EACCES (AppArmor). Source: user_namespaces(7).
 */
int pc_ns_map_ids(uint32_t uid, uint32_t gid);

/* Namespaces of another process, which a child enters before it makes its own. */
struct pc_join {
	int pidfd;	     /* a process that is in them */
	uint64_t namespaces; /* CLONE_NEW* bits */
	uint32_t net_major, net_minor;
	uint64_t net_ino; /* the network namespace that it must be, whatever the pidfd is by now */
};

/*
 * Moves the calling process into them. 0; or -errno as setns(2): ESRCH (the process has ended), EPERM; ESTALE: it is another
 * network namespace. The caller ends then: it may be in some of them. Source: setns(2) by a pidfd, Linux 5.8.  [child]
 */
int pc_ns_join(const struct pc_join *join);

/* Which network namespace the calling process is in; the rest of `join` is left alone. 0 or -errno.  [child] */
int pc_ns_network(struct pc_join *join);

/*
 * Leaves every mount: an empty file system is the root of a mount namespace that is the caller's own. Afterwards
 * nothing of the host's is kept.  [child]
 */
int pc_ns_leave_mounts(void);

/* Brings the loopback interface up; the network namespace must be the caller's own. Source: netdevice(7).  [child] */
int pc_net_lo_up(void);

/* ---- Mounts (mount_child.c); the mount namespace must be the caller's own --------------------------------------------- */

/* No mount made later, here or on the host, propagates across. Source: mount(2), MS_PRIVATE.  [child] */
int pc_mount_private(void);

/*
 * Opens `path` as O_PATH without following a symbolic link anywhere in it: every path in a Plan is resolved already, so a link
 * met now was planted since.  [child]
 *
 * Returns a close-on-exec descriptor, or -errno: ELOOP, ENOENT, ENOTDIR, EACCES. Source: openat2(2), Linux 5.6.
 */
int pc_open_resolved(const char *path);

/* A detached copy of the mount tree at `path`: a close-on-exec descriptor, or -errno. Source: open_tree(2), Linux 5.2. [child] */
int pc_tree_clone(const char *path);

/* Adds MOUNT_ATTR_* bits to the whole detached tree `fd`. -ENOSYS before Linux 5.12. Source: mount_setattr(2).  [child] */
int pc_tree_set(int fd, uint64_t attributes);

/* Mounts the detached tree `fd` over `path`. Source: move_mount(2), Linux 5.2.  [child] */
int pc_tree_attach(int fd, const char *path);

/*
 * Mounts the symbolic link `path` over itself: it is followed as before, and can be neither renamed nor removed. -ESTALE when it
 * is no link (any more).  [child]
 */
int pc_mount_pin_link(const char *path);

/* Adds MOUNT_ATTR_* bits to the mount at `path` and, if `recursive`, every mount below. Source: mount_setattr(2), 5.12. [child] */
int pc_mount_set(const char *path, uint64_t attributes, bool recursive);

/*
 * Makes the one mount at `path` read-only, nosuid and nodev, keeping the flags that a user namespace may not clear (noexec,
 * atime). For kernels before mount_setattr. Source: mount(2), MS_REMOUNT|MS_BIND; mount_namespaces(7), locked mounts.  [child]
 */
int pc_mount_remount_read_only(const char *path);

/* New file systems, mounted nosuid and, but for devpts, nodev and noexec. `options` as mount(2) data.  [child] */
int pc_mount_tmpfs(const char *path, const char *options);
int pc_mount_proc(const char *path); /* read-only; the PID namespace must be the caller's own */
int pc_mount_devpts(const char *path);

/* ---- The process itself (process_child.c) ------------------------------------------------------------------------------ */

/*
 * Empties every capability set, the bounding set included, and locks SECBIT_NOROOT so that no uid 0 gains them by exec.  [child]
 * The result is read back: a set that is not empty is -EPERM. Source: capabilities(7).
 */
int pc_drop_capabilities(void);

/* Source: prctl(2), PR_SET_NO_NEW_PRIVS, Linux 3.5.  [child] */
int pc_no_new_privs(void);

/* A session of its own, without a controlling terminal. Source: setsid(2).  [child] */
int pc_new_session(void);

/*
 * The same for a process that may lead a group already, as what a shell starts does, and can make no session then: it gives up
 * its controlling terminal instead. The leader of a session keeps session and terminal. Source: ioctl_tty(2), TIOCNOTTY. [child]
 */
int pc_leave_session(void);

/* All dispositions to default, all signals unblocked: a host's choices must not reach the command.  [child] */
int pc_reset_signals(void);

/* Closes every descriptor from `first` up, by number (close_range, Linux 5.9), else as listed in /proc/self/fd.  [child] */
int pc_close_from(unsigned int first);

/* Both limits of RLIMIT_* `resource`, never above the hard limit in force. Source: setrlimit(2).  [child] */
int pc_set_rlimit(uint32_t resource, uint64_t value);

/* ---- Running (spawn.c, supervise.c) ------------------------------------------------------------------------------------- */

struct pc_plan;

/* Of all of a run's processes together; 0: none. */
struct pc_cgroup_limits {
	uint64_t memory_bytes, processes;
};

/* What differs from run to run. Every text outlives the call. */
struct pc_command {
	const char *const *argv;     /* NULL-ended, at least one */
	const char *const *envp;     /* NULL-ended */
	const char *const *programs; /* NULL-ended: paths to try in turn, as execvp(3) would */
	/*
	 * The one program is a file that was looked at before: this one, or the command does not run (-ESTALE). It is executed by
	 * descriptor; a script, whose interpreter needs its path, by path after it was looked at again.
	 */
	bool is_chosen;
	uint64_t chosen_dev, chosen_ino;
	int64_t chosen_ctime_ns;
	const char *cwd;       /* absolute and resolved */
	const char *directory; /* the run's private directory, or NULL */
	int stdin_fd;	       /* -1: /dev/null */
	int stdout_fd, stderr_fd;
	bool has_terminal;  /* in place of the three: a terminal of its own */
	const char *cgroup; /* a delegated cgroup v2 directory: the command gets one of its own in it; NULL: none */
	struct pc_cgroup_limits cgroup_limits;
	/* The namespaces that the plan joins, held by pc_holder_use(); NULL: it joins none. */
	const struct pc_join *join;
	struct pc_spare *spare;	 /* started ahead (pc_spare_start); NULL once pc_spawn() has had it, whatever came of it */
	const char *domain_name; /* what its processes are called while they take on Landlock's domain, shorter than 16; NULL */
};

/* A step that failed; the command never ran. */
struct pc_failure {
	uint32_t step; /* enum pc_step of core/plan.h */
	uint32_t op;   /* index in the plan, or ~0 */
	int error;     /* negative errno */
};

/* A started run. Descriptors are close-on-exec; -1 when there is none. */
struct pc_process {
	int pid;   /* of the run's init */
	int pidfd; /* readable when init, and with it the run, is dead */
	int status_fd, control_fd;
	int listener_fd;	  /* seccomp notifications of the run; -1: none */
	int broker_fd;		  /* the broker's requests; -1: none */
	int terminal_fd;	  /* the other end of the command's terminal; -1: none */
	bool has_pid_namespace;	  /* init's death is everybody's */
	struct pc_cgroup *cgroup; /* NULL: none */
};

/*
 * Starts a command under a checked plan and waits until it has been exec'd.
 *
 * plan_bytes, plan_size: the bytes that `plan` was checked from
 *
 * Returns 0, or -errno with `failure` filled in: the command never ran, and nothing of the run is left.
 */
int pc_spawn(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, const struct pc_command *command,
	     struct pc_process *process, struct pc_failure *failure);

/* What is known of a run before its command. */
struct pc_ahead {
	const char *directory; /* the run's private directory, or NULL */
	const char *cgroup;    /* as in struct pc_command, with its limits: the run's own is made here */
	struct pc_cgroup_limits cgroup_limits;
	const struct pc_join *join; /* as in struct pc_command */
	bool is_audited;	    /* its domain gets a name, for the kernel's records of it */
	uint32_t wait_ms;	    /* it ends by itself after that long without a command */
};

/*
 * Starts a run ahead, up to the command itself: a child makes namespaces and mounts, adds the rules, and is confined, while the
 * caller goes on. It ends with this process.
 *
 * Returns 0; or -errno: EOPNOTSUPP (a plan that cannot be begun without the command, or a kernel without MADV_WIPEONFORK).
 */
struct pc_spare;
int pc_spare_start(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, const struct pc_ahead *ahead,
		   struct pc_spare **spare);

/* What its domain is called; NULL: nothing. */
const char *pc_spare_domain_name(const struct pc_spare *spare);

/*
 * Whether it waits for its command, or will. A spare of a process that has forked since, of which a descriptor was closed, or
 * whose child has died is none.
 */
bool pc_spare_is_alive(const struct pc_spare *spare);

/* A number that a process keeps and a fork of it does not have. (here.c) */
uint64_t pc_process_token(void);

/* How many processors the calling thread may run on. */
int pc_processors(void);

/* Ends it: nothing of it is left, and no descriptor is closed but its own. In a fork of the process nothing but those is. */
void pc_spare_close(struct pc_spare *spare);

/*
 * pc_spawn() of a command with a spare of the same plan, which is let go of in any case. -ESTALE: it is no longer right, or the
 * host is not what it was. After any failure the command has not run, and may be started without a spare.
 */
int pc_spare_take(struct pc_spare *spare, const struct pc_command *command, struct pc_process *process,
		  struct pc_failure *failure);

/*
 * A user and a network namespace, with lo up, that runs have in common, kept by a process of its own (holder.c). It ends with
 * this process, by pc_holder_close(), and by itself once no run has been in them for `idle_ms`. It is in no mount namespace but
 * one that is empty, has no capability and cannot be traced. Runs that go on keep the namespaces.
 *
 * Returns 0; or -errno with the step in `failure`.
 */
struct pc_holder;
int pc_holder_start(uint32_t idle_ms, struct pc_holder **holder, struct pc_failure *failure);

/*
 * A run begins: until pc_holder_leave() the holder stays. Whoever calls closes `join->pidfd` once the run has started.
 *
 * Returns 0; or -errno: ESTALE: it has ended, or a descriptor of it was closed, or this process is a fork or may no longer do
 * what the one did that made it: another one is to be made. Nothing is to be left then.
 */
int pc_holder_use(struct pc_holder *holder, struct pc_join *join);
void pc_holder_leave(struct pc_holder *holder);

/* Ends the process; in a fork of this one lets go of it. Uses may still be left. */
void pc_holder_close(struct pc_holder *holder);
void pc_holder_free(struct pc_holder *holder);

/*
 * Confines the calling process as the plan says and becomes the command: same pid, standard streams as they are, the leader of
 * its own session where it can be (pc_leave_session), subreaper of what it starts. (become.c)
 *
 * The plan has neither a PID namespace nor notifications (-EINVAL): nobody is left to look after the command. A standard stream
 * may be no directory (-EISDIR) and no socket that could reach another peer (-EPROTOTYPE: all but connected Unix streams).
 * With namespaces the process has one thread (-EINVAL, user_namespaces(7)).
 *
 * Returns only on failure: -errno with `failure` filled in. Before the step `descriptors` or `namespaces` nothing has changed;
 * from then on the caller is partly confined, has lost its descriptors above 2, and is to exit.
 */
int pc_become(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, const struct pc_command *command,
	      struct pc_failure *failure);

/* One captured stream: the first and the last bytes of it, so that memory is bounded whatever the command prints. */
struct pc_capture {
	char *head, *tail; /* tail is a ring */
	size_t head_size, head_room, tail_size, tail_start;
	uint64_t dropped_bytes; /* between the two */
};

/* One kind of refusal, as the supervisor saw it. */
struct pc_denial {
	char call[24];		    /* the kernel's name of the call, or its number */
	uint64_t args[3];	    /* the first argument registers */
	int error;		    /* positive errno that the caller saw */
	char process[16];	    /* name of the first process that met it */
	unsigned char address[128]; /* connect: the address asked for */
	uint32_t address_size;
	uint64_t count; /* of the same */
};

#define PC_MAX_DENIALS 64

/* Bounded whatever a command does: a refusal of a new kind beyond the room is counted and no more. */
struct pc_denials {
	bool is_recorded; /* false: no listener, so nothing is known */
	size_t count;
	uint64_t more;
	struct pc_denial list[PC_MAX_DENIALS];
};

/* Not a right of Landlock's: mode, owner, times, attributes. */
#define PC_ACCESS_METADATA (1ull << 32)

/* What a run did with one path, as the path observer saw it or the kernel's audit records say. (observe.c, audit_records.c) */
struct pc_access {
	char *path;		  /* resolved, as the run sees it; malloc'ed */
	uint64_t wanted, refused; /* LANDLOCK_ACCESS_FS_* bits and PC_ACCESS_METADATA */
	int error;		  /* positive errno that the caller saw, where something was refused */
	char call[24], process[16];
	uint64_t count;
	bool is_exact;	       /* the kernel said so, not the observer alone */
	bool is_about_entries; /* some right was refused on what stands, or was to stand, in this directory: the kernel names no more */
};

struct pc_accesses {
	bool is_recorded; /* false: nobody looked */
	bool is_audited;  /* by the kernel's audit records */
	bool is_observed; /* by the path observer */
	uint64_t lost;	  /* audit records that were, at least; of this run or of another program */
	size_t count;
	uint64_t more; /* further ones, beyond what is kept */
	struct pc_access *list;
};

void pc_accesses_free(struct pc_accesses *accesses);

/* How to look after a run. */
struct pc_notify;
struct pc_audit;
struct pc_supervision {
	struct pc_notify *notify; /* NULL: no notifications. Taken */
	struct pc_audit *audit;	  /* NULL: nobody reads the kernel's records. Taken */
	int64_t timeout_ms;	  /* -1: none */
	int64_t grace_ms;	  /* from SIGTERM to the end of everything */
	int64_t input_grace_ms;	  /* from the end of standard input to SIGTERM; 0: the run goes on */
	int in_from_fd;		  /* copied into in_fd; -1: `input` is written instead */
	const char *input;
	size_t input_size;
	int in_fd;		  /* our end of the command's standard input; -1: none. Closed here */
	int out_fd, err_fd;	  /* our ends of its output; err_fd -1 when it is merged. Closed here */
	int out_to_fd, err_to_fd; /* copied there as it comes; -1: captured */
	size_t capture_bytes;	  /* kept of each captured stream */
	int cancel_fd;		  /* signalfd; a signal read from it ends the run, but SIGWINCH; -1: none */
	int wake_fd;		  /* eventfd; 1 asks the run to end, more ends it now; -1: none */
	bool has_terminal;	  /* out_fd is the command's terminal, to be resized like the one of in_from_fd */
	bool is_input_open;	  /* in_fd stays open for more (pc_supervise_give) */
	bool is_live;		  /* what is captured is shown as it comes (pc_supervise_output) */
	bool may_leave_init;	  /* the result may come with an init that is still going */
};

/*
 * An init whose run is over: all that the run started is dead and reaped, and it is on its way out, with the run's namespaces
 * and mounts. They take as long to go as the end of everything else. (remains.c)
 */
struct pc_remains;

/* Whether it has gone, by now or in any case; a zombie of ours is none from then on. Never waits. */
bool pc_remains_have_gone(struct pc_remains *remains);

/* Waits until it has, and frees; NULL: nothing. */
void pc_remains_end(struct pc_remains *remains);

struct pc_result {
	bool has_status;     /* false: init died without a word, so how the command ended is unknown */
	int wait_status;     /* as wait(2) gives it */
	bool is_broker_lost; /* killed while the command ran, which ended the run */
	bool is_timed_out;
	int cancel_signal; /* 0: not cancelled */
	int output_error;  /* errno of writing the output where it was to go, but for a reader that is gone; 0: none */
	uint64_t duration_us;
	uint64_t user_us, system_us, max_rss_kib;
	uint64_t memory_kills; /* processes that the kernel killed at the limit of memory, where there is a cgroup */
	struct pc_capture out, err;
	struct pc_denials denials;
	struct pc_accesses accesses;
	struct pc_remains *remains; /* may_leave_init alone; NULL: init has gone */
};

struct pc_supervisor;

/*
 * Begins to look after a started run; takes its descriptors and those of `how`, but what is copied from and to. SIGPIPE must be
 * blocked in the calling thread, here and in what follows.
 *
 * Returns 0, or -errno (ENOMEM): the run is dead then.
 */
int pc_supervise_start(const struct pc_process *process, const struct pc_supervision *how, struct pc_supervisor **started);

/*
 * Waits at most `timeout_ms` (-1: as long as it takes) for something to happen to the run and sees to it.
 * 1: everything the command started is dead and its output is read; 0: not yet; or -errno (poll(2)).
 */
int pc_supervise_step(struct pc_supervisor *supervisor, int timeout_ms);

/* What the last step has read of a live stream; the caller's until the next one. */
const char *pc_supervise_output(const struct pc_supervisor *supervisor, bool is_error, size_t *size);

/*
 * Gives the command more input, which must stay where it is until pc_supervise_ungiven() is 0.
 * -EAGAIN: not all of the last is taken yet; -EPIPE: the command has closed its input, or we have.
 */
int pc_supervise_give(struct pc_supervisor *supervisor, const char *data, size_t size);
size_t pc_supervise_ungiven(const struct pc_supervisor *supervisor);
void pc_supervise_end_input(struct pc_supervisor *supervisor);

/* Ends the run if it is not over and waits until it is dead. Free `result` with pc_result_free(), which waits for remains. */
void pc_supervise_finish(struct pc_supervisor *supervisor, struct pc_result *result);

void pc_capture_free(struct pc_capture *capture);
void pc_result_free(struct pc_result *result);

/*
 * Which of the accesses to files are kept, where the plan has them seen. MOUNTS: those that a mount or a mask refuses before
 * Landlock is asked; the kernel's own records have the others.
 */
enum pc_observes { PC_OBSERVES_NONE, PC_OBSERVES_REFUSED, PC_OBSERVES_MOUNTS, PC_OBSERVES_ALL };

/* One whole run: pipes, spawn, supervision. (run.c) */
struct pc_run {
	const char *input; /* written to standard input, which is then closed; NULL: see stdin_fd */
	size_t input_size;
	int stdin_fd;		  /* copied to standard input; -1 (and no input): /dev/null */
	const char *stdin_path;	  /* a file to copy from, in place of stdin_fd; NULL: none */
	bool is_input_open;	  /* standard input is a pipe for pc_run_write() */
	int stdout_fd, stderr_fd; /* the output is copied there as it comes; -1: captured */
	bool has_terminal;	  /* the command gets a terminal of its own; stdin_fd and stdout_fd are the user's */
	bool is_merged;		  /* standard error goes where standard output goes, in order */
	bool takes_signals;	  /* SIGINT, SIGTERM and SIGHUP sent to this thread's process end the run instead */
	size_t capture_bytes;
	int64_t timeout_ms, grace_ms; /* -1: no timeout */
	enum pc_observes observes;
	bool is_audited;	/* the plan's domain is logged, and the kernel's records of it are read */
	int64_t input_grace_ms; /* from the end of standard input to SIGTERM; 0: the run goes on */
	bool may_leave_init;	/* as in struct pc_supervision */
};

/*
 * Runs `command` (its descriptors are filled in here) and returns when everything that it started is dead.
 *
 * The command never holds a descriptor of the caller's: its streams are pipes of ours, so there is no terminal to type into,
 * no file to truncate, no socket to talk on.
 *
 * Returns 0 with `result`; or -errno with `failure`: the command never ran. Free result->out and ->err in both cases.
 */
int pc_run(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, struct pc_command *command,
	   const struct pc_run *run, struct pc_result *result, struct pc_failure *failure);

/*
 * The same run, a step at a time, its captured output shown as it comes; without takes_signals and has_terminal. What `run`
 * points to must outlive the run. One thread at a time, but for pc_run_cancel().
 */
struct pc_running;
int pc_run_start(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, struct pc_command *command,
		 const struct pc_run *run, struct pc_running **running, struct pc_failure *failure);

/* As pc_supervise_step(), pc_supervise_output() and pc_supervise_finish(). */
int pc_run_step(struct pc_running *running, int timeout_ms);
const char *pc_run_output(const struct pc_running *running, bool is_error, size_t *size);
void pc_run_finish(struct pc_running *running, struct pc_result *result);

/* How many of the bytes are taken, copied: 0 while the last ones are on their way. -EPIPE: nobody reads; -ENOMEM. */
int64_t pc_run_write(struct pc_running *running, const char *data, size_t size);
void pc_run_end_input(struct pc_running *running);

/* Asks the run to end, by SIGTERM and a grace; `now`, or a second time, without. From any thread, while it is not finished. */
void pc_run_cancel(struct pc_running *running, bool now);

/* ---- The user's terminal (terminal.c) ----------------------------------------------------------------------------------- */

#define PC_TERMINAL_STATE 128 /* bytes, 8-byte aligned */

bool pc_is_terminal(int fd);

/* Lets every key through as it is, and keeps the settings in `state`; and puts them back. 0 or -errno. */
int pc_terminal_raw(int fd, unsigned char *state);
int pc_terminal_restore(int fd, const unsigned char *state);

/*
 * Makes `path` (a template ending in XXXXXX, rewritten) and, in it, tmp, var and shm, all mode 0700. (private.c)
 *
 * Returns a close-on-exec descriptor, whose being open says that the directory is in use; or -errno, and nothing is left.
 */
int pc_private_directory(char *path);

/* The directory is the calling process's own from now on, whatever it becomes. 0 or -errno. */
int pc_private_claim(const char *path);

/*
 * Removes the directories in `base` that pc_private_directory() made for the same user and that are nobody's any more.
 * How many they were (at most 64 a call), or -errno of listing `base`.
 */
int pc_private_sweep(const char *base);

/*
 * Removes the tree at `path` without following anything, with two descriptors whatever its depth. (tree.c)
 * Directories that the owner locked are unlocked. Returns 0, or the first -errno after doing all it could.
 */
int pc_remove_tree(const char *path);

/* ---- The file system, for plans (fs.c) --------------------------------------------------------------------------------- */

struct pc_file {
	const char *kind;  /* "file", "directory", "link", "socket", "fifo", "device", "other" */
	unsigned int mode; /* permission bits */
	uint32_t uid, gid;
	uint64_t dev, ino, links, size;
	int64_t mtime_ns, ctime_ns;
};

/* read(2), once: what is there, without waiting for more. 0 at the end, or -errno. */
int64_t pc_read_some(int fd, void *buffer, size_t size);

#define PC_DIGEST_SIZE 32

struct pc_digest {
	uint8_t sha256[PC_DIGEST_SIZE];
	unsigned int mode; /* permission bits */
	uint64_t size;
};

/*
 * What a regular file holds. No link is followed on the way or at its end, nothing is waited for. (digest.c)
 *
 * Returns 0, or -errno: ELOOP (a link), EINVAL (no regular file), EFBIG (more than `limit` bytes), and those of open(2), read(2).
 */
int pc_digest_file(const char *path, uint64_t limit, struct pc_digest *digest);

/* SHA-256 of bytes. `sha256` has room for PC_DIGEST_SIZE. */
void pc_digest(const void *data, size_t size, uint8_t *sha256);

/* stat(2), or lstat(2) without `follow`. 0 or -errno. */
int pc_file_facts(const char *path, bool follow, struct pc_file *file);

/* fstat(2). 0 or -errno. */
int pc_descriptor_facts(int fd, struct pc_file *file);

/*
 * A program as it may be executed: opened once (O_PATH, links followed), and everything is said of what was opened. Its path
 * goes into `resolved`, a buffer of PATH_MAX bytes. 0 or -errno: EACCES (no regular file, or not executable by the caller),
 * ENOENT, ENAMETOOLONG, and what open(2) says.
 */
int pc_executable_facts(const char *path, struct pc_file *file, char *resolved);

/* realpath(3) into a buffer of PATH_MAX bytes. 0 or -errno. */
int pc_real_path(const char *path, char *resolved);

/* What a symbolic link says, into a buffer of PATH_MAX bytes. 0 or -errno: EINVAL (no link), ENAMETOOLONG. */
int pc_read_link(const char *path, char *target);

/*
 * Calls `each(context, name, kind)` for every entry of a directory but . and .., in the file system's order; a value other
 * than 0 ends the walk and is returned. The directory itself is not followed when it is a link (-ELOOP or -ENOTDIR).
 * Returns 0, or -errno; -E2BIG when there are more than `limit` entries.
 */
int pc_list_directory(const char *path, size_t limit, int (*each)(void *, const char *, const char *), void *context);

/* Makes a file that is not there yet (-EEXIST), with these bytes, mode 0666 less the umask. A link is not followed. 0 or -errno. */
int pc_create_file(const char *path, const char *bytes, size_t size);

/*
 * rename(2) that never replaces (-EEXIST) and follows no symbolic link on the way to either name: what is moved lies in a tree
 * that a stranger writes, who could turn a directory of it into a link to somewhere else.
 */
int pc_move(const char *from, const char *to);

/*
 * What a command that is dead has closed for its user (chmod 000) is opened again: the owner's rwx of a directory, which no
 * link leads to. `was`: the mode before, -1 when nothing was missing. 0, or -errno: ENOTDIR, ELOOP, EPERM (another's).
 */
int pc_open_up(const char *path, int *was);

/* chmod(2) that follows no link, neither on the way nor at the end. */
int pc_put_mode(const char *path, unsigned int mode);

/*
 * Reads at most `limit` bytes of a regular file. A stranger may have made it: a link is -ELOOP, a FIFO or a device -EINVAL, and
 * none of them is waited for.
 *
 * data: malloc'ed, the caller frees; size: bytes in it; is_cut: there was more
 */
int pc_read_file(const char *path, size_t limit, char **data, size_t *size, bool *is_cut);

/* mkdir(2). */
int pc_make_directory(const char *path, unsigned int mode);

/* ---- Mounts and limits for the calling process (mount.c); the mount namespace must be its own ------------------------- */

/* The same on every architecture: for pc_ns_unshare(). */
#define PC_NS_MOUNT UINT64_C(0x00020000)
#define PC_NS_UTS   UINT64_C(0x04000000)
#define PC_NS_IPC   UINT64_C(0x08000000)
#define PC_NS_USER  UINT64_C(0x10000000)
#define PC_NS_PID   UINT64_C(0x20000000)
#define PC_NS_NET   UINT64_C(0x40000000)

/*
 * Shows the tree at `from` at `to` as well, mounts below it included. Both absolute, without a symbolic link.
 * Before mount_setattr (Linux 5.12) only a tree of one mount can be made read-only.
 *
 * Returns 0, or -errno: ENOENT, ELOOP, ENOTDIR (either path), EPERM (not our mount namespace), EINVAL.
 */
int pc_mount_bind(const char *from, const char *to, bool read_only);

/* Makes the mount at `path` read-only and, if `recursive`, every mount below (Linux 5.12, else -ENOSYS). */
int pc_mount_read_only(const char *path, bool recursive);

/*
 * Hides what is at `path`: a directory under an empty read-only one, anything else under an empty read-only file of mode 0.
 * A file is made on a file system that stands over its parent for a moment (/proc for a file in /): of use where the caller
 * has the mount namespace to itself.
 *
 * Returns 0, or -errno: ENOENT, ELOOP (a symbolic link anywhere in path), ENOTDIR, EISDIR (the other kind), EPERM, and
 * ENOSYS before Linux 5.2.
 */
int pc_mask_directory(const char *path);
int pc_mask_file(const char *path);

/* The limits by name, ended by a NULL name: "nofile", RLIMIT_NOFILE. */
struct pc_rlimit_name {
	const char *name;
	uint32_t resource;
};

const struct pc_rlimit_name *pc_rlimit_names(void);

/* ---- The calling process's own backstop (confine.c) -------------------------------------------------------------------- */

struct pc_confine_failure {
	const char *path;     /* the tree that no rule could be made for; NULL: it was something else */
	unsigned int threads; /* not 0: that many, and this kernel can confine the calling one only */
};

/*
 * Confines the calling process, all its threads, for good: it writes beneath `trees` (NULL-ended; absolute, resolved) and to
 * null, terminals and the like, and nowhere else. Reads and the network stay open. Sets no_new_privs. A process in a Landlock
 * domain cannot mount, so plans made afterwards have no mounts.
 *
 * Returns 0; or -errno with `failure`, and no rule is in force: ENOSYS, EOPNOTSUPP (no Landlock); EBUSY (threads, before ABI 8);
 * of opening a tree; E2BIG (16 domains already). Source: landlock_restrict_self(2), LANDLOCK_RESTRICT_SELF_TSYNC, Linux 7.0.
 */
int pc_confine_process(const char *const *trees, struct pc_confine_failure *failure);

/* ---- What this host can do (probe.c, probe_read.c) -------------------------------------------------------------------- */

enum pc_fact {
	PC_FACT_LANDLOCK,	/* a domain refuses what it should */
	PC_FACT_SECCOMP_FILTER, /* a filter refuses a call */
	PC_FACT_SECCOMP_NOTIFY, /* a filter has a listener */
	PC_FACT_TCP_DIAG,	/* the kernel names the socket that listens at an address, by its cookie */
	PC_FACT_LANDLOCK_AUDIT, /* audit is on, and the kernel's records of what Landlock refuses can be read: Linux 6.15, and the right */
	PC_FACT_CLOSE_RANGE,   /* Linux 5.9 */
	PC_FACT_PIDFD,	       /* CLONE_PIDFD and waitid(P_PIDFD), Linux 5.4; a run cannot start without it */
	PC_FACT_USERNS,	       /* with id maps written; what follows is inside it */
	PC_FACT_MOUNTNS,       /* private; tmpfs, a bind, and a bind that refuses writes */
	PC_FACT_MOUNT_SETATTR, /* a bind, and then the whole tree, made read-only by it */
	PC_FACT_NETNS,	       /* with lo up */
	PC_FACT_NETNS_JOIN,    /* a process's network namespace, joined by its pidfd, Linux 5.8 */
	PC_FACT_IPCNS,
	PC_FACT_PIDNS,	/* with a fresh read-only /proc */
	PC_FACT_DEVPTS, /* an instance of its own, and a terminal opened in it */
	PC_FACT_NPROC,	/* RLIMIT_NPROC counts a user namespace by itself, Linux 5.14; never for uid 0, whom it does not bind */
	PC_FACT_CGROUP, /* a cgroup v2 directory where a child can be made, and killed whole, Linux 5.14 */
	PC_FACT_CGROUP_MEMORY, /* ... and its memory limited */
	PC_FACT_CGROUP_PIDS,   /* ... and the number of its processes */
	PC_FACTS,
};

struct pc_fact_result {
	bool has;
	const char *step; /* static: what failed, "uid_map"; NULL when nothing did */
	int error;	  /* negative errno; -EPROTO: the step went through without effect; -ECHILD: the child died in it */
};

/* Facts that were tried, and facts that can only be read. */
struct pc_host {
	const char *system; /* "linux" */
	struct pc_fact_result facts[PC_FACTS];
	int landlock_abi; /* 0: none */
	uint32_t landlock_errata;
	char machine[65], kernel[65]; /* uname(2) */
	uint32_t uid, gid;	      /* effective */
	bool apparmor_userns;	      /* kernel.apparmor_restrict_unprivileged_userns */
	char container[32];	      /* "docker", "podman", "lxc"...; empty: none seen */
	char cgroup[4096];	      /* empty: none delegated */
	int pid, offered_abi;	      /* what pc_probe_is_current() compares */
};

/*
 * Tries every fact in throw-away children of the calling process, which is left as it was: no signal is sent to it and none of
 * its wait(2) calls sees them. Takes a few milliseconds. Never fails: what could not be tried is a fact that is not there.
 */
void pc_probe(struct pc_host *host);

/* False when `host` was measured by another process, as another user, or under another cap of the Landlock ABI. */
bool pc_probe_is_current(const struct pc_host *host);

/* The facts that are read: names, ids, AppArmor, container, cgroup. Called by pc_probe(). */
void pc_probe_read(struct pc_host *host);

/* ---- doctor: attacks from inside, and what they aim at outside (attack/) ------------------------------------------------- */

/*
 * Reads tasks from `in` to its end, tries each in a process of its own, and writes a line of answer for each to `out`. A task is
 * eight texts, each ended by NUL: an id, the name of an attack, and six words for it. An answer is "ID RESULT HEX": 0, an errno,
 * or minus the signal that ended it; and what it could read.
 *
 * Returns an exit status. What an attack touches are the words' files, processes and addresses, nothing else.
 */
int pc_attack_serve(int in, int out);

/* Waits to be attacked, until `in` ends. Its first bytes are a secret to keep in memory. Tells on `out` where; then, on
 * descriptor 1, a line with the number of each signal that comes. Returns an exit status. */
int pc_attack_victim(int in, int out);

/* Something outside that a run must not reach. */
struct pc_outside {
	const char *kind;
	int fd, second_fd;
	int64_t number;	   /* a port, an id, a serial; -1: none */
	char address[256]; /* a terminal's or a queue's name */
};

/*
 * kind:    tcp tcp6 udp udp6 vsock netlink packet: the kernel chooses the port; stream seqpacket dgram: a Unix socket at `address`, or
 *          by name after "@"; fifo; terminal; key (named `address`, holding `text`); shm (holding `text`); msg sem mq
 *
 * Returns 0, or -errno of the call that failed; EINVAL: an unknown kind.
 */
int pc_outside_open(const char *kind, const char *address, const char *text, struct pc_outside *outside);

/* What has come to it since the last time, or is in it: how many bytes. Never waits. */
int pc_outside_look(struct pc_outside *outside, char *data, size_t room);

void pc_outside_close(struct pc_outside *outside);

/* ---- The program (heap.c) ---------------------------------------------------------------------------------------------- */

/* Sets the allocator of a process that is all ours and soon over. */
void pc_tune_heap(void);

/* ---- The library's own files (library.c) -------------------------------------------------------------------------------- */

/*
 * The file that the code or data at `inside` was loaded from: absolute, resolved.
 *
 * Returns 0, or -errno: ENOENT (none is known, or it is gone), ENAMETOOLONG.
 * Source: dladdr(3), realpath(3).
 */
int pc_library_file(const void *inside, char *path, size_t size);

/* Has libraries that are loaded later find the symbols of the one that has `inside`. Nothing to be done about a failure. */
void pc_library_share(const void *inside);

#endif
