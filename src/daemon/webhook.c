/* webhook.c: see webhook.h.
 *
 * Strictly in order: then the acknowledged position is one number, which a crash cannot tear, and
 * receivers see a task fail before they see it done. The price is that one message can delay all
 * others. So messages that the receiver refuses for their content get only a few attempts, and all
 * messages expire.
 *
 * The secret is read for each attempt: it can be changed without a restart, and is in memory only
 * while it is needed. It is in no argument, no environment of a command and no log. */
#include "daemon/webhook.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/queue.h"
#include "base/sha256.h"
#include "daemon/notify_news.h"
#include "engine/alert.h"
#include "engine/follow.h"
#include "engine/redaction.h"
#include "os/log.h"
#include "os/loop.h"
#include "os/outside.h"

#define ALERT_AFTER  MINUTES(10) /* of continuous failures */
#define GONE_PAUSE   HOURS(1)
#define REFUSALS_MAX 8u
#define STATUS_GONE  410
#define SECRET_MAX   4096u

#define ALERT_FAILING  "webhook"
#define ALERT_GIVEN_UP "webhook:given-up"

/* News not acknowledged yet. */
struct item {
    struct item *next;
    struct webhook *webhook;
    struct news *news;
    unsigned refusals;
    bool ready; /* the store's answer is in `news` */
};

typedef void (*webhook_then)(struct webhook *webhook, const struct http_result *result);

struct webhook {
    struct engine *engine;
    struct loop *loop;
    struct follower *follower;
    struct http_sender *sender;
    struct news_reader reader;
    QUEUE(struct item) waiting;
    bool on, has_config;     /* a URL is configured; cached per configuration */
    bool busy;               /* an attempt is in progress */
    webhook_then then;       /* called with it */
    struct loop_timer *soon; /* reports `failure` from the loop */
    struct http_result failure;
    bool saving;              /* the cursor is being written */
    struct loop_timer *timer; /* pause before the next attempt */
    bool pausing;             /* `timer` is set */
    time_ms pause;            /* the last pause; 0: the last attempt succeeded */
    time_ms failing_since;    /* steady clock; 0: not failing */
    char *tried;              /* the URL of the last attempt */
    struct {
        http_posted posted; /* NULL: no test is queued */
        void *ctx;
        struct news *news;
    } test;
};

static void send_next(struct webhook *w);

static const char *url_of(const struct webhook *w) {
    return config_text(engine_config(w->engine), "notify.webhook", NULL);
}

static time_ms span(const struct webhook *w, const char *key) {
    return config_number(engine_config(w->engine), key, NULL);
}

/* --- the secret ------------------------------------------------------------------------------- */

static int read_secret_file(const char *path, struct strbuf *ret, struct error *err) {
    _cleanup_(fd_closep) int fd = outside_open(AT_FDCWD, path, O_RDONLY | OUTSIDE_LINKS, NULL, err);
    char bytes[SECRET_MAX + 1];
    if (fd < 0)
        return error_prefix(err, "cannot read the secret");
    ssize_t size = read(fd, bytes, sizeof(bytes));
    if (size < 0)
        return error_set_errno(err, "read the secret", path);
    if ((size_t)size > SECRET_MAX || memchr(bytes, '\0', (size_t)size))
        return error_set(err, -EINVAL, "the secret '%s' has more than %u bytes, or a NUL", path,
                         SECRET_MAX);
    while (size > 0 && (bytes[size - 1] == '\n' || bytes[size - 1] == '\r'))
        size--; /* added by an editor */
    strbuf_add(ret, bytes, (size_t)size);
    explicit_bzero(bytes, sizeof(bytes));
    return size > 0 ? 0 : error_set(err, -EINVAL, "the secret '%s' is empty", path);
}

/* 1: none is configured. */
static int read_secret(const struct webhook *w, struct strbuf *ret, struct error *err) {
    const struct config *config = engine_config(w->engine);
    const char *path = config_text(config, "notify.secret_file", NULL);
    const char *name = config_text(config, "notify.secret_env", NULL);
    if (*path)
        return read_secret_file(path, ret, err);
    if (!*name)
        return 1;
    const char *value = getenv(name);
    if (!value || !*value)
        return error_set(err, -ENOENT,
                         "the daemon has no variable '%s' (notify.secret_env): start it again with "
                         "that in its environment",
                         name);
    strbuf_puts(ret, value);
    return 0;
}

