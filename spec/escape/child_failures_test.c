/*
 * Each step of a run made to fail in turn: the command never ran, the step, the operation and the errno are named, and nothing
 * of the run is left: no process, no descriptor.
 *
 * Where nothing in a plan makes the kernel refuse a step (nobody can be hindered from giving up his capabilities), a filter that
 * the host has installed on itself before refuses the call, with an errno that no kernel would choose there. Each case runs in
 * a process of its own. Controls first: the same command under the same plan, unspoilt, does run.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/plan.h"
#include "platform/linux/image.h"
#include "platform/platform.h"
#include "spec/support/plan_builder.h"

#define STRANGE EXDEV  /* what the host's filter answers */
#define NO_OP	PC_OPS /* the failure is about no operation */

enum need {
	NEEDS_NOTHING = 0,
	NEEDS_NAMESPACES = 1,	 /* the plan has them, and mounts */
	NEEDS_LANDLOCK = 2,	 /* the plan has a ruleset */
	NEEDS_NO_NAMESPACES = 4, /* a host that refuses them */
	NEEDS_ROOT = 8,
	NEEDS_USER = 16,
};

static char directory[PATH_MAX];
static char marker[PATH_MAX + 16];
static bool has_namespaces, has_landlock;
static unsigned int failures;

/* ---- the right plan ----------------------------------------------------------------------------------------------------- */

static const struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

static void add_filter(struct plan_builder *b, const void *program, size_t size)
{
	struct pc_op *op = builder_add(b, PC_OP_SECCOMP);

	op->a = builder_bytes(b, program, size, 8);
	op->value = size / sizeof(struct sock_filter);
}

static void build_plan(struct plan_builder *b, unsigned int needs)
{
	struct pc_op *op;

	builder_init(b);
	if (needs & NEEDS_LANDLOCK) {
		op = builder_add(b, PC_OP_LANDLOCK_HANDLE);
		op->value = pc_landlock_mask(PC_LANDLOCK_FS, 1);
		builder_add_path(b, PC_OP_LANDLOCK_PATH, "/", pc_landlock_mask(PC_LANDLOCK_FS, 1));
	}
	if (needs & (NEEDS_NAMESPACES | NEEDS_NO_NAMESPACES)) {
		builder_add(b, PC_OP_NAMESPACES)->value = PC_NS_USER | PC_NS_MOUNT | PC_NS_PID | PC_NS_NET | PC_NS_IPC;
		builder_add(b, PC_OP_MAP_IDS);
		builder_add(b, PC_OP_LO_UP);
		builder_add(b, PC_OP_MOUNT_PRIVATE);
	}
	builder_add(b, PC_OP_DROP_CAPABILITIES);
	builder_add(b, PC_OP_NO_NEW_PRIVS);
	builder_add(b, PC_OP_NEW_SESSION);
	op = builder_add(b, PC_OP_RLIMIT);
	op->a = RLIMIT_CORE;
	builder_add(b, PC_OP_CHDIR)->a = PC_TEXT_RUN | PC_RUN_CWD;
	if (needs & NEEDS_LANDLOCK)
		builder_add(b, PC_OP_LANDLOCK_RESTRICT);
	add_filter(b, allow, sizeof(allow));
}

/* Behind the mounts that the plan has already. */
static struct pc_op *add_mount(struct plan_builder *b, uint32_t code, const char *path)
{
	struct pc_op *op = builder_insert(b, builder_index(b, PC_OP_DROP_CAPABILITIES), code);

	op->a = builder_text(b, path);
	return op;
}

/* ---- what a case changes: the plan, the host, the command --------------------------------------------------------------- */

struct scene {
	struct plan_builder plan;
	const char *words[4];
	const char *program;
	const char *cwd;
};

/* From here on the call `number` is refused, if argument `index` is `value`; index -1: always. */
static void refuse_call(unsigned int number, int index, uint32_t value)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)offsetof(struct seccomp_data, args) + 8u * (uint32_t)(index < 0 ? 0 : index)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, index < 0 ? 0 : 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | STRANGE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || pc_filter_install(program, sizeof(program) / sizeof(program[0])) < 0)
		_exit(3);
}

