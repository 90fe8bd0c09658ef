/* daemon.c: starts in an order in which each step protects the next, stops in the reverse.
 *
 * The home's lock comes first: its holder is the daemon of this home, so it may open the store,
 * adopt runs, remove a stale socket and listen. The socket comes last: every client that can
 * connect is answered.
 *
 * A standby listens before it has the store, with a server without an engine. When it gets the
 * store, the same server gets the engine. A daemon that has lost its store shuts everything down
 * and begins again as a standby: its state may be outdated, and nothing of it must reach the next
 * life. */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/server.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "bus/poster.h"
#include "config/config.h"
#include "daemon/services.h"
#include "daemon/standby.h"
#include "engine/data_folder.h"
#include "engine/engine.h"
#include "engine/follow.h"
#include "engine/loops.h"
#include "engine/sandboxes.h"
#include "engine/schedules.h"
#include "executor/executor.h"
#include "ops/op.h"
#include "os/clock.h"
#include "os/home.h"
#include "os/log.h"
#include "os/loop.h"
#include "os/outside.h"
#include "os/proc.h"
#include "store/await.h"
#include "store/store.h"

/* $SLUICE_SHIM, else beside this program, else in ../libexec/sluice. A daemon without its shim
 * could start nothing, so it is looked up at the start. The caller frees. */
static int find_shim(char **ret_path, struct error *err) {
    const char *given = getenv("SLUICE_SHIM");
    if (given && access(given, X_OK) == 0) {
        *ret_path = xstrdup(given);
        return 0;
    }
    if (given)
        return error_set(err, -ENOENT, "SLUICE_SHIM: '%s' cannot be executed", given);
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        return error_set(err, -errno, "/proc/self/exe: %s", strerror(errno));
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    static const char *const folders[] = { "", "/../libexec/sluice" };
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        _cleanup_(freep) char *path = xasprintf("%s%s/sluice-shim", self, folders[i]);
        if (access(path, X_OK) == 0) {
            *ret_path = TAKE_PTR(path);
            return 0;
        }
    }
    return error_set(err, -ENOENT, "sluice-shim is not beside '%s/sluiced': install it there",
                     self);
}

/* --- the home --------------------------------------------------------------------------------- */

/* The store has a lock of its own, but the configuration may put the store anywhere: two daemons
 * with two stores in one home would adopt each other's runs and remove each other's socket. The pid
 * in the file is informative; the lock is what counts. */

#define TRIES_MAX 500 /* of 10 ms */

/* The pid in the file; 0: none. */
static long named_pid(int fd) {
    char text[32] = "";
    ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
    return length > 0 ? strtol(text, NULL, 10) : 0;
}

/* A daemon that was killed while it spawned a process leaves a child that holds its locks until
 * exec, which can take a while on a busy machine. So the lock is retried when the process that the
 * file names is dead. */
static int lock_soon(int fd) {
    int r;
    for (int tries = 0; (r = flock(fd, LOCK_EX | LOCK_NB)) < 0 && errno == EWOULDBLOCK; tries++) {
        long pid = named_pid(fd);
        if (tries >= TRIES_MAX || pid <= 0 || !proc_has_ended(pid)) {
            errno = EWOULDBLOCK;
            break;
        }
        (void)poll(NULL, 0, 10);
    }
    return r;
}

/* Locks the home as long as the descriptor is open, at most until the process ends. -EBUSY: another
 * process has it. */
static int home_lock(const struct home *home, int *ret_fd, struct error *err) {
    int fd =
        outside_open(AT_FDCWD, home->pid_lock, O_RDWR | O_CREAT | OUTSIDE_PARENT_LINKS, NULL, err);
    if (fd < 0)
        return fd;
    if (lock_soon(fd) == 0) {
        if (ftruncate(fd, 0) == 0)
            (void)dprintf(fd, "%d\n", (int)getpid());
        *ret_fd = fd;
        return 0;
    }
    bool is_busy = errno == EWOULDBLOCK;
    int r = is_busy ? -EBUSY : error_set_errno(err, "lock", home->pid_lock);
    long pid = is_busy ? named_pid(fd) : 0;
    if (pid > 0)
        error_set(err, r,
                  "the home '%s' is in use by another process (pid %ld): stop that daemon first",
                  home->data, pid);
    else if (is_busy)
        error_set(err, r, "the home '%s' is in use by another process", home->data);
    close(fd);
    return r;
}

