/*
 * runs WORKSPACE POLICY COUNT [THREADS [WORD]]: a host of the C interface for memory checkers (docs/checking.md). Runs COUNT
 * commands of every kind of ending, and at each tenth says what it holds: the least heap in use since the last line, which is what
 * garbage waits on top of, the descriptors, the resident memory. Everything is freed at the end, so that what is lost then was lost
 * by the library.
 *
 * WORD: "prepared", runs are started ahead; "lose" and "race", the host does what a checker has to find.
 *
 * Exit status 1 when a run ended otherwise than it should, or something has grown or was left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <procage.h>

/* What the heap may hold more at the end than after a fifth: tables of Lua's that doubled. Of few runs it says nothing. */
#define SLACK_BYTES ((size_t)256 << 10)
#define FEW	    2000

static procage_policy *policy;
static long count, next_run;
static bool loses, races;
static long unguarded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void must(int code, procage_error *const *error)
{
	if (code == PROCAGE_OK)
		return;
	fprintf(stderr, "runs: %s\n", procage_error_text(*error));
	exit(1);
}

/* ---- What is held -------------------------------------------------------------------------------------------------------- */

static size_t least = SIZE_MAX, least_early = SIZE_MAX, least_last;

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
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* With the lock. A checker that has a heap of its own shows none here. */
static void note(long done)
{
	long tenth = count / 10 ? count / 10 : 1;
	struct mallinfo2 heap = mallinfo2();
	size_t used = heap.uordblks + heap.hblkhd;

	least = used < least ? used : least;
	if (done % tenth != 0)
		return;
	printf("%6ld runs: heap %zu bytes, %d descriptors, resident %ld KiB\n", done, least, entries("/proc/self/fd"),
	       resident_kib());
	fflush(stdout);
	if (done == 2 * tenth)
		least_early = least;
	least_last = least;
	least = SIZE_MAX;
}

/* Returns the exit status. */
static int tell_what_is_left(int descriptors)
{
	int left = entries("/proc/self/fd") - descriptors, failed = 0;

	if (left != 0)
		failed = fprintf(stderr, "runs: %d descriptors are left\n", left);
	if (waitpid(-1, NULL, __WALL | WNOHANG) >= 0 || errno != ECHILD)
		failed = fprintf(stderr, "runs: a child is left\n");
	if (count >= FEW && least_last > least_early + SLACK_BYTES)
		failed = fprintf(stderr, "runs: the heap has grown from %zu to %zu bytes\n", least_early, least_last);
	return failed ? 1 : 0;
}

/* ---- Runs ---------------------------------------------------------------------------------------------------------------- */

struct one {
	long number;
	struct procage_command command;
	const char *words[4];
	char heard[64];
	size_t heard_bytes;
	int told;
};

static void expect(bool is_right, const struct one *one, const procage_outcome *outcome, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "runs: run %ld (%s): %s; status %d, signal %d\n%s%s", one->number, one->words[2], what,
		procage_outcome_status(outcome), procage_outcome_signal(outcome), procage_outcome_stderr(outcome, NULL),
		procage_outcome_events(outcome));
	exit(1);
}

static procage_outcome *run(struct one *one, const char *shell, const char *line)
{
	procage_outcome *outcome = NULL;
	procage_error *error = NULL;

	one->words[0] = shell;
	one->words[1] = "-c";
	one->words[2] = line;
	one->command.size = sizeof(one->command);
	one->command.argv = one->words;
	must(procage_run(policy, &one->command, &outcome, &error), &error);
	return outcome;
}

