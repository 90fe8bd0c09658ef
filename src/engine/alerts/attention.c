/* attention.c: what waits for a person. See attention.h.
 *
 * A task is looked at when it changes, when a task that waits for it changes, and when the
 * dependencies of such a task change: then its kind is computed again, at the end of the turn.
 * Nothing iterates over the tasks. */
#include "engine/attention.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/id_map.h"
#include "base/json_write.h"
#include "base/number.h"
#include "base/order_list.h"
#include "engine/best_of.h"
#include "engine/note.h"
#include "engine/questions.h"

#define NOTE "dismissed."

/* In a list only while it is an item. A dismissed failure is kept, and is in no list. */
struct item {
    task_id task;
    enum attention_kind kind; /* ATTENTION_MAX: in no list */
    bool is_dismissed;
};

struct attention {
    struct slab slab; /* struct item */
    struct id_map map;
    struct order_list lists[ATTENTION_MAX];
    LIST(task_id) touched; /* their kind may have changed */
};

PART_STATE(attention, struct attention, attention_of)

const char *attention_kind_name(enum attention_kind kind) {
#define KIND_NAME(value, name, label) [value] = (name),
    static const char *const names[] = { ATTENTION_KINDS(KIND_NAME) };
#undef KIND_NAME
    return kind < ATTENTION_MAX ? names[kind] : NULL;
}

const char *attention_kind_label(enum attention_kind kind) {
#define KIND_LABEL(value, name, label) [value] = (label),
    static const char *const labels[] = { ATTENTION_KINDS(KIND_LABEL) };
#undef KIND_LABEL
    return kind < ATTENTION_MAX ? labels[kind] : NULL;
}

/* --- items ----------------------------------------------------------------------------------- */

static struct item *item_at(const struct attention *a, uint32_t handle) {
    return slab_at(&a->slab, handle);
}

static bool has_task(const void *ctx, uint32_t handle, const void *key) {
    return item_at(ctx, handle)->task == *(const task_id *)key;
}

static uint32_t find_item(const struct attention *a, task_id task) {
    return id_map_find(&a->map, hash_u64(task), &task);
}

static uint32_t find_or_add(struct attention *a, task_id task) {
    uint32_t handle = find_item(a, task);
    if (handle)
        return handle;
    handle = slab_alloc(&a->slab);
    *item_at(a, handle) = (struct item){ .task = task, .kind = ATTENTION_MAX };
    id_map_add(&a->map, hash_u64(task), handle);
    return handle;
}

static bool oldest_first(const void *ctx, uint32_t a, uint32_t b) {
    return item_at(ctx, a)->task < item_at(ctx, b)->task;
}

static bool newest_first(const void *ctx, uint32_t a, uint32_t b) {
    return item_at(ctx, a)->task > item_at(ctx, b)->task;
}

static order_before order_of(enum attention_kind kind) {
    return kind == ATTENTION_FAILED ? newest_first : oldest_first;
}

static void move_item(struct attention *a, uint32_t handle, enum attention_kind kind) {
    struct item *item = item_at(a, handle);
    if (item->kind == kind)
        return;
    if (item->kind != ATTENTION_MAX)
        order_list_remove(&a->lists[item->kind], handle, order_of(item->kind), a);
    item->kind = kind;
    if (kind != ATTENTION_MAX)
        order_list_insert(&a->lists[kind], handle, order_of(kind), a);
}

static void drop_item(struct attention *a, uint32_t handle) {
    task_id task = item_at(a, handle)->task;
    move_item(a, handle, ATTENTION_MAX);
    id_map_remove(&a->map, hash_u64(task), &task);
    slab_free(&a->slab, handle);
}

static void attention_free(struct engine *e) {
    struct attention *a = attention_of(e);
    for (size_t i = 0; i < ATTENTION_MAX; i++)
        order_list_finish(&a->lists[i]);
    id_map_finish(&a->map);
    slab_finish(&a->slab);
    free(a->touched.items);
    *a = (struct attention){ 0 };
}

static void attention_reset(struct engine *e) {
    struct attention *a = attention_of(e);
    attention_free(e);
    slab_init(&a->slab, sizeof(struct item));
    id_map_init(&a->map, has_task, a);
}

/* --- the kind of a task ---------------------------------------------------------------------- */

static bool has_waiters(const struct engine *e, task_id task) {
    task_id waiter;
    return core_task_waiters(e->core, task, &waiter, 1) > 0;
}

/* A held task that continues by itself needs no person, except that its breaker is shown. Questions
 * have a list of their own, which also has those of live runs. */
