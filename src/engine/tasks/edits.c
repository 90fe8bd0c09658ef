/* edits.c: replaces the submissions and contexts of tasks, and counts how often. See edits.h.
 *
 * The count of edits is a note of the task, in the commit of the edit. It stays as long as the task: it must
 * never fall, because a version that comes back would let a stale edit pass.
 *
 * For a request that reads a text from the store and writes it back, the last writes are remembered. */
#include "engine/edits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/id_table.h"
#include "base/number.h"
#include "engine/note.h"

#define NOTE "edits."

struct edited {
    task_id task;
    uint64_t count;
};

#define WRITES_KEPT 256u /* an older one may be about any task */

struct edits {
    struct id_table of_task; /* struct edited */
    task_id writes[WRITES_KEPT];
    uint64_t written;  /* submissions and contexts, since the start */
    uint64_t at_begin; /* `written` when the turn began */
};

PART_STATE(edits, struct edits, edits_of)

static void edits_drop_all(struct engine *e) {
    id_table_finish(&edits_of(e)->of_task);
    edits_of(e)->written += WRITES_KEPT + 1; /* what was read before is old */
    edits_of(e)->at_begin = edits_of(e)->written;
}

static void edits_reset(struct engine *e) {
    edits_drop_all(e);
    id_table_init(&edits_of(e)->of_task, sizeof(struct edited), NULL);
}

static void edits_free(struct engine *e) {
    edits_drop_all(e);
}

static struct edited *edited_of(struct engine *e, task_id task) {
    return id_table_find_or_make(&edits_of(e)->of_task, task);
}

static void edits_load(struct engine *e, const struct note_row *row) {
    int64_t task = 0, count = 0;
    const char *key = note_number(row, NOTE, &count);
    if (key && number_parse_int(key, &task, NULL) == 0 && task > 0 && count > 0)
        edited_of(e, (task_id)task)->count = (uint64_t)count;
}

uint64_t engine_task_version(const struct engine *e, task_id task) {
    struct task_view view = { 0 };
    const struct edited *edited = id_table_find(&edits_of(e)->of_task, task);
    (void)core_task(e->core, task, &view);
    return (uint64_t)view.attempt + (edited ? edited->count : 0);
}

uint64_t engine_text_writes(const struct engine *e) {
    return edits_of(e)->written;
}

bool engine_text_changed(const struct engine *e, task_id task, uint64_t since) {
    const struct edits *s = edits_of(e);
    if (s->written - since > WRITES_KEPT)
        return true;
    for (uint64_t i = since; i < s->written; i++)
        if (s->writes[i % WRITES_KEPT] == task)
            return true;
    return false;
}

bool engine_is_edited_now(const struct engine *e, task_id task) {
    return engine_text_changed(e, task, edits_of(e)->at_begin);
}

static void note_write(struct engine *e, task_id task) {
    struct edits *s = edits_of(e);
    s->writes[s->written++ % WRITES_KEPT] = task;
}

void engine_put_context(struct engine *e, task_id task, const char *context) {
    store_put_context(e->turn.batch, task, context);
    turn_wrote(e);
    note_write(e, task);
}

void engine_edit_task(struct engine *e, task_id task, const struct engine_edit *edit) {
    char count[24];
    struct event_data data;
    struct edited *edited = edited_of(e, task);
    edited->count++;
    (void)snprintf(count, sizeof(count), "%" PRIu64, edited->count);
    store_edit_spec(e->turn.batch, task, edit->title, edit->json);
    note_put_task(e, NOTE, task, count);
    turn_wrote(e);
    note_write(e, task);
    struct json_writer *w = event_begin(&data);
    json_put_array(w, "members");
    for (size_t i = 0; i < edit->member_count; i++)
        json_write_string(w, edit->members[i]);
    json_write_array_end(w);
    put_text(w, "by", edit->by);
    event_end(e, &data, "task.edited", task, 0);
}

static void edits_applied(struct engine *e, const struct fact *fact) {
    if (fact->kind != FACT_DELETE && fact->kind != FACT_FORGET)
        return;
    if (!id_table_drop(&edits_of(e)->of_task, fact->task))
        return;
    note_put_task(e, NOTE, fact->task, NULL);
    turn_wrote(e);
}

/* No turn begins before the commit of the last one is on disk. */
static void edits_begin(struct engine *e) {
    edits_of(e)->at_begin = edits_of(e)->written;
}

const struct engine_part edits_part = {
    .state_size = sizeof(struct edits),
    .at = { [STEP_INIT] = edits_reset,
            [STEP_UNLOAD] = edits_reset,
            [STEP_BEGIN] = edits_begin,
            [STEP_FREE] = edits_free },
    .applied = edits_applied,
    .load_note = edits_load,
};
