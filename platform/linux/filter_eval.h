/* Answering for a filter in the supervisor. */
#ifndef PROCAGE_LINUX_FILTER_EVAL_H
#define PROCAGE_LINUX_FILTER_EVAL_H

#include <stddef.h>
#include <stdint.h>

struct seccomp_data;

/* What the program returns for a call: SECCOMP_RET_* and its data. */
uint32_t pc_filter_answer(const void *program, size_t count, const struct seccomp_data *data);

#endif
