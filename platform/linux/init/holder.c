/*
 * A process that is in the namespaces that the runs of a policy have in common, and does nothing: it is there to be joined.
 *
 * It ends with the host: with the pipe that only the host holds, and with the host's process, since a fork of the host may hold the
 * pipe for years. And it ends when nobody has used it for a while, since the host has no thread to end it. How many runs use it
 * stands in a page that both have, so that a run wakes nobody up.
 */
#include "holder.h"
#include "../sys.h"

#include <asm/errno.h>
#include <linux/mman.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/time.h>
#include <linux/time_types.h>

static uint64_t now_ns(void)
{
	struct __kernel_timespec now;

	pc_sys2(__NR_clock_gettime, CLOCK_MONOTONIC, pc_ptr(&now));
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* How long it is to stay from now on, at the least; 0: it has ended for everybody. */
static uint64_t stay_ns(struct pc_hold_state *state, uint64_t idle_ns)
{
	uint32_t none = 0;
	uint64_t idle;

	if (__atomic_load_n(&state->uses, __ATOMIC_ACQUIRE))
		return idle_ns;
	idle = now_ns() - __atomic_load_n(&state->idle_since_ns, __ATOMIC_ACQUIRE);
	if (idle < idle_ns)
		return idle_ns - idle;
	/* Whoever comes now finds it gone, or it finds him. */
	return __atomic_compare_exchange_n(&state->uses, &none, PC_HOLD_GONE, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ?
		       0 :
		       idle_ns;
}

/* Whether the host is still there, and lets this be, after so long. Every signal is blocked. */
static bool is_wanted(uint64_t ns)
{
	struct __kernel_timespec time = { .tv_sec = (long)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
	struct pollfd polled[2] = { { .fd = PC_HOLDER_LIFE }, { .fd = PC_HOLDER_HOST, .events = POLLIN } };
	long rc;

	rc = pc_sys5(__NR_ppoll, pc_ptr(polled), 2, pc_ptr(&time), 0, 0);
	return rc == 0 || rc == -EINTR;
}

void pc_hold_namespaces(const struct pc_image *image)
{
	uint64_t idle_ns = (uint64_t)image->spare_ms * 1000000u, left;
	struct pc_hold_state *state;
	long rc;

	rc = pc_sys6(__NR_mmap, 0, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, PC_HOLDER_STATE, 0);
	if (pc_sys_failed(rc))
		pc_sys_exit(1);
	state = (struct pc_hold_state *)rc;
	pc_sys_close(PC_HOLDER_STATE);
	pc_sys_prctl(PR_SET_NAME, (unsigned long)pc_ptr("procage-holder"), 0, 0, 0);
	do
		left = stay_ns(state, idle_ns);
	while (left && is_wanted(left));
	pc_sys_exit(0);
}
