/* watch.c: waits for the end of one command, and enforces its deadlines.
 *
 * Most short commands end within FIRST_MS: until then the shim waits only for signals, with one
 * system call. Then it opens the other wake-up sources: the deadline as a timer that runs while the
 * machine is suspended (a ppoll timeout does not), and inotify on the logs. Without events it does
 * not wake. */
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/fd.h"
#include "shim/shim.h"

#define FIRST_MS   10
#define KILL_AGAIN 100 /* ms */
#define POLL_MS    50
#define TERM_LATE  100
#define LIMITS_MS  500 /* interval for memory and process checks that the kernel does not enforce */

enum {
    POLL_SIGNAL,
    POLL_TIMER,
    POLL_LOGS,
    POLL_OWN,
    POLL_TERMINAL = POLL_OWN,
    POLL_COUNT = POLL_OWN + 2
};

struct watching {
    struct shim *shim;
    const struct watch *watch;
    enum verdict verdict;
    time_ms kill_at; /* TIME_NEVER: no stop was requested */
    time_ms idle_since;
    time_ms trim_at; /* the logs are not trimmed before */
    time_ms measure_at;
    time_ms timer_at; /* current timer setting */
    bool quiet;       /* wait for inotify before they are trimmed again */
    int err_watch;    /* inotify's number of the second log; -1: none */
    struct pollfd fds[POLL_COUNT];
};

/* --- signals ---------------------------------------------------------------------------------- */

static void take_signal(struct shim *s, int signal) {
    if (signal == SIGTERM || signal == SIGUSR2)
        s->stop_wanted = true;
    /* Slurm sends SIGTERM to every process in the job, and SIGKILL later, regardless of the run's
     * grace period. */
    if (signal == SIGTERM && s->kill_wait > 0) {
        s->hurry_at = time_min(s->hurry_at, clock_read_steady() + s->kill_wait);
        limits_note(s, "slurm.term");
    } else if (signal == SIGUSR1)
        s->kill_wanted = true;
    else if (signal == SIGCHLD)
        (void)tree_reap(s);
}

static sigset_t our_signals(const struct shim *s) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    if (s->kill_wait > 0)
        sigaddset(&set, SIGUSR2);
    return set;
}

static struct timespec timespec_of(time_ms span) {
    return (struct timespec){ .tv_sec = span / 1000, .tv_nsec = (span % 1000) * 1000000 };
}

bool watch_for_signal(int signal, time_ms span) {
    const struct timespec wait = timespec_of(span);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    return sigtimedwait(&set, NULL, &wait) == signal;
}

/* 0: none came in time */
static int fetch_signal(const struct shim *s, time_ms span) {
    const sigset_t set = our_signals(s);
    const struct timespec wait = timespec_of(span);
    int signal = sigtimedwait(&set, NULL, &wait);
    return signal > 0 ? signal : 0;
}

void watch_signals(struct shim *s) {
    for (int signal; (signal = fetch_signal(s, 0)) != 0;)
        take_signal(s, signal);
}

/* --- stopping --------------------------------------------------------------------------------- */

/* Sends the stop signal; SIGKILL follows after the grace period of the spec. */
static void stop_gracefully(struct watching *w, enum verdict verdict, time_ms now) {
    if (w->verdict != VERDICT_NONE)
        return;
    w->verdict = verdict;
    w->kill_at = time_add(now, w->shim->spec.grace);
    if (w->shim->spec.grace > 0)
        tree_signal_group(w->shim, w->shim->spec.stop_signal);
}

static void kill_now(struct watching *w, enum verdict verdict, time_ms now) {
    if (w->verdict == VERDICT_NONE)
        w->verdict = verdict;
    w->kill_at = now;
}

/* For limits that the kernel does not enforce. */
static void measure_limits(struct watching *w, time_ms now) {
    struct shim *s = w->shim;
    struct tree_sum sum = tree_measure(s);
    w->measure_at = now + LIMITS_MS;
    if (s->watch_memory && sum.memory > s->spec.memory_max)
        kill_now(w, VERDICT_MEMORY, now);
    else if (s->watch_processes && sum.processes > s->spec.processes_max)
        kill_now(w, VERDICT_PROCESSES, now);
}

static time_ms idle_at(const struct watching *w) {
    return w->watch->idle_timeout > 0 ? time_add(w->idle_since, w->watch->idle_timeout)
                                      : TIME_NEVER;
}

