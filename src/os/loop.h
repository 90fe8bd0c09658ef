/* loop.h: the event loop, one thread.
 *
 * Life:     loop_new → loop_watch, loop_timer, loop_signal → loop_run → loop_free
 * A round:  sleep until something is ready or a timer is due; read the clock once; call the
 *           callbacks; call the end of the round (loop_set_round), where the engine takes its turn.
 * Idle:     without a timer the thread sleeps until a descriptor is ready. Nothing polls.
 * Safe:     a callback may add and remove any watch or timer, including its own.
 * Time:     timers use the steady clock, so a changed wall clock does not affect them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

#include "base/error.h"
#include "base/time_ms.h"

struct loop;
struct loop_watch; /* a watched descriptor */
struct loop_timer;

enum { LOOP_READ = EPOLLIN, LOOP_WRITE = EPOLLOUT, LOOP_URGENT = EPOLLPRI };

/* `events`: what is ready; an error or a hang-up is reported as the requested events. */
typedef void (*loop_ready)(void *ctx, int fd, unsigned events);
typedef void (*loop_due)(void *ctx);
typedef void (*loop_signaled)(void *ctx, int signal);

int loop_new(struct loop **ret_loop, struct error *err);
struct loop *loop_free(struct loop *loop); /* accepts NULL, returns NULL */

/* The caller keeps the descriptor, which must outlive the watch. 0 or a negative errno. */
int loop_watch(struct loop *loop, int fd, unsigned events, loop_ready ready, void *ctx,
               struct loop_watch **ret_watch);
void loop_watch_change(struct loop *loop, struct loop_watch *watch, unsigned events);
void loop_unwatch(struct loop *loop, struct loop_watch *watch); /* accepts NULL */

/* A timer that is not set. */
struct loop_timer *loop_timer_new(struct loop *loop, loop_due due, void *ctx);
void loop_timer_set(struct loop *loop, struct loop_timer *timer, time_ms steady_at);
void loop_timer_clear(struct loop *loop, struct loop_timer *timer);
void loop_timer_free(struct loop *loop, struct loop_timer *timer); /* accepts NULL */

/* Delivers the signal through the loop from now on. */
int loop_signal(struct loop *loop, int signal, loop_signaled signaled, void *ctx,
                struct error *err);

/* Called at the end of every round, and once before the first sleep. */
void loop_set_round(struct loop *loop, loop_due round, void *ctx);
/* From now on a round follows when the wall clock is set, also by a resume from suspend; timers are
 * not affected. */
void loop_wake_on_clock_set(struct loop *loop);
/* Requests one more round without sleeping. */
void loop_again(struct loop *loop);

/* The two clocks at the beginning of this round. */
time_ms loop_now(const struct loop *loop);
time_ms loop_now_steady(const struct loop *loop);

int loop_run(struct loop *loop, struct error *err); /* until loop_stop */
void loop_stop(struct loop *loop);
uint64_t loop_wakeups(const struct loop *loop); /* rounds after a sleep */

/* --- inotify ---------------------------------------------------------------------------------- */

/* A non-blocking inotify descriptor, for inotify_add_watch; `ready` is called for events. Or a
 * negative errno. Close it after loop_unwatch. */
int inotify_open(struct loop *loop, loop_ready ready, void *ctx, struct loop_watch **ret_watch);

/* Reads all pending events, in order. An event is valid during the call of `handler`, which must
 * not close the descriptor. A negative descriptor has none. */
typedef void (*inotify_handler)(void *ctx, const struct inotify_event *event);
void inotify_read(int fd, inotify_handler handler, void *ctx);
