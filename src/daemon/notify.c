/* notify.c: notifies users through their commands (alerts.notify, groups.notify, notify.command),
 * on the desktop (notify.desktop) and by a webhook (daemon/webhook.h).
 *
 * A follower of the events. One command runs at a time, in event order. The next one starts when
 * the completion of the last one is on disk, so a killed daemon repeats at most one, with the same
 * number (SLUICE_ALERT_SEQ, SLUICE_GROUP_SEQ, SLUICE_NOTIFY_ID). A command that fails is logged and
 * not repeated.
 *
 * The desktop's command is notify-send. It needs a session bus, which a daemon started outside a
 * session does not know: then the user's bus is used, if it exists. Popups are not shown for old
 * events, for example after a night without a daemon. Commands get everything. */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "base/queue.h"
#include "daemon/notify_news.h"
#include "daemon/services.h"
#include "daemon/user_command.h"
#include "daemon/webhook.h"
#include "engine/engine.h"
#include "engine/follow.h"
#include "executor/helper_process.h"
#include "os/log.h"
#include "os/loop.h"

#define STALE           MINUTES(10) /* nothing this old is shown on a desktop */
#define TIMEOUT         MINUTES(1)
#define DESKTOP_TIMEOUT SECONDS(5)
#define DESKTOP_WORDS   8u

enum channel {
    CHANNEL_ALERTS,  /* alerts.notify: an alert is raised or cleared */
    CHANNEL_GROUPS,  /* groups.notify: a group closes */
    CHANNEL_COMMAND, /* notify.command: news */
    CHANNEL_DESKTOP, /* notify.desktop: news, by notify-send */
    CHANNEL_MAX,     /* of commands; the webhook follows them */
    CHANNEL_WEBHOOK = CHANNEL_MAX,
    CHANNEL_COUNT,
};

/* Settings that enable them. */
static const char *const channel_names[CHANNEL_COUNT] = {
    [CHANNEL_ALERTS] = "alerts.notify",   [CHANNEL_GROUPS] = "groups.notify",
    [CHANNEL_COMMAND] = "notify.command", [CHANNEL_DESKTOP] = "notify.desktop",
    [CHANNEL_WEBHOOK] = "notify.webhook",
};

/* The notifications of one event. */
struct notice {
    uint64_t seq;
    json_t *data;      /* of the event, for CHANNEL_ALERTS and CHANNEL_GROUPS */
    bool is_cleared;   /* the alert */
    char *task;        /* of the alert; NULL: none */
    struct news *news; /* for CHANNEL_COMMAND and CHANNEL_DESKTOP; NULL: not news */
};

/* An event with pending commands. */
struct entry {
    struct entry *next;
    struct notify *notify;
    struct notice notice;
    unsigned channels; /* bits of pending channels */
    bool ready;        /* the store's answer is in `notice` */
    bool has_run;      /* a command ran, and must not be repeated */
};

/* One channel in a test. */
struct trial {
    struct notify *notify;
    struct helper_process *helper;
    enum channel channel;
    bool tried, ok;
    struct strbuf text;
};

struct notify {
    struct engine *engine;
    struct loop *loop;
    struct follower *follower;
    struct news_reader reader;
    QUEUE(struct entry) waiting;
    struct helper_process *helper; /* the command of the first entry; NULL: none runs */
    enum channel channel;          /* channel of the running command */
    bool wants_news, has_config;   /* cached per configuration */
    bool saving;                   /* the cursor is being written */
    bool warned_desktop;
    struct webhook *webhook;
    struct {
        struct notice notice; /* sample for a test */
        struct trial trials[CHANNEL_COUNT];
        unsigned left;             /* unfinished trials, plus one while they are started */
        engine_notify_tested done; /* NULL: no test runs */
        void *ctx;
    } test;
};

static void notice_finish(struct notice *n) {
    json_decref(n->data);
    free(n->task);
    news_free(n->news);
    *n = (struct notice){ 0 };
}

/* --- the environment of a command ------------------------------------------------------------- */

static const char *text_of(const struct notice *n, const char *name) {
    return json_string_value(json_object_get(n->data, name));
}

