/* sqlite_load.c: everything that scheduling needs, read once, in order.
 *
 * Tasks are one scan of a narrow table; their progress and their dependencies are scans in the same
 * order, so each task meets its own without a lookup. Equal names come as equal pointers, which spares the
 * reader comparing texts a million times.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "store/columns.h"
#include "store/sqlite_internal.h"

#define PROGRESS_ROWS 65536

struct loader {
    struct sqlite_store *store;
    const struct store_reader *reader;
    struct error *err;
    bool damaged;
    uint64_t tasks;
};

static sqlite3_stmt *prepare(struct loader *loader, const char *sql, int *ret_r) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(loader->store->db, sql, -1, &stmt, NULL);
    *ret_r = rc == SQLITE_OK ? 0 : sqlite_fault(loader->store, "read", rc, loader->err);
    return stmt;
}

/* 1: a row is there; 0: none; <0 with a sentence. */
static int step(struct loader *loader, sqlite3_stmt *stmt) {
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        return 1;
    return rc == SQLITE_DONE ? 0 : sqlite_fault(loader->store, "read", rc, loader->err);
}

static int check_damage(struct loader *loader, const char *table) {
    if (!loader->damaged)
        return 0;
    char what[128];
    (void)snprintf(what, sizeof(what), "table %s holds a number that names nothing", table);
    return sqlite_damaged(loader->store, what, loader->err);
}

static const char *text(sqlite3_stmt *stmt, int column) {
    return (const char *)sqlite3_column_text(stmt, column);
}

static const char *name(struct loader *loader, sqlite3_stmt *stmt, int column) {
    return sqlite_name_text(loader->store, sqlite3_column_int64(stmt, column), &loader->damaged);
}

static unsigned word(struct loader *loader, enum word_list list, sqlite3_stmt *stmt, int column) {
    return sqlite_word_value(loader->store, list, sqlite3_column_int64(stmt, column),
                             &loader->damaged);
}

static bool flag(sqlite3_stmt *stmt, int column) {
    return sqlite3_column_int64(stmt, column) != 0;
}

/* --- the small tables -------------------------------------------------------------------------- */

static int load_project(struct loader *loader, sqlite3_stmt *stmt) {
    const struct store_reader *reader = loader->reader;
    struct project_row row = { .name = text(stmt, 0),
                               .prefix = text(stmt, 1),
                               .paused = flag(stmt, 2),
                               .created_at = sqlite3_column_int64(stmt, 3),
                               .paused_by = name(loader, stmt, 4),
                               .paused_at = sqlite3_column_int64(stmt, 5) };
    return reader->project ? reader->project(reader->ctx, &row, loader->err) : 0;
}

static int load_limiter(struct loader *loader, sqlite3_stmt *stmt) {
    const struct store_reader *reader = loader->reader;
    struct limiter_row row = { .name = name(loader, stmt, 0),
                               .told = { .backoff_until = sqlite3_column_int64(stmt, 1),
                                         .hits = (uint32_t)sqlite3_column_int64(stmt, 2),
                                         .closed = flag(stmt, 3),
                                         .backoff_since = sqlite3_column_int64(stmt, 4),
                                         .last_hit = sqlite3_column_int64(stmt, 5),
                                         .in_backoff = flag(stmt, 6),
                                         .ramp_since = sqlite3_column_int64(stmt, 7),
                                         .last_success = sqlite3_column_int64(stmt, 8) } };
    return reader->limiter && row.name ? reader->limiter(reader->ctx, &row, loader->err) : 0;
}

static int load_agent(struct loader *loader, sqlite3_stmt *stmt) {
    const struct store_reader *reader = loader->reader;
    struct agent_row row = { .name = name(loader, stmt, 0),
                             .told = { .idle = flag(stmt, 1),
                                       .launch_failures = (uint32_t)sqlite3_column_int64(stmt, 2),
                                       .openings = (uint32_t)sqlite3_column_int64(stmt, 3),
                                       .closed_until = sqlite3_column_int64(stmt, 4) } };
    return reader->agent && row.name ? reader->agent(reader->ctx, &row, loader->err) : 0;
}

static int load_group(struct loader *loader, sqlite3_stmt *stmt) {
    const struct store_reader *reader = loader->reader;
    struct group_row row = { .id = (uint32_t)sqlite3_column_int64(stmt, 0),
                             .name = text(stmt, 1),
                             .owned = flag(stmt, 2),
                             .closed = flag(stmt, 3),
                             .created_at = sqlite3_column_int64(stmt, 4),
                             .closed_at = sqlite3_column_int64(stmt, 5) };
    return reader->group ? reader->group(reader->ctx, &row, loader->err) : 0;
}

