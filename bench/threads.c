/*
 * threads WORKSPACE RESIDENT_MIB: a host program in C, of some size, that starts commands from one thread or from many. It
 * reads lines of words with tabs between them, and answers each with one line, "error TEXT" when it could not:
 *
 *     vfork PROGRAM ARGUMENT...         a way to start a command; the answer is its number, from 0
 *     spawn PROGRAM ARGUMENT...         by posix_spawn
 *     policy NAME CONFIG HOST PREPARED  /bin/true under a policy, configuration and host being JSON, empty for the defaults;
 *                                       PREPARED: "prepared", for runs that are started ahead, or empty
 *     time NUMBER THREADS COUNT         starts it COUNT times from each of so many threads; the answer is microseconds a start
 *
 * A command reads and writes /dev/null, under a policy pipes. Its program must end with 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <procage.h>

#define MAX_WAYS    32
#define MAX_WORDS   1024
#define MAX_THREADS 64

extern char **environ;

enum kind { BY_VFORK, BY_SPAWN, BY_POLICY };

struct way {
	enum kind kind;
	char **argv;
	procage_policy *policy;
};

struct job {
	const struct way *way;
	long count;
	pthread_barrier_t *begin;
	const char *problem; /* NULL: all went well */
};

static struct way ways[MAX_WAYS];
static int way_count;
static int null_fd;
static procage_runtime *runtime;
static const char *workspace;

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* ---- The ways -------------------------------------------------------------------------------------------------------------- */

static const char *wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return strerror(errno);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "the command failed";
}

/*
 * Until it executes, the child has this thread's memory: it makes system calls and no more. Linux allows them; POSIX does not.
 * NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork, clang-analyzer-unix.Vfork)
 */
static const char *start_by_vfork(const struct way *way)
{
	pid_t pid = vfork();

	if (pid == 0) {
		if (dup2(null_fd, 0) == 0 && dup2(null_fd, 1) == 1 && dup2(null_fd, 2) == 2)
			execve(way->argv[0], way->argv, environ);
		_exit(127);
	}
	return pid < 0 ? strerror(errno) : wait_for(pid);
}
/* NOLINTEND(clang-analyzer-security.insecureAPI.vfork, clang-analyzer-unix.Vfork) */

static const char *start_by_spawn(const struct way *way)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int fd, rc;

	rc = posix_spawn_file_actions_init(&actions);
	if (rc)
		return strerror(rc);
	for (fd = 0; fd <= 2 && !rc; fd++)
		rc = posix_spawn_file_actions_adddup2(&actions, null_fd, fd);
	if (!rc)
		rc = posix_spawn(&pid, way->argv[0], &actions, NULL, way->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc ? strerror(rc) : wait_for(pid);
}

static const char *start_by_policy(const struct way *way)
{
	static const char *const argv[] = { "/bin/true", NULL };
	const struct procage_command command = { .size = sizeof(command), .argv = argv };
	procage_outcome *outcome = NULL;
	int status;

	if (procage_run(way->policy, &command, &outcome, NULL))
		return "the run was refused";
	status = procage_outcome_status(outcome);
	procage_outcome_free(outcome);
	return status == 0 ? NULL : "the command failed";
}

static void *work(void *arg)
{
	static const char *(*const start[])(const struct way *) = {
		[BY_VFORK] = start_by_vfork,
		[BY_SPAWN] = start_by_spawn,
		[BY_POLICY] = start_by_policy,
	};
	struct job *job = arg;
	long i;

	if (job->begin)
		pthread_barrier_wait(job->begin);
	for (i = 0; i < job->count && !job->problem; i++)
		job->problem = start[job->way->kind](job->way);
	return NULL;
}

/* ---- Orders ---------------------------------------------------------------------------------------------------------------- */

/* From the barrier, so that what threads cost to make is not in it. */
static const char *time_threads(const struct way *way, int threads, long count, long long *took_ns)
{
	struct job jobs[MAX_THREADS];
	pthread_t ids[MAX_THREADS];
	pthread_barrier_t begin;
	const char *problem = NULL;
	long long start;
	int i;

	if (pthread_barrier_init(&begin, NULL, (unsigned int)threads + 1) != 0)
		return "no barrier";
	for (i = 0; i < threads; i++) {
		jobs[i] = (struct job) { .way = way, .count = count, .begin = &begin };
		if (pthread_create(&ids[i], NULL, work, &jobs[i]) != 0) {
			/* Those before it wait for it. */
			puts("error no thread");
			exit(1);
		}
	}
	pthread_barrier_wait(&begin);
	start = now_ns();
	for (i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		problem = problem ? problem : jobs[i].problem;
	}
	*took_ns = now_ns() - start;
	pthread_barrier_destroy(&begin);
	return problem;
}

