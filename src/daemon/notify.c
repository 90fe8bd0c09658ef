/* notify.c: see notify.h. A follower of the events: its cursor says what was told. */
#include "daemon/notify.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "engine/follow.h"
#include "executor/aside.h"
#include "os/log.h"

#define TIME_OUT   MINUTES(1) /* of alerts.notify */
#define OUTPUT_MAX 2000u
#define VARIABLES  256u

/* One alert that is still to be told. */
struct notice {
    struct notice *next;
    uint64_t seq;
    const char *setting; /* whose command is run */
    char *state, *key, *text, *task;
    char *group; /* of one that closed; NULL: it is about an alert */
    int64_t total, open, failed;
};

struct notify {
    struct engine *engine;
    struct loop *loop;
    char *const *environment;
    struct follower *follower;
    struct notice *first, **end;
    struct aside *aside; /* of the first; */
    time_ms timeout;     /* how long it may take */
};

static void notice_free(struct notice *n) {
    free(n->state);
    free(n->key);
    free(n->text);
    free(n->task);
    free(n->group);
    free(n);
}

static void tell_next(struct notify *n);

static void drop_first(struct notify *n) {
    struct notice *first = n->first;
    n->first = first->next;
    if (!n->first)
        n->end = &n->first;
    follower_done(n->follower, first->seq);
    notice_free(first);
}

static void told(void *ctx, const struct aside_end *end) {
    struct notify *n = ctx;
    const char *what = n->first->setting;
    n->aside = NULL;
    if (end->error)
        log_warning("%s: %s", what, strerror(end->error));
    else if (end->timed_out)
        log_warning("%s took longer than %" PRId64 " ms and was stopped", what, n->timeout);
    else if (end->code != 0)
        log_warning("%s ended with exit code %d, signal %d: %.200s", what, end->code, end->signal,
                    end->output);
    drop_first(n);
    tell_next(n);
}

/* --- the environment ------------------------------------------------------------------------- */

struct env {
    struct arena arena;
    const char *pairs[VARIABLES + 1];
    size_t count;
};

static void put(struct env *env, const char *name, const char *value) {
    _cleanup_(strbuf_finish) struct strbuf pair = STRBUF_INIT;
    strbuf_printf(&pair, "%s=%s", name, value ? value : "");
    if (env->count < VARIABLES)
        env->pairs[env->count++] = arena_strdup(&env->arena, strbuf_text(&pair));
}

static void pass(const struct notify *n, struct env *env, const char *name) {
    size_t length = strlen(name);
    for (char *const *pair = n->environment; pair && *pair; pair++)
        if (strncmp(*pair, name, length) == 0 && (*pair)[length] == '=' && env->count < VARIABLES)
            env->pairs[env->count++] = *pair;
}

static void put_number(struct env *env, const char *name, int64_t number) {
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    put(env, name, text);
}

static void put_group(struct env *env, const struct notice *notice, const char *seq) {
    put(env, "SLUICE_GROUP", notice->group);
    put(env, "SLUICE_GROUP_SEQ", seq);
    put_number(env, "SLUICE_GROUP_TOTAL", notice->total);
    put_number(env, "SLUICE_GROUP_DONE", notice->total - notice->open - notice->failed);
    put_number(env, "SLUICE_GROUP_FAILED", notice->failed);
    put_number(env, "SLUICE_GROUP_OPEN", notice->open);
}

