/*
 * no_userns CMD...: runs CMD where nobody gets a namespace or a mount, root neither, as in many containers. A filter that
 * really refuses, so that what is tested is the tier that the library takes on such a host, not a switch of the library.
 *
 * Exit status: 125 when the filter cannot be put in place, 127 when CMD cannot be executed; else CMD's.
 */
#include <errno.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t namespace_flags[] = {
	CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWTIME,
};

/* Numbers from open_tree on are the same on every architecture, and libseccomp 2.5 lacks some of the names. */
static const int refused_calls[] = {
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(setns),
	SCMP_SYS(open_tree),
	SCMP_SYS(move_mount),
	SCMP_SYS(fsopen),
	SCMP_SYS(fsconfig),
	SCMP_SYS(fsmount),
	SCMP_SYS(fspick),
	442, /* mount_setattr */
	467, /* open_tree_attr, Linux 6.15 */
};

static int add_rules(scmp_filter_ctx filter)
{
	size_t i;
	int error;

	for (i = 0; i < COUNT(namespace_flags); i++) {
		const struct scmp_arg_cmp has_flag = SCMP_A0(SCMP_CMP_MASKED_EQ, namespace_flags[i], namespace_flags[i]);

		error = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1, &has_flag);
		/* The low byte of clone's flags is the exit signal: CLONE_NEWTIME is none of its flags. */
		if (!error && namespace_flags[i] != CLONE_NEWTIME)
			error = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, &has_flag);
		if (error)
			return error;
	}
	for (i = 0; i < COUNT(refused_calls); i++) {
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), refused_calls[i], 0);
		if (error)
			return error;
	}
	/* Its flags are behind a pointer; ENOSYS makes the C library take clone. */
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/* With no_new_privs only where the kernel insists: the tests' controls may need set-user-ID programs. */
static int load(scmp_filter_ctx filter)
{
	int error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);

	if (!error)
		error = seccomp_load(filter);
	/* libseccomp says EACCES, or ECANCELED for whatever the kernel refused it. */
	if (error != -EACCES && error != -ECANCELED)
		return error;
	error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 1);
	return error ? error : seccomp_load(filter);
}

int main(int argc, char **argv)
{
	scmp_filter_ctx filter;
	int error;

	if (argc < 2) {
		fputs("usage: no_userns <command> [<argument> ...]\n", stderr);
		return 2;
	}
	filter = seccomp_init(SCMP_ACT_ALLOW);
	if (!filter)
		return 125;
	/* A process of another architecture (the tests have some) is none of this filter's business. */
	error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW);
	if (!error)
		error = add_rules(filter);
	if (!error)
		error = load(filter);
	seccomp_release(filter);
	if (error) {
		fprintf(stderr, "no_userns: %s\n", strerror(-error));
		return 125;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
