/* top_model.c: the daemon's answers, sanitized, and lists of tasks.
 *
 * Titles, names and messages are untrusted. They are sanitized here and nowhere else. */
#include "cli/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/safe_text.h"
#include "base/strbuf.h"
#include "cli/print_task.h"

#define TEXT_MOST 2000 /* bytes kept of a title or message: ten lines */
#define NO_PAGE   SIZE_MAX

static json_t *sanitized(const json_t *value) {
    if (json_is_string(value)) {
        _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
        _cleanup_(freep) char *part = xstrndup(json_string_value(value), TEXT_MOST);
        sanitize_line(part, &safe);
        return json_text(strbuf_text(&safe));
    }
    json_t *copy = json_is_object(value)  ? json_object()
                   : json_is_array(value) ? json_array()
                                          : json_incref((json_t *)(uintptr_t)value);
    EACH_MEMBER(key, member, value) {
        json_object_set_new(copy, key, sanitized(member));
    }
    EACH_ITEM(item, value) {
        json_array_append_new(copy, sanitized(item));
    }
    return copy;
}

/* --- status ---------------------------------------------------------------------------------- */

/* `prefix` precedes the item's member `name`. */
static void add_limit(json_t *limits, const json_t *item, const char *prefix, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf state = STRBUF_INIT;
    _cleanup_(freep) char *key = xasprintf("%s%s", prefix, get_text(item, name, "?"));
    const char *word = get_text(item, "state", "open");
    bool closed = strcmp(word, "open") != 0;
    int64_t used = get_int(item, "used", -1), cap = get_int(item, "cap", -1);
    int64_t hits = get_int(item, "hits", 0), reserved = get_int(item, "reserved", 0);
    if (closed)
        strbuf_puts(&state, word);
    else if (cap >= 0 && used >= cap)
        strbuf_puts(&state, "full");
    if (closed && hits > 0)
        strbuf_printf(&state, ", %lld hit%s", (long long)hits, hits == 1 ? "" : "s");
    double usd = get_real(item, "usd_used", 0), usd_cap = get_real(item, "usd_cap", -1);
    if (usd > 0 || usd_cap >= 0)
        strbuf_printf(&state, "%s%s%s%s", state.length > 0 ? ", " : "", print_usd(usd).text,
                      usd_cap >= 0 ? " of " : " spent",
                      usd_cap >= 0 ? print_usd(usd_cap).text : "");
    if (reserved > 0)
        strbuf_printf(&state, "%s%s reserved", state.length > 0 ? ", " : "",
                      print_short(reserved).text);
    print_add_limit(limits,
                    json_pack("{s:s, s:I, s:I, s:s, s:I, s:O*}", "key", key, "used",
                              (json_int_t)used, "cap", (json_int_t)cap, "state",
                              strbuf_text(&state), "opens_at",
                              (json_int_t)get_int(item, "opens_at", 0), "windows",
                              json_object_get(item, "windows")),
                    print_limit_urgency(key, used, cap, closed));
}

/* Those that are closed. */
static void add_hours(json_t *limits, const json_t *item) {
    _cleanup_(freep) char *key =
        xasprintf("hours:%s:%s", get_text(item, "scope", "?"), get_text(item, "name", "?"));
    if (get_true(item, "open"))
        return;
    print_add_limit(limits,
                    json_pack("{s:s, s:i, s:i, s:s, s:I}", "key", key, "used", -1, "cap", -1,
                              "state", "closed", "opens_at", (json_int_t)get_int(item, "until", 0)),
                    print_limit_urgency(key, -1, -1, true));
}

void top_model_read(struct top_model *model, const json_t *status) {
    top_model_finish(model);
    model->status = sanitized(status);
    model->limits = json_array();
    EACH_ITEM(item, json_object_get(model->status, "limits")) {
        /* Limiters have more members and follow. */
        if (strncmp(get_text(item, "key", "?"), "limiter:", strlen("limiter:")) != 0)
            add_limit(model->limits, item, "", "key");
    }
    EACH_ITEM(item, json_object_get(model->status, "limiters")) {
        add_limit(model->limits, item, "limiter:", "name");
    }
    EACH_ITEM(item, json_object_get(model->status, "hours")) {
        add_hours(model->limits, item);
    }
    EACH_ITEM(item, json_object_get(model->status, "budgets")) {
        add_limit(model->limits, item, "budget:", "key");
    }
}

void top_model_finish(struct top_model *model) {
    json_decref(model->status);
    json_decref(model->limits);
    json_decref(model->worst);
    *model = (struct top_model){ 0 };
}

void top_model_set_worst(struct top_model *model, const json_t *item) {
    json_t *need = item ? print_need(item) : NULL;
    json_decref(model->worst);
    model->worst = need ? sanitized(need) : NULL;
    json_decref(need);
}

int64_t top_model_count(const struct top_model *model, const char *states) {
    const json_t *counts = json_object_get(model->status, "counts");
    int64_t count = 0;
    for (size_t length; *states; states += length + (states[length] == ',')) {
        length = strcspn(states, ",");
        _cleanup_(freep) char *state = xstrndup(states, length);
        count += get_int(counts, state, 0);
    }
    return count;
}

bool top_model_moves(const struct top_model *model, time_ms now) {
    if (top_model_count(model, "starting,running") > 0)
        return true;
    EACH_ITEM(limit, model->limits) {
        if (get_int(limit, "opens_at", 0) > now)
            return true;
    }
    return false;
}

/* --- tasks ----------------------------------------------------------------------------------- */

