/* postgres_load.c: everything that scheduling needs, read once, in order.
 *
 * By COPY in the binary format: a million rows come as one stream, without a result object for each, and
 * numbers need no parsing. Over the connection that writes, on which nothing is under way: questions that
 * are not answered yet go on over the other one. Equal names come as equal pointers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "store/columns.h"
#include "store/postgres_internal.h"

#define PROGRESS_ROWS 65536
#define COPY_HEAD     19 /* "PGCOPY…", flags, length of an extension: before the first row */

struct loader {
    struct pg_store *store;
    const struct store_reader *reader;
    struct error *err;
    struct pg_row row;
    uint64_t tasks;
    task_id *needs; /* of the current task */
    size_t needs_capacity;
};

/* --- one function per table -------------------------------------------------------------------------- */

static int load_project(struct loader *l) {
    struct project_row row = { .name = pg_text(&l->row, 0),
                               .prefix = pg_text(&l->row, 1),
                               .paused = pg_flag(&l->row, 2),
                               .created_at = pg_int(&l->row, 3),
                               .paused_by = pg_name(&l->row, 4),
                               .paused_at = pg_int(&l->row, 5) };
    return l->reader->project ? l->reader->project(l->reader->ctx, &row, l->err) : 0;
}

static int load_limiter(struct loader *l) {
    struct limiter_row row = { .name = pg_name(&l->row, 0),
                               .told = { .backoff_until = pg_int(&l->row, 1),
                                         .hits = (uint32_t)pg_int(&l->row, 2),
                                         .closed = pg_flag(&l->row, 3),
                                         .backoff_since = pg_int(&l->row, 4),
                                         .last_hit = pg_int(&l->row, 5),
                                         .in_backoff = pg_flag(&l->row, 6),
                                         .ramp_since = pg_int(&l->row, 7),
                                         .last_success = pg_int(&l->row, 8) } };
    return l->reader->limiter && row.name ? l->reader->limiter(l->reader->ctx, &row, l->err) : 0;
}

static int load_agent(struct loader *l) {
    struct agent_row row = { .name = pg_name(&l->row, 0),
                             .told = { .idle = pg_flag(&l->row, 1),
                                       .launch_failures = (uint32_t)pg_int(&l->row, 2),
                                       .openings = (uint32_t)pg_int(&l->row, 3),
                                       .closed_until = pg_int(&l->row, 4) } };
    return l->reader->agent && row.name ? l->reader->agent(l->reader->ctx, &row, l->err) : 0;
}

static int load_group(struct loader *l) {
    struct group_row row = { .id = (uint32_t)pg_int(&l->row, 0),
                             .name = pg_text(&l->row, 1),
                             .owned = pg_flag(&l->row, 2),
                             .closed = pg_flag(&l->row, 3),
                             .created_at = pg_int(&l->row, 4),
                             .closed_at = pg_int(&l->row, 5) };
    return l->reader->group ? l->reader->group(l->reader->ctx, &row, l->err) : 0;
}

static int load_usage(struct loader *l) {
    struct usage_row row = { .project = pg_name(&l->row, 0),
                             .bucket = pg_int(&l->row, 1),
                             .tokens = pg_int(&l->row, 2),
                             .unreported = pg_int(&l->row, 3),
                             .reports = (int32_t)pg_int(&l->row, 4),
                             .starts = (int32_t)pg_int(&l->row, 5),
                             .completions = (int32_t)pg_int(&l->row, 6),
                             .money = pg_int(&l->row, 7),
                             .priced = (int32_t)pg_int(&l->row, 8),
                             .unpriced = (int32_t)pg_int(&l->row, 9) };
    return l->reader->usage ? l->reader->usage(l->reader->ctx, &row, l->err) : 0;
}

static int load_wait(struct loader *l) {
    struct wait_row row = { .project = pg_name(&l->row, 0),
                            .limiter = pg_name(&l->row, 1),
                            .agent = pg_name(&l->row, 2),
                            .lost = pg_int(&l->row, 3),
                            .closed_since = pg_int(&l->row, 4) };
    return l->reader->wait && row.project ? l->reader->wait(l->reader->ctx, &row, l->err) : 0;
}

static int load_note(struct loader *l) {
    struct note_row row = { .name = pg_text(&l->row, 0), .text = pg_text(&l->row, 1) };
    return store_load_note(&l->store->base, l->reader, &row, l->err);
}

static int load_external(struct loader *l) {
    struct external_row row = { .task = (task_id)pg_int(&l->row, 0),
                                .external_id = pg_text(&l->row, 1) };
    return l->reader->external ? l->reader->external(l->reader->ctx, &row, l->err) : 0;
}

