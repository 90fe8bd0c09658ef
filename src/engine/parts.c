/* parts.c: calls the hooks of the parts; parts.h has their order and the reasons for it. */
#include "engine/parts.h"

#include <stdlib.h>

#include "engine/engine_internal.h"

static const struct engine_part *const parts[PART_MAX] = {
#define PART_ROW(name) [PART_##name] = &name##_part,
    ENGINE_PARTS(PART_ROW)
#undef PART_ROW
};

struct parts_with parts_with;

/* Every engine of a process has the same parts, so repeating it changes nothing. */
static void make_lists(void) {
#define MAKE_LIST(result, hook, parameters)                                                        \
    for (size_t i = 0, count = 0; i < PART_MAX; i++)                                               \
        if (parts[i]->hook)                                                                        \
            parts_with.hook[count++] = parts[i];
    LISTED_HOOKS(MAKE_LIST)
#undef MAKE_LIST
}

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
    if (step == STEP_INIT) {
        make_lists();
        for (size_t i = 0; i < PART_MAX; i++)
            if (parts[i]->state_size > 0)
                e->part[i] = xcalloc(1, parts[i]->state_size);
    }
    for (size_t i = 0; i < PART_MAX; i++)
        if (parts[i]->at[step])
            parts[i]->at[step](e);
}

int parts_try(struct engine *e, enum engine_try step, struct error *err) {
    int r = 0;
    for (size_t i = 0; i < PART_MAX && r == 0; i++)
        if (parts[i]->try[step])
            r = parts[i]->try[step](e, err);
    return r;
}

/* Whether the hook of any part returns true. */
#define RETURN_ANY(hook, ...)                                                                      \
    for (const struct engine_part *const *part = parts_with.hook; *part; part++)                   \
        if ((*part)->hook(__VA_ARGS__))                                                            \
            return true;                                                                           \
    return false

bool parts_hold_answer(struct engine *e, struct engine_request *request) {
    RETURN_ANY(holds_answer, e, request);
}

bool parts_have_work(const struct engine *e) {
    RETURN_ANY(has_work, e);
}

bool parts_are_launching(const struct engine *e) {
    RETURN_ANY(is_launching, e);
}

time_ms parts_next_wakeup(const struct engine *e) {
    time_ms next = TIME_NEVER;
    for (const struct engine_part *const *part = parts_with.next_wakeup; *part; part++)
        next = time_min(next, (*part)->next_wakeup(e));
    return next;
}
