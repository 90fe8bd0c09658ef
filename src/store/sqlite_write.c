/* sqlite_write.c: writes batches, answers queries, and loads.
 *
 * One batch is one transaction, with one of three outcomes:
 *
 * OK       COMMIT succeeded: the log was synced.
 * FAILED   a rule was broken, or the disk is full, and ROLLBACK confirmed that nothing is left. On
 *          a full disk the reserve is freed first, and the same batch is tried once more.
 * UNKNOWN  everything else. After a failed sync Linux marks the pages clean: a retry may "succeed"
 *          without the data. So this connection must not answer anything more. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/sqlite_internal.h"

/* Values in the order of the statement's parameters. Texts belong to the batch and are valid until
 * the next step. */
struct binder {
    struct sqlite_store *store;
    sqlite3_stmt *stmt; /* NULL: it could not be prepared */
    int next;
    int rc;
};

static struct binder bind(struct sqlite_store *store, enum statement statement) {
    struct binder b = { .store = store, .stmt = sqlite_statement(store, statement), .next = 1 };
    if (!b.stmt)
        b.rc = sqlite3_extended_errcode(store->db);
    return b;
}

static void put_int(struct binder *b, int64_t value) {
    if (b->rc == SQLITE_OK)
        b->rc = sqlite3_bind_int64(b->stmt, b->next++, value);
}

static void put_text(struct binder *b, const char *text, size_t size) {
    if (b->rc != SQLITE_OK)
        return;
    b->rc = text ? sqlite3_bind_text64(b->stmt, b->next++, text, size, SQLITE_STATIC, SQLITE_UTF8)
                 : sqlite3_bind_null(b->stmt, b->next++);
}

static void put_row(struct binder *b, const struct row_type *type, const void *row) {
    ROW_COLUMNS(c, type) {
        if (c->type == COLUMN_NUMBER && !(c->flags & (COLUMN_DERIVED | COLUMN_OPTIONAL))) {
            put_int(b, column_number(c, row)); /* most columns of a task */
        } else if (!column_is_written(c)) {
            continue;
        } else if (column_is_null(c, row)) {
            put_text(b, NULL, 0);
        } else if (column_is_text(c)) {
            const char *text = column_text(c, row);
            put_text(b, text, column_text_size(c, row, text));
        } else {
            put_int(b, column_store(c, row, &b->store->names));
        }
    }
}

static int finish(struct binder *b) {
    return b->rc == SQLITE_OK ? sqlite_finish(b->stmt) : b->rc;
}

static int run_with(struct sqlite_store *store, enum statement statement, int64_t value) {
    struct binder b = bind(store, statement);
    put_int(&b, value);
    return finish(&b);
}

int sqlite_put_meta(struct sqlite_store *store, const char *key, int64_t value) {
    struct binder b = bind(store, STATEMENT_PUT_META);
    put_text(&b, key, strlen(key));
    put_int(&b, value);
    return finish(&b);
}

/* --- one function per kind of write ------------------------------------------------------------
 * Each returns SQLITE_OK or the error; a broken rule of ours is a constraint error, with its
 * message in `err`. */

static int put(struct sqlite_store *store, enum row_kind kind, const void *row) {
    struct binder b = bind(store, sql_write_of(kind));
    put_row(&b, &row_types[kind], row);
    return finish(&b);
}

static int add_needs(struct sqlite_store *store, const struct task_row *row) {
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < row->depends_on_count; i++) {
        struct binder b = bind(store, STATEMENT_ADD_NEED);
        put_int(&b, (int64_t)row->id);
        put_int(&b, (int64_t)i);
        put_int(&b, (int64_t)row->depends_on[i]);
        rc = finish(&b);
    }
    return rc;
}

/* Writes everything except the row of the task itself. */
static int add_task(struct sqlite_store *store, const struct task_row *row) {
    int rc = task_has_progress(row) ? put(store, ROW_PROGRESS, row) : SQLITE_OK;
    return rc == SQLITE_OK ? add_needs(store, row) : rc;
}

