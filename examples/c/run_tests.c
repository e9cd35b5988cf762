/*
 * A harness in small: runs a workspace's test command confined, shows its output as it comes and what was refused, and ends a
 * command from another thread.
 *
 *     cc -o run_tests run_tests.c $(pkg-config --cflags --libs procage) -pthread
 *     ./run_tests WORKSPACE
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <procage.h>

/* Says what went wrong and ends. It takes the error by its place: the arguments of a call are evaluated in any order. */
static void must(int code, procage_error *const *error)
{
	if (code == PROCAGE_OK)
		return;
	fprintf(stderr, "procage: %s (%d)\n", procage_error_text(*error), code);
	procage_error_free(*error);
	exit(1);
}

/* A piece of output, which need not end with a line. */
static int show(void *context, enum procage_stream stream, const char *bytes, size_t size)
{
	(void)context;
	printf("%s: %.*s", stream == PROCAGE_STDOUT ? "stdout" : "stderr", (int)size, bytes);
	return 0;
}

/* A test command that builds something, and would leave a file outside of its workspace. */
static void run_tests(procage_policy *policy)
{
	const char *const argv[] = { "sh", "-c", "echo building; echo kept >result; echo lost >~/outside || exit 3", NULL };
	struct procage_command command = { .size = sizeof(command), .argv = argv, .on_output = show };
	procage_outcome *outcome = NULL;
	procage_error *error = NULL;

	must(procage_run(policy, &command, &outcome, &error), &error);
	printf("test: exit status %d\n", procage_outcome_status(outcome));
	printf("%s%s", procage_outcome_denials(outcome), procage_outcome_events(outcome));
	procage_outcome_free(outcome);
}

/* What the policy has to say of that file. */
static void ask_why(procage_policy *policy)
{
	procage_error *error = NULL;
	char *json = NULL;

	must(procage_why(policy, "write", "~/outside", &json, &error), &error);
	printf("outside: %s\n%s\n", strstr(json, "\"allowed\":false") ? "refused" : "allowed", json);
	procage_free(json);
}

static void *cancel_soon(void *cancel)
{
	usleep(200000);
	procage_cancel_request(cancel, 0);
	return NULL;
}

static void cancel_a_run(procage_policy *policy)
{
	const char *const argv[] = { "sleep", "60", NULL };
	struct procage_command command = { .size = sizeof(command), .argv = argv };
	procage_outcome *outcome = NULL;
	procage_error *error = NULL;
	pthread_t thread;

	must(procage_cancel_new(&command.cancel, &error), &error);
	if (pthread_create(&thread, NULL, cancel_soon, command.cancel) != 0)
		exit(1);
	must(procage_run(policy, &command, &outcome, &error), &error);
	pthread_join(thread, NULL);
	printf("sleep: %s\n", procage_outcome_cancelled(outcome) ? "cancelled" : "ended");
	procage_outcome_free(outcome);
	procage_cancel_free(command.cancel);
}

int main(int argc, char **argv)
{
	/* Refused files are told of too: by default it is calls and connections alone. */
	struct procage_load load = {
		.size = sizeof(load),
		.policy = "speccoder",
		.config_json = "{\"denials\": \"paths\"}",
	};
	procage_runtime *runtime = NULL;
	procage_policy *policy = NULL;
	procage_error *error = NULL;

	if (argc != 2 || argv[1][0] != '/') {
		fprintf(stderr, "usage: run_tests /absolute/workspace\n");
		return 2;
	}
	load.workspace = argv[1];
	load.config_json = "{\"limits\":{\"timeout_ms\":60000}}";
	must(procage_open(NULL, &runtime, &error), &error);
	must(procage_load(runtime, &load, &policy, &error), &error);
	run_tests(policy);
	ask_why(policy);
	cancel_a_run(policy);
	procage_policy_free(policy);
	procage_close(runtime);
	return 0;
}
