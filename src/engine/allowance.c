/* allowance.c: see allowance.h. A sorted list: most tasks have none, and those that have are found by search. */
#include "engine/allowance.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/budget.h"
#include "engine/engine_internal.h"
#include "engine/note.h"

#define NOTE   "tokens:"
#define FORMAT "2" /* what the text of a note begins with; before: how many are left, and whose */

static const struct engine_amounts none = { ALLOWANCE_NONE, ALLOWANCE_NONE };

struct allowances {
    LIST(struct allowance) all; /* by task */
};

static struct allowances *allowances_of(const struct engine *e) {
    return e->part[PART_allowances];
}

/* Numbers of tasks rise, but may be given late: sorted by search, not by arrival. */
static size_t place_of(const struct engine *e, task_id task) {
    size_t low = 0, high = allowances_of(e)->all.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (allowances_of(e)->all.items[middle].task < task)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t allowance_count(const struct engine *e) {
    return allowances_of(e)->all.count;
}

const struct allowance *allowance_at(const struct engine *e, size_t index) {
    return &allowances_of(e)->all.items[index];
}

struct allowance *allowance_find(const struct engine *e, task_id task) {
    size_t at = place_of(e, task);
    return at < allowances_of(e)->all.count && allowances_of(e)->all.items[at].task == task
               ? &allowances_of(e)->all.items[at]
               : NULL;
}

static struct allowance allowance_of(task_id task) {
    return (struct allowance){ .task = task,
                               .limit = none,
                               .run_limit = none,
                               .last = none,
                               .granted = none,
                               .lent = none,
                               .on_budget = ON_BUDGET_AS_CONFIGURED };
}

struct allowance *allowance_get(struct engine *e, task_id task) {
    struct allowance *a = allowance_find(e, task);
    if (a)
        return a;
    size_t at = place_of(e, task);
    (void)LIST_ADD(&allowances_of(e)->all);
    a = &allowances_of(e)->all.items[at];
    memmove(a + 1, a, (allowances_of(e)->all.count - 1 - at) * sizeof(*a));
    *a = allowance_of(task);
    return a;
}

/* --- notes ----------------------------------------------------------------------------------- */

static void put(struct engine *e, task_id task, const char *text) {
    char key[24];
    (void)snprintf(key, sizeof(key), "%" PRIu64, task);
    note_put(e, NOTE, key, text);
}

static void put_amounts(struct strbuf *out, struct engine_amounts amounts) {
    strbuf_printf(out, " %" PRId64 " %" PRId64, amounts.tokens, amounts.usd);
}

void allowance_write(struct engine *e, const struct allowance *a) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, FORMAT);
    put_amounts(&text, a->limit);
    put_amounts(&text, a->run_limit);
    put_amounts(&text, a->used);
    put_amounts(&text, a->last);
    put_amounts(&text, a->handed);
    put_amounts(&text, a->granted);
    put_amounts(&text, a->back);
    put_amounts(&text, a->lent);
    strbuf_printf(&text, " %" PRIu32 " %" PRId32 " %d %d %" PRIu32 " %d", a->unknown, a->on_budget,
                  a->is_over, a->by_agent, a->stopping, a->by_window);
    put(e, a->task, strbuf_text(&text));
    turn_wrote(e);
}

static struct engine_amounts read_amounts(char **at) {
    int64_t tokens = strtoll(*at, at, 10);
    return (struct engine_amounts){ .tokens = tokens, .usd = strtoll(*at, at, 10) };
}

/* Notes come in the order of their names, which is not that of the numbers: sorted once, behind the last. */
static void allowance_load(struct engine *e, const struct note_row *row) {
    const char *task = note_key(row, NOTE);
    if (!task)
        return;
    struct allowance *a = LIST_ADD(&allowances_of(e)->all);
    *a = allowance_of(strtoull(task, NULL, 10));
    char *at = (char *)row->text + strlen(FORMAT);
    if (strncmp(row->text, FORMAT " ", strlen(FORMAT " ")) != 0 || strstr(row->text, "own")
        || strstr(row->text, "lent")) {
        int64_t left = strtoll(row->text, &at, 10);
        *(strcmp(at, " own") == 0 ? &a->limit.tokens : &a->lent.tokens) = left;
        return;
    }
    a->limit = read_amounts(&at);
    a->run_limit = read_amounts(&at);
    a->used = read_amounts(&at);
    a->last = read_amounts(&at);
    a->handed = read_amounts(&at);
    a->granted = read_amounts(&at);
    a->back = read_amounts(&at);
    a->lent = read_amounts(&at);
    a->unknown = (uint32_t)strtoul(at, &at, 10);
    a->on_budget = (int32_t)strtol(at, &at, 10);
    a->is_over = strtol(at, &at, 10) != 0;
    a->by_agent = strtol(at, &at, 10) != 0;
    a->stopping = (uint32_t)strtoul(at, &at, 10);
    a->by_window = strtol(at, &at, 10) != 0;
}

