/*
 * runs WORKSPACE POLICY COUNT [THREADS]: a host of the C interface for memory checkers (docs/checking.md). Runs COUNT commands, and
 * at each tenth says what it holds: the least heap in use since the last line, which is what garbage waits on top of, the
 * descriptors, the resident memory. Everything is freed at the end, so that what is lost then was lost by the library.
 */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <procage.h>

static procage_policy *policy;
static long count, next_run;
static size_t least = SIZE_MAX;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void must(int code, procage_error *const *error)
{
	if (code == PROCAGE_OK)
		return;
	fprintf(stderr, "runs: %s\n", procage_error_text(*error));
	exit(1);
}

static int entries(const char *of)
{
	DIR *directory = opendir(of);
	int found = 0;

	if (!directory)
		return -1;
	while (readdir(directory))
		found++;
	closedir(directory);
	return found - 3; /* ".", ".." and its own */
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long pages = 0;

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		pages = -1;
	if (file)
		fclose(file);
	return pages * 4;
}

/* With the lock. */
static void note(long done)
{
	struct mallinfo2 heap = mallinfo2();
	size_t used = heap.uordblks + heap.hblkhd;

	least = used < least ? used : least;
	if (done % (count / 10 ? count / 10 : 1) != 0)
		return;
	printf("%6ld runs: heap %zu bytes, %d descriptors, resident %ld KiB\n", done, least, entries("/proc/self/fd"),
	       resident_kib());
	fflush(stdout);
	least = SIZE_MAX;
}

/* An input, two streams, a refused write, an ending. */
static void run_one(long number)
{
	static const char line[] = "cat; echo told >&2; (echo lost >/usr/forbidden) 2>&-; exit $N";
	const char *const argv[] = { "/bin/sh", "-c", line, NULL };
	char variable[32];
	const char *const env[] = { variable, NULL };
	struct procage_command command = {
		.size = sizeof(command), .argv = argv, .env = env, .input = "input", .input_size = 5
	};
	procage_outcome *outcome = NULL;
	procage_error *error = NULL;
	char *json = NULL;

	snprintf(variable, sizeof(variable), "N=%d", (int)(number % 100));
	must(procage_run(policy, &command, &outcome, &error), &error);
	must(procage_outcome_json(outcome, &json, &error), &error);
	procage_free(json);
	if (procage_outcome_status(outcome) != number % 100 || strcmp(procage_outcome_stdout(outcome, NULL), "input") != 0) {
		fprintf(stderr, "runs: run %ld: status %d\n", number, procage_outcome_status(outcome));
		exit(1);
	}
	procage_outcome_free(outcome);
	/* One that never starts. */
	command.argv = (const char *const[]) { "/nowhere", NULL };
	if (number % 10 == 0 && procage_run(policy, &command, &outcome, &error) == PROCAGE_OK)
		exit(1);
	if (number % 10 == 0)
		procage_error_free(error);
}

static void *work(void *unused)
{
	for (;;) {
		long number = __atomic_fetch_add(&next_run, 1, __ATOMIC_SEQ_CST);

		if (number >= count)
			return unused;
		run_one(number);
		pthread_mutex_lock(&lock);
		note(number + 1);
		pthread_mutex_unlock(&lock);
	}
}

int main(int argc, char **argv)
{
	struct procage_load load = { .size = sizeof(load) };
	procage_runtime *runtime = NULL;
	procage_error *error = NULL;
	pthread_t threads[64];
	int thread_count, i;

	if (argc < 4) {
		fprintf(stderr, "usage: runs /absolute/workspace POLICY COUNT [THREADS]\n");
		return 2;
	}
	load.workspace = argv[1];
	load.policy = argv[2];
	count = atol(argv[3]);
	thread_count = argc > 4 ? atoi(argv[4]) : 1;
	if (thread_count < 1 || thread_count > 64)
		return 2;
	must(procage_open(NULL, &runtime, &error), &error);
	must(procage_load(runtime, &load, &policy, &error), &error);
	for (i = 1; i < thread_count; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	work(NULL);
	for (i = 1; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	procage_policy_free(policy);
	procage_close(runtime);
	return 0;
}
