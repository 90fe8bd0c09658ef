/* scan.c: reads everything in a store.
 *
 * Uses loading for what scheduling needs and queries for the rest, so that backends need no other
 * path. A question returns up to STORE_ANSWER_MAX rows, and the next one continues after them. */
#include "store/scan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "store/store_internal.h"

#define TABLE_OF(TABLE, name, KIND) { name, ROW_##KIND },
static const struct {
    const char *name;
    enum row_kind kind;
} tables[] = { STORE_TABLES_OF(TABLE_OF) };
#undef TABLE_OF

const char *store_table_name(enum store_table table) {
    assert(table < STORE_TABLE_MAX);
    return tables[table].name;
}

enum row_kind store_table_kind(enum store_table table) {
    return tables[table].kind;
}

struct scan {
    struct store *store;
    store_scanned each;
    void *ctx;
    struct error *err;
    int r;
    task_id *tasks; /* all of them, for their specs */
    size_t task_count, task_capacity;
    bool answered;
    size_t count;                /* of rows in the last answer */
    struct store_query question; /* the next one: continues after the rows already read */
    char *key;                   /* its */
};

/* --- loading --------------------------------------------------------------------------------- */

/* The external ids and the runs that have not ended are parts of other tables. */
static int scan_loaded_row(void *ctx, unsigned kind, const void *row, struct error *err) {
    struct scan *scan = ctx;
    enum store_table table = STORE_PROJECTS;
    while (table < STORE_TOTALS && tables[table].kind != kind)
        table++;
    if (table == STORE_TOTALS
        || (kind == ROW_NOTE && strcmp(((const struct note_row *)row)->name, STORE_COPY_NOTE) == 0))
        return 0;
    if (kind == ROW_TASK) {
        scan->tasks =
            xgrow(scan->tasks, &scan->task_capacity, scan->task_count + 1, sizeof(*scan->tasks));
        scan->tasks[scan->task_count++] = ((const struct task_row *)row)->id;
    }
    return scan->each(scan->ctx, table, row, err);
}

static int scan_loaded(struct scan *scan) {
    const struct store_reader reader = { .any = scan_loaded_row, .ctx = scan };
    struct store_totals totals;
    int r = store_load(scan->store, &reader, &totals, scan->err);
    return r < 0 ? r : scan->each(scan->ctx, STORE_TOTALS, &totals, scan->err);
}

/* --- queries ------------------------------------------------------------------------------- */

static void continue_after(struct scan *scan, enum store_table table, const void *row) {
    const struct run_row *run = row;
    if (table == STORE_RUNS)
        scan->question.place = (struct store_cursor){ .task = run->task, .attempt = run->attempt };
    if (table == STORE_EVENTS)
        scan->question.after = ((const struct event_row *)row)->seq;
    if (table == STORE_KEYS) {
        free(scan->key);
        scan->question.key = scan->key = xstrdup(((const struct key_row *)row)->key);
    }
}

struct scan_page {
    struct scan *scan;
    enum store_table table;
};

static void pass_rows(void *ctx, const struct store_answer *answer, const struct error *err) {
    const struct scan_page *page = ctx;
    struct scan *scan = page->scan;
    scan->answered = true;
    scan->count = answer->count;
    scan->r = err ? error_set(scan->err, err->code, "%s", err->text) : 0;
    for (size_t i = 0; scan->r >= 0 && i < answer->count; i++) {
        const void *row = (const char *)answer->rows + i * row_types[tables[page->table].kind].size;
        scan->r = scan->each(scan->ctx, page->table, row, scan->err);
        if (i + 1 == answer->count)
            continue_after(scan, page->table, row);
    }
}

static int query(struct scan *scan, enum store_table table, const struct store_query *question) {
    struct scan_page page = { scan, table };
    scan->answered = false;
    store_query(scan->store, question, pass_rows, &page);
    assert(scan->answered); /* it was opened without a loop */
    return scan->r;
}

static int scan_specs(struct scan *scan) {
    int r = 0;
    for (size_t at = 0; r >= 0 && at < scan->task_count; at += STORE_ANSWER_MAX) {
        size_t rest = scan->task_count - at;
        struct store_query question = { .kind = QUERY_SPECS,
                                        .tasks = scan->tasks + at,
                                        .task_count =
                                            rest < STORE_ANSWER_MAX ? rest : STORE_ANSWER_MAX };
        r = query(scan, STORE_SPECS, &question);
    }
    return r;
}

static int scan_rest(struct scan *scan, enum store_table table) {
    struct store_query *question = &scan->question;
    bool is_spent = table == STORE_HOURS || table == STORE_DAYS;
    *question = (struct store_query){ .kind = table == STORE_RUNS     ? QUERY_RUNS
                                              : table == STORE_EVENTS ? QUERY_EVENTS
                                              : table == STORE_KEYS   ? QUERY_KEYS
                                                                      : QUERY_SPENT,
                                      .apart = is_spent,
                                      .days = table == STORE_DAYS,
                                      .since = INT64_MIN,
                                      .before_time = TIME_NEVER };
    int r;
    do {
        r = query(scan, table, question);
        question->after += is_spent ? scan->count : 0;
    } while (r >= 0 && scan->count == STORE_ANSWER_MAX);
    return r;
}

int store_scan(struct store *store, store_scanned each, void *ctx, struct error *err) {
    struct error own = { 0 };
    struct scan scan = { .store = store, .each = each, .ctx = ctx, .err = err ? err : &own };
    int r = scan_loaded(&scan);
    if (r >= 0)
        r = scan_specs(&scan);
    for (enum store_table table = STORE_RUNS; r >= 0 && table < STORE_TABLE_MAX; table++)
        r = scan_rest(&scan, table);
    free(scan.tasks);
    free(scan.key);
    return r < 0 ? r : 0;
}

/* --- comparing ------------------------------------------------------------------------------- */

static uint64_t hash_totals(const struct store_totals *totals) {
    uint64_t hash = row_hash(ROW_PAUSE, &totals->pause, 0);
    hash = hash_mix(hash, totals->last_task);
    hash = hash_mix(hash, totals->first_event);
    hash = hash_mix(hash, totals->last_event);
    return hash_mix(hash, totals->tasks);
}

static uint64_t hash_task(const struct task_row *row) {
    uint64_t hash = row_hash(ROW_PROGRESS, row, row_hash(ROW_TASK, row, 0));
    for (size_t i = 0; i < row->depends_on_count; i++)
        hash = hash_mix(hash, row->depends_on[i]);
    return hash_mix(hash, row->depends_on_count);
}

void store_digest_add(struct store_digest *digest, enum store_table table, const void *row) {
    assert(table < STORE_TABLE_MAX && row);
    /* Projects are ordered by creation. */
    uint64_t hash = table == STORE_PROJECTS ? digest->rows[table] : 0;
    if (table == STORE_TOTALS)
        hash = hash_totals(row);
    else if (table == STORE_TASKS)
        hash = hash_task(row);
    else
        hash = row_hash(tables[table].kind, row, hash);
    if (table == STORE_SPECS)
        hash = hash_mix(hash, (uint64_t)((const struct spec_row *)row)->changed_at);
    digest->rows[table]++;
    digest->sums[table] += hash;
}
