/*
 * The C interface in odd hosts: with signals, descriptors and limits of their own, children that somebody else reaps, or confined
 * themselves. And what a host finds as it left it.
 */
#include <dirent.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "spec/support/capi_cases.h"

/* ---- What a host finds as it left it ---------------------------------------------------------------------------------------- */

/* Of a process, all that a library could change behind its back. */
struct state {
	struct sigaction handlers[NSIG];
	sigset_t mask, pending;
	char directory[PATH_MAX], locale[256], signals[4096];
	mode_t umask;
	struct rlimit limits[RLIM_NLIMITS];
	int dumpable, subreaper, death_signal, no_new_privileges, keeps_capabilities, priority, descriptors, threads;
	pid_t group, session;
};

static int count_entries(const char *of)
{
	DIR *directory = opendir(of);
	int count = 0;

	CHECK(directory != NULL);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void look(struct state *state)
{
	int i;

	memset(state, 0, sizeof(*state));
	for (i = 1; i < NSIG; i++)
		sigaction(i, NULL, &state->handlers[i]);
	pthread_sigmask(SIG_BLOCK, NULL, &state->mask);
	sigpending(&state->pending);
	CHECK(getcwd(state->directory, sizeof(state->directory)) != NULL);
	snprintf(state->locale, sizeof(state->locale), "%s", setlocale(LC_ALL, NULL));
	state->umask = umask(0);
	umask(state->umask);
	for (i = 0; i < RLIM_NLIMITS; i++)
		getrlimit((__rlimit_resource_t)i, &state->limits[i]);
	state->dumpable = prctl(PR_GET_DUMPABLE);
	prctl(PR_GET_CHILD_SUBREAPER, &state->subreaper);
	prctl(PR_GET_PDEATHSIG, &state->death_signal);
	state->no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	state->keeps_capabilities = prctl(PR_GET_KEEPCAPS);
	state->priority = getpriority(PRIO_PROCESS, 0);
	state->descriptors = count_entries("/proc/self/fd");
	state->threads = count_entries("/proc/self/task");
	state->group = getpgrp();
	state->session = getsid(0);
}

static void expect_same(const struct state *before, const struct state *after)
{
	int i;

	for (i = 1; i < NSIG; i++) {
		CHECK(before->handlers[i].sa_handler == after->handlers[i].sa_handler);
		CHECK(before->handlers[i].sa_flags == after->handlers[i].sa_flags);
	}
	CHECK(memcmp(&before->mask, &after->mask, sizeof(sigset_t)) == 0);
	CHECK(memcmp(&before->pending, &after->pending, sizeof(sigset_t)) == 0);
	CHECK(strcmp(before->directory, after->directory) == 0);
	CHECK(strcmp(before->locale, after->locale) == 0);
	CHECK(before->umask == after->umask);
	CHECK(memcmp(before->limits, after->limits, sizeof(before->limits)) == 0);
	CHECK(before->dumpable == after->dumpable);
	CHECK(before->subreaper == after->subreaper);
	CHECK(before->death_signal == after->death_signal);
	CHECK(before->no_new_privileges == after->no_new_privileges);
	CHECK(before->keeps_capabilities == after->keeps_capabilities);
	CHECK(before->priority == after->priority);
	CHECK(before->descriptors == after->descriptors);
	CHECK(before->threads == after->threads);
	CHECK(before->group == after->group && before->session == after->session);
}

static void on_signal(int number)
{
	(void)number;
}

/* As a host may have made itself: none of it is what a process starts with. */
static void be_particular(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	sigset_t own;

	umask(027);
	CHECK(chdir("/usr") == 0);
	setlocale(LC_ALL, "C.UTF-8");
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGPIPE, &action, NULL);
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&own);
	sigaddset(&own, SIGUSR2);
	sigaddset(&own, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &own, NULL);
	/* One that it has not taken yet, and that is not the library's to take. */
	raise(SIGPIPE);
	/* One that an ordinary user who is nice already may still take. */
	CHECK(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) < 16 ? getpriority(PRIO_PROCESS, 0) + 3 : 19) == 0);
}

