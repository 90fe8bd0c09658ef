/* notify_test.c: see notify_test.h. All ways at once; the answer comes with the last of them. */
#include "daemon/notify_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "daemon/notify_command.h"
#include "daemon/webhook.h"
#include "engine/notifier.h"
#include "os/loop.h"

#define WEBHOOK_WAY NOTIFY_WAY_MAX /* behind the commands */
#define WAYS        (NOTIFY_WAY_MAX + 1)

/* One way. */
struct trial {
    struct notify_test *test;
    unsigned way;
    struct aside *aside;
    bool tried, ok;
    struct strbuf text;
};

struct notify_test {
    struct engine *engine;
    struct loop *loop;
    char *const *environment;
    struct webhook *webhook;
    struct notice notice; /* the sample */
    struct trial trials[WAYS];
    unsigned left;               /* trials that have not ended, and one while they are begun */
    engine_notify_tested tested; /* NULL: nobody waits */
    void *ctx;
};

static const char *name_of(unsigned way) {
    return way == WEBHOOK_WAY ? "notify.webhook" : notify_way_name((enum notify_way)way);
}

static void print_results(const struct notify_test *t, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_array_begin(&w);
    for (unsigned i = 0; i < WAYS; i++) {
        const struct trial *trial = &t->trials[i];
        if (!trial->tried)
            continue;
        json_write_object_begin(&w);
        json_put_string(&w, "way", name_of(i));
        json_put_bool(&w, "ok", trial->ok);
        json_put_string(&w, "text", strbuf_text(&trial->text));
        json_write_object_end(&w);
    }
    json_write_array_end(&w);
}

static void release(struct notify_test *t) {
    if (--t->left > 0)
        return;
    _cleanup_(strbuf_finish) struct strbuf json = STRBUF_INIT;
    engine_notify_tested tested = t->tested;
    t->tested = NULL;
    print_results(t, &json);
    notice_finish(&t->notice);
    for (unsigned i = 0; i < WAYS; i++)
        strbuf_finish(&t->trials[i].text);
    tested(t->ctx, strbuf_text(&json));
}

static void command_ended(void *ctx, const struct aside_end *end) {
    struct trial *trial = ctx;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    enum notify_way way = (enum notify_way)trial->way;
    trial->aside = NULL;
    trial->ok = notify_command_describe(trial->test->engine, way, end, &text);
    /* The way stands beside it. */
    const char *said = strbuf_text(&text) + strlen(notify_way_name(way));
    strbuf_puts(&trial->text, said + strspn(said, ": "));
    release(trial->test);
}

static void webhook_answered(void *ctx, const struct webhook_result *result) {
    struct trial *trial = ctx;
    trial->ok = result->ok;
    strbuf_puts(&trial->text, result->text);
    release(trial->test);
}

static void try_command(struct notify_test *t, enum notify_way way) {
    struct trial *trial = &t->trials[way];
    struct error err = { 0 };
    struct notify_command command = { .engine = t->engine,
                                      .loop = t->loop,
                                      .environment = t->environment,
                                      .way = way,
                                      .notice = &t->notice,
                                      .ended = command_ended,
                                      .ctx = trial };
    t->left++;
    int r = notify_command_start(&command, &trial->aside, &err);
    trial->tried = r <= 0;
    if (r == 0)
        return;
    if (r < 0)
        strbuf_puts(&trial->text, err.text);
    else
        (void)notify_way_is_on(&command, &trial->text); /* on, and it cannot work */
    trial->tried = trial->text.length > 0;
    release(t);
}

static void fill_sample(struct notify_test *t) {
    struct news *news = news_sample(loop_now(t->loop));
    t->notice = (struct notice){ .state = xstrdup("raised"),
                                 .key = xstrdup("test"),
                                 .text = xstrdup(news->text),
                                 .task = xstrdup(""),
                                 .group = xstrdup("test"),
                                 .news = news };
}

static int begin(void *ctx, engine_notify_tested tested, void *tested_ctx, struct error *err) {
    struct notify_test *t = ctx;
    if (t->tested)
        return error_set(err, -EBUSY, "another test is on its way: wait for its end");
    t->tested = tested;
    t->ctx = tested_ctx;
    t->left = 1;
    fill_sample(t);
    for (unsigned i = 0; i < WAYS; i++)
        t->trials[i] = (struct trial){ .test = t, .way = i };
    for (unsigned i = 0; i < NOTIFY_WAY_MAX; i++)
        try_command(t, (enum notify_way)i);
    struct trial *trial = &t->trials[WEBHOOK_WAY];
    t->left++;
    trial->tried = webhook_test(t->webhook, webhook_answered, trial);
    if (!trial->tried)
        release(t);
    release(t);
    return 0;
}

struct notify_test *notify_test_new(struct engine *engine, struct loop *loop,
                                    char *const *environment, struct webhook *webhook) {
    struct notify_test *t = xcalloc(1, sizeof(*t));
    t->engine = engine;
    t->loop = loop;
    t->environment = environment;
    t->webhook = webhook;
    engine_set_notifier(engine, begin, t);
    return t;
}

struct notify_test *notify_test_free(struct notify_test *t) {
    if (!t)
        return NULL;
    engine_set_notifier(t->engine, NULL, NULL);
    for (unsigned i = 0; i < WAYS; i++) {
        aside_kill(t->trials[i].aside);
        strbuf_finish(&t->trials[i].text);
    }
    notice_finish(&t->notice);
    if (t->tested)
        t->tested(t->ctx, NULL);
    free(t);
    return NULL;
}
