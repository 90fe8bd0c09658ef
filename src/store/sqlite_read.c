/* sqlite_read.c: questions that come while the daemon works, and everything that scheduling needs, once.
 *
 * A question is at most STORE_ANSWER_MAX rows from an index or a key, copied before anybody is called:
 * an open SELECT would hold back every checkpoint, and a commit inside the callback would find
 * the texts gone.
 *
 * Loading, tasks are one scan of a narrow table; their progress and their dependencies are scans in the same
 * order, so each task meets its own without a lookup. Equal names come as equal pointers, which spares the
 * reader comparing texts a million times.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/sqlite_internal.h"

static int64_t number_at(const void *stmt, int column) {
    return sqlite3_column_int64((sqlite3_stmt *)(uintptr_t)stmt, column);
}

static const char *text_at(const void *stmt, int column) {
    return (const char *)sqlite3_column_text((sqlite3_stmt *)(uintptr_t)stmt, column);
}

static size_t size_at(const void *stmt, int column) {
    return (size_t)sqlite3_column_bytes((sqlite3_stmt *)(uintptr_t)stmt, column);
}

static const struct row_source source = { number_at, text_at, size_at, NULL };

/* --- questions ---------------------------------------------------------------------------------- */

struct asked {
    struct sqlite_store *store;
    const struct store_question *question;
    struct row_names names;
    struct arena arena;
    char *rows;
    size_t count;
};

union any_row {
    task_id number;
    struct spec_row spec;
    struct run_row run;
    struct event_row event;
    struct key_row key;
    struct spent_row spent;
};

static void take_row(struct asked *asked, sqlite3_stmt *stmt) {
    enum store_question_kind kind = asked->question->kind;
    size_t size = store_answer_row(kind);
    enum row_kind of = store_answer_kind(kind);
    union any_row row;
    sql_read(kind, &row, &source, stmt, &asked->names);
    const void *kept = of == ROW_KIND_MAX ? &row : row_copy(of, &row, &asked->arena);
    memcpy(asked->rows + asked->count++ * size, kept, size);
}

