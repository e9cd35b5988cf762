/*
 * procage: confines what a command may do, with the kernel's own means. The C interface (docs/c.md).
 *
 *     procage_runtime *runtime;
 *     procage_policy *policy;
 *     procage_outcome *outcome;
 *     procage_error *error = NULL;
 *     const char *const argv[] = { "make", "test", NULL };
 *     struct procage_load load = { .size = sizeof(load), .policy = "speccoder", .workspace = "/srv/project" };
 *     struct procage_command command = { .size = sizeof(command), .argv = argv };
 *
 *     if (procage_open(NULL, &runtime, &error) || procage_load(runtime, &load, &policy, &error) ||
 *         procage_run(policy, &command, &outcome, &error))
 *             fprintf(stderr, "%s\n", procage_error_text(error));
 *
 * Functions return PROCAGE_OK, which is 0, or one of the other codes; then `error`, unless it is NULL, holds an object that says
 * more and is freed with procage_error_free(). Results come last before it and are written on success only.
 *
 * Texts are UTF-8 or whatever bytes a path has, and end with NUL. What is passed in is copied, or not used after the call. A text
 * that is returned through a `char **` is freed with procage_free(); one that an object returns belongs to the object.
 *
 * Threads: every function may be called from any thread, at once. What a runtime loads and explains is done one after another;
 * procage_run() holds nothing while its command runs. An object is freed once, when nobody uses it any more. Objects that belong
 * to others keep them: a runtime may be closed before its policies, a policy freed before its outcomes.
 *
 * The host program: nothing here installs a signal handler, reaps a child that it did not start, or changes the working
 * directory, umask or locale. After fork(), the child may use none of the objects.
 */
#ifndef PROCAGE_H
#define PROCAGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define PROCAGE_API __attribute__((visibility("default")))
#else
#define PROCAGE_API
#endif

typedef struct procage_runtime procage_runtime;
typedef struct procage_policy procage_policy;
typedef struct procage_outcome procage_outcome;
typedef struct procage_cancel procage_cancel;
typedef struct procage_error procage_error;

enum procage_code {
	PROCAGE_OK = 0,
	PROCAGE_E_ARGUMENT = 1,	   /* the call is wrong: something is missing, or is no such thing */
	PROCAGE_E_CONFIG = 2,	   /* the policy, its configuration, a profile or a host: the text names file, line or key */
	PROCAGE_E_UNAVAILABLE = 3, /* this machine cannot enforce what the policy insists on; the text names what would help */
	PROCAGE_E_SYSTEM = 4,	   /* the system refused: procage_error_errno() */
	PROCAGE_E_MEMORY = 5,
	PROCAGE_E_INTERNAL = 6 /* a fault of the library */
};

/* The library's version, "0.1.0". */
PROCAGE_API const char *procage_version(void);

/* ---- Errors ------------------------------------------------------------------------------------------------------------- */

PROCAGE_API enum procage_code procage_error_code(const procage_error *error);

/* The errno of PROCAGE_E_SYSTEM, where there is one; else 0. */
PROCAGE_API int procage_error_errno(const procage_error *error);

/* For people: what was tried, and on what. Never NULL. */
PROCAGE_API const char *procage_error_text(const procage_error *error);

/* Does nothing for NULL, as all functions that free. */
PROCAGE_API void procage_error_free(procage_error *error);

/* Frees a text. */
PROCAGE_API void procage_free(char *text);

/* ---- The runtime -------------------------------------------------------------------------------------------------------- */

/*
 * Structs begin with their size, `.size = sizeof(...)`, and the members that a caller leaves out are 0: a later version adds
 * members at the end. A member that is set and that this version does not know is PROCAGE_E_ARGUMENT.
 */
struct procage_options {
	size_t size;
	/*
	 * Where procage is installed: PREFIX/share/lua/5.4/procage is there. NULL: where the shared library is, which is
	 * PREFIX/lib. A program that is linked with libprocage.a says it.
	 */
	const char *prefix;
};