static void order_time(char **words, int count)
{
	long number = count > 1 ? strtol(words[1], NULL, 10) : -1, threads = count > 2 ? strtol(words[2], NULL, 10) : 0;
	struct job job = { .count = count > 3 ? strtol(words[3], NULL, 10) : 0 };
	long long took_ns = 0, start;

	if (number < 0 || number >= way_count || threads < 1 || threads > MAX_THREADS || job.count < 1) {
		puts("error time: a way, a number of threads and a count are expected");
		return;
	}
	job.way = &ways[number];
	if (threads == 1) {
		start = now_ns();
		work(&job);
		took_ns = now_ns() - start;
	} else {
		job.problem = time_threads(job.way, (int)threads, job.count, &took_ns);
	}
	if (job.problem)
		printf("error %s\n", job.problem);
	else
		printf("%.1f\n", (double)took_ns / 1000.0 / (double)(threads * job.count));
}

static const char *given(char **words, int count, int at)
{
	return count > at && words[at][0] ? words[at] : NULL;
}

static void order_policy(char **words, int count)
{
	struct procage_load load = { .size = sizeof(load), .workspace = workspace };
	struct way *way = &ways[way_count];
	procage_error *error = NULL;

	load.policy = given(words, count, 1);
	load.config_json = given(words, count, 2);
	load.host_json = given(words, count, 3);
	load.is_prepared = given(words, count, 4) != NULL;
	if (procage_load(runtime, &load, &way->policy, &error)) {
		printf("error %s\n", procage_error_text(error));
		procage_error_free(error);
		return;
	}
	way->kind = BY_POLICY;
	printf("%d\n", way_count++);
}

static void order_program(char **words, int count)
{
	struct way *way = &ways[way_count];
	int i;

	way->kind = strcmp(words[0], "vfork") == 0 ? BY_VFORK : BY_SPAWN;
	way->argv = calloc((size_t)count, sizeof(*way->argv));
	for (i = 1; i < count && way->argv; i++) {
		way->argv[i - 1] = strdup(words[i]);
		if (!way->argv[i - 1])
			way->argv = NULL;
	}
	if (count < 2 || !way->argv)
		puts("error a program is expected");
	else
		printf("%d\n", way_count++);
}

static void obey(char *line)
{
	char *words[MAX_WORDS];
	int count = 0;

	while (line && count < MAX_WORDS)
		words[count++] = strsep(&line, "\t\n");
	/* What follows the end of the line. */
	count--;
	if (count < 1 || count == MAX_WORDS - 1)
		puts("error no words, or too many");
	else if (strcmp(words[0], "time") == 0)
		order_time(words, count);
	else if (way_count == MAX_WAYS)
		puts("error too many ways");
	else if (strcmp(words[0], "policy") == 0)
		order_policy(words, count);
	else if (strcmp(words[0], "vfork") == 0 || strcmp(words[0], "spawn") == 0)
		order_program(words, count);
	else
		printf("error unknown order %s\n", words[0]);
}

/* Memory that is really there, as of a program that has worked for a while. */
static int grow(size_t mib)
{
	char *bytes;

	if (mib == 0)
		return 0;
	bytes = malloc(mib << 20);
	if (!bytes)
		return -1;
	memset(bytes, 1, mib << 20);
	/* A compiler may leave out what nobody reads. */
	__asm__ volatile("" : : "r"(bytes) : "memory");
	return 0;
}

int main(int argc, char **argv)
{
	procage_error *error = NULL;
	char *line = NULL;
	size_t room = 0;

	if (argc != 3 || grow(strtoul(argv[2], NULL, 10)) < 0) {
		fputs("usage: threads WORKSPACE RESIDENT_MIB\n", stderr);
		return 2;
	}
	workspace = argv[1];
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd < 0 || procage_open(NULL, &runtime, &error)) {
		fprintf(stderr, "threads: %s\n", error ? procage_error_text(error) : "/dev/null cannot be opened");
		return 1;
	}
	while (getline(&line, &room, stdin) > 0) {
		obey(line);
		fflush(stdout);
	}
	free(line);
	return 0;
}
