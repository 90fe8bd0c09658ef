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

struct store_write *store_write_row(struct store_batch *batch, enum row_kind of, const void *row) {
    struct store_write *write = add(batch, WRITE_ROW, of);
    write->row = row_copy(of, row, &batch->arena);
    return write;
}

static bool is_number(uint64_t number) {
    return number > 0 && number <= INT64_MAX; /* the range that every database can hold */
}

static bool is_text(const char *text) {
    return text && *text;
}

static bool is_task(const struct task_row *row) {
    return is_number(row->id) && is_text(row->project) && row->spec.state > TASK_ABSENT
           && row->spec.state < TASK_STATE_MAX && (row->depends_on_count == 0 || row->depends_on);
}

/* store_FUNCTION: adds a row that must be valid. */
#define ROW_WRITER(function, KIND, type, is_valid)                                                 \
    void store_##function(struct store_batch *batch, const struct type##_row *row) {               \
        assert(is_valid);                                                                          \
        store_write_row(batch, ROW_##KIND, row);                                                   \
    }
ROW_WRITER(add_task, TASK, task, is_task(row))
ROW_WRITER(add_spec, SPEC, spec, is_number(row->id))
ROW_WRITER(put_run, RUN, run, is_number(row->task) && row->attempt > 0)
ROW_WRITER(add_event, EVENT, event, is_number(row->seq) && is_text(row->kind))
ROW_WRITER(put_project, PROJECT, project, is_text(row->name) && row->prefix)
ROW_WRITER(put_group, GROUP, group, row->id > 0 && row->name)
ROW_WRITER(put_limiter, LIMITER, limiter, is_text(row->name))
ROW_WRITER(put_agent, AGENT, agent, is_text(row->name))
ROW_WRITER(add_usage, USAGE, usage, row)
ROW_WRITER(put_wait, WAIT, wait, is_text(row->project))
ROW_WRITER(add_key, KEY, key, is_text(row->key))
ROW_WRITER(put_pause, PAUSE, pause, row)
#undef ROW_WRITER

void store_change_task(struct store_batch *batch, const struct task_row *row, unsigned what) {
    assert(is_task(row));
    struct store_write *write = store_write_row(batch, ROW_TASK, row);
    write->kind = WRITE_CHANGE;
    write->flags = what;
}

void store_put_context(struct store_batch *batch, task_id task, const char *context) {
    assert(is_number(task));
    struct spec_row row = { .id = task, .context = context };
    store_write_row(batch, ROW_SPEC, &row)->kind = WRITE_CONTEXT;
}

void store_edit_spec(struct store_batch *batch, task_id task, const char *title, const char *json) {
    assert(is_number(task) && title && json);
    struct spec_row row = { .id = task, .title = title, .json = json, .json_size = strlen(json) };
    store_write_row(batch, ROW_SPEC, &row)->kind = WRITE_EDIT;
}

void store_put_note(struct store_batch *batch, const struct note_row *row) {
    assert(is_text(row->name));
    store_write_row(batch, ROW_NOTE, row)->kind = row->text ? WRITE_ROW : WRITE_DELETE;
}

static void add_number(struct store_batch *batch, enum write_kind kind, enum row_kind of,
                       uint64_t number) {
    assert(is_number(number));
    add(batch, kind, of)->number = number;
}

void store_delete_task(struct store_batch *batch, task_id task) {
    add_number(batch, WRITE_DELETE, ROW_TASK, task);
}

void store_assign_numbers(struct store_batch *batch, task_id last) {
    add_number(batch, WRITE_NUMBERS, ROW_TASK, last);
}

void store_delete_group(struct store_batch *batch, uint32_t group) {
    add_number(batch, WRITE_DELETE, ROW_GROUP, group);
}

void store_prune_events(struct store_batch *batch, uint64_t first_kept) {
    add_number(batch, WRITE_PRUNE, ROW_EVENT, first_kept);
}

void store_prune_usage(struct store_batch *batch, time_ms before) {
    add(batch, WRITE_PRUNE, ROW_USAGE)->time = before;
}

void store_prune_keys(struct store_batch *batch, time_ms before) {
    add(batch, WRITE_PRUNE, ROW_KEY)->time = before;
}

void store_add_spent(struct store_batch *batch, const struct spent_row *row) {
    assert(row->runs >= 0 && row->unknown_cost <= row->runs && row->unknown_tokens <= row->runs);
    for (enum spent_span span = SPENT_HOUR; span <= SPENT_DAY; span++) {
        struct spent_row one = *row;
        time_ms length = span == SPENT_DAY ? DAYS(1) : HOURS(1);
        one.span = span;
        one.at -= (row->at % length + length) % length; /* the beginning of the hour or day */
        if (row->span == SPENT_BOTH || row->span == span)
            store_write_row(batch, ROW_SPENT, &one);
    }
}

void store_prune_spent(struct store_batch *batch, bool days, time_ms before) {
    struct store_write *write = add(batch, WRITE_PRUNE, ROW_SPENT);
    write->time = before;
    write->flags = days;
}

int store_batch_apply(const struct store_batch *batch, const store_writer writers[WRITE_KIND_MAX],
                      void *store, struct error *err) {
    int r = 0;
    for (unsigned round = 0; round < STORE_ROUNDS; round++)
        for (size_t i = 0; r == 0 && i < batch->count; i++)
            if (store_write_round(&batch->writes[i]) == round && writers[batch->writes[i].kind])
                r = writers[batch->writes[i].kind](store, &batch->writes[i], err);
    return r;
}
