/* top_model.c: converts the daemon's JSON to values.
 *
 * Titles, names and messages are untrusted. They are sanitized here and nowhere else. */
#include "cli/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/safe_text.h"
#include "base/strbuf.h"
#include "cli/print_task.h"
#include "core/state_look.h"

#define TEXT_MOST 2000 /* bytes kept of a title or message: ten lines */
#define NO_PAGE   SIZE_MAX

static const char *safe(struct arena *arena, const char *text) {
    if (!text || !*text)
        return "";
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    _cleanup_(freep) char *part = xstrndup(text, TEXT_MOST);
    sanitize_line(part, &out);
    return arena_strdup(arena, strbuf_text(&out));
}

static const char *member(struct arena *arena, const json_t *object, const char *key) {
    return safe(arena, get_text(object, key, ""));
}

/* --- status ---------------------------------------------------------------------------------- */

static void *new_list(struct top_model *model, const json_t *items, size_t size) {
    return arena_alloc(&model->arena, (json_array_size(items) + 1) * size);
}

/* `prefix` precedes the item's member `name`. */
static void add_limit(struct top_model *model, const json_t *item, const char *prefix,
                      const char *name) {
    _cleanup_(strbuf_finish) struct strbuf state = STRBUF_INIT;
    _cleanup_(freep) char *key = xasprintf("%s%s", prefix, get_text(item, name, "?"));
    struct top_limit limit = {
        .key = safe(&model->arena, key),
        .used = get_int(item, "used", -1),
        .cap = get_int(item, "cap", -1),
        .opens_at = get_int(item, "opens_at", 0),
    };
    const char *word = get_text(item, "state", "open");
    bool closed = strcmp(word, "open") != 0;
    int64_t hits = get_int(item, "hits", 0), reserved = get_int(item, "reserved", 0);
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
    limit.urgency = print_limit_urgency(limit.key, limit.used, limit.cap, closed);
    /* Stable: equal urgency keeps the order of the answer. */
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
    EACH_ITEM(item, limits) {
        /* Limiters have more members and follow. */
        if (strncmp(get_text(item, "key", "?"), "limiter:", strlen("limiter:")) != 0)
            add_limit(model, item, "", "key");
    }
    EACH_ITEM(item, limiters) {
        add_limit(model, item, "limiter:", "name");
    }
    EACH_ITEM(item, budgets) {
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
        .started_at = get_int(status, "started_at", 0),
        .paused_at = get_int(status, "paused_at", 0),
        .paused = get_true(status, "paused"),
        .store_full = get_true(json_object_get(status, "store"), "full"),
        .stuck = get_int(status, "blocked_dependencies", 0),
        .disk_free_mb = get_int(host, "disk_free_mb", -1),
        .memory_free_mb = get_int(host, "memory_free_mb", -1),
        .load = get_real(host, "load", -1),
    };
    model->version = member(&model->arena, status, "version");
    model->preset = member(&model->arena, status, "preset");
    model->paused_by = member(&model->arena, status, "paused_by");
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        model->counts[s] =
            get_int(json_object_get(status, "counts"), task_state_name((enum task_state)s), 0);
    read_limits(model, status);
    const json_t *gates = json_object_get(status, "waiting_by_gate");
    model->gates = new_list(model, gates, sizeof(*model->gates));
    EACH_ITEM(gate, gates) {
        model->gates[model->gate_count++] = (struct top_gate){
            .gate = member(&model->arena, gate, "gate"),
            .count = get_int(gate, "count", 0),
        };
    }
    const json_t *alerts = json_object_get(status, "alerts");
    model->alerts = new_list(model, alerts, sizeof(*model->alerts));
    EACH_ITEM(alert, alerts) {
        model->alerts[model->alert_count++] = (struct top_alert){
            .key = member(&model->arena, alert, "key"),
            .text = member(&model->arena, alert, "text"),
            .since = get_int(alert, "since", 0),
        };
    }
    const json_t *projects = json_object_get(status, "projects");
    model->projects = new_list(model, projects, sizeof(*model->projects));
    EACH_ITEM(project, projects) {
        model->projects[model->project_count++] = (struct top_project){
            .name = member(&model->arena, project, "name"),
            .paused = get_true(project, "paused"),
        };
    }
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

static struct top_task task_of(struct arena *arena, const json_t *item) {
    const json_t *run = json_object_get(item, "run");
    return (struct top_task){
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
        .state = task_state_find(get_text(item, "state", "")),
        .can_release = top_offers(item, "release"),
        .since = get_int(run, "started_at", get_int(item, "changed_at", 0)),
        .not_before = get_int(item, "not_before", 0),
        .tokens = print_run_tokens(run),
        .priority = get_int(item, "priority", 0),
        .attempt = get_int(item, "attempt", 0),
    };
}

bool top_offers(const json_t *task, const char *action) {
    EACH_ITEM(one, json_object_get(task, "actions")) {
        if (strcmp(json_string_value(one), action) == 0)
            return true;
    }
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

/* "gate:dependency" matches exactly that gate. */
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

/* --- lists ------------------------------------------------------------------------------------ */

/* Which pages are needed, and where is the selection?
 *
 * A reloaded page may have other rows and another end: then later pages are dropped and reloaded
 * when they become visible. Earlier pages stay, so the screen does not jump. */

static void drop_rows(struct top_list_page *page) {
    top_page_finish(&page->page);
    page->loaded = page->stale = false;
}

static void forget_from(struct top_list *list, size_t first) {
    while (list->page_count > first) {
        struct top_list_page *page = &list->pages[--list->page_count];
        drop_rows(page);
        free(page->cursor);
    }
}

void top_list_finish(struct top_list *list) {
    forget_from(list, 0);
    free(list->pages);
    free(list->next);
    free(list->id);
    *list = (struct top_list){ 0 };
}

void top_list_reset(struct top_list *list) {
    size_t height = list->height;
    top_list_finish(list);
    list->height = height;
}

void top_list_stale(struct top_list *list) {
    for (size_t i = 0; i < list->page_count; i++)
        list->pages[i].stale = true;
    if (list->page_count == 0)
        list->complete = false;
}

void top_list_refuse(struct top_list *list) {
    forget_from(list, 0);
    free(TAKE_PTR(list->next));
    list->complete = true;
    list->to_end = false;
    list->top = list->selected = 0;
}

size_t top_list_known(const struct top_list *list) {
    size_t known = 0;
    for (size_t i = 0; i < list->page_count; i++)
        known += list->pages[i].count;
    return known;
}

/* --- loading --------------------------------------------------------------------------------- */

/* The first page to load; page_count: the one after the last known page. */
static size_t wanted_page(const struct top_list *list) {
    size_t begin = 0, end = list->top + (list->height > 0 ? list->height : 1);
    for (size_t i = 0; i < list->page_count; i++) {
        const struct top_list_page *page = &list->pages[i];
        bool seen = begin < end && begin + page->count >= list->top;
        if (seen && (!page->loaded || page->stale))
            return i;
        begin += page->count;
    }
    /* One screen ahead, so that there is something to scroll to. */
    bool near = begin < end + list->height;
    return !list->complete && (near || list->to_end) ? list->page_count : NO_PAGE;
}

bool top_list_wants(const struct top_list *list) {
    return wanted_page(list) != NO_PAGE;
}

static void drop_far(struct top_list *list) {
    size_t begin = 0, end = list->top + list->height;
    for (size_t i = 0; i < list->page_count; i++) {
        struct top_list_page *page = &list->pages[i];
        size_t far = 2 * page->count + list->height;
        if (page->loaded && (begin + page->count + far < list->top || begin > end + far))
            drop_rows(page);
        begin += page->count;
    }
}

static void keep_inside(struct top_list *list) {
    size_t known = top_list_known(list);
    if (list->selected >= known)
        list->selected = known > 0 ? known - 1 : 0;
    if (list->selected < list->top)
        list->top = list->selected;
    if (list->height > 0 && list->selected >= list->top + list->height)
        list->top = list->selected - list->height + 1;
    /* No empty lines at the end while rows precede them. */
    if (list->height > 0 && list->top + list->height > known)
        list->top = known > list->height ? known - list->height : 0;
}

/* Finds the selected task; otherwise the selection keeps its line. */
static void follow_id(struct top_list *list) {
    size_t row = 0;
    for (size_t i = 0; list->id && i < list->page_count; i++) {
        const struct top_list_page *page = &list->pages[i];
        for (size_t k = 0; page->loaded && k < page->page.count; k++)
            if (strcmp(page->page.tasks[k].id, list->id) == 0) {
                list->selected = row + k;
                return;
            }
        row += page->count;
    }
}

static void remember_id(struct top_list *list) {
    const struct top_task *task = top_list_row(list, list->selected);
    free(list->id);
    list->id = task ? xstrdup(task->id) : NULL;
}

static bool same_place(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* If the next page no longer starts at this page's end, drops the later pages. */
static void set_next(struct top_list *list, size_t at, char *next) {
    bool last = at + 1 == list->page_count;
    if (!last && same_place(list->pages[at + 1].cursor, next)) {
        free(next);
        return;
    }
    forget_from(list, at + 1);
    free(list->next);
    list->next = next;
    list->complete = !next;
}

int top_list_load(struct top_list *list, top_list_fetch fetch, void *ctx, struct error *err) {
    size_t at = wanted_page(list);
    if (at == NO_PAGE)
        return 0;
    bool added = at == list->page_count;
    const char *cursor = added ? list->next : list->pages[at].cursor;
    struct top_page fresh = { 0 };
    char *next = NULL;
    int r = fetch(ctx, cursor, &fresh, &next, err);
    if (r < 0) {
        top_page_finish(&fresh);
        return r;
    }
    if (added) {
        list->pages = xgrow(list->pages, &list->page_capacity, at + 1, sizeof(*list->pages));
        char *begins = TAKE_PTR(list->next);
        list->pages[at] = (struct top_list_page){ .cursor = begins };
        list->page_count++;
    }
    struct top_list_page *page = &list->pages[at];
    drop_rows(page);
    page->page = fresh;
    page->count = fresh.count;
    page->loaded = true;
    set_next(list, at, next);
    if (list->to_end) {
        list->selected = SIZE_MAX;
        list->to_end = !list->complete;
    } else {
        follow_id(list);
    }
    keep_inside(list);
    remember_id(list);
    drop_far(list);
    return 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

const struct top_task *top_list_row(const struct top_list *list, size_t row) {
    for (size_t i = 0; i < list->page_count; i++) {
        const struct top_list_page *page = &list->pages[i];
        if (row < page->count)
            return page->loaded ? &page->page.tasks[row] : NULL;
        row -= page->count;
    }
    return NULL;
}

const struct top_task *top_list_selected(const struct top_list *list) {
    return top_list_row(list, list->selected);
}

void top_list_height(struct top_list *list, size_t height) {
    list->height = height;
    keep_inside(list);
}

static void select_row(struct top_list *list, size_t row) {
    list->selected = row;
    keep_inside(list);
    remember_id(list);
}

void top_list_move(struct top_list *list, long by) {
    size_t up = by < 0 ? (size_t)-by : 0;
    list->to_end = false;
    select_row(list, by < 0 ? list->selected - (up < list->selected ? up : list->selected)
                            : list->selected + (size_t)by);
}

void top_list_first(struct top_list *list) {
    list->to_end = false;
    select_row(list, 0);
}

void top_list_last(struct top_list *list) {
    list->to_end = !list->complete;
    select_row(list, SIZE_MAX);
}