static void put_alert(struct user_environment *env, const struct notice *n) {
    user_environment_put(env, "SLUICE_ALERT", n->is_cleared ? "cleared" : "raised");
    user_environment_put(env, "SLUICE_ALERT_KEY", text_of(n, "key"));
    user_environment_put(env, "SLUICE_ALERT_TEXT", text_of(n, "text"));
    user_environment_put_number(env, "SLUICE_ALERT_SEQ", (int64_t)n->seq);
    user_environment_put(env, "SLUICE_TASK", n->task);
}

static void put_group(struct user_environment *env, const struct notice *n) {
    int64_t total = json_integer_value(json_object_get(n->data, "total"));
    int64_t open = json_integer_value(json_object_get(n->data, "open"));
    int64_t failed = json_integer_value(json_object_get(n->data, "failed"));
    user_environment_put(env, "SLUICE_GROUP", text_of(n, "group"));
    user_environment_put_number(env, "SLUICE_GROUP_SEQ", (int64_t)n->seq);
    user_environment_put_number(env, "SLUICE_GROUP_TOTAL", total);
    user_environment_put_number(env, "SLUICE_GROUP_DONE", total - open - failed);
    user_environment_put_number(env, "SLUICE_GROUP_FAILED", failed);
    user_environment_put_number(env, "SLUICE_GROUP_OPEN", open);
}

static void put_news(struct user_environment *env, const struct news *news) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    assert(news);                   /* its channel is only for news */
    news_print(news, false, &body); /* other processes can read an environment */
    user_environment_put(env, "SLUICE_NOTIFY_URL", news->url);
    user_environment_put(env, "SLUICE_NOTIFY_KIND", news_kind_name(news->kind));
    user_environment_put(env, "SLUICE_NOTIFY_ID", news->id);
    user_environment_put(env, "SLUICE_NOTIFY_TEXT", news->text);
    user_environment_put(env, "SLUICE_NOTIFY_REASON", news->reason);
    user_environment_put(env, "SLUICE_NOTIFY_PROJECT", news->project);
    user_environment_put(env, "SLUICE_NOTIFY_TITLE", news->title);
    user_environment_put(env, "SLUICE_NOTIFY_JSON", strbuf_text(&body));
    user_environment_put(env, "SLUICE_TASK", news->task);
}

/* --- the desktop ------------------------------------------------------------------------------ */

/* Does a session bus exist? *ret is its address, also if it does not. */
static bool find_bus(struct strbuf *ret) {
    const char *address = getenv("DBUS_SESSION_BUS_ADDRESS");
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (address && *address) {
        strbuf_puts(ret, address);
        return true;
    }
    strbuf_puts(ret, "unix:path=");
    size_t path = ret->length;
    if (folder && *folder)
        strbuf_printf(ret, "%s/bus", folder);
    else
        strbuf_printf(ret, "/run/user/%lu/bus", (unsigned long)getuid());
    return access(ret->text + path, F_OK) == 0;
}

/* The body of a popup may have markup like <b>, so text from outside is escaped. */
static void escape(const char *text, struct strbuf *out) {
    for (; *text; text++) {
        if (*text == '<')
            strbuf_puts(out, "&lt;");
        else if (*text == '>')
            strbuf_puts(out, "&gt;");
        else if (*text == '&')
            strbuf_puts(out, "&amp;");
        else
            strbuf_putc(out, *text);
    }
}

static void fill_desktop(const struct news *news, struct user_environment *env, const char **argv) {
    static const char *const session[] = { "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
                                           "XDG_RUNTIME_DIR" };
    _cleanup_(strbuf_finish) struct strbuf bus = STRBUF_INIT, body = STRBUF_INIT;
    bool urgent = news->kind == NEWS_FAILED || news->kind == NEWS_PERSON;
    escape(news->text ? news->text : "", &body);
    const char *words[DESKTOP_WORDS] = { "notify-send",
                                         "--app-name=Sluice",
                                         urgent ? "--urgency=critical" : "--urgency=normal",
                                         "--",
                                         arena_printf(&env->arena, "Sluice: %s",
                                                      news_kind_name(news->kind)),
                                         arena_strdup(&env->arena, strbuf_text(&body)) };
    memcpy(argv, words, sizeof(words));
    (void)find_bus(&bus);
    user_environment_put(env, "DBUS_SESSION_BUS_ADDRESS", strbuf_text(&bus));
    for (size_t i = 0; i < ARRAY_SIZE(session); i++)
        user_environment_pass(env, session[i]);
}

