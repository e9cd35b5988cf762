/* User and network namespaces from the inside: identity maps and the loopback interface. */
#include "../platform.h"
#include "sys.h"

#include <linux/if.h>
#include <linux/in.h>
#include <linux/sockios.h>
#include <asm/errno.h>
#include <asm/fcntl.h>

/* <sys/socket.h> is libc's; these two are the kernel's ABI. */
#define SOCK_DGRAM_NR	 2
#define SOCK_CLOEXEC_BIT 02000000

#define AT_CWD	       (-100)
#define MNT_DETACH_BIT 2

int pc_ns_unshare(uint64_t flags)
{
	return (int)pc_sys1(__NR_unshare, (long)flags);
}

static int write_file(const char *path, const char *text, size_t size)
{
	long rc;
	int fd;

	fd = pc_sys_openat(AT_CWD, path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	rc = pc_sys_write(fd, text, size);
	pc_sys_close(fd);
	if (rc < 0)
		return (int)rc;
	return (size_t)rc == size ? 0 : -5 /* EIO: the kernel takes a map whole or not at all */;
}

static size_t append_number(char *out, uint32_t value)
{
	char digits[10];
	size_t n = 0, size = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (n)
		out[size++] = digits[--n];
	return size;
}

/* "ID ID 1\n" */
static int write_map(const char *path, uint32_t id)
{
	char line[32];
	size_t size;

	size = append_number(line, id);
	line[size++] = ' ';
	size += append_number(line + size, id);
	line[size++] = ' ';
	line[size++] = '1';
	line[size++] = '\n';
	return write_file(path, line, size);
}

int pc_ns_map_ids(uint32_t uid, uint32_t gid)
{
	int rc;

	rc = write_file("/proc/self/setgroups", "deny", 4);
	if (rc < 0)
		return rc;
	rc = write_map("/proc/self/uid_map", uid);
	if (rc < 0)
		return rc;
	return write_map("/proc/self/gid_map", gid);
}

int pc_net_lo_up(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	long rc;
	int fd;

	fd = (int)pc_sys3(__NR_socket, 2 /* AF_INET */, SOCK_DGRAM_NR | SOCK_CLOEXEC_BIT, 0);
	if (fd < 0)
		return fd;
	request.ifr_flags = IFF_UP;
	rc = pc_sys3(__NR_ioctl, fd, SIOCSIFFLAGS, pc_ptr(&request));
	pc_sys_close(fd);
	if (rc < 0)
		return (int)rc;
	/* Nobody else's ports are in here, so a test server may have port 80. Not having it is no reason to stop. */
	write_file("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0", 1);
	return 0;
}

int pc_ns_network(struct pc_join *join)
{
	struct pc_statx st;
	int rc;

	rc = pc_sys_statx(AT_CWD, "/proc/self/ns/net", 0, PC_STATX_BASIC, &st);
	if (rc < 0)
		return rc;
	join->net_major = st.dev_major;
	join->net_minor = st.dev_minor;
	join->net_ino = st.ino;
	return 0;
}

int pc_ns_join(const struct pc_join *join)
{
	struct pc_join now = { 0 };
	int rc;

	rc = (int)pc_sys2(__NR_setns, join->pidfd, (long)join->namespaces);
	if (rc == 0)
		rc = pc_ns_network(&now);
	if (rc < 0)
		return rc;
	if (now.net_major != join->net_major || now.net_minor != join->net_minor || now.net_ino != join->net_ino)
		return -ESTALE;
	return 0;
}

/*
 * Over /proc, which is there: ids are mapped by it. The old root comes to lie over the new one, and is taken off. Where the root
 * cannot be turned away (the kernel's first file system) nothing is kept but by its name, which nobody here asks for.
 * Source: pivot_root(2), "pivot_root(".", ".")".
 */
int pc_ns_leave_mounts(void)
{
	long rc;

	rc = pc_mount_private();
	if (rc == 0)
		rc = pc_mount_tmpfs("/proc", "mode=0555,size=4k,nr_inodes=1");
	if (rc == 0)
		rc = pc_sys1(__NR_chdir, pc_ptr("/proc"));
	if (rc < 0)
		return (int)rc;
	rc = pc_sys2(__NR_pivot_root, pc_ptr("."), pc_ptr("."));
	if (rc == -EINVAL)
		return (int)pc_sys1(__NR_chroot, pc_ptr("."));
	if (rc == 0)
		rc = pc_sys2(__NR_umount2, pc_ptr("."), MNT_DETACH_BIT);
	return (int)rc;
}
