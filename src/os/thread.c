/* thread.c: a new thread has the mask of who makes it, so that is closed for the moment. */
#include "os/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(ret, NULL, run, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}
