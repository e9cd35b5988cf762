/*
 * One run as one block of memory: the Plan, the command's words, and what differs from run to run. No pointers.
 *
 * The host lays it out before the clone, the child that becomes init walks it in the host's memory, and the init program gets
 * it as a memfd. Offsets count from the start of the block.
 */
#ifndef PROCAGE_LINUX_IMAGE_H
#define PROCAGE_LINUX_IMAGE_H

#include "../../core/plan.h"

#include <stdbool.h>

struct pc_join;

#define PC_IMAGE_MAGIC 0x474d4950u /* "PIMG" */

/* Descriptors of the init program. 0 to 2 are the command's. */
enum {
	PC_INIT_STATUS = 3,	  /* pipe, written: struct pc_status records */
	PC_INIT_CONTROL = 4,	  /* pipe, read: one byte an order; end of file: the host is gone */
	PC_INIT_RULESET = 5,	  /* the run's ruleset, if any */
	PC_INIT_IMAGE = 6,	  /* this block */
	PC_INIT_BROKER = 7,	  /* socket: the broker's requests, if any */
	PC_INIT_LISTENER = 8,	  /* socket: the command's child sends the listener there before it execs, if any */
	PC_INIT_CGROUP_PROCS = 9, /* the run's cgroup, if any: where the command moves itself in, not being cloned there */
	PC_INIT_CGROUP_KILL = 10, /* and what kills everything in it */
	PC_INIT_CGROUP = 11,	  /* its directory: where the command is cloned into */
	PC_INIT_SELF = 12,	  /* the init program, while it is being exec'd */
	PC_INIT_FREE = 13,

	/* Of a holder, which runs nothing (init/holder.c). */
	PC_HOLDER_HOST = PC_INIT_STATUS,   /* pidfd: readable when the host has ended */
	PC_HOLDER_LIFE = PC_INIT_CONTROL,  /* pipe, read: its end: the host has let go */
	PC_HOLDER_STATE = PC_INIT_RULESET, /* struct pc_hold_state, shared with the host */
};

/* How many runs use a holder's namespaces; with HOLD_GONE nobody may any more. */
struct pc_hold_state {
	uint32_t uses;
	uint32_t unused;
	uint64_t idle_since_ns; /* CLOCK_MONOTONIC; written before `uses` goes down */
};

#define PC_HOLD_GONE 0x80000000u

/*
 * The ruleset is full: start the command. Before it init starts nothing. To a spare it comes with the block of the command's words
 * behind it, or, where that has more than PC_WORDS_SENT bytes, as the first descriptor; and with those of standard input, unless
 * the block says PC_IMAGE_STDIN_NULL, output and error.
 */
#define PC_ORDER_GO 'G'
#define PC_WORDS_SENT \
	32768		  /* less than any socket holds: net.core.wmem_default is 200 KiB, and who has it lower gets a block */
#define PC_ORDER_TERM 'T' /* ask the command to end */
#define PC_ORDER_KILL 'K' /* end everything */

enum pc_image_flag {
	PC_IMAGE_REAPER = 1u << 0,	/* no PID namespace: be a subreaper and sweep */
	PC_IMAGE_STDIN_NULL = 1u << 1,	/* open /dev/null as the command's standard input */
	PC_IMAGE_BROKER = 1u << 2,	/* fork a broker, and send the filter's listener to the host */
	PC_IMAGE_TERMINAL = 1u << 4,	/* give the command a terminal of its own, and send its other end to the host */
	PC_IMAGE_OWN_PROCESS = 1u << 7, /* the caller itself becomes the command: it may lead a group already */
	PC_IMAGE_OWN_NETWORK = 1u << 3, /* the network namespace is the run's own, and so are abstract sockets */
	PC_IMAGE_CGROUP = 1u << 5,	/* the command moves into a cgroup, which ends with the run */
	PC_IMAGE_CHOSEN = 1u << 6,	/* the program is the file that the image names, or none */
	PC_IMAGE_HOLDER = 1u << 9,	/* no run: keep the namespaces that this process is in */
	PC_IMAGE_SPARE = 1u << 8,	/* started ahead: the command's words come later, by the control socket */
};