/* --- the message ------------------------------------------------------------------------------ */

static int sign(const struct webhook *w, struct http_message *m, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf secret = STRBUF_INIT;
    struct hmac_sha256 hmac;
    uint8_t digest[SHA256_SIZE];
    char timestamp[24], hex[SHA256_HEX_SIZE];
    int r = read_secret(w, &secret, err);
    if (r != 0)
        return r < 0 ? r : 0;
    (void)snprintf(timestamp, sizeof(timestamp), "%" PRId64, loop_now(w->loop) / 1000);
    hmac_sha256_init(&hmac, strbuf_text(&secret), secret.length);
    hmac_sha256_add(&hmac, timestamp, strlen(timestamp));
    hmac_sha256_add(&hmac, ".", 1);
    hmac_sha256_add(&hmac, m->body, m->size);
    hmac_sha256_end(&hmac, digest);
    sha256_hex(digest, hex);
    explicit_bzero(&hmac, sizeof(hmac));
    if (secret.length > 0)
        explicit_bzero(secret.text, secret.length);
    http_message_add(m, xasprintf("Sluice-Timestamp: %s", timestamp));
    http_message_add(m, xasprintf("Sluice-Signature: v1=%s", hex));
    return 0;
}

static int fill_message(const struct webhook *w, const struct news *news, struct http_message *m,
                        struct error *err) {
    struct strbuf body = STRBUF_INIT;
    news_print(news, true, &body);
    m->size = body.length;
    m->body = strbuf_take(&body);
    m->timeout = span(w, "notify.timeout_s");
    http_message_add(m, xasprintf("Sluice-Id: %s", news->id));
    http_message_add(m, xasprintf("Sluice-Kind: %s", news_kind_name(news->kind)));
    int r = http_url_parse(url_of(w), &m->url, err);
    if (r < 0)
        return error_prefix(err, "notify.webhook");
    return sign(w, m, err);
}

/* --- one attempt ------------------------------------------------------------------------------ */

/* A receiver may repeat what it was sent, also an answer link; its text is logged. */
static void came_back(void *ctx, const struct http_result *result) {
    struct webhook *w = ctx;
    struct http_result shown = *result;
    engine_redact_in_place(w->engine, shown.text);
    w->busy = false;
    TAKE_PTR(w->then)(w, &shown);
}

static void failure_is_due(void *ctx) {
    const struct http_result result = ((struct webhook *)ctx)->failure;
    came_back(ctx, &result);
}

static void post(struct webhook *w, const struct news *news, webhook_then then) {
    struct error err = { 0 };
    struct http_message *m = http_message_new(w->engine);
    w->busy = true;
    w->then = then;
    free(w->tried);
    w->tried = xstrdup(url_of(w));
    int r = fill_message(w, news, m, &err);
    if (r == 0)
        r = http_sender_post(w->sender, m, &err); /* owns the message if it succeeds */
    if (r == 0)
        return;
    http_message_free(m);
    w->failure = (struct http_result){ 0 };
    (void)snprintf(w->failure.text, sizeof(w->failure.text), "%.390s", err.text);
    loop_timer_set(w->loop, w->soon, loop_now_steady(w->loop));
}

/* --- alerts ----------------------------------------------------------------------------------- */

/* Alerts are raised and cleared inside a turn. */
struct alert_request {
    struct engine_request request;
    const char *key;
    bool raises;
    char text[ERROR_TEXT_MAX];
};

static int alert_run(struct engine *engine, struct engine_request *request) {
    struct alert_request *a = (struct alert_request *)request;
    if (a->raises)
        engine_alert_raise(engine, a->key, a->text);
    else
        engine_alert_clear(engine, a->key);
    return 0;
}