static void limit(int resource, rlim_t value)
{
	struct rlimit both = { value, value };

	if (setrlimit((__rlimit_resource_t)resource, &both) < 0)
		_exit(3);
}

static void few_descriptors_in_host(struct scene *s)
{
	(void)s;
	limit(RLIMIT_NOFILE, 3);
}

/* Enough for the host's part; the child wants numbers from 8 up. */
static void few_descriptors_in_child(struct scene *s)
{
	(void)s;
	limit(RLIMIT_NOFILE, PC_INIT_FREE + 1);
}

static void missing_rule_path(struct scene *s)
{
	builder_find(&s->plan, PC_OP_LANDLOCK_PATH)->a = builder_text(&s->plan, "/no/such/path");
}

/* So many that a thread fills the ruleset while the child is at its mounts, where there are two processors. */
static void many_rules(struct scene *s)
{
	uint32_t at = builder_index(&s->plan, PC_OP_LANDLOCK_PATH);
	struct pc_op rule = s->plan.ops[at];
	int i;

	for (i = 0; i < 150; i++)
		*builder_insert(&s->plan, at, rule.code) = rule;
}

static void missing_rule_path_of_many(struct scene *s)
{
	uint32_t missing = builder_text(&s->plan, "/no/such/path");

	many_rules(s);
	s->plan.ops[builder_index(&s->plan, PC_OP_LANDLOCK_PATH) + 150].a = missing; /* the last */
}

static void linked_rule_path(struct scene *s)
{
	char link[PATH_MAX + 16];

	snprintf(link, sizeof(link), "%s/link", directory);
	builder_find(&s->plan, PC_OP_LANDLOCK_PATH)->a = builder_text(&s->plan, link);
}

static void unknown_right(struct scene *s)
{
	builder_find(&s->plan, PC_OP_LANDLOCK_HANDLE)->value |= UINT64_C(1) << 63;
}

static void nested_namespaces(struct scene *s)
{
	/* Asked before: nobody has an id in a namespace without maps. */
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int depth;

	(void)s;
	for (depth = 0; depth < 64; depth++)
		if (pc_ns_unshare(PC_NS_USER) < 0)
			return;
		else if (pc_ns_map_ids(uid, gid) < 0)
			_exit(3);
	_exit(3);
}

static void no_processes_left(struct scene *s)
{
	(void)s;
	limit(RLIMIT_NPROC, 0);
}

/* The map of a namespace that is not new, or that belongs to someone else by then. */
static void no_user_namespace(struct scene *s)
{
	builder_find(&s->plan, PC_OP_NAMESPACES)->value = PC_NS_MOUNT;
}

static void not_dumpable(struct scene *s)
{
	(void)s;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		_exit(3);
}

static void host_network(struct scene *s)
{
	builder_find(&s->plan, PC_OP_NAMESPACES)->value &= ~PC_NS_NET;
}

static void mount_refused(struct scene *s)
{
	(void)s;
	refuse_call(SYS_mount, -1, 0);
}

static void clone_missing_tree(struct scene *s)
{
	add_mount(&s->plan, PC_OP_TREE_CLONE, "/no/such/tree");
	add_mount(&s->plan, PC_OP_TREE_ATTACH, directory);
}

static void clone_missing_tree_beside_rules(struct scene *s)
{
	clone_missing_tree(s);
	many_rules(s);
}

static void set_unknown_attribute(struct scene *s)
{
	add_mount(&s->plan, PC_OP_TREE_CLONE, directory);
	builder_insert(&s->plan, builder_index(&s->plan, PC_OP_DROP_CAPABILITIES), PC_OP_TREE_SET)->value = UINT64_C(1) << 40;
	add_mount(&s->plan, PC_OP_TREE_ATTACH, directory);
}

static void attach_to_missing(struct scene *s)
{
	add_mount(&s->plan, PC_OP_TREE_CLONE, directory);
	add_mount(&s->plan, PC_OP_TREE_ATTACH, "/no/such/place");
}

