/* sqlite_read.c: questions that come while the daemon works.
 *
 * Each is at most STORE_ANSWER_MAX rows from an index or a key, copied before anybody is called:
 * an open SELECT would hold back every checkpoint, and a commit inside the callback would find
 * the texts gone.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "store/sqlite_internal.h"

struct asked {
    struct sqlite_store *store;
    const struct store_question *question;
    struct arena arena;
    struct store_answer answer;
    bool damaged;
};

static const char *text(sqlite3_stmt *stmt, int column) {
    return (const char *)sqlite3_column_text(stmt, column);
}

bool sqlite_read_run(const struct sqlite_store *store, sqlite3_stmt *stmt,
                     struct run_row *ret_row) {
    bool damaged = false;
    *ret_row = (struct run_row){
        .task = (task_id)sqlite3_column_int64(stmt, 0),
        .attempt = (uint32_t)sqlite3_column_int64(stmt, 1),
        .iteration = (uint32_t)sqlite3_column_int64(stmt, 2),
        .agent = sqlite_name_text(store, sqlite3_column_int64(stmt, 3), &damaged),
        .executor = sqlite_name_text(store, sqlite3_column_int64(stmt, 4), &damaged),
        .host = sqlite_name_text(store, sqlite3_column_int64(stmt, 5), &damaged),
        .boot_id = sqlite_name_text(store, sqlite3_column_int64(stmt, 6), &damaged),
        .folder = text(stmt, 7),
        .phase = sqlite_word_value(store, WORDS_PHASE, sqlite3_column_int64(stmt, 8), &damaged),
        .ended = sqlite3_column_int64(stmt, 9) != 0,
        .ordered_at = sqlite3_column_int64(stmt, 10),
        .started_at = sqlite3_column_int64(stmt, 11),
        .ended_at = sqlite3_column_int64(stmt, 12),
        .outcome =
            sqlite_word_value(store, WORDS_OUTCOME, sqlite3_column_int64(stmt, 13), &damaged),
        .how = sqlite_name_text(store, sqlite3_column_int64(stmt, 14), &damaged),
        .exit_code = sqlite3_column_int(stmt, 15),
        .exit_signal = sqlite3_column_int(stmt, 16),
        .tokens_in = sqlite3_column_int64(stmt, 17),
        .tokens_out = sqlite3_column_int64(stmt, 18),
        .cost_micro_usd = sqlite3_column_int64(stmt, 19),
        .applied = text(stmt, 20),
        .message = text(stmt, 21),
        .limited_until = sqlite3_column_int64(stmt, 22),
        .stop_now = sqlite3_column_int64(stmt, 23) != 0,
        .token_hash = text(stmt, 24),
        .tokens_cached = sqlite3_column_int64(stmt, 25),
        .session = text(stmt, 26),
        .resumed = sqlite3_column_int64(stmt, 27) != 0,
        .model = sqlite_name_text(store, sqlite3_column_int64(stmt, 28), &damaged),
        .said = sqlite_name_text(store, sqlite3_column_int64(stmt, 29), &damaged),
        .shim_key = text(stmt, 30),
        .shim_pid = sqlite3_column_int64(stmt, 31),
        .shim_start = sqlite3_column_int64(stmt, 32),
        .shim_space = sqlite3_column_int64(stmt, 33),
        .cgroup = text(stmt, 34),
    };
    return !damaged;
}

static void read_spec(struct asked *asked, sqlite3_stmt *stmt, struct spec_row *ret_row) {
    struct spec_row row = { .id = (task_id)sqlite3_column_int64(stmt, 0),
                            .title = text(stmt, 1),
                            .json = text(stmt, 2),
                            .json_size = (size_t)sqlite3_column_bytes(stmt, 2),
                            .external_id = text(stmt, 3),
                            .changed_at = sqlite3_column_int64(stmt, 4),
                            .context = text(stmt, 5) };
    *ret_row = *(struct spec_row *)row_copy(ROW_SPEC, &row, &asked->arena);
}

static void read_changed(struct asked *asked, sqlite3_stmt *stmt, struct spec_row *ret_row) {
    (void)asked;
    *ret_row = (struct spec_row){ .id = (task_id)sqlite3_column_int64(stmt, 0),
                                  .changed_at = sqlite3_column_int64(stmt, 1) };
}

static void read_title(struct asked *asked, sqlite3_stmt *stmt, struct spec_row *ret_row) {
    const char *title = text(stmt, 1);
    *ret_row = (struct spec_row){ .id = (task_id)sqlite3_column_int64(stmt, 0),
                                  .title = title ? arena_strdup(&asked->arena, title) : NULL,
                                  .changed_at = sqlite3_column_int64(stmt, 2) };
}

static void read_spent(struct asked *asked, sqlite3_stmt *stmt, struct spent_row *ret_row) {
    struct spent_row row = {
        .span = asked->question->days ? SPENT_DAY : SPENT_HOUR,
        .at = sqlite3_column_int64(stmt, 0),
        .project = sqlite_name_text(asked->store, sqlite3_column_int64(stmt, 1), &asked->damaged),
        .agent = sqlite_name_text(asked->store, sqlite3_column_int64(stmt, 2), &asked->damaged),
        .runs = sqlite3_column_int64(stmt, 3),
        .ok = sqlite3_column_int64(stmt, 4),
        .busy_ms = sqlite3_column_int64(stmt, 5),
        .tokens_in = sqlite3_column_int64(stmt, 6),
        .tokens_out = sqlite3_column_int64(stmt, 7),
        .tokens_cached = sqlite3_column_int64(stmt, 8),
        .cost_micro_usd = sqlite3_column_int64(stmt, 9),
        .unknown_tokens = sqlite3_column_int64(stmt, 10),
        .unknown_cost = sqlite3_column_int64(stmt, 11),
    };
    *ret_row = *(struct spent_row *)row_copy(ROW_SPENT, &row, &asked->arena);
}

static void read_event(struct asked *asked, sqlite3_stmt *stmt, struct event_row *ret_row) {
    struct event_row row = { .seq = (uint64_t)sqlite3_column_int64(stmt, 0),
                             .at = sqlite3_column_int64(stmt, 1),
                             .kind = sqlite_name_text(asked->store, sqlite3_column_int64(stmt, 2),
                                                      &asked->damaged),
                             .task = (task_id)sqlite3_column_int64(stmt, 3),
                             .attempt = (uint32_t)sqlite3_column_int64(stmt, 4),
                             .data = text(stmt, 5) };
    *ret_row = *(struct event_row *)row_copy(ROW_EVENT, &row, &asked->arena);
}

static void *room(struct asked *asked, size_t row_size) {
    return arena_alloc(&asked->arena, asked->question->limit * row_size);
}

/* A number above what SQLite can hold is above everything that is there. */
static int64_t clamp(uint64_t number) {
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

/* Every function gives SQLITE_OK or what went wrong. The statement may be NULL. */

typedef void (*read_function)(struct asked *asked, sqlite3_stmt *stmt, struct spec_row *ret_row);

/* One row for each of the tasks. */
static int ask_each(struct asked *asked, sqlite3_stmt *stmt, read_function read) {
    const struct store_question *question = asked->question;
    struct spec_row *rows = room(asked, sizeof(*rows));
    asked->answer.specs = rows;
    for (size_t i = 0; i < question->task_count && asked->answer.count < question->limit; i++) {
        sqlite3_bind_int64(stmt, 1, clamp(question->tasks[i]));
        int rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW)
            read(asked, stmt, &rows[asked->answer.count++]);
        sqlite3_reset(stmt);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            return rc;
    }
    return SQLITE_OK;
}