/* --- one command ------------------------------------------------------------------------------ */

static time_ms channel_timeout(const struct notify *n, enum channel channel) {
    if (channel == CHANNEL_GROUPS)
        return config_number(engine_config(n->engine), "groups.notify_timeout_s", NULL);
    return channel == CHANNEL_DESKTOP ? DESKTOP_TIMEOUT : TIMEOUT;
}

/* `ret_why` (or NULL): why it cannot work although it is enabled. */
static bool channel_is_on(const struct notify *n, enum channel channel, struct strbuf *ret_why) {
    const struct config *config = engine_config(n->engine);
    const char *const *words = NULL;
    _cleanup_(strbuf_finish) struct strbuf bus = STRBUF_INIT;
    if (channel != CHANNEL_DESKTOP)
        return config_words(config, channel_names[channel], NULL, &words) > 0;
    if (!config_number(config, "notify.desktop", NULL))
        return false;
    bool found = find_bus(&bus);
    if (!found && ret_why)
        strbuf_printf(ret_why,
                      "notify.desktop: there is no session bus at '%s': the daemon must be started "
                      "from the session of a desktop",
                      strbuf_text(&bus));
    return found;
}

struct command {
    enum channel channel;
    const struct notice *notice;
    helper_ended ended;
    void *ctx;
};

/* 0: `ended` will be called. 1: the channel is off. */
static int command_start(const struct notify *n, const struct command *c,
                         struct helper_process **ret_helper, struct error *err) {
    const char *const *words = NULL;
    const char *desktop[DESKTOP_WORDS] = { NULL };
    if (!channel_is_on(n, c->channel, NULL))
        return 1;
    struct user_environment env = { .count = 0 };
    if (c->channel == CHANNEL_ALERTS)
        put_alert(&env, c->notice);
    else if (c->channel == CHANNEL_GROUPS)
        put_group(&env, c->notice);
    else if (c->channel == CHANNEL_COMMAND)
        put_news(&env, c->notice->news);
    else
        fill_desktop(c->notice->news, &env, desktop);
    user_environment_put_common(&env, n->engine);
    if (c->channel != CHANNEL_DESKTOP)
        (void)config_words(engine_config(n->engine), channel_names[c->channel], NULL, &words);
    _cleanup_(strbuf_finish) struct strbuf input = STRBUF_INIT;
    if (c->channel == CHANNEL_COMMAND && c->notice->news->answer_url) {
        news_print(c->notice->news, true, &input);
        strbuf_putc(&input, '\n');
    }
    struct helper_spec spec = { .argv = words ? words : desktop,
                                .cwd = engine_home(n->engine),
                                .env = env.pairs,
                                .input = input.length > 0 ? strbuf_text(&input) : NULL,
                                .timeout = channel_timeout(n, c->channel),
                                .output_max = USER_COMMAND_OUTPUT };
    int r = helper_start(n->loop, &spec, c->ended, c->ctx, ret_helper, err);
    arena_finish(&env.arena);
    return r;
}

/* Did the command succeed? `out`: a message that begins with the setting. */
static bool describe_end(const struct notify *n, enum channel channel, const struct helper_end *end,
                         struct strbuf *out) {
    const struct user_command command = {
        .program = channel == CHANNEL_DESKTOP ? "the program 'notify-send' cannot be run: " : "",
        .timeout = channel_timeout(n, channel),
    };
    strbuf_puts(out, channel_names[channel]);
    return user_command_describe(n->engine, &command, end, out);
}

/* --- the queue -------------------------------------------------------------------------------- */

static void start_next(struct notify *n);

static void entry_free(struct entry *entry) {
    notice_finish(&entry->notice);
    free(entry);
}

static void cursor_saved(void *ctx) {
    struct notify *n = ctx;
    n->saving = false;
    start_next(n);
}

static void drop_first(struct notify *n) {
    struct entry *first = QUEUE_TAKE(&n->waiting);
    follower_done(n->follower, first->notice.seq);
    if (first->has_run)
        n->saving = !follower_save(n->follower, cursor_saved);
    entry_free(first);
}

static void command_ended(void *ctx, const struct helper_end *end) {
    struct notify *n = ctx;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    n->helper = NULL;
    follower_rest(n->follower, true);
    if (!describe_end(n, n->channel, end, &text))
        log_warning("%s", strbuf_text(&text));
    start_next(n);
}

