/*
 * Compiles a filter.
 *
 * libseccomp lays out the decision by call number as a balanced tree: an install runs the filter once for every number, so a
 * chain costs several times as much. What libseccomp cannot say is written here:
 *
 *   - A call above the newest known one is refused, also one libseccomp has no name for. The check is prepended.
 *   - int arguments are compared as 32 bits, as the kernel reads them: setting bit 32 passes a 64-bit compare. libseccomp has
 *     masked equality for that, but no "none of these" over it. So a call whose arguments count is given a mark as its action
 *     (SCMP_ACT_TRACE and a number: no filter of ours traces), and each mark in the exported program becomes a jump to a
 *     block appended behind it. Blocks jump forward only and end in a return.
 *
 * The table of calls refused by number alone is in seccomp_calls.c, the blocks are in seccomp_blocks.c.
 */
#include "../platform.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "seccomp_blocks.h"
#include "seccomp_program.h"
#include "uapi.h"

#if defined(__x86_64__)
#define NATIVE_AUDIT_ARCH AUDIT_ARCH_X86_64
#define NATIVE_SCMP_ARCH  SCMP_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_AUDIT_ARCH AUDIT_ARCH_AARCH64
#define NATIVE_SCMP_ARCH  SCMP_ARCH_AARCH64
#else
#error "the filter names its architectures: x86_64 and aarch64"
#endif

/* ---- the tree by number ----------------------------------------------------------------------------------------------- */

/* -ENOMEM stays itself; whatever else libseccomp says about a rule of ours is a fault of the rule. */
static int rule_error(int rc)
{
	return rc == -ENOMEM ? -ENOMEM : -EINVAL;
}

static bool is_refused_besides(const struct pc_filter_spec *spec, int number)
{
	for (size_t i = 0; i < spec->refused_count; i++)
		if (spec->refused[i] == number)
			return true;
	return false;
}

/* A call that is refused whatever its arguments has none to be judged. */
static bool is_judged(const struct pc_judged_call *call, const struct pc_filter_spec *spec)
{
	return pc_is_judged(call, spec) && !is_refused_besides(spec, call->number);
}

static int add_refused_besides(scmp_filter_ctx ctx, const struct pc_filter_spec *spec)
{
	for (size_t i = 0; i < spec->refused_count; i++) {
		int rc = seccomp_rule_add_exact(ctx, SCMP_ACT_ERRNO(EPERM), spec->refused[i], 0);

		if (rc < 0)
			return rule_error(rc);
	}
	return 0;
}

static int add_refused_calls(scmp_filter_ctx ctx, const struct pc_filter_spec *spec)
{
	unsigned int groups = spec->groups | PC_REFUSE_ALWAYS;

	for (const struct pc_refused_call *call = pc_refused_calls(); call->name; call++) {
		int number = call->number;
		int rc;

		if (!(call->group & groups))
			continue;
		if (number < 0) {
			number = seccomp_syscall_resolve_name_arch(NATIVE_SCMP_ARCH, call->name);

			/* A row that cannot be written must not be lost in silence: it would refuse nothing. */
			if (number == __NR_SCMP_ERROR)
				return -EINVAL;

			/* libseccomp's numbers below zero: a call this architecture never had. */
			if (number < 0)
				continue;
		}
		if (is_refused_besides(spec, number))
			continue;
		rc = seccomp_rule_add_exact(ctx, SCMP_ACT_ERRNO((uint32_t)call->error), number, 0);
		if (rc < 0)
			return rule_error(rc);
	}
	return 0;
}

static uint32_t mark_of(size_t judged)
{
	return SCMP_ACT_TRACE(judged);
}

static int add_judged_calls(scmp_filter_ctx ctx, const struct pc_filter_spec *spec)
{
	size_t count;
	const struct pc_judged_call *judged = pc_judged_calls(&count);

	for (size_t i = 0; i < count; i++) {
		int rc;

		if (!is_judged(&judged[i], spec))
			continue;
		rc = seccomp_rule_add_exact(ctx, mark_of(i), judged[i].number, 0);
		if (rc < 0)
			return rule_error(rc);
	}
	return 0;
}

