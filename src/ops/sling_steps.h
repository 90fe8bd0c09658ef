/* sling_steps.h: the steps of a formula come in with the sling of the task whose work they do.
 * Private to ops/.
 *
 * Life:   work_read (parameter `work`) → work_check, inside the turn that slings → work_add →
 *         work_finish
 * Each sling of a formula is a generation of its own: its steps have external ids of their own,
 * TASK/FORMULA/STEP and, from the second on, TASK/FORMULA.2/STEP. Nothing is told before work_add,
 * which adds all of them or none. */
#pragma once

#include "ops/batch.h"

struct sling_work {
    task_id task;
    const char *formula;
    json_t *steps;       /* of the parameter */
    uint32_t generation; /* of this sling; the caller sets it before work_check */
    struct batch batch;
    task_id *before; /* what the task depended on */
    size_t before_count;
    bool told; /* its dependencies have changed */
};

struct sling_works {
    struct sling_work *items;
    size_t count;
};

int work_read(struct op_call *call, struct sling_works *works);
int work_check(struct op_call *call, struct sling_works *works);
/* Drafts, on which their tasks depend from then on. */
int work_add(struct op_call *call, struct sling_works *works);
void work_finish(struct sling_works *works);
