/*
 * What doctor tries from inside a run: each a few system calls, on things that doctor has made. And what the tests of a policy try
 * (tries.c), on what an operator names.
 *
 * An attack gets its words and returns 0 or -errno. What it has read it tells; whether it came through is judged by who started
 * it, from outside. It runs in a process of its own, so it may change what it likes of that, and leave descriptors open: but for
 * those that are light, of which there are hundreds, and which do neither.
 */
#ifndef PROCAGE_LINUX_ATTACK_H
#define PROCAGE_LINUX_ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define PC_ATTACK_WORDS	   6
#define PC_ATTACK_MAX_READ 256

struct pc_attack {
	const char *name;
	int (*run)(const char *const *words); /* PC_ATTACK_WORDS of them, empty ones at the end */
	bool is_light;
};

/* Each ended by a row without a name. */
extern const struct pc_attack pc_attacks_on_files[], pc_attacks_on_mounts[], pc_attacks_on_network[], pc_attacks_on_processes[],
	pc_attacks_on_rest[], pc_tries[];

/* 0, or -errno of the call just made. */
int pc_attack_result(long rc);

/* Reads from a descriptor and tells what it found. */
int pc_attack_tell_fd(int fd);
int pc_attack_tell(const char *data, size_t size);

/* Opens, reads and tells; opens with `flags` and writes `text`. */
int pc_attack_read(const char *path);
int pc_attack_write(const char *path, int flags, const char *text);

/*
 * The address of a Unix socket: a path, of any length, or a name after "@". A path longer than an address can be starts at
 * `directory`, a descriptor to keep while the address is used; else that is -1.
 */
struct sockaddr_un;
socklen_t pc_attack_unix_address(const char *name, struct sockaddr_un *address, int *directory);

/* A user namespace with the caller's ids mapped in it, and others with it (CLONE_NEW*). */
int pc_attack_unshare(unsigned long flags);

/* One io_uring, for one operation at a time. */
struct pc_attack_ring {
	int fd;
	unsigned char *submissions, *completions;
	void *entries;
	uint32_t sq_tail, sq_array, cq_head, cq_entries; /* offsets */
};

struct io_uring_sqe;

int pc_attack_ring_open(struct pc_attack_ring *ring);
/* The result of an operation, or -errno. */
int pc_attack_ring_do(struct pc_attack_ring *ring, const struct io_uring_sqe *operation);

#endif
