/* edits.c: replaces the submissions of tasks, and counts how often. See edits.h.
 *
 * The count is a note of the task, in the commit of the edit. It stays as long as the task: it must
 * never fall, because a version that comes back would let a stale edit pass. */
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

struct edits {
    struct id_table of_task; /* struct edited */
    LIST(task_id) now;       /* in this turn */
};

PART_STATE(edits, struct edits, edits_of)

static void edits_drop_all(struct engine *e) {
    id_table_finish(&edits_of(e)->of_task);
    edits_of(e)->now.count = 0;
}

static void edits_reset(struct engine *e) {
    edits_drop_all(e);
    id_table_init(&edits_of(e)->of_task, sizeof(struct edited), NULL);
}

static void edits_free(struct engine *e) {
    edits_drop_all(e);
    free(edits_of(e)->now.items);
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

bool engine_is_edited_now(const struct engine *e, task_id task) {
    const struct edits *s = edits_of(e);
    for (size_t i = 0; i < s->now.count; i++)
        if (s->now.items[i] == task)
            return true;
    return false;
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
    *LIST_ADD(&edits_of(e)->now) = task;
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
    edits_of(e)->now.count = 0;
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