static int load_run(struct loader *l) {
    struct run_row row;
    pg_read_run(&l->row, &row);
    return l->reader->run && !l->row.damaged ? l->reader->run(l->reader->ctx, &row, l->err) : 0;
}

#define TASK_SQL                                                                                   \
    "SELECT number, created_at, changed_at, ready_since, ready_clock, parent, parent_iteration,"   \
    " grp, project, kind, agent, limiter, state, reason, priority, until, parent_gate, flags,"     \
    " retry_max, workspace, serial, resources, needs, iteration, attempt, hold, not_before,"       \
    " phase, started_at, stop, run_agent, run_limiter, failures, launch_failures, losses,"         \
    " restarts, breaker_openings, lender, borrowed FROM task ORDER BY number"

static void read_task(struct pg_row *from, struct task_row *row) {
    *row = (struct task_row){
        .id = (task_id)pg_int(from, 0),
        .changed_at = pg_int(from, 2),
        .project = pg_name(from, 8),
        .kind = pg_name(from, 9),
        .agent = pg_name(from, 10),
        .limiter = pg_name(from, 11),
        .reason = pg_word(from, WORDS_REASON, 13),
        .workspace = pg_text(from, 19),
        .serial = pg_text(from, 20),
        .resources = pg_text(from, 21),
        .run_agent = pg_name(from, 30),
        .run_limiter = pg_name(from, 31),
        .told = {
            .created_at = pg_int(from, 1),
            .ready_since = pg_int(from, 3),
            .ready_clock = pg_int(from, 4),
            .parent = (task_id)pg_int(from, 5),
            .parent_iteration = (uint32_t)pg_int(from, 6),
            .group = (uint32_t)pg_int(from, 7),
            .state = pg_word(from, WORDS_STATE, 12),
            .priority = (int32_t)pg_int(from, 14),
            .until = pg_word(from, WORDS_UNTIL, 15),
            .parent_gate = pg_word(from, WORDS_PARENT_GATE, 16),
            .retry_max = (int32_t)pg_int(from, 18),
            .iteration = (uint32_t)pg_int_or(from, 23, 1),
            .attempt = (uint32_t)pg_int(from, 24),
            .hold = pg_word_or(from, WORDS_HOLD, 25, HOLD_NONE),
            .not_before = pg_int(from, 26),
            .phase = pg_word_or(from, WORDS_PHASE, 27, PHASE_WORKING),
            .started_at = pg_int(from, 28),
            .stop = pg_word_or(from, WORDS_STOP, 29, STOP_NONE),
            .failures = (uint16_t)pg_int(from, 32),
            .launch_failures = (uint16_t)pg_int(from, 33),
            .losses = (uint16_t)pg_int(from, 34),
            .restarts = (uint16_t)pg_int(from, 35),
            .breaker_openings = (uint16_t)pg_int(from, 36),
            .lender = (task_id)pg_int(from, 37),
            .borrowed = (unsigned)pg_int(from, 38),
        },
    };
    row->told.id = row->id;
    row->told.reason = row->reason;
    columns_take_flags(pg_int(from, 17), &row->told);
}

static void tell_progress(struct loader *l, task_id number) {
    const struct store_options *options = &l->store->options;
    double part = l->store->last_task ? (double)number / (double)l->store->last_task : 1;
    if (options->progress)
        options->progress(options->ctx, "loading", part < 1 ? (unsigned)(100 * part) : 100);
}

static int load_task(struct loader *l) {
    struct task_row row;
    read_task(&l->row, &row);
    if (l->tasks++ % PROGRESS_ROWS == 0)
        tell_progress(l, row.id);
    if (!pg_numbers(&l->row, 22, &l->needs, &l->needs_capacity, &row.depends_on_count) || !row.id
        || !row.project)
        l->row.damaged = true;
    row.depends_on = row.depends_on_count ? l->needs : NULL;
    return l->reader->task && !l->row.damaged ? l->reader->task(l->reader->ctx, &row, l->err) : 0;
}

/* --- reading a table --------------------------------------------------------------------------------- */

struct part {
    const char *table, *sql;
    int (*load)(struct loader *l);
};

static int take_row(struct loader *l, const struct part *part, char *bytes, int size) {
    if (size >= 2 && (unsigned char)bytes[0] == 0xff && (unsigned char)bytes[1] == 0xff)
        return 0; /* the last one */
    if (!pg_row_of_copy(&l->row, bytes, size))
        l->row.damaged = true;
    int r = l->row.damaged ? 0 : part->load(l);
    if (r < 0 || !l->row.damaged)
        return r;
    char what[128];
    (void)snprintf(what, sizeof(what), "table %s holds what cannot be", part->table);
    return pg_damaged(l->store, what, l->err);
}

