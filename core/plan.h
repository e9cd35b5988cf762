/*
 * The flat Plan: operations in order and one block of text. No pointers, no Lua values.
 *
 * lua/procage/plan.lua writes it, pc_plan_check() reads it once before any clone, and from then on the parent, the child and
 * the init program walk it as it is. Little-endian, as every system procage runs on.
 */
#ifndef PROCAGE_PLAN_H
#define PROCAGE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#define PC_PLAN_MAGIC	0x4c504350u /* "PCPL" */
#define PC_PLAN_VERSION 1u
/* In the version: a plan that confines nothing, on purpose, and may hold no operation that would. */
#define PC_PLAN_UNCONFINED 0x80000000u
#define PC_MAX_OPS	   65536u
#define PC_MAX_PLAN	   (8u << 20)
#define PC_MAX_TREES	   64u

/* "No operation" where an index is asked for. */
#define PC_NO_OPERATION (~0u)

/* A text reference with this bit names a text of the run instead: its index is the low bits. */
#define PC_TEXT_RUN 0x80000000u

/* CLONE_NEWNS, the same on every architecture. */
#define PC_NEW_MOUNT_NAMESPACE 0x00020000u
/* CLONE_NEWUSER and CLONE_NEWNET, which runs may have in common. */
#define PC_NEW_USER_NAMESPACE 0x10000000u
#define PC_JOINED_NAMESPACES  (PC_NEW_USER_NAMESPACE | 0x40000000u)
/* CLONE_NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
#define PC_NEW_NAMESPACES (0x00020000u | 0x04000000u | 0x08000000u | 0x10000000u | 0x20000000u | 0x40000000u)

enum pc_run_text {
	PC_RUN_DIRECTORY, /* the run's private directory; only the three below it are ever granted */
	PC_RUN_TMP,
	PC_RUN_VAR_TMP,
	PC_RUN_SHM,
	PC_RUN_CWD,
	PC_RUN_TEXTS,
};

/* Where a step happens, in the order in which they do; also what an error names. */
enum pc_step {
	PC_STEP_PREPARE, /* in the host */
	PC_STEP_CLONE,
	PC_STEP_NAMESPACES, /* in the child that becomes init */
	PC_STEP_MOUNTS,
	PC_STEP_CAPABILITIES,
	PC_STEP_NO_NEW_PRIVS,
	PC_STEP_INIT,
	PC_STEP_SESSION, /* in the child that becomes the command */
	PC_STEP_LIMITS,
	PC_STEP_DIRECTORY,
	PC_STEP_LANDLOCK,
	PC_STEP_DESCRIPTORS,
	PC_STEP_SECCOMP,
	PC_STEP_EXEC,
	PC_STEP_INPUT, /* in the host: the file for standard input */
	PC_STEPS,
};

