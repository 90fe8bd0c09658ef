/* postgres_ask.c: questions that come while the daemon works.
 *
 * They go over a connection of their own, one behind the other, each with a sync of its own: one that fails
 * leaves the others alone. Answers come in the order of the questions. Whoever is called may ask again or
 * commit: the rows of an answer belong to its result, not to the connection.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/postgres_internal.h"

struct pg_asked {
    struct pg_asked *next;
    enum store_question_kind kind; /* STORE_QUESTION_MAX: how large it is; ours */
    bool days;
    store_answered done;
    void *ctx;
};

/* --- asking ---------------------------------------------------------------------------------------- */

/* A number above what a database can hold is above everything that is there. */
static int64_t clamp(uint64_t number) {
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

static void put_each(struct pg_bulk *b, const struct store_question *q) {
    pg_put_numbers(b, q->tasks, q->task_count);
    pg_put_int(b, (int64_t)q->limit);
}

static void put_runs(struct pg_bulk *b, const struct store_question *q) {
    int64_t before = q->before ? clamp(q->before) : INT64_MAX;
    pg_put_int(b, clamp(q->task ? q->task : q->place.task));
    pg_put_int(b, q->task ? before : q->place.attempt);
    pg_put_int(b, (int64_t)q->limit);
}

static void put_events(struct pg_bulk *b, const struct store_question *q) {
    int64_t before = q->before ? clamp(q->before) : INT64_MAX;
    pg_put_int(b, q->kind == ASK_EVENTS_BACK ? before : clamp(q->after));
    pg_put_int(b, (int64_t)q->limit);
    if (q->task)
        pg_put_int(b, clamp(q->task));
}

static void put_key(struct pg_bulk *b, const struct store_question *q) {
    pg_put_text(b, q->key ? q->key : "");
}

static void put_keys(struct pg_bulk *b, const struct store_question *q) {
    pg_put_text(b, q->key ? q->key : "");
    pg_put_int(b, (int64_t)q->limit);
}

static void put_expired(struct pg_bulk *b, const struct store_question *q) {
    pg_put_int(b, q->before_time);
    pg_put_int(b, (int64_t)q->limit);
    pg_put_int(b, clamp(q->after));
}

static void put_ended(struct pg_bulk *b, const struct store_question *q) {
    pg_put_int(b, q->since);
    pg_put_int(b, q->place.ended_at);
    pg_put_int(b, clamp(q->place.task));
    pg_put_int(b, q->place.attempt);
    pg_put_int(b, (int64_t)q->limit);
}

static void put_spent(struct pg_bulk *b, const struct store_question *q) {
    pg_put_int(b, q->days);
    pg_put_int(b, q->since);
    pg_put_int(b, q->before_time);
    pg_put_int(b, (int64_t)q->limit);
    pg_put_int(b, clamp(q->after));
}

static const struct {
    enum pg_statement statement;
    enum pg_statement of_task; /* when the question names a task, or is by agent */
    void (*put)(struct pg_bulk *b, const struct store_question *q);
} questions[] = {
    [ASK_SPECS] = { PG_GET_SPECS, PG_GET_SPECS, put_each },
    [ASK_CHANGED] = { PG_GET_CHANGED, PG_GET_CHANGED, put_each },
    [ASK_TITLES] = { PG_GET_TITLES, PG_GET_TITLES, put_each },
    [ASK_RUNS] = { PG_GET_ALL_RUNS, PG_GET_RUNS, put_runs },
    [ASK_EVENTS] = { PG_GET_EVENTS, PG_GET_TASK_EVENTS, put_events },
    [ASK_EVENTS_BACK] = { PG_GET_EVENTS_BACK, PG_GET_TASK_EVENTS_BACK, put_events },
    [ASK_KEY] = { PG_GET_KEY, PG_GET_KEY, put_key },
    [ASK_KEYS] = { PG_GET_KEYS, PG_GET_KEYS, put_keys },
    [ASK_EXTERNAL] = { PG_GET_EXTERNAL, PG_GET_EXTERNAL, NULL }, /* see below */
    [ASK_EXPIRED] = { PG_GET_EXPIRED, PG_GET_EXPIRED, put_expired },
    [ASK_ENDED] = { PG_GET_ENDED, PG_GET_ENDED, put_ended },
    [ASK_SPENT] = { PG_GET_SPENT_BY_PROJECT, PG_GET_SPENT_BY_AGENT, put_spent },
};
_Static_assert(ARRAY_SIZE(questions) == STORE_QUESTION_MAX, "a question has no function");

static void expect(struct pg_store *store, struct pg_asked what) {
    struct pg_asked *asked = xcalloc(1, sizeof(*asked));
    *asked = what;
    if (store->last_asked)
        store->last_asked->next = asked;
    else
        store->first_asked = asked;
    store->last_asked = asked;
}

void pg_ask(struct store *base, const struct store_question *q, store_answered done, void *ctx) {
    struct pg_store *store = (struct pg_store *)base;
    sym project = 0;
    if (q->kind == ASK_EXTERNAL) {
        const char *name = q->project ? q->project : "";
        project = symbol_find(&store->names.table, name, strlen(name));
        if (project == 0 || !q->key) {
            done(ctx, &(struct store_answer){ 0 }, NULL);
            return;
        }
    }
    enum pg_statement statement = q->apart                 ? PG_GET_SPENT_APART
                                  : q->task || q->by_agent ? questions[q->kind].of_task
                                                           : questions[q->kind].statement;
    struct pg_bulk values;
    pg_bulk_init(&values, statement);
    if (q->kind == ASK_EXTERNAL) {
        pg_put_int(&values, project);
        pg_put_text(&values, q->key);
    } else {
        questions[q->kind].put(&values, q);
    }
    expect(store, (struct pg_asked){ .kind = q->kind, .days = q->days, .done = done, .ctx = ctx });
    pg_bulk_send(&values, &store->reader);
    pg_bulk_finish(&values);
    pg_link_sync(&store->reader);
    if (!store->options.loop)
        pg_link_wait(&store->reader);
}

void pg_ask_size(struct pg_store *store) {
    expect(store, (struct pg_asked){ .kind = STORE_QUESTION_MAX });
    pg_link_send(&store->reader, pg_texts[PG_GET_SIZE].name, &(struct pg_values){ 0 });
    pg_link_sync(&store->reader);
    if (!store->options.loop)
        pg_link_wait(&store->reader);
}

/* --- answers --------------------------------------------------------------------------------------- */

struct answering {
    struct pg_row row;
    struct arena arena;
    struct store_answer answer;
};

static void *room(struct answering *a, int rows, size_t row_size) {
    return arena_alloc(&a->arena, ((size_t)rows + 1) * row_size);
}

static void take_specs(struct answering *a, const PGresult *result, enum store_question_kind kind) {
    int count = PQntuples(result);
    struct spec_row *rows = room(a, count, sizeof(*rows));
    for (int i = 0; i < count; i++) {
        struct pg_row *row = &a->row;
        pg_row_of_result(row, result, i);
        rows[i] = (struct spec_row){ .id = (task_id)pg_int(row, 0) };
        if (kind == ASK_CHANGED) {
            rows[i].changed_at = pg_int(row, 1);
            continue;
        }
        rows[i].title = pg_text(row, 1);
        if (kind == ASK_TITLES) {
            rows[i].changed_at = pg_int(row, 2);
            continue;
        }
        rows[i].json = pg_text(row, 2);
        rows[i].json_size = (size_t)row->lengths[2];
        rows[i].external_id = pg_text(row, 3);
        rows[i].changed_at = pg_int(row, 4);
        rows[i].context = pg_text(row, 5);
    }
    a->answer.specs = rows;
}

static void take_runs(struct answering *a, const PGresult *result) {
    int count = PQntuples(result);
    struct run_row *rows = room(a, count, sizeof(*rows));
    for (int i = 0; i < count; i++) {
        pg_row_of_result(&a->row, result, i);
        pg_read_run(&a->row, &rows[i]);
    }
    a->answer.runs = rows;
}

static void take_events(struct answering *a, const PGresult *result) {
    int count = PQntuples(result);
    struct event_row *rows = room(a, count, sizeof(*rows));
    for (int i = 0; i < count; i++) {
        struct pg_row *row = &a->row;
        pg_row_of_result(row, result, i);
        rows[i] = (struct event_row){ .seq = (uint64_t)pg_int(row, 0),
                                      .at = pg_int(row, 1),
                                      .kind = pg_name(row, 2),
                                      .task = (task_id)pg_int(row, 3),
                                      .attempt = (uint32_t)pg_int(row, 4),
                                      .data = pg_text(row, 5) };
    }
    a->answer.events = rows;
}

static void take_spent(struct answering *a, const PGresult *result, bool days) {
    int count = PQntuples(result);
    struct spent_row *rows = room(a, count, sizeof(*rows));
    for (int i = 0; i < count; i++) {
        struct pg_row *row = &a->row;
        pg_row_of_result(row, result, i);
        rows[i] = (struct spent_row){
            .span = days ? SPENT_DAY : SPENT_HOUR,
            .at = pg_int(row, 0),
            .project = pg_name(row, 1),
            .agent = pg_name(row, 2),
            .runs = pg_int(row, 3),
            .ok = pg_int(row, 4),
            .busy_ms = pg_int(row, 5),
            .tokens_in = pg_int(row, 6),
            .tokens_out = pg_int(row, 7),
            .tokens_cached = pg_int(row, 8),
            .cost_micro_usd = pg_int(row, 9),
            .unknown_tokens = pg_int(row, 10),
            .unknown_cost = pg_int(row, 11),
        };
    }
    a->answer.spent = rows;
}

static void take_keys(struct answering *a, const PGresult *result) {
    int count = PQntuples(result);
    struct key_row *keys = room(a, count, sizeof(*keys));
    for (int i = 0; i < count; i++) {
        pg_row_of_result(&a->row, result, i);
        keys[i] = (struct key_row){ .key = pg_text(&a->row, 0),
                                    .at = pg_int(&a->row, 1),
                                    .status = (int32_t)pg_int(&a->row, 2),
                                    .answer = pg_text(&a->row, 3) };
    }
    a->answer.key = count > 0 ? keys : NULL;
}

static void take_numbers(struct answering *a, const PGresult *result) {
    int count = PQntuples(result);
    task_id *numbers = room(a, count, sizeof(*numbers));
    for (int i = 0; i < count; i++) {
        pg_row_of_result(&a->row, result, i);
        numbers[i] = (task_id)pg_int(&a->row, 0);
    }
    a->answer.tasks = numbers;
}

static void take(struct answering *a, const PGresult *result, const struct pg_asked *asked) {
    a->answer.count = (size_t)PQntuples(result);
    switch (asked->kind) {
    case ASK_SPECS:
    case ASK_CHANGED:
    case ASK_TITLES:
    case ASK_EXTERNAL:
        take_specs(a, result, asked->kind);
        break;
    case ASK_RUNS:
    case ASK_ENDED:
        take_runs(a, result);
        break;
    case ASK_EVENTS:
    case ASK_EVENTS_BACK:
        take_events(a, result);
        break;
    case ASK_KEY:
    case ASK_KEYS:
        take_keys(a, result);
        break;
    case ASK_EXPIRED:
        take_numbers(a, result);
        break;
    case ASK_SPENT:
        take_spent(a, result, asked->days);
        break;
    case STORE_QUESTION_MAX:
        break;
    }
}

static struct pg_asked *take_first(struct pg_store *store) {
    struct pg_asked *asked = store->first_asked;
    store->first_asked = asked->next;
    if (!store->first_asked)
        store->last_asked = NULL;
    return asked;
}

void pg_ask_result(struct pg_store *store, const PGresult *result) {
    assert(store->first_asked);
    _cleanup_(freep) struct pg_asked *asked = take_first(store);
    struct answering a = { .row = { .names = &store->names } };
    struct error err = { 0 };
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        pg_result_error(&store->place, "read", result, &err);
    else
        take(&a, result, asked);
    if (asked->kind == STORE_QUESTION_MAX) {
        if (!err.code && PQntuples(result) == 1) {
            pg_row_of_result(&a.row, result, 0);
            store->bytes = pg_int(&a.row, 0);
        }
        return;
    }
    if (!err.code && a.row.damaged)
        pg_damaged(store, "a row holds a number that names nothing", &err);
    if (err.code)
        a.answer = (struct store_answer){ 0 };
    asked->done(asked->ctx, &a.answer, err.code ? &err : NULL);
    arena_finish(&a.arena);
}

void pg_ask_lose_first(struct pg_store *store, const struct error *err) {
    _cleanup_(freep) struct pg_asked *asked = take_first(store);
    if (asked->done)
        asked->done(asked->ctx, &(struct store_answer){ 0 }, err);
}

void pg_ask_forget(struct pg_store *store) {
    while (store->first_asked)
        free(take_first(store));
}
