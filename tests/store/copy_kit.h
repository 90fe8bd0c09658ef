/* copy_kit.h: shared code of the copy tests: stores of every kind, a history with rows in every table, interrupted
 * copies. */
#pragma once

#include "kit.h"
#include "store/copy.h"

struct copy_kit {
    char *folder;
    char urls[8][300]; /* that were given */
    unsigned url_count;
    struct store_batch *batch;
    struct error err;
};

int copy_kit_begin(void **state);
int copy_kit_end(void **state);

enum kind { MEMORY, SQLITE, POSTGRES };
/* Number of kinds: PostgreSQL only if SLUICE_TEST_POSTGRES names a server. */
enum kind copy_kit_kinds(void);
/* The URL of a new store; valid until `url_count` is reset. */
const char *copy_kit_place(struct copy_kit *f, enum kind kind);
/* Every pair of kinds. */
#define FOR_PAIRS(from, to)                                                                        \
    for (enum kind from = 0; (from) < copy_kit_kinds(); (from)++)                                  \
        for (enum kind to = 0; (to) < copy_kit_kinds(); (to)++)

char *copy_kit_dump(const char *url); /* the caller frees */
void copy_kit_expect_same(const char *a, const char *b);
/* The store may only be used for a copy. */
void copy_kit_expect_unfinished(struct copy_kit *f, const char *url);

/* Interrupts a copy after this many reports of progress; 0: never. */
struct stopping {
    unsigned left;
    unsigned reports;
};
/* `rows` per commit, 0: the default; `stopping` may be NULL. The error is in f->err. */
int copy_kit_try(struct copy_kit *f, const char *from, const char *to, size_t rows,
                 struct stopping *stopping, struct store_copy_report *ret_report);
struct store_copy_report copy_kit_copy(struct copy_kit *f, const char *from, const char *to);

/* Tasks with specs, runs and events of the same numbers. */
void copy_kit_add_tasks(struct store_batch *batch, task_id first, task_id last);
/* Every table has rows; some given numbers have no row any more; hourly sums are pruned, daily sums are kept. */
void copy_kit_make_rich(struct copy_kit *f, const char *url);