static int load_usage(struct loader *loader, sqlite3_stmt *stmt) {
    const struct store_reader *reader = loader->reader;
    struct usage_row row = { .project = name(loader, stmt, 0),
                             .bucket = sqlite3_column_int64(stmt, 1),
                             .tokens = sqlite3_column_int64(stmt, 2),
                             .unreported = sqlite3_column_int64(stmt, 3),
                             .reports = (int32_t)sqlite3_column_int64(stmt, 4),
                             .starts = (int32_t)sqlite3_column_int64(stmt, 5),
                             .completions = (int32_t)sqlite3_column_int64(stmt, 6),
                             .money = sqlite3_column_int64(stmt, 7),
                             .priced = (int32_t)sqlite3_column_int64(stmt, 8),
                             .unpriced = (int32_t)sqlite3_column_int64(stmt, 9) };
    return reader->usage ? reader->usage(reader->ctx, &row, loader->err) : 0;
}

static int load_wait(struct loader *loader, sqlite3_stmt *stmt) {
    const struct store_reader *reader = loader->reader;
    struct wait_row row = { .project = name(loader, stmt, 0),
                            .limiter = name(loader, stmt, 1),
                            .agent = name(loader, stmt, 2),
                            .lost = sqlite3_column_int64(stmt, 3),
                            .closed_since = sqlite3_column_int64(stmt, 4) };
    return reader->wait && row.project ? reader->wait(reader->ctx, &row, loader->err) : 0;
}

static int load_note(struct loader *loader, sqlite3_stmt *stmt) {
    struct note_row row = { .name = text(stmt, 0), .text = text(stmt, 1) };
    return store_load_note(&loader->store->base, loader->reader, &row, loader->err);
}

static int load_external(struct loader *loader, sqlite3_stmt *stmt) {
    const struct store_reader *reader = loader->reader;
    struct external_row row = { .task = (task_id)sqlite3_column_int64(stmt, 0),
                                .external_id = text(stmt, 1) };
    return reader->external ? reader->external(reader->ctx, &row, loader->err) : 0;
}

static int load_run(struct loader *loader, sqlite3_stmt *stmt) {
    const struct store_reader *reader = loader->reader;
    struct run_row row;
    if (!sqlite_read_run(loader->store, stmt, &row)) {
        loader->damaged = true;
        return 0;
    }
    return reader->run ? reader->run(reader->ctx, &row, loader->err) : 0;
}

struct part {
    const char *table, *sql;
    int (*load)(struct loader *loader, sqlite3_stmt *stmt);
};

static int load_part(struct loader *loader, const struct part *part) {
    int r;
    sqlite3_stmt *stmt = prepare(loader, part->sql, &r);
    while (r >= 0 && (r = step(loader, stmt)) > 0) {
        r = part->load(loader, stmt);
        if (r >= 0)
            r = check_damage(loader, part->table);
    }
    sqlite3_finalize(stmt);
    return r;
}

/* --- tasks ------------------------------------------------------------------------------------- */

/* A table beside `task`, read in the same order: the statement stands on its next row. */
struct beside {
    sqlite3_stmt *stmt;
    bool has_row;
};

static int beside_next(struct loader *loader, struct beside *beside) {
    int r = step(loader, beside->stmt);
    beside->has_row = r > 0;
    return r;
}

static int beside_begin(struct loader *loader, struct beside *beside, const char *sql) {
    int r;
    beside->stmt = prepare(loader, sql, &r);
    return r < 0 ? r : beside_next(loader, beside);
}

/* 1: it stands on a row of this task; 0: there is none (any more). Rows of tasks that are gone are
 * passed over. */
static int beside_reach(struct loader *loader, struct beside *beside, task_id task) {
    int r = 0;
    while (r >= 0 && beside->has_row && (task_id)sqlite3_column_int64(beside->stmt, 0) < task)
        r = beside_next(loader, beside);
    if (r < 0)
        return r;
    return beside->has_row && (task_id)sqlite3_column_int64(beside->stmt, 0) == task;
}

#define TASK_SQL                                                                                   \
    "SELECT number, project, created_at, kind, agent, limiter, workspace, serial, resources,"      \
    " state, reason, changed_at, priority, parent, parent_iteration, ready_since, ready_clock,"    \
    " until, parent_gate, flags, retry_max, grp FROM task ORDER BY number"
