/* postgres_statements.h: statements, and the rows that they take. Private to store/. */
#pragma once

#include "store/postgres_link.h"

/* --- postgres_statements.c, postgres_bulk.c ---------------------------------------------------- */

enum pg_statement {
    PG_BEGIN,
    PG_COMMIT,
    PG_ROLLBACK,
    PG_EPOCH,
    PG_NUMBERS,
    PG_ADD_NAMES,
    PG_ADD_TASKS, /* of the kinds of bulk, in the order in which they are sent */
    PG_ADD_WIDE_TASKS,
    PG_CHANGE_TASKS,
    PG_PUT_RUNS,
    PG_ADD_EVENTS,
    PG_ADD_KEYS,
    PG_ADD_USAGE,
    PG_ADD_SPENT,
    PG_DELETE_TASKS,
    PG_ADD_SPECS,
    PG_ADD_LATE_SPECS, /* of tasks that came with another batch */
    PG_PUT_CONTEXTS,
    PG_PRUNE_EVENTS, /* one row each */
    PG_PUT_PROJECT,
    PG_PUT_GROUP,
    PG_DELETE_GROUP,
    PG_PUT_LIMITER,
    PG_PUT_AGENT,
    PG_PRUNE_USAGE,
    PG_PUT_WAIT,
    PG_PRUNE_KEYS,
    PG_PUT_PAUSE,
    PG_PUT_NOTE,
    PG_DELETE_NOTE,
    PG_PRUNE_SPENT,
    PG_WRITES, /* the reader's from here on */
    PG_GET_SPECS = PG_WRITES,
    PG_GET_CHANGED,
    PG_GET_TITLES,
    PG_GET_RUNS,
    PG_GET_ALL_RUNS,
    PG_GET_EVENTS,
    PG_GET_EVENTS_BACK,
    PG_GET_TASK_EVENTS,
    PG_GET_TASK_EVENTS_BACK,
    PG_GET_KEY,
    PG_GET_KEYS,
    PG_GET_EXTERNAL,
    PG_GET_EXPIRED,
    PG_GET_ENDED,
    PG_GET_SPENT_BY_PROJECT,
    PG_GET_SPENT_BY_AGENT,
    PG_GET_SPENT_APART,
    PG_GET_SIZE,
    PG_STATEMENTS,
};

/* How its rows are handed over: in every way, or as a rule. */
enum pg_form { PG_GENERAL, PG_USUAL, PG_FORMS };

/* `columns`: "name:type …" of the rows that the statement takes as one array per column (bulk), or of its
 * single values. l bigint, i integer, t text, b boolean, n bigint[] as text, L bigint[] (no column of rows).
 * name:type*: the rows differ in it as a rule; with one there is PG_USUAL. */
struct pg_statement_text {
    const char *name, *columns;
    bool bulk;
    const char *text; /* @: the rows, as n; #: their columns; !: the same to be selected */
};
extern const struct pg_statement_text pg_texts[PG_STATEMENTS];
#define PG_RUN_COLUMNS                                                                             \
    "task, attempt, iteration, agent, executor, host, boot_id, folder, phase, ended,"              \
    " ordered_at, started_at, ended_at, outcome, how, exit_code, exit_signal, tokens_in,"          \
    " tokens_out, cost_micro_usd, applied, message, limited_until, stop_now, token_hash,"          \
    " tokens_cached, session, resumed, model, said, shim_key, shim_pid, shim_start, shim_space,"   \
    " cgroup"

/* The values of one statement: rows of columns, or one of each. */
struct pg_bulk {
    enum pg_statement statement;
    uint32_t rows;
    size_t size; /* bytes of texts */
    unsigned columns, next;
    char types[PG_COLUMNS_MAX];
    bool differs[PG_COLUMNS_MAX]; /* as a rule */
    bool nulls[PG_COLUMNS_MAX];   /* there is one among them */
    bool alike[PG_COLUMNS_MAX];   /* all rows have the value of the first, which alone is kept */
    struct strbuf bytes[PG_COLUMNS_MAX];
};
void pg_bulk_init(struct pg_bulk *bulk, enum pg_statement statement);
void pg_bulk_finish(struct pg_bulk *bulk);
void pg_bulk_clear(struct pg_bulk *bulk); /* keeps the memory */
/* The next value of the row, which begins with the first and ends with the last. */
void pg_put_int(struct pg_bulk *bulk, int64_t value);
void pg_put_text_size(struct pg_bulk *bulk, const char *text, size_t size);
void pg_put_text(struct pg_bulk *bulk, const char *text); /* NULL: none */
void pg_put_null(struct pg_bulk *bulk);
void pg_put_int_unless(struct pg_bulk *bulk, int64_t value, int64_t usual); /* NULL when usual */
void pg_put_numbers(struct pg_bulk *bulk, const task_id *numbers, size_t count);
/* Sends it; the bulk is empty again. */
void pg_bulk_send(struct pg_bulk *bulk, struct pg_link *link);
/* The whole text of a statement. */
void pg_statement_build(enum pg_statement statement, enum pg_form form, struct strbuf *ret_sql);
bool pg_statement_has(enum pg_statement statement, enum pg_form form);
void pg_statements_prepare(struct pg_link *link, enum pg_statement first, enum pg_statement end);
