/* thread.h: a thread that no signal ever meets.
 *
 * Signals are the loop's: it reads them in its own time. A thread with the ordinary mask would take one
 * and die of it. */
#pragma once

#include <pthread.h>

/* Join it with pthread_join. 0 or a negative errno. */
int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx);