/* Handles everything that is due. */
static void apply_due(struct watching *w, time_ms now) {
    struct shim *s = w->shim;
    if (s->kill_wanted)
        kill_now(w, VERDICT_STOPPED, now);
    else if (s->stop_wanted)
        stop_gracefully(w, VERDICT_STOPPED, now);
    if (terminal_is_hung_up() && w->verdict == VERDICT_NONE) {
        w->verdict = VERDICT_HANGUP;
        w->kill_at = time_add(now, s->spec.grace);
        terminal_close();
        tree_signal_group(s, SIGHUP);
    }
    if (now >= w->shim->deadline)
        stop_gracefully(w, VERDICT_TIMEOUT, now);
    if (now >= idle_at(w))
        stop_gracefully(w, VERDICT_IDLE, now);
    w->kill_at = time_min(w->kill_at, s->hurry_at);
    if (now >= w->measure_at)
        measure_limits(w, now);
    if (now >= w->kill_at) {
        tree_kill(s);
        (void)tree_reap(s);
        w->kill_at = now + KILL_AGAIN;
    }
}

/* When the timer must wake us; ppoll handles pauses of the logs. */
static time_ms next_due(const struct watching *w) {
    time_ms next = time_min(w->kill_at, w->measure_at);
    if (w->verdict == VERDICT_NONE)
        next = time_min(next, time_min(w->shim->deadline, idle_at(w)));
    return next;
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void open_logs(struct watching *w) {
    const struct shim *s = w->shim;
    bool wanted = w->watch->idle_timeout > 0 || s->spec.log_head + s->spec.log_tail > 0;
    int fd = wanted ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
    w->fds[POLL_LOGS] = (struct pollfd){ .fd = fd, .events = POLLIN };
    /* the working directory is the run's */
    w->err_watch = -1;
    for (unsigned i = 0; fd >= 0 && i < w->watch->log_count; i++) {
        int watch = inotify_add_watch(fd, w->watch->logs[i].name, IN_MODIFY);
        w->err_watch = i == 1 ? watch : -1;
    }
    /* Trimmed at once, because nothing watched until now. Without inotify (limited per user) they
     * are trimmed again and again. */
    w->quiet = false;
    w->trim_at = wanted ? 0 : TIME_NEVER;
}

static void open_all(struct watching *w) {
    const sigset_t set = our_signals(w->shim);
    w->fds[POLL_SIGNAL] =
        (struct pollfd){ .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN };
    w->fds[POLL_TIMER] =
        (struct pollfd){ .fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK),
                         .events = POLLIN };
    open_logs(w);
}

