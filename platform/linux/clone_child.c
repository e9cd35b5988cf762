/* clone(2) with a stack for the child, which no C function can make: the child may not return into its parent's frame. */
#include "image.h"

#if defined(__x86_64__)

/* rdi flags, rsi stack top, rdx pidfd, rcx fn, r8 arg, r9 shared */
__asm__(".text\n"
	".globl pc_clone_call\n"
	".hidden pc_clone_call\n"
	".type pc_clone_call, @function\n"
	"pc_clone_call:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	and $-16, %rsi\n"
	"	sub $16, %rsi\n"
	"	mov %rcx, (%rsi)\n"
	"	mov %r8, 8(%rsi)\n"
	"	mov %r9, %r10\n"
	"	xor %r8d, %r8d\n"
	"	mov $56, %eax\n" /* __NR_clone */
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jz 1f\n"
	"	ret\n"
	"1:	.cfi_undefined rip\n"
	"	xor %ebp, %ebp\n"
	"	pop %rax\n"
	"	pop %rdi\n"
	"	call *%rax\n"
	"	mov %eax, %edi\n"
	"	mov $60, %eax\n" /* __NR_exit */
	"	syscall\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size pc_clone_call, . - pc_clone_call\n");

/* rdi arguments, rsi their size, rdx fn, rcx arg */
__asm__(".text\n"
	".globl pc_clone3_call\n"
	".hidden pc_clone3_call\n"
	".type pc_clone3_call, @function\n"
	"pc_clone3_call:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	mov %rcx, %r8\n"  /* the call itself takes rcx */
	"	mov $435, %eax\n" /* __NR_clone3 */
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jz 1f\n"
	"	ret\n"
	"1:	.cfi_undefined rip\n"
	"	xor %ebp, %ebp\n"
	"	mov %r8, %rdi\n"
	"	call *%rdx\n"
	"	mov %eax, %edi\n"
	"	mov $60, %eax\n" /* __NR_exit */
	"	syscall\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	".size pc_clone3_call, . - pc_clone3_call\n");

#elif defined(__aarch64__)

/* x0 flags, x1 stack top, x2 pidfd, x3 fn, x4 arg, x5 shared */
__asm__(".text\n"
	".globl pc_clone_call\n"
	".hidden pc_clone_call\n"
	".type pc_clone_call, %function\n"
	"pc_clone_call:\n"
	"	and x1, x1, #-16\n"
	"	stp x3, x4, [x1, #-16]!\n"
	"	mov x3, xzr\n"
	"	mov x4, x5\n"
	"	mov x8, #220\n" /* __NR_clone */
	"	svc #0\n"
	"	cbz x0, 1f\n"
	"	ret\n"
	"1:	mov x29, xzr\n"
	"	ldp x1, x0, [sp], #16\n"
	"	blr x1\n"
	"	mov x8, #93\n" /* __NR_exit */
	"	svc #0\n"
	"	brk #1\n"
	".size pc_clone_call, . - pc_clone_call\n");

/* x0 arguments, x1 their size, x2 fn, x3 arg */
__asm__(".text\n"
	".globl pc_clone3_call\n"
	".hidden pc_clone3_call\n"
	".type pc_clone3_call, %function\n"
	"pc_clone3_call:\n"
	"	mov x8, #435\n" /* __NR_clone3 */
	"	svc #0\n"
	"	cbz x0, 1f\n"
	"	ret\n"
	"1:	mov x29, xzr\n"
	"	mov x0, x3\n"
	"	blr x2\n"
	"	mov x8, #93\n" /* __NR_exit */
	"	svc #0\n"
	"	brk #1\n"
	".size pc_clone3_call, . - pc_clone3_call\n");

#else
#error "procage knows clone(2) of x86_64 and aarch64 only"
#endif

/* Source: clone3(2); struct clone_args as Linux 5.7 has it. The stack is given by its lowest address. */
struct clone3_args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

#define INTO_CGROUP 0x200000000u
#define SIG_CHLD    17

extern __attribute__((visibility("hidden"))) long pc_clone3_call(const struct clone3_args *args, size_t size, int (*fn)(void *),
								 void *arg);

long pc_clone_into_cgroup(unsigned long flags, void *stack, size_t stack_size, int cgroup_fd, int (*fn)(void *), void *arg)
{
	struct clone3_args args = {
		.flags = flags | INTO_CGROUP,
		.exit_signal = SIG_CHLD,
		.stack = (uint64_t)(uintptr_t)stack,
		.stack_size = stack_size,
		.cgroup = (uint64_t)cgroup_fd,
	};

	return pc_clone3_call(&args, sizeof(args), fn, arg);
}