/* An input, two streams, a refused write, an ending. */
static void end_with_status(struct one *one)
{
	static const char line[] = "cat; echo told >&2; (echo lost >/usr/forbidden) 2>&-; exit $N";
	char variable[32];
	const char *const env[] = { variable, NULL };
	procage_outcome *outcome;
	procage_error *error = NULL;
	char *json = NULL;

	snprintf(variable, sizeof(variable), "N=%d", (int)(one->number % 100));
	one->command.env = env;
	one->command.input = "input";
	one->command.input_size = 5;
	outcome = run(one, "/bin/sh", line);
	must(procage_outcome_json(outcome, &json, &error), &error);
	procage_free(json);
	expect(procage_outcome_status(outcome) == one->number % 100, one, outcome, "status");
	expect(strcmp(procage_outcome_stdout(outcome, NULL), "input") == 0, one, outcome, "output");
	procage_outcome_free(outcome);
}

static int hear(void *context, enum procage_stream stream, const char *bytes, size_t size)
{
	struct one *one = context;

	if (stream != PROCAGE_STDOUT || size >= sizeof(one->heard) - one->heard_bytes)
		return 1;
	memcpy(one->heard + one->heard_bytes, bytes, size);
	one->heard_bytes += size;
	return 0;
}

static void be_heard(struct one *one)
{
	procage_outcome *outcome;

	one->command.on_output = hear;
	one->command.context = one;
	outcome = run(one, "/bin/sh", "echo one; echo two");
	expect(strcmp(one->heard, "one\ntwo\n") == 0, one, outcome, "what was heard");
	expect(strcmp(procage_outcome_stdout(outcome, NULL), "one\ntwo\n") == 0, one, outcome, "output");
	procage_outcome_free(outcome);
}

static int hear_no_more(void *context, enum procage_stream stream, const char *bytes, size_t size)
{
	(void)context, (void)stream, (void)bytes, (void)size;
	return 1;
}

static void be_ended_by_its_hearer(struct one *one)
{
	procage_outcome *outcome;

	one->command.on_output = hear_no_more;
	outcome = run(one, "/bin/sh", "while :; do echo more; done");
	expect(procage_outcome_cancelled(outcome) && procage_outcome_signal(outcome) == 9, one, outcome, "not cancelled");
	procage_outcome_free(outcome);
}

struct canceller {
	procage_cancel *cancel;
	int fd, is_now;
};

static int tell(void *context, enum procage_stream stream, const char *bytes, size_t size)
{
	(void)stream;
	return write(*(const int *)context, bytes, size) == (ssize_t)size ? 0 : 1;
}

static void *cancel_once_it_runs(void *argument)
{
	struct canceller *canceller = argument;
	char byte;

	if (read(canceller->fd, &byte, 1) == 1)
		procage_cancel_request(canceller->cancel, canceller->is_now);
	return NULL;
}

/* By another thread. */
static void be_cancelled(struct one *one)
{
	struct canceller canceller = { .is_now = one->number % 2 != 0 };
	procage_error *error = NULL;
	procage_outcome *outcome;
	pthread_t thread;
	int fds[2];

	must(procage_cancel_new(&canceller.cancel, &error), &error);
	if (pipe2(fds, O_CLOEXEC) < 0)
		exit(1);
	canceller.fd = fds[0];
	if (pthread_create(&thread, NULL, cancel_once_it_runs, &canceller) != 0)
		exit(1);
	one->command.cancel = canceller.cancel;
	one->command.on_output = tell;
	one->command.context = &fds[1];
	outcome = run(one, "/bin/sh", "echo .; exec sleep 25");
	pthread_join(thread, NULL);
	expect(procage_outcome_cancelled(outcome) && procage_outcome_signal(outcome), one, outcome, "not cancelled");
	procage_outcome_free(outcome);
	procage_cancel_free(canceller.cancel);
	close(fds[0]);
	close(fds[1]);
}

static void take_too_long(struct one *one)
{
	procage_outcome *outcome;

	one->command.timeout_ms = 20;
	outcome = run(one, "/bin/sh", "trap '' TERM; while :; do sleep 1; done");
	expect(procage_outcome_timed_out(outcome) && procage_outcome_signal(outcome) == 9, one, outcome, "not ended");
	procage_outcome_free(outcome);
}

