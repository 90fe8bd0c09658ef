/* memory_write.c: what does each write change?
 *
 * Plainly, one function each. What is refused here, and with which code, is what every backend
 * must refuse: a number, a seq, a key or an external id that is taken is -EEXIST, a task that is
 * not there is -ENOENT.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "store/memory.h"

static struct memory_key key_of(uint64_t number) {
    return (struct memory_key){ .low = number };
}

static struct memory_table *table_of(struct memory_store *store, enum memory_table_id id) {
    return &store->data->tables[id];
}

static void set(struct memory_store *store, enum memory_table_id id, struct memory_key key,
                void *row) {
    memory_set(&store->journal, table_of(store, id), key, row);
}

static int add_task(struct memory_store *store, const struct store_write *write,
                    struct error *err) {
    const struct task_row *row = write->task;
    if (memory_table_find(table_of(store, TABLE_TASKS), key_of(row->id)))
        return error_set(err, -EEXIST, "task %" PRIu64 " is there already", row->id);
    set(store, TABLE_TASKS, key_of(row->id), row_clone(ROW_TASK, row));
    if (row->id > store->data->last_task)
        store->data->last_task = row->id;
    return 0;
}

static bool is_same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* To a person: what the core keeps for itself may differ. */
static bool looks_the_same(const struct task_row *a, const struct task_row *b) {
    const struct task_spec *x = &a->told, *y = &b->told;
    return x->state == y->state && a->reason == b->reason && x->hold == y->hold
           && x->not_before == y->not_before && x->iteration == y->iteration
           && x->attempt == y->attempt && x->priority == y->priority && x->parent == y->parent
           && x->retry_max == y->retry_max && x->group == y->group && is_same_text(a->kind, b->kind)
           && is_same_text(a->agent, b->agent) && is_same_text(a->limiter, b->limiter)
           && is_same_text(a->workspace, b->workspace) && is_same_text(a->serial, b->serial);
}

static int change_task(struct memory_store *store, const struct store_write *write,
                       struct error *err) {
    const struct task_row *old =
        memory_table_find(table_of(store, TABLE_TASKS), key_of(write->task->id));
    if (!old)
        return error_set(err, -ENOENT, "task %" PRIu64 " is not there to be changed",
                         write->task->id);
    struct task_row row = *write->task;
    row.project = old->project;
    row.resources = old->resources;
    row.told.created_at = old->told.created_at;
    if (!write->flag) {
        row.depends_on = old->depends_on;
        row.depends_on_count = old->depends_on_count;
    }
    /* What a final task needed goes when that is forgotten: nothing has happened to it. */
    if ((!write->flag || task_state_is_final(row.told.state)) && looks_the_same(&row, old))
        row.changed_at = old->changed_at;
    set(store, TABLE_TASKS, key_of(row.id), row_clone(ROW_TASK, &row));
    return 0;
}

static struct memory_key external_key(struct memory_store *store, const struct task_row *task,
                                      const struct spec_row *spec) {
    return (struct memory_key){ .high = memory_symbol(store->data, task->project),
                                .low = memory_symbol(store->data, spec->external_id) };
}

static int add_spec(struct memory_store *store, const struct store_write *write,
                    struct error *err) {
    const struct spec_row *row = write->spec;
    const struct task_row *task = memory_table_find(table_of(store, TABLE_TASKS), key_of(row->id));
    if (!task)
        return 0; /* it came and went in one batch */
    if (memory_table_find(table_of(store, TABLE_SPECS), key_of(row->id)))
        return error_set(err, -EEXIST, "task %" PRIu64 " has a spec already", row->id);
    if (row->external_id) {
        struct memory_key key = external_key(store, task, row);
        if (memory_table_find(table_of(store, TABLE_EXTERNAL), key))
            return error_set(err, -EEXIST, "external id '%s' is taken in project '%s'",
                             row->external_id, task->project);
        task_id *number = xmalloc(sizeof(*number));
        *number = row->id;
        set(store, TABLE_EXTERNAL, key, number);
    }
    set(store, TABLE_SPECS, key_of(row->id), row_clone(ROW_SPEC, row));
    return 0;
}

