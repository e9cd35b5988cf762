/* What a process sheds before it runs a stranger's program: capabilities, session, signals, descriptors. Raw calls only. */
#include "../platform.h"
#include "sys.h"

#include <asm/fcntl.h>
#include <linux/resource.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/securebits.h>

#define E_PERM	     1
#define E_NOENT	     2
#define E_NXIO	     6
#define E_INVAL	     22
#define E_NOSYS	     38
#define SIGNAL_COUNT 64

/* The ids above the kernel's last one answer EINVAL. */
static int drop_bounding_set(void)
{
	unsigned int cap;
	int rc;

	for (cap = 0; cap < 64; cap++) {
		rc = pc_sys_prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
		if (rc == -E_INVAL)
			return 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

int pc_drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	bool may_set;
	int rc;

	rc = (int)pc_sys2(__NR_capget, pc_ptr(&header), pc_ptr(sets));
	if (rc < 0)
		return rc;
	may_set = sets[0].effective & (1u << CAP_SETPCAP);

	/*
	 * Who lacks CAP_SETPCAP can change neither securebits nor the bounding set. It does not matter to him: no_new_privs
	 * keeps exec from adding to the permitted set, which is emptied below and read back. SECBIT_KEEP_CAPS is not locked: there is
	 * nothing to keep, and programs that set it whatever they do would fail (setpriv, ping).
	 */
	if (may_set) {
		rc = pc_sys_prctl(PR_SET_SECUREBITS,
				  SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
					  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
					  SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
				  0, 0, 0);
		if (rc < 0)
			return rc;
		rc = drop_bounding_set();
		if (rc < 0)
			return rc;
	}
	rc = pc_sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (rc < 0 && rc != -E_INVAL)
		return rc;

	sets[0] = sets[1] = (struct __user_cap_data_struct) { 0 };
	rc = (int)pc_sys2(__NR_capset, pc_ptr(&header), pc_ptr(sets));
	if (rc < 0)
		return rc;
	rc = (int)pc_sys2(__NR_capget, pc_ptr(&header), pc_ptr(sets));
	if (rc < 0)
		return rc;
	if (sets[0].effective | sets[1].effective | sets[0].permitted | sets[1].permitted | sets[0].inheritable |
	    sets[1].inheritable)
		return -E_PERM;
	return 0;
}

int pc_no_new_privs(void)
{
	return pc_sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int pc_new_session(void)
{
	long rc = pc_sys0(__NR_setsid);

	return rc < 0 ? (int)rc : 0;
}

#define TIOCNOTTY_NR 0x5422

int pc_leave_session(void)
{
	long rc = pc_sys0(__NR_setsid);
	int tty;

	if (rc != -E_PERM)
		return rc < 0 ? (int)rc : 0;
	/* A group's leader can make no session. */
	if (pc_sys1(__NR_getsid, 0) == pc_sys0(__NR_getpid))
		return 0;
	tty = pc_sys_openat(-100, "/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC, 0);
	if (tty == -E_NXIO || tty == -E_NOENT)
		return 0; /* no controlling terminal, or no way to it */
	if (tty < 0)
		return tty;
	rc = pc_sys3(__NR_ioctl, tty, TIOCNOTTY_NR, 0);
	pc_sys_close(tty);
	return (int)rc;
}

int pc_reset_signals(void)
{
	/* struct kernel_sigaction: handler, flags, restorer (x86 only), mask. All zero is SIG_DFL. */
	static const uint64_t fresh[4];
	static const uint64_t none;
	int signal;

	/* SIGKILL and SIGSTOP answer EINVAL; the rest cannot fail. */
	for (signal = 1; signal <= SIGNAL_COUNT; signal++)
		pc_sys4(__NR_rt_sigaction, signal, pc_ptr(fresh), 0, sizeof(none));
	return (int)pc_sys4(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, pc_ptr(&none), 0, sizeof(none));
}

struct dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static int parse_number(const char *text, unsigned int *value)
{
	unsigned int n = 0;

	if (!*text)
		return -E_INVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -E_INVAL;
		n = n * 10 + (unsigned int)(*text - '0');
	}
	*value = n;
	return 0;
}

/*
 * Before Linux 5.9. A listing may skip entries while they are being closed, so it is read again until it shows none; a table
 * that cannot be listed is an error, never a guess at the highest number.
 */
static int close_listed(unsigned int first)
{
	char buffer[1024] __attribute__((aligned(8)));
	bool closed_any = true;
	long size, at;
	int dir;

	dir = pc_sys_openat(-100, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (dir < 0)
		return dir;
	while (closed_any) {
		closed_any = false;
		pc_sys3(__NR_lseek, dir, 0, 0);
		while ((size = pc_sys3(__NR_getdents64, dir, pc_ptr(buffer), sizeof(buffer))) > 0) {
			for (at = 0; at < size;) {
				const struct dirent64 *entry = (const void *)(buffer + at);
				unsigned int fd;

				at += entry->reclen;
				if (parse_number(entry->name, &fd) < 0 || fd < first || fd == (unsigned int)dir)
					continue;
				pc_sys_close((int)fd);
				closed_any = true;
			}
		}
		if (size < 0)
			return (int)size;
	}
	return pc_sys_close(dir);
}

int pc_close_from(unsigned int first)
{
	int rc = (int)pc_sys3(__NR_close_range, (long)first, (long)~0u, 0);

	return rc == -E_NOSYS ? close_listed(first) : rc;
}

int pc_set_rlimit(uint32_t resource, uint64_t value)
{
	struct rlimit64 limit;
	long rc;

	rc = pc_sys4(__NR_prlimit64, 0, (long)resource, 0, pc_ptr(&limit));
	if (rc < 0)
		return (int)rc;
	if (value > limit.rlim_max)
		value = limit.rlim_max;
	limit.rlim_cur = value;
	/* At the upper limit of processor time there is SIGKILL, which names none: a second earlier SIGXCPU says what it was. */
	if (resource == RLIMIT_CPU && value < limit.rlim_max)
		value++;
	limit.rlim_max = value;
	return (int)pc_sys4(__NR_prlimit64, 0, (long)resource, pc_ptr(&limit), 0);
}
