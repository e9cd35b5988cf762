/*
 * The C interface with a loopback that runs have in common: of many threads at once, started ahead or not, and of hosts that take
 * their children's ends from it. Nothing of it is left when the policy is gone.
 */
#include <signal.h>

#include "spec/support/capi_cases.h"

static void load_common(void)
{
	procage_error *error = NULL;

	must(procage_open(NULL, &runtime, &error), &error, __LINE__);
	policy = load("{\"loopback\":\"policy\",\"limits\":{\"grace_ms\":100}}");
}

/* Which network a run is in. */
static unsigned long network(void)
{
	procage_outcome *outcome = run("readlink /proc/self/ns/net", NULL);
	const char *text = procage_outcome_stdout(outcome, NULL);
	unsigned long number = 0;

	CHECK(procage_outcome_status(outcome) == 0 && sscanf(text, "net:[%lu]", &number) == 1);
	procage_outcome_free(outcome);
	return number;
}

static unsigned long common;

static void *ask_often(void *all_the_same)
{
	int i;

	for (i = 0; i < 8; i++)
		if (network() != common)
			__atomic_store_n((bool *)all_the_same, false, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Without namespaces it is the host's, and is so for all. */
static void have_one_network(void)
{
	bool all_the_same = true;
	pthread_t threads[8];
	size_t i;

	load_common();
	common = network();
	for (i = 0; i < 8; i++)
		CHECK(pthread_create(&threads[i], NULL, ask_often, &all_the_same) == 0);
	for (i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	CHECK(all_the_same);
	take_down();
	CHECK(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
}

static void are_right(void)
{
	load_common();
	run_in_threads();
	take_down();
	CHECK(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
}

static void have_one_network_ahead(void)
{
	is_prepared = 1;
	have_one_network();
}

static void are_right_ahead(void)
{
	is_prepared = 1;
	are_right();
}

static void ignores_children(void)
{
	signal(SIGCHLD, SIG_IGN);
	have_one_network();
}

static void have_runs(void)
{
	load_common();
	run_in_threads();
	take_down();
}

/* The first child, which enters, may be taken by such a host too. */
static void reaps_everything(void)
{
	while_reaping(have_runs);
}

int main(void)
{
	static const struct capi_case cases[] = {
		{ "runs of many threads have one network", have_one_network },
		{ "runs of many threads are right", are_right },
		{ "runs that were started ahead have one network", have_one_network_ahead },
		{ "runs that were started ahead are right", are_right_ahead },
		{ "ignores children", ignores_children },
		{ "reaps everything", reaps_everything },
	};

	return run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}