static int change_task(void *ctx, const struct store_write *write, struct error *err) {
    struct sqlite_store *store = ctx;
    const struct task_row *row = write->task;
    struct binder b = bind(store, STATEMENT_CHANGE_TASK);
    put_row(&b, &row_types[ROW_TASK], row);
    put_int(&b, (write->flags & STORE_CHANGE_SEEN) != 0);
    int rc = finish(&b);
    if (rc == SQLITE_OK && sqlite3_changes(store->db) == 0) {
        store_refuse(write, false, err);
        return SQLITE_CONSTRAINT;
    }
    if (rc == SQLITE_OK)
        rc = task_has_progress(row) ? put(store, ROW_PROGRESS, row)
                                    : run_with(store, STATEMENT_DELETE_PROGRESS, (int64_t)row->id);
    if (rc == SQLITE_OK && write->flags & STORE_CHANGE_NEEDS)
        rc = run_with(store, STATEMENT_DELETE_NEEDS, (int64_t)row->id);
    if (rc == SQLITE_OK && write->flags & STORE_CHANGE_NEEDS)
        rc = add_needs(store, row);
    return rc;
}

/* If its task was added and deleted in one batch, a spec finds no task and is not added. */
static int write_row(void *ctx, const struct store_write *write, struct error *err) {
    struct sqlite_store *store = ctx;
    int rc = SQLITE_OK;
    if (write->of == ROW_PAUSE) {
        ROW_COLUMNS(c, &row_types[ROW_PAUSE])
        if (rc == SQLITE_OK)
            rc = sqlite_put_meta(store, c->name, column_store(c, write->row, &store->names));
        return rc;
    }
    rc = put(store, write->of, write->row);
    if (rc == SQLITE_OK && write->of == ROW_TASK)
        rc = add_task(store, write->task);
    if ((rc & 0xff) == SQLITE_CONSTRAINT)
        store_refuse(write, rc == SQLITE_CONSTRAINT_UNIQUE, err);
    return rc;
}

static int put_context(void *ctx, const struct store_write *write, struct error *err) {
    const struct spec_row *row = write->spec;
    struct binder b = bind(ctx, STATEMENT_PUT_CONTEXT);
    (void)err;
    put_int(&b, (int64_t)row->id);
    put_text(&b, row->context, row->context ? strlen(row->context) : 0);
    return finish(&b);
}

static int edit_spec(void *ctx, const struct store_write *write, struct error *err) {
    const struct spec_row *row = write->spec;
    struct binder b = bind(ctx, STATEMENT_EDIT_SPEC);
    (void)err;
    put_int(&b, (int64_t)row->id);
    put_text(&b, row->title, strlen(row->title));
    put_text(&b, row->json, strlen(row->json));
    return finish(&b);
}

static int put_last_task(struct sqlite_store *store) {
    return sqlite_put_meta(store, "last_task", (int64_t)store->base.next.task);
}

static int delete_task(struct sqlite_store *store, task_id task) {
    static const enum statement statements[] = {
        STATEMENT_DELETE_TASK,  STATEMENT_DELETE_PROGRESS, STATEMENT_DELETE_SPEC,
        STATEMENT_DELETE_NEEDS, STATEMENT_DELETE_RUNS,     STATEMENT_UNLINK_EVENTS,
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < ARRAY_SIZE(statements); i++)
        rc = run_with(store, statements[i], (int64_t)task);
    /* The highest number must not be assigned twice. */
    return rc == SQLITE_OK ? put_last_task(store) : rc;
}

static int delete_row(void *ctx, const struct store_write *write, struct error *err) {
    (void)err;
    if (write->of == ROW_TASK)
        return delete_task(ctx, write->number);
    if (write->of == ROW_GROUP)
        return run_with(ctx, STATEMENT_DELETE_GROUP, (int64_t)write->number);
    struct binder b = bind(ctx, STATEMENT_DELETE_NOTE);
    put_text(&b, write->note->name, strlen(write->note->name));
    return finish(&b);
}

static int prune(void *ctx, const struct store_write *write, struct error *err) {
    struct sqlite_store *store = ctx;
    struct binder b = bind(store, sql_prune_of(write->of));
    (void)err;
    put_int(&b, write->time); /* or the number of an event */
    if (write->of == ROW_SPENT)
        put_int(&b, write->flags);
    int rc = finish(&b);
    return rc == SQLITE_OK && write->of == ROW_EVENT
               ? sqlite_put_meta(store, "last_event", (int64_t)store->base.next.event)
               : rc;
}

static int assign_numbers(void *ctx, const struct store_write *write, struct error *err) {
    (void)write;
    (void)err;
    return put_last_task(ctx);
}

