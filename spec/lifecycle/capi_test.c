/*
 * The C interface, as a host with threads uses it: runs at once on one policy, live output, an end from another thread, errors that
 * say what is wrong.
 */
#include <signal.h>

#include "spec/support/capi_cases.h"

/* ---- Threads -------------------------------------------------------------------------------------------------------------- */

static void *explain_often(void *unused)
{
	int i;

	for (i = 0; i < 5; i++) {
		procage_error *error = NULL;
		char *json = NULL;

		must(procage_explain(policy, NULL, &json, &error), &error, __LINE__);
		CHECK(strstr(json, "\"report\":[") != NULL);
		procage_free(json);
		procage_policy_free(load(NULL));
	}
	return unused;
}

static void many_threads(void)
{
	pthread_t thread;

	set_up();
	CHECK(pthread_create(&thread, NULL, explain_often, NULL) == 0);
	run_in_threads();
	pthread_join(thread, NULL);
	take_down();
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *sleep_a_second(void *unused)
{
	procage_outcome *outcome = run("sleep 1", NULL);

	CHECK(procage_outcome_status(outcome) == 0);
	procage_outcome_free(outcome);
	return unused;
}

/* No lock is held while a command runs: eight seconds of sleep are not waited for one after another. */
static void side_by_side(void)
{
	pthread_t threads[8];
	double start;
	int i;

	set_up();
	start = now();
	for (i = 0; i < 8; i++)
		CHECK(pthread_create(&threads[i], NULL, sleep_a_second, NULL) == 0);
	for (i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	CHECK(now() - start < 6);
	take_down();
}

static void *use_own_runtime(void *argument)
{
	const char *const argv[] = { "/bin/echo", argument, NULL };
	struct procage_load how = { .size = sizeof(how), .policy = "speccoder", .workspace = workspace };
	struct procage_command command = { .size = sizeof(command), .argv = argv };
	procage_runtime *own = NULL;
	procage_policy *own_policy = NULL;
	procage_outcome *outcome = NULL;
	procage_error *error = NULL;
	int i;

	for (i = 0; i < 2; i++) {
		must(procage_open(NULL, &own, &error), &error, __LINE__);
		must(procage_load(own, &how, &own_policy, &error), &error, __LINE__);
		procage_close(own);
		must(procage_run(own_policy, &command, &outcome, &error), &error, __LINE__);
		procage_policy_free(own_policy);
		CHECK(strncmp(procage_outcome_stdout(outcome, NULL), argument, strlen(argument)) == 0);
		procage_outcome_free(outcome);
	}
	return NULL;
}

/* What the process has once is found by many at the same time. */
static void many_runtimes(void)
{
	static char *const words[] = { "one", "two", "three", "four" };
	pthread_t threads[4];
	int i;

	for (i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, use_own_runtime, words[i]) == 0);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* ---- An end before its time ------------------------------------------------------------------------------------------------ */

static int tell_it_runs(void *context, enum procage_stream stream, const char *bytes, size_t size)
{
	const int *fd = context;

	(void)stream;
	return write(*fd, bytes, size) == (ssize_t)size ? 0 : 1;
}

struct canceller {
	procage_cancel *cancel;
	int fd, is_now;
};

static void *cancel_once_it_runs(void *argument)
{
	struct canceller *canceller = argument;
	char byte;

	CHECK(read(canceller->fd, &byte, 1) == 1);
	procage_cancel_request(canceller->cancel, canceller->is_now);
	return NULL;
}

static procage_outcome *run_cancelled(const char *line, int is_now)
{
	struct canceller canceller = { .is_now = is_now };
	struct procage_command how = { .on_output = tell_it_runs };
	procage_error *error = NULL;
	procage_outcome *outcome;
	pthread_t thread;
	int fds[2];

	CHECK(pipe2(fds, O_CLOEXEC) == 0);
	must(procage_cancel_new(&canceller.cancel, &error), &error, __LINE__);
	canceller.fd = fds[0];
	CHECK(pthread_create(&thread, NULL, cancel_once_it_runs, &canceller) == 0);
	how.context = &fds[1];
	how.cancel = canceller.cancel;
	outcome = run(line, &how);
	pthread_join(thread, NULL);
	CHECK(procage_outcome_cancelled(outcome) && !procage_outcome_timed_out(outcome));
	/* It stays asked for. */
	how.on_output = NULL;
	procage_outcome_free(outcome);
	outcome = run("sleep 25", &how);
	CHECK(procage_outcome_cancelled(outcome));
	procage_outcome_free(outcome);
	procage_cancel_free(canceller.cancel);
	close(fds[0]);
	close(fds[1]);
	return NULL;
}

static int hear_no_more(void *context, enum procage_stream stream, const char *bytes, size_t size)
{
	(void)stream, (void)bytes, (void)size;
	++*(int *)context;
	return 1;
}

static void ended(void)
{
	struct procage_command how = { .timeout_ms = 200 };
	procage_outcome *outcome;
	double start = now();
	int times = 0;

	set_up();
	run_cancelled("echo .; exec sleep 25", 0);
	run_cancelled("trap '' TERM; echo .; while :; do sleep 1; done", 1);
	outcome = run("trap '' TERM; while :; do sleep 1; done", &how);
	CHECK(procage_outcome_timed_out(outcome) && procage_outcome_status(outcome) == -1);
	CHECK(procage_outcome_signal(outcome) == SIGKILL && !procage_outcome_cancelled(outcome));
	CHECK(procage_outcome_duration_ms(outcome) >= 200);
	procage_outcome_free(outcome);
	how = (struct procage_command) { .on_output = hear_no_more, .context = &times };
	outcome = run("while :; do echo .; done", &how);
	CHECK(times == 1 && procage_outcome_cancelled(outcome) && procage_outcome_signal(outcome) == SIGKILL);
	procage_outcome_free(outcome);
	CHECK(now() - start < 20);
	take_down();
}

/* ---- Confinement ----------------------------------------------------------------------------------------------------------- */

static off_t size_of(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 ? st.st_size : -1;
}

static void confines(void)
{
	procage_error *error = NULL;
	procage_outcome *outcome;
	char line[512], *json = NULL;
	int fd = open(outside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	/* Without, it can be written. */
	CHECK(fd >= 0 && write(fd, "kept", 4) == 4);
	close(fd);
	set_up();
	snprintf(line, sizeof(line), "echo in >inside && echo lost >%s", outside);
	outcome = run(line, NULL);
	CHECK(procage_outcome_status(outcome) > 0 && procage_outcome_stderr(outcome, NULL)[0]);
	must(procage_outcome_json(outcome, &json, &error), &error, __LINE__);
	CHECK(strstr(json, "\"exit_status\":") && strstr(json, "\"denials\":{"));
	procage_free(json);
	procage_outcome_free(outcome);
	must(procage_why(policy, "write", outside, &json, &error), &error, __LINE__);
	CHECK(strstr(json, "\"allowed\":false") != NULL);
	procage_free(json);
	CHECK(access("inside", F_OK) < 0 && size_of(outside) == 4);
	unlink(outside);
	take_down();
}

/* The bytes of standard input are bytes, whatever they spell. */
static void input(void)
{
	static const char *const words[] = { "inherit", "closed", "x" };
	struct procage_command how = { .input_file = "/dev/null" };
	procage_outcome *outcome;
	size_t i;

	set_up();
	for (i = 0; i < 3; i++) {
		struct procage_command given = { .input = words[i], .input_size = strlen(words[i]) };

		outcome = run("cat", &given);
		expect_output(outcome, words[i], "");
		procage_outcome_free(outcome);
	}
	outcome = run("cat; echo end; echo no >&2", &how);
	expect_output(outcome, "end\n", "no\n");
	procage_outcome_free(outcome);
	take_down();
}

/* ---- Errors ---------------------------------------------------------------------------------------------------------------- */

static void expect_error(int code, procage_error **error, int expected, const char *part, int line)
{
	const char *text = procage_error_text(*error);

	if (code != expected || (int)procage_error_code(*error) != expected || !strstr(text, part)) {
		dprintf(told_fd, "line %d: expected %d with '%s', got %d: %s\n", line, expected, part, code, text);
		_exit(1);
	}
	procage_error_free(*error);
	*error = NULL;
}

static void load_errors(void)
{
	struct procage_load how = { .size = sizeof(how), .policy = "speccoder", .workspace = workspace };
	procage_error *error = NULL;
	procage_policy *made = NULL;
	int code;

	how.config_json = "{\"limitz\":{}}";
	code = procage_load(runtime, &how, &made, &error);
	expect_error(code, &error, PROCAGE_E_CONFIG, "limits", __LINE__);
	how.config_json = "{";
	code = procage_load(runtime, &how, &made, &error);
	expect_error(code, &error, PROCAGE_E_CONFIG, "JSON", __LINE__);
	how.config_json = NULL;
	how.host_json = "{\"landlock_abi\":\"much\"}";
	code = procage_load(runtime, &how, &made, &error);
	expect_error(code, &error, PROCAGE_E_CONFIG, "host: ", __LINE__);
	how.host_json = NULL;
	how.policy = "speccodr";
	code = procage_load(runtime, &how, &made, &error);
	expect_error(code, &error, PROCAGE_E_CONFIG, "speccodr", __LINE__);
	how.policy = "mine";
	how.text = "\nsyntax error";
	code = procage_load(runtime, &how, &made, &error);
	expect_error(code, &error, PROCAGE_E_CONFIG, "mine:2:", __LINE__);
	how.workspace = "relative";
	code = procage_load(runtime, &how, &made, &error);
	expect_error(code, &error, PROCAGE_E_ARGUMENT, "workspace", __LINE__);
	CHECK(!made);
	/* Nobody has to want it. */
	CHECK(procage_load(runtime, &how, &made, NULL) == PROCAGE_E_ARGUMENT);
}

static void run_errors(void)
{
	const char *const argv[] = { "/nowhere/program", NULL }, *const nothing[] = { NULL }, *const bad[] = { "NAME", NULL };
	struct {
		struct procage_command command;
		void *later;
	} newer = { { .size = sizeof(newer), .argv = argv }, &newer };
	struct procage_command command = { .size = sizeof(command), .argv = argv };
	procage_outcome *outcome = NULL;
	procage_error *error = NULL;
	char *json = NULL;
	int code;

	code = procage_run(policy, &command, &outcome, &error);
	CHECK(procage_error_errno(error) == ENOENT);
	expect_error(code, &error, PROCAGE_E_SYSTEM, "/nowhere/program", __LINE__);
	command.env = bad;
	code = procage_run(policy, &command, &outcome, &error);
	expect_error(code, &error, PROCAGE_E_ARGUMENT, "env[0]", __LINE__);
	command.argv = nothing;
	code = procage_run(policy, &command, &outcome, &error);
	expect_error(code, &error, PROCAGE_E_ARGUMENT, "argv", __LINE__);
	code = procage_run(policy, &newer.command, &outcome, &error);
	expect_error(code, &error, PROCAGE_E_ARGUMENT, "size", __LINE__);
	CHECK(!outcome);
	code = procage_why(policy, "raed", "/", &json, &error);
	expect_error(code, &error, PROCAGE_E_ARGUMENT, "read", __LINE__);
	code = procage_fit(runtime, "{\"wrote\":[]}", NULL, &json, &error);
	expect_error(code, &error, PROCAGE_E_CONFIG, "profile", __LINE__);
	code = procage_explain(policy, "{\"landlock\":1}", &json, &error);
	expect_error(code, &error, PROCAGE_E_CONFIG, "landlock", __LINE__);
	CHECK(!json);
}

static void errors(void)
{
	struct procage_options options = { .size = sizeof(options), .prefix = "/nowhere" };
	procage_runtime *none = NULL;
	procage_error *error = NULL;
	int code;

	set_up();
	load_errors();
	run_errors();
	options.prefix = "relative";
	code = procage_open(&options, &none, &error);
	expect_error(code, &error, PROCAGE_E_ARGUMENT, "prefix", __LINE__);
	CHECK(!none);
	/* After all that it works as ever. */
	procage_outcome_free(run("exit 0", NULL));
	procage_policy_free(NULL);
	procage_error_free(NULL);
	take_down();
}

/* ---- What is asked --------------------------------------------------------------------------------------------------------- */

static void questions(void)
{
	const char *const argv[] = { "/bin/echo", "wrapped", NULL };
	struct procage_command command = { .size = sizeof(command), .argv = argv };
	procage_error *error = NULL;
	struct procage_load how = { .size = sizeof(how), .policy = "mine", .workspace = workspace };
	procage_policy *made = NULL;
	char *json = NULL, *start, *end;

	set_up();
	/* A policy that is a text, and a runtime that is closed before it. */
	how.text = "local profile = require('procage.profile')\n"
		   "return function(config, ctx) local p = profile.new() p:workspace(ctx.workspace) return p end\n";
	must(procage_load(runtime, &how, &made, &error), &error, __LINE__);
	must(procage_explain(made, NULL, &json, &error), &error, __LINE__);
	CHECK(strstr(json, "\"policy\":\"mine\""));
	procage_free(json);
	procage_policy_free(made);
	must(procage_probe(runtime, 1, &json, &error), &error, __LINE__);
	CHECK(json[0] == '{' && strstr(json, "\"landlock_abi\":"));
	procage_free(json);
	/* What explain calls the profile goes through fit once more. */
	must(procage_explain(policy, NULL, &json, &error), &error, __LINE__);
	start = strstr(json, "\"profile\":") + strlen("\"profile\":");
	end = strstr(start, ",\"report\":");
	CHECK(end != NULL);
	*end = '\0';
	must(procage_fit(runtime, start, NULL, &end, &error), &error, __LINE__);
	CHECK(strncmp(end, "{\"profile\":{", 12) == 0 && strstr(end, "\"report\":[{"));
	procage_free(end);
	procage_free(json);
	must(procage_wrap(policy, &command, PROCAGE_FORM_TREE, &json, &error), &error, __LINE__);
	CHECK(strstr(json, "\"argv\":[\"/") && strstr(json, "\"--tree\"") && strstr(json, "\"--\",\"/bin/echo\",\"wrapped\"]"));
	procage_free(json);
	take_down();
}

/* ---- A process that confines itself ---------------------------------------------------------------------------------------- */

/* ThreadSanitizer's runtime is a thread: who confines himself is to have one alone. */
#ifndef __SANITIZE_THREAD__

static void becomes(void)
{
	char line[512];
	const char *const argv[] = { "/bin/sh", "-c", line, NULL };
	struct procage_command command = { .size = sizeof(command), .argv = argv };
	procage_error *error = NULL;
	pid_t child = fork();
	int status;

	if (child == 0) {
		snprintf(line, sizeof(line), "(echo lost >%s) 2>/dev/null || exit 42", outside);
		set_up();
		must(procage_exec(policy, &command, &error), &error, __LINE__);
		_exit(1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 42 && access(outside, F_OK) < 0);
}

static void gives_up(void)
{
	procage_error *error = NULL;
	char name[512];
	int fd;

	set_up();
	must(procage_confine_parent(policy, NULL, &error), &error, __LINE__);
	fd = open(outside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd < 0 && errno == EACCES);
	snprintf(name, sizeof(name), "%s/own", workspace);
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
	take_down();
	_exit(0);
}

#endif

int main(void)
{
	static const struct capi_case cases[] = {
		{ "many threads", many_threads },
		{ "side by side", side_by_side },
		{ "runtimes", many_runtimes },
		{ "ended", ended },
		{ "confines", confines },
		{ "input", input },
		{ "errors", errors },
		{ "questions", questions },
#ifndef __SANITIZE_THREAD__
		{ "becomes the command", becomes },
		{ "gives up what it does not need", gives_up },
#endif
	};

	return run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}
