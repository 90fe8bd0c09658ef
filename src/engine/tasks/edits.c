/* edits.c: replaces the submissions of tasks, and counts how often. See edits.h.
 *
 * The count is a note of the task, in the commit of the edit. It stays as long as the task: it must
 * never fall, because a version that comes back would let a stale edit pass. */
#include "engine/edits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/number.h"
#include "engine/note.h"

#define NOTE "edits."

struct edited {
    task_id task;
    uint64_t count;
};

struct edits {
    struct slab slab;
    struct id_map of_task;
    LIST(task_id) now; /* in this turn */
};

PART_STATE(edits, struct edits, edits_of)

static struct edited *edited_at(const struct edits *s, uint32_t handle) {
    return slab_at(&s->slab, handle);
}

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    return edited_at(ctx, handle)->task == *(const task_id *)key;
}

static void edits_drop_all(struct engine *e) {
    slab_finish(&edits_of(e)->slab);
    id_map_finish(&edits_of(e)->of_task);
    edits_of(e)->now.count = 0;
}

static void edits_reset(struct engine *e) {
    struct edits *s = edits_of(e);
    edits_drop_all(e);
    slab_init(&s->slab, sizeof(struct edited));
    id_map_init(&s->of_task, same_task, s);
}

static void edits_free(struct engine *e) {
    edits_drop_all(e);
    free(edits_of(e)->now.items);
}

static struct edited *find_edited(const struct engine *e, task_id task) {
    uint32_t handle = id_map_find(&edits_of(e)->of_task, hash_u64(task), &task);
    return handle ? edited_at(edits_of(e), handle) : NULL;
}

static struct edited *find_or_make(struct engine *e, task_id task) {
    struct edits *s = edits_of(e);
    struct edited *found = find_edited(e, task);
    if (found)
        return found;
    uint32_t handle = slab_alloc(&s->slab);
    found = edited_at(s, handle);
    found->task = task;
    id_map_add(&s->of_task, hash_u64(task), handle);
    return found;
}

static void edits_load(struct engine *e, const struct note_row *row) {
    int64_t task = 0, count = 0;
    const char *key = note_number(row, NOTE, &count);
    if (key && number_parse_int(key, &task, NULL) == 0 && task > 0 && count > 0)
        find_or_make(e, (task_id)task)->count = (uint64_t)count;
}

uint64_t engine_task_version(const struct engine *e, task_id task) {
    struct task_view view = { 0 };
    const struct edited *edited = find_edited(e, task);
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
    struct edited *edited = find_or_make(e, task);
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
    struct edits *s = edits_of(e);
    task_id task = fact->task;
    if (fact->kind != FACT_DELETE && fact->kind != FACT_FORGET)
        return;
    uint32_t handle = id_map_find(&s->of_task, hash_u64(task), &task);
    if (!handle)
        return;
    id_map_remove(&s->of_task, hash_u64(task), &task);
    slab_free(&s->slab, handle);
    note_put_task(e, NOTE, task, NULL);
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
