/* batch.c: what shall be written together?
 *
 * The rows are copied when they are added, so that the caller's texts may go at once; all memory of
 * a batch is one arena. Nothing is looked up here: whether a row fits is the backend's to say.
 */
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

static struct store_write *add(struct store_batch *batch, enum write_kind kind) {
    assert(!batch->in_flight);
    batch->writes =
        xgrow(batch->writes, &batch->capacity, batch->count + 1, sizeof(*batch->writes));
    struct store_write *write = &batch->writes[batch->count++];
    *write = (struct store_write){ .kind = kind };
    return write;
}

static struct store_write *add_row(struct store_batch *batch, enum write_kind kind,
                                   enum row_kind row_kind, const void *row) {
    struct store_write *write = add(batch, kind);
    write->row = row_copy(row_kind, row, &batch->arena);
    return write;
}

static bool is_number(uint64_t number) {
    return number > 0 && number <= INT64_MAX; /* what every database can hold */
}

static void check_task(const struct task_row *row) {
    assert(is_number(row->id));
    assert(row->project && *row->project);
    assert(row->told.state > TASK_ABSENT && row->told.state < TASK_STATE_MAX);
    assert(row->depends_on_count == 0 || row->depends_on);
}

void store_add_task(struct store_batch *batch, const struct task_row *row) {
    check_task(row);
    add_row(batch, WRITE_ADD_TASK, ROW_TASK, row);
}

void store_change_task(struct store_batch *batch, const struct task_row *row,
                       bool depends_changed) {
    check_task(row);
    add_row(batch, WRITE_CHANGE_TASK, ROW_TASK, row)->flag = depends_changed;
}

void store_add_spec(struct store_batch *batch, const struct spec_row *row) {
    assert(is_number(row->id));
    add_row(batch, WRITE_ADD_SPEC, ROW_SPEC, row);
}

void store_put_context(struct store_batch *batch, task_id task, const char *context) {
    assert(is_number(task));
    struct spec_row row = { .id = task, .context = context };
    add_row(batch, WRITE_PUT_CONTEXT, ROW_SPEC, &row);
}

void store_delete_task(struct store_batch *batch, task_id task) {
    assert(is_number(task));
    add(batch, WRITE_DELETE_TASK)->number = task;
}

void store_take_numbers(struct store_batch *batch, task_id last) {
    assert(is_number(last));
    add(batch, WRITE_TAKE_NUMBERS)->number = last;
}

void store_put_run(struct store_batch *batch, const struct run_row *row) {
    assert(is_number(row->task) && row->attempt > 0);
    add_row(batch, WRITE_PUT_RUN, ROW_RUN, row);
}

void store_add_event(struct store_batch *batch, const struct event_row *row) {
    assert(is_number(row->seq) && row->kind && *row->kind);
    add_row(batch, WRITE_ADD_EVENT, ROW_EVENT, row);
}

void store_prune_events(struct store_batch *batch, uint64_t first_kept) {
    assert(is_number(first_kept));
    add(batch, WRITE_PRUNE_EVENTS)->number = first_kept;
}

void store_put_project(struct store_batch *batch, const struct project_row *row) {
    assert(row->name && *row->name && row->prefix);
    add_row(batch, WRITE_PUT_PROJECT, ROW_PROJECT, row);
}

void store_put_group(struct store_batch *batch, const struct group_row *row) {
    assert(row->id > 0 && row->name);
    add_row(batch, WRITE_PUT_GROUP, ROW_GROUP, row);
}

void store_delete_group(struct store_batch *batch, uint32_t group) {
    assert(group > 0);
    add(batch, WRITE_DELETE_GROUP)->number = group;
}

void store_put_limiter(struct store_batch *batch, const struct limiter_row *row) {
    assert(row->name && *row->name);
    add_row(batch, WRITE_PUT_LIMITER, ROW_LIMITER, row);
}

void store_put_agent(struct store_batch *batch, const struct agent_row *row) {
    assert(row->name && *row->name);
    add_row(batch, WRITE_PUT_AGENT, ROW_AGENT, row);
}

void store_add_usage(struct store_batch *batch, const struct usage_row *row) {
    add_row(batch, WRITE_ADD_USAGE, ROW_USAGE, row);
}

void store_put_wait(struct store_batch *batch, const struct wait_row *row) {
    assert(row->project && *row->project);
    add_row(batch, WRITE_PUT_WAIT, ROW_WAIT, row);
}

void store_prune_usage(struct store_batch *batch, time_ms before) {
    add(batch, WRITE_PRUNE_USAGE)->time = before;
}

void store_add_key(struct store_batch *batch, const struct key_row *row) {
    assert(row->key && *row->key);
    add_row(batch, WRITE_ADD_KEY, ROW_KEY, row);
}

void store_prune_keys(struct store_batch *batch, time_ms before) {
    add(batch, WRITE_PRUNE_KEYS)->time = before;
}

void store_put_pause(struct store_batch *batch, const struct pause_row *row) {
    add_row(batch, WRITE_PUT_PAUSE, ROW_PAUSE, row);
}

void store_put_note(struct store_batch *batch, const struct note_row *row) {
    assert(row->name && *row->name);
    add_row(batch, WRITE_PUT_NOTE, ROW_NOTE, row);
}

void store_add_spent(struct store_batch *batch, const struct spent_row *row) {
    assert(row->runs >= 0 && row->unknown_cost <= row->runs && row->unknown_tokens <= row->runs);
    add_row(batch, WRITE_ADD_SPENT, ROW_SPENT, row);
}

void store_prune_spent(struct store_batch *batch, bool days, time_ms before) {
    struct store_write *write = add(batch, WRITE_PRUNE_SPENT);
    write->time = before;
    write->flag = days;
}
