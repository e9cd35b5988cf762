/* Attacks by terminals, keys, and System V and POSIX IPC. */
#include "attack.h"

#include "../uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

/* type PATH TEXT: as if it had been typed there (TIOCSTI) */
static int type(const char *const *words)
{
	const char *c;
	int fd;

	setsid();
	fd = open(words[0], O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ioctl(fd, TIOCSCTTY, 0);
	for (c = words[1]; *c; c++)
		if (ioctl(fd, TIOCSTI, c) < 0)
			return -errno;
	return 0;
}

static long keyctl(int operation, long a, long b, long c, long d)
{
	return syscall(SYS_keyctl, operation, a, b, c, d);
}

/* key_read SERIAL */
static int read_key(const char *const *words)
{
	char data[PC_ATTACK_MAX_READ];
	long size = keyctl(11 /* KEYCTL_READ */, strtol(words[0], NULL, 10), (long)data, sizeof(data), 0);

	return size < 0 ? -errno : pc_attack_tell(data, (size_t)size);
}

/* key_search NAME: among the user's keys, then read */
static int search_key(const char *const *words)
{
	long serial = keyctl(10 /* KEYCTL_SEARCH */, -4 /* KEY_SPEC_USER_KEYRING */, (long)"user", (long)words[0], 0);
	char text[32];
	const char *found[] = { text };

	if (serial < 0)
		return -errno;
	snprintf(text, sizeof(text), "%ld", serial);
	return read_key(found);
}

/* key_update SERIAL TEXT */
static int update_key(const char *const *words)
{
	return pc_attack_result(
		keyctl(2 /* KEYCTL_UPDATE */, strtol(words[0], NULL, 10), (long)words[1], (long)strlen(words[1]), 0));
}

/* shm_read ID */
static int read_shared(const char *const *words)
{
	const char *data = shmat((int)strtol(words[0], NULL, 10), NULL, SHM_RDONLY);

	if (data == (const char *)-1)
		return -errno;
	return pc_attack_tell(data, 64);
}

/* shm_write ID TEXT */
static int write_shared(const char *const *words)
{
	char *data = shmat((int)strtol(words[0], NULL, 10), NULL, 0);

	if (data == (char *)-1)
		return -errno;
	memcpy(data, words[1], strnlen(words[1], 63) + 1);
	return 0;
}

/* msg_send ID TEXT */
static int send_message(const char *const *words)
{
	struct {
		long type;
		char text[64];
	} message = { .type = 1 };
	size_t size = strnlen(words[1], sizeof(message.text));

	memcpy(message.text, words[1], size);
	return pc_attack_result(msgsnd((int)strtol(words[0], NULL, 10), &message, size, IPC_NOWAIT));
}

/* sem_set ID NUMBER */
static int set_semaphore(const char *const *words)
{
	union {
		int value;
		void *unused;
	} value = { .value = (int)strtol(words[1], NULL, 10) };

	return pc_attack_result(semctl((int)strtol(words[0], NULL, 10), 0, SETVAL, value));
}

/* mq_send NAME TEXT: a POSIX message queue */
static int send_to_queue(const char *const *words)
{
	mqd_t queue = mq_open(words[0], O_WRONLY | O_NONBLOCK);

	if (queue == (mqd_t)-1)
		return -errno;
	return pc_attack_result(mq_send(queue, words[1], strlen(words[1]), 0));
}

const struct pc_attack pc_attacks_on_rest[] = {
	{ "type", type, false },
	{ "key_read", read_key, false },
	{ "key_search", search_key, false },
	{ "key_update", update_key, false },
	{ "shm_read", read_shared, false },
	{ "shm_write", write_shared, false },
	{ "msg_send", send_message, false },
	{ "sem_set", set_semaphore, false },
	{ "mq_send", send_to_queue, false },
	{ NULL, NULL, false },
};