static void be_refused(struct one *one)
{
	procage_outcome *outcome = run(one, "/bin/bash", "(: >/dev/tcp/192.0.2.1/80) 2>&-; mkdir /usr/forbidden 2>&-; exit 3");

	expect(procage_outcome_status(outcome) == 3, one, outcome, "status");
	expect(procage_outcome_denials(outcome)[0], one, outcome, "no denial");
	if (!loses)
		procage_outcome_free(outcome);
}

static void flood(struct one *one)
{
	procage_outcome *outcome = run(one, "/bin/sh", "head -c 3000000 /dev/zero; kill -SEGV $$");

	expect(procage_outcome_dropped_bytes(outcome) > 0, one, outcome, "nothing dropped");
	expect(procage_outcome_signal(outcome) == 11, one, outcome, "signal");
	procage_outcome_free(outcome);
}

static void never_start(struct one *one)
{
	const char *const argv[] = { "/nowhere", NULL };
	procage_outcome *outcome = NULL;
	procage_error *error = NULL;

	one->command.size = sizeof(one->command);
	one->command.argv = argv;
	if (procage_run(policy, &one->command, &outcome, &error) == PROCAGE_OK)
		exit(1);
	procage_error_free(error);
}

static void ask(struct one *one)
{
	procage_error *error = NULL;
	char *json = NULL;

	(void)one;
	must(procage_why(policy, "write", "/usr/forbidden", &json, &error), &error);
	procage_free(json);
	if (procage_why(policy, "no such operation", "/usr", &json, &error) == PROCAGE_OK)
		exit(1);
	procage_error_free(error);
}

/* Two of three end as commands do. */
static void run_one(long number)
{
	static void (*const others[])(struct one *) = {
		be_heard, be_ended_by_its_hearer, be_cancelled, take_too_long, be_refused, flood, never_start, ask
	};
	struct one one = { .number = number };

	if (number % 3 != 2)
		end_with_status(&one);
	else
		others[number / 3 % (long)(sizeof(others) / sizeof(others[0]))](&one);
}

static void *work(void *unused)
{
	for (;;) {
		long number = __atomic_fetch_add(&next_run, 1, __ATOMIC_SEQ_CST);

		if (number >= count)
			return unused;
		run_one(number);
		if (races)
			unguarded++;
		pthread_mutex_lock(&lock);
		note(number + 1);
		pthread_mutex_unlock(&lock);
	}
}

static int work_in_threads(int threads)
{
	pthread_t thread[64];
	int i;

	if (threads < 1 || threads > 64)
		return 2;
	for (i = 1; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, NULL) != 0)
			return 1;
	work(NULL);
	for (i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static bool take_word(const char *word, int *is_prepared)
{
	*is_prepared = strcmp(word, "prepared") == 0;
	loses = strcmp(word, "lose") == 0;
	races = strcmp(word, "race") == 0;
	return *is_prepared || loses || races;
}

int main(int argc, char **argv)
{
	struct procage_load load = { .size = sizeof(load),
				     .config_json = "{\"limits\":{\"grace_ms\":20,\"output_bytes\":65536}}" };
	/* Not the host's: a checker is preloaded into that. */
	static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	int descriptors = entries("/proc/self/fd"), rc;
	procage_runtime *runtime = NULL;
	procage_error *error = NULL;

	if (argc < 4 || (argc > 5 && !take_word(argv[5], &load.is_prepared))) {
		fprintf(stderr, "usage: runs /absolute/workspace POLICY COUNT [THREADS [prepared | lose | race]]\n");
		return 2;
	}
	load.workspace = argv[1];
	load.policy = argv[2];
	load.env = env;
	load.home = getenv("HOME");
	count = atol(argv[3]);
	must(procage_open(NULL, &runtime, &error), &error);
	must(procage_load(runtime, &load, &policy, &error), &error);
	rc = work_in_threads(argc > 4 ? atoi(argv[4]) : 1);
	procage_policy_free(policy);
	procage_close(runtime);
	return rc ? rc : tell_what_is_left(descriptors);
}