/* --- the daemon ------------------------------------------------------------------------------- */

#define STOP_PATIENCE SECONDS(2) /* for answers in progress */
#define SHORT_LIFE    SECONDS(5) /* of an active daemon: the next one waits before it starts */
#define PAUSE_FIRST   200        /* ms of that wait; doubles */
#define PAUSE_MOST    SECONDS(2)

/* Passed from one life of the daemon to the next. */
struct lives {
    int ready_fd;    /* -1: `ready` has been written */
    bool was_active; /* the last life was active, or about to be, and has lost the store */
    time_ms pause;   /* before the next one opens the store */
};

struct daemon {
    const struct daemon_options *options;
    const struct home *home;
    struct lives *lives;
    struct config *config;   /* owned until the engine takes it */
    struct standby *standby; /* while there is no store */
    struct loop *loop;
    struct store *store;
    struct engine *engine;
    struct bus_poster *bus;
    struct lifecycle *lifecycle;
    struct notify *notify;
    struct write_back *write_back;
    struct telemetry *telemetry;
    struct collector *collector;
    struct mirror *mirror;
    struct server *server;
    struct tcp_listener *tcp;
    struct loop_timer *stop_timer;
    time_ms active_since; /* steady */
    int lock;             /* of the home; -1: not yet */
    bool stopping, impatient;
    bool stands_by; /* it becomes a standby if it loses the store */
};

/* One write: the reader gets the complete line or nothing. */
void daemon_report_start(int ready_fd, const char *line) {
    if (ready_fd < 0)
        return;
    (void)!dprintf(ready_fd, "%s\n", line); /* the reader may have exited */
    close(ready_fd);
}

/* Without a file all values are defaults. */
static int read_config(const struct home *home, struct config **ret_config, struct error *err) {
    struct config *config = config_new();
    bool there = access(home->config_file, F_OK) == 0 || errno != ENOENT;
    int r = there ? config_read_file(config, home->config_file, err) : 0;
    if (r < 0) {
        config_free(config);
        return r;
    }
    *ret_config = config;
    return 0;
}

static const char *store_url(const struct home *home, const struct config *config) {
    const char *url = config_text(config, "store.url", NULL);
    return *url ? url : home->database;
}

int daemon_store_url(const struct home *home, char **ret_url, struct error *err) {
    struct config *config = NULL;
    int r = read_config(home, &config, err);
    if (r < 0)
        return r;
    *ret_url = xstrdup(store_url(home, config));
    config_free(config);
    return 0;
}

/* --- stop and reload -------------------------------------------------------------------------- */

static void stop_waiting(void *ctx) {
    struct daemon *d = ctx;
    d->impatient = true;
}

static void begin_stop(void *ctx) {
    struct daemon *d = ctx;
    if (d->stopping)
        return;
    d->stopping = true;
    log_info("stopping; running tasks continue");
    server_stop_accepting(d->server);
    if (d->engine) {
        engine_backup_cancel(d->engine);
        follow_end(d->engine);
    }
    d->stop_timer = loop_timer_new(d->loop, stop_waiting, d);
    loop_timer_set(d->loop, d->stop_timer, loop_now_steady(d->loop) + STOP_PATIENCE);
}

static void on_stop_signal(void *ctx, int signal) {
    (void)signal;
    begin_stop(ctx);
}

struct reload {
    struct engine_request request;
    struct daemon *daemon;
    struct error err;
};

static int reload_run(struct engine *engine, struct engine_request *request) {
    struct reload *reload = (struct reload *)request;
    struct config *config = NULL;
    int r = read_config(reload->daemon->home, &config, &reload->err);
    if (r < 0)
        return r;
    r = engine_set_config(engine, config, &reload->err);
    if (r < 0)
        config_free(config);
    return r;
}

