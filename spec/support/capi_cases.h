/*
 * What the tests of the C interface share: each case is a host of its own, a child of the test program. Linked with libprocage alone:
 * what it does not export cannot be used.
 */
#ifndef CAPI_CASES_H
#define CAPI_CASES_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <procage.h>

#ifdef __SANITIZE_THREAD__
/* A case leaves by _exit(), which would not tell. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "halt_on_error=1";
}
#endif

enum { THREADS = 16, RUNS = 4, CASE_SECONDS = 60 };

/* Where a case says what failed: its standard error may be closed. */
static int told_fd;

#define CHECK(condition) check(condition, #condition, __LINE__)

static inline void check(bool is_right, const char *text, int line)
{
	if (is_right)
		return;
	dprintf(told_fd, "line %d: not so: %s\n", line, text);
	_exit(1);
}

/* The error is looked at after the call that made it, whatever the order of arguments. */
static inline void must(int code, procage_error *const *error, int line)
{
	if (code == PROCAGE_OK)
		return;
	dprintf(told_fd, "line %d: %d: %s\n", line, code, procage_error_text(*error));
	_exit(1);
}

static procage_runtime *runtime;
static procage_policy *policy;

/* The workspace is a directory of the home; beside it nothing may be written. */
static char workspace[256], outside[256];

/* Runs have their successors started ahead. */
static int is_prepared;

/* The environment that commands start from; NULL: this process's. */
static const char *const *load_env;

static inline procage_policy *load(const char *config)
{
	struct procage_load how = {
		.size = sizeof(how), .policy = "speccoder", .config_json = config, .is_prepared = is_prepared
	};
	procage_policy *made = NULL;
	procage_error *error = NULL;

	how.workspace = workspace;
	how.home = getenv("HOME");
	how.env = load_env;
	must(procage_load(runtime, &how, &made, &error), &error, __LINE__);
	return made;
}

static inline void set_up(void)
{
	procage_error *error = NULL;

	must(procage_open(NULL, &runtime, &error), &error, __LINE__);
	policy = load("{\"limits\":{\"grace_ms\":100}}");
}

static inline void take_down(void)
{
	procage_close(runtime);
	procage_policy_free(policy);
}

/* A run of a line of shell; `how` may be NULL. */
static inline procage_outcome *run(const char *line, const struct procage_command *how)
{
	const char *const argv[] = { "/bin/sh", "-c", line, NULL };
	struct procage_command command = { 0 };
	procage_outcome *outcome = NULL;
	procage_error *error = NULL;

	if (how)
		command = *how;
	command.size = sizeof(command);
	command.argv = argv;
	must(procage_run(policy, &command, &outcome, &error), &error, __LINE__);
	return outcome;
}

static inline bool is_text(const char *text, size_t size, const char *expected)
{
	return size == strlen(expected) && memcmp(text, expected, size) == 0;
}

static inline void expect_output(const procage_outcome *outcome, const char *out, const char *err)
{
	size_t size;
	const char *text = procage_outcome_stdout(outcome, &size);

	CHECK(is_text(text, size, out));
	text = procage_outcome_stderr(outcome, &size);
	CHECK(is_text(text, size, err));
}

struct heard {
	char text[256];
	size_t size;
};

static inline int hear(void *context, enum procage_stream stream, const char *bytes, size_t size)
{
	struct heard *heard = context;

	CHECK(stream == PROCAGE_STDOUT && heard->size + size < sizeof(heard->text));
	memcpy(heard->text + heard->size, bytes, size);
	heard->size += size;
	return 0;
}

static inline void *run_many(void *argument)
{
	int own = (int)(size_t)argument, i;

	for (i = 0; i < RUNS; i++) {
		struct heard heard = { .size = 0 };
		struct procage_command how = { .on_output = hear, .context = &heard };
		char line[128], expected[128], input[32];
		procage_outcome *outcome;

		snprintf(input, sizeof(input), "input %d.%d", own, i);
		snprintf(line, sizeof(line), "cat; echo; echo $NUMBER; exit %d", own + i);
		snprintf(expected, sizeof(expected), "%s\n%d\n", input, own);
		how.input = input;
		how.input_size = strlen(input);
		how.env = (const char *const[]) { "NUMBER=x", (char[16]) { 0 }, NULL };
		snprintf((char *)how.env[1], 16, "NUMBER=%d", own);
		outcome = run(line, &how);
		CHECK(procage_outcome_status(outcome) == own + i && procage_outcome_signal(outcome) == 0);
		CHECK(!procage_outcome_timed_out(outcome) && !procage_outcome_cancelled(outcome));
		expect_output(outcome, expected, "");
		CHECK(is_text(heard.text, heard.size, expected));
		procage_outcome_free(outcome);
	}
	return NULL;
}

/* THREADS of them at once. */
static inline void run_in_threads(void)
{
	pthread_t threads[THREADS];
	size_t i;

	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, run_many, (void *)(i + 1)) == 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

struct capi_case {
	const char *name;
	void (*run)(void);
};

#ifdef __SANITIZE_ADDRESS__
int __lsan_do_recoverable_leak_check(void);
#else
static inline int __lsan_do_recoverable_leak_check(void)
{
	return 0;
}
#endif

/* What is lost is asked for here: a case leaves by _exit(). One that the check cannot look into leaves by itself. */
static inline _Noreturn void run_case(const struct capi_case *one)
{
	alarm(CASE_SECONDS);
	one->run();
	_exit(__lsan_do_recoverable_leak_check() ? 1 : 0);
}

static volatile bool reaps;

static inline void *reap_all(void *unused)
{
	while (__atomic_load_n(&reaps, __ATOMIC_SEQ_CST))
		if (waitpid(-1, NULL, __WALL) < 0)
			usleep(50);
	return unused;
}

/* In a host that waits for every child there is. */
static inline void while_reaping(void (*work)(void))
{
	pthread_t thread;

	__atomic_store_n(&reaps, true, __ATOMIC_SEQ_CST);
	CHECK(pthread_create(&thread, NULL, reap_all, NULL) == 0);
	work();
	__atomic_store_n(&reaps, false, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
}

/* Each in a child of its own. Returns the exit status of the test. */
static inline int run_cases(const struct capi_case *cases, size_t count)
{
	int failed = 0, status;
	size_t i;

	snprintf(workspace, sizeof(workspace), "%s/work", getenv("HOME"));
	snprintf(outside, sizeof(outside), "%s/outside", getenv("HOME"));
	mkdir(workspace, 0700);
	told_fd = fcntl(2, F_DUPFD_CLOEXEC, 10);
	for (i = 0; i < count; i++) {
		pid_t child = fork();

		if (child == 0)
			run_case(&cases[i]);
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
			fprintf(stderr, "%s: failed (%x)\n", cases[i].name, (unsigned)status);
			failed = 1;
		}
	}
	return failed;
}

#endif
