/* notify.c: see notify.h. A follower of the events: its cursor says what was told.
 *
 * A popup that comes hours late, after a night without a daemon, helps nobody: what is old is not shown on
 * the desktop. Commands get everything. */
#include "daemon/notify.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/queue.h"
#include "daemon/notify_command.h"
#include "daemon/notify_test.h"
#include "daemon/webhook.h"
#include "engine/follow.h"
#include "os/log.h"
#include "os/loop.h"

#define STALE MINUTES(10) /* nothing so old is shown on a desktop */

/* An event that is still to be told. */
struct entry {
    struct entry *next;
    struct notify *notify;
    struct notice notice;
    unsigned ways; /* bits: those that are still to be used */
    bool ready;    /* the store has said what it knows */
    bool told;     /* a command has run, which must not run again */
};

struct notify {
    struct engine *engine;
    struct loop *loop;
    char *const *environment;
    struct follower *follower;
    struct news_reader reader;
    QUEUE(struct entry) waiting;
    struct aside *aside;     /* of the first; */
    enum notify_way way;     /* and which of its ways it is */
    bool tells_news, looked; /* asked once per configuration, not for each event */
    bool saving;             /* what was told is on its way to the disk */
    bool warned_desktop;
    struct webhook *webhook;
    struct notify_test *test;
};

static void go_on(struct notify *n);

static void entry_free(struct entry *entry) {
    notice_finish(&entry->notice);
    free(entry);
}

static void saved(void *ctx) {
    struct notify *n = ctx;
    n->saving = false;
    go_on(n);
}

static void drop_first(struct notify *n) {
    struct entry *first = QUEUE_TAKE(&n->waiting);
    follower_done(n->follower, first->notice.seq);
    if (first->told)
        n->saving = !follower_save(n->follower, saved);
    entry_free(first);
}

static void ended(void *ctx, const struct aside_end *end) {
    struct notify *n = ctx;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    n->aside = NULL;
    follower_rest(n->follower, true);
    if (!notify_command_describe(n->engine, n->way, end, &text))
        log_warning("%s", strbuf_text(&text));
    go_on(n);
}

/* A popup needs somebody who sits there now, and a bus. */
static bool is_pointless(struct notify *n, const struct notify_command *command) {
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    if (command->way != WAY_DESKTOP)
        return false;
    if (loop_now(n->loop) - command->notice->news->at > STALE)
        return true;
    bool on = notify_way_is_on(command, &why);
    if (!on && why.length > 0 && !n->warned_desktop)
        log_info("%s", strbuf_text(&why));
    n->warned_desktop = n->warned_desktop || why.length > 0;
    return !on;
}

/* True: it runs. */
static bool start(struct notify *n, enum notify_way way) {
    struct error err = { 0 };
    struct notify_command command = { .engine = n->engine,
                                      .loop = n->loop,
                                      .environment = n->environment,
                                      .way = way,
                                      .notice = &n->waiting.first->notice,
                                      .ended = ended,
                                      .ctx = n };
    n->way = way;
    int r = is_pointless(n, &command) ? 1 : notify_command_start(&command, &n->aside, &err);
    if (r < 0)
        log_warning("%s: %s", notify_way_name(way), err.text);
    if (r == 0) {
        n->waiting.first->told = true;
        follower_rest(n->follower, false);
    }
    return r == 0;
}

static void go_on(struct notify *n) {
    while (n->waiting.first && n->waiting.first->ready && !n->aside && !n->saving
           && !follow_is_ending(n->engine)) {
        if (n->waiting.first->ways == 0) {
            drop_first(n);
            continue;
        }
        enum notify_way way = (enum notify_way)__builtin_ctz(n->waiting.first->ways);
        n->waiting.first->ways &= n->waiting.first->ways - 1;
        if (start(n, way))
            return;
    }
}

/* --- events ---------------------------------------------------------------------------------- */

static char *member(const json_t *data, const char *name) {
    const char *text = json_string_value(json_object_get(data, name));
    return xstrdup(text ? text : "");
}

static int64_t number(const json_t *data, const char *name) {
    return json_integer_value(json_object_get(data, name));
}

static void read_alert(struct notify *n, const struct event_row *event, struct entry *entry) {
    char id[ENGINE_ID_MAX];
    json_t *data = event->data ? json_loads(event->data, 0, NULL) : NULL;
    bool raised = strcmp(event->kind, "alert") == 0;
    entry->ways |= 1u << WAY_ALERTS;
    entry->notice.state = xstrdup(raised ? "raised" : "cleared");
    entry->notice.key = member(data, "key");
    entry->notice.text = member(data, "text");
    entry->notice.task = xstrdup(event->task ? engine_task_id(n->engine, event->task, id) : "");
    json_decref(data);
}

static void read_group(const struct event_row *event, struct entry *entry) {
    json_t *data = event->data ? json_loads(event->data, 0, NULL) : NULL;
    entry->ways |= 1u << WAY_GROUPS;
    entry->notice.group = member(data, "group");
    entry->notice.total = number(data, "total");
    entry->notice.open = number(data, "open");
    entry->notice.failed = number(data, "failed");
    json_decref(data);
}

static bool tells_news(const struct notify *n) {
    const struct config *config = engine_config(n->engine);
    const char *const *words = NULL;
    return config_words(config, "notify.command", NULL, &words) > 0
           || config_number(config, "notify.desktop", NULL);
}

static void completed(void *ctx) {
    struct entry *entry = ctx;
    entry->ready = true;
    go_on(entry->notify);
}

static void handle(void *ctx, const struct event_row *event) {
    struct notify *n = ctx;
    if (!n->looked || strcmp(event->kind, "config.changed") == 0)
        n->tells_news = tells_news(n);
    n->looked = true;
    struct news *news = n->tells_news ? news_read(&n->reader, n->engine, event) : NULL;
    bool alert = strcmp(event->kind, "alert") == 0 || strcmp(event->kind, "alert.cleared") == 0;
    bool group = strcmp(event->kind, "group.closed") == 0;
    if (!news && !alert && !group) {
        follower_done(n->follower, event->seq);
        return;
    }
    struct entry *entry = xcalloc(1, sizeof(*entry));
    entry->notify = n;
    entry->notice.seq = event->seq;
    if (alert)
        read_alert(n, event, entry);
    if (group)
        read_group(event, entry);
    QUEUE_ADD(&n->waiting, entry);
    if (news) {
        entry->ways |= 1u << WAY_COMMAND | 1u << WAY_DESKTOP;
        entry->notice.news = news;
        news_complete(n->engine, news, completed, entry);
    } else {
        completed(entry);
    }
}

/* --- life ------------------------------------------------------------------------------------ */

struct notify *notify_new(struct engine *engine, struct loop *loop, char *const *environment) {
    struct notify *n = xcalloc(1, sizeof(*n));
    n->engine = engine;
    n->loop = loop;
    n->environment = environment;
    n->follower = follower_new(engine, "notify", handle, n);
    follower_rest(n->follower, true);
    n->webhook = webhook_new(engine, loop, environment);
    n->test = notify_test_new(engine, loop, environment, n->webhook);
    return n;
}

void notify_look(struct notify *n) {
    webhook_look(n->webhook);
}

struct notify *notify_free(struct notify *n) {
    if (!n)
        return NULL;
    webhook_free(n->webhook);
    notify_test_free(n->test);
    aside_kill(n->aside);
    for (struct entry *first; (first = QUEUE_TAKE(&n->waiting));)
        entry_free(first);
    news_reader_finish(&n->reader);
    free(n);
    return NULL;
}