/* Appends what libseccomp exports: through a memfd, since 2.5 writes to a descriptor only. */
static int append_export(struct program *p, scmp_filter_ctx ctx)
{
	size_t room = (PC_BPF_MAXINSNS - p->count) * sizeof(struct sock_filter);
	size_t have = 0;
	cleanup_fd int fd = -1;
	off_t size;
	int rc;

	fd = memfd_create("procage-filter", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;

	rc = seccomp_export_bpf(ctx, fd);
	if (rc < 0)
		return rule_error(rc);
	size = lseek(fd, 0, SEEK_END);
	if (size < 0)
		return -errno;
	if ((size_t)size > room)
		return -E2BIG;
	if (size == 0 || (size_t)size % sizeof(struct sock_filter) != 0)
		return -EINVAL;

	while (have < (size_t)size) {
		ssize_t n = pread(fd, (char *)(p->insn + p->count) + have, (size_t)size - have, (off_t)have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		have += (size_t)n;
	}
	p->count += have / sizeof(struct sock_filter);
	return 0;
}

static int append_tree(struct program *p, const struct pc_filter_spec *spec)
{
	scmp_filter_ctx ctx;
	int rc;

	ctx = seccomp_init(SCMP_ACT_ALLOW);
	if (!ctx)
		return -ENOMEM;

	/* Another architecture, the x32 range too, finds a kernel without any call. The prologue says the same, earlier. */
	rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	if (rc == 0)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc < 0) {
		rc = rule_error(rc);
		goto out;
	}
	rc = add_refused_besides(ctx, spec);
	if (rc == 0)
		rc = add_refused_calls(ctx, spec);
	if (rc == 0)
		rc = add_judged_calls(ctx, spec);
	if (rc == 0)
		rc = append_export(p, ctx);
out:
	seccomp_release(ctx);
	return rc;
}

/* Calls that the filter knows and libseccomp may not. */
static const struct {
	const char *name;
	int number;
} newer_calls[] = {
	{ "fchmodat2", __NR_fchmodat2 },
	{ "setxattrat", 463 },	  /* Linux 6.13 */
	{ "removexattrat", 466 }, /* Linux 6.13 */
	{ "file_setattr", __NR_file_setattr },
};

int pc_filter_call(const char *name)
{
	int number = seccomp_syscall_resolve_name_arch(NATIVE_SCMP_ARCH, name);

	for (const struct pc_refused_call *call = pc_refused_calls(); call->name; call++)
		if (call->number >= 0 && strcmp(call->name, name) == 0)
			return call->number;
	for (size_t i = 0; i < sizeof(newer_calls) / sizeof(newer_calls[0]); i++)
		if (strcmp(newer_calls[i].name, name) == 0)
			return newer_calls[i].number;
	if (number == __NR_SCMP_ERROR)
		return -ENOENT;
	return number < 0 ? -EOPNOTSUPP : number;
}

/* ---- the whole -------------------------------------------------------------------------------------------------------- */

/*
 * The architecture first: a number means nothing without it. The range check covers x32 (bit 30) as well. -1 is no call: a
 * tracer writes it to skip one, and the kernel does nothing for it.
 */
static void write_prologue(struct program *p)
{
	load(p, offsetof(struct seccomp_data, arch));
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, NATIVE_AUDIT_ARCH, 1, 0);
	ret(p, REFUSE(ENOSYS));
	load(p, offsetof(struct seccomp_data, nr));
	emit(p, BPF_JMP | BPF_JGT | BPF_K, PC_NEWEST_CALL, 0, 3);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 1, 0);
	ret(p, REFUSE(ENOSYS));
	ret(p, ALLOW);
}

#define RANGE_CHECK 4 /* the JGT's place in the prologue */

/*
 * libseccomp's program begins with checks that the prologue has made already: architecture, x32, -1. They are a third of the
 * steps of every number, so the prologue jumps past them when they look as expected; laid out otherwise, they stay.
 */
static void skip_known_checks(struct program *p, size_t tree)
{
	const int jeq = BPF_JMP | BPF_JEQ | BPF_K;
	bool number_loaded = false;
	size_t at = tree;

	for (; at < p->count; at++) {
		const struct sock_filter *insn = &p->insn[at];

		if (insn->code == (BPF_LD | BPF_W | BPF_ABS) && insn->k == offsetof(struct seccomp_data, arch))
			number_loaded = false;
		else if (insn->code == (BPF_LD | BPF_W | BPF_ABS) && insn->k == offsetof(struct seccomp_data, nr))
			number_loaded = true;
		else if (!(insn->code == jeq && insn->k == NATIVE_AUDIT_ARCH && insn->jt == 0) &&
			 !(insn->code == jeq && insn->k == 0xffffffff) &&
			 !(insn->code == (BPF_JMP | BPF_JGE | BPF_K) && insn->k == 0x40000000))
			break;
	}

	/* The prologue leaves the number loaded, as the tree expects it. */
	if (number_loaded && at - RANGE_CHECK - 1 <= UINT8_MAX)
		p->insn[RANGE_CHECK].jf = (uint8_t)(at - RANGE_CHECK - 1);
}

/* Turns each mark in insn[from..to) into a jump to its block, which is written behind the program. */
static int link_blocks(struct program *p, const struct pc_filter_spec *spec, size_t from, size_t to)
{
	size_t count;
	const struct pc_judged_call *judged = pc_judged_calls(&count);

	for (size_t i = 0; i < count; i++) {
		size_t block = p->count;
		bool found = false;

		if (!is_judged(&judged[i], spec))
			continue;
		judged[i].write(p, spec);
		if (p->is_full)
			return -E2BIG;

		for (size_t at = from; at < to; at++) {
			struct sock_filter *insn = &p->insn[at];

			if (insn->code != (BPF_RET | BPF_K) || insn->k != mark_of(i))
				continue;
			*insn = (struct sock_filter) { .code = BPF_JMP | BPF_JA, .k = (uint32_t)(block - at - 1) };
			found = true;
		}

		/* libseccomp dropped the rule: the call would be allowed whatever its arguments. */
		if (!found)
			return -EINVAL;
	}

	/* A mark left over would let a tracer decide, and without one answer ENOSYS. */
	for (size_t at = from; at < to; at++)
		if (p->insn[at].code == (BPF_RET | BPF_K) && (p->insn[at].k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_TRACE)
			return -EINVAL;
	return 0;
}

int pc_filter_compile(const struct pc_filter_spec *spec, void **program, size_t *count)
{
	struct program p = { 0 };
	size_t tree;
	int rc;

	if (spec->no_unix && (spec->mediated || spec->loopback))
		return -EINVAL;
	/* A datagram names its peer where nobody looks. */
	if (spec->loopback && (!spec->inet || !spec->tcp_only || spec->datagram))
		return -EINVAL;
	p.insn = calloc(PC_BPF_MAXINSNS, sizeof(*p.insn));
	if (!p.insn)
		return -ENOMEM;

	write_prologue(&p);
	tree = p.count;
	rc = append_tree(&p, spec);
	if (rc == 0) {
		skip_known_checks(&p, tree);
		rc = link_blocks(&p, spec, tree, p.count);
	}
	if (rc < 0) {
		free(p.insn);
		return rc;
	}
	*program = p.insn;
	*count = p.count;
	return 0;
}
