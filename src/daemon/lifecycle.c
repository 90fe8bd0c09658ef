/* lifecycle.c: posts the lifecycle of tasks to the message bus (bus.lifecycle), and deletes old
 * messages (retention.days).
 *
 * A follower of the events named "bus"; docs/guide/bus.md has the messages. Most events need none,
 * and are done at once. The others are done when the bus thread has written their messages: then
 * the cursor may advance. The id of a message is derived from its event, so after a crash an event
 * that is handled again is recognized in the file and posted once. A file that cannot be written
 * loses its message, with a warning in the log: nothing else stops for it, and the event itself is
 * in the store. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bus/poster.h"
#include "daemon/services.h"
#include "engine/follow.h"
#include "engine/loops.h"
#include "os/log.h"
#include "os/loop.h"

#define RETENTION_EVERY HOURS(1)

struct lifecycle {
    struct engine *engine;
    struct loop *loop;
    struct bus_poster *poster;
    struct follower *follower;
    struct loop_timer *retention; /* next check */
    uint64_t last_before;         /* events up to here may have been handled by another daemon */
};

/* An event that is being posted. */
struct handled {
    struct lifecycle *lifecycle;
    uint64_t seq;
    unsigned left; /* messages not written yet, plus one while they are built */
    bool dropped;  /* shutdown: the next daemon repeats it */
};

/* An event and its messages. */
struct report {
    struct lifecycle *lifecycle;
    const struct event_row *event;
    struct handled *handled; /* from the first message on */
    json_t *data;            /* or NULL */
    const char *project;
    char task[ENGINE_ID_MAX], run[ENGINE_ID_MAX + 16];
    bool all; /* also to the task */
    unsigned count;
};

/* --- posting ---------------------------------------------------------------------------------- */

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

enum to { TO_TASK, TO_PROJECT };

_printf_(4, 5) static void post(struct report *n, enum to to, const char *type, const char *format,
                                ...) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT, id = STRBUF_INIT;
    char meta[64];
    va_list args;
    unsigned number = ++n->count; /* counts skipped ones, so that ids are stable */
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
    if (!n->handled) {
        n->handled = xcalloc(1, sizeof(*n->handled));
        *n->handled = (struct handled){ n->lifecycle, n->event->seq, 1, false };
    }
    n->handled->left++;
    bus_post(n->lifecycle->poster, &message, n->event->seq <= n->lifecycle->last_before, posted,
             n->handled);
}

/* --- the messages ----------------------------------------------------------------------------- */

static const char *text_of(const struct report *n, const char *key) {
    const char *text = json_string_value(json_object_get(n->data, key));
    return text ? text : "";
}

static void on_state(struct report *n) {
    const char *to = text_of(n, "to"), *reason = text_of(n, "reason"), *hold = text_of(n, "hold");
    bool is_held = strcmp(to, "held") == 0;
    if (strcmp(to, "starting") == 0) {
        post(n, TO_TASK, "INFO", "starting root agent (restart #%" PRIu32 ")",
             n->event->attempt ? n->event->attempt - 1 : 0);
    } else if (strcmp(to, "running") == 0 && strcmp(reason, "drain") == 0) {
        post(n, TO_TASK, "PROGRESS", "waiting for its children to finish");
    } else if (is_held && strcmp(hold, "breaker") == 0) {
        post(n, TO_TASK, "WARNING", "launches keep failing: no attempt for now");
    } else if (is_held && strcmp(hold, "review") == 0) {
        post(n, TO_TASK, "QUESTION", "waiting for review: approve or reject it");
    } else if (is_held && strcmp(hold, "external") == 0) {
        post(n, TO_TASK, "QUESTION", "waiting to be closed");
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

static void on_run_ended(struct report *n) {
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

static void on_blocked(struct report *n) {
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

static void on_run_started(struct report *n) {
    post(n, TO_TASK, "RUN_START", "run %s started", n->run);
}

static void on_run_stopping(struct report *n) {
    post(n, TO_TASK, "INFO", "stopping run %s", n->run);
}

static const struct {
    const char *kind;
    void (*print)(struct report *report);
} kinds[] = {
    { "task.state", on_state },     { "run.started", on_run_started },
    { "run.ended", on_run_ended },  { "run.stopping", on_run_stopping },
    { "task.blocked", on_blocked },
};

/* --- events ----------------------------------------------------------------------------------- */

static void post_report(struct report *n, void (*print)(struct report *report)) {
    const struct engine *engine = n->lifecycle->engine;
    const char *mode = config_text(engine_config(engine), "bus.lifecycle", NULL);
    struct task_view view;
    /* The bus of a deleted task is deleted with it. */
    if (strcmp(mode, "off") == 0 || !n->event->task
        || !core_task(engine_core(engine), n->event->task, &view))
        return;
    n->all = strcmp(mode, "all") == 0;
    n->project = symbol_name(core_symbols((struct core *)engine_core(engine)), view.project);
    engine_task_id(engine, n->event->task, n->task);
    snprintf(n->run, sizeof(n->run), "%s.%" PRIu32, n->task, n->event->attempt);
    n->data = n->event->data ? json_loads(n->event->data, 0, NULL) : NULL;
    print(n);
    json_decref(n->data);
}

static void handle(void *ctx, const struct event_row *event) {
    struct lifecycle *l = ctx;
    struct report report = { .lifecycle = l, .event = event };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i].kind, event->kind) == 0)
            post_report(&report, kinds[i].print);
    if (report.handled)
        release(report.handled);
    else
        follower_done(l->follower, event->seq);
}

/* --- retention -------------------------------------------------------------------------------- */

/* Messages are kept as long as the tasks they are about: the bus of a task is deleted with the
 * task, that of a project is rotated by age. Anything that may wait for a lock is left to the
 * poster. */

/* Messages have wall-clock times. */
static void retire_old(void *ctx) {
    struct lifecycle *l = ctx;
    time_ms keep = config_number(engine_config(l->engine), "retention.days", NULL);
    for (size_t i = 0; keep != TIME_NEVER && i < engine_project_count(l->engine); i++)
        bus_retire_later(l->poster, engine_project_at(l->engine, i)->name,
                         loop_now(l->loop) - keep);
    loop_timer_set(l->loop, l->retention, time_add(loop_now_steady(l->loop), RETENTION_EVERY));
}

static void task_deleted(void *ctx, const char *project, const char *id) {
    const struct lifecycle *l = ctx;
    bus_remove_later(l->poster, project, id);
}

/* --- life ------------------------------------------------------------------------------------- */

struct lifecycle *lifecycle_new(struct engine *engine, struct loop *loop,
                                struct bus_poster *poster) {
    struct lifecycle *l = xcalloc(1, sizeof(*l));
    *l = (struct lifecycle){ .engine = engine, .loop = loop, .poster = poster };
    l->follower = follower_new(engine, "bus", handle, l);
    l->retention = loop_timer_new(loop, retire_old, l);
    loop_timer_set(loop, l->retention, loop_now_steady(loop)); /* as soon as the loop runs */
    engine_set_forgotten(engine, task_deleted, l);
    return l;
}

void lifecycle_started(struct lifecycle *l) {
    l->last_before = engine_last_event(l->engine);
}

struct lifecycle *lifecycle_free(struct lifecycle *l) {
    if (!l)
        return NULL;
    loop_timer_free(l->loop, l->retention);
    free(l);
    return NULL;
}