static int put_context(struct memory_store *store, const struct store_write *write,
                       struct error *err) {
    (void)err;
    const struct spec_row *old =
        memory_table_find(table_of(store, TABLE_SPECS), key_of(write->spec->id));
    if (!old)
        return 0;
    struct spec_row row = *old;
    row.context = write->spec->context;
    set(store, TABLE_SPECS, key_of(row.id), row_clone(ROW_SPEC, &row));
    return 0;
}

static int delete_task(struct memory_store *store, const struct store_write *write,
                       struct error *err) {
    (void)err;
    task_id id = write->number;
    const struct task_row *task = memory_table_find(table_of(store, TABLE_TASKS), key_of(id));
    const struct spec_row *spec = memory_table_find(table_of(store, TABLE_SPECS), key_of(id));
    if (task && spec && spec->external_id)
        set(store, TABLE_EXTERNAL, external_key(store, task, spec), NULL);
    if (spec)
        set(store, TABLE_SPECS, key_of(id), NULL);
    if (task)
        set(store, TABLE_TASKS, key_of(id), NULL);

    struct memory_table *runs = table_of(store, TABLE_RUNS);
    size_t at = memory_table_position(runs, (struct memory_key){ .high = id });
    while (at < runs->count && memory_table_at(runs, at)->key.high == id)
        set(store, TABLE_RUNS, memory_table_at(runs, at)->key, NULL);

    struct memory_table *events = table_of(store, TABLE_EVENTS);
    for (size_t i = 0; i < events->count; i++) {
        const struct event_row *event = memory_table_at(events, i)->row;
        if (event->task != id)
            continue;
        struct event_row *unlinked = row_clone(ROW_EVENT, event);
        unlinked->task = 0;
        set(store, TABLE_EVENTS, key_of(event->seq), unlinked);
    }
    return 0;
}

static int put_run(struct memory_store *store, const struct store_write *write, struct error *err) {
    (void)err;
    struct memory_key key = { .high = write->run->task, .low = write->run->attempt };
    set(store, TABLE_RUNS, key, row_clone(ROW_RUN, write->run));
    return 0;
}

static int add_event(struct memory_store *store, const struct store_write *write,
                     struct error *err) {
    const struct event_row *row = write->event;
    if (memory_table_find(table_of(store, TABLE_EVENTS), key_of(row->seq)))
        return error_set(err, -EEXIST, "event %" PRIu64 " is there already", row->seq);
    set(store, TABLE_EVENTS, key_of(row->seq), row_clone(ROW_EVENT, row));
    if (row->seq > store->data->last_event)
        store->data->last_event = row->seq;
    return 0;
}

static int prune_events(struct memory_store *store, const struct store_write *write,
                        struct error *err) {
    (void)err;
    struct memory_table *events = table_of(store, TABLE_EVENTS);
    while (events->count > 0 && memory_table_at(events, 0)->key.low < write->number)
        set(store, TABLE_EVENTS, memory_table_at(events, 0)->key, NULL);
    return 0;
}

static int put_project(struct memory_store *store, const struct store_write *write,
                       struct error *err) {
    (void)err;
    struct memory_table *projects = table_of(store, TABLE_PROJECTS);
    uint64_t number = 1;
    struct project_row row = *write->project;
    for (size_t i = 0; i < projects->count; i++, number++) {
        const struct project_row *old = memory_table_at(projects, i)->row;
        if (strcmp(old->name, row.name) != 0)
            continue;
        row.prefix = old->prefix;
        row.created_at = old->created_at;
        break;
    }
    set(store, TABLE_PROJECTS, key_of(number), row_clone(ROW_PROJECT, &row));
    return 0;
}

static int put_group(struct memory_store *store, const struct store_write *write,
                     struct error *err) {
    (void)err;
    set(store, TABLE_GROUPS, key_of(write->group->id), row_clone(ROW_GROUP, write->group));
    return 0;
}