/* A popup needs a session bus and a recent event. */
static bool popup_is_pointless(struct notify *n, const struct notice *notice) {
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    assert(notice->news); /* its channel is only for news */
    if (loop_now(n->loop) - notice->news->at > STALE)
        return true;
    bool on = channel_is_on(n, CHANNEL_DESKTOP, &why);
    if (!on && why.length > 0 && !n->warned_desktop)
        log_info("%s", strbuf_text(&why));
    n->warned_desktop = n->warned_desktop || why.length > 0;
    return !on;
}

/* True: a command runs. */
static bool start_command(struct notify *n, enum channel channel) {
    struct error err = { 0 };
    struct entry *first = n->waiting.first;
    struct command command = { channel, &first->notice, command_ended, n };
    n->channel = channel;
    int r = channel == CHANNEL_DESKTOP && popup_is_pointless(n, &first->notice)
                ? 1
                : command_start(n, &command, &n->helper, &err);
    if (r < 0)
        log_warning("%s: %s", channel_names[channel], err.text);
    if (r == 0) {
        first->has_run = true;
        follower_rest(n->follower, false);
    }
    return r == 0;
}

static void start_next(struct notify *n) {
    while (n->waiting.first && n->waiting.first->ready && !n->helper && !n->saving
           && !follow_is_ending(n->engine)) {
        struct entry *first = n->waiting.first;
        if (first->channels == 0) {
            drop_first(n);
            continue;
        }
        enum channel channel = (enum channel)__builtin_ctz(first->channels);
        first->channels &= first->channels - 1;
        if (start_command(n, channel))
            return;
    }
}

/* --- events ----------------------------------------------------------------------------------- */

static void entry_is_complete(void *ctx) {
    struct entry *entry = ctx;
    entry->ready = true;
    start_next(entry->notify);
}

static void handle(void *ctx, const struct event_row *event) {
    struct notify *n = ctx;
    if (!n->has_config || strcmp(event->kind, "config.changed") == 0) {
        const struct config *config = engine_config(n->engine);
        const char *const *words = NULL;
        n->wants_news = config_words(config, "notify.command", NULL, &words) > 0
                        || config_number(config, "notify.desktop", NULL);
    }
    n->has_config = true;
    struct news *news = n->wants_news ? news_read(&n->reader, n->engine, event) : NULL;
    bool cleared = strcmp(event->kind, "alert.cleared") == 0;
    bool alert = cleared || strcmp(event->kind, "alert") == 0;
    bool group = strcmp(event->kind, "group.closed") == 0;
    if (!news && !alert && !group) {
        follower_done(n->follower, event->seq);
        return;
    }
    char id[ENGINE_ID_MAX];
    struct entry *entry = xcalloc(1, sizeof(*entry));
    entry->notify = n;
    entry->notice = (struct notice){ .seq = event->seq, .is_cleared = cleared, .news = news };
    if ((alert || group) && event->data)
        entry->notice.data = json_loads(event->data, 0, NULL);
    if (alert && event->task)
        entry->notice.task = xstrdup(engine_task_id(n->engine, event->task, id));
    entry->channels = (alert ? 1u << CHANNEL_ALERTS : 0) | (group ? 1u << CHANNEL_GROUPS : 0)
                      | (news ? 1u << CHANNEL_COMMAND | 1u << CHANNEL_DESKTOP : 0);
    QUEUE_ADD(&n->waiting, entry);
    if (news)
        news_complete(
            n->engine, news,
            &(struct news_completion){
                .wants_link = channel_is_on(n, CHANNEL_COMMAND, NULL), entry_is_complete, entry });
    else
        entry_is_complete(entry);
}

/* --- `sluice notify test` --------------------------------------------------------------------- */

/* Sends a sample on every configured channel, in parallel; answers when all have finished. Does not
 * wait for notifications in progress, and changes nothing. */

static void print_results(const struct notify *n, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_array_begin(&w);
    for (unsigned i = 0; i < CHANNEL_COUNT; i++) {
        const struct trial *trial = &n->test.trials[i];
        if (!trial->tried)
            continue;
        json_write_object_begin(&w);
        json_put_string(&w, "way", channel_names[i]);
        json_put_bool(&w, "ok", trial->ok);
        json_put_string(&w, "text", strbuf_text(&trial->text));
        json_write_object_end(&w);
    }
    json_write_array_end(&w);
}

