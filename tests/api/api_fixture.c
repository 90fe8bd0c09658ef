/* api_fixture.c: the server in its thread, and the client's side of a socket. */
#include "api_fixture.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fake_ops.h"
#include "harness/patience.h"
#include "harness/scratch.h"
#include "os/clock.h"
#include "os/loop.h"

struct api_inside {
    struct api api; /* first: what tests see */
    pthread_t thread;
    int event;
    struct loop_watch *watch;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    void (*function)(struct api *api, void *arg);
    void *arg;
    bool done, stop_asked;
};

static struct api_inside *inside_of(struct api *api) {
    return (struct api_inside *)api;
}

/* --- the loop's side ----------------------------------------------------------------------------- */

static struct api_inside *current; /* one server per test program at a time */

static void publish(uint64_t seq) {
    struct event_row row = fake_event_row(seq);
    server_publish(current->api.server, &row);
}

static void run_has_ended(void) {
    server_run_ended(current->api.server, 1, 2);
}

static void stop_asked(void *ctx) {
    ((struct api_inside *)ctx)->stop_asked = true;
}

static void round_ended(void *ctx) {
    (void)ctx;
    fake_turn();
}

static void function_ready(void *ctx, int fd, unsigned events) {
    struct api_inside *inside = ctx;
    uint64_t count;
    (void)events;
    (void)!read(fd, &count, sizeof(count));
    pthread_mutex_lock(&inside->mutex);
    inside->function(&inside->api, inside->arg);
    inside->done = true;
    pthread_cond_signal(&inside->cond);
    pthread_mutex_unlock(&inside->mutex);
}

static void *run_loop(void *ctx) {
    struct api_inside *inside = ctx;
    (void)loop_run(inside->api.loop, NULL);
    return NULL;
}

void api_do(struct api *api, void (*function)(struct api *api, void *arg), void *arg) {
    struct api_inside *inside = inside_of(api);
    uint64_t one = 1;
    pthread_mutex_lock(&inside->mutex);
    inside->function = function;
    inside->arg = arg;
    inside->done = false;
    (void)!write(inside->event, &one, sizeof(one));
    while (!inside->done)
        pthread_cond_wait(&inside->cond, &inside->mutex);
    pthread_mutex_unlock(&inside->mutex);
}

