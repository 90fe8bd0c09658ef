/* op_task_list.c: lists tasks.
 *
 * Tasks are walked by number, a direct lookup in the core; nothing is sorted or kept between pages.
 * One call visits at most SCANNED_MAX tasks, so that a list of a few among a million takes several
 * short answers instead of one that blocks the daemon. Such a page has fewer items than requested,
 * and a `next`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "core/action.h"
#include "core/core.h"
#include "engine/external_ids.h"
#include "engine/outlook.h"
#include "ops/print.h"
#include "ops/rights.h"

#define SCANNED_MAX 20000u
#define TITLES_MAX  10000u /* titles searched for a text in one call */
#define WAITS_MAX   2u     /* for a forecast of the current queue */
#define SORTED_MAX  5000u  /* in queue order: each costs a lookup */

#define OPEN_STATES                                                                                \
    (1u << TASK_DRAFT | 1u << TASK_WAITING | 1u << TASK_READY | 1u << TASK_STARTING                \
     | 1u << TASK_RUNNING | 1u << TASK_HELD)
#define ALL_STATES  ((1u << TASK_STATE_MAX) - (1u << TASK_DRAFT))
#define LIVE_STATES (1u << TASK_STARTING | 1u << TASK_RUNNING)
#define QUEUED      (1u << TASK_WAITING | 1u << TASK_READY)

extern const struct op op_task_select; /* answers with ids alone */

struct listing {
    struct op_rows rows; /* first: op_query_titles */
    size_t most;         /* on a page */
    unsigned waits;      /* for a forecast, so far */
    unsigned states;
    sym project, kind, agent;
    uint32_t group;
    task_id parent;
    const char *external_id, *schedule;
    bool nothing; /* a name that no task ever had */
    char kind_of_cursor;
    uint64_t from;           /* where this page begins */
    uint64_t next;           /* where the next page begins; 0: none */
    size_t room;             /* for tasks on this page */
    struct sorting *sorting; /* NULL: by number, or as they will start */
    /* With a text: `rows` are candidates, `found` those whose title matches. */
    const char *text;
    task_id *found;
    size_t found_count, titles;
};

/* --- parameters ------------------------------------------------------------------------------ */

static unsigned states_of(const char *word, size_t size) {
    if (size == strlen("open") && memcmp(word, "open", size) == 0)
        return OPEN_STATES;
    if (size == strlen("all") && memcmp(word, "all", size) == 0)
        return ALL_STATES;
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++) {
        const char *name = task_state_name((enum task_state)s);
        if (strlen(name) == size && memcmp(word, name, size) == 0)
            return 1u << s;
    }
    return 0;
}

static int take_states(struct op_call *call, struct listing *l) {
    const char *text = op_text(call, "state");
    l->states = text ? 0 : OPEN_STATES;
    while (text && *text) {
        size_t size = strcspn(text, ",");
        unsigned states = states_of(text, size);
        if (states == 0) {
            const char *word = arena_strndup(op_arena(call), text, size);
            struct nearest nearest = nearest_to(word);
            for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
                nearest_offer(&nearest, task_state_name((enum task_state)s));
            return op_fail(call, -EINVAL, "there is no state '%s'; did you mean '%s'?",
                           utf8_quote(word).text, nearest.best ? nearest.best : "open");
        }
        l->states |= states;
        text += size + (text[size] == ',');
    }
    return 0;
}

/* A name that is neither configured nor used by any task is a typo. */
static int take_name(struct op_call *call, const char *param, op_name_at at, sym *ret) {
    const char *name = op_text(call, param);
    if (!name)
        return 0;
    *ret = op_symbol(call->engine, name);
    if (!op_knows(call->engine, at, name) && *ret == 0)
        return op_unknown(call->engine, param, name, at, &call->err);
    return 0;
}

static int take_filter(struct op_call *call, struct listing *l) {
    int r = take_states(call, l);
    if (r == 0)
        r = take_name(call, "project", op_project_at, &l->project);
    if (r == 0)
        r = take_name(call, "kind", op_kind_at, &l->kind);
    if (r == 0)
        r = take_name(call, "agent", op_agent_at, &l->agent);
    if (r == 0 && op_text(call, "group")) {
        const struct engine_group *group = op_group(call, op_text(call, "group"));
        l->group = group ? group->id : 0;
        r = call->err.code;
    }
    if (r == 0 && op_text(call, "parent")) {
        l->parent = op_named_task(call, op_text(call, "parent"));
        r = call->err.code;
    }
    l->external_id = op_text(call, "external_id");
    l->schedule = op_text(call, "schedule");
    l->nothing = (op_text(call, "project") && !l->project) || (op_text(call, "kind") && !l->kind)
                 || (op_text(call, "agent") && !l->agent);
    return r;
}