static int compare_tasks(const void *a, const void *b) {
    task_id left = ((const struct allowance *)a)->task, right = ((const struct allowance *)b)->task;
    return (left > right) - (left < right);
}

/* Behind the last of them, before anybody asks */
static void allowance_loaded(struct engine *e) {
    if (allowances_of(e)->all.count > 1)
        qsort(allowances_of(e)->all.items, allowances_of(e)->all.count,
              sizeof(*allowances_of(e)->all.items), compare_tasks);
}

static void allowance_free(struct engine *e) {
    free(allowances_of(e)->all.items);
    memset(&allowances_of(e)->all, 0, sizeof(allowances_of(e)->all));
}

void allowance_forget(struct engine *e, task_id task) {
    struct allowance *a = allowance_find(e, task);
    if (!a)
        return;
    put(e, task, NULL);
    size_t behind = allowances_of(e)->all.count - 1 - (size_t)(a - allowances_of(e)->all.items);
    memmove(a, a + 1, behind * sizeof(*a));
    allowances_of(e)->all.count--;
}

/* --- limits ---------------------------------------------------------------------------------- */

static const char *project_of(const struct engine *e, task_id task) {
    struct task_view view = { 0 };
    if (!core_task(e->core, task, &view))
        return NULL;
    return symbol_name(core_symbols(e->core), view.project);
}

static int64_t limit_of(const struct engine *e, const char *project, int64_t own,
                        const char *setting) {
    if (own != ALLOWANCE_NONE)
        return own;
    return project ? config_number(e->config, setting, project) : UNLIMITED;
}

struct engine_amounts allowance_limit(const struct engine *e, task_id task) {
    const struct allowance *a = allowance_find(e, task);
    const char *project = project_of(e, task);
    struct engine_amounts own = a ? a->limit : none;
    return (struct engine_amounts){
        .tokens = limit_of(e, project, own.tokens, "projects.P.task_tokens"),
        .usd = limit_of(e, project, own.usd, "projects.P.task_usd"),
    };
}

struct engine_amounts allowance_run_limit(const struct engine *e, task_id task) {
    const struct allowance *a = allowance_find(e, task);
    const char *project = project_of(e, task);
    struct engine_amounts own = a ? a->run_limit : none;
    return (struct engine_amounts){
        .tokens = limit_of(e, project, own.tokens, "projects.P.run_tokens"),
        .usd = limit_of(e, project, own.usd, "projects.P.run_usd"),
    };
}

bool allowance_is_spent(const struct engine *e, task_id task) {
    const struct allowance *a = allowance_find(e, task);
    if (!a)
        return false;
    struct engine_amounts limit = allowance_limit(e, task);
    return (limit.tokens != UNLIMITED && a->used.tokens + a->handed.tokens >= limit.tokens)
           || (limit.usd != UNLIMITED && a->used.usd + a->handed.usd >= limit.usd);
}

static void take_limits(struct engine_amounts *to, struct engine_amounts from) {
    if (from.tokens != ALLOWANCE_NONE)
        to->tokens = from.tokens;
    if (from.usd != ALLOWANCE_NONE)
        to->usd = from.usd;
}

void engine_set_limits(struct engine *e, task_id task, const struct engine_limits *limits) {
    struct allowance *a = allowance_get(e, task);
    take_limits(&a->limit, limits->task);
    take_limits(&a->run_limit, limits->run);
    if (limits->on_budget != ON_BUDGET_AS_CONFIGURED)
        a->on_budget = limits->on_budget;
    if (limits->run.usd != ALLOWANCE_NONE || limits->task.usd != ALLOWANCE_NONE)
        a->by_agent = false; /* what it was told to stop at is another now */
    allowance_write(e, a);
    budget_look(e, task);
    budget_changed(e, task);
}

void engine_budget(const struct engine *e, task_id task, struct engine_budget *ret) {
    const struct allowance *a = allowance_find(e, task);
    const struct live_run *run = run_find(e, task);
    *ret = (struct engine_budget){ .limit = allowance_limit(e, task),
                                   .run_limit = allowance_run_limit(e, task),
                                   .live = none,
                                   .last = none,
                                   .stops = budget_stops(e, task) };
    if (run)
        ret->live =
            (struct engine_amounts){ .tokens = run_tokens(run), .usd = run->cost_micro_usd };
    if (!a)
        return;
    ret->used = a->used;
    ret->last = a->last;
    ret->handed = a->handed;
    ret->unknown = a->unknown;
    ret->is_over = a->is_over;
}

/* --- children -------------------------------------------------------------------------------- */

/* A budget of its own comes first; else what was lent. */
static int64_t left_of(int64_t limit, int64_t lent, int64_t used, int64_t handed) {
    if (limit == UNLIMITED && lent == ALLOWANCE_NONE)
        return ALLOWANCE_NONE;
    int64_t left = limit != UNLIMITED ? limit - used - handed : lent - handed;
    return left > 0 ? left : 0;
}