static enum attention_kind kind_of_hold(const struct engine *e, const struct task_spec *t) {
    static const enum attention_kind kinds[HOLD_MAX] = {
        [HOLD_DENIED] = ATTENTION_DENIED,  [HOLD_REVIEW] = ATTENTION_REVIEW,
        [HOLD_BUDGET] = ATTENTION_BUDGET,  [HOLD_BREAKER] = ATTENTION_BREAKER,
        [HOLD_EXTERNAL] = ATTENTION_CLOSE, [HOLD_MARKER] = ATTENTION_CLOSE,
    };
    if (t->hold == HOLD_REVIEW && engine_best_of(e, t->id))
        return ATTENTION_PICK;
    bool waits = t->not_before == 0 || t->hold == HOLD_BREAKER;
    return waits && kinds[t->hold] != 0 ? kinds[t->hold] : ATTENTION_MAX; /* 0: no hold has it */
}

/* A candidate may fail: its task continues with the others. */
static enum attention_kind kind_of(const struct engine *e, const struct task_spec *t) {
    if (t->state == TASK_HELD)
        return kind_of_hold(e, t);
    if (!task_state_is_failure(t->state) || engine_candidate_of(e, t->id))
        return ATTENTION_MAX;
    if (has_waiters(e, t->id))
        return ATTENTION_BLOCKING;
    return t->state == TASK_FAILED ? ATTENTION_FAILED : ATTENTION_MAX;
}

static void touch(void *ctx, task_id task) {
    struct engine *e = ctx;
    *LIST_ADD(&attention_of(e)->touched) = task;
}

/* What it waits for may now have one waiter less. */
static void touch_prerequisites(struct engine *e, task_id task) {
    struct task_spec spec;
    if (!core_task_spec(e->core, task, &spec))
        return;
    size_t count = core_task_depends(e->core, task, NULL, 0);
    task_id *items = count ? xcalloc(count, sizeof(*items)) : NULL;
    count = count ? core_task_depends(e->core, task, items, count) : 0;
    for (size_t i = 0; i < count; i++)
        if (find_item(attention_of(e), items[i]))
            touch(e, items[i]);
    if (spec.parent && find_item(attention_of(e), spec.parent))
        touch(e, spec.parent);
    free(items);
}

static void forget_dismissal(struct engine *e, struct item *item) {
    if (!item->is_dismissed)
        return;
    item->is_dismissed = false;
    note_put_task(e, NOTE, item->task, NULL);
    turn_wrote(e);
}

static void look_at(struct engine *e, task_id task) {
    struct attention *a = attention_of(e);
    struct task_spec spec = { .state = TASK_ABSENT };
    bool exists = core_task_spec(e->core, task, &spec);
    enum attention_kind kind = exists ? kind_of(e, &spec) : ATTENTION_MAX;
    uint32_t handle = kind == ATTENTION_MAX ? find_item(a, task) : find_or_add(a, task);
    if (!handle)
        return;
    struct item *item = item_at(a, handle);
    if (!task_state_is_failure(spec.state))
        forget_dismissal(e, item);
    if (kind == ATTENTION_MAX && !item->is_dismissed)
        drop_item(a, handle);
    else
        move_item(a, handle, item->is_dismissed ? ATTENTION_MAX : kind);
}

static void look_at_touched(struct engine *e) {
    struct attention *a = attention_of(e);
    for (size_t i = 0; i < a->touched.count; i++)
        look_at(e, a->touched.items[i]);
    a->touched.count = 0;
}

/* --- hooks ----------------------------------------------------------------------------------- */

static bool may_be_item(const struct task_spec *t) {
    return t->state == TASK_HELD || task_state_is_failure(t->state);
}

static void attention_task_changed(struct engine *e, task_id task, const struct task_spec *spec) {
    if (find_item(attention_of(e), task) || (spec && may_be_item(spec)))
        touch(e, task);
    if (!spec)
        return;
    core_each_failed_prerequisite(e->core, task, touch, e); /* it may wait for them now */
    if (task_state_is_failure(spec->state))
        touch_prerequisites(e, task);
}

/* Before its dependencies are replaced, or the core does not have it any more. */
static void attention_applying(struct engine *e, const struct fact *fact) {
    if (fact->kind != FACT_DEPENDENCIES && fact->kind != FACT_DELETE && fact->kind != FACT_FORGET)
        return;
    touch_prerequisites(e, fact->task);
    if (find_item(attention_of(e), fact->task))
        touch(e, fact->task);
}

/* The task is not in the core yet. */
static void attention_load_task(struct engine *e, struct task_spec *spec) {
    if (may_be_item(spec))
        touch(e, spec->id);
}

static void attention_load_note(struct engine *e, const struct note_row *row) {
    int64_t task = 0;
    const char *key = note_key(row, NOTE);
    if (!key || number_parse_int(key, &task, NULL) < 0 || task < 1)
        return;
    struct attention *a = attention_of(e);
    item_at(a, find_or_add(a, (task_id)task))->is_dismissed = true;
    touch(e, (task_id)task);
}

