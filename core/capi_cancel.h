/* Runs that can be ended from another thread. */
#ifndef PROCAGE_CAPI_CANCEL_H
#define PROCAGE_CAPI_CANCEL_H

#include <stdbool.h>

#include "core/procage.h"

struct pc_running;

/* A run that a handle can end, while it is watched; on the stack of the thread that steps it. */
struct pc_watch {
	struct pc_running *running;
	struct pc_watch *next;
	bool is_asked; /* somebody wanted its end */
};

/* cancel may be NULL. What was asked for before is passed on at once. */
void pc_cancel_watch(procage_cancel *cancel, struct pc_watch *watch);

/* Afterwards the run may be finished, and is_asked read. */
void pc_cancel_forget(procage_cancel *cancel, struct pc_watch *watch);

#endif
