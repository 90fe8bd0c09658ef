/* copy_kit.h: what the tests of copies share: places of every kind, a history that has everything, copies that are
 * interrupted. */
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
/* How many of them there are here: PostgreSQL only where SLUICE_TEST_POSTGRES names a server. */
enum kind copy_kit_kinds(void);
/* A new one; lives until `url_count` is set back. */
const char *copy_kit_place(struct copy_kit *f, enum kind kind);
/* Every way from one kind to another. */
#define FOR_PAIRS(from, to)                                                                        \
    for (enum kind from = 0; (from) < copy_kit_kinds(); (from)++)                                  \
        for (enum kind to = 0; (to) < copy_kit_kinds(); (to)++)

char *copy_kit_dump(const char *url); /* the caller frees */
void copy_kit_expect_same(const char *a, const char *b);
/* Only a copy may work with it. */
void copy_kit_expect_unfinished(struct copy_kit *f, const char *url);

/* Interrupts a copy after this many reports of progress; 0: never. */
struct stopping {
    unsigned left;
    unsigned reports;
};
/* `rows` in one commit, 0: as usual; `stopping` may be NULL. The message is in f->err. */
int copy_kit_try(struct copy_kit *f, const char *from, const char *to, size_t rows,
                 struct stopping *stopping, struct store_copy_report *ret_report);
struct store_copy_report copy_kit_copy(struct copy_kit *f, const char *from, const char *to);

/* Tasks with specs, runs and events of the same numbers. */
void copy_kit_add_tasks(struct store_batch *batch, task_id first, task_id last);
/* Every table has rows; numbers are given that no row has; hours are gone that days know of. */
void copy_kit_make_rich(struct copy_kit *f, const char *url);