static void attach_to_link(struct scene *s)
{
	char link[PATH_MAX + 16];

	snprintf(link, sizeof(link), "%s/link", directory);
	add_mount(&s->plan, PC_OP_TREE_CLONE, directory);
	add_mount(&s->plan, PC_OP_TREE_ATTACH, link);
}

static void set_missing_mount(struct scene *s)
{
	add_mount(&s->plan, PC_OP_MOUNT_SET, "/no/such/mount")->value = 1;
}

static void remount_no_mount(struct scene *s)
{
	add_mount(&s->plan, PC_OP_REMOUNT_READ_ONLY, directory);
}

static void bad_tmpfs_options(struct scene *s)
{
	add_mount(&s->plan, PC_OP_TMPFS, directory)->b = builder_text(&s->plan, "no_such_option");
}

static void proc_of_the_host(struct scene *s)
{
	builder_find(&s->plan, PC_OP_NAMESPACES)->value &= ~PC_NS_PID;
	add_mount(&s->plan, PC_OP_PROC, "/proc");
}

static void devpts_on_missing(struct scene *s)
{
	add_mount(&s->plan, PC_OP_DEVPTS, "/no/such/pts");
}

static void make_dir_below_missing(struct scene *s)
{
	add_mount(&s->plan, PC_OP_MAKE_DIR, "/no/such/dir");
}

static void make_file_below_missing(struct scene *s)
{
	add_mount(&s->plan, PC_OP_MAKE_FILE, "/no/such/file");
}

static void make_link_that_is_there(struct scene *s)
{
	char link[PATH_MAX + 16];

	snprintf(link, sizeof(link), "%s/link", directory);
	add_mount(&s->plan, PC_OP_MAKE_LINK, link)->b = builder_text(&s->plan, "elsewhere");
}

static void remove_missing(struct scene *s)
{
	add_mount(&s->plan, PC_OP_REMOVE, "/no/such/file");
}

static void late_rule_on_missing(struct scene *s)
{
	add_mount(&s->plan, PC_OP_LANDLOCK_LATE, "/no/such/path")->value = 1;
}

static void capset_refused(struct scene *s)
{
	(void)s;
	refuse_call(SYS_capset, -1, 0);
}

static void securebits_refused(struct scene *s)
{
	(void)s;
	refuse_call(SYS_prctl, 0, PR_SET_SECUREBITS);
}

static void no_new_privs_refused(struct scene *s)
{
	(void)s;
	refuse_call(SYS_prctl, 0, PR_SET_NO_NEW_PRIVS);
}

static void execveat_refused(struct scene *s)
{
	(void)s;
	refuse_call(SYS_execveat, -1, 0);
}

static void close_range_refused(struct scene *s)
{
	(void)s;
	refuse_call(SYS_close_range, 0, PC_INIT_FREE);
}

static void subreaper_refused(struct scene *s)
{
	(void)s;
	refuse_call(SYS_prctl, 0, PR_SET_CHILD_SUBREAPER);
}

static void signalfd_refused(struct scene *s)
{
	(void)s;
	refuse_call(SYS_signalfd4, -1, 0);
}

/* Init's clone alone: the host's has more flags. */
static void command_clone_refused(struct scene *s)
{
	(void)s;
	refuse_call(SYS_clone, 0, CLONE_VM | SIGCHLD);
}

static void setsid_refused(struct scene *s)
{
	(void)s;
	refuse_call(SYS_setsid, -1, 0);
}

static void unknown_limit(struct scene *s)
{
	builder_find(&s->plan, PC_OP_RLIMIT)->a = 99;
}

static void missing_cwd(struct scene *s)
{
	s->cwd = "/no/such/directory";
}

static void file_as_cwd(struct scene *s)
{
	s->cwd = "/dev/null";
}

/* A directory that getcwd(2) calls by another name than was asked for. */
static void linked_cwd(struct scene *s)
{
	static char link[PATH_MAX + 16];

	snprintf(link, sizeof(link), "%s/link", directory);
	s->cwd = link;
}