/* Opens a runtime. options: may be NULL. */
PROCAGE_API int procage_open(const struct procage_options *options, procage_runtime **runtime, procage_error **error);
PROCAGE_API void procage_close(procage_runtime *runtime);

/* What this machine can do, each fact tried, as JSON. is_fresh: tried again, not remembered. */
PROCAGE_API int procage_probe(procage_runtime *runtime, int is_fresh, char **json, procage_error **error);

/*
 * What a host enforces of a profile: {"profile": fitted, "report": [...]}. Pure: looks at no file.
 * host_json: as procage_probe() makes it; NULL: this machine.
 */
PROCAGE_API int procage_fit(procage_runtime *runtime, const char *profile_json, const char *host_json, char **json,
			    procage_error **error);

/* ---- Policies ----------------------------------------------------------------------------------------------------------- */

struct procage_load {
	size_t size;
	const char
		*policy;  /* a shipped policy, "speccoder", or a file, with a slash or .lua; of `text`: its name in messages */
	const char *text; /* the policy itself, in place of a file; NULL: none */
	const char *workspace;	 /* absolute; the directory that commands work in. Needed */
	const char *config_json; /* docs/policies.md; NULL: the defaults. Limits of runs (time, memory, output) are in it */
	const char *home;	 /* NULL: HOME of the environment */
	const char *const *env;	 /* the environment that commands start from, "NAME=VALUE", ended by NULL; NULL: this process's,
				    as it was at the start of the process */
	const char *host_json;	 /* this machine with less than it has, as procage_probe() makes it; NULL: as it is */
	int is_prepared; /* not 0: each run has its successor started ahead of its command; docs/performance.md says what that is */
};

PROCAGE_API int procage_load(procage_runtime *runtime, const struct procage_load *load, procage_policy **policy,
			     procage_error **error);
PROCAGE_API void procage_policy_free(procage_policy *policy);

/*
 * Starts a run ahead now, for the first one; the policy is prepared from here on, as with is_prepared. A process of the host's
 * waits for the command, at most ten seconds. PROCAGE_E_UNAVAILABLE: runs of this policy are started as ever.
 */
PROCAGE_API int procage_prepare(procage_policy *policy, procage_error **error);

/*
 * What the policy comes to, as `procage-lua explain --json` prints it: {"policy", "options", "host", "runs", "refusal", "profile",
 * "report"}.
 * host_json: of another machine; NULL: this one.
 */
PROCAGE_API int procage_explain(procage_policy *policy, const char *host_json, char **json, procage_error **error);

/*
 * Whether a command could do it, what decides, and what would alter that, as `procage-lua why --json` prints it.
 * operation: "read", "write", "exec", "connect", ...; target: a path (from the workspace), a port, an address.
 */
PROCAGE_API int procage_why(procage_policy *policy, const char *operation, const char *target, char **json,
			    procage_error **error);

/* ---- Runs --------------------------------------------------------------------------------------------------------------- */

enum procage_stream { PROCAGE_STDOUT = 1, PROCAGE_STDERR = 2 };

/*
 * Told of output as it comes, in pieces, on the thread that called procage_run(); it is captured as well. No lock is held: it may
 * call the library. It returns 0, or anything else to have the run killed and to hear no more. It must not leave by longjmp or an
 * exception.
 */
typedef int (*procage_on_output)(void *context, enum procage_stream stream, const char *bytes, size_t size);

struct procage_command {
	size_t size;
	const char *const *argv; /* ended by NULL; argv[0] is looked for as a shell does */
	const char *const *env;	 /* more variables, "NAME=VALUE", ended by NULL; NULL: none. The policy may drop some */
	const char *cwd;	 /* absolute or from the workspace; NULL: the workspace */
	const void *input;	 /* bytes for standard input; NULL (and no input_file): /dev/null */
	size_t input_size;
	const char *input_file;	     /* a file for standard input, absolute; links in it are not followed */
	int64_t timeout_ms;	     /* 0: the policy's */
	procage_on_output on_output; /* NULL: none */
	void *context;		     /* handed to on_output */
	procage_cancel *cancel;	     /* NULL: the run cannot be cancelled */
};