int sqlite_names_write(struct sqlite_store *store) {
    struct names *names = &store->names;
    int rc = SQLITE_OK;
    for (sym number = names->stored + 1; rc == SQLITE_OK && number <= names->table.count;
         number++) {
        const char *name = symbol_name(&names->table, number);
        struct binder b = bind(store, STATEMENT_ADD_NAME);
        put_int(&b, number);
        put_text(&b, name, strlen(name));
        rc = finish(&b);
    }
    return rc;
}

/* --- the transaction ------------------------------------------------------------------------- */

static int write_all(struct sqlite_store *store, const struct store_batch *batch,
                     struct error *err) {
    static const store_writer writers[] = {
        [WRITE_ROW] = write_row,  [WRITE_CHANGE] = change_task,  [WRITE_DELETE] = delete_row,
        [WRITE_PRUNE] = prune,    [WRITE_CONTEXT] = put_context, [WRITE_NUMBERS] = assign_numbers,
        [WRITE_EDIT] = edit_spec,
    };
    int rc = sqlite_run(store, STATEMENT_BEGIN);
    if (rc == SQLITE_OK)
        rc = store_batch_apply(batch, writers, store, err);
    if (rc == SQLITE_OK)
        rc = sqlite_names_write(store);
    return rc == SQLITE_OK ? sqlite_run(store, STATEMENT_COMMIT) : rc;
}

/* Fills `err` unless a broken rule of ours has done so. */
static enum store_outcome try_batch(struct sqlite_store *store, const struct store_batch *batch,
                                    struct error *err) {
    err->code = 0;
    int rc = write_all(store, batch, err);
    if (rc == SQLITE_OK) {
        store->names.stored = store->names.table.count;
        return STORE_OK;
    }
    bool known = (rc & 0xff) == SQLITE_FULL || (rc & 0xff) == SQLITE_CONSTRAINT;
    if (err->code == 0)
        sqlite_error(store->db, store->file.path, "write", rc, err);
    if (!known)
        return STORE_UNKNOWN;
    /* SQLite rolls some errors back by itself. */
    if (!sqlite3_get_autocommit(store->db)) {
        rc = sqlite_run(store, STATEMENT_ROLLBACK);
        if (rc != SQLITE_OK || !sqlite3_get_autocommit(store->db)) {
            sqlite_error(store->db, store->file.path, "roll back", rc, err);
            return STORE_UNKNOWN;
        }
    }
    return STORE_FAILED;
}

enum store_outcome sqlite_commit_now(struct sqlite_store *store, const struct store_batch *batch,
                                     struct error *err) {
    int rc = sqlite_checkpoint_if_long(store);
    if (rc != SQLITE_OK) {
        sqlite_error(store->db, store->file.path, "write", rc, err);
        return STORE_UNKNOWN;
    }
    enum store_outcome outcome = try_batch(store, batch, err);
    if (outcome == STORE_FAILED && err->code == -ENOSPC && sqlite_reserve_release(store))
        outcome = try_batch(store, batch, err);
    return outcome;
}

void sqlite_commit(struct store *base, const struct store_batch *batch) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct error err = { 0 };
    if (sqlite_thread_takes(store, batch))
        return;
    store_finish_commit(base, sqlite_commit_timed(store, batch, &err), &err);
}

/* --- reading --------------------------------------------------------------------------------- */

/* Answers queries at run time, and loads everything that scheduling needs at startup.
 *
 * An answer is at most STORE_ANSWER_MAX rows from an index or a key, copied before the callback: an
 * open SELECT would block every checkpoint, and a commit inside the callback would invalidate the
 * texts.
 *
 * Loading tasks is one scan of a narrow table; their progress and dependencies are scanned in the
 * same order, so each task meets its own without a lookup. Equal names are equal pointers, which
 * saves the reader a million text comparisons. */

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

/* --- queries ------------------------------------------------------------------------------- */

struct query {
    const struct store_query *question;
    struct row_names names;
    struct arena arena;
    char *rows;
    size_t count;
};

static void read_row(struct query *query, sqlite3_stmt *stmt) {
    enum store_query_kind kind = query->question->kind;
    size_t size = store_answer_row(kind);
    enum row_kind of = store_answer_kind(kind);
    union any_row row;
    sql_read(kind, &row, &source, stmt, &query->names);
    const void *kept = of == ROW_KIND_MAX ? &row : row_copy(of, &row, &query->arena);
    memcpy(query->rows + query->count++ * size, kept, size);
}

