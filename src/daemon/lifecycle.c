/* lifecycle.c: which message does an event become, and to whom?
 *
 * Most events become none, and are done at once. The others wait until the thread of the bus has them in their
 * files: then the cursor may move on. A file that cannot be written costs its message, with a warning in
 * the log: nothing else stops for it, and the event itself is kept in the store. */
#include "daemon/lifecycle.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bus/poster.h"
#include "engine/follow.h"
#include "os/log.h"

struct lifecycle {
    struct engine *engine;
    struct bus_poster *poster;
    struct follower *follower;
    uint64_t last_before; /* events up to here may have been handled by another daemon */
};

/* An event that is being posted. */
struct handled {
    struct lifecycle *lifecycle;
    uint64_t seq;
    unsigned left; /* messages that are not in their files yet, and one for whoever makes them */
    bool dropped;  /* the daemon ends: the next one does it again */
};

/* An event with what is said about it. */
struct news {
    struct lifecycle *lifecycle;
    const struct event_row *event;
    struct handled *handled; /* from the first message on */
    json_t *data;            /* or NULL */
    const char *project;
    char task[ENGINE_ID_MAX], run[ENGINE_ID_MAX + 16];
    bool all; /* to the task too */
    unsigned count;
};

/* --- posting --------------------------------------------------------------------------------- */

static void release(struct handled *h) {
    if (--h->left > 0)
        return;
    if (!h->dropped)
        follower_done(h->lifecycle->follower, h->seq);
    free(h);
}

static void posted(void *ctx, int result, const char *id, const struct error *err) {
    struct handled *h = ctx;
    (void)id;
    if (result == -ESHUTDOWN || result == -ECANCELED)
        h->dropped = true;
    else if (result < 0)
        log_warning("event %" PRIu64 " is missing on the message bus: %s", h->seq, err->text);
    release(h);
}

static struct handled *handled_of(struct news *n) {
    if (!n->handled) {
        n->handled = xcalloc(1, sizeof(*n->handled));
        *n->handled = (struct handled){ n->lifecycle, n->event->seq, 1, false };
    }
    return n->handled;
}

enum to { TO_TASK, TO_PROJECT };

_printf_(4, 5) static void post(struct news *n, enum to to, const char *type, const char *format,
                                ...) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT, id = STRBUF_INIT;
    char meta[64];
    va_list args;
    unsigned number = ++n->count; /* those that are left out count too: ids stay the same */
    if (to == TO_TASK && !n->all)
        return;
    va_start(args, format);
    strbuf_vprintf(&body, format, args);
    va_end(args);
    bus_id_begin(n->event->at, &id);
    strbuf_printf(&id, "E%010" PRIu64, n->event->seq);
    if (number > 1)
        strbuf_printf(&id, "-%u", number);
    snprintf(meta, sizeof(meta), "{\"event\":%" PRIu64 "}", n->event->seq);
    struct bus_message message = {
        .id = strbuf_text(&id),
        .at = n->event->at,
        .type = type,
        .project = n->project,
        .task = n->task,
        .run = n->event->attempt ? n->run : NULL,
        .to_project = to == TO_PROJECT,
        .meta = meta,
        .body = strbuf_text(&body),
    };
    struct handled *h = handled_of(n);
    h->left++;
    bus_post(n->lifecycle->poster, &message, n->event->seq <= n->lifecycle->last_before, posted, h);
}

/* --- what is said ---------------------------------------------------------------------------- */

static const char *text_of(const struct news *n, const char *key) {
    const char *text = json_string_value(json_object_get(n->data, key));
    return text ? text : "";
}

static void on_held(struct news *n) {
    const char *hold = text_of(n, "hold");
    if (strcmp(hold, "breaker") == 0)
        post(n, TO_TASK, "WARNING", "launches keep failing: no attempt for now");
    else if (strcmp(hold, "review") == 0)
        post(n, TO_TASK, "QUESTION", "waiting for review: approve or reject it");
    else if (strcmp(hold, "external") == 0)
        post(n, TO_TASK, "QUESTION", "waiting for somebody to close it");
}

static void on_state(struct news *n) {
    const char *to = text_of(n, "to"), *reason = text_of(n, "reason");
    if (strcmp(to, "starting") == 0) {
        post(n, TO_TASK, "INFO", "starting root agent (restart #%" PRIu32 ")",
             n->event->attempt ? n->event->attempt - 1 : 0);
    } else if (strcmp(to, "running") == 0 && strcmp(reason, "drain") == 0) {
        post(n, TO_TASK, "PROGRESS", "waiting for its children to finish");
    } else if (strcmp(to, "held") == 0) {
        on_held(n);
    } else if (strcmp(to, "done") == 0) {
        if (strcmp(reason, "drain-timeout") == 0) {
            post(n, TO_TASK, "WARNING",
                 "timed out waiting for its children; they go on without it");
            post(n, TO_PROJECT, "WARNING", "task %s timed out waiting for its children", n->task);
        }
        post(n, TO_TASK, "FACT", "task completed (%s)", reason);
        post(n, TO_PROJECT, "FACT", "task %s completed (%s)", n->task, reason);
    } else if (strcmp(to, "failed") == 0) {
        post(n, TO_TASK, "ERROR", "task failed (%s)", reason);
        post(n, TO_PROJECT, "ERROR", "task %s failed (%s)", n->task, reason);
    } else if (strcmp(to, "canceled") == 0 || strcmp(to, "invalidated") == 0) {
        post(n, TO_TASK, "INFO", "task %s (%s)", to, reason);
    }
}