static void trial_ended(struct notify *n) {
    if (--n->test.left > 0)
        return;
    _cleanup_(strbuf_finish) struct strbuf json = STRBUF_INIT;
    print_results(n, &json);
    notice_finish(&n->test.notice);
    for (unsigned i = 0; i < CHANNEL_COUNT; i++)
        strbuf_finish(&n->test.trials[i].text);
    TAKE_PTR(n->test.done)(n->test.ctx, strbuf_text(&json));
}

static void trial_command_ended(void *ctx, const struct helper_end *end) {
    struct trial *trial = ctx;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    trial->helper = NULL;
    trial->ok = describe_end(trial->notify, trial->channel, end, &text);
    /* The answer has the setting in a separate member. */
    const char *rest = strbuf_text(&text) + strlen(channel_names[trial->channel]);
    strbuf_puts(&trial->text, rest + strspn(rest, ": "));
    trial_ended(trial->notify);
}

static void trial_webhook_ended(void *ctx, const struct http_result *result) {
    struct trial *trial = ctx;
    trial->ok = result->ok;
    strbuf_puts(&trial->text, result->text);
    trial_ended(trial->notify);
}

static void try_command(struct trial *trial) {
    struct notify *n = trial->notify;
    struct error err = { 0 };
    struct command command = { trial->channel, &n->test.notice, trial_command_ended, trial };
    n->test.left++;
    int r = command_start(n, &command, &trial->helper, &err);
    if (r < 0)
        strbuf_puts(&trial->text, err.text);
    else if (r > 0)
        (void)channel_is_on(n, trial->channel, &trial->text); /* enabled, but it cannot work */
    trial->tried = r == 0 || trial->text.length > 0;
    if (r != 0)
        trial_ended(n);
}

static int test_start(void *ctx, engine_notify_tested done, void *done_ctx, struct error *err) {
    struct notify *n = ctx;
    if (n->test.done)
        return error_set(err, -EBUSY, "another test is on its way: wait for its end");
    n->test.done = done;
    n->test.ctx = done_ctx;
    n->test.left = 1;
    n->test.notice.news = news_sample(loop_now(n->loop));
    n->test.notice.data = json_pack("{s:s, s:s, s:s}", "key", "test", "text",
                                    n->test.notice.news->text, "group", "test");
    for (unsigned i = 0; i < CHANNEL_COUNT; i++)
        n->test.trials[i] = (struct trial){ .notify = n, .channel = (enum channel)i };
    for (unsigned i = 0; i < CHANNEL_MAX; i++)
        try_command(&n->test.trials[i]);
    struct trial *trial = &n->test.trials[CHANNEL_WEBHOOK];
    n->test.left++;
    trial->tried = webhook_test(n->webhook, trial_webhook_ended, trial);
    if (!trial->tried)
        trial_ended(n);
    trial_ended(n);
    return 0;
}

/* --- life ------------------------------------------------------------------------------------- */

struct notify *notify_new(struct engine *engine, struct loop *loop) {
    struct notify *n = xcalloc(1, sizeof(*n));
    n->engine = engine;
    n->loop = loop;
    n->follower = follower_new(engine, "notify", handle, n);
    follower_rest(n->follower, true);
    n->webhook = webhook_new(engine, loop);
    engine_set_notifier(engine, test_start, n);
    return n;
}

void notify_check_config(struct notify *n) {
    webhook_check_config(n->webhook);
}

struct notify *notify_free(struct notify *n) {
    if (!n)
        return NULL;
    webhook_free(n->webhook); /* ends its trial */
    engine_set_notifier(n->engine, NULL, NULL);
    for (unsigned i = 0; i < CHANNEL_COUNT; i++) {
        helper_kill(n->test.trials[i].helper);
        strbuf_finish(&n->test.trials[i].text);
    }
    notice_finish(&n->test.notice);
    if (n->test.done)
        n->test.done(n->test.ctx, NULL);
    helper_kill(n->helper);
    for (struct entry *first; (first = QUEUE_TAKE(&n->waiting));)
        entry_free(first);
    news_reader_finish(&n->reader);
    free(n);
    return NULL;
}