/* Its external id is NAME@TIME. A name may contain @, a time does not. */
static bool is_of_schedule(const struct engine *engine, task_id task, const char *name) {
    const char *id = engine_external_id(engine, task), *at = id ? strrchr(id, '@') : NULL;
    size_t length = strlen(name);
    return at && (size_t)(at - id) == length && memcmp(id, name, length) == 0;
}

static bool fits(const struct op_call *call, const struct listing *l, const struct task_view *t) {
    if (!((l->states >> t->state) & 1u) || (l->project && t->project != l->project)
        || (l->kind && t->kind != l->kind) || (l->agent && t->agent != l->agent)
        || (l->parent && t->parent != l->parent) || !capability_finds(call, t->id)
        || (l->schedule && !is_of_schedule(call->engine, t->id, l->schedule)))
        return false;
    struct task_spec spec;
    return !l->group
           || (core_task_spec(engine_core(call->engine), t->id, &spec) && spec.group == l->group);
}

static void take_if_fits(struct op_call *call, struct listing *l, task_id task) {
    struct task_view t;
    if (core_task(engine_core(call->engine), task, &t) && fits(call, l, &t))
        l->rows.tasks[l->rows.count++] = task;
}

static bool goes_up(const struct listing *l) {
    return l->kind_of_cursor == 'o';
}

static void walk(struct op_call *call, struct listing *l) {
    task_id last = engine_last_task(call->engine), task = l->from;
    bool up = goes_up(l);
    for (unsigned scanned = 0; task >= 1 && task <= last; scanned++) {
        if (scanned == SCANNED_MAX || l->rows.count == l->room) {
            l->next = task;
            return;
        }
        take_if_fits(call, l, task);
        task += up ? 1 : (task_id)-1;
    }
}

/* Live tasks are few, and the engine lists them. */
static void walk_live(struct op_call *call, struct listing *l) {
    bool up = goes_up(l);
    size_t count = engine_live_tasks(call->engine, NULL, 0);
    count = count < SCANNED_MAX ? count : SCANNED_MAX;
    task_id *live = arena_alloc(op_arena(call), (count + 1) * sizeof(*live));
    (void)engine_live_tasks(call->engine, live, count);
    for (size_t i = 0; i < count; i++) {
        task_id task = live[up ? i : count - 1 - i];
        if (up ? task < l->from : task > l->from)
            continue;
        if (l->rows.count == l->room) {
            l->next = task;
            return;
        }
        take_if_fits(call, l, task);
    }
}

/* --- in the order of the queue --------------------------------------------------------------- */

struct queue_entry {
    task_id task;
    bool lacks; /* a prerequisite: regardless of position, it cannot be next */
    int32_t priority;
    amount position;
};

/* Positions ignore fair shares, so two may be equal. */
static int compare_entries(const void *a, const void *b) {
    const struct queue_entry *x = a, *y = b;
    if (x->lacks != y->lacks)
        return x->lacks - y->lacks;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    return x->task < y->task ? -1 : x->task > y->task;
}

static size_t without_duplicates(struct queue_entry *entries, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || entries[kept - 1].task != entries[i].task)
            entries[kept++] = entries[i];
    return kept;
}

/* Tasks in forecast order; *ret_scanned: how many of the forecast were visited. */
static size_t take_forecast(struct op_call *call, const struct listing *l,
                            struct queue_entry *entries, size_t *ret_scanned) {
    const struct core *core = engine_core(call->engine);
    size_t count = 0, scanned = 0;
    task_id task;
    for (; count < SORTED_MAX && scanned < SCANNED_MAX
           && (task = engine_order_at(call->engine, scanned));
         scanned++) {
        struct task_view t;
        if (core_task(core, task, &t) && fits(call, l, &t))
            entries[count++] = (struct queue_entry){ .task = task };
    }
    *ret_scanned = scanned;
    return count;
}

