/* notify_command.c: which command tells a thing, what does it find, and has it worked?
 *
 * The desktop's command is notify-send. It needs the bus of a session, which a daemon that nobody's session
 * has started does not know: then the bus of the user is taken, if there is one, and without any nothing is
 * tried. Its body understands marks like <b>, so what comes from outside is escaped. */
#include "daemon/notify_command.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "daemon/notify_env.h"

#define TIME_OUT         MINUTES(1)
#define DESKTOP_TIME_OUT SECONDS(5)
#define OUTPUT_MAX       2000u
#define SAID_MAX         200u
#define DESKTOP_WORDS    8u

static const char *const way_names[] = {
    [WAY_ALERTS] = "alerts.notify",
    [WAY_GROUPS] = "groups.notify",
    [WAY_COMMAND] = "notify.command",
    [WAY_DESKTOP] = "notify.desktop",
};
_Static_assert(ARRAY_SIZE(way_names) == NOTIFY_WAY_MAX, "a way has no name");

const char *notify_way_name(enum notify_way way) {
    return way_names[way];
}

void notice_finish(struct notice *n) {
    free(n->state);
    free(n->key);
    free(n->text);
    free(n->task);
    free(n->group);
    news_free(n->news);
    *n = (struct notice){ 0 };
}

time_ms notify_way_timeout(const struct engine *engine, enum notify_way way) {
    if (way == WAY_GROUPS)
        return config_number(engine_config(engine), "groups.notify_timeout_s", NULL);
    return way == WAY_DESKTOP ? DESKTOP_TIME_OUT : TIME_OUT;
}

/* --- the desktop ----------------------------------------------------------------------------- */

/* The address of the bus; false: there is none. */
static bool find_bus(const struct notify_env *env, struct strbuf *ret) {
    const char *address = notify_env_of_daemon(env, "DBUS_SESSION_BUS_ADDRESS");
    const char *folder = notify_env_of_daemon(env, "XDG_RUNTIME_DIR");
    strbuf_clear(ret);
    if (address && *address) {
        strbuf_puts(ret, address);
        return true;
    }
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    if (folder && *folder)
        strbuf_printf(&path, "%s/bus", folder);
    else
        strbuf_printf(&path, "/run/user/%lu/bus", (unsigned long)getuid());
    strbuf_printf(ret, "unix:path=%s", strbuf_text(&path));
    return access(strbuf_text(&path), F_OK) == 0;
}

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

static void fill_desktop(const struct news *news, struct notify_env *env, const char **argv) {
    static const char *const session[] = { "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
                                           "XDG_RUNTIME_DIR" };
    _cleanup_(strbuf_finish) struct strbuf bus = STRBUF_INIT, body = STRBUF_INIT;
    char summary[64];
    bool urgent = news->kind == NEWS_FAILED || news->kind == NEWS_PERSON;
    (void)snprintf(summary, sizeof(summary), "Sluice: %s", news_kind_name(news->kind));
    escape(news->text ? news->text : "", &body);
    const char *words[DESKTOP_WORDS] = { "notify-send",
                                         "--app-name=Sluice",
                                         urgent ? "--urgency=critical" : "--urgency=normal",
                                         "--",
                                         arena_strdup(&env->arena, summary),
                                         arena_strdup(&env->arena, strbuf_text(&body)) };
    memcpy(argv, words, sizeof(words));
    (void)find_bus(env, &bus);
    notify_env_put(env, "DBUS_SESSION_BUS_ADDRESS", strbuf_text(&bus));
    for (size_t i = 0; i < ARRAY_SIZE(session); i++)
        notify_env_pass(env, session[i]);
}

/* --- the environment ------------------------------------------------------------------------- */

static void put_alert(struct notify_env *env, const struct notice *n) {
    notify_env_put(env, "SLUICE_ALERT", n->state);
    notify_env_put(env, "SLUICE_ALERT_KEY", n->key);
    notify_env_put(env, "SLUICE_ALERT_TEXT", n->text);
    notify_env_put_number(env, "SLUICE_ALERT_SEQ", (int64_t)n->seq);
    notify_env_put(env, "SLUICE_TASK", n->task);
}

static void put_group(struct notify_env *env, const struct notice *n) {
    notify_env_put(env, "SLUICE_GROUP", n->group);
    notify_env_put_number(env, "SLUICE_GROUP_SEQ", (int64_t)n->seq);
    notify_env_put_number(env, "SLUICE_GROUP_TOTAL", n->total);
    notify_env_put_number(env, "SLUICE_GROUP_DONE", n->total - n->open - n->failed);
    notify_env_put_number(env, "SLUICE_GROUP_FAILED", n->failed);
    notify_env_put_number(env, "SLUICE_GROUP_OPEN", n->open);
}