bool top_offers(const json_t *task, const char *action) {
    EACH_ITEM(one, json_object_get(task, "actions")) {
        if (strcmp(json_string_value(one), action) == 0)
            return true;
    }
    return false;
}

void top_page_read(json_t *page, const json_t *answer, const char *filter) {
    EACH_ITEM(item, json_object_get(answer, "items")) {
        json_t *task = sanitized(item);
        if (top_task_matches(task, filter))
            json_array_append(page, task);
        json_decref(task);
    }
}

void top_needs_read(json_t *page, const json_t *answer, const char *filter) {
    EACH_ITEM(item, json_object_get(answer, "items")) {
        json_t *need = print_need(item), *row = sanitized(need);
        if (top_task_matches(row, filter))
            json_array_append(page, row);
        json_decref(need);
        json_decref(row);
    }
}

/* "project:web" */
static bool has_member_of_word(const json_t *task, const char *word) {
    static const char *const members[] = { "gate", "project", "agent", "kind", "group" };
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        size_t length = strlen(members[i]);
        const char *value = get_text(task, members[i], "");
        if (*value && strncmp(word, members[i], length) == 0 && word[length] == ':')
            return strcasecmp(value, word + length + 1) == 0;
    }
    return false;
}

bool top_task_matches(const json_t *task, const char *filter) {
    static const char *const members[] = { "id",   "project", "agent", "kind", "group",
                                           "gate", "why",     "need",  "name" };
    const char *title = print_title(task);
    struct print_text state = print_state(task);
    for (size_t length; *(filter += strspn(filter, " ")); filter += length) {
        length = strcspn(filter, " ");
        _cleanup_(freep) char *word = xstrndup(filter, length);
        bool found = strcasestr(state.text, word) || (title && strcasestr(title, word))
                     || has_member_of_word(task, word);
        for (size_t i = 0; i < ARRAY_SIZE(members) && !found; i++)
            found = strcasestr(get_text(task, members[i], ""), word);
        if (!found)
            return false;
    }
    return true;
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Which pages are needed, and where is the selection?
 *
 * A reloaded page may have other rows and another end: then later pages are dropped and reloaded
 * when they become visible. Earlier pages stay, so the screen does not jump. */

static void drop_rows(struct top_list_page *page) {
    json_decref(page->rows);
    page->rows = NULL;
    page->stale = false;
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
        if (seen && (!page->rows || page->stale))
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
        if (page->rows && (begin + page->count + far < list->top || begin > end + far))
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

/* What waits for a person has a key, also if it is not a task. */
static const char *key_of(const json_t *row) {
    return get_text(row, "key", get_text(row, "id", ""));
}

/* Finds the selected task; otherwise the selection keeps its line. */
static void follow_id(struct top_list *list) {
    size_t row = 0;
    for (size_t i = 0; list->id && i < list->page_count; i++) {
        const struct top_list_page *page = &list->pages[i];
        for (size_t k = 0; k < json_array_size(page->rows); k++)
            if (strcmp(key_of(json_array_get(page->rows, k)), list->id) == 0) {
                list->selected = row + k;
                return;
            }
        row += page->count;
    }
}

static void remember_id(struct top_list *list) {
    const json_t *task = top_list_selected(list);
    free(list->id);
    list->id = task ? xstrdup(key_of(task)) : NULL;
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
    json_auto_t *rows = json_array();
    char *next = NULL;
    int r = fetch(ctx, cursor, rows, &next, err);
    if (r < 0)
        return r;
    if (added) {
        list->pages = xgrow(list->pages, &list->page_capacity, at + 1, sizeof(*list->pages));
        char *begins = TAKE_PTR(list->next);
        list->pages[at] = (struct top_list_page){ .cursor = begins };
        list->page_count++;
    }
    struct top_list_page *page = &list->pages[at];
    drop_rows(page);
    page->count = json_array_size(rows);
    page->rows = TAKE_PTR(rows);
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

const json_t *top_list_row(const struct top_list *list, size_t row) {
    for (size_t i = 0; i < list->page_count; i++) {
        const struct top_list_page *page = &list->pages[i];
        if (row < page->count)
            return json_array_get(page->rows, row);
        row -= page->count;
    }
    return NULL;
}

const json_t *top_list_selected(const struct top_list *list) {
    return top_list_row(list, list->selected);
}

void top_list_height(struct top_list *list, size_t height) {
    list->height = height;
    keep_inside(list);
}

size_t top_moved(size_t row, long by) {
    size_t up = by < 0 ? (size_t)-by : 0;
    return by < 0 ? row - (up < row ? up : row) : row + (size_t)by;
}

void top_list_move(struct top_list *list, long by) {
    list->to_end = by == TOP_FAR && !list->complete;
    list->selected = top_moved(list->selected, by);
    keep_inside(list);
    remember_id(list);
}

void top_list_scroll(struct top_list *list, long by) {
    size_t known = top_list_known(list), most = known > list->height ? known - list->height : 0;
    list->to_end = false;
    list->top = top_moved(list->top, by);
    list->top = list->top < most ? list->top : most;
    if (list->selected < list->top)
        list->selected = list->top;
    if (list->height > 0 && list->selected >= list->top + list->height)
        list->selected = list->top + list->height - 1;
    keep_inside(list);
    remember_id(list);
}

void top_list_select(struct top_list *list, size_t row) {
    if (row >= top_list_known(list))
        return;
    list->to_end = false;
    list->selected = row;
    keep_inside(list);
    remember_id(list);
}
