/* parts.c: calls the hooks of the parts; parts.h has their order and the reasons for it. */
#include "engine/parts.h"

#include <stdlib.h>

#include "engine/engine_internal.h"

static const struct engine_part *const parts[PART_MAX] = {
#define PART_ROW(name) [PART_##name] = &name##_part,
    ENGINE_PARTS(PART_ROW)
#undef PART_ROW
};

/* A freed part may still be queried by one that is freed after it, so the memory is freed last. */
static void free_all(struct engine *e) {
    for (size_t i = PART_MAX; i-- > 0;)
        if (parts[i]->at[STEP_FREE])
            parts[i]->at[STEP_FREE](e);
    for (size_t i = 0; i < PART_MAX; i++)
        free(e->part[i]);
}

void parts_step(struct engine *e, enum engine_step step) {
    if (step == STEP_FREE) {
        free_all(e);
        return;
    }
    for (size_t i = 0; step == STEP_INIT && i < PART_MAX; i++)
        if (parts[i]->state_size > 0)
            e->part[i] = xcalloc(1, parts[i]->state_size);
    for (size_t i = 0; i < PART_MAX; i++)
        if (parts[i]->at[step])
            parts[i]->at[step](e);
}

void parts_load_note(struct engine *e, const struct note_row *row) {
    for (size_t i = 0; i < PART_MAX; i++)
        if (parts[i]->load_note)
            parts[i]->load_note(e, row);
}

void parts_publish(struct engine *e, const struct event_row *event) {
    for (size_t i = 0; i < PART_MAX; i++)
        if (parts[i]->publish)
            parts[i]->publish(e, event);
}

bool parts_have_work(const struct engine *e) {
    for (size_t i = 0; i < PART_MAX; i++)
        if (parts[i]->has_work && parts[i]->has_work(e))
            return true;
    return false;
}

time_ms parts_next_wakeup(const struct engine *e) {
    time_ms next = TIME_NEVER;
    for (size_t i = 0; i < PART_MAX; i++)
        if (parts[i]->next_wakeup)
            next = time_min(next, parts[i]->next_wakeup(e));
    return next;
}

bool parts_are_launching(const struct engine *e) {
    for (size_t i = 0; i < PART_MAX; i++)
        if (parts[i]->is_launching && parts[i]->is_launching(e))
            return true;
    return false;
}