static int delete_group(struct memory_store *store, const struct store_write *write,
                        struct error *err) {
    (void)err;
    set(store, TABLE_GROUPS, key_of(write->number), NULL);
    return 0;
}

static int put_limiter(struct memory_store *store, const struct store_write *write,
                       struct error *err) {
    (void)err;
    struct limiter_row row = { .name = write->limiter->name };
    const struct limiter_spec *told = &write->limiter->told;
    /* What it is comes from the configuration. */
    row.told = (struct limiter_spec){ .backoff_until = told->backoff_until,
                                      .hits = told->hits,
                                      .closed = told->closed,
                                      .backoff_since = told->backoff_since,
                                      .last_hit = told->last_hit,
                                      .in_backoff = told->in_backoff,
                                      .ramp_since = told->ramp_since,
                                      .last_success = told->last_success };
    set(store, TABLE_LIMITERS, key_of(memory_symbol(store->data, row.name)),
        row_clone(ROW_LIMITER, &row));
    return 0;
}

static int put_agent(struct memory_store *store, const struct store_write *write,
                     struct error *err) {
    (void)err;
    struct agent_row row = { .name = write->agent->name };
    const struct agent_spec *told = &write->agent->told;
    row.told = (struct agent_spec){ .idle = told->idle,
                                    .launch_failures = told->launch_failures,
                                    .openings = told->openings,
                                    .closed_until = told->closed_until };
    set(store, TABLE_AGENTS, key_of(memory_symbol(store->data, row.name)),
        row_clone(ROW_AGENT, &row));
    return 0;
}

static int add_usage(struct memory_store *store, const struct store_write *write,
                     struct error *err) {
    (void)err;
    struct usage_row row = *write->usage;
    struct memory_key key = { .high = memory_time_key(row.bucket),
                              .low = memory_symbol(store->data, row.project) };
    const struct usage_row *old = memory_table_find(table_of(store, TABLE_USAGE), key);
    if (old) {
        row.tokens += old->tokens;
        row.unreported += old->unreported;
        row.reports += old->reports;
        row.starts += old->starts;
        row.completions += old->completions;
        row.money += old->money;
        row.priced += old->priced;
        row.unpriced += old->unpriced;
    }
    set(store, TABLE_USAGE, key, row_clone(ROW_USAGE, &row));
    return 0;
}

static int prune_usage(struct memory_store *store, const struct store_write *write,
                       struct error *err) {
    (void)err;
    struct memory_table *usage = table_of(store, TABLE_USAGE);
    uint64_t first_kept = memory_time_key(write->time);
    while (usage->count > 0 && memory_table_at(usage, 0)->key.high < first_kept)
        set(store, TABLE_USAGE, memory_table_at(usage, 0)->key, NULL);
    return 0;
}

static int put_wait(struct memory_store *store, const struct store_write *write,
                    struct error *err) {
    (void)err;
    struct memory_key key = { .high = memory_symbol(store->data, write->wait->project),
                              .low = memory_symbol(store->data, write->wait->limiter) };
    key.low = key.low << 32 | memory_symbol(store->data, write->wait->agent);
    set(store, TABLE_WAITS, key, row_clone(ROW_WAIT, write->wait));
    return 0;
}

static int add_key(struct memory_store *store, const struct store_write *write, struct error *err) {
    struct memory_key key = key_of(memory_symbol(store->data, write->key->key));
    if (memory_table_find(table_of(store, TABLE_KEYS), key))
        return error_set(err, -EEXIST, "key '%s' was used already", write->key->key);
    set(store, TABLE_KEYS, key, row_clone(ROW_KEY, write->key));
    return 0;
}

static int prune_keys(struct memory_store *store, const struct store_write *write,
                      struct error *err) {
    (void)err;
    struct memory_table *keys = table_of(store, TABLE_KEYS);
    for (size_t i = 0; i < keys->count;) {
        const struct key_row *row = memory_table_at(keys, i)->row;
        if (row->at < write->time)
            set(store, TABLE_KEYS, memory_table_at(keys, i)->key, NULL);
        else
            i++;
    }
    return 0;
}

