/* copy.h: copies the complete history of one store into another, of any kind.
 *
 * FROM is only read. TO is empty at first. Rows are written in pieces, one commit each, together
 * with a note of the progress: if a copy is interrupted, the next call with the same stores resumes
 * it. While the note exists, store_load refuses TO. At the end both are read again and compared,
 * table by table; only then is the note removed.
 *
 * Copied: every row with its numbers and times, and the counters of assigned numbers. Not the
 * number of openings (epoch): that of TO is higher than that of FROM. */
#pragma once

#include "store/scan.h"

enum store_copy_step { STORE_COPY_WRITING, STORE_COPY_READING_FROM, STORE_COPY_READING_TO };

struct store_copy_options {
    const char *from, *to; /* as in struct store_options */
    const char *who;       /* as in struct store_options */
    size_t rows_at_once;   /* per commit; 0: the default */
    /* Called after each commit, and occasionally while reading; `rows`: of this table, so far. <0:
     * interrupts the copy, which can be resumed. May be NULL. */
    int (*progress)(void *ctx, enum store_copy_step step, enum store_table table, uint64_t rows);
    void *ctx;
};

struct store_copy_report {
    char from[512], to[512];    /* their locations */
    bool resumed;               /* an earlier copy was resumed */
    uint64_t written;           /* rows, by this call */
    struct store_digest digest; /* of both */
};

/* Errors: those of store_open; -EINVAL both are the same store; -ENOTEMPTY TO is not empty; -ESTALE
 * FROM has changed since the copy began, or is another store; -EUCLEAN they differ, and TO stays
 * unfinished. */
int store_copy(const struct store_copy_options *options, struct store_copy_report *ret_report,
               struct error *err);
