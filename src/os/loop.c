/* loop.c: epoll, one signal descriptor, one heap of timers.
 *
 * Why not a library: the daemon needs exactly one shape of round (everything that is ready, then
 * one turn), one clock reading per round, and certainty that nothing wakes it while it is idle.
 *
 * A removed watch may still have an event in the fetched list, so removed watches and timers are
 * freed only at the end of the round. */
#include "os/loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/timer_heap.h"
#include "os/clock.h"

#define EVENTS_PER_ROUND 256
#define SIGNALS_MAX      65

struct loop_watch {
    int fd;
    unsigned events;
    loop_ready ready;
    void *ctx;
    bool removed;
    struct loop_watch *next_removed;
};

struct loop_timer {
    loop_due due;
    void *ctx;
    uint32_t handle;
    uint32_t position; /* in the heap; 0: not set */
};

struct loop {
    int epoll;
    int signals;
    sigset_t mask;
    struct {
        loop_signaled signaled;
        void *ctx;
    } handlers[SIGNALS_MAX];
    struct loop_watch *signal_watch;
    int clock; /* readable when the wall clock is set; -1: not watched */
    struct loop_watch *clock_watch;

    struct loop_timer **timers; /* by handle; [0] unused */
    size_t timer_count, timer_capacity;
    struct timer_heap heap;
    uint64_t rank; /* orders timers for the same time by when they were set */

    struct loop_watch *removed;
    loop_due round;
    void *round_ctx;
    time_ms now, steady;
    uint64_t wakeups;
    bool again, stopped;
};

static void read_clocks(struct loop *loop) {
    loop->now = clock_read();
    loop->steady = clock_read_steady();
}

static void timer_moved_to(void *ctx, uint32_t handle, uint32_t position) {
    struct loop *loop = ctx;
    loop->timers[handle]->position = position;
}

int loop_new(struct loop **ret_loop, struct error *err) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        return error_set(err, -errno, "cannot make an epoll descriptor: %s", strerror(errno));
    struct loop *loop = xcalloc(1, sizeof(*loop));
    loop->epoll = epoll;
    loop->signals = loop->clock = -1;
    loop->timer_count = 1; /* handle 0 is not used */
    sigemptyset(&loop->mask);
    timer_heap_init(&loop->heap, timer_moved_to, loop);
    read_clocks(loop);
    *ret_loop = loop;
    return 0;
}

static void free_removed(struct loop *loop) {
    while (loop->removed) {
        struct loop_watch *watch = loop->removed;
        loop->removed = watch->next_removed;
        free(watch);
    }
}

struct loop *loop_free(struct loop *loop) {
    if (!loop)
        return NULL;
    loop_unwatch(loop, loop->signal_watch);
    loop_unwatch(loop, loop->clock_watch);
    free_removed(loop);
    for (size_t i = 1; i < loop->timer_count; i++)
        free(loop->timers[i]);
    free(loop->timers);
    timer_heap_finish(&loop->heap);
    if (loop->signals >= 0)
        close(loop->signals);
    if (loop->clock >= 0)
        close(loop->clock);
    close(loop->epoll);
    free(loop);
    return NULL;
}

/* --- descriptors ------------------------------------------------------------------------------ */

int loop_watch(struct loop *loop, int fd, unsigned events, loop_ready ready, void *ctx,
               struct loop_watch **ret_watch) {
    struct loop_watch *watch = xcalloc(1, sizeof(*watch));
    *watch = (struct loop_watch){ .fd = fd, .events = events, .ready = ready, .ctx = ctx };
    struct epoll_event event = { .events = events, .data.ptr = watch };
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        int r = -errno;
        free(watch);
        return r;
    }
    *ret_watch = watch;
    return 0;
}

void loop_watch_change(struct loop *loop, struct loop_watch *watch, unsigned events) {
    assert(!watch->removed);
    if (watch->events == events)
        return;
    watch->events = events;
    struct epoll_event event = { .events = events, .data.ptr = watch };
    int r = epoll_ctl(loop->epoll, EPOLL_CTL_MOD, watch->fd, &event);
    assert(r == 0); /* it was added, and its descriptor outlives the watch */
    (void)r;
}

void loop_unwatch(struct loop *loop, struct loop_watch *watch) {
    if (!watch)
        return;
    assert(!watch->removed);
    (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->removed = true;
    watch->next_removed = loop->removed;
    loop->removed = watch;
}

static void dispatch(const struct epoll_event *event) {
    struct loop_watch *watch = event->data.ptr;
    if (watch->removed)
        return;
    unsigned events = event->events & (LOOP_READ | LOOP_WRITE | LOOP_URGENT);
    if (event->events & (EPOLLERR | EPOLLHUP))
        events |= watch->events ? watch->events : LOOP_READ;
    watch->ready(watch->ctx, watch->fd, events);
}

/* --- timers ----------------------------------------------------------------------------------- */

struct loop_timer *loop_timer_new(struct loop *loop, loop_due due, void *ctx) {
    struct loop_timer *timer = xcalloc(1, sizeof(*timer));
    size_t handle = 1;
    while (handle < loop->timer_count && loop->timers[handle])
        handle++;
    if (handle == loop->timer_count)
        loop->timers = xgrow(loop->timers, &loop->timer_capacity, ++loop->timer_count,
                             sizeof(struct loop_timer *));
    *timer = (struct loop_timer){ .due = due, .ctx = ctx, .handle = (uint32_t)handle };
    loop->timers[handle] = timer;
    return timer;
}

void loop_timer_clear(struct loop *loop, struct loop_timer *timer) {
    timer_heap_remove(&loop->heap, timer->position);
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, time_ms steady_at) {
    loop_timer_clear(loop, timer);
    if (steady_at != TIME_NEVER)
        timer_heap_add(&loop->heap, steady_at, ++loop->rank, timer->handle);
}

void loop_timer_free(struct loop *loop, struct loop_timer *timer) {
    if (!timer)
        return;
    loop_timer_clear(loop, timer);
    loop->timers[timer->handle] = NULL;
    free(timer);
}

/* --- signals ---------------------------------------------------------------------------------- */

static void signals_ready(void *ctx, int fd, unsigned events) {
    struct loop *loop = ctx;
    struct signalfd_siginfo info;
    (void)events;
    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo < SIGNALS_MAX && loop->handlers[info.ssi_signo].signaled)
            loop->handlers[info.ssi_signo].signaled(loop->handlers[info.ssi_signo].ctx,
                                                    (int)info.ssi_signo);
}

