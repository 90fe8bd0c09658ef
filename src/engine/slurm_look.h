/* slurm_look.h: is everything there that runs in Slurm need? For a person who asks.
 *
 * Slurm is asked by its own commands, beside the loop, each for a few seconds at the most; what was found is good
 * for ten. Nothing is changed by it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct engine;

struct slurm_finding {
    const char *name;
    bool ok;
    bool mild; /* when it is not: to be known, and nothing stands still for it */
    char text[400];
    const char *fix; /* NULL: nothing to do */
};

typedef void (*engine_slurm_looked)(void *ctx);
/* True: what there is to say can be read now; false: `looked` is called when it can, once, from the loop. */
bool engine_look_at_slurm(struct engine *engine, engine_slurm_looked looked, void *ctx);
/* NULL: no more. */
const struct slurm_finding *engine_slurm_finding(const struct engine *engine, size_t index);

/* --- inside the engine ----------------------------------------------------------------------- */

void slurm_look_free(struct engine *e);