static void put_news(struct notify_env *env, const struct news *news) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    news_print(news, &body);
    notify_env_put(env, "SLUICE_NOTIFY_KIND", news_kind_name(news->kind));
    notify_env_put(env, "SLUICE_NOTIFY_ID", news->id);
    notify_env_put(env, "SLUICE_NOTIFY_TEXT", news->text);
    notify_env_put(env, "SLUICE_NOTIFY_REASON", news->reason);
    notify_env_put(env, "SLUICE_NOTIFY_PROJECT", news->project);
    notify_env_put(env, "SLUICE_NOTIFY_TITLE", news->title);
    notify_env_put(env, "SLUICE_NOTIFY_JSON", strbuf_text(&body));
    notify_env_put(env, "SLUICE_TASK", news->task);
}

/* --- start and end --------------------------------------------------------------------------- */

static size_t words_of(const struct notify_command *c, const char *const **ret) {
    assert(c->way < NOTIFY_WAY_MAX);
    return config_words(engine_config(c->engine), way_names[c->way], NULL, ret);
}

bool notify_way_is_on(const struct notify_command *c, struct strbuf *ret_why) {
    const char *const *words = NULL;
    _cleanup_(strbuf_finish) struct strbuf bus = STRBUF_INIT;
    struct notify_env env = { .daemon = c->environment };
    if (c->way != WAY_DESKTOP)
        return words_of(c, &words) > 0;
    if (!config_number(engine_config(c->engine), "notify.desktop", NULL))
        return false;
    bool found = find_bus(&env, &bus);
    if (!found && ret_why)
        strbuf_printf(ret_why,
                      "notify.desktop: there is no session bus at '%s': the daemon must be started "
                      "from the session of a desktop",
                      strbuf_text(&bus));
    return found;
}

int notify_command_start(const struct notify_command *c, struct aside **ret_aside,
                         struct error *err) {
    const char *const *words = NULL;
    const char *desktop[DESKTOP_WORDS] = { NULL };
    if (!notify_way_is_on(c, NULL))
        return 1;
    _cleanup_(notify_env_finish) struct notify_env env = { .daemon = c->environment };
    switch (c->way) {
    case WAY_ALERTS:
        put_alert(&env, c->notice);
        break;
    case WAY_GROUPS:
        put_group(&env, c->notice);
        break;
    case WAY_COMMAND:
        put_news(&env, c->notice->news);
        break;
    case WAY_DESKTOP:
        fill_desktop(c->notice->news, &env, desktop);
        break;
    case NOTIFY_WAY_MAX:
        break;
    }
    notify_env_end(&env, c->engine);
    if (c->way != WAY_DESKTOP)
        (void)words_of(c, &words);
    struct aside_spec spec = { .argv = words ? words : desktop,
                               .cwd = engine_home(c->engine),
                               .env = env.pairs,
                               .timeout = notify_way_timeout(c->engine, c->way),
                               .output_max = OUTPUT_MAX };
    return aside_start(c->loop, &spec, c->ended, c->ctx, ret_aside, err);
}

/* How it ended, and the end of what it said about that. */
static void describe_failure(const struct aside_end *end, struct strbuf *out) {
    size_t size = end->size, from;
    while (size > 0 && (unsigned char)end->output[size - 1] <= ' ')
        size--;
    from = size > SAID_MAX ? size - SAID_MAX : 0;
    if (end->signal)
        strbuf_printf(out, " was killed by signal %d", end->signal);
    else
        strbuf_printf(out, " ended with exit code %d", end->code);
    if (size > 0)
        strbuf_puts(out, ": ");
    strbuf_add(out, end->output + from, size - from);
}

bool notify_command_describe(const struct engine *engine, enum notify_way way,
                             const struct aside_end *end, struct strbuf *out) {
    strbuf_puts(out, way_names[way]);
    if (end->error)
        strbuf_printf(out, ": %s%s",
                      way == WAY_DESKTOP ? "the program 'notify-send' cannot be run: " : "",
                      strerror(end->error));
    else if (end->timed_out)
        strbuf_printf(out, " took longer than %" PRId64 " ms and was stopped",
                      notify_way_timeout(engine, way));
    else if (end->code != 0)
        describe_failure(end, out);
    else
        strbuf_puts(out, " ended with exit code 0");
    return !end->error && !end->timed_out && end->code == 0;
}
