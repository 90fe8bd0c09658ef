/* sqlite_write.c: one batch, one transaction, one of three outcomes.
 *
 * OK       COMMIT said so: the log was synced.
 * FAILED   a rule was broken, or the disk is full, and ROLLBACK said that nothing is left. A full
 *          disk gives the reserve back first, and the same batch is tried once more.
 * UNKNOWN  everything else. After a failed sync Linux calls the pages clean: to try again may
 *          "succeed" without the data. So nobody may be told anything more by this connection.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "store/sqlite_internal.h"

/* Values in the order of the statement's parameters. Texts are the batch's: they live until the
 * step that follows. */
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
        if (!column_is_written(c))
            continue;
        if (column_is_null(c, row)) {
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

/* A statement with one number. */
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
 * Each gives SQLITE_OK or what went wrong; a rule of ours that was broken is a constraint, with
 * its message in `err`. */

static int write_row(struct sqlite_store *store, enum row_kind kind, const void *row) {
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

/* Beside the row of the task itself. */
static int add_task(struct sqlite_store *store, const struct task_row *row) {
    int rc = task_has_progress(row) ? write_row(store, ROW_PROGRESS, row) : SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = add_needs(store, row);
    if (rc == SQLITE_OK && row->id > store->last_task)
        store->last_task = row->id;
    return rc;
}

static int change_task(struct sqlite_store *store, const struct store_write *write,
                       struct error *err) {
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
        rc = task_has_progress(row) ? write_row(store, ROW_PROGRESS, row)
                                    : run_with(store, STATEMENT_DELETE_PROGRESS, (int64_t)row->id);
    if (rc == SQLITE_OK && write->flags & STORE_CHANGE_NEEDS)
        rc = run_with(store, STATEMENT_DELETE_NEEDS, (int64_t)row->id);
    if (rc == SQLITE_OK && write->flags & STORE_CHANGE_NEEDS)
        rc = add_needs(store, row);
    return rc;
}

static int put_pause(struct sqlite_store *store, const void *row) {
    int rc = SQLITE_OK;
    ROW_COLUMNS(c, &row_types[ROW_PAUSE])
    if (rc == SQLITE_OK)
        rc = sqlite_put_meta(store, c->name, column_store(c, row, &store->names));
    return rc;
}

/* A spec whose task came and went in one batch: the statement finds no task, and adds nothing. */
static int write_new(struct sqlite_store *store, const struct store_write *write,
                     struct error *err) {
    if (write->of == ROW_PAUSE)
        return put_pause(store, write->row);
    int rc = write_row(store, write->of, write->row);
    if (rc == SQLITE_OK && write->of == ROW_TASK)
        rc = add_task(store, write->task);
    if (rc == SQLITE_OK && write->of == ROW_EVENT && write->event->seq > store->last_event)
        store->last_event = write->event->seq;
    if ((rc & 0xff) == SQLITE_CONSTRAINT)
        store_refuse(write, rc == SQLITE_CONSTRAINT_UNIQUE, err);
    return rc;
}

static int put_context(struct sqlite_store *store, const struct spec_row *row) {
    struct binder b = bind(store, STATEMENT_PUT_CONTEXT);
    put_int(&b, (int64_t)row->id);
    put_text(&b, row->context, row->context ? strlen(row->context) : 0);
    return finish(&b);
}

static int delete_task(struct sqlite_store *store, task_id task) {
    static const enum statement statements[] = {
        STATEMENT_DELETE_TASK,  STATEMENT_DELETE_PROGRESS, STATEMENT_DELETE_SPEC,
        STATEMENT_DELETE_NEEDS, STATEMENT_DELETE_RUNS,     STATEMENT_UNLINK_EVENTS,
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < ARRAY_SIZE(statements); i++)
        rc = run_with(store, statements[i], (int64_t)task);
    /* The highest number must not be given twice. */
    return rc == SQLITE_OK ? sqlite_put_meta(store, "last_task", (int64_t)store->last_task) : rc;
}

static int delete (struct sqlite_store *store, const struct store_write *write) {
    if (write->of == ROW_TASK)
        return delete_task(store, write->number);
    if (write->of == ROW_GROUP)
        return run_with(store, STATEMENT_DELETE_GROUP, (int64_t)write->number);
    struct binder b = bind(store, STATEMENT_DELETE_NOTE);
    put_text(&b, write->note->name, strlen(write->note->name));
    return finish(&b);
}

static int prune(struct sqlite_store *store, const struct store_write *write) {
    struct binder b = bind(store, sql_prune_of(write->of));
    put_int(&b, write->time); /* or the number of an event */
    if (write->of == ROW_SPENT)
        put_int(&b, write->flags);
    int rc = finish(&b);
    return rc == SQLITE_OK && write->of == ROW_EVENT
               ? sqlite_put_meta(store, "last_event", (int64_t)store->last_event)
               : rc;
}

static int take_numbers(struct sqlite_store *store, task_id last) {
    if (last <= store->last_task)
        return SQLITE_OK;
    store->last_task = last;
    return sqlite_put_meta(store, "last_task", (int64_t)last);
}

static int write_one(struct sqlite_store *store, const struct store_write *write,
                     struct error *err) {
    switch (write->kind) {
    case WRITE_ROW:
        return write_new(store, write, err);
    case WRITE_CHANGE:
        return change_task(store, write, err);
    case WRITE_DELETE:
        return delete (store, write);
    case WRITE_PRUNE:
        return prune(store, write);
    case WRITE_CONTEXT:
        return put_context(store, write->spec);
    case WRITE_NUMBERS:
        return take_numbers(store, write->number);
    }
    return SQLITE_MISUSE;
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

/* --- the transaction --------------------------------------------------------------------------- */

static int write_all(struct sqlite_store *store, const struct store_batch *batch,
                     struct error *err) {
    int rc = sqlite_run(store, STATEMENT_BEGIN);
    for (unsigned round = 0; round < STORE_ROUNDS; round++)
        for (size_t i = 0; rc == SQLITE_OK && i < batch->count; i++)
            if (store_write_round(&batch->writes[i]) == round)
                rc = write_one(store, &batch->writes[i], err);
    if (rc == SQLITE_OK)
        rc = sqlite_names_write(store);
    if (rc == SQLITE_OK)
        rc = sqlite_run(store, STATEMENT_COMMIT);
    return rc;
}

/* Fills `err` unless a rule of ours has done so. */
static enum store_outcome try_batch(struct sqlite_store *store, const struct store_batch *batch,
                                    struct error *err) {
    task_id last_task = store->last_task;
    uint64_t last_event = store->last_event;
    err->code = 0;
    int rc = write_all(store, batch, err);
    if (rc == SQLITE_OK) {
        store->names.stored = store->names.table.count;
        return STORE_OK;
    }
    store->last_task = last_task;
    store->last_event = last_event;
    bool known = (rc & 0xff) == SQLITE_FULL || (rc & 0xff) == SQLITE_CONSTRAINT;
    if (err->code == 0)
        sqlite_error(store->db, store->place.path, "write", rc, err);
    if (!known)
        return STORE_UNKNOWN;
    /* SQLite rolls some errors back by itself. */
    if (!sqlite3_get_autocommit(store->db)) {
        rc = sqlite_run(store, STATEMENT_ROLLBACK);
        if (rc != SQLITE_OK || !sqlite3_get_autocommit(store->db)) {
            sqlite_error(store->db, store->place.path, "roll back", rc, err);
            return STORE_UNKNOWN;
        }
    }
    return STORE_FAILED;
}

enum store_outcome sqlite_commit_now(struct sqlite_store *store, const struct store_batch *batch,
                                     struct error *err) {
    int rc = sqlite_checkpoint_if_long(store);
    if (rc != SQLITE_OK) {
        sqlite_error(store->db, store->place.path, "write", rc, err);
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
    enum store_outcome outcome = sqlite_commit_now(store, batch, &err);
    store_finish_commit(base, outcome, outcome == STORE_OK ? NULL : &err);
}
