/*
 * Raw system calls for x86_64 and aarch64: no libc, no errno, no global.
 *
 * Two places need them: the child between clone and exec, which may share memory with a threaded host (a libc wrapper would
 * write the host thread's errno), and the init program, which has no libc at all. Every call returns what the kernel returns:
 * a value, or a negative errno as long.
 *
 * An error is -4095..-1. pc_sys_failed() compares that range for calls whose value may be an address; `< 0` is right elsewhere.
 *
 * Fork-like clone(2) works with these: stack 0 and no CLONE_VM. With a new stack the child would return into a frame that is
 * not there; with CLONE_VM on the same stack the compiler may reuse, in the child's branch, a slot that the parent's branch
 * still needs. Both want an entry written in assembly, or the C library's clone().
 */
#ifndef PROCAGE_LINUX_SYS_H
#define PROCAGE_LINUX_SYS_H

#include <stddef.h>
#include <stdint.h>

#include <asm/unistd.h>

#define PC_SYS static inline __attribute__((always_inline, unused))

#if defined(__x86_64__) && !defined(__ILP32__)

/* The kernel clobbers rcx and r11; the fourth argument travels in r10. */

PC_SYS long pc_sys0(long nr)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr) : "rcx", "r11", "memory");
	return ret;
}

PC_SYS long pc_sys1(long nr, long a)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a) : "rcx", "r11", "memory");
	return ret;
}

PC_SYS long pc_sys2(long nr, long a, long b)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return ret;
}

PC_SYS long pc_sys3(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return ret;
}

PC_SYS long pc_sys4(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return ret;
}

PC_SYS long pc_sys5(long nr, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
	return ret;
}

PC_SYS long pc_sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#elif defined(__aarch64__) && !defined(__ILP32__)

PC_SYS long pc_sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
	return x0;
}

/* A register that a call does not read costs one instruction to clear; a wrong register list would cost more. */

PC_SYS long pc_sys0(long nr)
{
	return pc_sys6(nr, 0, 0, 0, 0, 0, 0);
}

PC_SYS long pc_sys1(long nr, long a)
{
	return pc_sys6(nr, a, 0, 0, 0, 0, 0);
}

PC_SYS long pc_sys2(long nr, long a, long b)
{
	return pc_sys6(nr, a, b, 0, 0, 0, 0);
}

PC_SYS long pc_sys3(long nr, long a, long b, long c)
{
	return pc_sys6(nr, a, b, c, 0, 0, 0);
}

PC_SYS long pc_sys4(long nr, long a, long b, long c, long d)
{
	return pc_sys6(nr, a, b, c, d, 0, 0);
}

PC_SYS long pc_sys5(long nr, long a, long b, long c, long d, long e)
{
	return pc_sys6(nr, a, b, c, d, e, 0);
}

#else
#error "procage knows the system call convention of x86_64 and aarch64 only"
#endif

/* A pointer as an argument. */
PC_SYS long pc_ptr(const volatile void *p)
{
	return (long)(uintptr_t)p;
}

PC_SYS int pc_sys_failed(long ret)
{
	return (unsigned long)ret >= (unsigned long)-4095L;
}

/* ---- typed wrappers: only calls that both architectures have --------------------------------------------------------- */

PC_SYS int pc_sys_openat(int dirfd, const char *path, int flags, unsigned int mode)
{
	return (int)pc_sys4(__NR_openat, dirfd, pc_ptr(path), flags, (long)mode);
}

/* `how` is a struct open_how of <linux/openat2.h>. Linux 5.6. */
PC_SYS int pc_sys_openat2(int dirfd, const char *path, const void *how, size_t size)
{
	return (int)pc_sys4(__NR_openat2, dirfd, pc_ptr(path), pc_ptr(how), (long)size);
}

/* Never repeated after EINTR: Linux has closed the descriptor by then. */
PC_SYS int pc_sys_close(int fd)
{
	return (int)pc_sys1(__NR_close, fd);
}

PC_SYS long pc_sys_read(int fd, void *buf, size_t size)
{
	return pc_sys3(__NR_read, fd, pc_ptr(buf), (long)size);
}

PC_SYS long pc_sys_write(int fd, const void *buf, size_t size)
{
	return pc_sys3(__NR_write, fd, pc_ptr(buf), (long)size);
}

PC_SYS int pc_sys_fcntl(int fd, int cmd, long arg)
{
	return (int)pc_sys3(__NR_fcntl, fd, cmd, arg);
}

PC_SYS int pc_sys_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	return (int)pc_sys5(__NR_prctl, option, (long)a, (long)b, (long)c, (long)d);
}

PC_SYS __attribute__((noreturn)) void pc_sys_exit(int status)
{
	for (;;)
		pc_sys1(__NR_exit_group, status);
}

/* struct statx of <linux/stat.h>, which cannot be included beside glibc's <sys/stat.h> in every order. 256 bytes. */
struct pc_statx {
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, spare0;
	uint64_t ino, size, blocks, attributes_mask;
	struct {
		int64_t sec;
		uint32_t nsec;
		int32_t spare;
	} atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t mnt_id;
	uint64_t spare[13];
};

_Static_assert(sizeof(struct pc_statx) == 256, "the kernel writes 256 bytes");

#define PC_STATX_TYPE	       0x1u
#define PC_STATX_BASIC	       0x7ffu
#define PC_AT_EMPTY_PATH       0x1000
#define PC_AT_SYMLINK_NOFOLLOW 0x100
#define PC_S_IFMT	       0170000u
#define PC_S_IFDIR	       0040000u
#define PC_S_IFLNK	       0120000u

/* With an empty path and PC_AT_EMPTY_PATH in flags: the object that `dirfd` names, also an O_PATH one. Linux 4.11. */
PC_SYS int pc_sys_statx(int dirfd, const char *path, int flags, unsigned int mask, struct pc_statx *st)
{
	return (int)pc_sys5(__NR_statx, dirfd, pc_ptr(path), flags, (long)mask, pc_ptr(st));
}

#endif