static int take_numbers(struct memory_store *store, const struct store_write *write,
                        struct error *err) {
    (void)err;
    if (write->number > store->data->last_task)
        store->data->last_task = write->number;
    return 0;
}

static int put_pause(struct memory_store *store, const struct store_write *write,
                     struct error *err) {
    (void)err;
    store->data->paused = write->pause->paused;
    store->data->paused_by = memory_symbol(store->data, write->pause->by);
    store->data->paused_at = write->pause->at;
    return 0;
}

static int put_note(struct memory_store *store, const struct store_write *write,
                    struct error *err) {
    (void)err;
    const struct note_row *row = write->note;
    set(store, TABLE_NOTES, key_of(memory_symbol(store->data, row->name)),
        row->text ? row_clone(ROW_NOTE, row) : NULL);
    return 0;
}

static void add_spent_to(struct memory_store *store, const struct spent_row *spent, bool days) {
    if (spent->span == (days ? SPENT_HOUR : SPENT_DAY))
        return;
    struct spent_row row = *spent;
    row.at = store_span_of(row.at, days);
    row.span = days ? SPENT_DAY : SPENT_HOUR;
    struct memory_key key = { .high = memory_time_key(row.at),
                              .low = (uint64_t)memory_symbol(store->data, row.project) << 32
                                     | memory_symbol(store->data, row.agent) };
    enum memory_table_id table = days ? TABLE_DAYS : TABLE_HOURS;
    const struct spent_row *old = memory_table_find(table_of(store, table), key);
    if (old)
        memory_sum_spent(&row, old);
    set(store, table, key, row_clone(ROW_SPENT, &row));
}

static int add_spent(struct memory_store *store, const struct store_write *write,
                     struct error *err) {
    (void)err;
    add_spent_to(store, write->spent, false);
    add_spent_to(store, write->spent, true);
    return 0;
}

static int prune_spent(struct memory_store *store, const struct store_write *write,
                       struct error *err) {
    (void)err;
    enum memory_table_id id = write->flag ? TABLE_DAYS : TABLE_HOURS;
    struct memory_table *table = table_of(store, id);
    uint64_t first_kept = memory_time_key(write->time);
    while (table->count > 0 && memory_table_at(table, 0)->key.high < first_kept)
        set(store, id, memory_table_at(table, 0)->key, NULL);
    return 0;
}

typedef int (*write_function)(struct memory_store *store, const struct store_write *write,
                              struct error *err);

static const write_function functions[] = {
    [WRITE_ADD_TASK] = add_task,         [WRITE_CHANGE_TASK] = change_task,
    [WRITE_DELETE_TASK] = delete_task,   [WRITE_ADD_SPEC] = add_spec,
    [WRITE_PUT_RUN] = put_run,           [WRITE_ADD_EVENT] = add_event,
    [WRITE_PRUNE_EVENTS] = prune_events, [WRITE_PUT_PROJECT] = put_project,
    [WRITE_DELETE_GROUP] = delete_group, [WRITE_PUT_GROUP] = put_group,
    [WRITE_PUT_LIMITER] = put_limiter,   [WRITE_PUT_AGENT] = put_agent,
    [WRITE_ADD_USAGE] = add_usage,       [WRITE_PRUNE_USAGE] = prune_usage,
    [WRITE_PUT_WAIT] = put_wait,         [WRITE_ADD_KEY] = add_key,
    [WRITE_PRUNE_KEYS] = prune_keys,     [WRITE_PUT_PAUSE] = put_pause,
    [WRITE_TAKE_NUMBERS] = take_numbers, [WRITE_PUT_NOTE] = put_note,
    [WRITE_PUT_CONTEXT] = put_context,   [WRITE_ADD_SPENT] = add_spent,
    [WRITE_PRUNE_SPENT] = prune_spent,
};
_Static_assert(ARRAY_SIZE(functions) == WRITE_KIND_MAX, "a write has no function");

int memory_write(struct memory_store *store, const struct store_write *write, struct error *err) {
    return functions[write->kind](store, write, err);
}
