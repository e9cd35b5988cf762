/*
 * A compiled filter's refusals made visible: the same program, its errno answers turned into notifications, and the original
 * run by hand on what the kernel reports, to learn which errno it would have been.
 */
#include "../platform.h"
#include "filter_eval.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>

int pc_filter_notify(const void *program, size_t count, void *notified)
{
	struct sock_filter *insn = notified;
	size_t i;

	memcpy(insn, program, count * sizeof(*insn));
	for (i = 0; i < count; i++) {
		uint32_t action = insn[i].k & SECCOMP_RET_ACTION_FULL, error = insn[i].k & SECCOMP_RET_DATA;

		if (insn[i].code != (BPF_RET | BPF_K) || action != SECCOMP_RET_ERRNO)
			continue;
		/* 0 is no refusal at all. ENOSYS is none either but an older kernel's answer, and clone3 gets it for every thread that is made. */
		if (error != ENOSYS && error != 0)
			insn[i].k = SECCOMP_RET_USER_NOTIF;
	}
	return 0;
}

static uint32_t load_word(const struct seccomp_data *data, uint32_t offset)
{
	uint32_t word = 0;

	if (offset <= sizeof(*data) - sizeof(word))
		memcpy(&word, (const char *)data + offset, sizeof(word));
	return word;
}

static bool holds(const struct sock_filter *insn, uint32_t accumulator)
{
	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
		return accumulator == insn->k;
	case BPF_JGT:
		return accumulator > insn->k;
	case BPF_JGE:
		return accumulator >= insn->k;
	default:
		return accumulator & insn->k;
	}
}

/* Only the instructions that seccomp.c and libseccomp write; another one is refused, as a call would be. */
uint32_t pc_filter_answer(const void *program, size_t count, const struct seccomp_data *data)
{
	const struct sock_filter *insn = program;
	uint32_t accumulator = 0;
	size_t at = 0;

	while (at < count) {
		const struct sock_filter *now = &insn[at++];

		switch (now->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			accumulator = load_word(data, now->k);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			accumulator &= now->k;
			break;
		case BPF_JMP | BPF_JA:
			at += now->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			at += holds(now, accumulator) ? now->jt : now->jf;
			break;
		case BPF_RET | BPF_K:
			return now->k;
		default:
			return SECCOMP_RET_ERRNO | EPERM;
		}
	}
	return SECCOMP_RET_ERRNO | EPERM;
}