static void set_timer(struct watching *w, time_ms at) {
    if (at == w->timer_at)
        return;
    w->timer_at = at;
    struct itimerspec when = { 0 };
    if (at != TIME_NEVER) {
        when.it_value.tv_sec = at / 1000;
        when.it_value.tv_nsec = (at % 1000) * 1000000 + 1; /* 0, 0 would disarm it */
    }
    (void)timerfd_settime(w->fds[POLL_TIMER].fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void take_signals(struct watching *w) {
    struct signalfd_siginfo info[8];
    ssize_t got = read(w->fds[POLL_SIGNAL].fd, info, sizeof(info));
    for (ssize_t i = 0; got > 0 && i < got / (ssize_t)sizeof(info[0]); i++)
        take_signal(w->shim, (int)info[i].ssi_signo);
}

static void trim_logs(struct watching *w, time_ms now) {
    _Alignas(struct inotify_event) char events[2048];
    uint64_t before = 0, after = 0;
    ssize_t got = 0;
    /* The first event says which log grew first. One read: a fast writer creates new ones
     * meanwhile. */
    if (w->fds[POLL_LOGS].fd >= 0)
        got = read(w->fds[POLL_LOGS].fd, events, sizeof(events));
    const struct inotify_event *first = (const void *)events;
    bool err_first = got >= (ssize_t)sizeof(*first) && first->wd == w->err_watch;
    for (unsigned i = 0; i < w->watch->log_count; i++)
        before += w->watch->logs[i].size;
    enum verdict verdict = VERDICT_NONE;
    time_ms rest = logs_trim(w->shim, w->watch->logs, w->watch->log_count, &verdict);
    if (w->watch->log_count == SHIM_LOGS_MAX)
        rest = time_min(rest, logs_note_order(w->shim, w->watch->logs, err_first));
    for (unsigned i = 0; i < w->watch->log_count; i++)
        after += w->watch->logs[i].size;
    if (after != before)
        w->idle_since = now;
    if (verdict != VERDICT_NONE)
        kill_now(w, verdict, now);
    w->trim_at = now + rest;
    w->quiet = w->fds[POLL_LOGS].fd >= 0;
}

/* Timeout for ppoll; descriptors need none. */
static time_ms longest_sleep(const struct watching *w, time_ms now, bool resting) {
    time_ms span = TIME_NEVER;
    if (w->trim_at != TIME_NEVER && (resting || !w->quiet))
        span = time_max(w->trim_at - now, 0);
    /* Without a descriptor (EMFILE) it is polled. */
    if (w->fds[POLL_SIGNAL].fd < 0 || w->fds[POLL_TIMER].fd < 0)
        span = time_min(span, POLL_MS);
    return span;
}

static void wait_for_event(struct watching *w) {
    time_ms now = clock_read_steady();
    bool resting = now < w->trim_at;
    struct pollfd fds[POLL_COUNT];
    set_timer(w, next_due(w));
    memcpy(fds, w->fds, POLL_OWN * sizeof(*fds));
    terminal_poll(&fds[POLL_TERMINAL]);
    if (resting) /* events of the logs wake us only afterwards */
        fds[POLL_LOGS].fd = -1;
    time_ms span = longest_sleep(w, now, resting);
    const struct timespec wait = timespec_of(span);
    int ready = ppoll(fds, POLL_COUNT, span == TIME_NEVER ? NULL : &wait, NULL);
    now = clock_read_steady();
    terminal_relay(w->shim);
    if (w->fds[POLL_SIGNAL].fd < 0)
        watch_signals(w->shim);
    else if (ready > 0 && fds[POLL_SIGNAL].revents)
        take_signals(w);
    if (ready > 0 && fds[POLL_TIMER].revents) {
        uint64_t times;
        (void)!read(w->fds[POLL_TIMER].fd, &times, sizeof(times));
        w->timer_at = 0;
    }
    if ((ready > 0 && fds[POLL_LOGS].revents) || (!w->quiet && now >= w->trim_at)
        || now >= idle_at(w))
        trim_logs(w, now);
}

static void wait_first(struct watching *w) {
    time_ms begin = clock_read_steady();
    time_ms until = time_min(begin + FIRST_MS, idle_at(w)); /* the logs are not watched yet */
    for (time_ms now = begin; w->shim->leader != 0 && now < until; now = clock_read_steady()) {
        apply_due(w, now);
        time_ms next = time_min(until, next_due(w));
        int signal = w->shim->leader != 0 && next > now ? fetch_signal(w->shim, next - now) : 0;
        take_signal(w->shim, signal);
    }
}

/* Slurm's SIGTERM reaches the command and the shim in any order: a command that it ended did not
 * end by itself, however it handled the signal. Unless it succeeded: then the signal does not
 * matter. */
static enum verdict final_verdict(const struct watching *w) {
    struct shim *s = w->shim;
    if (w->verdict != VERDICT_NONE || s->kill_wait == 0
        || (WIFEXITED(s->status) && WEXITSTATUS(s->status) == 0))
        return w->verdict;
    if (!s->stop_wanted)
        take_signal(s, fetch_signal(s, TERM_LATE));
    return s->stop_wanted ? VERDICT_STOPPED : VERDICT_NONE;
}

enum verdict watch_leader(struct shim *s, const struct watch *watch) {
    time_ms now = clock_read_steady();
    struct watching w = {
        .shim = s,
        .watch = watch,
        .kill_at = TIME_NEVER,
        .idle_since = now,
        .trim_at = TIME_NEVER,
        .measure_at = s->watch_memory || s->watch_processes ? now + LIMITS_MS : TIME_NEVER,
    };
    wait_first(&w);
    if (s->leader == 0)
        return final_verdict(&w);
    open_all(&w);
    while (s->leader != 0) {
        apply_due(&w, clock_read_steady());
        if (s->leader != 0)
            wait_for_event(&w);
    }
    for (int i = 0; i < POLL_OWN; i++)
        fd_closep(&w.fds[i].fd);
    return final_verdict(&w);
}