/* First those of the forecast, then the others by position. */
static void walk_queue(struct op_call *call, struct listing *l) {
    const struct core *core = engine_core(call->engine);
    task_id *waiting = arena_alloc(op_arena(call), SORTED_MAX * sizeof(*waiting));
    struct queue_entry *order = arena_alloc(op_arena(call), 2 * SORTED_MAX * sizeof(*order));
    size_t scanned = 0, forecast = take_forecast(call, l, order, &scanned);
    struct queue_entry *entries = order + forecast;
    size_t all = (l->states == 1u << TASK_READY && !l->group && !l->parent && !l->schedule
                  && !call->run.token[0])
                     ? core_waiting_first(core, l->from + l->room + 1, waiting, SORTED_MAX)
                     : core_waiting(core, waiting, SORTED_MAX);
    size_t count = 0;
    for (size_t i = 0; i < all; i++) {
        struct task_view t;
        if (core_task(core, waiting[i], &t) && fits(call, l, &t)
            && engine_order_position(call->engine, waiting[i]) >= scanned)
            entries[count++] =
                (struct queue_entry){ .task = waiting[i],
                                      .lacks = t.state == TASK_WAITING,
                                      .priority = t.priority,
                                      .position = core_queue_position(core, waiting[i]) };
    }
    qsort(entries, count, sizeof(*entries), compare_entries);
    count = forecast + without_duplicates(entries, count);
    for (size_t i = l->from; i < count && l->rows.count < l->room; i++)
        l->rows.tasks[l->rows.count++] = order[i].task;
    if (l->from + l->rows.count < count)
        l->next = l->from + l->rows.count;
}

/* --- by a member ------------------------------------------------------------------------------ */

/* A page is the first `room` tasks after the last one of the page before. Each page visits all
 * tasks, SCANNED_MAX in a turn, and keeps the best of them in a heap whose first is the worst. */

enum sort_by { SORT_STATE, SORT_PROJECT, SORT_KIND, SORT_AGENT, SORT_PRIORITY, SORT_ATTEMPT };
static const char *const sorts[] = { "state",    "project", "kind", "agent",
                                     "priority", "attempt", NULL };

struct sort_entry {
    task_id task;
    int64_t number;
    const char *name; /* NULL: none, which comes last */
};

struct sorting {
    enum sort_by by;
    bool is_reverse;
    bool goes_on; /* after `last` */
    struct sort_entry last;
    struct sort_entry *heap;
    size_t count;
    bool has_more;
    task_id scanned;
};

static struct sort_entry entry_of(const struct engine *engine, enum sort_by by,
                                  const struct task_view *t) {
    sym symbol = by == SORT_PROJECT ? t->project
                 : by == SORT_KIND  ? t->kind
                 : by == SORT_AGENT ? t->agent
                                    : 0;
    int64_t number = by == SORT_STATE      ? (int64_t)t->state
                     : by == SORT_PRIORITY ? (int64_t)t->priority
                     : by == SORT_ATTEMPT  ? (int64_t)t->attempt
                                           : 0;
    return (
        struct sort_entry){ .task = t->id, .number = number, .name = op_name_of(engine, symbol) };
}

static int compare_names(const char *a, const char *b) {
    if (!a || !b)
        return (a == NULL) - (b == NULL);
    return strcmp(a, b);
}

/* Of equal ones the newest first. */
static bool sorts_before(const struct sorting *s, const struct sort_entry *a,
                         const struct sort_entry *b) {
    int names = compare_names(a->name, b->name);
    bool before = names != 0               ? names < 0
                  : a->number != b->number ? a->number < b->number
                                           : a->task > b->task;
    return before != s->is_reverse && a->task != b->task;
}

/* Restores the heap below `at`, where the first of `count` entries is the last one to be shown. */
static void sink(const struct sorting *s, size_t at, size_t count) {
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && sorts_before(s, &s->heap[child], &s->heap[child + 1]))
            child++;
        if (!sorts_before(s, &s->heap[at], &s->heap[child]))
            return;
        struct sort_entry entry = s->heap[at];
        s->heap[at] = s->heap[child];
        s->heap[child] = entry;
    }
}

static void keep_best(struct sorting *s, const struct sort_entry *entry, size_t room) {
    if (s->goes_on && !sorts_before(s, &s->last, entry))
        return;
    if (s->count < room) {
        s->heap[s->count++] = *entry;
        for (size_t i = s->count == room ? room / 2 : 0; i-- > 0;)
            sink(s, i, room);
        return;
    }
    s->has_more = true;
    if (!sorts_before(s, entry, &s->heap[0]))
        return;
    s->heap[0] = *entry;
    sink(s, 0, room);
}