static void hidden_cwd(struct scene *s)
{
	add_mount(&s->plan, PC_OP_TMPFS, "/tmp");
	add_mount(&s->plan, PC_OP_MAKE_LINK, "/tmp/cwd")->b = builder_text(&s->plan, "/");
	s->cwd = "/tmp/cwd";
}

static void unknown_restrict_flag(struct scene *s)
{
	builder_find(&s->plan, PC_OP_LANDLOCK_RESTRICT)->value = 1u << 31;
}

static void restrict_refused(struct scene *s)
{
	(void)s;
	refuse_call(446 /* landlock_restrict_self */, -1, 0);
}

/* The kernel stacks sixteen domains, and the host has them. */
static void landlock_layers_used_up(struct scene *s)
{
	struct pc_landlock_handled want = { .fs = pc_landlock_mask(PC_LANDLOCK_FS, 1) & ~UINT64_C(0xfff) }, clipped;
	int fd = pc_landlock_create(&want, &clipped);

	(void)s;
	if (fd < 0 || pc_no_new_privs() < 0)
		_exit(3);
	while (pc_landlock_restrict(fd, 0) == 0)
		;
	close(fd);
}

static void close_all_refused(struct scene *s)
{
	(void)s;
	refuse_call(SYS_close_range, 0, 5); /* above what tells of the exec */
}

static void no_null_device(struct scene *s)
{
	add_mount(&s->plan, PC_OP_TMPFS, "/dev");
}

static void invalid_filter(struct scene *s)
{
	static const struct sock_filter program[] = { { 0xffff, 0, 0, 0 } };

	builder_remove(&s->plan, PC_OP_SECCOMP);
	add_filter(&s->plan, program, sizeof(program));
}

/* A jump past the end, behind a first filter that is right. */
static void invalid_second_filter(struct scene *s)
{
	static const struct sock_filter program[] = { { BPF_JMP | BPF_JA, 0, 0, 1000 }, { BPF_RET | BPF_K, 0, 0, 0 } };

	add_filter(&s->plan, program, sizeof(program));
}

static void exec_filtered(struct scene *s)
{
	static const struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | STRANGE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	builder_remove(&s->plan, PC_OP_SECCOMP);
	add_filter(&s->plan, program, sizeof(program));
}

static void missing_program(struct scene *s)
{
	s->program = "/no/such/program";
}

static void program_not_executable(struct scene *s)
{
	static char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/plain", directory);
	s->program = path;
}

static void directory_as_program(struct scene *s)
{
	s->program = directory;
}

static void missing_interpreter(struct scene *s)
{
	static char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/orphan", directory);
	s->program = path;
}

