/* top_model.c: from the daemon's JSON to values.
 *
 * Titles, names and sentences were written by anybody. They are made harmless here, once, so that
 * nothing behind this file has to think of it. */
#include "cli/top_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/safe_text.h"
#include "base/strbuf.h"
#include "cli/ask.h"
#include "cli/print_task.h"
#include "core/state_look.h"

#define TEXT_MOST 2000 /* bytes of a title or sentence that are looked at: ten lines */

static const char *safe(struct arena *arena, const char *text) {
    if (!text || !*text)
        return "";
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    _cleanup_(freep) char *part = xstrndup(text, TEXT_MOST);
    sanitize_line(part, &out);
    return arena_strdup(arena, strbuf_text(&out));
}

static const char *member(struct arena *arena, const json_t *object, const char *key) {
    return safe(arena, ask_text(object, key, ""));
}

/* --- the state of everything ----------------------------------------------------------------- */

static void read_counts(struct top_model *model, const json_t *counts) {
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        model->counts[s] = ask_int(counts, task_state_name((enum task_state)s), 0);
}

static void read_gates(struct top_model *model, const json_t *gates) {
    size_t i;
    json_t *gate;
    model->gates = arena_alloc(&model->arena, (json_array_size(gates) + 1) * sizeof(*model->gates));
    json_array_foreach(gates, i, gate) {
        model->gates[model->gate_count++] = (struct top_gate){
            .gate = member(&model->arena, gate, "gate"),
            .count = ask_int(gate, "count", 0),
        };
    }
}

static void read_alerts(struct top_model *model, const json_t *alerts) {
    size_t i;
    json_t *alert;
    model->alerts =
        arena_alloc(&model->arena, (json_array_size(alerts) + 1) * sizeof(*model->alerts));
    json_array_foreach(alerts, i, alert) {
        model->alerts[model->alert_count++] = (struct top_alert){
            .key = member(&model->arena, alert, "key"),
            .text = member(&model->arena, alert, "text"),
            .since = ask_int(alert, "since", 0),
        };
    }
}

static void read_projects(struct top_model *model, const json_t *projects) {
    size_t i;
    json_t *project;
    model->projects =
        arena_alloc(&model->arena, (json_array_size(projects) + 1) * sizeof(*model->projects));
    json_array_foreach(projects, i, project) {
        model->projects[model->project_count++] = (struct top_project){
            .name = member(&model->arena, project, "name"),
            .paused = ask_true(project, "paused"),
        };
    }
}

/* What stops work comes first: closed, full, then the fullest. All runs are always on top. */
static int urgency_of(const struct top_limit *limit, bool closed) {
    if (strcmp(limit->key, "runs") == 0)
        return 1000;
    if (closed)
        return 900;
    if (limit->cap < 0 || limit->used <= 0)
        return limit->used > 0;
    return limit->used >= limit->cap ? 500 : (int)(100 * (double)limit->used / (double)limit->cap);
}

/* `prefix` is put before the name that the item has under `name`. */
static void add_limit(struct top_model *model, const json_t *item, const char *prefix,
                      const char *name) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, state = STRBUF_INIT;
    strbuf_printf(&key, "%s%s", prefix, ask_text(item, name, "?"));
    struct top_limit limit = {
        .key = safe(&model->arena, strbuf_text(&key)),
        .used = ask_int(item, "used", -1),
        .cap = ask_int(item, "cap", -1),
        .opens_at = ask_int(item, "opens_at", 0),
    };
    const char *word = ask_text(item, "state", "open");
    bool closed = strcmp(word, "open") != 0;
    int64_t hits = ask_int(item, "hits", 0), reserved = ask_int(item, "reserved", 0);
    if (closed)
        strbuf_puts(&state, word);
    else if (limit.cap >= 0 && limit.used >= limit.cap)
        strbuf_puts(&state, "full");
    if (closed && hits > 0)
        strbuf_printf(&state, ", %lld hit%s", (long long)hits, hits == 1 ? "" : "s");
    if (reserved > 0)
        strbuf_printf(&state, "%s%s reserved", state.length > 0 ? ", " : "",
                      print_short(reserved).text);
    limit.state = safe(&model->arena, strbuf_text(&state));
    limit.urgency = urgency_of(&limit, closed);
    /* Stable: those of the same urgency stay as the daemon told them. */
    size_t at = model->limit_count++;
    for (; at > 0 && model->limits[at - 1].urgency < limit.urgency; at--)
        model->limits[at] = model->limits[at - 1];
    model->limits[at] = limit;
}

static void read_limits(struct top_model *model, const json_t *status) {
    const json_t *limits = json_object_get(status, "limits");
    const json_t *limiters = json_object_get(status, "limiters");
    const json_t *budgets = json_object_get(status, "budgets");
    size_t count = json_array_size(limits) + json_array_size(limiters) + json_array_size(budgets);
    model->limits = arena_alloc(&model->arena, (count + 1) * sizeof(*model->limits));
    size_t i;
    json_t *item;
    json_array_foreach(limits, i, item) {
        /* Limiters have more to say; they come below. */
        if (strncmp(ask_text(item, "key", "?"), "limiter:", strlen("limiter:")) != 0)
            add_limit(model, item, "", "key");
    }
    json_array_foreach(limiters, i, item) {
        add_limit(model, item, "limiter:", "name");
    }
    json_array_foreach(budgets, i, item) {
        add_limit(model, item, "budget:", "key");
    }
}

