/* postgres_read.c: answers queries at run time, and loads everything that scheduling needs at
 * startup.
 *
 * Queries are pipelined over a separate connection, each with its own sync: a failure does not
 * affect the others. Answers come in order. Callbacks may ask again or commit: the rows of an
 * answer belong to its result, not to the connection.
 *
 * Loading uses binary COPY: a million rows come as one stream, without a result object for each,
 * and numbers need no parsing. It uses the writing connection, which is idle; pending queries
 * continue on the reading one. Equal names are equal pointers.
 *
 * Numbers have the width of their column, in big-endian order. Both sources give NUL-terminated
 * texts: libpq terminates each value of a result; in a COPY row, the NUL overwrites the following
 * length, which has already been read. */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "store/postgres_internal.h"

#define COPY_HEAD 19 /* "PGCOPY…", flags, length of an extension: before the first row */

/* --- rows ------------------------------------------------------------------------------------ */

/* One row in the binary format; texts are valid as long as their source. */
struct pg_row {
    const char *values[SQL_COLUMNS_MAX]; /* NULL: none */
    int lengths[SQL_COLUMNS_MAX];
};

static void row_of_result(struct pg_row *row, const PGresult *result, int index) {
    int columns = PQnfields(result);
    assert(columns <= (int)SQL_COLUMNS_MAX);
    for (int i = 0; i < columns; i++) {
        bool none = PQgetisnull(result, index, i);
        row->values[i] = none ? NULL : PQgetvalue(result, index, i);
        row->lengths[i] = none ? 0 : PQgetlength(result, index, i);
    }
}

static int32_t read_i32(const char *at) {
    uint32_t big;
    memcpy(&big, at, sizeof(big));
    return (int32_t)be32toh(big);
}

/* Parses a COPY row, modifying it; false: not a row (or the end). */
static bool row_of_copy(struct pg_row *row, char *bytes, int size) {
    char *at = bytes, *end = bytes + size;
    if (size < 2)
        return false;
    int columns = (int16_t)((unsigned char)at[0] << 8 | (unsigned char)at[1]);
    at += 2;
    if (columns < 0 || columns > (int)SQL_COLUMNS_MAX)
        return false;
    for (int i = 0; i < columns; i++) {
        if (end - at < 4)
            return false;
        int32_t length = read_i32(at);
        *at = '\0'; /* terminates the previous value */
        at += 4;
        if (length > end - at)
            return false;
        row->values[i] = length < 0 ? NULL : at;
        row->lengths[i] = length < 0 ? 0 : length;
        at += row->lengths[i];
    }
    return true;
}

static int64_t number_at(const void *ctx, int column) {
    const struct pg_row *row = ctx;
    const char *value = row->values[column];
    if (!value)
        return 0;
    if (row->lengths[column] == 8) {
        uint64_t big;
        memcpy(&big, value, sizeof(big));
        return (int64_t)be64toh(big);
    }
    return row->lengths[column] == 4 ? read_i32(value) : *value;
}

static const char *text_at(const void *ctx, int column) {
    return ((const struct pg_row *)ctx)->values[column];
}

static size_t size_at(const void *ctx, int column) {
    return (size_t)((const struct pg_row *)ctx)->lengths[column];
}

static bool is_null_at(const void *ctx, int column) {
    return !((const struct pg_row *)ctx)->values[column];
}

static const struct row_source source = { number_at, text_at, size_at, is_null_at };

/* A bigint[]; false: not one. The caller frees; may be NULL. */
static bool numbers_at(const struct pg_row *row, int column, task_id **numbers, size_t *capacity,
                       size_t *ret_count) {
    const char *at = row->values[column];
    size_t left = (size_t)row->lengths[column];
    *ret_count = 0;
    if (!at)
        return true;
    if (left < 12 || (read_i32(at) == 1 && left < 20))
        return false;
    if (read_i32(at) == 0)
        return true; /* an empty array has no length */
    int32_t count = read_i32(at + 12);
    if (read_i32(at) != 1 || count < 0 || left != 20 + (size_t)count * 12)
        return false;
    *numbers = xgrow(*numbers, capacity, (size_t)count, sizeof(**numbers));
    at += 20;
    for (int32_t i = 0; i < count; i++, at += 12) {
        uint64_t big;
        memcpy(&big, at + 4, sizeof(big));
        (*numbers)[i] = be64toh(big);
    }
    *ret_count = (size_t)count;
    return true;
}

int pg_damaged(struct store *base, const char *what, struct error *err) {
    struct error own = { 0 };
    error_set(&own, -EUCLEAN, "store '%s' is damaged (%.150s): restore it from a dump",
              ((struct pg_store *)base)->target.shown, what);
    store_break(base, &own);
    return error_set(err, own.code, "%s", own.text);
}

/* --- queries ------------------------------------------------------------------------------- */

struct pg_pending {
    struct pg_pending *next;
    enum store_query_kind kind;
    store_answered done;
    void *ctx;
};