static const struct failing {
	const char *name;
	void (*spoil)(struct scene *);
	unsigned int needs;
	enum pc_step step;
	uint32_t code; /* of the operation; the last of that code is meant */
	int error;
} cases[] = {
	{ "the host has no descriptor left", few_descriptors_in_host, 0, PC_STEP_PREPARE, NO_OP, EMFILE },
	{ "a rule's path is missing", missing_rule_path, NEEDS_LANDLOCK, PC_STEP_PREPARE, PC_OP_LANDLOCK_PATH, ENOENT },
	{ "the last of many rules' paths is missing", missing_rule_path_of_many, NEEDS_LANDLOCK | NEEDS_NAMESPACES,
	  PC_STEP_PREPARE, PC_OP_LANDLOCK_PATH, ENOENT },
	{ "a rule's path is a link", linked_rule_path, NEEDS_LANDLOCK, PC_STEP_PREPARE, PC_OP_LANDLOCK_PATH, ELOOP },
	{ "a right is not this kernel's", unknown_right, NEEDS_LANDLOCK, PC_STEP_PREPARE, PC_OP_LANDLOCK_HANDLE, EOPNOTSUPP },

	{ "namespaces are nested too deep", nested_namespaces, NEEDS_NAMESPACES, PC_STEP_CLONE, NO_OP, ENOSPC },
	{ "the host refuses namespaces", NULL, NEEDS_NO_NAMESPACES, PC_STEP_CLONE, NO_OP, EPERM },
	{ "the user may have no process more", no_processes_left, NEEDS_USER, PC_STEP_CLONE, NO_OP, EAGAIN },
	{ "a namespace is only root's to make", no_user_namespace, NEEDS_NAMESPACES | NEEDS_USER, PC_STEP_CLONE, NO_OP, EPERM },
	{ "init may not start the command", command_clone_refused, 0, PC_STEP_CLONE, NO_OP, STRANGE },

	{ "there is no user namespace to map", no_user_namespace, NEEDS_NAMESPACES | NEEDS_ROOT, PC_STEP_NAMESPACES,
	  PC_OP_MAP_IDS, EPERM },
	{ "the map is not the user's to write", not_dumpable, NEEDS_NAMESPACES | NEEDS_USER, PC_STEP_NAMESPACES, PC_OP_MAP_IDS,
	  EACCES },
	{ "lo is the host's", host_network, NEEDS_NAMESPACES, PC_STEP_NAMESPACES, PC_OP_LO_UP, EPERM },

	{ "mounts are refused", mount_refused, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_MOUNT_PRIVATE, STRANGE },
	{ "a tree to copy is missing", clone_missing_tree, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_TREE_CLONE, ENOENT },
	{ "a tree to copy is missing, beside many rules", clone_missing_tree_beside_rules, NEEDS_LANDLOCK | NEEDS_NAMESPACES,
	  PC_STEP_MOUNTS, PC_OP_TREE_CLONE, ENOENT },
	{ "a mount attribute is unknown", set_unknown_attribute, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_TREE_SET, EINVAL },
	{ "a mount point is missing", attach_to_missing, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_TREE_ATTACH, ENOENT },
	{ "a mount point is a link", attach_to_link, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_TREE_ATTACH, 0 },
	{ "a mount to change is missing", set_missing_mount, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_MOUNT_SET, ENOENT },
	{ "a mount to change is none", remount_no_mount, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_REMOUNT_READ_ONLY, EINVAL },
	{ "options of a tmpfs are unknown", bad_tmpfs_options, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_TMPFS, EINVAL },
	{ "/proc is the host's", proc_of_the_host, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_PROC, EPERM },
	{ "a place for devpts is missing", devpts_on_missing, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_DEVPTS, ENOENT },
	{ "a directory cannot be made", make_dir_below_missing, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_MAKE_DIR, ENOENT },
	{ "a file cannot be made", make_file_below_missing, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_MAKE_FILE, ENOENT },
	{ "a link is there already", make_link_that_is_there, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_MAKE_LINK, EEXIST },
	{ "a file to remove is missing", remove_missing, NEEDS_NAMESPACES, PC_STEP_MOUNTS, PC_OP_REMOVE, ENOENT },
	{ "a late rule's path is missing", late_rule_on_missing, NEEDS_NAMESPACES | NEEDS_LANDLOCK, PC_STEP_MOUNTS,
	  PC_OP_LANDLOCK_LATE, ENOENT },

	{ "capabilities cannot be emptied", capset_refused, 0, PC_STEP_CAPABILITIES, PC_OP_DROP_CAPABILITIES, STRANGE },
	{ "securebits cannot be locked", securebits_refused, NEEDS_ROOT, PC_STEP_CAPABILITIES, PC_OP_DROP_CAPABILITIES,
	  STRANGE },
	{ "securebits cannot be locked in a namespace", securebits_refused, NEEDS_NAMESPACES, PC_STEP_CAPABILITIES,
	  PC_OP_DROP_CAPABILITIES, STRANGE },
	{ "no_new_privs cannot be set", no_new_privs_refused, 0, PC_STEP_NO_NEW_PRIVS, PC_OP_NO_NEW_PRIVS, STRANGE },

	{ "init finds no descriptor", few_descriptors_in_child, 0, PC_STEP_INIT, NO_OP, EMFILE },
	{ "the host's descriptors cannot be closed", close_range_refused, 0, PC_STEP_INIT, NO_OP, STRANGE },
	{ "init cannot be executed", execveat_refused, 0, PC_STEP_INIT, NO_OP, STRANGE },
	{ "init cannot become the reaper", subreaper_refused, 0, PC_STEP_INIT, NO_OP, STRANGE },
	{ "init cannot hear of ended children", signalfd_refused, 0, PC_STEP_INIT, NO_OP, STRANGE },

	{ "there is no new session", setsid_refused, 0, PC_STEP_SESSION, PC_OP_NEW_SESSION, STRANGE },
	{ "a limit is unknown", unknown_limit, 0, PC_STEP_LIMITS, PC_OP_RLIMIT, EINVAL },
	{ "the directory is missing", missing_cwd, 0, PC_STEP_DIRECTORY, PC_OP_CHDIR, ENOENT },
	{ "the directory is a file", file_as_cwd, 0, PC_STEP_DIRECTORY, PC_OP_CHDIR, ENOTDIR },
	{ "the directory is another one by then", linked_cwd, 0, PC_STEP_DIRECTORY, PC_OP_CHDIR, ESTALE },
	{ "the directory was replaced under a mount", hidden_cwd, NEEDS_NAMESPACES, PC_STEP_DIRECTORY, PC_OP_CHDIR, ESTALE },

	{ "a flag of the domain is unknown", unknown_restrict_flag, NEEDS_LANDLOCK, PC_STEP_LANDLOCK, PC_OP_LANDLOCK_RESTRICT,
	  EINVAL },
	{ "the domain is refused", restrict_refused, NEEDS_LANDLOCK, PC_STEP_LANDLOCK, PC_OP_LANDLOCK_RESTRICT, STRANGE },
	{ "there are sixteen domains already", landlock_layers_used_up, NEEDS_LANDLOCK, PC_STEP_LANDLOCK,
	  PC_OP_LANDLOCK_RESTRICT, E2BIG },

	{ "init's descriptors cannot be closed", close_all_refused, 0, PC_STEP_DESCRIPTORS, NO_OP, STRANGE },
	{ "there is no /dev/null", no_null_device, NEEDS_NAMESPACES, PC_STEP_DESCRIPTORS, NO_OP, ENOENT },

	{ "the filter is no program", invalid_filter, 0, PC_STEP_SECCOMP, PC_OP_SECCOMP, EINVAL },
	{ "a second filter is no program", invalid_second_filter, 0, PC_STEP_SECCOMP, PC_OP_SECCOMP, EINVAL },

	{ "the filter refuses exec", exec_filtered, 0, PC_STEP_EXEC, NO_OP, STRANGE },
	{ "the program is missing", missing_program, 0, PC_STEP_EXEC, NO_OP, ENOENT },
	{ "the program may not be executed", program_not_executable, 0, PC_STEP_EXEC, NO_OP, EACCES },
	{ "the program is a directory", directory_as_program, 0, PC_STEP_EXEC, NO_OP, EACCES },
	{ "the program's interpreter is missing", missing_interpreter, 0, PC_STEP_EXEC, NO_OP, ENOENT },
};

