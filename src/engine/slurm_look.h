/* slurm_look.h: checks on request whether everything that runs in Slurm need is there. Runs Slurm's
 * own commands beside the loop, each for a few seconds at most; results are cached for ten seconds.
 * Changes nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct engine;

struct slurm_finding {
    const char *name;
    bool ok;
    bool mild; /* if not ok: only a warning, nothing is blocked by it */
    char text[400];
    const char *fix; /* NULL: nothing to do */
};

typedef void (*engine_slurm_looked)(void *ctx);
/* True: the findings can be read now; false: `looked` is called once, from the loop. */
bool engine_look_at_slurm(struct engine *engine, engine_slurm_looked looked, void *ctx);
/* NULL after the last. */
const struct slurm_finding *engine_slurm_finding(const struct engine *engine, size_t index);

/* --- inside the engine ----------------------------------------------------------------------- */

void slurm_look_free(struct engine *e);
