/*
 * Walks a checked Plan in the child: what each operation does, step by step, until the first that fails.
 *
 * Runs between clone and exec, in the host's memory or in init's: raw calls, no allocation, no lock. The Plan was checked, so
 * nothing here doubts a reference; whatever the kernel refuses ends the run.
 */
#include "../platform.h"
#include "image.h"
#include "message.h"
#include "sys.h"

#include <asm/fcntl.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/time_types.h>

#define AT_CWD		 (-100)
#define AT_REMOVEDIR_BIT 0x200
#define E_NOENT		 2
#define E_ACCES		 13
#define E_EXIST		 17
#define E_NOTDIR	 20
#define E_ISDIR		 21
#define E_INVAL		 22
#define E_PIPE		 32
#define E_NAMETOOLONG	 36
#define E_LOOP		 40
#define E_STALE		 116

struct walk {
	const struct pc_image *image;
	const char *text;
	int ruleset_fd;
	int tree[PC_MAX_TREES];
};

static const char *text_of(const struct walk *walk, uint32_t reference)
{
	if (reference & PC_TEXT_RUN)
		return pc_image_at(walk->image, walk->image->run_text[reference & ~PC_TEXT_RUN]);
	return walk->text + reference;
}

static int make_dir(const char *path, uint64_t mode)
{
	int rc = (int)pc_sys3(__NR_mkdirat, AT_CWD, pc_ptr(path), (long)mode);

	return rc == -E_EXIST ? 0 : rc;
}

static int make_file(const char *path, uint64_t mode)
{
	int fd;

	fd = pc_sys_openat(AT_CWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (unsigned int)mode);
	if (fd == -E_EXIST)
		return 0;
	return fd < 0 ? fd : pc_sys_close(fd);
}

static int make_link(const char *path, const char *target)
{
	return (int)pc_sys3(__NR_symlinkat, pc_ptr(target), AT_CWD, pc_ptr(path));
}

static int remove_path(const char *path)
{
	int rc = (int)pc_sys3(__NR_unlinkat, AT_CWD, pc_ptr(path), 0);

	if (rc == -E_ISDIR)
		rc = (int)pc_sys3(__NR_unlinkat, AT_CWD, pc_ptr(path), AT_REMOVEDIR_BIT);
	return rc;
}

/* A place that is gone, or that not even this child may search for, needs no mask: the command has fewer rights. */
static bool is_needless(const struct pc_op *op, int rc)
{
	return op->flags & PC_OP_OPTIONAL && (rc == -E_NOENT || rc == -E_ACCES);
}

/* What the plan saw in a directory of others' may be gone by now, or be a link, or a file where a directory was. */
static bool has_passed(const struct pc_op *op, int rc)
{
	return op->flags & PC_OP_FLEETING &&
	       (rc == -E_NOENT || rc == -E_ACCES || rc == -E_NOTDIR || rc == -E_LOOP || rc == -E_INVAL);
}

/*
 * An optional tree is left out when the way to it is closed to the run's user, capabilities over his own files included: the
 * command, without them, cannot reach it either. One that is gone is no such thing: then the plan is old.
 */
static int clone_tree(struct walk *walk, const struct pc_op *op, const char *path)
{
	int fd = pc_tree_clone(path);

	walk->tree[op->slot] = fd;
	if (fd >= 0 || (op->flags & PC_OP_OPTIONAL && fd == -E_ACCES) || has_passed(op, fd))
		return 0;
	return fd;
}

static int attach_tree(const struct walk *walk, const struct pc_op *op, const char *path)
{
	int rc;

	if (walk->tree[op->slot] < 0)
		return 0;
	rc = pc_tree_attach(walk->tree[op->slot], path);
	pc_sys_close(walk->tree[op->slot]);
	return is_needless(op, rc) || has_passed(op, rc) ? 0 : rc;
}

static int remount_read_only(const struct pc_op *op, const char *path)
{
	int rc = pc_mount_remount_read_only(path);

	/* EINVAL: nothing was attached there. */
	return is_needless(op, rc) || (op->flags & PC_OP_OPTIONAL && rc == -E_INVAL) ? 0 : rc;
}