/* ---- running a case ----------------------------------------------------------------------------------------------------- */

static unsigned int open_descriptors(void)
{
	unsigned int count = 0;
	int fd;

	for (fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void set_scene(struct scene *s, unsigned int needs)
{
	build_plan(&s->plan, needs);
	s->words[0] = "sh";
	s->words[1] = "-c";
	s->words[2] = NULL; /* the marker's path, as script */
	s->words[3] = NULL;
	s->program = "/bin/sh";
	s->cwd = "/";
}

static int spawn(const struct scene *s, struct pc_plan *plan, struct pc_process *process, struct pc_failure *failure)
{
	static char script[sizeof(marker) + 8];
	const char *const argv[] = { s->words[0], s->words[1], script, NULL };
	const char *const envp[] = { "PATH=/usr/bin:/bin", NULL };
	const char *const programs[] = { s->program, NULL };
	const struct pc_command command = {
		.argv = argv,
		.envp = envp,
		.programs = programs,
		.cwd = s->cwd,
		.stdin_fd = -1,
		.stdout_fd = 1,
		.stderr_fd = 2,
	};
	const char *why = NULL;
	uint32_t op;
	size_t size;
	void *bytes;
	int rc;

	snprintf(script, sizeof(script), ": >%s", marker);
	bytes = builder_finish(&s->plan, &size);
	rc = pc_plan_check(bytes, size, plan, &why, &op);
	if (rc < 0)
		fprintf(stderr, "# the plan is refused: %s\n", why);
	else
		rc = pc_spawn(plan, bytes, size, &command, process, failure);
	free(bytes);
	return rc;
}

static uint32_t last_index(const struct plan_builder *b, uint32_t code)
{
	uint32_t i = b->op_count;

	while (i > 0)
		if (b->ops[--i].code == code)
			return i;
	return PC_NO_OPERATION;
}

static bool is_as_expected(const struct failing *c, const struct scene *s, int rc, const struct pc_failure *failure)
{
	uint32_t op = c->code == NO_OP ? PC_NO_OPERATION : last_index(&s->plan, c->code);
	bool is_error = c->error ? rc == -c->error : rc < 0;
	const char *step = pc_step_name(failure->step);

	if (is_error && failure->error == rc && failure->step == (uint32_t)c->step && failure->op == op)
		return true;
	fprintf(stderr, "# rc %d, step %s, op %d (want %d), errno %d (want %d)\n", rc, step ? step : "?", (int)failure->op,
		(int)op, -failure->error, c->error);
	return false;
}

/* Exit status: 0 as expected, 1 not, 3 the case could not be set up. */
static int run_failing(const struct failing *c)
{
	struct pc_process process = { .pid = -1, .pidfd = -1, .status_fd = -1, .control_fd = -1 };
	struct pc_failure failure = { 0 };
	unsigned int before, after;
	struct pc_plan plan;
	struct scene s;
	int rc, status;

	set_scene(&s, c->needs);
	if (c->spoil)
		c->spoil(&s);
	before = open_descriptors();
	rc = spawn(&s, &plan, &process, &failure);
	after = open_descriptors();
	if (!is_as_expected(c, &s, rc, &failure))
		return 1;
	if (process.pid != -1 || process.pidfd != -1 || process.status_fd != -1 || process.control_fd != -1) {
		fputs("# the process was written\n", stderr);
		return 1;
	}
	if (before != after) {
		fprintf(stderr, "# %u descriptors before, %u after\n", before, after);
		return 1;
	}
	if (waitpid(-1, &status, WNOHANG | __WALL) != -1 || errno != ECHILD) {
		fputs("# a child is left\n", stderr);
		return 1;
	}
	return 0;
}

static int run_right(unsigned int needs, const char *program)
{
	struct pc_failure failure = { 0 };
	struct pc_process process;
	struct pc_plan plan;
	struct pollfd polled;
	struct scene s;
	int rc, status;

	set_scene(&s, needs);
	if (program)
		s.program = program;
	rc = spawn(&s, &plan, &process, &failure);
	if (rc < 0) {
		fprintf(stderr, "# step %s, op %d: %s\n", pc_step_name(failure.step), (int)failure.op, strerror(-rc));
		return 1;
	}
	polled = (struct pollfd) { .fd = process.pidfd, .events = POLLIN };
	if (poll(&polled, 1, 30000) != 1 || waitpid(process.pid, &status, 0) != process.pid) {
		fputs("# it does not end\n", stderr);
		return 1;
	}
	return 0;
}

static int in_child(int (*fn)(const void *), const void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		/* The cases count descriptors: what the tests were started with is none of theirs. */
		pc_close_from(3);
		_exit(fn(arg));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int child_failing(const void *arg)
{
	return run_failing(arg);
}

struct right {
	unsigned int needs;
	const char *program;
};

static int child_right(const void *arg)
{
	const struct right *right = arg;

	return run_right(right->needs, right->program);
}

static bool ran(void)
{
	return access(marker, F_OK) == 0;
}

static void expect(bool is_true, const char *what, const char *name)
{
	printf("%s - %s%s\n", is_true ? "ok" : "not ok", what, name);
	fflush(stdout);
	if (!is_true)
		failures++;
}

/* Why a case has nothing to say here; NULL: it has. */
static const char *why_skip(unsigned int needs)
{
	if (needs & NEEDS_NAMESPACES && !has_namespaces)
		return "no namespaces here";
	if (needs & NEEDS_NO_NAMESPACES && has_namespaces)
		return "namespaces are not refused here";
	if (needs & NEEDS_LANDLOCK && !has_landlock)
		return "no Landlock here";
	if (needs & NEEDS_ROOT && geteuid() != 0)
		return "not root";
	if (needs & NEEDS_USER && geteuid() == 0)
		return "root";
	return NULL;
}

static void test_case(const struct failing *c)
{
	const char *skip = why_skip(c->needs);
	int rc;

	if (skip) {
		printf("ok - the command does not run when %s # SKIP %s\n", c->name, skip);
		return;
	}
	unlink(marker);
	rc = in_child(child_failing, c);
	expect(rc == 0 && !ran(), "the command does not run when ", c->name);
	if (rc == 3)
		puts("# this case could not be set up");
	else if (rc > 1 || rc < 0)
		printf("# ended with %d\n", rc);
	if (ran())
		puts("# IT RAN");
}

static void test_control(unsigned int needs, const char *program, const char *name)
{
	const struct right right = { needs, program };
	const char *skip = why_skip(needs);

	if (skip) {
		printf("ok - the command runs %s # SKIP %s\n", name, skip);
		return;
	}
	unlink(marker);
	expect(in_child(child_right, &right) == 0 && ran(), "the command runs ", name);
}

/* ---- the files ---------------------------------------------------------------------------------------------------------- */

static void write_file(const char *name, const char *text, mode_t mode)
{
	char path[PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) < 0) {
		perror(path);
		exit(2);
	}
}

static void make_files(void)
{
	const char *home = getenv("HOME");
	char made[PATH_MAX - 64], link[PATH_MAX + 16];
	char text[sizeof(marker) + 8];

	snprintf(made, sizeof(made), "%s/failures.XXXXXX", home && access(home, W_OK) == 0 ? home : "/tmp");
	if (!mkdtemp(made) || !realpath(made, directory)) {
		perror(made);
		exit(2);
	}
	snprintf(marker, sizeof(marker), "%s/marker", directory);
	snprintf(link, sizeof(link), "%s/link", directory);
	if (symlink(".", link) < 0) {
		perror(link);
		exit(2);
	}
	snprintf(text, sizeof(text), ": >%s\n", marker);
	write_file("script", text, 0755);
	write_file("plain", "#!/bin/sh\n", 0644);
	write_file("orphan", "#!/no/such/interpreter\n", 0755);
}

int main(void)
{
	static struct pc_host host;
	char script[PATH_MAX + 16];
	size_t i;

	make_files();
	pc_probe(&host);
	has_namespaces = host.facts[PC_FACT_MOUNTNS].has && host.facts[PC_FACT_PIDNS].has && host.facts[PC_FACT_NETNS].has &&
			 host.facts[PC_FACT_IPCNS].has;
	has_landlock = host.facts[PC_FACT_LANDLOCK].has;
	snprintf(script, sizeof(script), "%s/script", directory);

	test_control(NEEDS_NOTHING, NULL, "under a filter alone");
	test_control(NEEDS_NAMESPACES, NULL, "in namespaces");
	test_control(NEEDS_LANDLOCK, NULL, "in a Landlock domain");
	test_control(NEEDS_NAMESPACES | NEEDS_LANDLOCK, NULL, "in namespaces and a Landlock domain");
	test_control(NEEDS_NOTHING, script, "when it is a script that names no interpreter");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		test_case(&cases[i]);

	if (pc_remove_tree(directory) < 0)
		printf("# %s is left\n", directory);
	return failures ? 1 : 0;
}