static void alert_done(struct engine *engine, struct engine_request *request,
                       enum store_outcome outcome, const struct error *err) {
    (void)engine;
    (void)outcome; /* if it was not stored, it is requested again after the next attempt */
    (void)err;
    free(request);
}

_printf_(4, 5) static void set_alert(struct webhook *w, const char *key, bool open,
                                     const char *format, ...) {
    if (engine_alert_is_open(w->engine, key) == open)
        return;
    struct alert_request *a = xcalloc(1, sizeof(*a));
    va_list args;
    a->request.run = alert_run;
    a->request.done = alert_done;
    a->key = key;
    a->raises = open;
    va_start(args, format);
    (void)vsnprintf(a->text, sizeof(a->text), format, args);
    va_end(args);
    engine_request(w->engine, &a->request);
}

/* --- the queue -------------------------------------------------------------------------------- */

static void item_free(struct item *item) {
    news_free(item->news);
    free(item);
}

static void drop_first(struct webhook *w) {
    struct item *first = QUEUE_TAKE(&w->waiting);
    follower_done(w->follower, first->news->seq);
    item_free(first);
}

static void cursor_saved(void *ctx) {
    struct webhook *w = ctx;
    w->saving = false;
    send_next(w);
}

/* --- after an attempt ------------------------------------------------------------------------- */

static void acknowledged(struct webhook *w) {
    if (w->failing_since)
        log_info("the webhook takes notifications again");
    w->failing_since = w->pause = 0;
    drop_first(w);
    w->saving = !follower_save(w->follower, cursor_saved);
    set_alert(w, ALERT_FAILING, false, "over");
    set_alert(w, ALERT_GIVEN_UP, false, "over");
}

/* Drops the first message, and those after it that are too old. */
static void give_up_some(struct webhook *w, const struct http_result *result) {
    unsigned count = 0;
    for (struct item *item; (item = w->waiting.first) && item->ready; count++) {
        if (item->refusals < REFUSALS_MAX
            && loop_now(w->loop) - item->news->at < span(w, "notify.give_up_s"))
            break;
        log_warning("notification %s (%s) was given up: %s", item->news->id,
                    news_kind_name(item->news->kind), result->text);
        drop_first(w);
    }
    if (count == 0)
        return;
    w->saving = !follower_save(w->follower, cursor_saved);
    set_alert(w, ALERT_GIVEN_UP, true,
              "the webhook did not take %u %s in time: given up; 'sluice events' still has what "
              "happened (%.200s)",
              count, count == 1 ? "notification" : "notifications", result->text);
}

/* Respects Retry-After: never earlier. */
static void begin_pause(struct webhook *w, const struct http_result *result) {
    time_ms most = span(w, "notify.retry_max_s"), now = loop_now_steady(w->loop);
    w->pause = w->pause ? time_min(2 * w->pause, most) : span(w, "notify.retry_s");
    bool is_gone = result->status == STATUS_GONE;
    time_ms pause = is_gone ? GONE_PAUSE : w->pause;
    /* Jitter, so that daemons that lost the same receiver do not retry together. */
    pause += (time_ms)(hash_u64((uint64_t)now) % (uint64_t)(pause / 5 + 1)) - pause / 10;
    if (!is_gone && result->retry_after > 0)
        pause = time_max(result->retry_after, span(w, "notify.retry_s")) + pause / 10;
    w->pausing = true;
    loop_timer_set(w->loop, w->timer, time_add(now, pause));
}

static void failed(struct webhook *w, const struct http_result *result) {
    time_ms now = loop_now_steady(w->loop);
    if (!w->failing_since) {
        w->failing_since = now;
        log_warning("the webhook did not take a notification, which is tried again: %s",
                    result->text);
    }
    int status = result->status;
    w->waiting.first->refusals += status == 400 || status == 413 || status == 415 || status == 422;
    give_up_some(w, result);
    begin_pause(w, result);
    if (result->status == STATUS_GONE || now - w->failing_since >= ALERT_AFTER)
        set_alert(w, ALERT_FAILING, true,
                  "the webhook takes nothing: %.200s; look at 'notify.webhook', 'sluice notify "
                  "test' tries it; what waits is given up after %" PRId64 " h",
                  result->text, span(w, "notify.give_up_s") / HOURS(1));
}