/* 1: a row is in *bytes, 0: there is none any more. */
static int next_row(struct loader *l, char **bytes, int *size, time_ms *deadline) {
    struct pg_link *link = &l->store->writer;
    while ((*size = PQgetCopyData(link->pg, bytes, 1)) == 0) {
        int r = pg_link_poll(link, *deadline, l->err);
        if (r < 0)
            return r;
        *deadline = clock_read_steady() + link->patience;
    }
    return *size > 0;
}

/* After a failure, of ours too, the rest of it is read and thrown away. */
static int load_rows(struct loader *l, const struct part *part) {
    time_ms deadline = clock_read_steady() + l->store->writer.patience;
    bool first = true;
    char *bytes = NULL;
    int size, failed = 0, r;
    while ((r = next_row(l, &bytes, &size, &deadline)) > 0) {
        int skip = first ? COPY_HEAD : 0;
        first = false;
        if (failed == 0 && size > skip)
            failed = take_row(l, part, bytes + skip, size - skip);
        PQfreemem(bytes);
    }
    return r < 0 ? r : failed;
}

/* 1: it is in *ret_result, 0: there is none any more. Behind the last row there are two more messages, and they may
 * not come: PQgetResult itself would wait for them for ever. */
static int next_result(struct loader *l, PGresult **ret_result) {
    struct pg_link *link = &l->store->writer;
    time_ms deadline = clock_read_steady() + link->patience;
    while (PQisBusy(link->pg)) {
        int r = pg_link_poll(link, deadline, l->err);
        if (r < 0)
            return r;
    }
    *ret_result = PQgetResult(link->pg);
    return *ret_result != NULL;
}

static int load_part(struct loader *l, const struct part *part) {
    struct pg_link *link = &l->store->writer;
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    strbuf_printf(&sql, "COPY (%s) TO STDOUT (FORMAT binary)", part->sql);
    int r = PQsendQuery(link->pg, sql.text) ? 0 : pg_connect_error(link, l->err);
    while (r != -ECONNRESET && r != -ETIMEDOUT) {
        PGresult *result = NULL;
        int next = next_result(l, &result);
        if (next <= 0)
            return next < 0 ? next : r;
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_COPY_OUT)
            r = load_rows(l, part);
        else if (status != PGRES_COMMAND_OK && r >= 0)
            r = pg_result_error(link->place, "read", result, l->err);
        PQclear(result);
    }
    return r;
}

static int load_totals(struct loader *l, struct store_totals *ret_totals) {
    struct pg_store *store = l->store;
    PGresult *result = NULL;
    int r = pg_link_run(&store->writer, "read",
                        "SELECT coalesce((SELECT min(seq) FROM event), 0), paused, paused_by,"
                        " paused_at FROM store",
                        &result, l->err);
    if (r < 0)
        return r;
    bool damaged = PQntuples(result) != 1;
    struct store_totals totals = { .last_task = store->last_task,
                                   .last_event = store->last_event,
                                   .tasks = l->tasks };
    if (!damaged) {
        totals.first_event = (uint64_t)pg_result_number(result, 0, 0);
        totals.pause.paused = *PQgetvalue(result, 0, 1) == 't';
        totals.pause.by = names_text(&store->names, pg_result_number(result, 0, 2), &damaged);
        totals.pause.at = pg_result_number(result, 0, 3);
    }
    PQclear(result);
    if (damaged)
        return pg_damaged(store, "it was paused by a name that is not there", l->err);
    *ret_totals = totals;
    return 0;
}

static int load_all(struct loader *l, struct store_totals *ret_totals) {
    static const struct part parts[] = {
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
        { "task", TASK_SQL, load_task },
        { "spec", "SELECT number, external_id FROM spec WHERE external_id IS NOT NULL",
          load_external },
        { "run", "SELECT " PG_RUN_COLUMNS " FROM run WHERE NOT ended ORDER BY task, attempt",
          load_run },
    };
    int r = 0;
    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(parts); i++)
        r = load_part(l, &parts[i]);
    return r >= 0 ? load_totals(l, ret_totals) : r;
}

int pg_load(struct store *base, const struct store_reader *reader, struct store_totals *ret_totals,
            struct error *err) {
    struct pg_store *store = (struct pg_store *)base;
    struct error own = { 0 };
    struct loader l = { .store = store, .reader = reader, .err = err ? err : &own };
    l.row.names = &store->names;
    pg_link_leave_pipeline(&store->writer);
    int r = load_all(&l, ret_totals);
    free(l.needs);
    if (r == -ECONNRESET || r == -ETIMEDOUT) {
        store_break(base, l.err);
        return r;
    }
    int back = pg_link_pipeline(&store->writer, r < 0 ? NULL : l.err);
    return r < 0 ? r : back;
}
