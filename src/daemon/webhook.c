/* webhook.c: what is sent next, and what if it was not taken? See webhook.h.
 *
 * Strictly in order: what was acknowledged is then one number, which a crash cannot tear, and receivers see a
 * task fail before they see it done. The price is that one message can hold up all others. So those that the
 * receiver refuses for what they are get a few tries only, and all get an end. */
#include "daemon/webhook.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/queue.h"
#include "engine/alert.h"
#include "engine/follow.h"
#include "os/log.h"
#include "os/loop.h"

#define TELL_AFTER   MINUTES(10) /* of failures, a person is told by other ways */
#define GONE_PAUSE   HOURS(1)
#define REFUSALS_MAX 8u
#define STATUS_GONE  410

#define ALERT_FAILING  "webhook"
#define ALERT_GIVEN_UP "webhook:given-up"

/* One that is not acknowledged yet. */
struct item {
    struct item *next;
    struct webhook *webhook;
    struct news *news;
    unsigned refusals;
    bool ready; /* the store has said what it knows */
};

struct webhook {
    struct engine *engine;
    struct loop *loop;
    struct follower *follower;
    struct webhook_sender *sender;
    struct news_reader reader;
    QUEUE(struct item) waiting;
    bool on, looked;          /* there is a URL; asked once per configuration, not for each event */
    bool busy;                /* a try is on its way */
    bool saving;              /* the cursor is */
    struct loop_timer *timer; /* the pause before the next try; */
    bool pausing;             /* it is set */
    time_ms pause;            /* the last one; 0: the last try went well */
    time_ms failing_since;    /* steady; 0: it does not fail */
    char *tried;              /* the URL of the last try */
    struct {
        webhook_posted posted; /* NULL: none waits */
        void *ctx;
        struct news *news;
    } test;
};

static void go_on(struct webhook *w);

static const char *url_of(const struct webhook *w) {
    return config_text(engine_config(w->engine), "notify.webhook", NULL);
}

static time_ms span(const struct webhook *w, const char *key) {
    return config_number(engine_config(w->engine), key, NULL);
}

/* --- alerts ---------------------------------------------------------------------------------- */

/* They are raised and cleared inside a turn. */
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
    (void)outcome; /* what could not be stored is asked for again with the next try */
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

/* --- the queue ------------------------------------------------------------------------------- */

static void item_free(struct item *item) {
    news_free(item->news);
    free(item);
}

static void drop_first(struct webhook *w) {
    struct item *first = QUEUE_TAKE(&w->waiting);
    follower_done(w->follower, first->news->seq);
    item_free(first);
}

static void saved(void *ctx) {
    struct webhook *w = ctx;
    w->saving = false;
    go_on(w);
}

static void save(struct webhook *w) {
    w->saving = !follower_save(w->follower, saved);
}

/* --- after a try ----------------------------------------------------------------------------- */

static void acknowledged(struct webhook *w) {
    if (w->failing_since)
        log_info("the webhook takes notifications again");
    w->failing_since = w->pause = 0;
    drop_first(w);
    save(w);
    set_alert(w, ALERT_FAILING, false, "over");
    set_alert(w, ALERT_GIVEN_UP, false, "over");
}

static bool is_hopeless(const struct webhook *w, const struct item *item) {
    return item->refusals >= REFUSALS_MAX
           || loop_now(w->loop) - item->news->at >= span(w, "notify.give_up_s");
}

/* Those behind it that are too old go with it: the same server would refuse them. */
static void give_up_some(struct webhook *w, const struct webhook_result *result) {
    unsigned count = 0;
    for (; w->waiting.first && w->waiting.first->ready && is_hopeless(w, w->waiting.first);
         count++) {
        log_warning("notification %s (%s) was given up: %s", w->waiting.first->news->id,
                    news_kind_name(w->waiting.first->news->kind), result->text);
        drop_first(w);
    }
    if (count == 0)
        return;
    save(w);
    set_alert(w, ALERT_GIVEN_UP, true,
              "the webhook did not take %u %s in time: given up; 'sluice events' still has what "
              "happened (%.200s)",
              count, count == 1 ? "notification" : "notifications", result->text);
}

/* The same for all who come back, so it differs a little for each. */
static time_ms with_jitter(time_ms pause, uint64_t seed) {
    return pause - pause / 10 + (time_ms)(hash_u64(seed) % (uint64_t)(pause / 5 + 1));
}

/* A receiver that says how long knows better than we do; it is never asked before that. */
static void begin_pause(struct webhook *w, const struct webhook_result *result) {
    time_ms most = span(w, "notify.retry_max_s"), now = loop_now_steady(w->loop);
    w->pause = w->pause ? time_min(2 * w->pause, most) : span(w, "notify.retry_s");
    bool gone = result->status == STATUS_GONE, asks = !gone && result->retry_after > 0;
    time_ms pause = with_jitter(gone ? GONE_PAUSE : w->pause, (uint64_t)now);
    if (asks)
        pause = time_max(result->retry_after, span(w, "notify.retry_s")) + pause / 10;
    w->pausing = true;
    loop_timer_set(w->loop, w->timer, time_add(now, pause));
}

