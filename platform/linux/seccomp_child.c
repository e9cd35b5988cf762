/*
 * Installing a filter: for the child between clone and exec, so sys.h only.
 */
#include "../platform.h"

#include <asm/errno.h>

#include "sys.h"
#include "uapi.h"

int pc_filter_install(const void *program, size_t count)
{
	/* struct sock_fprog, whose filter is not const. */
	struct {
		unsigned short len;
		const void *filter;
	} fprog;

	/* The kernel's field is 16 bits wide: a longer program must not become its own beginning. */
	if (count == 0 || count > PC_BPF_MAXINSNS)
		return -EINVAL;

	fprog.len = (unsigned short)count;
	fprog.filter = program;
	return (int)pc_sys3(__NR_seccomp, PC_SECCOMP_SET_MODE_FILTER, 0, pc_ptr(&fprog));
}