void top_model_read(struct top_model *model, const json_t *status) {
    struct arena arena = model->arena;
    arena_reset(&arena);
    const json_t *host = json_object_get(status, "host");
    *model = (struct top_model){
        .arena = arena,
        .known = true,
        .started_at = ask_int(status, "started_at", 0),
        .paused_at = ask_int(status, "paused_at", 0),
        .paused = ask_true(status, "paused"),
        .store_full = ask_true(json_object_get(status, "store"), "full"),
        .stuck = ask_int(status, "blocked_dependencies", 0),
        .disk_free_mb = ask_int(host, "disk_free_mb", -1),
        .memory_free_mb = ask_int(host, "memory_free_mb", -1),
        .load = ask_real(host, "load", -1),
    };
    model->version = member(&model->arena, status, "version");
    model->preset = member(&model->arena, status, "preset");
    model->paused_by = member(&model->arena, status, "paused_by");
    read_counts(model, json_object_get(status, "counts"));
    read_gates(model, json_object_get(status, "waiting_by_gate"));
    read_limits(model, status);
    read_alerts(model, json_object_get(status, "alerts"));
    read_projects(model, json_object_get(status, "projects"));
}

void top_model_finish(struct top_model *model) {
    arena_finish(&model->arena);
    *model = (struct top_model){ 0 };
}

bool top_model_is_paused(const struct top_model *model, const char *project) {
    for (size_t i = 0; i < model->project_count; i++)
        if (strcmp(model->projects[i].name, project) == 0)
            return model->projects[i].paused;
    return false;
}

bool top_model_moves(const struct top_model *model, time_ms now) {
    if (model->counts[TASK_RUNNING] + model->counts[TASK_STARTING] > 0)
        return true;
    for (size_t i = 0; i < model->limit_count; i++)
        if (model->limits[i].opens_at > now)
            return true;
    return false;
}

/* --- tasks ----------------------------------------------------------------------------------- */

static int64_t sum_tokens(const json_t *run) {
    int64_t in = ask_int(run, "tokens_in", -1), out = ask_int(run, "tokens_out", -1);
    return in < 0 && out < 0 ? -1 : (in > 0 ? in : 0) + (out > 0 ? out : 0);
}

static struct top_task task_of(struct arena *arena, const json_t *item) {
    const json_t *run = json_object_get(item, "run");
    struct top_task task = {
        .id = member(arena, item, "id"),
        .project = member(arena, item, "project"),
        .kind = member(arena, item, "kind"),
        .agent = member(arena, item, "agent"),
        .group = member(arena, item, "group"),
        .title = safe(arena, print_title(item)),
        .word = safe(arena, print_state(item).text),
        .gate = member(arena, item, "gate"),
        .why = member(arena, item, "why"),
        .doing = member(arena, run,
                        json_is_string(json_object_get(run, "doing")) ? "doing" : "last_line"),
        .state = task_state_find(ask_text(item, "state", "")),
        .can_release = top_offers(item, "release"),
        .since = ask_int(run, "started_at", ask_int(item, "changed_at", 0)),
        .not_before = ask_int(item, "not_before", 0),
        .tokens = sum_tokens(run),
        .priority = ask_int(item, "priority", 0),
        .attempt = ask_int(item, "attempt", 0),
    };
    return task;
}

bool top_offers(const json_t *task, const char *action) {
    const json_t *actions = json_object_get(task, "actions");
    for (size_t i = 0; i < json_array_size(actions); i++)
        if (strcmp(json_string_value(json_array_get(actions, i)), action) == 0)
            return true;
    return false;
}

size_t top_page_read(struct top_page *page, const json_t *answer, const char *filter, size_t most) {
    const json_t *items = json_object_get(answer, "items");
    size_t i = 0, count = json_array_size(items);
    for (; i < count && page->count < most; i++) {
        struct top_task task = task_of(&page->arena, json_array_get(items, i));
        if (!top_task_matches(&task, filter))
            continue;
        page->tasks = xgrow(page->tasks, &page->capacity, page->count + 1, sizeof(*page->tasks));
        page->tasks[page->count++] = task;
    }
    return i;
}

void top_page_finish(struct top_page *page) {
    arena_finish(&page->arena);
    free(page->tasks);
    *page = (struct top_page){ 0 };
}

static bool has_word(const char *text, const char *word, size_t length) {
    for (; *text; text++)
        if (strncasecmp(text, word, length) == 0)
            return true;
    return false;
}

/* "gate:dependency" is that gate and no other word with it. */
static bool is_gate(const struct top_task *task, const char *word, size_t length) {
    size_t before = strlen("gate:");
    return length > before && strncmp(word, "gate:", before) == 0
           && strlen(task->gate) == length - before
           && strncasecmp(task->gate, word + before, length - before) == 0;
}

bool top_task_matches(const struct top_task *task, const char *filter) {
    const char *const texts[] = { task->id,    task->project, task->agent, task->kind, task->group,
                                  task->title, task->word,    task->gate,  task->why };
    for (const char *word = filter + strspn(filter, " "); *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        bool found = is_gate(task, word, length);
        for (size_t i = 0; i < ARRAY_SIZE(texts) && !found; i++)
            found = has_word(texts[i], word, length);
        if (!found)
            return false;
        word += length;
    }
    return true;
}