/* Everything that a host may call, and a command that reads nothing of a long input, which makes SIGPIPEs. */
static void use_all(void)
{
	static char input[1 << 18];
	struct procage_command how = { .input = input, .input_size = sizeof(input) };
	procage_error *error = NULL;
	char *json = NULL;

	set_up();
	must(procage_probe(runtime, 1, &json, &error), &error, __LINE__);
	procage_free(json);
	must(procage_explain(policy, NULL, &json, &error), &error, __LINE__);
	procage_free(json);
	must(procage_why(policy, "write", outside, &json, &error), &error, __LINE__);
	procage_free(json);
	procage_outcome_free(run("exec true", &how));
	procage_outcome_free(run("kill -9 $$", NULL));
	take_down();
}

static void compare_states(void)
{
	struct state before, after;

	look(&before);
	use_all();
	look(&after);
	expect_same(&before, &after);
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
}

static void is_neutral(void)
{
	/* What is opened once for the life of the process, by the loader and the libraries, is not a run's. */
	use_all();
	be_particular();
	compare_states();
}

/* As a keeper of secrets makes itself: nobody may look at it, and what its own /proc says is root's, its environment too. */
static void is_not_dumpable(void)
{
	static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };

	load_env = env;
	CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
	use_all();
	compare_states();
	CHECK(prctl(PR_GET_DUMPABLE) == 0);
	_exit(0);
}

/* ---- Children --------------------------------------------------------------------------------------------------------------- */

static void run_many_threads(void)
{
	set_up();
	run_in_threads();
	take_down();
}

static void ignores_children(void)
{
	signal(SIGCHLD, SIG_IGN);
	run_many_threads();
}

/* As shells and inits do. */
static void reaps_everything(void)
{
	while_reaping(run_many_threads);
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------------------ */

static void has_no_descriptors(void)
{
	int fd;

	for (fd = 0; fd < 3; fd++)
		close(fd);
	set_up();
	for (fd = 0; fd < 3; fd++) {
		struct procage_command how = { .input = "input", .input_size = 5 };
		procage_outcome *outcome = run("cat; echo err >&2; exit 7", &how);

		CHECK(procage_outcome_status(outcome) == 7);
		expect_output(outcome, "input", "err\n");
		procage_outcome_free(outcome);
	}
	take_down();
	/* Nor has it any now. */
	for (fd = 0; fd < 3; fd++)
		CHECK(fcntl(fd, F_GETFD) < 0);
}

/* None of them close-on-exec: the command sees its own three, and the one by which it looks. */
static void has_many_descriptors(void)
{
	enum { MANY = 5000 };
	struct rlimit limit;
	procage_outcome *outcome;
	int i, count, before = 0;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max < MANY + 200) {
		dprintf(told_fd, "has many descriptors: pending: this user may have %ld\n", (long)limit.rlim_max);
		return;
	}
	limit.rlim_cur = MANY + 200;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (i = 0; i < MANY; i++)
		CHECK(dup(2) >= 0);
	set_up();
	for (i = 0; i < 5; i++) {
		outcome = run("ls /proc/self/fd | wc -l", NULL);
		expect_output(outcome, "4\n", "");
		procage_outcome_free(outcome);
		count = count_entries("/proc/self/fd");
		CHECK(i == 0 || count == before);
		before = count;
	}
	CHECK(before > MANY);
	take_down();
}

/* 0, or what the refusal says. */
static int try_to_run(void)
{
	const char *const argv[] = { "/bin/echo", "out", NULL };
	struct procage_command command = { .size = sizeof(command), .argv = argv };
	procage_outcome *outcome = NULL;
	procage_error *error = NULL;
	int number;

	if (procage_run(policy, &command, &outcome, &error) == PROCAGE_OK) {
		CHECK(procage_outcome_status(outcome) == 0);
		expect_output(outcome, "out\n", "");
		procage_outcome_free(outcome);
		return 0;
	}
	CHECK(procage_error_code(error) == PROCAGE_E_SYSTEM);
	number = procage_error_errno(error);
	procage_error_free(error);
	return number;
}