struct engine_amounts engine_left(const struct engine *e, task_id task) {
    const struct allowance *a = allowance_find(e, task);
    struct engine_amounts limit = allowance_limit(e, task);
    struct engine_amounts lent = a ? a->lent : none;
    struct engine_amounts used = a ? a->used : (struct engine_amounts){ 0 };
    struct engine_amounts handed = a ? a->handed : (struct engine_amounts){ 0 };
    return (struct engine_amounts){
        .tokens = left_of(limit.tokens, lent.tokens, used.tokens, handed.tokens),
        .usd = left_of(limit.usd, lent.usd, used.usd, handed.usd),
    };
}

void engine_lend(struct engine *e, task_id task, struct engine_amounts amounts) {
    struct allowance *a = allowance_get(e, task);
    take_limits(&a->lent, amounts);
    allowance_write(e, a);
}

void engine_hand(struct engine *e, task_id parent, task_id child, struct engine_amounts amounts) {
    struct engine_amounts left = engine_left(e, parent);
    bool tokens = left.tokens != ALLOWANCE_NONE && amounts.tokens > 0;
    bool usd = left.usd != ALLOWANCE_NONE && amounts.usd > 0;
    if (!tokens && !usd)
        return;
    (void)allowance_get(e, child); /* the list may move: both are there before one is looked at */
    struct allowance *from = allowance_get(e, parent), *to = allowance_find(e, child);
    if (tokens) {
        from->handed.tokens += amounts.tokens;
        to->granted.tokens = amounts.tokens;
    }
    if (usd) {
        from->handed.usd += amounts.usd;
        to->granted.usd = amounts.usd;
    }
    allowance_write(e, from);
    allowance_write(e, to);
}

/* Of what it was granted, what nobody has used; a budget that a person has raised is not the parent's. */
static int64_t rest_of(int64_t granted, int64_t used, int64_t handed, int64_t back) {
    int64_t rest = granted == ALLOWANCE_NONE ? 0 : granted - used - handed - back;
    return rest > 0 ? rest : 0;
}

static struct allowance *parent_of(struct engine *e, task_id task, enum task_state *ret_state) {
    struct task_view view = { 0 }, parent = { 0 };
    if (!core_task(e->core, task, &view) || !view.parent)
        return NULL;
    (void)core_task(e->core, view.parent, &parent);
    *ret_state = parent.state;
    return allowance_find(e, view.parent);
}

/* Up the tree: a parent that is final itself keeps nothing of it. */
static void give_back(struct engine *e, struct allowance *a) {
    while (a) {
        enum task_state state = TASK_ABSENT;
        struct allowance *parent = parent_of(e, a->task, &state);
        int64_t tokens =
            rest_of(a->granted.tokens, a->used.tokens, a->handed.tokens, a->back.tokens);
        int64_t usd = rest_of(a->granted.usd, a->used.usd, a->handed.usd, a->back.usd);
        if (!parent || (tokens == 0 && usd == 0))
            return;
        a->back.tokens += tokens;
        a->back.usd += usd;
        parent->handed.tokens -= tokens;
        parent->handed.usd -= usd;
        allowance_write(e, a);
        allowance_write(e, parent);
        budget_look_later(e, parent->task);
        a = task_state_is_final(state) ? parent : NULL;
    }
}

static int64_t smaller(int64_t a, int64_t b) {
    return b == ALLOWANCE_NONE || a < b ? a : b;
}

/* What its parent has handed to somebody else meanwhile is gone: its own budget is smaller by that. */
static void take_again(struct engine *e, struct allowance *a) {
    enum task_state state = TASK_ABSENT;
    struct allowance *parent = parent_of(e, a->task, &state);
    if (!parent)
        return;
    struct engine_amounts left = engine_left(e, parent->task);
    int64_t tokens = smaller(a->back.tokens, left.tokens), usd = smaller(a->back.usd, left.usd);
    parent->handed.tokens += tokens;
    parent->handed.usd += usd;
    if (a->limit.tokens != ALLOWANCE_NONE && a->limit.tokens != UNLIMITED)
        a->limit.tokens -= a->back.tokens - tokens;
    if (a->limit.usd != ALLOWANCE_NONE && a->limit.usd != UNLIMITED)
        a->limit.usd -= a->back.usd - usd;
    a->granted.tokens -= a->back.tokens - tokens;
    a->granted.usd -= a->back.usd - usd;
    a->back = (struct engine_amounts){ 0 };
    allowance_write(e, a);
    allowance_write(e, parent);
    budget_look_later(e, a->task);
}

void allowance_see_state(struct engine *e, task_id task, enum task_state state) {
    struct allowance *a = allowance_find(e, task);
    if (!a)
        return;
    if (task_state_is_final(state)) {
        budget_see_state(e, task, true);
        give_back(e, a);
    }
    if (!task_state_is_final(state) && (a->back.tokens > 0 || a->back.usd > 0))
        take_again(e, a);
}

const struct engine_part allowances_part = {
    .name = "allowances",
    .state_size = sizeof(struct allowances),
    .at = { [STEP_UNLOAD] = allowance_free,
            [STEP_LOADED] = allowance_loaded,
            [STEP_FREE] = allowance_free },
    .load_note = allowance_load,
};