#define PROGRESS_SQL                                                                               \
    "SELECT task, iteration, attempt, hold, not_before, phase, started_at, stop, run_agent,"       \
    " run_limiter, failures, launch_failures, losses, restarts, breaker_openings, lender,"         \
    " borrowed FROM progress ORDER BY task"
#define NEEDS_SQL "SELECT task, needs FROM depend ORDER BY task, position"

static void read_task(struct loader *loader, sqlite3_stmt *stmt, struct task_row *row) {
    *row = (struct task_row){
        .id = (task_id)sqlite3_column_int64(stmt, 0),
        .project = name(loader, stmt, 1),
        .kind = name(loader, stmt, 3),
        .agent = name(loader, stmt, 4),
        .limiter = name(loader, stmt, 5),
        .workspace = text(stmt, 6),
        .serial = text(stmt, 7),
        .resources = text(stmt, 8),
        .reason = word(loader, WORDS_REASON, stmt, 10),
        .changed_at = sqlite3_column_int64(stmt, 11),
        .told = {
            .created_at = sqlite3_column_int64(stmt, 2),
            .state = word(loader, WORDS_STATE, stmt, 9),
            .priority = sqlite3_column_int(stmt, 12),
            .parent = (task_id)sqlite3_column_int64(stmt, 13),
            .parent_iteration = (uint32_t)sqlite3_column_int64(stmt, 14),
            .ready_since = sqlite3_column_int64(stmt, 15),
            .ready_clock = sqlite3_column_int64(stmt, 16),
            .until = word(loader, WORDS_UNTIL, stmt, 17),
            .parent_gate = word(loader, WORDS_PARENT_GATE, stmt, 18),
            .retry_max = sqlite3_column_int(stmt, 20),
            .group = (uint32_t)sqlite3_column_int64(stmt, 21),
            .iteration = 1, /* the rest of a task without progress is 0 */
        },
    };
    row->told.id = row->id;
    row->told.reason = row->reason;
    columns_take_flags(sqlite3_column_int64(stmt, 19), &row->told);
}

static void read_progress(struct loader *loader, sqlite3_stmt *stmt, struct task_row *row) {
    struct task_spec *told = &row->told;
    told->iteration = (uint32_t)sqlite3_column_int64(stmt, 1);
    told->attempt = (uint32_t)sqlite3_column_int64(stmt, 2);
    told->hold = word(loader, WORDS_HOLD, stmt, 3);
    told->not_before = sqlite3_column_int64(stmt, 4);
    told->phase = word(loader, WORDS_PHASE, stmt, 5);
    told->started_at = sqlite3_column_int64(stmt, 6);
    told->stop = word(loader, WORDS_STOP, stmt, 7);
    row->run_agent = name(loader, stmt, 8);
    row->run_limiter = name(loader, stmt, 9);
    told->failures = (uint16_t)sqlite3_column_int(stmt, 10);
    told->launch_failures = (uint16_t)sqlite3_column_int(stmt, 11);
    told->losses = (uint16_t)sqlite3_column_int(stmt, 12);
    told->restarts = (uint16_t)sqlite3_column_int(stmt, 13);
    told->breaker_openings = (uint16_t)sqlite3_column_int(stmt, 14);
    told->lender = (task_id)sqlite3_column_int64(stmt, 15);
    told->borrowed = (unsigned)sqlite3_column_int(stmt, 16);
}

struct task_scan {
    sqlite3_stmt *stmt;
    struct beside progress, needs;
    task_id *items; /* what the current task needs */
    size_t capacity;
};

static int take_needs(struct loader *loader, struct task_scan *scan, struct task_row *row) {
    size_t count = 0;
    int r;
    while ((r = beside_reach(loader, &scan->needs, row->id)) > 0) {
        scan->items = xgrow(scan->items, &scan->capacity, count + 1, sizeof(*scan->items));
        scan->items[count++] = (task_id)sqlite3_column_int64(scan->needs.stmt, 1);
        r = beside_next(loader, &scan->needs);
        if (r < 0)
            return r;
    }
    row->depends_on = count ? scan->items : NULL;
    row->depends_on_count = count;
    return r;
}

static int load_one_task(struct loader *loader, struct task_scan *scan) {
    struct task_row row;
    read_task(loader, scan->stmt, &row);
    int r = beside_reach(loader, &scan->progress, row.id);
    if (r > 0)
        read_progress(loader, scan->progress.stmt, &row);
    if (r >= 0)
        r = take_needs(loader, scan, &row);
    if (row.id == 0 || !row.project)
        loader->damaged = true;
    if (r >= 0)
        r = check_damage(loader, "task");
    if (r >= 0 && loader->reader->task)
        r = loader->reader->task(loader->reader->ctx, &row, loader->err);
    loader->tasks++;
    return r;
}

