/* Cancel handles of the C interface. */
#include "core/capi_cancel.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/capi.h"
#include "platform/platform.h"

/* How much was asked for. */
enum { NOTHING, TO_END, TO_END_NOW };

struct procage_cancel {
	pthread_mutex_t lock; /* never held with a runtime's */
	int asked;
	struct pc_watch *first;
};

int procage_cancel_new(procage_cancel **cancel, procage_error **error)
{
	procage_cancel *made;

	if (!cancel)
		return pc_error_argument("cancel_new: cancel is NULL", error);
	made = calloc(1, sizeof(*made));
	if (!made || pthread_mutex_init(&made->lock, NULL) != 0) {
		free(made);
		return pc_error_give(pc_error_new(PROCAGE_E_MEMORY, 0, "not enough memory"), error);
	}
	*cancel = made;
	return PROCAGE_OK;
}

static void pass_on(struct pc_watch *watch, int asked)
{
	watch->is_asked = true;
	pc_run_cancel(watch->running, asked == TO_END_NOW);
}

void procage_cancel_request(procage_cancel *cancel, int is_now)
{
	struct pc_watch *watch;

	if (!cancel)
		return;
	pthread_mutex_lock(&cancel->lock);
	cancel->asked = is_now || cancel->asked ? TO_END_NOW : TO_END;
	for (watch = cancel->first; watch; watch = watch->next)
		pass_on(watch, cancel->asked);
	pthread_mutex_unlock(&cancel->lock);
}

void procage_cancel_free(procage_cancel *cancel)
{
	if (!cancel)
		return;
	pthread_mutex_destroy(&cancel->lock);
	free(cancel);
}

void pc_cancel_watch(procage_cancel *cancel, struct pc_watch *watch)
{
	if (!cancel)
		return;
	pthread_mutex_lock(&cancel->lock);
	watch->next = cancel->first;
	cancel->first = watch;
	if (cancel->asked)
		pass_on(watch, cancel->asked);
	pthread_mutex_unlock(&cancel->lock);
}

void pc_cancel_forget(procage_cancel *cancel, struct pc_watch *watch)
{
	struct pc_watch **at;

	if (!cancel)
		return;
	pthread_mutex_lock(&cancel->lock);
	for (at = &cancel->first; *at != watch; at = &(*at)->next)
		;
	*at = watch->next;
	pthread_mutex_unlock(&cancel->lock);
}
