/* store_name.h: what is this store called? Private to engine/.
 *
 * Sixteen digits that no other store has, made when it is loaded for the first time and kept in its rows for ever; its
 * backups and copies have the same. The tokens of jobs in Slurm begin with it, and a `data.folder` is marked with it: what
 * outlives a daemon and its host says whose it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define STORE_NAME_SIZE 17 /* with the NUL */

struct engine;

const char *store_name(const struct engine *e);