static int load_tasks(struct loader *loader) {
    struct task_scan scan = { 0 };
    int r = beside_begin(loader, &scan.progress, PROGRESS_SQL);
    if (r >= 0)
        r = beside_begin(loader, &scan.needs, NEEDS_SQL);
    if (r >= 0)
        scan.stmt = prepare(loader, TASK_SQL, &r);
    while (r >= 0 && (r = step(loader, scan.stmt)) > 0) {
        if (loader->tasks % PROGRESS_ROWS == 0) {
            double number = (double)sqlite3_column_int64(scan.stmt, 0);
            double last = (double)loader->store->last_task;
            sqlite_progress(loader->store, "loading",
                            number < last ? (unsigned)(100 * number / last) : 100);
        }
        r = load_one_task(loader, &scan);
    }
    sqlite3_finalize(scan.stmt);
    sqlite3_finalize(scan.progress.stmt);
    sqlite3_finalize(scan.needs.stmt);
    free(scan.items);
    return r;
}

/* ------------------------------------------------------------------------------------------------ */

static int load_totals(struct loader *loader, struct store_totals *ret_totals) {
    struct sqlite_store *store = loader->store;
    int64_t first_event = 0, paused = 0, by = 0, at = 0;
    int rc = sqlite_number(store->db, "SELECT min(seq) FROM event", 0, &first_event);
    if (rc == SQLITE_OK)
        rc = sqlite_number(store->db, "SELECT value FROM meta WHERE key = 'paused'", 0, &paused);
    if (rc == SQLITE_OK)
        rc = sqlite_number(store->db, "SELECT value FROM meta WHERE key = 'paused_by'", 0, &by);
    if (rc == SQLITE_OK)
        rc = sqlite_number(store->db, "SELECT value FROM meta WHERE key = 'paused_at'", 0, &at);
    if (rc != SQLITE_OK)
        return sqlite_fault(store, "read", rc, loader->err);
    bool damaged = false;
    const char *who = sqlite_name_text(store, by, &damaged);
    if (damaged)
        return sqlite_damaged(store, "it was paused by a name that is not there", loader->err);
    *ret_totals = (struct store_totals){ .last_task = store->last_task,
                                         .first_event = (uint64_t)first_event,
                                         .last_event = store->last_event,
                                         .tasks = loader->tasks,
                                         .pause = { paused != 0, who, at } };
    return 0;
}

int sqlite_load(struct store *base, const struct store_reader *reader,
                struct store_totals *ret_totals, struct error *err) {
    static const struct part before[] = {
        { "project",
          "SELECT name, prefix, paused, created_at, paused_by, paused_at FROM project ORDER BY id",
          load_project },
        { "limiter",
          "SELECT name, backoff_until, hits, closed, backoff_since, last_hit, in_backoff,"
          " ramp_since, last_success FROM limiter ORDER BY name",
          load_limiter },
        { "agent",
          "SELECT name, idle, launch_failures, openings, closed_until FROM agent ORDER BY name",
          load_agent },
        { "grp", "SELECT id, name, owned, closed, created_at, closed_at FROM grp ORDER BY id",
          load_group },
        { "usage",
          "SELECT project, bucket, tokens, unreported, reports, starts, completions, money, priced,"
          " unpriced FROM usage ORDER BY bucket, project",
          load_usage },
        { "wait",
          "SELECT project, limiter, agent, lost, closed_since FROM wait"
          " ORDER BY project, limiter, agent",
          load_wait },
        { "note", "SELECT name, text FROM note ORDER BY name", load_note },
    };
    static const struct part after[] = {
        /* From the index alone: the rows of `spec` are wide. */
        { "spec", "SELECT number, external_id FROM spec WHERE external_id IS NOT NULL",
          load_external },
        { "run", "SELECT " RUN_COLUMNS " FROM run WHERE ended = 0 ORDER BY task, attempt",
          load_run },
    };
    struct error own = { 0 };
    struct loader loader = { .store = (struct sqlite_store *)base,
                             .reader = reader,
                             .err = err ? err : &own };
    int r = 0;
    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(before); i++)
        r = load_part(&loader, &before[i]);
    if (r >= 0)
        r = load_tasks(&loader);
    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(after); i++)
        r = load_part(&loader, &after[i]);
    return r >= 0 ? load_totals(&loader, ret_totals) : r;
}
