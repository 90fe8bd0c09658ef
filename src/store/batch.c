/* batch.c: collects the rows of one transaction.
 *
 * Rows are copied when they are added, so the caller's strings may be freed immediately; all memory
 * of a batch is one arena. Nothing is looked up here: the backend decides whether a row is
 * valid. */
#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "store/store_internal.h"

struct store_batch *store_batch_new(void) {
    return xcalloc(1, sizeof(struct store_batch));
}

struct store_batch *store_batch_free(struct store_batch *batch) {
    if (!batch)
        return NULL;
    assert(!batch->in_flight);
    arena_finish(&batch->arena);
    free(batch->writes);
    free(batch);
    return NULL;
}

void store_batch_clear(struct store_batch *batch) {
    assert(!batch->in_flight);
    arena_reset(&batch->arena);
    batch->count = 0;
}

size_t store_batch_count(const struct store_batch *batch) {
    return batch->count;
}

static struct store_write *add(struct store_batch *batch, enum write_kind kind, enum row_kind of) {
    assert(!batch->in_flight);
    batch->writes =
        xgrow(batch->writes, &batch->capacity, batch->count + 1, sizeof(*batch->writes));
    struct store_write *write = &batch->writes[batch->count++];
    *write = (struct store_write){ .kind = kind, .of = of };
    return write;
}

static struct store_write *add_row(struct store_batch *batch, enum row_kind of, const void *row) {
    struct store_write *write = add(batch, WRITE_ROW, of);
    write->row = row_copy(of, row, &batch->arena);
    return write;
}

void store_write_row(struct store_batch *batch, enum row_kind of, const void *row) {
    add_row(batch, of, row);
}

static bool is_number(uint64_t number) {
    return number > 0 && number <= INT64_MAX; /* the range that every database can hold */
}

static void check_task(const struct task_row *row) {
    assert(is_number(row->id));
    assert(row->project && *row->project);
    assert(row->told.state > TASK_ABSENT && row->told.state < TASK_STATE_MAX);
    assert(row->depends_on_count == 0 || row->depends_on);
}

void store_add_task(struct store_batch *batch, const struct task_row *row) {
    check_task(row);
    add_row(batch, ROW_TASK, row);
}

void store_change_task(struct store_batch *batch, const struct task_row *row, unsigned what) {
    check_task(row);
    struct store_write *write = add_row(batch, ROW_TASK, row);
    write->kind = WRITE_CHANGE;
    write->flags = what;
}

void store_add_spec(struct store_batch *batch, const struct spec_row *row) {
    assert(is_number(row->id));
    add_row(batch, ROW_SPEC, row);
}

void store_put_context(struct store_batch *batch, task_id task, const char *context) {
    assert(is_number(task));
    struct spec_row row = { .id = task, .context = context };
    add_row(batch, ROW_SPEC, &row)->kind = WRITE_CONTEXT;
}

void store_delete_task(struct store_batch *batch, task_id task) {
    assert(is_number(task));
    add(batch, WRITE_DELETE, ROW_TASK)->number = task;
}

void store_take_numbers(struct store_batch *batch, task_id last) {
    assert(is_number(last));
    add(batch, WRITE_NUMBERS, ROW_TASK)->number = last;
}

void store_put_run(struct store_batch *batch, const struct run_row *row) {
    assert(is_number(row->task) && row->attempt > 0);
    add_row(batch, ROW_RUN, row);
}

void store_add_event(struct store_batch *batch, const struct event_row *row) {
    assert(is_number(row->seq) && row->kind && *row->kind);
    add_row(batch, ROW_EVENT, row);
}

void store_prune_events(struct store_batch *batch, uint64_t first_kept) {
    assert(is_number(first_kept));
    add(batch, WRITE_PRUNE, ROW_EVENT)->number = first_kept;
}

void store_put_project(struct store_batch *batch, const struct project_row *row) {
    assert(row->name && *row->name && row->prefix);
    add_row(batch, ROW_PROJECT, row);
}

void store_put_group(struct store_batch *batch, const struct group_row *row) {
    assert(row->id > 0 && row->name);
    add_row(batch, ROW_GROUP, row);
}

void store_delete_group(struct store_batch *batch, uint32_t group) {
    assert(group > 0);
    add(batch, WRITE_DELETE, ROW_GROUP)->number = group;
}

void store_put_limiter(struct store_batch *batch, const struct limiter_row *row) {
    assert(row->name && *row->name);
    add_row(batch, ROW_LIMITER, row);
}

void store_put_agent(struct store_batch *batch, const struct agent_row *row) {
    assert(row->name && *row->name);
    add_row(batch, ROW_AGENT, row);
}

void store_add_usage(struct store_batch *batch, const struct usage_row *row) {
    add_row(batch, ROW_USAGE, row);
}

void store_put_wait(struct store_batch *batch, const struct wait_row *row) {
    assert(row->project && *row->project);
    add_row(batch, ROW_WAIT, row);
}

void store_prune_usage(struct store_batch *batch, time_ms before) {
    add(batch, WRITE_PRUNE, ROW_USAGE)->time = before;
}

void store_add_key(struct store_batch *batch, const struct key_row *row) {
    assert(row->key && *row->key);
    add_row(batch, ROW_KEY, row);
}

void store_prune_keys(struct store_batch *batch, time_ms before) {
    add(batch, WRITE_PRUNE, ROW_KEY)->time = before;
}

void store_put_pause(struct store_batch *batch, const struct pause_row *row) {
    add_row(batch, ROW_PAUSE, row);
}

void store_put_note(struct store_batch *batch, const struct note_row *row) {
    assert(row->name && *row->name);
    add_row(batch, ROW_NOTE, row)->kind = row->text ? WRITE_ROW : WRITE_DELETE;
}

/* The beginning of the hour or day that contains a point in time. */
static time_ms span_of(time_ms at, enum spent_span span) {
    time_ms length = span == SPENT_DAY ? DAYS(1) : HOURS(1);
    return at - (at % length + length) % length;
}

void store_add_spent(struct store_batch *batch, const struct spent_row *row) {
    assert(row->runs >= 0 && row->unknown_cost <= row->runs && row->unknown_tokens <= row->runs);
    for (enum spent_span span = SPENT_HOUR; span <= SPENT_DAY; span++) {
        struct spent_row one = *row;
        one.span = span;
        one.at = span_of(row->at, span);
        if (row->span == SPENT_BOTH || row->span == span)
            add_row(batch, ROW_SPENT, &one);
    }
}

void store_prune_spent(struct store_batch *batch, bool days, time_ms before) {
    struct store_write *write = add(batch, WRITE_PRUNE, ROW_SPENT);
    write->time = before;
    write->flags = days;
}