static void pause_is_over(void *ctx) {
    struct webhook *w = ctx;
    w->pausing = false;
    send_next(w);
}

static void posted(struct webhook *w, const struct http_result *result) {
    follower_rest(w->follower, true);
    if (result->canceled)
        return;
    if (result->ok)
        acknowledged(w);
    else
        failed(w, result);
    send_next(w);
}

/* --- the next attempt ------------------------------------------------------------------------- */

/* The receiver works again, or is another one: the rest of a long pause is skipped. */
static void end_pause(struct webhook *w) {
    loop_timer_clear(w->loop, w->timer);
    w->pausing = false;
    w->pause = 0;
}

static void tested(struct webhook *w, const struct http_result *result) {
    http_posted report = TAKE_PTR(w->test.posted);
    w->test.news = news_free(w->test.news);
    if (result->ok && w->pausing)
        end_pause(w);
    report(w->test.ctx, result);
    send_next(w);
}

static void send_next(struct webhook *w) {
    if (w->busy || w->saving || follow_is_ending(w->engine))
        return;
    if (w->test.posted) {
        post(w, w->test.news, tested);
        return;
    }
    if (!w->waiting.first || !w->waiting.first->ready)
        return;
    if (!*url_of(w)) /* it was disabled */
        while (w->waiting.first && w->waiting.first->ready)
            drop_first(w);
    if (w->pausing || !w->waiting.first || !w->waiting.first->ready)
        return;
    follower_rest(w->follower, false);
    post(w, w->waiting.first->news, posted);
}

/* --- events ----------------------------------------------------------------------------------- */

static void completed(void *ctx) {
    struct item *item = ctx;
    item->ready = true;
    send_next(item->webhook);
}

void webhook_check_config(struct webhook *w) {
    if (!w->pausing || strcmp(w->tried, url_of(w)) == 0)
        return;
    end_pause(w);
    send_next(w);
}

static void handle(void *ctx, const struct event_row *event) {
    struct webhook *w = ctx;
    if (!w->has_config || strcmp(event->kind, "config.changed") == 0)
        w->on = *url_of(w) != '\0';
    w->has_config = true;
    struct news *news = w->on ? news_read(&w->reader, w->engine, event) : NULL;
    if (news) {
        struct item *item = xcalloc(1, sizeof(*item));
        *item = (struct item){ .webhook = w, .news = news };
        QUEUE_ADD(&w->waiting, item);
        news_complete(w->engine, news,
                      &(struct news_completion){ .wants_link = true, completed, item });
    } else {
        follower_done(w->follower, event->seq);
    }
}

bool webhook_test(struct webhook *w, http_posted done, void *ctx) {
    if (!*url_of(w))
        return false;
    w->test.posted = done;
    w->test.ctx = ctx;
    w->test.news = news_sample(loop_now(w->loop));
    send_next(w);
    return true;
}

/* --- life ------------------------------------------------------------------------------------- */

struct webhook *webhook_new(struct engine *engine, struct loop *loop) {
    struct webhook *w = xcalloc(1, sizeof(*w));
    w->engine = engine;
    w->loop = loop;
    w->timer = loop_timer_new(loop, pause_is_over, w);
    w->soon = loop_timer_new(loop, failure_is_due, w);
    w->sender = http_sender_new(engine, loop, came_back, w);
    w->follower = follower_new(engine, "webhook", handle, w);
    follower_rest(w->follower, true);
    return w;
}

struct webhook *webhook_free(struct webhook *w) {
    if (!w)
        return NULL;
    http_sender_free(w->sender);
    loop_timer_free(w->loop, w->soon);
    loop_timer_free(w->loop, w->timer);
    if (w->test.posted) {
        const struct http_result ends = { .canceled = true, .text = "the daemon ends" };
        w->test.posted(w->test.ctx, &ends);
        news_free(w->test.news);
    }
    for (struct item *first; (first = QUEUE_TAKE(&w->waiting));)
        item_free(first);
    news_reader_finish(&w->reader);
    free(w->tried);
    free(w);
    return NULL;
}
