/* copy.h: a whole history from one store into another one, of the same kind or not.
 *
 * FROM is read and stays as it is. TO is empty at first. Rows are written in pieces, one commit each, together
 * with a note that says how far it has got: whatever ends a copy, the next call with the same two goes on with
 * it. Until that note is gone, store_load refuses TO to everybody else. At the end both are read once more and
 * compared, table by table; only then the note goes.
 *
 * What comes over: every row as it was, with its numbers and times, and which numbers are given. Not the
 * count of openings (epoch): that of TO is higher than that of FROM. */
#pragma once

#include "store/scan.h"

enum store_copy_step { STORE_COPY_WRITING, STORE_COPY_READING_FROM, STORE_COPY_READING_TO };

struct store_copy_options {
    const char *from, *to; /* as in struct store_options */
    const char *who;       /* the same */
    size_t rows_at_once;   /* in one commit; 0: as many as are quick */
    /* After each commit, and now and then while reading; `rows`: of this table, so far. <0: it ends
     * here, and can be gone on with. May be NULL. */
    int (*progress)(void *ctx, enum store_copy_step step, enum store_table table, uint64_t rows);
    void *ctx;
};

struct store_copy_report {
    char from[512], to[512];    /* their places */
    bool resumed;               /* a copy that was begun before */
    uint64_t written;           /* rows, by this call */
    struct store_digest digest; /* of both */
};

/* Errors: those of store_open; -EINVAL both are one store; -ENOTEMPTY there is something in TO; -ESTALE FROM has
 * changed since the copy was begun, or was another one; -EUCLEAN they differ, and TO stays unfinished. */
int store_copy(const struct store_copy_options *options, struct store_copy_report *ret_report,
               struct error *err);
