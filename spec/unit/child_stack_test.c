/* A child in this process's memory beside the thread that made it: nothing returns while it is still there. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "platform/linux/child_stack.h"
#include "platform/linux/sys.h"

static volatile sig_atomic_t handled;
static volatile int done_by_child, done_meanwhile;

static void on_signal(int number)
{
	(void)number;
	handled++;
}

/* ---- What children do: raw calls --------------------------------------------------------------------------------------- */

static void pause_child(long ms)
{
	struct timespec pause = { .tv_nsec = ms * 1000000 };

	pc_sys2(__NR_nanosleep, pc_ptr(&pause), 0);
}

static int is_slow(void *unused)
{
	(void)unused;
	pause_child(100);
	done_by_child = 1;
	return 7;
}

static int is_quick(void *unused)
{
	(void)unused;
	done_by_child = 1;
	return 7;
}

static int is_killed(void *unused)
{
	(void)unused;
	pause_child(50);
	pc_sys2(__NR_kill, pc_sys0(__NR_getpid), SIGKILL);
	return 7;
}

static int signals_itself(void *unused)
{
	(void)unused;
	pc_sys2(__NR_kill, pc_sys0(__NR_getpid), SIGUSR1);
	pause_child(50);
	done_by_child = 1;
	return 7;
}

static int executes(void *unused)
{
	static const char *const argv[] = { "sleep", "2", NULL };
	static const char *const envp[] = { NULL };

	(void)unused;
	pc_sys3(__NR_execve, pc_ptr("/bin/sleep"), pc_ptr(argv), pc_ptr(envp));
	return 7;
}

/* ---- What is done meanwhile -------------------------------------------------------------------------------------------- */

static void do_little(void *unused)
{
	(void)unused;
	done_meanwhile++;
}

static void do_much(void *unused)
{
	(void)unused;
	usleep(100000);
	done_meanwhile++;
}

/* ---- Tests --------------------------------------------------------------------------------------------------------------- */

static bool all_well = true;

static void check(bool is_well, const char *what)
{
	printf("%s - %s\n", is_well ? "ok" : "not ok", what);
	all_well = all_well && is_well;
}

/* The status that wait(2) gives; -1: no child. */
static int run(int (*child)(void *), void (*meanwhile)(void *))
{
	int pid, pidfd = -1, status = -1;

	done_by_child = done_meanwhile = 0;
	pid = pc_clone_beside(NULL, CLONE_PIDFD | SIGCHLD, &pidfd, child, NULL, meanwhile, NULL);
	if (pid < 0)
		return -1;
	close(pidfd);
	/* Before anything else has had time: what the child wrote is there. */
	if (child != executes && waitpid(pid, &status, 0) != pid)
		return -1;
	if (child == executes) {
		if (waitpid(pid, &status, WNOHANG) == 0)
			status = -2; /* it still runs: exec ended the sharing, not death */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return status;
}

static bool ends_before_return(int (*child)(void *), void (*meanwhile)(void *))
{
	int status = run(child, meanwhile);

	return WIFEXITED(status) && WEXITSTATUS(status) == 7 && done_by_child && done_meanwhile == 1;
}

static void *cancelled_thread(void *unused)
{
	(void)unused;
	pthread_cancel(pthread_self());
	run(is_slow, do_much); /* and goes at waitpid(2) */
	return NULL;
}

static bool survives_cancellation(void)
{
	pthread_t thread;
	void *result;

	if (pthread_create(&thread, NULL, cancelled_thread, NULL) || pthread_join(thread, &result))
		return false;
	while (waitpid(-1, NULL, 0) > 0)
		;
	return result == PTHREAD_CANCELED && done_meanwhile == 1 && done_by_child;
}

int main(void)
{
	sigset_t before, after;
	int status;

	signal(SIGUSR1, on_signal);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	check(ends_before_return(is_quick, do_much), "a child that ends first");
	check(ends_before_return(is_slow, do_little), "a child that is waited for");
	status = run(is_killed, do_little);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && done_meanwhile == 1, "a child that is killed");
	check(run(executes, do_little) == -2, "a child that executes a program is not waited for any longer");
	check(ends_before_return(signals_itself, do_little) && !handled, "no handler of the host runs in the child");
	check(survives_cancellation(), "a thread that is to be cancelled goes on until the child has left");
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	check(!memcmp(&before, &after, sizeof(before)), "the signals are blocked as before");
	return all_well ? 0 : 1;
}