static void reload_done(struct engine *engine, struct engine_request *request,
                        enum store_outcome outcome, const struct error *err) {
    struct reload *reload = (struct reload *)request;
    (void)engine;
    if (reload->err.code < 0)
        log_warning("the configuration was not changed: %s", reload->err.text);
    else if (outcome != STORE_OK)
        log_warning("configuration reloaded, but the change could not be stored: %s", err->text);
    else
        log_info("configuration reloaded");
    tcp_listener_reload(reload->daemon->tcp);
    free(reload);
}

static void reload_standby(struct daemon *d) {
    struct error err = { 0 };
    struct config *config = NULL;
    if (read_config(d->home, &config, &err) < 0) {
        log_warning("the configuration was not changed: %s", err.text);
        return;
    }
    standby_set_config(d->standby, config);
    config_free(d->config);
    d->config = config;
}

static void on_reload_signal(void *ctx, int signal) {
    struct daemon *d = ctx;
    (void)signal;
    if (!d->engine) {
        reload_standby(d);
        return;
    }
    struct reload *reload = xcalloc(1, sizeof(*reload));
    reload->request.run = reload_run;
    reload->request.done = reload_done;
    reload->daemon = d;
    engine_request(d->engine, &reload->request);
}

static void on_event(void *ctx, const struct event_row *event) {
    struct daemon *d = ctx;
    server_publish(d->server, event);
    tcp_listener_event(d->tcp, event);
    if (event->task && strcmp(event->kind, "run.ended") == 0) {
        server_run_ended(d->server, event->task, event->attempt);
        telemetry_run_ended(d->telemetry, event->task, event->attempt);
    }
}

static void set_limits(struct daemon *d) {
    const struct config *config = engine_config(d->engine);
    server_set_limits(d->server, (unsigned)config_number(config, "http.connections", NULL),
                      (unsigned)config_number(config, "http.streams", NULL));
}

/* A stopping daemon ends the loop as soon as the last answer is sent, requested launches are done
 * and the followers of the events have finished their current work. A commit in progress is always
 * waited for. */
static void after_turn(void *ctx) {
    struct daemon *d = ctx;
    telemetry_check_config(d->telemetry);
    set_limits(d);
    if (!d->stopping)
        tcp_listener_check_config(d->tcp);
    notify_check_config(d->notify);
    bool settled =
        server_is_idle(d->server) && !engine_is_launching(d->engine) && !follow_is_busy(d->engine);
    if (d->stopping && (settled || d->impatient) && !engine_is_committing(d->engine))
        loop_stop(d->loop);
}

/* A standby has no engine and knows no runs, but still refuses their processes. */
static enum server_peer identify(void *ctx, pid_t pid) {
    static const enum server_peer peers[] = {
        [ORIGIN_OUTSIDE] = SERVER_PEER_OWNER,
        [ORIGIN_RUN] = SERVER_PEER_RUN,
        [ORIGIN_UNKNOWN] = SERVER_PEER_UNKNOWN,
    };
    struct engine *engine = ((struct daemon *)ctx)->engine;
    return peers[executor_process_origin(engine ? engine_executor(engine) : NULL, pid)];
}

/* Changes at once when a standby takes over. */
static uint64_t identities(void *ctx) {
    struct engine *engine = ((struct daemon *)ctx)->engine;
    return engine ? 1 + executor_origin_epoch(engine_executor(engine)) : 0;
}

/* --- start ------------------------------------------------------------------------------------ */

static void report_progress(void *ctx, const char *what, unsigned percent) {
    (void)ctx;
    if (percent == 0)
        log_info("store: %s", what);
}

static void report_warning(void *ctx, const char *text) {
    (void)ctx;
    log_warning("store: %s", text);
}