static void take_sorted(struct listing *l) {
    struct sorting *s = l->sorting;
    for (size_t i = s->count / 2; i-- > 0;)
        sink(s, i, s->count);
    l->rows.count = s->count;
    for (size_t left = s->count; left-- > 0;) {
        l->rows.tasks[left] = s->heap[0].task;
        s->heap[0] = s->heap[left];
        sink(s, 0, left);
    }
    l->next = s->has_more ? l->rows.tasks[l->rows.count - 1] : 0;
}

static int show(struct op_call *call, struct listing *l);

static int sort_some(struct op_call *call) {
    struct listing *l = op_state(call, sizeof(*l), NULL);
    struct sorting *s = l->sorting;
    task_id last = engine_last_task(call->engine);
    for (unsigned n = 0; n < SCANNED_MAX && s->scanned < last; n++) {
        struct task_view t;
        if (!core_task(engine_core(call->engine), ++s->scanned, &t) || !fits(call, l, &t))
            continue;
        struct sort_entry entry = entry_of(call->engine, s->by, &t);
        keep_best(s, &entry, l->room);
    }
    if (s->scanned < last)
        return op_yield(call, sort_some);
    take_sorted(l);
    return show(call, l);
}

/* The cursor is the last task of the page before. */
static int begin_sorting(struct op_call *call, struct listing *l, bool goes_on) {
    struct sorting *s = arena_alloc(op_arena(call), sizeof(*s));
    struct task_view t;
    *s = (struct sorting){ .is_reverse = op_flag(call, "reverse"), .goes_on = goes_on };
    while (strcmp(sorts[s->by], op_text(call, "sort")) != 0)
        s->by++;
    if (goes_on && !core_task(engine_core(call->engine), l->from, &t))
        return op_fail(call, -EINVAL, "the last task of the page before was deleted: begin again");
    if (goes_on)
        s->last = entry_of(call->engine, s->by, &t);
    s->heap = arena_alloc(op_arena(call), l->room * sizeof(*s->heap));
    l->sorting = s;
    return l->nothing ? show(call, l) : sort_some(call);
}

/* --- a page ----------------------------------------------------------------------------------- */

static void take_page(struct op_call *call, struct listing *l) {
    l->rows.count = 0;
    l->next = 0;
    if (l->external_id) {
        /* Few tasks share an external id: they fit on one page. */
        size_t count = engine_external_tasks(call->engine, l->external_id, NULL, 0);
        task_id *tasks = arena_alloc(op_arena(call), (count + 1) * sizeof(*tasks));
        (void)engine_external_tasks(call->engine, l->external_id, tasks, count);
        for (size_t i = 0; i < count && l->rows.count < l->room; i++)
            take_if_fits(call, l, tasks[i]);
    } else if (l->kind_of_cursor == 'q')
        walk_queue(call, l);
    else if ((l->states & ~(unsigned)LIVE_STATES) == 0)
        walk_live(call, l);
    else
        walk(call, l);
}

static int print(struct op_call *call) {
    const struct listing *l = op_state(call, sizeof(*l), NULL);
    struct json_writer w = op_begin(call);
    json_write_key(&w, "items");
    print_tasks(&w, call->engine, &l->rows);
    op_print_next(&w, l->kind_of_cursor, l->next);
    if (!call->run.token[0]) /* a run cannot see them */
        print_external(&w, call->engine);
    return op_end(&w);
}

static int print_selected(struct op_call *call);

static int show(struct op_call *call, struct listing *l) {
    return call->op == &op_task_select ? print_selected(call)
                                       : op_query_titles(call, &l->rows, print);
}

/* --- with a text ----------------------------------------------------------------------------- */

static uint64_t position_after(const struct listing *l, size_t at) {
    if (at + 1 == l->rows.count)
        return l->next;
    return l->kind_of_cursor == 'q' ? l->from + at + 1 : l->rows.tasks[at + 1];
}

static bool has_text(const struct op_call *call, const struct listing *l,
                     const struct spec_row *row) {
    char id[ENGINE_ID_MAX];
    const char *external_id = engine_external_id(call->engine, row->id);
    return (row->title && strcasestr(row->title, l->text))
           || (external_id && strcasestr(external_id, l->text))
           || strcasestr(engine_task_id(call->engine, row->id, id), l->text);
}