/* Steps through all rows; SQLITE_OK or the error. */
static int read_rows(struct query *query, sqlite3_stmt *stmt) {
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        read_row(query, stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* One row for each of the tasks. */
static int read_each(struct query *query, sqlite3_stmt *stmt) {
    const struct store_query *question = query->question;
    int rc = SQLITE_OK;
    for (size_t i = 0;
         rc == SQLITE_OK && i < question->task_count && query->count < question->limit; i++) {
        sqlite3_bind_int64(stmt, 1, sql_number(question->tasks[i]));
        rc = read_rows(query, stmt);
        if (rc == SQLITE_OK)
            sqlite3_reset(stmt);
    }
    return rc;
}

static int bind_query(struct query *query, const struct sql_query *what, sqlite3_stmt *stmt) {
    query->rows = arena_alloc(&query->arena,
                              query->question->limit * store_answer_row(query->question->kind));
    for (unsigned i = 0; i < what->count; i++)
        if (what->values[i].text)
            sqlite3_bind_text(stmt, (int)i + 1, what->values[i].text, -1, SQLITE_STATIC);
        else
            sqlite3_bind_int64(stmt, (int)i + 1, what->values[i].number);
    return what->count == 0 ? read_each(query, stmt) : read_rows(query, stmt);
}

void sqlite_query(struct store *base, const struct store_query *question, store_answered done,
                  void *ctx) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct sql_query what;
    if (sqlite_thread_is_busy(store)) {
        sqlite_thread_keep(store, question, done, ctx);
        return;
    }
    struct error err = { 0 };
    if (!sql_query(question, &store->names, &what)) {
        store_answer(done, ctx, NULL, 0, &err);
        return;
    }
    struct query query = { .question = question, .names = { &store->names, false } };
    sqlite3_stmt *stmt = sqlite_statement(store, what.statement);
    int rc = stmt ? bind_query(&query, &what, stmt) : sqlite3_extended_errcode(store->db);
    if (rc != SQLITE_OK)
        sqlite_fault(store, "read", rc, &err); /* before the reset, which has its own result */
    if (stmt) {
        sqlite3_reset(stmt);
        sqlite3_clear_bindings(stmt);
    }
    if (rc == SQLITE_OK && query.names.damaged)
        sqlite_damaged(base, "a row holds a number that names nothing", &err);
    store_answer(done, ctx, query.rows, query.count, &err);
    arena_finish(&query.arena);
}

/* --- loading --------------------------------------------------------------------------------- */

/* A table read in order: the statement is at its next row. */
struct scanned {
    sqlite3_stmt *stmt;
    bool has_row;
};

/* 1: a row is available; 0: none; <0 with a message. */
static int next_row(struct sql_loader *loader, struct scanned *scanned) {
    int rc = sqlite3_step(scanned->stmt);
    scanned->has_row = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE
               ? scanned->has_row
               : sqlite_fault((struct sqlite_store *)loader->store, "read", rc, loader->err);
}

static int begin_scan(struct sql_loader *loader, struct scanned *scanned, const char *sql) {
    struct sqlite_store *store = (struct sqlite_store *)loader->store;
    int rc = sqlite3_prepare_v2(store->db, sql, -1, &scanned->stmt, NULL);
    return rc == SQLITE_OK ? next_row(loader, scanned)
                           : sqlite_fault(store, "read", rc, loader->err);
}

static int begin_part(struct sql_loader *loader, struct scanned *scanned,
                      const struct sql_part *part) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    sql_load(part, SQL_SQLITE, &sql);
    return begin_scan(loader, scanned, sql.text);
}

static int load_part(struct sql_loader *loader, const struct sql_part *part) {
    struct scanned scanned = { 0 };
    int r = begin_part(loader, &scanned, part);
    while (r > 0) {
        r = sql_load_row(loader, part->kind, &source, scanned.stmt);
        r = r < 0 ? r : next_row(loader, &scanned);
    }
    sqlite3_finalize(scanned.stmt);
    return r;
}

/* --- tasks ----------------------------------------------------------------------------------- */

struct task_scan {
    struct scanned tasks, progress, needs;
    task_id *items; /* what the current task needs */
    size_t capacity;
};