/* `awaited`: the wait for this store, or NULL; consumed. */
static int open_store(struct daemon *d, const char *url, struct store_await *awaited,
                      struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf who = STRBUF_INIT;
    standby_print_who(d->home, d->config, &who);
    struct store_options options = {
        .url = url,
        .loop = d->loop,
        .progress = report_progress,
        .log = report_warning,
        .awaited = awaited,
        .who = strbuf_text(&who),
    };
    struct store_report report;
    int r = store_open(&options, &d->store, &report, err);
    if (r < 0)
        return r;
    if (report.was_unclean)
        log_warning("the last daemon did not close the store: it was checked and is sound");
    if (report.migrated_from)
        log_info("store migrated from version %" PRIu32 "; the copy before that: %s",
                 report.migrated_from, report.backup);
    return 0;
}

static int start_engine(struct daemon *d, struct error *err) {
    _cleanup_(freep) char *shim = NULL;
    int r = find_shim(&shim, err);
    if (r < 0)
        return r;
    struct config *config = TAKE_PTR(d->config); /* owned by the engine from now on */
    struct engine_options options = {
        .loop = d->loop,
        .bus = d->bus,
        .config = config,
        .store = d->store,
        .home = d->home->data,
        .config_file = d->home->config_file,
        .socket_path = d->home->socket,
        .run_socket_path = d->home->run_socket,
        .shim_path = shim,
        .version = SLUICE_VERSION,
        .open_files = d->options->open_files,
        .environment = environ,
    };
    r = engine_new(&options, &d->engine, err);
    if (r < 0)
        return r;
    engine_try_sandbox(d->engine);
    engine_set_spawner(d->engine, spawn_tasks, NULL);
    engine_set_firing(d->engine, fire_tasks, NULL);
    d->notify = notify_new(d->engine, d->loop);
    d->write_back = write_back_new(d->engine, d->loop);
    d->telemetry = telemetry_new(d->engine, d->loop);
    d->collector = collector_new(d->engine, d->loop);
    d->mirror = mirror_new(d->engine, d->loop);
    d->lifecycle = lifecycle_new(d->engine, d->loop, d->bus);
    struct engine_report found;
    r = engine_start(d->engine, &found, err);
    if (r < 0)
        return r;
    lifecycle_started(d->lifecycle);
    log_info("%" PRIu64 " tasks, %" PRIu64
             " unfinished; runs: %u live, %u ended meanwhile, %u lost, "
             "%u not ours, %u folders swept; %lld ms",
             found.tasks, found.unfinished, found.adopted, found.ended, found.lost, found.external,
             found.swept, (long long)found.took);
    if (found.unreachable > 0)
        log_warning("%u runs are on other hosts and stay as they are: see 'sluice host list'",
                    found.unreachable);
    if (found.found > 0)
        log_info("%u of these runs are younger than the store and were found by their folders",
                 found.found);
    return 0;
}

static int watch_signals(struct daemon *d, struct error *err) {
    int r = loop_signal(d->loop, SIGTERM, on_stop_signal, d, err);
    r = r == 0 ? loop_signal(d->loop, SIGINT, on_stop_signal, d, err) : r;
    return r == 0 ? loop_signal(d->loop, SIGHUP, on_reload_signal, d, err) : r;
}

static void describe_standby(void *ctx, struct server_standby *ret) {
    standby_describe(((struct daemon *)ctx)->standby, ret);
}

/* `d->engine` may be NULL: a standby. */
static void make_server(struct daemon *d) {
    struct server_options options = { .stop_asked = begin_stop,
                                      .identify = identify,
                                      .identities = identities,
                                      .standby = describe_standby,
                                      .ctx = d,
                                      .web_dir = d->options->web_dir };
    d->server = server_new(d->loop, d->engine, &options);
}

static int listen_here(struct daemon *d, struct error *err) {
    /* First: a client that finds the owner's socket may rely on both. */
    int r = server_listen_runs(d->server, d->home->run_socket, err);
    struct error problem = { 0 };
    if (r == 0 && home_share_socket(d->home->run_socket, &problem) < 0)
        log_warning("runs in a sandbox do not reach this daemon: %s", problem.text);
    return r == 0 ? server_listen_unix(d->server, d->home->socket, err) : r;
}

static void report_start(struct daemon *d, const char *line) {
    daemon_report_start(d->lives->ready_fd, line);
    d->lives->ready_fd = -1;
}