enum pc_op_code {
	/* in the host: the run's ruleset */
	PC_OP_LANDLOCK_HANDLE, /* value: fs; a: net; b: scoped */
	PC_OP_LANDLOCK_HIDE,   /* a: path whose inode no later rule may grant */
	PC_OP_LANDLOCK_PATH,   /* a: path; value: access; OPTIONAL: a path that is gone is skipped */
	PC_OP_LANDLOCK_PORT,   /* a: port; value: access */
	PC_OP_SOCKET_TREE,     /* a: path: sockets beneath may be connected to, where connections are mediated */
	PC_OP_SOCKET_HIDDEN,   /* a: path: but for those beneath this one; the innermost of these and those decides */
	PC_OP_LOOPBACK,	       /* value: addresses of TCP are judged: 1: the run reaches its own; 2: any of the loopback */
	PC_OP_NAME_ROOT,       /* a: path: below it the absent names stay absent, where making names is mediated */
	PC_OP_NAME_ABSENT,     /* a: "/" and a name in lower case, "/.vscode/tasks.json" */
	PC_OP_PATH_ABSENT,     /* a: a path that stays absent likewise */
	/* in the child that becomes init */
	PC_OP_NAMESPACES, /* value: CLONE_NEW* bits; at most one, first */
	PC_OP_JOIN,	  /* value: CLONE_NEWUSER and CLONE_NEWNET: entered before any is made, with lo up and ids mapped */
	PC_OP_MAP_IDS,
	PC_OP_LO_UP,
	PC_OP_MOUNT_PRIVATE,
	PC_OP_TREE_CLONE,	 /* a: path; slot; OPTIONAL: one that cannot be reached stays where it is; FLEETING */
	PC_OP_TREE_SET,		 /* slot; value: MOUNT_ATTR_* */
	PC_OP_TREE_ATTACH,	 /* slot; a: path; OPTIONAL: one that cannot be reached is skipped; FLEETING */
	PC_OP_MOUNT_SET,	 /* a: path; value: MOUNT_ATTR_*; RECURSIVE */
	PC_OP_REMOUNT_READ_ONLY, /* a: path; OPTIONAL: as above */
	PC_OP_TMPFS,		 /* a: path; b: options */
	PC_OP_PROC,		 /* a: path */
	PC_OP_DEVPTS,		 /* a: path */
	PC_OP_MAKE_DIR,		 /* a: path; value: mode; one that is there already is as good */
	PC_OP_MAKE_FILE,	 /* a: path; value: mode; likewise */
	PC_OP_MAKE_LINK,	 /* a: path; b: target */
	PC_OP_PIN_LINK,		 /* a: path of a symbolic link, which keeps its name from then on */
	PC_OP_REMOVE,		 /* a: path of a file or an empty directory */
	PC_OP_LANDLOCK_LATE,	 /* a: path; value: access: a rule on what this child has just mounted */
	PC_OP_DROP_CAPABILITIES,
	PC_OP_NO_NEW_PRIVS,
	/* in the child that becomes the command */
	PC_OP_NEW_SESSION,
	PC_OP_RLIMIT,		 /* a: RLIMIT_*; value */
	PC_OP_CHDIR,		 /* a: path; what getcwd(2) says afterwards must be this */
	PC_OP_LANDLOCK_RESTRICT, /* value: flags */
	/* a: offset in the text, a multiple of 8; value: instructions. With NOTIFY, b: offset of the same program with its
	 * refusals as notifications, which is the one installed; a is what the supervisor answers by. */
	PC_OP_SECCOMP,
	PC_OPS,
};

#define PC_OP_OPTIONAL	1u
#define PC_OP_RECURSIVE 2u
#define PC_OP_NOTIFY	4u
/* One of many entries of a directory that others change: gone by now, or another kind of thing, it is left out. */
#define PC_OP_FLEETING 8u

struct pc_op {
	uint32_t code;
	uint32_t flags;
	uint32_t a, b;
	uint32_t slot;
	uint32_t unused;
	uint64_t value;
};

struct pc_plan_header {
	uint32_t magic, version;
	uint32_t op_count, text_size;
};

/* A checked plan: views into the bytes it was made from. */
struct pc_plan {
	const struct pc_op *ops;
	uint32_t op_count;
	const char *text;
	uint32_t text_size;
	uint64_t namespaces;   /* CLONE_NEW* bits: made by the run */
	uint64_t joined;       /* CLONE_NEW* bits: entered before; 0: none */
	uint32_t has_landlock; /* a ruleset is to be made, and is enforced */
	uint32_t is_unconfined;
	const void *answers; /* the filter that notifications are answered by; NULL: there are none */
	size_t answer_count; /* its instructions */
	uint32_t loopback;   /* enum pc_loopback_mode; 0: no address of TCP is judged */
};

/*
 * Checks `size` bytes at `data` (8-byte aligned) and describes them. Nothing is copied.
 *
 * Every code, flag, text reference and slot is in range, every path absolute, every text ended; steps come in order; a slot is
 * filled before it is used and empty at the end; a plan that makes a ruleset enforces it; there is a filter, capabilities are
 * dropped and no_new_privs is set. So the child needs no check of its own.
 *
 * why: on failure, a static text that says what is wrong; op: the operation's index, from 0
 *
 * Returns 0 or -EINVAL.
 */
int pc_plan_check(const void *data, size_t size, struct pc_plan *plan, const char **why, uint32_t *op);

/* "landlock_path", "mounts": names for messages. NULL when out of range. */
const char *pc_op_name(uint32_t code);
const char *pc_step_name(uint32_t step);

/* The path that op number `op` is about, or NULL: for messages. Run texts are NULL too. */
const char *pc_plan_op_path(const struct pc_plan *plan, uint32_t op);

#endif