/* 1: it is at a row of this task; 0: the task has no row. Skips rows of deleted tasks. */
static int skip_to(struct sql_loader *loader, struct scanned *beside, task_id task) {
    int r = 0;
    while (r >= 0 && beside->has_row && (task_id)number_at(beside->stmt, 0) < task)
        r = next_row(loader, beside);
    if (r < 0)
        return r;
    return beside->has_row && (task_id)number_at(beside->stmt, 0) == task;
}

static int read_needs(struct sql_loader *loader, struct task_scan *scan, struct task_row *row) {
    size_t count = 0;
    int r;
    while ((r = skip_to(loader, &scan->needs, row->id)) > 0) {
        scan->items = xgrow(scan->items, &scan->capacity, count + 1, sizeof(*scan->items));
        scan->items[count++] = (task_id)number_at(scan->needs.stmt, 1);
        r = next_row(loader, &scan->needs);
        if (r < 0)
            return r;
    }
    row->depends_on = count ? scan->items : NULL;
    row->depends_on_count = count;
    return r;
}

static int load_task(struct sql_loader *loader, struct task_scan *scan) {
    struct task_row row = { .spec = { .iteration = 1 } }; /* else no progress is 0 */
    (void)row_read(&row_types[ROW_TASK], &row, &source, scan->tasks.stmt, 0, &loader->names);
    int r = skip_to(loader, &scan->progress, row.id);
    if (r > 0)
        (void)row_read(&row_types[ROW_PROGRESS], &row, &source, scan->progress.stmt, 0,
                       &loader->names);
    if (r >= 0)
        r = read_needs(loader, scan, &row);
    return r < 0 ? r : sql_load_task(loader, &row);
}

static int load_tasks(struct sql_loader *loader, const struct sql_part *part) {
    static const struct sql_part progress = { ROW_PROGRESS, " FROM progress ORDER BY task" };
    struct task_scan scan = { 0 };
    int r = begin_part(loader, &scan.progress, &progress);
    if (r >= 0)
        r = begin_scan(loader, &scan.needs,
                       "SELECT task, needs FROM depend ORDER BY task, position");
    if (r >= 0)
        r = begin_part(loader, &scan.tasks, part);
    while (r > 0) {
        r = load_task(loader, &scan);
        r = r < 0 ? r : next_row(loader, &scan.tasks);
    }
    sqlite3_finalize(scan.tasks.stmt);
    sqlite3_finalize(scan.progress.stmt);
    sqlite3_finalize(scan.needs.stmt);
    free(scan.items);
    return r;
}

/* ------------------------------------------------------------------------------------------------ */

static int load_totals(struct sql_loader *loader, struct store_totals *ret_totals) {
    struct sqlite_store *store = (struct sqlite_store *)loader->store;
    struct store_totals totals = { .last_task = store->base.last.task,
                                   .last_event = store->base.last.event,
                                   .tasks = loader->tasks };
    int64_t number = 0;
    int rc = sqlite_numbers(store->db, "SELECT min(seq) FROM event", 1, &number);
    totals.first_event = (uint64_t)number;
    ROW_COLUMNS(c, &row_types[ROW_PAUSE]) {
        if (rc == SQLITE_OK)
            rc = sqlite_meta(store->db, c->name, &number);
        column_load(c, &totals.pause, number, &store->names, &loader->names.damaged);
    }
    if (rc != SQLITE_OK)
        return sqlite_fault(store, "read", rc, loader->err);
    if (loader->names.damaged)
        return sqlite_damaged(loader->store, "it was paused by a name that is not there",
                              loader->err);
    *ret_totals = totals;
    return 0;
}

int sqlite_load(struct store *base, const struct store_reader *reader,
                struct store_totals *ret_totals, struct error *err) {
    const struct sqlite_store *store = (const struct sqlite_store *)base;
    struct sql_loader loader = { .store = base,
                                 .reader = reader,
                                 .options = &store->options,
                                 .err = err,
                                 .names = { &store->names, false },
                                 .damage = "holds a number that names nothing",
                                 .damaged = sqlite_damaged };
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
        return sqlite_damaged(&store->base, "the table of names has a gap", err);
    if (rc != SQLITE_DONE)
        return sqlite_fault(store, "read", rc, err);
    names_learn(&store->names);
    return 0;
}