/*
 * Runs one command under the policy and returns when everything that it started is dead. PROCAGE_OK says that it ran, however it
 * ended; anything else, that it never did.
 */
PROCAGE_API int procage_run(procage_policy *policy, const struct procage_command *command, procage_outcome **outcome,
			    procage_error **error);

/*
 * Something to end runs with, from any thread. It stays asked for: a run that is started with it later is asked at once. Several runs
 * may share one. To be freed when no run has it any more.
 */
PROCAGE_API int procage_cancel_new(procage_cancel **cancel, procage_error **error);

/* SIGTERM, and after the policy's grace SIGKILL for all of it; is_now, or a second time: SIGKILL at once. */
PROCAGE_API void procage_cancel_request(procage_cancel *cancel, int is_now);
PROCAGE_API void procage_cancel_free(procage_cancel *cancel);

/* The exit status, or -1 where a signal ended the command. */
PROCAGE_API int procage_outcome_status(const procage_outcome *outcome);

/* The signal that ended the command, or 0. */
PROCAGE_API int procage_outcome_signal(const procage_outcome *outcome);
PROCAGE_API int procage_outcome_timed_out(const procage_outcome *outcome);

/* Whether procage_cancel_request() or on_output asked for its end while it ran. */
PROCAGE_API int procage_outcome_cancelled(const procage_outcome *outcome);
PROCAGE_API int64_t procage_outcome_duration_ms(const procage_outcome *outcome);

/* What was captured; `size` may be NULL. A NUL byte follows. */
PROCAGE_API const char *procage_outcome_stdout(const procage_outcome *outcome, size_t *size);
PROCAGE_API const char *procage_outcome_stderr(const procage_outcome *outcome, size_t *size);

/* Bytes of output that went past limits.output_bytes, from the middle of the streams. */
PROCAGE_API uint64_t procage_outcome_dropped_bytes(const procage_outcome *outcome);

/* For people, a line each, "" for none: what was refused, and what the run has done that someone should look at. */
PROCAGE_API const char *procage_outcome_denials(const procage_outcome *outcome);
PROCAGE_API const char *procage_outcome_events(const procage_outcome *outcome);

/* All of it, as `procage-lua run --json` prints it. */
PROCAGE_API int procage_outcome_json(const procage_outcome *outcome, char **json, procage_error **error);
PROCAGE_API void procage_outcome_free(procage_outcome *outcome);

/* ---- Starting by other means (docs/helper.md) --------------------------------------------------------------------------- */

enum procage_form {
	PROCAGE_FORM_POLICY = 0,  /* as the policy says */
	PROCAGE_FORM_PROCESS = 1, /* the process that is started becomes the command */
	PROCAGE_FORM_TREE = 2	  /* it stays, as the parent that looks after a run */
};

/*
 * What to start, in whatever runtime, for a command to run under the policy: {"argv": [...], "report": [...]}.
 * Of the command argv, env and cwd count; the others must be 0. What belongs to the start is in the temporary directory of this
 * process until the policy is freed.
 */
PROCAGE_API int procage_wrap(procage_policy *policy, const struct procage_command *command, enum procage_form form, char **json,
			     procage_error **error);

/*
 * Confines this process for good and becomes the command; argv, env and cwd count. Returns only on failure, and the process,
 * which may be partly confined then, is to exit. For a process of one thread: a child of fork() opens a runtime of its own.
 */
PROCAGE_API int procage_exec(procage_policy *policy, const struct procage_command *command, procage_error **error);

/*
 * A backstop for the host: this process writes beneath the policy's writable trees, and those of `writable` (absolute, ended by
 * NULL; may be NULL), and nowhere else, for good. Before Linux 7.0 only a process of one thread can: PROCAGE_E_SYSTEM.
 */
PROCAGE_API int procage_confine_parent(procage_policy *policy, const char *const *writable, procage_error **error);

#ifdef __cplusplus
}
#endif

#endif
