/* part_kit.h: one part of the engine, alone.
 *
 * The test links the object of one part, base/, os/, core/ and config/, and this kit, which stands for the turn and for the
 * store: it counts what the part wrote. Nothing else of the engine is linked, so a part that begins to call another one fails
 * to link here. */
#pragma once

#include "engine/engine_internal.h"

struct part_kit {
    struct engine engine;
    const struct engine_part *part;
    enum engine_part_id id;
};

/* What was written since the last part_kit_new; texts of the last one. */
extern struct part_log {
    unsigned events, notes, groups, deleted_groups, requests;
    char event_kind[64], event_data[512], note_name[64], note_text[512];
    uint32_t group;
} part_log;

void part_kit_new(struct part_kit *kit, const struct engine_part *part, enum engine_part_id id);
void part_kit_free(struct part_kit *kit);
void part_kit_step(struct part_kit *kit, enum engine_step step);
/* The last note, as the store would give it back. */
void part_kit_load_note(struct part_kit *kit);