static void take_if_text(struct op_call *call, const struct store_answer *answer) {
    struct listing *l = op_state(call, sizeof(*l), NULL);
    for (size_t i = 0, k = 0; i < l->rows.count && k < answer->count; i++) {
        if (answer->specs[k].id != l->rows.tasks[i] || !has_text(call, l, &answer->specs[k++]))
            continue;
        l->found[l->found_count++] = l->rows.tasks[i];
        if (l->found_count == l->most) {
            l->next = position_after(l, i);
            break;
        }
    }
    l->titles += l->rows.count;
}

static int search(struct op_call *call);

static int search_on(struct op_call *call) {
    struct listing *l = op_state(call, sizeof(*l), NULL);
    bool walked_far = l->rows.count < l->room; /* as far as one call may walk */
    if (l->next && !walked_far && l->found_count < l->most && l->titles < TITLES_MAX) {
        l->from = l->next;
        return search(call);
    }
    l->rows.tasks = l->found;
    l->rows.count = l->found_count;
    return show(call, l);
}

static int search(struct op_call *call) {
    struct listing *l = op_state(call, sizeof(*l), NULL);
    take_page(call, l);
    struct store_query question = { .kind = QUERY_TITLES,
                                    .tasks = l->rows.tasks,
                                    .task_count = l->rows.count,
                                    .limit = l->rows.count };
    return l->rows.count > 0 ? op_query(call, &question, take_if_text, search_on) : search_on(call);
}

static int list_tasks(struct op_call *call) {
    struct listing *l = op_state(call, sizeof(*l), NULL);
    /* The forecast may have begun before the last change. */
    if (l->kind_of_cursor == 'q' && !engine_order_is_fresh(call->engine) && l->waits++ < WAITS_MAX)
        return op_wait_ready(call, engine_order, list_tasks);
    if (l->text)
        return search(call);
    take_page(call, l);
    return show(call, l);
}

static int check_sort(struct op_call *call) {
    if (op_flag(call, "reverse") && !op_text(call, "sort"))
        return op_fail(call, -EINVAL, "'reverse' needs 'sort'");
    if (op_text(call, "sort") && (op_text(call, "order") || op_text(call, "text")))
        return op_fail(call, -EINVAL, "'sort' and '%s' cannot be used together",
                       op_text(call, "order") ? "order" : "text");
    return 0;
}

static int run(struct op_call *call) {
    struct listing *l = op_state(call, sizeof(*l), NULL);
    const char *order = op_text(call, "order");
    l->kind_of_cursor = op_text(call, "sort") ? 's' : order ? order[0] : 'n';
    bool given = false;
    int r = check_sort(call);
    if (r == 0)
        r = take_filter(call, l);
    if (r == 0)
        r = op_cursor(call, l->kind_of_cursor, &l->from, &given);
    if (r < 0)
        return r;
    l->text = op_text(call, "text");
    l->most = call->op == &op_task_select ? (size_t)op_number(call, "limit", OP_LIST_MAX)
                                          : op_limit(call);
    l->room = l->text ? STORE_ANSWER_MAX : l->most;
    l->rows.tasks = arena_alloc(op_arena(call), l->room * sizeof(*l->rows.tasks));
    l->found = arena_alloc(op_arena(call), l->most * sizeof(*l->found));
    if (l->kind_of_cursor == 's')
        return begin_sorting(call, l, given);
    if (!given && l->kind_of_cursor != 'q')
        l->from = goes_up(l) ? 1 : engine_last_task(call->engine);
    if (l->nothing)
        return show(call, l);
    if (l->kind_of_cursor == 'q')
        l->states &= QUEUED;
    return l->kind_of_cursor == 'q' ? op_wait_ready(call, engine_order, list_tasks)
                                    : list_tasks(call);
}