/* --- standby ---------------------------------------------------------------------------------- */

static void store_came_free(void *ctx) {
    loop_stop(((struct daemon *)ctx)->loop);
}

static void check_standby_stopped(void *ctx) {
    struct daemon *d = ctx;
    if (d->stopping && (server_is_idle(d->server) || d->impatient))
        loop_stop(d->loop);
}

/* Opens the store that has become free. 1: not free after all. A changed store.url takes effect at
 * the next start, as for an active daemon. */
static int take_store(struct daemon *d, struct error *err) {
    reload_standby(d);
    const char *url;
    struct store_await *awaited = standby_take(d->standby, &url);
    if (strcmp(url, store_url(d->home, d->config)) != 0)
        log_warning("store.url has changed: the store that was waited for is used until the next "
                    "start");
    int r = open_store(d, url, awaited, err);
    if (!standby_can_go_on(r))
        return r;
    standby_again(d->standby, err);
    return 1;
}

static int begin_standby(struct daemon *d, struct error *err) {
    make_server(d);
    struct standby_options options = { .loop = d->loop,
                                       .home = d->home,
                                       .url = store_url(d->home, d->config),
                                       .pause = d->lives->was_active ? d->lives->pause : 0,
                                       .was_active = d->lives->was_active,
                                       .free = store_came_free,
                                       .ctx = d };
    int r = standby_new(&options, d->config, &d->standby, err);
    if (r == 0)
        r = watch_signals(d, err);
    if (r == 0)
        r = listen_here(d, err);
    if (r < 0)
        return r;
    struct error problem = { 0 };
    if (tcp_listen_configured(d->server, d->config, &problem) < 0)
        log_warning("http.listen: %s", problem.text);
    else if (server_url(d->server))
        log_info("standby: TCP listener at %s", server_url(d->server));
    log_info("standby (pid %d, version %s, home %s)", (int)getpid(), SLUICE_VERSION, d->home->data);
    report_start(d, "ready");
    loop_set_round(d->loop, check_standby_stopped, d);
    return 0;
}

/* Waits until the store is open. 1: it was stopped instead. */
static int stand_by(struct daemon *d, struct error *err) {
    int r = begin_standby(d, err);
    if (r < 0)
        return r;
    do {
        r = loop_run(d->loop, err);
        if (r < 0 || d->stopping)
            return r < 0 ? r : 1;
        r = take_store(d, err);
    } while (r == 1);
    if (r < 0)
        return r;
    loop_set_round(d->loop, NULL, NULL);
    log_info("the store is free: this daemon is the active one now");
    return 0;
}

/* --- active ----------------------------------------------------------------------------------- */

/* 1: stopped as a standby. */
static int get_store(struct daemon *d, struct error *err) {
    d->stands_by = config_number(d->config, "daemon.standby", NULL) != 0;
    if (d->lives->was_active)
        return stand_by(d, err);
    const char *url = store_url(d->home, d->config);
    int r = open_store(d, url, NULL, err);
    /* A first start that is refused fails at once unless another daemon holds the store. */
    char who[STORE_WHO_MAX] = "";
    if (d->stands_by
        && (standby_can_wait(r)
            || (standby_can_go_on(r) && store_holder(url, who, NULL) == 0 && *who)))
        return stand_by(d, err);
    return r;
}

static int begin_active(struct daemon *d, struct error *err) {
    int r = start_engine(d, err);
    if (r < 0)
        return r;
    bool listens = d->server != NULL;
    if (listens)
        server_set_engine(d->server, d->engine);
    else
        make_server(d);
    set_limits(d);
    d->standby = standby_free(d->standby);
    d->tcp = tcp_listener_new(d->engine, d->loop, d->server);
    engine_set_publisher(d->engine, on_event, d);
    engine_set_after_turn(d->engine, after_turn, d);
    d->active_since = clock_read_steady();
    if (listens)
        return 0;
    r = watch_signals(d, err);
    return r == 0 ? listen_here(d, err) : r;
}

