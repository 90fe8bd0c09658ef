/* allowance.c: see allowance.h. Few tasks have one: those with a bound of their own, and trees of runs. */
#include "engine/allowance.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/below.h"
#include "engine/engine_internal.h"

#define NOTE "tokens:"

/* Numbers of tasks rise, but may be given late: sorted by search, not by arrival. */
static size_t place_of(const struct engine *e, task_id task) {
    size_t low = 0, high = e->allowances.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (e->allowances.items[middle].task < task)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct allowance *find(const struct engine *e, task_id task) {
    size_t at = place_of(e, task);
    return at < e->allowances.count && e->allowances.items[at].task == task
               ? &e->allowances.items[at]
               : NULL;
}

static struct allowance *add(struct engine *e, task_id task) {
    size_t at = place_of(e, task);
    (void)LIST_ADD(&e->allowances);
    struct allowance *a = &e->allowances.items[at];
    memmove(a + 1, a, (e->allowances.count - 1 - at) * sizeof(*a));
    *a = (struct allowance){ .task = task };
    return a;
}

static void name_note(task_id task, char ret[48]) {
    (void)snprintf(ret, 48, NOTE "%" PRIu64, task);
}

static void write_note(struct engine *e, const struct allowance *a) {
    char name[48], text[48];
    name_note(a->task, name);
    (void)snprintf(text, sizeof(text), "%" PRId64 " %s", a->left, a->is_own ? "own" : "lent");
    store_put_note(e->turn.batch, &(struct note_row){ .name = name, .text = text });
    turn_wrote(e);
}

void allowance_load(struct engine *e, const struct note_row *row) {
    char *end;
    if (strncmp(row->name, NOTE, strlen(NOTE)) != 0 || !row->text)
        return;
    struct allowance *a = add(e, strtoull(row->name + strlen(NOTE), NULL, 10));
    a->left = strtoll(row->text, &end, 10);
    a->is_own = strcmp(end, " own") == 0;
}

void allowance_free(struct engine *e) {
    free(e->allowances.items);
    memset(&e->allowances, 0, sizeof(e->allowances));
}

int64_t engine_tokens_left(const struct engine *e, task_id task) {
    const struct allowance *a = find(e, task);
    return a ? a->left : ALLOWANCE_NONE;
}

static void give(struct engine *e, task_id task, int64_t tokens, bool is_own) {
    struct allowance *a = find(e, task);
    if (!a)
        a = add(e, task);
    a->left = tokens;
    a->is_own = is_own;
    write_note(e, a);
}

void engine_give_tokens(struct engine *e, task_id task, int64_t tokens) {
    give(e, task, tokens, true);
}

void engine_lend_tokens(struct engine *e, task_id task, int64_t tokens) {
    give(e, task, tokens, false);
}

void engine_take_tokens(struct engine *e, task_id task, int64_t tokens) {
    struct allowance *a = find(e, task);
    if (!a || tokens <= 0)
        return;
    a->left = tokens < a->left ? a->left - tokens : 0;
    write_note(e, a);
}

void allowance_used(struct engine *e, task_id task, int64_t tokens) {
    const struct allowance *a = find(e, task);
    if (a && a->is_own)
        engine_take_tokens(e, task, tokens);
}

void allowance_reported(struct engine *e, const struct live_run *run, int64_t tokens) {
    const struct allowance *a = find(e, run->task);
    struct task_spec told;
    char data[80];
    if (!a || !a->is_own || tokens <= a->left || !core_task_spec(e->core, run->task, &told)
        || told.stop != STOP_NONE)
        return;
    (void)snprintf(data, sizeof(data), "{\"used\":%" PRId64 ",\"left\":%" PRId64 "}", tokens,
                   a->left);
    engine_event(e, "task.tokens_spent", run->task, run->view.attempt, data);
    struct fact fact = { .kind = FACT_CANCEL, .task = run->task };
    (void)engine_tell(e, &fact, NULL);
    engine_cancel_below(e, run->task, false);
}

void allowance_forget(struct engine *e, task_id task) {
    struct allowance *a = find(e, task);
    char name[48];
    if (!a)
        return;
    name_note(task, name);
    store_put_note(e->turn.batch, &(struct note_row){ .name = name, .text = NULL });
    size_t behind = e->allowances.count - 1 - (size_t)(a - e->allowances.items);
    memmove(a, a + 1, behind * sizeof(*a));
    e->allowances.count--;
}