#define FILTERS                                                                                    \
    OP_PARAM_FILTER(                                                                               \
        "state",                                                                                   \
        "states with commas, `open` (those that are not final; when not given) or `all`"),         \
        OP_PARAM_FILTER("project", "only of this project"),                                        \
        OP_PARAM_FILTER("kind", "only of this kind"),                                              \
        OP_PARAM_FILTER("group", "only of this group"),                                            \
        OP_PARAM_FILTER("parent", "only children of this task"),                                   \
        OP_PARAM_FILTER("agent", "only for this agent"),                                           \
        PARAM(TEXT, QUERY, "external_id",                                                          \
              .text = "only those with this external id, of any project", .min = 1, .max = 255),   \
        PARAM(TEXT, QUERY, "schedule", .text = "only those that this schedule has added",          \
              .min = 1, .max = 128),                                                               \
        OP_PARAM_FILTER(                                                                           \
            "text",                                                                                \
            "only those with this text in their title, id or external id, in capitals or not")

static const char *const orders[] = { "new", "old", "queue", NULL };

const struct op op_task_list = {
    OP("task.list", "GET", "/v1/tasks", "list tasks"),
    .text =
        "One call looks at up to 20,000 tasks: a page may have fewer items than asked for, or "
        "none, and still a `next`; with a `text` it reads up to 10,000 titles. The order of the "
        "queue is the one in which tasks would start if each run succeeded and took as long as "
        "usual, shares, limits and dependencies included; of a paused queue, after a resume. The "
        "forecast ends after 30 days or 2,000,000 steps (about 300,000 starts); what starts later "
        "or "
        "waits for a person stands behind it, by its place at this moment, and so does everything "
        "where the scheduler has more than 64 MB (about 300,000 tasks). There are up to 5,000 of "
        "either. Of a live `run`, `doing` says what it does besides working, `last_line` what it "
        "printed last (of an agent, what it says or does), and `unreachable_host` and "
        "`unreachable_since` that it is on a host that is (`host.list`). `changes`: what a "
        "finished task, or one that waits for review, has changed in its worktree; `files` 0: "
        "nothing. null: it is not known, or it has no worktree.",
    .params = PARAMS(
        FILTERS,
        PARAM(TEXT, QUERY, "order",
              .text = "newest first (when not given), oldest first, or as they will start",
              .choices = orders),
        PARAM(TEXT, QUERY, "sort",
              .text = "by this member, of equal ones the newest first; instead of `order`, and "
                      "without `text`",
              .choices = sorts),
        PARAM(BOOLEAN, QUERY, "reverse", .text = "with `sort`: the other way round"),
        OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers =
        ANSWERS(SHAPE_PAGE(&shape_task),
                { "external", T_TEXT | T_LIST | T_MAYBE,
                  "tasks of live runs that do not belong to this daemon; at most 50", "web-17" }),
    OP_READS(READ, LIST, run),
    .imports = true,
};

/* --- task.select ------------------------------------------------------------------------------ */

static uint32_t situations_of(const struct op_call *call, const struct listing *l) {
    uint32_t in = 0;
    for (size_t i = 0; i < l->rows.count; i++) {
        struct task_view t;
        if (core_task(engine_core(call->engine), l->rows.tasks[i], &t))
            in |= task_situation(t.state, t.hold);
    }
    return in;
}

static int print_selected(struct op_call *call) {
    const struct listing *l = op_state(call, sizeof(*l), NULL);
    struct json_writer w = op_begin(call);
    uint32_t in = situations_of(call, l);
    print_words(&w, "ids", op_ids(call, l->rows.tasks, l->rows.count), l->rows.count);
    json_put_array(&w, "actions");
    for (const struct task_action *a = task_actions; in && a->name; a++)
        if ((a->offered & in) == in)
            json_write_string(&w, a->name);
    json_write_array_end(&w);
    op_print_next(&w, l->kind_of_cursor, l->next);
    return op_end(&w);
}

const struct op op_task_select = {
    OP("task.select", "GET", "/v1/selection",
       "list the ids of tasks, for an action on all of them"),
    .text = "The ids of what task.list would show, newest first, and the actions that are possible "
            "for each of them. One answer has up to 10,000 ids, as many as an action takes.",
    .params = PARAMS(FILTERS,
                     PARAM(NUMBER, QUERY, "limit", .min = 1, .max = OP_LIST_MAX,
                           .text = "at most this many ids; 10,000 when not given"),
                     OP_PARAM_CURSOR),
    .answers = ANSWERS(
        { "ids", T_TEXT | T_LIST, "the tasks", "web-17" },
        { "actions", T_TEXT | T_LIST, "what can be done to each of them", "cancel" },
        { "next", T_TEXT | T_NULL, "the cursor of the next page; null after the last", "n50" }),
    OP_READS(READ, NONE, run),
};