static void expect(struct pg_store *store, enum store_query_kind kind, store_answered done,
                   void *ctx) {
    struct pg_pending *pending = xcalloc(1, sizeof(*pending));
    *pending = (struct pg_pending){ .kind = kind, .done = done, .ctx = ctx };
    QUEUE_ADD(&store->pending, pending);
}

static void sync_reader(struct pg_store *store) {
    pg_link_sync(&store->reader);
    if (!store->options.loop)
        pg_link_wait(&store->reader);
}

void pg_query(struct store *base, const struct store_query *q, store_answered done, void *ctx) {
    struct pg_store *store = (struct pg_store *)base;
    struct sql_query what;
    struct pg_bulk values;
    if (!sql_query(q, &store->names, &what)) {
        store_answer(done, ctx, NULL, 0, &(struct error){ 0 });
        return;
    }
    pg_bulk_init(&values, what.statement);
    if (what.count == 0) { /* for each of its tasks */
        pg_put_numbers(&values, q->tasks, q->task_count);
        pg_put_int(&values, (int64_t)q->limit);
    }
    for (unsigned i = 0; i < what.count; i++)
        if (what.values[i].text)
            pg_put_text(&values, what.values[i].text);
        else
            pg_put_int(&values, what.values[i].number);
    expect(store, q->kind, done, ctx);
    pg_bulk_send(&values, &store->reader);
    pg_bulk_finish(&values);
    sync_reader(store);
}

static void keep_size(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct pg_store *store = ctx;
    if (!err && answer->count == 1)
        store->bytes = (int64_t)answer->tasks[0];
}

/* Its answer is read like that of QUERY_EXPIRED: one number. */
void pg_query_size(struct pg_store *store) {
    expect(store, QUERY_EXPIRED, keep_size, store);
    pg_link_send(&store->reader, statement_texts[STATEMENT_GET_SIZE].name,
                 &(struct pg_values){ 0 });
    sync_reader(store);
}

void pg_query_result(void *ctx, const PGresult *result) {
    struct pg_store *store = ctx;
    _cleanup_(freep) struct pg_pending *pending = QUEUE_TAKE(&store->pending);
    assert(pending);
    struct error err = { 0 };
    struct row_names names = { &store->names, false };
    size_t size = store_answer_row(pending->kind);
    int count = 0;
    _cleanup_(freep) char *rows = NULL;
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        pg_result_error(&store->target, "read", result, &err);
    else
        rows = xmalloc(((size_t)(count = PQntuples(result)) + 1) * size);
    for (int i = 0; i < count; i++) {
        struct pg_row row;
        row_of_result(&row, result, i);
        sql_read(pending->kind, rows + (size_t)i * size, &source, &row, &names);
    }
    if (!err.code && names.damaged)
        pg_damaged(&store->base, "a row holds a number that names nothing", &err);
    store_answer(pending->done, pending->ctx, rows, (size_t)count, &err);
}

void pg_query_end_first(struct pg_store *store, const struct error *err) {
    _cleanup_(freep) struct pg_pending *pending = QUEUE_TAKE(&store->pending);
    if (err)
        pending->done(pending->ctx, &(struct store_answer){ 0 }, err);
}

/* --- loading --------------------------------------------------------------------------------- */

struct loader {
    struct sql_loader all;
    struct pg_store *store;
    task_id *needs; /* of the current task */
    size_t needs_capacity;
};

static int load_task(struct loader *l, const struct pg_row *from) {
    struct task_row row = { 0 };
    int next = row_read(&row_types[ROW_TASK], &row, &source, from, 0, &l->all.names);
    if (!numbers_at(from, next, &l->needs, &l->needs_capacity, &row.depends_on_count))
        l->all.names.damaged = true;
    row.depends_on = row.depends_on_count ? l->needs : NULL;
    (void)row_read(&row_types[ROW_PROGRESS], &row, &source, from, next + 1, &l->all.names);
    return sql_load_task(&l->all, &row);
}

static int load_row(struct loader *l, enum row_kind kind, char *bytes, int size) {
    struct pg_row row;
    if (size >= 2 && (unsigned char)bytes[0] == 0xff && (unsigned char)bytes[1] == 0xff)
        return 0; /* the last one */
    if (!row_of_copy(&row, bytes, size)) {
        l->all.names.damaged = true;
        row = (struct pg_row){ 0 };
    }
    return kind == ROW_TASK ? load_task(l, &row) : sql_load_row(&l->all, kind, &source, &row);
}

/* 1: a row is in *bytes, 0: no more rows. */
static int next_row(struct loader *l, char **bytes, int *size, time_ms *deadline) {
    struct pg_link *link = &l->store->writer;
    while ((*size = PQgetCopyData(link->pg, bytes, 1)) == 0) {
        int r = pg_link_poll(link, *deadline, l->all.err);
        if (r < 0)
            return r;
        *deadline = clock_read_steady() + link->patience;
    }
    return *size > 0;
}

/* After any failure, the rest is read and discarded. */
static int load_rows(struct loader *l, enum row_kind kind) {
    time_ms deadline = clock_read_steady() + l->store->writer.patience;
    bool first = true;
    char *bytes = NULL;
    int size, failed = 0, r;
    while ((r = next_row(l, &bytes, &size, &deadline)) > 0) {
        int skip = first ? COPY_HEAD : 0;
        first = false;
        if (failed == 0 && size > skip)
            failed = load_row(l, kind, bytes + skip, size - skip);
        PQfreemem(bytes);
    }
    return r < 0 ? r : failed;
}