/* A run is refused with EMFILE or goes as ever, whatever the number of descriptors that are left, and takes none of them for long. */
static void has_few_descriptors(void)
{
	enum { ENOUGH = 48 };
	struct rlimit limit, few;
	int spare, used, rc = 0, refused = 0;

	set_up();
	procage_outcome_free(run("exit 0", NULL));
	getrlimit(RLIMIT_NOFILE, &limit);
	used = count_entries("/proc/self/fd") - 3; /* ".", ".." and the one that looks */
	for (spare = 0; spare <= ENOUGH; spare++) {
		few = limit;
		few.rlim_cur = (rlim_t)(told_fd + 1 + spare);
		CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
		rc = try_to_run();
		CHECK(rc == 0 || rc == EMFILE);
		refused += rc != 0;
		CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
		CHECK(count_entries("/proc/self/fd") - 3 == used);
	}
	CHECK(rc == 0 && refused > 0);
	take_down();
}

/* ---- Inside a sandbox of ours ------------------------------------------------------------------------------------------------- */

/* What is done in it: a host that confines its commands once more, and says what that is worth here. */
static void confine_again(void)
{
	procage_error *error = NULL;
	procage_outcome *outcome;
	char line[512], *json = NULL;

	set_up();
	snprintf(line, sizeof(line), "echo in >nested && echo lost >%s/forbidden || exit 9", getenv("HOME"));
	outcome = run(line, NULL);
	CHECK(procage_outcome_status(outcome) == 9 && access("nested", F_OK) == 0);
	procage_outcome_free(outcome);
	must(procage_explain(policy, NULL, &json, &error), &error, __LINE__);
	CHECK(strstr(json, "another sandbox") && strstr(json, "\"state\":\"unenforced\""));
	procage_free(json);
	take_down();
	printf("confined again\n");
	fflush(stdout);
}

/* The checkout that this program was built in, or the copy of it: BUILD/spec is two below. */
static void own_tree(char *tree, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", tree, size - 1);
	int level;

	CHECK(length > 0);
	tree[length] = '\0';
	for (level = 0; level < 4; level++) {
		char *slash = strrchr(tree, '/');

		CHECK(slash && slash != tree);
		*slash = '\0';
	}
}

static void is_confined(void)
{
	char tree[PATH_MAX], self[PATH_MAX] = "", config[2 * PATH_MAX];
	const char *const argv[] = { self, "confine_again", NULL };
	struct procage_command command = { .size = sizeof(command), .argv = argv };
	procage_outcome *outcome = NULL;
	procage_error *error = NULL;

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	own_tree(tree, sizeof(tree));
	/* A checkout below /tmp would be covered. */
	snprintf(config, sizeof(config), "{\"readable\":[\"%s\"]}", tree);
	must(procage_open(NULL, &runtime, &error), &error, __LINE__);
	policy = load(config);
	must(procage_run(policy, &command, &outcome, &error), &error, __LINE__);
	if (procage_outcome_status(outcome) != 0)
		dprintf(told_fd, "%s\n", procage_outcome_stderr(outcome, NULL));
	CHECK(procage_outcome_status(outcome) == 0);
	expect_output(outcome, "confined again\n", "");
	procage_outcome_free(outcome);
	take_down();
}

int main(int argc, char **argv)
{
	static const struct capi_case cases[] = {
		{ "is neutral", is_neutral },
		{ "is not dumpable", is_not_dumpable },
		{ "ignores children", ignores_children },
		{ "reaps everything", reaps_everything },
		{ "has no descriptors", has_no_descriptors },
		{ "has many descriptors", has_many_descriptors },
		{ "has few descriptors", has_few_descriptors },
		{ "is confined", is_confined },
	};
	static const struct capi_case inner[] = { { "confine_again", confine_again } };

	if (argc == 2 && strcmp(argv[1], "confine_again") == 0)
		return run_cases(inner, 1);
	return run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}
