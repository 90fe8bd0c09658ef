/* store_name.h: what is this store called? Private to engine/.
 *
 * Sixteen digits that no other store has, made when it is loaded for the first time and kept in its rows for ever; its
 * backups and copies have the same. The tokens of jobs in Slurm begin with it, and a `data.folder` is marked with it: what
 * outlives a daemon and its host says whose it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define STORE_NAME_SIZE 17 /* with the NUL */

struct store_name {
    char text[STORE_NAME_SIZE];   /* "": the rows were never read */
    char folder[STORE_NAME_SIZE]; /* what the data folder may say instead, or "" */
    unsigned rank;                /* which note it is from; 0: none */
};

struct engine;
struct note_row;

const char *store_name(const struct engine *e);
/* Is it called so, or was it? */
bool store_name_is(const struct engine *e, const char *name, size_t length);

/* Rows are read: before them, a note each, behind them. The next commit writes a name that the rows do not have. */
void store_name_loading(struct engine *e);
void store_name_load(struct engine *e, const struct note_row *row);
void store_name_loaded(struct engine *e);