static int load_part(struct loader *l, const struct sql_part *part) {
    struct pg_link *link = &l->store->writer;
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    strbuf_puts(&sql, "COPY (");
    sql_load(part, SQL_POSTGRES, &sql);
    strbuf_puts(&sql, ") TO STDOUT (FORMAT binary)");
    int r = PQsendQuery(link->pg, sql.text) ? 0 : pg_connect_error(link, l->all.err);
    while (r != -ECONNRESET && r != -ETIMEDOUT) {
        PGresult *result = NULL;
        /* Two more messages follow the last row, and they may never arrive: PQgetResult itself
         * would wait for them forever. */
        int next =
            pg_link_next_result(link, clock_read_steady() + link->patience, &result, l->all.err);
        if (next <= 0)
            return next < 0 ? next : r;
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_COPY_OUT)
            r = load_rows(l, part->kind);
        else if (status != PGRES_COMMAND_OK && r >= 0)
            r = pg_result_error(link->target, "read", result, l->all.err);
        PQclear(result);
    }
    return r;
}

static int load_totals(struct loader *l, struct store_totals *ret_totals) {
    struct pg_store *store = l->store;
    _cleanup_(pg_result_free) PGresult *result = NULL;
    int r = pg_link_run(&store->writer, "read",
                        "SELECT coalesce((SELECT min(seq) FROM event), 0), paused, paused_by,"
                        " paused_at FROM store",
                        &result, l->all.err);
    if (r < 0)
        return r;
    bool damaged = PQntuples(result) != 1;
    struct store_totals totals = { .last_task = store->base.last.task,
                                   .last_event = store->base.last.event,
                                   .tasks = l->all.tasks };
    if (!damaged) {
        totals.first_event = (uint64_t)pg_result_number(result, 0, 0);
        totals.pause.paused = *PQgetvalue(result, 0, 1) == 't';
        totals.pause.by = names_text(&store->names, pg_result_number(result, 0, 2), &damaged);
        totals.pause.at = pg_result_number(result, 0, 3);
    }
    if (damaged)
        return pg_damaged(&store->base, "it was paused by a name that is not there", l->all.err);
    *ret_totals = totals;
    return 0;
}

int pg_load(struct store *base, const struct store_reader *reader, struct store_totals *ret_totals,
            struct error *err) {
    struct pg_store *store = (struct pg_store *)base;
    struct loader l = { .all = { .store = base,
                                 .reader = reader,
                                 .options = &store->options,
                                 .err = err,
                                 .names = { &store->names, false },
                                 .damage = "holds what cannot be",
                                 .damaged = pg_damaged },
                        .store = store };
    pg_link_leave_pipeline(&store->writer);
    int r = 0;
    for (size_t i = 0; r >= 0 && i < SQL_PARTS; i++)
        r = load_part(&l, &sql_parts[i]);
    if (r >= 0)
        r = load_totals(&l, ret_totals);
    free(l.needs);
    if (r == -ECONNRESET || r == -ETIMEDOUT) {
        store_break(base, l.all.err);
        return r;
    }
    int back = pg_link_pipeline(&store->writer, r < 0 ? NULL : l.all.err);
    return r < 0 ? r : back;
}

/* --- read-only inspection -------------------------------------------------------------------- */

static int read_summary(struct pg_link *link, struct store_summary *summary, struct error *err) {
    _cleanup_(pg_result_free) PGresult *result = NULL;
    int r = pg_schema_inspect(link, STORE_VERSION, &summary->version, err);
    if (r < 0 || summary->version == 0)
        return r;
    r = pg_link_run(link, "read",
                    "SELECT clean, last_event, (SELECT count(*) FROM task), EXISTS (SELECT 1 FROM"
                    " note WHERE name = '" STORE_COPY_NOTE "') FROM store",
                    &result, err);
    if (r < 0)
        return r;
    summary->there = PQntuples(result) == 1;
    if (summary->there) {
        summary->was_unclean = *PQgetvalue(result, 0, 0) != 't';
        summary->last_event = (uint64_t)pg_result_number(result, 0, 1);
        summary->tasks = (uint64_t)pg_result_number(result, 0, 2);
        summary->unfinished = *PQgetvalue(result, 0, 3) == 't';
    }
    return 0;
}

int pg_summary(const char *url, struct store_summary *ret_summary, struct error *err) {
    _cleanup_(pg_target_finish) struct pg_target target = { 0 };
    _cleanup_(pg_link_close) struct pg_link link = { 0 };
    int r = pg_target_parse(url, &target, err);
    if (r >= 0)
        r = pg_link_connect(&link, &target, target.connect_timeout, err);
    if (r >= 0)
        r = pg_session_begin(&link, err);
    if (r >= 0)
        r = pg_session_lock(&link, err);
    return r < 0 ? r : read_summary(&link, ret_summary, err);
}
