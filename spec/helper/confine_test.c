/*
 * The backstop of a process with threads: all of them or none. Each case in a process of its own; the control first, that the
 * same write works before.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/platform.h"

static char inside[PATH_MAX], outside[PATH_MAX];
static unsigned int failures;

static bool can_write(const char *directory)
{
	char name[PATH_MAX + 8];
	int fd;

	snprintf(name, sizeof(name), "%s/file", directory);
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	close(fd);
	return unlink(name) == 0;
}

struct sibling {
	pthread_barrier_t before, after;
	bool could, can;
};

static void *sibling_main(void *arg)
{
	struct sibling *sibling = arg;

	sibling->could = can_write(outside);
	pthread_barrier_wait(&sibling->before);
	pthread_barrier_wait(&sibling->after);
	sibling->can = can_write(outside);
	return NULL;
}

/* With a second thread: refused by count and unchanged before ABI 8, all confined from there on. */
static int two_threads(void)
{
	const char *trees[] = { inside, NULL };
	struct pc_confine_failure failure;
	struct sibling sibling = { .could = false };
	pthread_t thread;
	int abi, rc;

	abi = pc_landlock_abi();
	pthread_barrier_init(&sibling.before, NULL, 2);
	pthread_barrier_init(&sibling.after, NULL, 2);
	if (pthread_create(&thread, NULL, sibling_main, &sibling))
		return 1;
	pthread_barrier_wait(&sibling.before);
	rc = pc_confine_process(trees, &failure);
	pthread_barrier_wait(&sibling.after);
	pthread_join(thread, NULL);
	if (!sibling.could)
		return 2;
	if (abi >= 8)
		return rc == 0 && !sibling.can && !can_write(outside) && can_write(inside) ? 0 : 3;
	return rc == -EBUSY && failure.threads == 2 && sibling.can && can_write(outside) ? 0 : 4;
}

/* A thread that has ended does not count. */
static int one_thread_again(void)
{
	const char *trees[] = { inside, NULL };
	struct pc_confine_failure failure;
	struct sibling sibling = { .could = false };
	pthread_t thread;
	int tries, rc = 0;

	pthread_barrier_init(&sibling.before, NULL, 1);
	pthread_barrier_init(&sibling.after, NULL, 1);
	if (pthread_create(&thread, NULL, sibling_main, &sibling))
		return 1;
	pthread_join(thread, NULL);
	if (!sibling.can)
		return 2;
	/* A thread that was joined may still stand in /proc for a moment. */
	for (tries = 0; tries < 100; tries++) {
		rc = pc_confine_process(trees, &failure);
		if (rc != -EBUSY)
			break;
		usleep(10000);
	}
	if (rc != 0)
		return 3;
	return !can_write(outside) && can_write(inside) ? 0 : 4;
}

/* No rule for a tree: nothing is in force. */
static int missing_tree(void)
{
	const char *trees[] = { inside, "/no/such/tree", NULL };
	struct pc_confine_failure failure;

	if (pc_confine_process(trees, &failure) != -ENOENT || failure.path != trees[1])
		return 1;
	return can_write(outside) ? 0 : 2;
}

/* A link where a resolved tree was. */
static int linked_tree(void)
{
	char link[PATH_MAX + 8];
	const char *trees[] = { link, NULL };
	struct pc_confine_failure failure;
	int rc;

	snprintf(link, sizeof(link), "%s/link", inside);
	if (symlink(outside, link) < 0)
		return 1;
	rc = pc_confine_process(trees, &failure);
	unlink(link);
	return rc == -ELOOP && can_write(outside) ? 0 : 2;
}

static void check(const char *name, int (*run)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(run());
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		failures++;
		printf("# wait status %#x\n", (unsigned int)status);
	}
	printf("%sok - %s\n", status ? "not " : "", name);
}

int main(void)
{
	char top[] = "/tmp/procage-confine-XXXXXX";

	if (pc_landlock_abi() < 0) {
		printf("# no Landlock here\n");
		return 77;
	}
	if (!mkdtemp(top))
		return 1;
	snprintf(inside, sizeof(inside), "%s/in", top);
	snprintf(outside, sizeof(outside), "%s/out", top);
	if (mkdir(inside, 0700) < 0 || mkdir(outside, 0700) < 0)
		return 1;
	check("two threads are confined together or not at all", two_threads);
	check("a process of one thread again is confined", one_thread_again);
	check("a tree that is not there leaves the process as it was", missing_tree);
	check("a link in a tree's place leaves the process as it was", linked_tree);
	pc_remove_tree(top);
	return failures ? 1 : 0;
}
