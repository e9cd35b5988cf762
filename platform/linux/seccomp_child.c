/*
 * Installing a filter: for the child between clone and exec, so sys.h only.
 */
#include "../platform.h"

#include <asm/errno.h>
#include <linux/seccomp.h>

#include "sys.h"
#include "uapi.h"

static int install(const void *program, size_t count, unsigned int flags)
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
	return (int)pc_sys3(__NR_seccomp, PC_SECCOMP_SET_MODE_FILTER, (long)flags, pc_ptr(&fprog));
}

int pc_filter_install(const void *program, size_t count)
{
	return install(program, count, 0);
}

int pc_filter_install_listener(const void *program, size_t count)
{
	/*
	 * Once the supervisor has a call in hand only a deadly signal ends it: a Go program's preemption signals would otherwise
	 * have it begun again and again.
	 */
	int fd = install(program, count, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);

	if (fd == -EINVAL) /* before Linux 5.19 */
		fd = install(program, count, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	return fd;
}