struct pc_image {
	uint32_t magic, size;
	uint32_t flags;
	uint32_t spare_ms; /* PC_IMAGE_SPARE: how long to wait for the words; PC_IMAGE_HOLDER: for a run */
	uint32_t uid, gid;
	uint32_t plan_offset, plan_size; /* a checked plan, 8-byte aligned */
	/* Arrays of uint64_t offsets, 8-byte aligned; the process that uses one turns it into pointers where it stands. */
	uint32_t argv_offset, argc; /* one spare slot stands before argv[0], for a shell */
	uint32_t envp_offset, envc;
	uint32_t programs_offset, programs;		   /* the paths to try, as execvp(3) would */
	uint32_t socket_trees_offset, socket_trees;	   /* beneath these the broker connects; stay offsets */
	uint32_t socket_hidden_offset, socket_hidden;	   /* but not beneath these; likewise */
	uint32_t roots_offset, roots, names_offset, names; /* names that stay absent below the roots; stay offsets */
	uint32_t absent_offset, absent;			   /* single paths that do; likewise */
	uint32_t run_text[PC_RUN_TEXTS];		   /* 0: not in this run */
	uint32_t chosen_major, chosen_minor;		   /* PC_IMAGE_CHOSEN, as statx(2) says them */
	uint64_t chosen_ino;
	int64_t chosen_ctime_ns;
	char domain_name[16]; /* what a process is called while it takes on the domain; empty: as it is */
};

enum pc_status_kind {
	PC_STATUS_FAILED = 1, /* a step failed and the command never ran */
	PC_STATUS_STARTED,    /* exec has happened */
	PC_STATUS_EXITED,     /* the command has ended */
	PC_STATUS_OVER,	      /* and init has reaped all that it started: nobody is left but init, which goes now */
};

/* One record on the status pipe; shorter than PIPE_BUF, so written whole. */
struct pc_status {
	uint32_t kind;
	uint32_t step;	     /* enum pc_step */
	uint32_t op;	     /* index of the operation, or ~0 */
	int32_t error;	     /* negative errno */
	int32_t wait_status; /* as wait(2) gives it */
	uint32_t unused;
	uint64_t user_us, system_us, max_rss_kib; /* the command and what it waited for */
};

/* Walks operations in a child. Fills in `failed` and returns the negative errno of the first step that fails, else 0. [child] */
int pc_enter(const struct pc_image *image, int ruleset_fd, struct pc_status *failed);

/*
 * Becomes the command; returns only on failure, described in `failed`. The image's arrays hold pointers by now. [child]
 * Descriptors 0 to 2 are the command's already, everything above is closed here.
 *
 * is_in_cgroup: cloned into the run's cgroup, if there is one, and need not move
 * gate_fd: open until exec, by which init learns of it, and never after a host that has gone before; -1: no init, and no host
 */
void pc_become_command(const struct pc_image *image, int ruleset_fd, bool is_in_cgroup, int gate_fd, struct pc_status *failed);

struct pc_inode {
	uint32_t major, minor;
	uint64_t ino;
};

/*
 * Adds the rules of the image's plan to an empty ruleset: what they hold is looked up now, so that a name which has gone or
 * become a link since is met here. Raw calls: in the host or in a child. (ruleset_fill.c) [child]
 *
 * room: one for each operation
 *
 * Returns 0; or -errno, with the operation in `failed_op`.
 */
int pc_ruleset_add_rules(const struct pc_image *image, int ruleset_fd, struct pc_inode *room, uint32_t *failed_op);

/*
 * pc_become_command() in two halves, for a command that is not known yet. The first does whatever needs no word of it, the
 * filter included; 0, or the negative errno of what is in `failed`. [child]
 *
 * The second returns only on failure. words: a block without a plan, its arrays pointers by now; the streams are in place.
 */
int pc_prepare_command(const struct pc_image *image, int ruleset_fd, bool is_in_cgroup, struct pc_status *failed);
void pc_finish_command(const struct pc_image *image, const struct pc_image *words, int gate_fd, struct pc_status *failed);

/* Enforces on the caller the ruleset that the command will be under, if there is one. 0 or -errno. [child] */
int pc_restrict_like_command(const struct pc_image *image, int ruleset_fd);

/*
 * clone(2) onto a stack of its own: `fn(arg)` runs in the child, its result is the exit status. The child's pid or -errno.
 * shared: with CLONE_CHILD_CLEARTID, the word that the kernel clears
 */
long pc_clone_call(unsigned long flags, void *stack_top, int *pidfd, int (*fn)(void *), void *arg, uint32_t *shared);

/* What a first child is told, that enters namespaces and clones the one that is wanted. */
struct pc_joining {
	const struct pc_join *join;
	unsigned long flags;
	void *stack_top;
	int *pidfd;
	int (*fn)(void *);
	void *arg;
	uint32_t *shared;
	long pid; /* what came of it: the second child's, or -errno */
};

/* arg: a struct pc_joining. (child_start.c) [child] */
int pc_join_child(void *arg);

/*
 * The same by clone3(2), straight into the cgroup whose directory `cgroup_fd` is. Whoever moves into one later waits for every
 * processor's grace period, some milliseconds. Source: CLONE_INTO_CGROUP, Linux 5.7.
 */
long pc_clone_into_cgroup(unsigned long flags, void *stack, size_t stack_size, int cgroup_fd, int (*fn)(void *), void *arg);

static inline const void *pc_image_at(const struct pc_image *image, uint64_t offset)
{
	return (const char *)image + offset;
}

#endif
