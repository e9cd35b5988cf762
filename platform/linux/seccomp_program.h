/* Writing a filter program, one instruction after the other. One that does not fit marks the program as no good. */
#ifndef PROCAGE_LINUX_SECCOMP_PROGRAM_H
#define PROCAGE_LINUX_SECCOMP_PROGRAM_H

#include "../platform.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uapi.h"

#define ALLOW	      SECCOMP_RET_ALLOW
#define REFUSE(error) (SECCOMP_RET_ERRNO | (uint32_t)(error))

struct program {
	struct sock_filter *insn; /* PC_BPF_MAXINSNS of them */
	size_t count;
	bool is_full; /* an instruction did not fit: the program is no good */
};

static inline void emit(struct program *p, int code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (p->count >= PC_BPF_MAXINSNS) {
		p->is_full = true;
		return;
	}
	p->insn[p->count++] = (struct sock_filter) { .code = (uint16_t)code, .jt = jt, .jf = jf, .k = k };
}

static inline void load(struct program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Both architectures are little-endian: the low word comes first. */
static inline void load_arg_low(struct program *p, unsigned int arg)
{
	load(p, offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t));
}

static inline void load_arg_high(struct program *p, unsigned int arg)
{
	load(p, offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t) + sizeof(uint32_t));
}

static inline void and_mask(struct program *p, uint32_t mask)
{
	emit(p, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
}

static inline void ret(struct program *p, uint32_t action)
{
	emit(p, BPF_RET | BPF_K, action, 0, 0);
}

static inline void ret_if_equal(struct program *p, uint32_t value, uint32_t action)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	ret(p, action);
}

static inline void ret_if_any_bit(struct program *p, uint32_t bits, uint32_t action)
{
	emit(p, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
	ret(p, action);
}

/* What follows, up to end(), runs only when the loaded word equals `value`. */
static inline size_t begin_if_equal(struct program *p, uint32_t value)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0);
	return p->count - 1;
}

static inline void end(struct program *p, size_t start)
{
	size_t distance = p->count - start - 1;

	if (distance > UINT8_MAX)
		p->is_full = true;
	if (!p->is_full)
		p->insn[start].jf = (uint8_t)distance;
}

/* What follows, up to end_below(), runs only when the loaded word is below `value`. */
static inline size_t begin_if_below(struct program *p, uint32_t value)
{
	emit(p, BPF_JMP | BPF_JGE | BPF_K, value, 0, 0);
	return p->count - 1;
}

static inline void end_below(struct program *p, size_t start)
{
	size_t distance = p->count - start - 1;

	if (distance > UINT8_MAX)
		p->is_full = true;
	if (!p->is_full)
		p->insn[start].jt = (uint8_t)distance;
}

#endif
