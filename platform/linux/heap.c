/* The program's heap. The library leaves its host's alone. */
#include "platform/platform.h"

#include <malloc.h>

void pc_tune_heap(void)
{
#ifdef M_MXFAST
	/* glibc merges what its fast bins hold, all of it again and again, while a state with thousands of blocks grows. */
	mallopt(M_MXFAST, 0);
#endif
}