const struct engine_part attention_part = {
    .state_size = sizeof(struct attention),
    .at = { [STEP_INIT] = attention_reset,
            [STEP_UNLOAD] = attention_reset,
            [STEP_LOADED] = look_at_touched,
            [STEP_AFTER_DECIDE] = look_at_touched,
            [STEP_FREE] = attention_free },
    .applying = attention_applying,
    .load_task = attention_load_task,
    .load_note = attention_load_note,
    .task_changed = attention_task_changed,
};

/* --- alerts ---------------------------------------------------------------------------------- */

/* ATTENTION_MAX: its task is an item itself, or the failure that blocks its group is. */
static enum attention_kind kind_of_alert(const struct engine_alert *alert) {
    static const struct {
        const char *name;
        enum attention_kind kind;
    } kinds[] = {
        { "disk", ATTENTION_STOPPED },    { "store", ATTENTION_STOPPED },
        { "account", ATTENTION_ACCOUNT }, { "agent", ATTENTION_AGENT },
        { "window", ATTENTION_WINDOW },   { "chain", ATTENTION_MAX },
        { "group", ATTENTION_MAX },       { "breaker", ATTENTION_MAX },
        { "budget", ATTENTION_MAX },      { "denied", ATTENTION_MAX },
        { "marker", ATTENTION_MAX },
    };
    size_t length = strcspn(alert->key, ":");
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strlen(kinds[i].name) == length && memcmp(alert->key, kinds[i].name, length) == 0)
            return kinds[i].kind;
    return ATTENTION_ALERT;
}

/* --- reading --------------------------------------------------------------------------------- */

struct filling {
    const struct engine *engine;
    struct engine_attention *items;
    size_t count, max;
};

static void add_alerts(struct filling *f, enum attention_kind kind) {
    for (size_t i = 0; i < engine_alert_count(f->engine) && f->count < f->max; i++) {
        const struct engine_alert *alert = engine_alert_at(f->engine, i);
        if (kind_of_alert(alert) == kind)
            f->items[f->count++] =
                (struct engine_attention){ .kind = kind, .task = alert->task, .alert = alert };
    }
}

static void add_questions(struct filling *f) {
    for (size_t i = 0; i < engine_question_count(f->engine) && f->count < f->max; i++)
        f->items[f->count++] =
            (struct engine_attention){ .kind = ATTENTION_QUESTION,
                                       .task = engine_question_at(f->engine, i)->task };
}

static void add_tasks(struct filling *f, enum attention_kind kind) {
    const struct attention *a = attention_of(f->engine);
    struct order_cursor cursor = { 0 };
    uint32_t handle;
    while (f->count < f->max && (handle = order_list_next(&a->lists[kind], &cursor)))
        f->items[f->count++] =
            (struct engine_attention){ .kind = kind, .task = item_at(a, handle)->task };
}

size_t engine_attention(const struct engine *e, struct engine_attention *ret, size_t max) {
    struct filling f = { .engine = e, .items = ret, .max = max };
    for (enum attention_kind kind = 0; kind < ATTENTION_MAX; kind++) {
        add_alerts(&f, kind);
        add_tasks(&f, kind);
        if (kind == ATTENTION_QUESTION)
            add_questions(&f);
    }
    return f.count;
}

size_t engine_attention_count(const struct engine *e, size_t ret[ATTENTION_MAX]) {
    const struct attention *a = attention_of(e);
    size_t counts[ATTENTION_MAX + 1] = { 0 }, sum = 0;
    for (size_t i = 0; i < engine_alert_count(e); i++)
        counts[kind_of_alert(engine_alert_at(e, i))]++;
    counts[ATTENTION_QUESTION] += engine_question_count(e);
    for (size_t i = 0; i < ATTENTION_MAX; i++) {
        counts[i] += a->lists[i].count;
        sum += counts[i];
    }
    if (ret)
        memcpy(ret, counts, ATTENTION_MAX * sizeof(*ret));
    return sum;
}

/* --- dismissing ------------------------------------------------------------------------------ */

int engine_dismiss(struct engine *e, task_id task, bool is_dismissed, const char *by) {
    struct attention *a = attention_of(e);
    if (!is_dismissed && !find_item(a, task))
        return 1;
    struct item *item = item_at(a, find_or_add(a, task));
    if (item->is_dismissed == is_dismissed)
        return 1;
    item->is_dismissed = is_dismissed;
    touch(e, task);
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    put_text(w, "by", by);
    json_put_bool(w, "dismissed", is_dismissed);
    event_end(e, &data, "task.dismissed", task, 0);
    note_put_task(e, NOTE, task, is_dismissed ? "1" : NULL);
    turn_wrote(e);
    return 0;
}