int loop_signal(struct loop *loop, int signal, loop_signaled signaled, void *ctx,
                struct error *err) {
    assert(signal > 0 && signal < SIGNALS_MAX);
    sigaddset(&loop->mask, signal);
    if (sigprocmask(SIG_BLOCK, &loop->mask, NULL) < 0)
        return error_set(err, -errno, "cannot block signal %d: %s", signal, strerror(errno));
    int fd = signalfd(loop->signals, &loop->mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return error_set(err, -errno, "cannot watch signal %d: %s", signal, strerror(errno));
    loop->signals = fd;
    loop->handlers[signal].signaled = signaled;
    loop->handlers[signal].ctx = ctx;
    if (loop->signal_watch)
        return 0;
    int r = loop_watch(loop, fd, LOOP_READ, signals_ready, loop, &loop->signal_watch);
    return r < 0 ? error_set(err, r, "cannot watch for signals: %s", strerror(-r)) : 0;
}

/* --- the wall clock --------------------------------------------------------------------------- */

/* The timer itself never expires. */
static void arm_clock(int fd) {
    struct itimerspec never = { .it_value.tv_sec = INT32_MAX };
    (void)timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

/* The round that follows is all that is needed. */
static void clock_was_set(void *ctx, int fd, unsigned events) {
    uint64_t expirations;
    (void)ctx;
    (void)events;
    (void)!read(fd, &expirations, sizeof(expirations)); /* ECANCELED */
    arm_clock(fd);
}

void loop_wake_on_clock_set(struct loop *loop) {
    if (loop->clock >= 0)
        return;
    int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0)
        return; /* a timer wakes the loop every hour anyway */
    arm_clock(fd);
    if (loop_watch(loop, fd, LOOP_READ, clock_was_set, loop, &loop->clock_watch) < 0)
        close(fd);
    else
        loop->clock = fd;
}

/* --- rounds ----------------------------------------------------------------------------------- */

void loop_set_round(struct loop *loop, loop_due round, void *ctx) {
    loop->round = round;
    loop->round_ctx = ctx;
}

void loop_again(struct loop *loop) {
    loop->again = true;
}

time_ms loop_now(const struct loop *loop) {
    return loop->now;
}

time_ms loop_now_steady(const struct loop *loop) {
    return loop->steady;
}

uint64_t loop_wakeups(const struct loop *loop) {
    return loop->wakeups;
}

void loop_stop(struct loop *loop) {
    loop->stopped = true;
}

static int time_to_sleep(struct loop *loop) {
    if (loop->again)
        return 0;
    time_ms next = timer_heap_next(&loop->heap);
    if (next == TIME_NEVER)
        return -1;
    time_ms left = next - clock_read_steady();
    return left <= 0 ? 0 : (int)time_min(left, HOURS(1));
}

static void run_due(struct loop *loop) {
    /* Timers set meanwhile for a past time wait for the next round. */
    uint64_t last = loop->rank;
    while (loop->heap.count > 0 && loop->heap.entries[1].at <= loop->steady
           && loop->heap.entries[1].rank <= last) {
        struct loop_timer *timer = loop->timers[timer_heap_pop(&loop->heap, loop->steady)];
        timer->due(timer->ctx);
    }
}

int loop_run(struct loop *loop, struct error *err) {
    struct epoll_event events[EVENTS_PER_ROUND];
    loop->stopped = false;
    read_clocks(loop);
    if (loop->round)
        loop->round(loop->round_ctx);
    while (!loop->stopped) {
        int sleep_ms = time_to_sleep(loop);
        loop->again = false;
        int count = epoll_wait(loop->epoll, events, EVENTS_PER_ROUND, sleep_ms);
        if (count < 0 && errno != EINTR)
            return error_set(err, -errno, "cannot wait for events: %s", strerror(errno));
        loop->wakeups += sleep_ms != 0;
        read_clocks(loop);
        for (int i = 0; i < count; i++)
            dispatch(&events[i]);
        run_due(loop);
        if (loop->round)
            loop->round(loop->round_ctx);
        free_removed(loop);
    }
    return 0;
}

/* --- inotify ---------------------------------------------------------------------------------- */

int inotify_open(struct loop *loop, loop_ready ready, void *ctx, struct loop_watch **ret_watch) {
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0)
        return -errno;
    int r = loop_watch(loop, fd, LOOP_READ, ready, ctx, ret_watch);
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

void inotify_read(int fd, inotify_handler handler, void *ctx) {
    _Alignas(struct inotify_event) char text[8192];
    ssize_t got;
    while (fd >= 0 && (got = read(fd, text, sizeof(text))) > 0)
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const struct inotify_event *)(text + at);
            at += (ssize_t)(sizeof(*event) + event->len);
            handler(ctx, event);
        }
}
