/*
 * What the supervisor learns of a process that waits for its answer: by its thread number as the notification gives it.
 *
 * The number may be another process's by the time it is used: whoever acts on what was read asks first whether the notification
 * still stands (SECCOMP_IOCTL_NOTIF_ID_VALID).
 */
#ifndef PROCAGE_LINUX_CALLER_H
#define PROCAGE_LINUX_CALLER_H

#include <stddef.h>
#include <stdint.h>

/* "openat", or "call 470" for one that libseccomp has no name for. */
void pc_call_name(int number, char *name, size_t room);

/* For people to read: the process may be gone, or rename itself. Empty when there is none. */
void pc_caller_name(uint32_t tid, char *name, size_t room);

/* Who waits for an answer, and to what call. */
struct pc_waiting {
	int number;
	uint32_t tid;
};

struct pc_denial;

/* Says in a record who was refused which call. Before he is answered: it costs a look into /proc, which allowed calls spare. */
void pc_caller_describe(const struct pc_waiting *waiting, struct pc_denial *denial);

/* A copy of a descriptor of the caller's; or -errno. Source: pidfd_getfd(2), Linux 5.6. */
int pc_caller_descriptor(uint32_t tid, int fd);

/* An O_PATH descriptor of its working directory; or -errno. */
int pc_caller_directory(uint32_t tid);

/* What mode bits its new files go without; or -errno. Source: proc(5), Umask in /proc/pid/status, Linux 4.7. */
int pc_caller_umask(uint32_t tid);

/* Copies exactly `size` bytes of its memory. 0; or -EFAULT, or -EACCES (not ours to read). Source: process_vm_readv(2). */
int pc_caller_read(uint32_t tid, uint64_t at, void *to, size_t size);

/* Copies a text that ends within `room` bytes. Its length; or -ENAMETOOLONG, or as above. */
int pc_caller_read_text(uint32_t tid, uint64_t at, char *to, size_t room);

#endif