static void on_run_ended(struct news *n) {
    const json_t *code = json_object_get(n->data, "exit_code");
    bool well = json_is_integer(code) && json_integer_value(code) == 0;
    _cleanup_(strbuf_finish) struct strbuf how = STRBUF_INIT;
    if (json_is_integer(code))
        strbuf_printf(&how, ", exit code %" PRId64, (int64_t)json_integer_value(code));
    else if (json_object_get(n->data, "signal"))
        strbuf_printf(&how, ", signal %" PRId64,
                      (int64_t)json_integer_value(json_object_get(n->data, "signal")));
    if (*text_of(n, "message"))
        strbuf_printf(&how, ": %s", text_of(n, "message"));
    post(n, TO_TASK, well ? "RUN_STOP" : "RUN_CRASH", "run %s ended: %s%s", n->run,
         text_of(n, "outcome"), strbuf_text(&how));
}

static void on_blocked(struct news *n) {
    const json_t *blockers = json_object_get(n->data, "blockers");
    size_t count = (size_t)json_integer_value(json_object_get(n->data, "count"));
    size_t named = json_array_size(blockers);
    _cleanup_(strbuf_finish) struct strbuf names = STRBUF_INIT;
    if (count == 0) {
        post(n, TO_TASK, "FACT", "dependencies are clear");
        return;
    }
    for (size_t i = 0; i < named; i++)
        strbuf_printf(&names, "%s%s", i ? ", " : "",
                      json_string_value(json_array_get(blockers, i)));
    if (count > named)
        strbuf_printf(&names, " and %zu more", count - named);
    post(n, TO_TASK, "PROGRESS", "waiting for %zu %s: %s", count, count == 1 ? "task" : "tasks",
         strbuf_text(&names));
}

static void on_run_started(struct news *n) {
    post(n, TO_TASK, "RUN_START", "run %s started", n->run);
}

static void on_run_stopping(struct news *n) {
    post(n, TO_TASK, "INFO", "stopping run %s", n->run);
}

static const struct {
    const char *kind;
    void (*say)(struct news *news);
} kinds[] = {
    { "task.state", on_state },     { "run.started", on_run_started },
    { "run.ended", on_run_ended },  { "run.stopping", on_run_stopping },
    { "task.blocked", on_blocked },
};

/* --- events ---------------------------------------------------------------------------------- */

/* Of a task that is there; what was deleted since has no bus to tell on. */
static bool find_task(struct news *n) {
    const struct engine *engine = n->lifecycle->engine;
    struct task_view view;
    if (!n->event->task || !core_task(engine_core(engine), n->event->task, &view))
        return false;
    n->project = symbol_name(core_symbols((struct core *)engine_core(engine)), view.project);
    engine_task_id(engine, n->event->task, n->task);
    snprintf(n->run, sizeof(n->run), "%s.%" PRIu32, n->task, n->event->attempt);
    return true;
}

static void tell(struct news *n, void (*say)(struct news *news)) {
    const char *mode = config_text(engine_config(n->lifecycle->engine), "bus.lifecycle", NULL);
    n->all = strcmp(mode, "all") == 0;
    if (strcmp(mode, "off") == 0 || !find_task(n))
        return;
    n->data = n->event->data ? json_loads(n->event->data, 0, NULL) : NULL;
    say(n);
    json_decref(n->data);
}

static void handle(void *ctx, const struct event_row *event) {
    struct lifecycle *l = ctx;
    struct news news = { .lifecycle = l, .event = event };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i].kind, event->kind) == 0)
            tell(&news, kinds[i].say);
    if (news.handled)
        release(news.handled);
    else
        follower_done(l->follower, event->seq);
}

struct lifecycle *lifecycle_new(struct engine *engine, struct bus_poster *poster) {
    struct lifecycle *l = xcalloc(1, sizeof(*l));
    l->engine = engine;
    l->poster = poster;
    l->follower = follower_new(engine, "bus", handle, l);
    return l;
}

void lifecycle_started(struct lifecycle *l) {
    l->last_before = engine_last_event(l->engine);
}

struct lifecycle *lifecycle_free(struct lifecycle *l) {
    free(l);
    return NULL;
}