static bool is_refusal(int status) {
    return status == 400 || status == 413 || status == 415 || status == 422;
}

static void failed(struct webhook *w, const struct webhook_result *result) {
    time_ms now = loop_now_steady(w->loop);
    if (!w->failing_since) {
        w->failing_since = now;
        log_warning("the webhook did not take a notification, which is tried again: %s",
                    result->text);
    }
    w->waiting.first->refusals += is_refusal(result->status);
    give_up_some(w, result);
    begin_pause(w, result);
    if (result->status == STATUS_GONE || now - w->failing_since >= TELL_AFTER)
        set_alert(w, ALERT_FAILING, true,
                  "the webhook takes nothing: %.200s; look at 'notify.webhook', 'sluice notify "
                  "test' tries it; what waits is given up after %" PRId64 " h",
                  result->text, span(w, "notify.give_up_s") / HOURS(1));
}

static void pause_is_over(void *ctx) {
    struct webhook *w = ctx;
    w->pausing = false;
    go_on(w);
}

static void posted(void *ctx, const struct webhook_result *result) {
    struct webhook *w = ctx;
    w->busy = false;
    follower_rest(w->follower, true);
    if (result->canceled)
        return;
    if (result->ok)
        acknowledged(w);
    else
        failed(w, result);
    go_on(w);
}

/* --- a try ----------------------------------------------------------------------------------- */

/* Somebody has put it right: nobody waits for the end of a long pause. */
static void end_pause(struct webhook *w) {
    if (!w->pausing)
        return;
    loop_timer_clear(w->loop, w->timer);
    w->pausing = false;
    w->pause = 0;
}

static void tested(void *ctx, const struct webhook_result *result) {
    struct webhook *w = ctx;
    webhook_posted tell = w->test.posted;
    w->busy = false;
    w->test.posted = NULL;
    w->test.news = news_free(w->test.news);
    if (result->ok)
        end_pause(w);
    tell(w->test.ctx, result);
    go_on(w);
}

static void post(struct webhook *w, const struct news *news, webhook_posted then) {
    w->busy = true;
    free(w->tried);
    w->tried = xstrdup(url_of(w));
    webhook_sender_post(w->sender, news, then, w);
}

static void go_on(struct webhook *w) {
    if (w->busy || w->saving || follow_is_ending(w->engine))
        return;
    if (w->test.posted) {
        post(w, w->test.news, tested);
        return;
    }
    if (!w->waiting.first || !w->waiting.first->ready)
        return;
    if (!*url_of(w)) /* nobody is to be told any more */
        while (w->waiting.first && w->waiting.first->ready)
            drop_first(w);
    if (w->pausing || !w->waiting.first || !w->waiting.first->ready)
        return;
    follower_rest(w->follower, false);
    post(w, w->waiting.first->news, posted);
}

/* --- events ---------------------------------------------------------------------------------- */

static void completed(void *ctx) {
    struct item *item = ctx;
    item->ready = true;
    go_on(item->webhook);
}

void webhook_look(struct webhook *w) {
    if (!w->pausing || strcmp(w->tried, url_of(w)) == 0)
        return;
    end_pause(w);
    go_on(w);
}

static void handle(void *ctx, const struct event_row *event) {
    struct webhook *w = ctx;
    if (!w->looked || strcmp(event->kind, "config.changed") == 0)
        w->on = *url_of(w) != '\0';
    w->looked = true;
    struct news *news = w->on ? news_read(&w->reader, w->engine, event) : NULL;
    if (news) {
        struct item *item = xcalloc(1, sizeof(*item));
        *item = (struct item){ .webhook = w, .news = news };
        QUEUE_ADD(&w->waiting, item);
        news_complete(w->engine, news, completed, item);
    } else {
        follower_done(w->follower, event->seq);
    }
}

bool webhook_test(struct webhook *w, webhook_posted tell, void *ctx) {
    if (!*url_of(w))
        return false;
    w->test.posted = tell;
    w->test.ctx = ctx;
    w->test.news = news_sample(loop_now(w->loop));
    go_on(w);
    return true;
}

/* --- life ------------------------------------------------------------------------------------ */

struct webhook *webhook_new(struct engine *engine, struct loop *loop, char *const *environment) {
    struct webhook *w = xcalloc(1, sizeof(*w));
    w->engine = engine;
    w->loop = loop;
    w->timer = loop_timer_new(loop, pause_is_over, w);
    w->sender = webhook_sender_new(engine, loop, environment);
    w->follower = follower_new(engine, "webhook", handle, w);
    follower_rest(w->follower, true);
    return w;
}

struct webhook *webhook_free(struct webhook *w) {
    if (!w)
        return NULL;
    webhook_sender_free(w->sender);
    loop_timer_free(w->loop, w->timer);
    if (w->test.posted) {
        const struct webhook_result ends = { .canceled = true, .text = "the daemon ends" };
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