/* Steps to the end of the rows; SQLITE_OK or what went wrong. */
static int take_rows(struct asked *asked, sqlite3_stmt *stmt) {
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        take_row(asked, stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* A number above what SQLite can hold is above everything that is there. */
static int64_t clamp(uint64_t number) {
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

/* One row for each of the tasks. */
static int take_each(struct asked *asked, sqlite3_stmt *stmt) {
    const struct store_question *question = asked->question;
    int rc = SQLITE_OK;
    for (size_t i = 0;
         rc == SQLITE_OK && i < question->task_count && asked->count < question->limit; i++) {
        sqlite3_bind_int64(stmt, 1, clamp(question->tasks[i]));
        rc = take_rows(asked, stmt);
        if (rc == SQLITE_OK)
            sqlite3_reset(stmt);
    }
    return rc;
}

static int ask(struct asked *asked, const struct sql_question *what, sqlite3_stmt *stmt) {
    asked->rows = arena_alloc(&asked->arena,
                              asked->question->limit * store_answer_row(asked->question->kind));
    for (unsigned i = 0; i < what->count; i++)
        if (what->values[i].text)
            sqlite3_bind_text(stmt, (int)i + 1, what->values[i].text, -1, SQLITE_STATIC);
        else
            sqlite3_bind_int64(stmt, (int)i + 1, what->values[i].number);
    return what->count == 0 ? take_each(asked, stmt) : take_rows(asked, stmt);
}

void sqlite_ask(struct store *base, const struct store_question *question, store_answered done,
                void *ctx) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct sql_question what;
    if (sqlite_thread_is_busy(store)) {
        sqlite_thread_keep(store, question, done, ctx);
        return;
    }
    if (!sql_ask(question, &store->names, &what)) {
        done(ctx, &(struct store_answer){ 0 }, NULL);
        return;
    }
    struct asked asked = { .store = store,
                           .question = question,
                           .names = { &store->names, false } };
    struct error err = { 0 };
    sqlite3_stmt *stmt = sqlite_statement(store, what.statement);
    int rc = stmt ? ask(&asked, &what, stmt) : sqlite3_extended_errcode(store->db);
    if (rc != SQLITE_OK)
        sqlite_fault(store, "read", rc, &err); /* before the reset, which has its own result */
    if (stmt) {
        sqlite3_reset(stmt);
        sqlite3_clear_bindings(stmt);
    }
    if (rc == SQLITE_OK && asked.names.damaged)
        sqlite_damaged(store, "a row holds a number that names nothing", &err);
    struct store_answer answer = { 0 };
    if (!err.code)
        answer = store_answer_of(question->kind, asked.rows, asked.count);
    done(ctx, &answer, err.code ? &err : NULL);
    arena_finish(&asked.arena);
}

/* --- loading ------------------------------------------------------------------------------------ */

struct loader {
    struct sql_loader all;
    struct sqlite_store *store;
};

/* A table that is read in order: the statement stands on its next row. */
struct scanned {
    sqlite3_stmt *stmt;
    bool has_row;
};

/* 1: a row is there; 0: none; <0 with a message. */
static int next(struct loader *loader, struct scanned *scanned) {
    int rc = sqlite3_step(scanned->stmt);
    scanned->has_row = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE
               ? scanned->has_row
               : sqlite_fault(loader->store, "read", rc, loader->all.err);
}

static int begin(struct loader *loader, struct scanned *scanned, const char *sql) {
    int rc = sqlite3_prepare_v2(loader->store->db, sql, -1, &scanned->stmt, NULL);
    return rc == SQLITE_OK ? next(loader, scanned)
                           : sqlite_fault(loader->store, "read", rc, loader->all.err);
}

static int begin_part(struct loader *loader, struct scanned *scanned, const struct sql_part *part) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    sql_load(part, SQL_SQLITE, &sql);
    return begin(loader, scanned, sql.text);
}

static int check_damage(struct loader *loader, enum row_kind kind) {
    if (!loader->all.names.damaged)
        return 0;
    char what[128];
    (void)snprintf(what, sizeof(what), "table %s holds a number that names nothing",
                   row_types[kind].table);
    return sqlite_damaged(loader->store, what, loader->all.err);
}

static int load_part(struct loader *loader, const struct sql_part *part) {
    struct scanned scanned = { 0 };
    int r = begin_part(loader, &scanned, part);
    while (r > 0) {
        r = sql_load_row(&loader->all, part->kind, &source, scanned.stmt);
        if (r >= 0)
            r = check_damage(loader, part->kind);
        r = r < 0 ? r : next(loader, &scanned);
    }
    sqlite3_finalize(scanned.stmt);
    return r;
}

/* --- tasks ------------------------------------------------------------------------------------- */

struct task_scan {
    struct scanned tasks, progress, needs;
    task_id *items; /* what the current task needs */
    size_t capacity;
};

/* 1: it stands on a row of this task; 0: there is none (any more). Rows of tasks that are gone are
 * passed over. */
static int reach(struct loader *loader, struct scanned *beside, task_id task) {
    int r = 0;
    while (r >= 0 && beside->has_row && (task_id)number_at(beside->stmt, 0) < task)
        r = next(loader, beside);
    if (r < 0)
        return r;
    return beside->has_row && (task_id)number_at(beside->stmt, 0) == task;
}

static int take_needs(struct loader *loader, struct task_scan *scan, struct task_row *row) {
    size_t count = 0;
    int r;
    while ((r = reach(loader, &scan->needs, row->id)) > 0) {
        scan->items = xgrow(scan->items, &scan->capacity, count + 1, sizeof(*scan->items));
        scan->items[count++] = (task_id)number_at(scan->needs.stmt, 1);
        r = next(loader, &scan->needs);
        if (r < 0)
            return r;
    }
    row->depends_on = count ? scan->items : NULL;
    row->depends_on_count = count;
    return r;
}

static int load_task(struct loader *loader, struct task_scan *scan) {
    struct task_row row = { .told = { .iteration = 1 } }; /* else no progress is 0 */
    (void)row_read(&row_types[ROW_TASK], &row, &source, scan->tasks.stmt, 0, &loader->all.names);
    sql_tell_progress(&loader->all, &loader->store->options, row.id, loader->store->last_task);
    int r = reach(loader, &scan->progress, row.id);
    if (r > 0)
        (void)row_read(&row_types[ROW_PROGRESS], &row, &source, scan->progress.stmt, 0,
                       &loader->all.names);
    if (r >= 0)
        r = take_needs(loader, scan, &row);
    if (row.id == 0 || !row.project)
        loader->all.names.damaged = true;
    loader->all.tasks++;
    if (r >= 0)
        r = check_damage(loader, ROW_TASK);
    const struct store_reader *reader = loader->all.reader;
    return r < 0 || !reader->task ? r : reader->task(reader->ctx, &row, loader->all.err);
}

static int load_tasks(struct loader *loader, const struct sql_part *part) {
    static const struct sql_part progress = { ROW_PROGRESS, " FROM progress ORDER BY task" };
    struct task_scan scan = { 0 };
    int r = begin_part(loader, &scan.progress, &progress);
    if (r >= 0)
        r = begin(loader, &scan.needs, "SELECT task, needs FROM depend ORDER BY task, position");
    if (r >= 0)
        r = begin_part(loader, &scan.tasks, part);
    while (r > 0) {
        r = load_task(loader, &scan);
        r = r < 0 ? r : next(loader, &scan.tasks);
    }
    sqlite3_finalize(scan.tasks.stmt);
    sqlite3_finalize(scan.progress.stmt);
    sqlite3_finalize(scan.needs.stmt);
    free(scan.items);
    return r;
}

/* ------------------------------------------------------------------------------------------------ */

static int load_totals(struct loader *loader, struct store_totals *ret_totals) {
    struct sqlite_store *store = loader->store;
    struct store_totals totals = { .last_task = store->last_task,
                                   .last_event = store->last_event,
                                   .tasks = loader->all.tasks };
    int64_t number = 0;
    int rc = sqlite_number(store->db, "SELECT min(seq) FROM event", 0, &number);
    totals.first_event = (uint64_t)number;
    ROW_COLUMNS(c, &row_types[ROW_PAUSE]) {
        if (rc == SQLITE_OK)
            rc = sqlite_meta(store->db, c->name, &number);
        column_load(c, &totals.pause, number, &store->names, &loader->all.names.damaged);
    }
    if (rc != SQLITE_OK)
        return sqlite_fault(store, "read", rc, loader->all.err);
    if (loader->all.names.damaged)
        return sqlite_damaged(store, "it was paused by a name that is not there", loader->all.err);
    *ret_totals = totals;
    return 0;
}

int sqlite_load(struct store *base, const struct store_reader *reader,
                struct store_totals *ret_totals, struct error *err) {
    struct error own = { 0 };
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct loader loader = { .all = { .store = base,
                                      .reader = reader,
                                      .names = { &store->names, false },
                                      .err = err ? err : &own },
                             .store = store };
    int r = 0;
    for (size_t i = 0; r >= 0 && i < SQL_PARTS; i++)
        r = sql_parts[i].kind == ROW_TASK ? load_tasks(&loader, &sql_parts[i])
                                          : load_part(&loader, &sql_parts[i]);
    return r >= 0 ? load_totals(&loader, ret_totals) : r;
}

int sqlite_names_load(struct sqlite_store *store, struct error *err) {
    sqlite3_stmt *stmt = NULL;
    int rc =
        sqlite3_prepare_v2(store->db, "SELECT id, text FROM name ORDER BY id", -1, &stmt, NULL);
    bool dense = true;
    while (rc == SQLITE_OK && dense && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        dense = names_read(&store->names, number_at(stmt, 0), text_at(stmt, 1));
        rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    if (!dense)
        return sqlite_damaged(store, "the table of names has a gap", err);
    if (rc != SQLITE_DONE)
        return sqlite_fault(store, "read", rc, err);
    names_learn(&store->names);
    return 0;
}
