/* part_kit.c: see part_kit.h. */
#include "part_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct part_log part_log;

void part_kit_new(struct part_kit *kit, const struct engine_part *part, enum engine_part_id id) {
    *kit = (struct part_kit){ .part = part, .id = id };
    part_log = (struct part_log){ 0 };
    kit->engine.core = core_new();
    kit->engine.now = kit->engine.wall_at_start = 1000;
    (void)loop_new(&kit->engine.loop, NULL);
    kit->engine.steady_at_start = loop_now_steady(kit->engine.loop);
    kit->engine.part[id] = part->state_size ? xcalloc(1, part->state_size) : NULL;
    part_kit_step(kit, STEP_INIT);
}

void part_kit_free(struct part_kit *kit) {
    part_kit_step(kit, STEP_FREE);
    free(kit->engine.part[kit->id]);
    core_free(kit->engine.core);
    loop_free(kit->engine.loop);
}

void part_kit_step(struct part_kit *kit, enum engine_step step) {
    if (kit->part->at[step])
        kit->part->at[step](&kit->engine);
}

void part_kit_load_note(struct part_kit *kit) {
    struct note_row row = { .name = part_log.note_name, .text = part_log.note_text };
    kit->part->load_note(&kit->engine, &row);
}

/* --- the turn -------------------------------------------------------------------------------- */

void engine_event(struct engine *e, const char *kind, task_id task, uint32_t attempt,
                  const char *data) {
    (void)e;
    (void)task;
    (void)attempt;
    part_log.events++;
    (void)snprintf(part_log.event_kind, sizeof(part_log.event_kind), "%s", kind);
    (void)snprintf(part_log.event_data, sizeof(part_log.event_data), "%s", data ? data : "");
}

void engine_request(struct engine *e, struct engine_request *request) {
    part_log.requests++;
    (void)request->run(e, request);
    request->done(e, request, STORE_OK, NULL);
}

bool request_unlink(struct engine_request **list, struct engine_request *request) {
    bool found = *list == request;
    if (found)
        *list = request->next;
    return found;
}

void turn_wrote(struct engine *e) {
    (void)e;
}

void turn_wake(struct engine *e) {
    (void)e;
}

/* --- the store ------------------------------------------------------------------------------- */

void store_put_note(struct store_batch *batch, const struct note_row *row) {
    (void)batch;
    part_log.notes++;
    (void)snprintf(part_log.note_name, sizeof(part_log.note_name), "%s", row->name);
    (void)snprintf(part_log.note_text, sizeof(part_log.note_text), "%s",
                   row->text ? row->text : "");
}

void store_put_group(struct store_batch *batch, const struct group_row *row) {
    (void)batch;
    part_log.groups++;
    part_log.group = row->id;
}

void store_delete_group(struct store_batch *batch, uint32_t id) {
    (void)batch;
    part_log.deleted_groups++;
    part_log.group = id;
}