/* 0: active; 1: it was stopped as a standby. */
static int start(struct daemon *d, struct error *err) {
    const char *web_dir = d->options->web_dir;
    struct stat st;
    if (web_dir && !(stat(web_dir, &st) == 0 && S_ISDIR(st.st_mode)))
        return error_set(err, -ENOENT,
                         "'%s' is not a directory: --web-dir wants that of the built dashboard",
                         web_dir);
    int r = loop_new(&d->loop, err);
    if (r == 0)
        r = home_make(d->home, err);
    if (r == 0)
        r = home_lock(d->home, &d->lock, err);
    if (r == 0)
        r = read_config(d->home, &d->config, err);
    if (r == 0)
        r = data_folder_check(d->config, d->home->data, err);
    if (r == 0) {
        _cleanup_(freep) char *data = config_data_folder(d->config, d->home->data);
        r = bus_poster_new(d->loop, data, &d->bus, err);
    }
    if (r == 0)
        r = get_store(d, err);
    return r == 0 ? begin_active(d, err) : r;
}

static int finish(struct daemon *d) {
    bool broken = d->engine && engine_is_broken(d->engine);
    if (broken) {
        struct error why = { 0 };
        log_error("%s", engine_why_broken(d->engine));
        error_set(&why, -EIO, "%s", engine_why_broken(d->engine));
        store_give_up(d->store, &why); /* a query may have failed during a commit */
    }
    if (d->engine)
        d->stands_by = config_number(engine_config(d->engine), "daemon.standby", NULL) != 0;
    tcp_listener_free(d->tcp);
    server_free(d->server);
    standby_free(d->standby);
    notify_free(d->notify);
    write_back_free(d->write_back);
    telemetry_free(d->telemetry);
    collector_free(d->collector);
    mirror_free(d->mirror);
    bus_poster_free(d->bus); /* its last callbacks need the engine */
    engine_free(d->engine);
    lifecycle_free(d->lifecycle);
    store_close(d->store);
    config_free(d->config);
    if (d->loop)
        loop_timer_free(d->loop, d->stop_timer);
    loop_free(d->loop);
    if (d->lock >= 0)
        close(d->lock);
    return broken ? DAEMON_BROKEN : DAEMON_OK;
}

/* Returns an exit status; DAEMON_BROKEN with `stands_by`: the next life follows. */
static int live(struct daemon *d) {
    struct error err = { 0 };
    int r = start(d, &err);
    if (r < 0) {
        log_error("%s", err.text);
        report_start(d, err.text);
        /* The server can close the connection while a standby that has opened the store still loads
         * it. */
        bool lost = d->standby && d->store && standby_can_wait(r);
        (void)finish(d);
        if (lost)
            return DAEMON_BROKEN;
        return r == -EBUSY ? DAEMON_BUSY : DAEMON_FAILED;
    }
    if (r == 0) {
        log_info("ready (pid %d, version %s, home %s)", (int)getpid(), SLUICE_VERSION,
                 d->home->data);
        report_start(d, "ready");
        r = loop_run(d->loop, &err);
    }
    if (r < 0)
        log_error("%s", err.text);
    int code = finish(d);
    return r < 0 ? DAEMON_FAILED : code;
}

int daemon_run(const struct daemon_options *options) {
    struct lives lives = { .ready_fd = options->ready_fd };
    for (;;) {
        struct daemon d = {
            .options = options, .home = options->home, .lives = &lives, .lock = -1
        };
        int code = live(&d);
        if (code == DAEMON_OK)
            log_info("stopped");
        else if (code == DAEMON_BROKEN && !d.stands_by)
            log_error("the store cannot be relied on: start again to find out what it has (nothing "
                      "that was acknowledged is lost)");
        if (code != DAEMON_BROKEN || !d.stands_by || d.stopping)
            return code;
        log_warning("this daemon is a standby now: nothing that was acknowledged is lost");
        bool brief = !d.active_since || clock_read_steady() - d.active_since < SHORT_LIFE;
        lives.pause = brief ? time_min(time_max(2 * lives.pause, PAUSE_FIRST), PAUSE_MOST) : 0;
        lives.was_active = true;
    }
}