static bool same_text(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/*
 * The directory that was asked for, or an error: a mount that hid it would otherwise leave the command somewhere else.
 * getcwd(2) gives "(unreachable)" for a directory outside the root; that differs too.
 */
static int change_directory(const char *path)
{
	char now[4096];
	long rc;

	rc = pc_sys1(__NR_chdir, pc_ptr(path));
	if (rc < 0)
		return (int)rc;
	rc = pc_sys2(__NR_getcwd, pc_ptr(now), sizeof(now));
	if (rc < 0)
		return (int)rc;
	return same_text(now, path) ? 0 : -E_STALE;
}

static int mount_op(struct walk *walk, const struct pc_op *op)
{
	const char *path = text_of(walk, op->a);

	switch (op->code) {
	case PC_OP_MOUNT_PRIVATE:
		return pc_mount_private();
	case PC_OP_TREE_CLONE:
		return clone_tree(walk, op, path);
	case PC_OP_TREE_SET:
		return walk->tree[op->slot] < 0 ? 0 : pc_tree_set(walk->tree[op->slot], op->value);
	case PC_OP_TREE_ATTACH:
		return attach_tree(walk, op, path);
	case PC_OP_MOUNT_SET:
		return pc_mount_set(path, op->value, op->flags & PC_OP_RECURSIVE);
	case PC_OP_REMOUNT_READ_ONLY:
		return remount_read_only(op, path);
	case PC_OP_TMPFS:
		return pc_mount_tmpfs(path, text_of(walk, op->b));
	case PC_OP_PROC:
		return pc_mount_proc(path);
	case PC_OP_DEVPTS:
		return pc_mount_devpts(path);
	case PC_OP_MAKE_DIR:
		return make_dir(path, op->value);
	case PC_OP_MAKE_FILE:
		return make_file(path, op->value);
	case PC_OP_MAKE_LINK:
		return make_link(path, text_of(walk, op->b));
	case PC_OP_PIN_LINK:
		return pc_mount_pin_link(path);
	case PC_OP_REMOVE:
		return remove_path(path);
	default: /* PC_OP_LANDLOCK_LATE */
		return pc_landlock_add_path(walk->ruleset_fd, path, op->value, true);
	}
}

static int enter_op(struct walk *walk, const struct pc_op *op)
{
	switch (op->code) {
	case PC_OP_NAMESPACES: /* done by clone(2) itself */
	case PC_OP_JOIN:       /* and before it */
		return 0;
	case PC_OP_MAP_IDS:
		return pc_ns_map_ids(walk->image->uid, walk->image->gid);
	case PC_OP_LO_UP:
		return pc_net_lo_up();
	case PC_OP_DROP_CAPABILITIES:
		return pc_drop_capabilities();
	case PC_OP_NO_NEW_PRIVS:
		return pc_no_new_privs();
	default:
		return mount_op(walk, op);
	}
}

/*
 * The kernel keeps the name that a process has at this moment, and tells it with the first record of the domain: so a run knows
 * its own. Nobody else learns it in time, and a number of a process may come back. Source: landlock's get_current_details().
 */
static int restrict_self(const struct pc_image *image, int ruleset_fd, uint32_t flags)
{
	char before[16];
	int rc;

	if (!image->domain_name[0])
		return pc_landlock_restrict(ruleset_fd, flags);
	rc = pc_sys_prctl(PR_GET_NAME, (unsigned long)pc_ptr(before), 0, 0, 0);
	if (rc == 0)
		rc = pc_sys_prctl(PR_SET_NAME, (unsigned long)pc_ptr(image->domain_name), 0, 0, 0);
	if (rc == 0)
		rc = pc_landlock_restrict(ruleset_fd, flags);
	if (rc == 0)
		rc = pc_sys_prctl(PR_SET_NAME, (unsigned long)pc_ptr(before), 0, 0, 0);
	return rc;
}

static int command_op(struct walk *walk, const struct pc_op *op)
{
	switch (op->code) {
	case PC_OP_NEW_SESSION:
		return walk->image->flags & PC_IMAGE_OWN_PROCESS ? pc_leave_session() : pc_new_session();
	case PC_OP_RLIMIT:
		return pc_set_rlimit(op->a, op->value);
	case PC_OP_CHDIR:
		return change_directory(text_of(walk, op->a));
	case PC_OP_LANDLOCK_RESTRICT:
		return restrict_self(walk->image, walk->ruleset_fd, (uint32_t)op->value);
	default:
		return -22; /* EINVAL: pc_become_command() takes the rest */
	}
}

static uint32_t step_of(const struct pc_op *op)
{
	/* Kept apart from plan.c's table, which init does not need; the order of the codes is the order of the steps. */
	if (op->code < PC_OP_NAMESPACES)
		return PC_STEP_PREPARE;
	if (op->code < PC_OP_MOUNT_PRIVATE)
		return PC_STEP_NAMESPACES;
	if (op->code < PC_OP_DROP_CAPABILITIES)
		return PC_STEP_MOUNTS;
	switch (op->code) {
	case PC_OP_DROP_CAPABILITIES:
		return PC_STEP_CAPABILITIES;
	case PC_OP_NO_NEW_PRIVS:
		return PC_STEP_NO_NEW_PRIVS;
	case PC_OP_NEW_SESSION:
		return PC_STEP_SESSION;
	case PC_OP_RLIMIT:
		return PC_STEP_LIMITS;
	case PC_OP_CHDIR:
		return PC_STEP_DIRECTORY;
	case PC_OP_LANDLOCK_RESTRICT:
		return PC_STEP_LANDLOCK;
	default:
		return PC_STEP_SECCOMP;
	}
}

static int fail(struct pc_status *failed, uint32_t step, uint32_t op, int error)
{
	failed->kind = PC_STATUS_FAILED;
	failed->step = step;
	failed->op = op;
	failed->error = error;
	return error;
}

static const struct pc_op *plan_ops(const struct pc_image *image, struct walk *walk, uint32_t *count)
{
	const struct pc_plan_header *header = pc_image_at(image, image->plan_offset);
	const struct pc_op *ops = (const void *)(header + 1);

	*count = header->op_count;
	walk->image = image;
	walk->text = (const char *)(ops + header->op_count);
	return ops;
}

int pc_enter(const struct pc_image *image, int ruleset_fd, struct pc_status *failed)
{
	struct walk walk = { .ruleset_fd = ruleset_fd };
	const struct pc_op *ops;
	uint32_t count, i;
	long mask;
	int rc;

	/* The plan says the modes of what is made here; the host's umask is for the command. */
	mask = pc_sys1(__NR_umask, 0);
	ops = plan_ops(image, &walk, &count);
	for (i = 0; i < count; i++) {
		if (ops[i].code < PC_OP_NAMESPACES || ops[i].code >= PC_OP_NEW_SESSION)
			continue;
		rc = enter_op(&walk, &ops[i]);
		if (rc < 0)
			return fail(failed, step_of(&ops[i]), i, rc);
	}
	pc_sys1(__NR_umask, mask);
	return 0;
}

int pc_restrict_like_command(const struct pc_image *image, int ruleset_fd)
{
	struct walk walk = { 0 };
	const struct pc_op *ops;
	uint32_t count, i;

	ops = plan_ops(image, &walk, &count);
	for (i = 0; i < count; i++)
		if (ops[i].code == PC_OP_LANDLOCK_RESTRICT)
			return restrict_self(image, ruleset_fd, (uint32_t)ops[i].value);
	return 0;
}

static int open_null_stdin(void)
{
	int fd;

	/* Here, not in the host: a descriptor of the host's mount could still change the device's mode for everyone. */
	fd = pc_sys_openat(AT_CWD, "/dev/null", O_RDONLY, 0);
	if (fd <= 0)
		return fd;
	return (int)pc_sys3(__NR_dup3, fd, 0, 0);
}

enum { E_NOEXEC = 8 };

static int exec_path(const struct pc_image *image, uint64_t program)
{
	return (int)pc_sys3(__NR_execve, (long)program, pc_ptr(pc_image_at(image, image->argv_offset)),
			    pc_ptr(pc_image_at(image, image->envp_offset)));
}

/* A script without "#!": the shell reads it, as it would for execvp(3). The spare slot becomes argv[0]. */
static int exec_shell(const struct pc_image *image, uint64_t script)
{
	uint64_t *argv = (uint64_t *)(uintptr_t)pc_image_at(image, image->argv_offset);

	argv[-1] = (uint64_t)(uintptr_t) "sh";
	argv[0] = script;
	return (int)pc_sys3(__NR_execve, pc_ptr("/bin/sh"), pc_ptr(argv - 1), pc_ptr(pc_image_at(image, image->envp_offset)));
}

/* Whether what `fd`, or the name `path`, is now is the file that was chosen. */
static int check_chosen(const struct pc_image *image, int fd, const char *path, int flags)
{
	struct pc_statx st;
	int rc;

	rc = pc_sys_statx(fd, path, flags, PC_STATX_BASIC, &st);
	if (rc < 0)
		return rc;
	if (st.dev_major != image->chosen_major || st.dev_minor != image->chosen_minor || st.ino != image->chosen_ino ||
	    st.ctime.sec * 1000000000 + st.ctime.nsec != image->chosen_ctime_ns)
		return -E_STALE;
	return 0;
}

/* The file that was chosen, whatever has its name by now: executed by descriptor. */
static int exec_chosen(const struct pc_image *image)
{
	const uint64_t *programs = pc_image_at(image, image->programs_offset);
	const char *path = (const char *)(uintptr_t)programs[0];
	int fd, rc, error;

	fd = pc_sys_openat(AT_CWD, path, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	rc = check_chosen(image, fd, "", PC_AT_EMPTY_PATH);
	if (rc < 0)
		return rc;
	error = (int)pc_sys5(__NR_execveat, fd, pc_ptr(""), pc_ptr(pc_image_at(image, image->argv_offset)),
			     pc_ptr(pc_image_at(image, image->envp_offset)), PC_AT_EMPTY_PATH);
	/* ENOENT, ENOEXEC: a script. Its interpreter could not open a descriptor that is closed by then: execveat(2). */
	if (error != -E_NOENT && error != -E_NOEXEC)
		return error;
	rc = check_chosen(image, AT_CWD, path, PC_AT_SYMLINK_NOFOLLOW);
	if (rc < 0)
		return rc;
	return error == -E_NOEXEC ? exec_shell(image, programs[0]) : exec_path(image, programs[0]);
}

/* execvp(3)'s rule: go on past what is not there or may not be run, and remember that something may not. */
static int exec_first(const struct pc_image *image)
{
	const uint64_t *programs = pc_image_at(image, image->programs_offset);
	int refused = -E_NOENT;
	uint32_t i;
	int rc;

	for (i = 0; i < image->programs; i++) {
		rc = exec_path(image, programs[i]);
		if (rc == -E_NOEXEC)
			return exec_shell(image, programs[i]);
		if (rc == -E_ACCES)
			refused = rc;
		else if (rc != -E_NOENT && rc != -E_NOTDIR && rc != -E_LOOP && rc != -E_NAMETOOLONG)
			return rc;
	}
	return refused;
}

/* What the child keeps until it execs: the way to the host, and what tells init of the exec. */
#define LISTENER_SOCKET 3
#define GATE		4

/* Source: pts(4), ioctl_tty(2); TIOCGPTPEER, Linux 4.13. */
#define TIOCSPTLCK_NR  0x40045431
#define TIOCGPTPEER_NR 0x5441
#define TIOCSCTTY_NR   0x540e

static int send_descriptor(int socket, int fd)
{
	char byte = 'F';
	struct pc_io_vector vector = { &byte, 1 };
	struct pc_control control = { PC_CONTROL_HEADER + sizeof(int), PC_LEVEL_SOCKET, PC_RIGHTS, { fd } };
	struct pc_message message = {
		.vectors = &vector,
		.vector_count = 1,
		.control = &control,
		.control_size = sizeof(control),
	};
	long rc;

	rc = pc_sys3(__NR_sendmsg, socket, pc_ptr(&message), 0x4000 /* MSG_NOSIGNAL */);
	return rc < 0 ? (int)rc : 0;
}

static int place_terminal(int terminal)
{
	int fd, rc;

	/* Off the three numbers: it may have got one, since the command has no other stream, and would keep its close-on-exec. */
	terminal = pc_sys_fcntl(terminal, F_DUPFD, PC_INIT_FREE);
	if (terminal < 0)
		return terminal;
	for (fd = 0; fd < 3; fd++) {
		rc = (int)pc_sys3(__NR_dup3, terminal, fd, 0);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/*
 * A terminal of the run's own devpts where it has one: its name is right in there, and no other terminal can be named. Opened
 * before the rules are enforced, which know no terminal.
 */
static int open_terminal(void)
{
	int unlock = 0, master, terminal, rc;

	master = pc_sys_openat(AT_CWD, "/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC, 0);
	if (master < 0)
		return master;
	rc = (int)pc_sys3(__NR_ioctl, master, TIOCSPTLCK_NR, pc_ptr(&unlock));
	if (rc < 0)
		return rc;
	terminal = (int)pc_sys3(__NR_ioctl, master, TIOCGPTPEER_NR, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0)
		return terminal;
	rc = send_descriptor(PC_INIT_LISTENER, master);
	return rc < 0 ? rc : place_terminal(terminal);
}

/*
 * The host may have been killed since it gave its word, and its last messages to nobody do not start a command. What is killed
 * after this init sees, which is awake and ends what has not been executed yet.
 */
static int check_host(void)
{
	const struct __kernel_timespec at_once = { 0 };
	struct pollfd control = { .fd = PC_INIT_CONTROL };
	long rc = pc_sys5(__NR_ppoll, pc_ptr(&control), 1, pc_ptr(&at_once), 0, 0);

	return rc > 0 ? -E_PIPE : (int)rc;
}

/* The command's signals and streams, and nothing else but, close-on-exec, the two above. */
static int shed_descriptors(uint32_t flags, int gate_fd)
{
	int rc;

	rc = pc_reset_signals();
	/* The session is new and has none. */
	if (rc == 0 && flags & PC_IMAGE_TERMINAL)
		rc = (int)pc_sys3(__NR_ioctl, 0, TIOCSCTTY_NR, 0);
	if (rc == 0 && flags & PC_IMAGE_STDIN_NULL)
		rc = open_null_stdin();
	if (rc < 0 || gate_fd < 0)
		return rc < 0 ? rc : pc_close_from(3);
	rc = check_host();
	if (rc == 0 && flags & PC_IMAGE_BROKER)
		rc = (int)pc_sys3(__NR_dup3, PC_INIT_LISTENER, LISTENER_SOCKET, O_CLOEXEC);
	else if (rc == 0)
		rc = pc_sys_close(LISTENER_SOCKET);
	if (rc >= 0)
		rc = (int)pc_sys3(__NR_dup3, gate_fd, GATE, O_CLOEXEC);
	return rc < 0 ? rc : pc_close_from(GATE + 1);
}

static int install_filter(const struct walk *walk, const struct pc_op *op, int socket)
{
	int rc;

	if (!(op->flags & PC_OP_NOTIFY))
		return pc_filter_install(walk->text + op->a, (size_t)op->value);
	rc = pc_filter_install_listener(walk->text + op->b, (size_t)op->value);
	/* It notifies of nothing that happens from here to exec. */
	return rc < 0 ? rc : send_descriptor(socket, rc);
}

/*
 * First of all, so that nothing the command does is outside; who was cloned into it is there. A move by a descriptor is judged by
 * who opened it. 0 or the negative errno in `failed`.
 */
static int enter_cgroup(const struct pc_image *image, bool is_in_cgroup, struct pc_status *failed)
{
	long rc;

	if (!(image->flags & PC_IMAGE_CGROUP) || is_in_cgroup)
		return 0;
	rc = pc_sys_write(PC_INIT_CGROUP_PROCS, "0", 1);
	return rc < 0 ? fail(failed, PC_STEP_LIMITS, PC_NO_OPERATION, (int)rc) : 0;
}

/* What is the command's own, but for its filter. 0 or the negative errno in `failed`. */
static int apply_command_ops(struct walk *walk, const struct pc_op *ops, uint32_t count, bool is_spare,
			     struct pc_status *failed)
{
	uint32_t i;
	int rc;

	for (i = 0; i < count; i++) {
		if (ops[i].code < PC_OP_NEW_SESSION || ops[i].code == PC_OP_SECCOMP || (is_spare && ops[i].code == PC_OP_CHDIR))
			continue;
		rc = command_op(walk, &ops[i]);
		if (rc < 0)
			return fail(failed, step_of(&ops[i]), i, rc);
	}
	return 0;
}

static int install_filters(const struct walk *walk, const struct pc_op *ops, uint32_t count, int socket,
			   struct pc_status *failed)
{
	uint32_t i;
	int rc;

	for (i = 0; i < count; i++) {
		if (ops[i].code != PC_OP_SECCOMP)
			continue;
		rc = install_filter(walk, &ops[i], socket);
		if (rc < 0)
			return fail(failed, PC_STEP_SECCOMP, i, rc);
	}
	return 0;
}

static void execute(const struct pc_image *image, struct pc_status *failed)
{
	int rc = image->flags & PC_IMAGE_CHOSEN ? exec_chosen(image) : exec_first(image);

	fail(failed, PC_STEP_EXEC, PC_NO_OPERATION, rc);
}

void pc_become_command(const struct pc_image *image, int ruleset_fd, bool is_in_cgroup, int gate_fd, struct pc_status *failed)
{
	struct walk walk = { .ruleset_fd = ruleset_fd };
	const struct pc_op *ops;
	uint32_t count;
	int rc;

	if (enter_cgroup(image, is_in_cgroup, failed) < 0)
		return;
	rc = image->flags & PC_IMAGE_TERMINAL ? open_terminal() : 0;
	if (rc < 0) {
		fail(failed, PC_STEP_DESCRIPTORS, PC_NO_OPERATION, rc);
		return;
	}
	ops = plan_ops(image, &walk, &count);
	if (apply_command_ops(&walk, ops, count, false, failed) < 0)
		return;
	rc = shed_descriptors(image->flags, gate_fd);
	if (rc < 0) {
		fail(failed, PC_STEP_DESCRIPTORS, PC_NO_OPERATION, rc);
		return;
	}
	if (install_filters(&walk, ops, count, LISTENER_SOCKET, failed) == 0)
		execute(image, failed);
}

/*
 * The working directory waits, which no rule of Landlock's is about, and so do descriptors and signals. What is called after the
 * filter is what every program calls; it notifies of nothing of that.
 */
int pc_prepare_command(const struct pc_image *image, int ruleset_fd, bool is_in_cgroup, struct pc_status *failed)
{
	struct walk walk = { .ruleset_fd = ruleset_fd };
	const struct pc_op *ops;
	uint32_t count;
	int rc;

	ops = plan_ops(image, &walk, &count);
	rc = enter_cgroup(image, is_in_cgroup, failed);
	if (rc == 0)
		rc = apply_command_ops(&walk, ops, count, true, failed);
	if (rc < 0)
		return rc;
	/* The filter may notify of an open, and nobody listens before the command runs. A stream that comes takes its place. */
	rc = open_null_stdin();
	if (rc < 0)
		return fail(failed, PC_STEP_DESCRIPTORS, PC_NO_OPERATION, rc);
	return install_filters(&walk, ops, count, PC_INIT_LISTENER, failed);
}

void pc_finish_command(const struct pc_image *image, const struct pc_image *words, int gate_fd, struct pc_status *failed)
{
	struct walk walk = { 0 };
	const struct pc_op *ops;
	uint32_t count, i;
	int rc;

	ops = plan_ops(image, &walk, &count);
	walk.image = words; /* whose directory it is */
	for (i = 0; i < count; i++) {
		rc = ops[i].code == PC_OP_CHDIR ? command_op(&walk, &ops[i]) : 0;
		if (rc < 0) {
			fail(failed, PC_STEP_DIRECTORY, i, rc);
			return;
		}
	}
	rc = shed_descriptors(words->flags & ~(uint32_t)PC_IMAGE_STDIN_NULL, gate_fd);
	if (rc < 0) {
		fail(failed, PC_STEP_DESCRIPTORS, PC_NO_OPERATION, rc);
		return;
	}
	execute(words, failed);
}
