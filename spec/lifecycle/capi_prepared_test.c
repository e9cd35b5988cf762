/*
 * The C interface with runs that are started ahead: by many threads, more than there are processors, and by odd hosts; and nothing
 * of it is left when the policy is gone.
 */
#include <signal.h>

#include "spec/support/capi_cases.h"

static void leave_nothing(void)
{
	take_down();
	CHECK(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
}

static void has_many_threads(void)
{
	set_up();
	run_in_threads();
	leave_nothing();
}

static void ignores_children(void)
{
	signal(SIGCHLD, SIG_IGN);
	has_many_threads();
}

static void have_runs(void)
{
	set_up();
	run_in_threads();
	take_down();
}

static void reaps_everything(void)
{
	while_reaping(have_runs);
}

static void has_no_descriptors(void)
{
	int i;

	for (i = 0; i < 3; i++)
		close(i);
	set_up();
	for (i = 0; i < 4; i++) {
		struct procage_command how = { .input = "input", .input_size = 5 };
		procage_outcome *outcome = run("cat; echo err >&2; exit 7", &how);

		CHECK(procage_outcome_status(outcome) == 7);
		expect_output(outcome, "input", "err\n");
		procage_outcome_free(outcome);
	}
	leave_nothing();
}

static void prepares(void)
{
	procage_error *error = NULL;
	int code;

	set_up();
	code = procage_prepare(policy, &error);
	/* Where each run has a cgroup it says that it does not. */
	CHECK(code == PROCAGE_OK || code == PROCAGE_E_UNAVAILABLE);
	CHECK((code == PROCAGE_OK) == (waitpid(-1, NULL, WNOHANG) == 0));
	procage_error_free(error);
	procage_outcome_free(run("exit 0", NULL));
	leave_nothing();
}

int main(void)
{
	static const struct capi_case cases[] = {
		{ "prepares", prepares },
		{ "has many threads", has_many_threads },
		{ "ignores children", ignores_children },
		{ "reaps everything", reaps_everything },
		{ "has no descriptors", has_no_descriptors },
	};

	is_prepared = 1;
	return run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}