static void fill_env(const struct notify *n, const struct notice *notice, struct env *env) {
    char seq[24];
    (void)snprintf(seq, sizeof(seq), "%" PRIu64, notice->seq);
    if (notice->group) {
        put_group(env, notice, seq);
    } else {
        put(env, "SLUICE_ALERT", notice->state);
        put(env, "SLUICE_ALERT_KEY", notice->key);
        put(env, "SLUICE_ALERT_TEXT", notice->text);
        put(env, "SLUICE_ALERT_SEQ", seq);
        put(env, "SLUICE_TASK", notice->task);
    }
    put(env, "SLUICE_SOCKET", engine_socket_path(n->engine));
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    aside_mark(engine_home(n->engine), &mark);
    if (env->count < VARIABLES)
        env->pairs[env->count++] = arena_strdup(&env->arena, strbuf_text(&mark));
    /* Behind ours: if there are too many, these are left out. */
    const char *const *words = NULL;
    size_t count = config_words(engine_config(n->engine), "tasks.env", NULL, &words);
    for (size_t i = 0; i < count; i++)
        pass(n, env, words[i]);
}

/* --- one after the other --------------------------------------------------------------------- */

static int begin(struct notify *n, struct error *err) {
    const char *const *words = NULL;
    size_t count = config_words(engine_config(n->engine), n->first->setting, NULL, &words);
    if (count == 0)
        return 1;
    struct env env = { 0 };
    fill_env(n, n->first, &env);
    const char **argv = xcalloc(count + 1, sizeof(*argv));
    memcpy(argv, words, count * sizeof(*argv));
    n->timeout = n->first->group
                     ? config_number(engine_config(n->engine), "groups.notify_timeout_s", NULL)
                     : TIME_OUT;
    struct aside_spec spec = { .argv = argv,
                               .cwd = engine_home(n->engine),
                               .env = env.pairs,
                               .timeout = n->timeout,
                               .output_max = OUTPUT_MAX };
    int r = aside_start(n->loop, &spec, told, n, &n->aside, err);
    free(argv);
    arena_finish(&env.arena);
    return r;
}

static void tell_next(struct notify *n) {
    while (n->first && !n->aside) {
        struct error err = { 0 };
        int r = begin(n, &err);
        if (r == 0)
            return;
        if (r < 0)
            log_warning("%s: %s", n->first->setting, err.text);
        drop_first(n); /* nobody is to be told, or nobody can be */
    }
}

static char *member(const json_t *data, const char *name) {
    const char *text = json_string_value(json_object_get(data, name));
    return xstrdup(text ? text : "");
}

static void handle(void *ctx, const struct event_row *event) {
    struct notify *n = ctx;
    bool raised = strcmp(event->kind, "alert") == 0;
    bool closed = strcmp(event->kind, "group.closed") == 0;
    if (!raised && !closed && strcmp(event->kind, "alert.cleared") != 0) {
        follower_done(n->follower, event->seq);
        return;
    }
    char id[ENGINE_ID_MAX];
    json_t *data = event->data ? json_loads(event->data, 0, NULL) : NULL;
    struct notice *notice = xcalloc(1, sizeof(*notice));
    notice->seq = event->seq;
    notice->setting = closed ? "groups.notify" : "alerts.notify";
    notice->state = xstrdup(raised ? "raised" : "cleared");
    notice->key = member(data, "key");
    notice->text = member(data, "text");
    notice->task = xstrdup(event->task ? engine_task_id(n->engine, event->task, id) : "");
    if (closed) {
        notice->group = member(data, "group");
        notice->total = json_integer_value(json_object_get(data, "total"));
        notice->open = json_integer_value(json_object_get(data, "open"));
        notice->failed = json_integer_value(json_object_get(data, "failed"));
    }
    json_decref(data);
    *n->end = notice;
    n->end = &notice->next;
    tell_next(n);
}

struct notify *notify_new(struct engine *engine, struct loop *loop, char *const *environment) {
    struct notify *n = xcalloc(1, sizeof(*n));
    n->engine = engine;
    n->loop = loop;
    n->environment = environment;
    n->end = &n->first;
    n->follower = follower_new(engine, "notify", handle, n);
    return n;
}

struct notify *notify_free(struct notify *n) {
    if (!n)
        return NULL;
    aside_kill(n->aside);
    while (n->first) {
        struct notice *first = n->first;
        n->first = first->next;
        notice_free(first);
    }
    free(n);
    return NULL;
}