struct api *api_start(const struct server_options *options) {
    struct error err = { 0 };
    struct api_inside *inside = xcalloc(1, sizeof(*inside));
    struct api *api = &inside->api;
    struct server_options own = *options;
    own.stop_asked = stop_asked;
    own.ctx = inside;
    current = inside;
    fake_reset();
    fake.publish = publish;
    fake.run_ended = run_has_ended;
    scratch_make(api->folder, "api");
    (void)snprintf(api->path, sizeof(api->path), "%s/s/sluice.sock", api->folder);
    pthread_mutex_init(&inside->mutex, NULL);
    pthread_cond_init(&inside->cond, NULL);
    assert_int_equal(loop_new(&api->loop, &err), 0);
    loop_set_round(api->loop, round_ended, inside);
    inside->event = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(
        loop_watch(api->loop, inside->event, LOOP_READ, function_ready, inside, &inside->watch), 0);
    api->server = server_new(api->loop, NULL, &own);
    if (server_listen_unix(api->server, api->path, &err) < 0)
        fail_msg("cannot listen: %s", err.text);
    sigset_t all, old; /* signals are the test's */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    assert_int_equal(pthread_create(&inside->thread, NULL, run_loop, inside), 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return api;
}

static void stop_loop(struct api *api, void *arg) {
    (void)arg;
    loop_stop(api->loop);
}

void api_stop(struct api *api) {
    struct api_inside *inside = inside_of(api);
    api_do(api, stop_loop, NULL);
    pthread_join(inside->thread, NULL);
    server_free(api->server);
    fake_turn(); /* frees what was abandoned and still waits */
    loop_unwatch(api->loop, inside->watch);
    close(inside->event);
    loop_free(api->loop);
    scratch_remove(api->folder);
    free(inside);
}

void api_stopp(struct api **api) {
    api_stop(*api);
}

/* --- asking the loop ------------------------------------------------------------------------------ */

static void get_stats(struct api *api, void *arg) {
    server_stats(api->server, arg);
}

struct server_stats api_stats(struct api *api) {
    struct server_stats stats;
    api_do(api, get_stats, &stats);
    return stats;
}

/* A timer of the loop ends the span, so that nothing but the loop is waited for. */
struct span {
    struct loop *loop;
    struct loop_timer *timer;
    time_ms span;
    uint64_t before, after;
    int over;
};

static void span_over(void *ctx) {
    struct span *span = ctx;
    uint64_t one = 1;
    span->after = loop_wakeups(span->loop);
    loop_timer_free(span->loop, span->timer);
    (void)!write(span->over, &one, sizeof(one));
}

static void begin_span(struct api *api, void *arg) {
    struct span *span = arg;
    span->loop = api->loop;
    span->before = loop_wakeups(api->loop);
    span->timer = loop_timer_new(api->loop, span_over, span);
    loop_timer_set(api->loop, span->timer, loop_now_steady(api->loop) + span->span);
}

uint64_t api_wakeups_within(struct api *api, time_ms length) {
    struct span span = { .span = length, .over = eventfd(0, EFD_CLOEXEC) };
    uint64_t count;
    api_do(api, begin_span, &span);
    (void)!read(span.over, &count, sizeof(count));
    close(span.over);
    return span.after - span.before - 1; /* the timer's own */
}

static void get_waiting(struct api *api, void *arg) {
    (void)api;
    *(size_t *)arg = fake.waiting_count;
}

static void get_abandoned(struct api *api, void *arg) {
    (void)api;
    *(size_t *)arg = fake.abandoned;
}

static size_t get_size(struct api *api, void (*function)(struct api *api, void *arg)) {
    size_t value;
    api_do(api, function, &value);
    return value;
}

size_t api_waiting(struct api *api) {
    return get_size(api, get_waiting);
}

size_t api_abandoned(struct api *api) {
    return get_size(api, get_abandoned);
}

/* Each check is a round of the loop, so this is as fast as the server. */
static void wait_for(struct api *api, const char *what, size_t (*look)(struct api *api),
                     size_t value) {
    time_ms deadline = clock_read_steady() + patience_ms();
    size_t now;
    while ((now = look(api)) != value)
        if (clock_read_steady() > deadline)
            fail_msg("waited for %zu %s, there are %zu", value, what, now);
}

void api_wait_for_calls(struct api *api, size_t count) {
    wait_for(api, "waiting calls", api_waiting, count);
}

void api_wait_for_abandoned(struct api *api, size_t count) {
    wait_for(api, "abandoned calls", api_abandoned, count);
}

void api_wait_stat(struct api *api, const char *name, size_t offset, uint64_t value) {
    time_ms deadline = clock_read_steady() + patience_ms();
    for (;;) {
        struct server_stats stats = api_stats(api);
        uint64_t now;
        memcpy(&now, (const char *)&stats + offset, sizeof(now));
        if (now == value)
            return;
        if (clock_read_steady() > deadline)
            fail_msg("waited for %s to be %lu, it is %lu", name, (unsigned long)value,
                     (unsigned long)now);
    }
}

static void release(struct api *api, void *arg) {
    (void)api;
    (void)arg;
    fake_release();
}

void api_release(struct api *api) {
    api_do(api, release, NULL);
}

static void get_done_once(struct api *api, void *arg) {
    (void)api;
    *(size_t *)arg = fake.done_once;
}

size_t api_done_once(struct api *api) {
    return get_size(api, get_done_once);
}

static void add_event(struct api *api, void *arg) {
    const struct fake_event *event = arg;
    (void)api;
    publish(fake_add_event(event->task, event->data));
}

void api_event(struct api *api, task_id task, const char *data) {
    struct fake_event event = { .task = task };
    (void)snprintf(event.data, sizeof(event.data), "%s", data ? data : "");
    api_do(api, add_event, &event);
}

static void add_events(struct api *api, void *arg) {
    (void)api;
    for (size_t left = *(size_t *)arg; left > 0; left--)
        publish(fake_add_event(1, NULL));
}

void api_events(struct api *api, size_t count) {
    api_do(api, add_events, &count);
}

static void prune(struct api *api, void *arg) {
    (void)api;
    fake.first_event = *(uint64_t *)arg;
}

void api_prune(struct api *api, uint64_t first) {
    api_do(api, prune, &first);
}

struct log_set {
    const char *name;
    uint64_t offset;
    bool follow;
    enum op_log_format format;
    bool is_merged;
    uint64_t tail;
};

static void set_log(struct api *api, void *arg) {
    const struct log_set *set = arg;
    api_log_path(api, set->name, fake.log_path);
    fake.log_offset = set->offset;
    fake.log_follow = set->follow;
    fake.log_format = set->format;
    fake.log_is_merged = set->is_merged;
    fake.log_tail = set->tail;
}

void api_log_path(struct api *api, const char *name, char path[192]) {
    (void)snprintf(path, 192, "%s/%s", api->folder, name);
}

void api_log(struct api *api, const char *name, uint64_t offset, bool follow) {
    struct log_set set = { name, offset, follow, OP_LOG_RAW, false, 0 };
    api_do(api, set_log, &set);
}

void api_log_merged(struct api *api, enum op_log_format format, uint64_t tail, bool follow) {
    struct log_set set = { "out.log", 0, follow, format, true, tail };
    api_do(api, set_log, &set);
}

struct run_of {
    task_id task;
    uint32_t attempt;
};

static void end_run(struct api *api, void *arg) {
    const struct run_of *run = arg;
    server_run_ended(api->server, run->task, run->attempt);
}

void api_run_ended(struct api *api, task_id task, uint32_t attempt) {
    struct run_of run = { task, attempt };
    api_do(api, end_run, &run);
}

static void get_stop_asked(struct api *api, void *arg) {
    *(bool *)arg = inside_of(api)->stop_asked;
}

bool api_stop_asked(struct api *api) {
    bool asked;
    api_do(api, get_stop_asked, &asked);
    return asked;
}

static void stop_accepting(struct api *api, void *arg) {
    (void)arg;
    server_stop_accepting(api->server);
}

void api_stop_accepting(struct api *api) {
    api_do(api, stop_accepting, NULL);
}

/* --- the client's side ------------------------------------------------------------------------- */

int api_connect(struct api *api) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", api->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        fail_msg("cannot connect to %s: %s", api->path, strerror(errno));
    return fd;
}

