/*
 * Calls refused by number alone. Each row says since when, what the call would open, and what legitimate program notices.
 *
 * Numbers are given for calls that libseccomp 2.5 may not know by name; they are the same on x86_64 and aarch64. A name that
 * an architecture never had (iopl on aarch64) is left out there.
 *
 * Not here on purpose: ptrace, process_vm_readv, pidfd_getfd and kcmp (strace, gdb and LeakSanitizer work, and Landlock or the
 * PID namespace bounds their reach), landlock_* and seccomp (a sandbox inside the sandbox only takes
 * away, and from what a broker does in its place it takes nothing), the chmod, chown,
 * xattr and utime families (a filter cannot see the path; the mount tree bounds them), clock_adjtime and adjtimex (reading the
 * clock's state is ordinary, setting needs a capability nobody has), statmount and listmount (they tell what /proc tells).
 */
#include "../platform.h"

#include <errno.h>

static const struct pc_refused_call calls[] = {
	/* Mounts. The capability is gone too; these rows also keep a user namespace made by other means from mounting. */
	{ "mount", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "changes what a path means", "mount, FUSE helpers" },
	{ "umount2", -1, EPERM, PC_REFUSE_ALWAYS, "2.2", "uncovers what a mask hides", "umount, fusermount" },
	{ "pivot_root", -1, EPERM, PC_REFUSE_ALWAYS, "2.4", "leaves the mount tree of the run", "container runtimes" },
	{ "chroot", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "changes what a path means; passes every Landlock domain",
	  "chroot, debootstrap, package builders" },
	{ "open_tree", 428, EPERM, PC_REFUSE_ALWAYS, "5.2", "clones a mount without what covers it", "new mount tools" },
	{ "move_mount", 429, EPERM, PC_REFUSE_ALWAYS, "5.2", "mount(2) by another name", "new mount tools" },
	{ "fsopen", 430, EPERM, PC_REFUSE_ALWAYS, "5.2", "opens file system code to untrusted options", "new mount tools" },
	{ "fsconfig", 431, EPERM, PC_REFUSE_ALWAYS, "5.2", "opens file system code to untrusted options", "new mount tools" },
	{ "fsmount", 432, EPERM, PC_REFUSE_ALWAYS, "5.2", "mount(2) by another name", "new mount tools" },
	{ "fspick", 433, EPERM, PC_REFUSE_ALWAYS, "5.2", "reconfigures a mounted file system", "new mount tools" },
	{ "mount_setattr", 442, EPERM, PC_REFUSE_ALWAYS, "5.12", "clears read-only on a mount, past Landlock",
	  "new mount tools" },
	{ "open_tree_attr", 467, EPERM, PC_REFUSE_ALWAYS, "6.15", "open_tree and mount_setattr in one", "new mount tools" },

	/* Namespaces. clone and unshare keep their other uses: seccomp.c compares their flags. */
	{ "setns", -1, EPERM, PC_REFUSE_ALWAYS, "3.0", "enters the namespaces of another process", "nsenter, ip netns" },
	{ "clone3", 435, ENOSYS, PC_REFUSE_ALWAYS, "5.3",
	  "its namespace flags lie behind a pointer; ENOSYS makes every C library fall back to clone",
	  "a program that needs CLONE_INTO_CGROUP or set_tid (CRIU)" },

	/* Calls that do what other calls do, where no filter sees them. ENOSYS: programs fall back to the ordinary calls. */
	{ "io_uring_setup", 425, ENOSYS, PC_REFUSE_ALWAYS, "5.1", "opens, connects and sends past every filter",
	  "libuv, databases and proxies that prefer it; they fall back" },
	{ "io_uring_enter", 426, ENOSYS, PC_REFUSE_ALWAYS, "5.1", "runs an inherited ring", "as io_uring_setup" },
	{ "io_uring_register", 427, ENOSYS, PC_REFUSE_ALWAYS, "5.1", "changes an inherited ring", "as io_uring_setup" },
	{ "openat2", 437, ENOSYS, PC_REFUSE_ALWAYS, "5.6",
	  "its mode lies behind a pointer: a set-user-ID file could be made; who uses it has an answer to older kernels",
	  "container runtimes, systemd, cap-std, tar: they walk the path themselves" },
	{ "file_setattr", 469, ENOSYS, PC_REFUSE_ALWAYS, "6.17",
	  "FS_IOC_FSSETXATTR, which the list of ioctls leaves out, by another name: it changes the user's files outside",
	  "chattr and xfs_io of the newest kind" },
	{ "open_by_handle_at", -1, EPERM, PC_REFUSE_ALWAYS, "2.6.39", "opens an inode without any path", "backup tools, nfsd" },
	{ "fanotify_init", -1, EPERM, PC_REFUSE_ALWAYS, "2.6.37", "reports and holds up file access of the whole system",
	  "virus scanners, fatrace" },

	/* Kernel code that is large, rarely needed, and often where a way out was found. */
	{ "bpf", -1, EPERM, PC_REFUSE_ALWAYS, "3.18", "loads programs into the kernel", "bpftrace, bcc, systemd" },
	{ "perf_event_open", -1, EPERM, PC_REFUSE_ALWAYS, "2.6.31", "observes other processes and the kernel",
	  "perf, and profilers built on it" },
	{ "userfaultfd", -1, EPERM, PC_REFUSE_ALWAYS, "4.3", "holds the kernel inside a copy from user memory",
	  "QEMU post-copy migration, CRIU" },
	{ "lookup_dcookie", -1, EPERM, PC_REFUSE_ALWAYS, "2.5.43", "turns cookies into paths of the whole system", "oprofile" },
	{ "nfsservctl", -1, EPERM, PC_REFUSE_ALWAYS, "2.2", "steers the kernel's NFS server (gone since 3.1)",
	  "old nfs-utils" },

	/* Keyrings belong to the user and no namespace; a key is reached by its serial number. */
	{ "add_key", -1, EPERM, PC_REFUSE_ALWAYS, "2.6.10", "plants a key for programs outside", "keyutils, Kerberos caches" },
	{ "request_key", -1, EPERM, PC_REFUSE_ALWAYS, "2.6.10", "starts the kernel's helper program outside the run",
	  "keyutils, Kerberos caches" },
	{ "keyctl", -1, EPERM, PC_REFUSE_ALWAYS, "2.6.10", "reads the user's keys by serial number",
	  "keyutils, fscrypt, Kerberos caches" },

	/* The machine. Each needs a capability as well, which nobody in the run has: a second lock on the same door. */
	{ "reboot", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "stops the machine", "shutdown, reboot" },
	{ "kexec_load", -1, EPERM, PC_REFUSE_ALWAYS, "2.6.13", "replaces the kernel", "kexec" },
	{ "kexec_file_load", -1, EPERM, PC_REFUSE_ALWAYS, "3.17", "replaces the kernel", "kexec" },
	{ "init_module", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "loads kernel code", "insmod, modprobe" },
	{ "finit_module", -1, EPERM, PC_REFUSE_ALWAYS, "3.8", "loads kernel code", "insmod, modprobe" },
	{ "delete_module", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "removes kernel code", "rmmod" },
	{ "swapon", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "writes memory to a file; passes every Landlock domain", "swapon" },
	{ "swapoff", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "exhausts memory", "swapoff" },
	{ "acct", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "writes a log of every process", "accton" },
	{ "quotactl", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "changes disk quotas; passes every Landlock domain",
	  "quota (also to read one's own)" },
	{ "quotactl_fd", 443, EPERM, PC_REFUSE_ALWAYS, "5.14", "changes disk quotas; passes every Landlock domain",
	  "quota (also to read one's own)" },
	{ "settimeofday", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "sets the clock", "date -s" },
	{ "clock_settime", -1, EPERM, PC_REFUSE_ALWAYS, "2.6", "sets the clock", "date -s, time daemons" },
	{ "sethostname", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "renames the machine", "hostname NAME" },
	{ "setdomainname", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "renames the machine", "domainname NAME" },
	{ "iopl", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "drives hardware ports", "old X servers" },
	{ "ioperm", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "drives hardware ports", "hwclock on old machines" },
	{ "syslog", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "reads and clears the kernel's log", "dmesg" },
	{ "vhangup", -1, EPERM, PC_REFUSE_ALWAYS, "1.0", "hangs up a shared terminal", "getty, login" },

	/* ENOSYS is what a kernel without CONFIG_SYSVIPC answers. */
	{ "shmget", -1, ENOSYS, PC_REFUSE_SYSV, "1.0", "shared memory with processes outside, under the user's number",
	  "PostgreSQL, X11 MIT-SHM (falls back), fakeroot" },
	{ "shmat", -1, ENOSYS, PC_REFUSE_SYSV, "1.0", "as shmget; a segment's number can be guessed", "as shmget" },
	{ "shmctl", -1, ENOSYS, PC_REFUSE_SYSV, "1.0", "removes segments of processes outside", "ipcs, ipcrm" },
	{ "shmdt", -1, ENOSYS, PC_REFUSE_SYSV, "1.0", "nothing; kept with its family, so that a probe sees none of it",
	  "as shmget" },
	{ "msgget", -1, ENOSYS, PC_REFUSE_SYSV, "1.0", "message queues with processes outside",
	  "fakeroot (sysv), old daemons" },
	{ "msgsnd", -1, ENOSYS, PC_REFUSE_SYSV, "1.0", "writes to a queue outside", "as msgget" },
	{ "msgrcv", -1, ENOSYS, PC_REFUSE_SYSV, "1.0", "takes messages meant for others", "as msgget" },
	{ "msgctl", -1, ENOSYS, PC_REFUSE_SYSV, "1.0", "removes queues of processes outside", "ipcs, ipcrm" },
	{ "semget", -1, ENOSYS, PC_REFUSE_SYSV, "1.0", "semaphores with processes outside",
	  "PostgreSQL, PHP's sem_get, fakeroot" },
	{ "semop", -1, ENOSYS, PC_REFUSE_SYSV, "1.0", "blocks processes outside", "as semget" },
	{ "semctl", -1, ENOSYS, PC_REFUSE_SYSV, "1.0", "removes semaphores of processes outside", "ipcs, ipcrm" },
	{ "semtimedop", -1, ENOSYS, PC_REFUSE_SYSV, "2.5.52", "blocks processes outside", "as semget" },

	/* POSIX queues have names and an owner like files, but no path that a rule of Landlock's could hold: mq_unlink asks none. */
	{ "mq_open", -1, ENOSYS, PC_REFUSE_SYSV, "2.6.6", "opens and makes queues of programs outside", "real-time programs" },
	{ "mq_unlink", -1, ENOSYS, PC_REFUSE_SYSV, "2.6.6", "removes queues of programs outside", "as mq_open" },

	{ "listen", -1, EACCES, PC_REFUSE_LISTEN, "1.0",
	  "listen without bind takes a port of the kernel's choice; Landlock's TCP rules see bind alone",
	  "every server, also on AF_UNIX: tmux, gpg-agent, node's IPC, multiprocessing managers" },

	{ NULL, -1, 0, 0, NULL, NULL, NULL },
};

const struct pc_refused_call *pc_refused_calls(void)
{
	return calls;
}