static int ask_specs(struct asked *asked, sqlite3_stmt *stmt) {
    return ask_each(asked, stmt, read_spec);
}

static int ask_changed(struct asked *asked, sqlite3_stmt *stmt) {
    return ask_each(asked, stmt, read_changed);
}

static int ask_titles(struct asked *asked, sqlite3_stmt *stmt) {
    return ask_each(asked, stmt, read_title);
}

static int read_runs(struct asked *asked, sqlite3_stmt *stmt) {
    struct run_row *rows = room(asked, sizeof(*rows));
    asked->answer.runs = rows;
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct run_row row;
        if (!sqlite_read_run(asked->store, stmt, &row))
            asked->damaged = true;
        rows[asked->answer.count++] = *(struct run_row *)row_copy(ROW_RUN, &row, &asked->arena);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int ask_runs(struct asked *asked, sqlite3_stmt *stmt) {
    const struct store_question *question = asked->question;
    bool all = question->task == 0;
    int64_t before = question->before ? clamp(question->before) : INT64_MAX;
    sqlite3_bind_int64(stmt, 1, clamp(all ? question->place.task : question->task));
    sqlite3_bind_int64(stmt, 2, all ? question->place.attempt : before);
    sqlite3_bind_int64(stmt, 3, (int64_t)question->limit);
    return read_runs(asked, stmt);
}

static int ask_ended(struct asked *asked, sqlite3_stmt *stmt) {
    const struct store_question *question = asked->question;
    sqlite3_bind_int64(stmt, 1, question->since);
    sqlite3_bind_int64(stmt, 2, question->place.ended_at);
    sqlite3_bind_int64(stmt, 3, clamp(question->place.task));
    sqlite3_bind_int64(stmt, 4, question->place.attempt);
    sqlite3_bind_int64(stmt, 5, (int64_t)question->limit);
    return read_runs(asked, stmt);
}

static int ask_spent(struct asked *asked, sqlite3_stmt *stmt) {
    const struct store_question *question = asked->question;
    struct spent_row *rows = room(asked, sizeof(*rows));
    asked->answer.spent = rows;
    sqlite3_bind_int64(stmt, 1, question->days);
    sqlite3_bind_int64(stmt, 2, question->since);
    sqlite3_bind_int64(stmt, 3, question->before_time);
    sqlite3_bind_int64(stmt, 4, (int64_t)question->limit);
    sqlite3_bind_int64(stmt, 5, clamp(question->after));
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        read_spent(asked, stmt, &rows[asked->answer.count++]);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int ask_events(struct asked *asked, sqlite3_stmt *stmt) {
    const struct store_question *question = asked->question;
    struct event_row *rows = room(asked, sizeof(*rows));
    asked->answer.events = rows;
    bool back = question->kind == ASK_EVENTS_BACK;
    int64_t before = question->before ? clamp(question->before) : INT64_MAX;
    sqlite3_bind_int64(stmt, 1, back ? before : clamp(question->after));
    sqlite3_bind_int64(stmt, 2, (int64_t)question->limit);
    if (question->task)
        sqlite3_bind_int64(stmt, 3, clamp(question->task));
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        read_event(asked, stmt, &rows[asked->answer.count++]);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static const struct key_row *read_key(struct asked *asked, sqlite3_stmt *stmt) {
    struct key_row row = { .key = text(stmt, 0),
                           .at = sqlite3_column_int64(stmt, 1),
                           .status = sqlite3_column_int(stmt, 2),
                           .answer = text(stmt, 3) };
    return row_copy(ROW_KEY, &row, &asked->arena);
}

static int ask_key(struct asked *asked, sqlite3_stmt *stmt) {
    const char *key = asked->question->key ? asked->question->key : "";
    sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_DONE)
        return SQLITE_OK;
    if (rc != SQLITE_ROW)
        return rc;
    asked->answer.key = read_key(asked, stmt);
    asked->answer.count = 1;
    return SQLITE_OK;
}

static int ask_keys(struct asked *asked, sqlite3_stmt *stmt) {
    struct key_row *rows = room(asked, sizeof(*rows));
    asked->answer.key = rows;
    const char *behind = asked->question->key ? asked->question->key : ""; /* no key is empty */
    sqlite3_bind_text(stmt, 1, behind, -1, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 2, (int64_t)asked->question->limit);
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        rows[asked->answer.count++] = *read_key(asked, stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int ask_external(struct asked *asked, sqlite3_stmt *stmt) {
    const struct store_question *question = asked->question;
    const char *project = question->project ? question->project : "";
    sym number = symbol_find(&asked->store->names.table, project, strlen(project));
    if (number == 0 || !question->key)
        return SQLITE_OK;
    sqlite3_bind_int64(stmt, 1, number);
    sqlite3_bind_text(stmt, 2, question->key, -1, SQLITE_STATIC);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_DONE)
        return SQLITE_OK;
    if (rc != SQLITE_ROW)
        return rc;
    struct spec_row *row = room(asked, sizeof(*row));
    read_spec(asked, stmt, row);
    asked->answer.specs = row;
    asked->answer.count = 1;
    return SQLITE_OK;
}

static int ask_expired(struct asked *asked, sqlite3_stmt *stmt) {
    task_id *numbers = room(asked, sizeof(*numbers));
    asked->answer.tasks = numbers;
    sqlite3_bind_int64(stmt, 1, asked->question->before_time);
    sqlite3_bind_int64(stmt, 2, (int64_t)asked->question->limit);
    sqlite3_bind_int64(stmt, 3, clamp(asked->question->after));
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
        numbers[asked->answer.count++] = (task_id)sqlite3_column_int64(stmt, 0);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static const struct {
    enum statement statement;
    enum statement of_task; /* when the question names a task, or is by agent */
    int (*ask)(struct asked *asked, sqlite3_stmt *stmt);
} questions[] = {
    [ASK_SPECS] = { STATEMENT_GET_SPEC, STATEMENT_GET_SPEC, ask_specs },
    [ASK_CHANGED] = { STATEMENT_GET_CHANGED, STATEMENT_GET_CHANGED, ask_changed },
    [ASK_RUNS] = { STATEMENT_GET_ALL_RUNS, STATEMENT_GET_RUNS, ask_runs },
    [ASK_EVENTS] = { STATEMENT_GET_EVENTS, STATEMENT_GET_TASK_EVENTS, ask_events },
    [ASK_EVENTS_BACK] = { STATEMENT_GET_EVENTS_BACK, STATEMENT_GET_TASK_EVENTS_BACK, ask_events },
    [ASK_KEY] = { STATEMENT_GET_KEY, STATEMENT_GET_KEY, ask_key },
    [ASK_KEYS] = { STATEMENT_GET_KEYS, STATEMENT_GET_KEYS, ask_keys },
    [ASK_EXTERNAL] = { STATEMENT_GET_EXTERNAL, STATEMENT_GET_EXTERNAL, ask_external },
    [ASK_EXPIRED] = { STATEMENT_GET_EXPIRED, STATEMENT_GET_EXPIRED, ask_expired },
    [ASK_TITLES] = { STATEMENT_GET_TITLE, STATEMENT_GET_TITLE, ask_titles },
    [ASK_ENDED] = { STATEMENT_GET_ENDED, STATEMENT_GET_ENDED, ask_ended },
    [ASK_SPENT] = { STATEMENT_GET_SPENT_BY_PROJECT, STATEMENT_GET_SPENT_BY_AGENT, ask_spent },
};
_Static_assert(ARRAY_SIZE(questions) == STORE_QUESTION_MAX, "a question has no function");

static enum statement statement_of(const struct store_question *question) {
    if (question->apart)
        return STATEMENT_GET_SPENT_APART;
    return question->task || question->by_agent ? questions[question->kind].of_task
                                                : questions[question->kind].statement;
}

void sqlite_ask(struct store *base, const struct store_question *question, store_answered done,
                void *ctx) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    if (sqlite_thread_is_busy(store)) {
        sqlite_thread_keep(store, question, done, ctx);
        return;
    }
    struct asked asked = { .store = store, .question = question };
    struct error err = { 0 };
    sqlite3_stmt *stmt = sqlite_statement(store, statement_of(question));
    int rc =
        stmt ? questions[question->kind].ask(&asked, stmt) : sqlite3_extended_errcode(store->db);
    if (rc != SQLITE_OK)
        sqlite_fault(store, "read", rc, &err); /* before the reset, which has its own result */
    if (stmt) {
        sqlite3_reset(stmt);
        sqlite3_clear_bindings(stmt);
    }
    if (rc == SQLITE_OK && asked.damaged)
        sqlite_damaged(store, "a row holds a number that names nothing", &err);
    if (err.code)
        asked.answer = (struct store_answer){ 0 };
    done(ctx, &asked.answer, err.code ? &err : NULL);
    arena_finish(&asked.arena);
}