void api_send_bytes(int fd, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
        if (n < 0)
            fail_msg("cannot send %zu bytes to the server: %s", size, strerror(errno));
        at += n;
        size -= (size_t)n;
    }
}

void api_send(int fd, const char *text) {
    api_send_bytes(fd, text, strlen(text));
}

/* At most `max` bytes; 0: the server has closed. */
static size_t read_some(int fd, struct strbuf *text, size_t max) {
    char buffer[65536];
    struct pollfd poller = { .fd = fd, .events = POLLIN };
    if (poll(&poller, 1, patience_ms()) != 1)
        fail_msg("nothing more comes from the server; so far: '%s'", strbuf_text(text));
    ssize_t n = recv(fd, buffer, max < sizeof(buffer) ? max : sizeof(buffer), 0);
    if (n < 0 && errno != ECONNRESET)
        fail_msg("cannot read from the server: %s", strerror(errno));
    if (n > 0)
        strbuf_add(text, buffer, (size_t)n);
    return n > 0 ? (size_t)n : 0;
}

void api_read_until(int fd, struct strbuf *text, const char *needle) {
    while (!strstr(strbuf_text(text), needle))
        if (read_some(fd, text, SIZE_MAX) == 0)
            fail_msg("the server closed before '%s' came: '%s'", needle, strbuf_text(text));
}

void api_read_more(int fd, struct strbuf *text) {
    (void)read_some(fd, text, SIZE_MAX);
}

void api_read_exactly(int fd, struct strbuf *text, size_t size) {
    size_t end = text->length + size;
    while (text->length < end)
        if (read_some(fd, text, end - text->length) == 0)
            fail_msg("the server closed behind '%s'", strbuf_text(text));
}

void api_read_all(int fd, struct strbuf *text) {
    while (read_some(fd, text, SIZE_MAX) > 0)
        ;
}

void api_expect_closed(int fd) {
    _cleanup_(strbuf_finish) struct strbuf rest = STRBUF_INIT;
    api_read_all(fd, &rest);
    if (rest.length > 0)
        fail_msg("expected the end, got '%s'", rest.text);
}

void api_answer_finish(struct api_answer *answer) {
    strbuf_finish(&answer->head);
    strbuf_finish(&answer->body);
}

void api_read_answer(int fd, struct api_answer *ret) {
    strbuf_clear(&ret->head);
    strbuf_clear(&ret->body);
    while (!strstr(strbuf_text(&ret->head), "\r\n\r\n"))
        if (read_some(fd, &ret->head, 1) == 0)
            fail_msg("the server closed before an answer: '%s'", strbuf_text(&ret->head));
    const char *length = strstr(ret->head.text, "Content-Length: ");
    assert_non_null(length);
    size_t size = strtoul(length + strlen("Content-Length: "), NULL, 10);
    while (ret->body.length < size)
        if (read_some(fd, &ret->body, size - ret->body.length) == 0)
            fail_msg("the server closed inside an answer: '%s'", strbuf_text(&ret->body));
    ret->status = (int)strtol(ret->head.text + strlen("HTTP/1.1 "), NULL, 10);
}

void api_ask(int fd, const char *text, int status, struct api_answer *ret) {
    api_send(fd, text);
    api_read_answer(fd, ret);
    if (ret->status != status)
        fail_msg("expected status %d for '%s', got %d: %s", status, text, ret->status,
                 strbuf_text(&ret->body));
}

void api_once(struct api *api, const char *text, int status, struct api_answer *ret) {
    int fd = api_connect(api);
    api_ask(fd, text, status, ret);
    close(fd);
}
