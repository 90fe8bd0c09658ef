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

#include "store/columns.h"
#include "store/sqlite_internal.h"

/* Values in the order of the statement's parameters. Texts are the batch's: they live until the
 * step that follows. */
struct binder {
    sqlite3_stmt *stmt; /* NULL: it could not be prepared */
    int next;
    int rc;
};

static struct binder bind(struct sqlite_store *store, enum statement statement) {
    struct binder b = { .stmt = sqlite_statement(store, statement), .next = 1 };
    if (!b.stmt)
        b.rc = sqlite3_extended_errcode(store->db);
    return b;
}

static void put_int(struct binder *b, int64_t value) {
    if (b->rc == SQLITE_OK)
        b->rc = sqlite3_bind_int64(b->stmt, b->next++, value);
}

static void put_text_size(struct binder *b, const char *text, size_t size) {
    if (b->rc != SQLITE_OK)
        return;
    b->rc = text ? sqlite3_bind_text64(b->stmt, b->next++, text, size, SQLITE_STATIC, SQLITE_UTF8)
                 : sqlite3_bind_null(b->stmt, b->next++);
}

static void put_text(struct binder *b, const char *text) {
    put_text_size(b, text, text ? strlen(text) : 0);
}

static void put_null(struct binder *b) {
    put_text_size(b, NULL, 0);
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
    put_text(&b, key);
    put_int(&b, value);
    return finish(&b);
}

/* --- one function per kind of write ------------------------------------------------------------
 * Each gives SQLITE_OK or what went wrong; a rule of ours that was broken is a constraint, with
 * its sentence in `err`. */

static int put_task(struct sqlite_store *store, enum statement statement,
                    const struct task_row *row, bool depends_changed) {
    const struct task_spec *told = &row->told;
    struct binder b = bind(store, statement);
    put_int(&b, (int64_t)row->id);
    put_int(&b, sqlite_name(store, row->project));
    put_int(&b, told->created_at);
    put_int(&b, sqlite_name(store, row->kind));
    put_int(&b, sqlite_name(store, row->agent));
    put_int(&b, sqlite_name(store, row->limiter));
    put_text(&b, row->workspace);
    put_text(&b, row->serial);
    put_text(&b, row->resources);
    put_int(&b, sqlite_word(store, WORDS_STATE, told->state));
    put_int(&b, sqlite_word(store, WORDS_REASON, row->reason));
    put_int(&b, row->changed_at);
    if (task_state_is_final(told->state))
        put_int(&b, row->changed_at);
    else
        put_null(&b);
    put_int(&b, told->priority);
    put_int(&b, (int64_t)told->parent);
    put_int(&b, told->parent_iteration);
    put_int(&b, told->ready_since);
    put_int(&b, told->ready_clock);
    put_int(&b, sqlite_word(store, WORDS_UNTIL, told->until));
    put_int(&b, sqlite_word(store, WORDS_PARENT_GATE, told->parent_gate));
    put_int(&b, columns_flags(told));
    put_int(&b, told->retry_max);
    put_int(&b, told->group);
    if (statement == STATEMENT_CHANGE_TASK) {
        put_int(&b, depends_changed);
        put_int(&b, sqlite_word(store, WORDS_HOLD, told->hold));
        put_int(&b, told->not_before);
        put_int(&b, told->iteration);
        put_int(&b, told->attempt);
    }
    return finish(&b);
}

static int put_progress(struct sqlite_store *store, const struct task_row *row) {
    const struct task_spec *told = &row->told;
    struct binder b = bind(store, STATEMENT_PUT_PROGRESS);
    put_int(&b, (int64_t)row->id);
    put_int(&b, told->iteration);
    put_int(&b, told->attempt);
    put_int(&b, sqlite_word(store, WORDS_HOLD, told->hold));
    put_int(&b, told->not_before);
    put_int(&b, sqlite_word(store, WORDS_PHASE, told->phase));
    put_int(&b, told->started_at);
    put_int(&b, sqlite_word(store, WORDS_STOP, told->stop));
    put_int(&b, sqlite_name(store, row->run_agent));
    put_int(&b, sqlite_name(store, row->run_limiter));
    put_int(&b, told->failures);
    put_int(&b, told->launch_failures);
    put_int(&b, told->losses);
    put_int(&b, told->restarts);
    put_int(&b, told->breaker_openings);
    put_int(&b, (int64_t)told->lender);
    put_int(&b, told->borrowed);
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

static int add_task(struct sqlite_store *store, const struct store_write *write,
                    struct error *err) {
    const struct task_row *row = write->task;
    int rc = put_task(store, STATEMENT_ADD_TASK, row, true);
    if (rc == SQLITE_OK && columns_have_progress(row))
        rc = put_progress(store, row);
    if (rc == SQLITE_OK)
        rc = add_needs(store, row);
    if ((rc & 0xff) == SQLITE_CONSTRAINT)
        error_set(err, -EEXIST, "task %" PRIu64 " is there already", row->id);
    if (rc == SQLITE_OK && row->id > store->last_task)
        store->last_task = row->id;
    return rc;
}

static int change_task(struct sqlite_store *store, const struct store_write *write,
                       struct error *err) {
    const struct task_row *row = write->task;
    int rc = put_task(store, STATEMENT_CHANGE_TASK, row, write->flag);
    if (rc == SQLITE_OK && sqlite3_changes(store->db) == 0) {
        error_set(err, -ENOENT, "task %" PRIu64 " is not there to be changed", row->id);
        return SQLITE_CONSTRAINT;
    }
    if (rc == SQLITE_OK)
        rc = columns_have_progress(row)
                 ? put_progress(store, row)
                 : run_with(store, STATEMENT_DELETE_PROGRESS, (int64_t)row->id);
    if (rc == SQLITE_OK && write->flag)
        rc = run_with(store, STATEMENT_DELETE_NEEDS, (int64_t)row->id);
    if (rc == SQLITE_OK && write->flag)
        rc = add_needs(store, row);
    return rc;
}

/* A task that came and went in one batch has none: the statement finds no task, and adds nothing. */
static int add_spec(struct sqlite_store *store, const struct store_write *write,
                    struct error *err) {
    const struct spec_row *row = write->spec;
    struct binder b = bind(store, STATEMENT_ADD_SPEC);
    put_int(&b, (int64_t)row->id);
    put_text(&b, row->external_id);
    put_text(&b, row->title);
    put_text_size(&b, row->json, row->json_size);
    int rc = finish(&b);
    if (rc == SQLITE_CONSTRAINT_UNIQUE)
        error_set(err, -EEXIST, "external id '%s' is taken in the project of task %" PRIu64,
                  row->external_id, row->id);
    else if ((rc & 0xff) == SQLITE_CONSTRAINT)
        error_set(err, -EEXIST, "task %" PRIu64 " has a spec already", row->id);
    return rc;
}

static int put_context(struct sqlite_store *store, const struct store_write *write,
                       struct error *err) {
    (void)err;
    struct binder b = bind(store, STATEMENT_PUT_CONTEXT);
    put_int(&b, (int64_t)write->spec->id);
    put_text(&b, write->spec->context);
    return finish(&b);
}

static int delete_task(struct sqlite_store *store, const struct store_write *write,
                       struct error *err) {
    (void)err;
    static const enum statement statements[] = {
        STATEMENT_DELETE_TASK,  STATEMENT_DELETE_PROGRESS, STATEMENT_DELETE_SPEC,
        STATEMENT_DELETE_NEEDS, STATEMENT_DELETE_RUNS,     STATEMENT_UNLINK_EVENTS,
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < ARRAY_SIZE(statements); i++)
        rc = run_with(store, statements[i], (int64_t)write->number);
    /* The highest number must not be given twice. */
    return rc == SQLITE_OK ? sqlite_put_meta(store, "last_task", (int64_t)store->last_task) : rc;
}

static int take_numbers(struct sqlite_store *store, const struct store_write *write,
                        struct error *err) {
    (void)err;
    if (write->number <= store->last_task)
        return SQLITE_OK;
    store->last_task = write->number;
    return sqlite_put_meta(store, "last_task", (int64_t)store->last_task);
}

static int put_run(struct sqlite_store *store, const struct store_write *write, struct error *err) {
    (void)err;
    const struct run_row *row = write->run;
    struct binder b = bind(store, STATEMENT_PUT_RUN);
    put_int(&b, (int64_t)row->task);
    put_int(&b, row->attempt);
    put_int(&b, row->iteration);
    put_int(&b, sqlite_name(store, row->agent));
    put_int(&b, sqlite_name(store, row->executor));
    put_int(&b, sqlite_name(store, row->host));
    put_int(&b, sqlite_name(store, row->boot_id));
    put_text(&b, row->folder);
    put_int(&b, sqlite_word(store, WORDS_PHASE, row->phase));
    put_int(&b, row->ended);
    put_int(&b, row->ordered_at);
    put_int(&b, row->started_at);
    put_int(&b, row->ended_at);
    put_int(&b, sqlite_word(store, WORDS_OUTCOME, row->outcome));
    put_int(&b, sqlite_name(store, row->how));
    put_int(&b, row->exit_code);
    put_int(&b, row->exit_signal);
    put_int(&b, row->tokens_in);
    put_int(&b, row->tokens_out);
    put_int(&b, row->cost_micro_usd);
    put_text(&b, row->applied);
    put_text(&b, row->message);
    put_int(&b, row->limited_until);
    put_int(&b, row->stop_now);
    put_text(&b, row->token_hash);
    put_int(&b, row->tokens_cached);
    put_text(&b, row->session);
    put_int(&b, row->resumed);
    put_int(&b, sqlite_name(store, row->model));
    put_int(&b, sqlite_name(store, row->said));
    put_text(&b, row->shim_key);
    put_int(&b, row->shim_pid);
    put_int(&b, row->shim_start);
    put_int(&b, row->shim_space);
    put_text(&b, row->cgroup);
    return finish(&b);
}

static int add_event(struct sqlite_store *store, const struct store_write *write,
                     struct error *err) {
    const struct event_row *row = write->event;
    struct binder b = bind(store, STATEMENT_ADD_EVENT);
    put_int(&b, (int64_t)row->seq);
    put_int(&b, row->at);
    put_int(&b, sqlite_name(store, row->kind));
    if (row->task)
        put_int(&b, (int64_t)row->task);
    else
        put_null(&b);
    put_int(&b, row->attempt);
    put_text(&b, row->data);
    int rc = finish(&b);
    if ((rc & 0xff) == SQLITE_CONSTRAINT)
        error_set(err, -EEXIST, "event %" PRIu64 " is there already", row->seq);
    if (rc == SQLITE_OK && row->seq > store->last_event)
        store->last_event = row->seq;
    return rc;
}

static int prune_events(struct sqlite_store *store, const struct store_write *write,
                        struct error *err) {
    (void)err;
    int rc = run_with(store, STATEMENT_PRUNE_EVENTS, (int64_t)write->number);
    return rc == SQLITE_OK ? sqlite_put_meta(store, "last_event", (int64_t)store->last_event) : rc;
}

static int put_project(struct sqlite_store *store, const struct store_write *write,
                       struct error *err) {
    (void)err;
    struct binder b = bind(store, STATEMENT_PUT_PROJECT);
    put_text(&b, write->project->name);
    put_text(&b, write->project->prefix);
    put_int(&b, write->project->paused);
    put_int(&b, write->project->created_at);
    put_int(&b, sqlite_name(store, write->project->paused_by));
    put_int(&b, write->project->paused_at);
    return finish(&b);
}

static int put_group(struct sqlite_store *store, const struct store_write *write,
                     struct error *err) {
    (void)err;
    struct binder b = bind(store, STATEMENT_PUT_GROUP);
    put_int(&b, write->group->id);
    put_text(&b, write->group->name);
    put_int(&b, write->group->owned);
    put_int(&b, write->group->closed);
    put_int(&b, write->group->created_at);
    put_int(&b, write->group->closed_at);
    return finish(&b);
}

static int delete_group(struct sqlite_store *store, const struct store_write *write,
                        struct error *err) {
    (void)err;
    return run_with(store, STATEMENT_DELETE_GROUP, (int64_t)write->number);
}

static int put_limiter(struct sqlite_store *store, const struct store_write *write,
                       struct error *err) {
    (void)err;
    const struct limiter_spec *told = &write->limiter->told;
    struct binder b = bind(store, STATEMENT_PUT_LIMITER);
    put_int(&b, sqlite_name(store, write->limiter->name));
    put_int(&b, told->backoff_until);
    put_int(&b, told->hits);
    put_int(&b, told->closed);
    put_int(&b, told->backoff_since);
    put_int(&b, told->last_hit);
    put_int(&b, told->in_backoff);
    put_int(&b, told->ramp_since);
    put_int(&b, told->last_success);
    return finish(&b);
}

static int put_agent(struct sqlite_store *store, const struct store_write *write,
                     struct error *err) {
    (void)err;
    const struct agent_spec *told = &write->agent->told;
    struct binder b = bind(store, STATEMENT_PUT_AGENT);
    put_int(&b, sqlite_name(store, write->agent->name));
    put_int(&b, told->idle);
    put_int(&b, told->launch_failures);
    put_int(&b, told->openings);
    put_int(&b, told->closed_until);
    return finish(&b);
}

static int add_usage(struct sqlite_store *store, const struct store_write *write,
                     struct error *err) {
    (void)err;
    struct binder b = bind(store, STATEMENT_ADD_USAGE);
    put_int(&b, sqlite_name(store, write->usage->project));
    put_int(&b, write->usage->bucket);
    put_int(&b, write->usage->tokens);
    put_int(&b, write->usage->unreported);
    put_int(&b, write->usage->reports);
    put_int(&b, write->usage->starts);
    put_int(&b, write->usage->completions);
    put_int(&b, write->usage->money);
    put_int(&b, write->usage->priced);
    put_int(&b, write->usage->unpriced);
    return finish(&b);
}

static int put_wait(struct sqlite_store *store, const struct store_write *write,
                    struct error *err) {
    (void)err;
    struct binder b = bind(store, STATEMENT_PUT_WAIT);
    put_int(&b, sqlite_name(store, write->wait->project));
    put_int(&b, sqlite_name(store, write->wait->limiter));
    put_int(&b, sqlite_name(store, write->wait->agent));
    put_int(&b, write->wait->lost);
    put_int(&b, write->wait->closed_since);
    return finish(&b);
}

static int prune_usage(struct sqlite_store *store, const struct store_write *write,
                       struct error *err) {
    (void)err;
    return run_with(store, STATEMENT_PRUNE_USAGE, write->time);
}

static int add_key(struct sqlite_store *store, const struct store_write *write, struct error *err) {
    const struct key_row *row = write->key;
    struct binder b = bind(store, STATEMENT_ADD_KEY);
    put_text(&b, row->key);
    put_int(&b, row->at);
    put_int(&b, row->status);
    put_text(&b, row->answer);
    int rc = finish(&b);
    if ((rc & 0xff) == SQLITE_CONSTRAINT)
        error_set(err, -EEXIST, "key '%s' was used already", row->key);
    return rc;
}

static int prune_keys(struct sqlite_store *store, const struct store_write *write,
                      struct error *err) {
    (void)err;
    return run_with(store, STATEMENT_PRUNE_KEYS, write->time);
}

static int put_pause(struct sqlite_store *store, const struct store_write *write,
                     struct error *err) {
    (void)err;
    const struct pause_row *row = write->pause;
    int rc = sqlite_put_meta(store, "paused", row->paused);
    if (rc == SQLITE_OK)
        rc = sqlite_put_meta(store, "paused_by", sqlite_name(store, row->by));
    return rc == SQLITE_OK ? sqlite_put_meta(store, "paused_at", row->at) : rc;
}

static int put_note(struct sqlite_store *store, const struct store_write *write,
                    struct error *err) {
    (void)err;
    const struct note_row *row = write->note;
    struct binder b = bind(store, row->text ? STATEMENT_PUT_NOTE : STATEMENT_DELETE_NOTE);
    put_text(&b, row->name);
    if (row->text)
        put_text(&b, row->text);
    return finish(&b);
}

static int put_spent(struct sqlite_store *store, const struct spent_row *row, bool days) {
    if (row->span == (days ? SPENT_HOUR : SPENT_DAY))
        return SQLITE_OK;
    struct binder b = bind(store, STATEMENT_ADD_SPENT);
    put_int(&b, days);
    put_int(&b, store_span_of(row->at, days));
    put_int(&b, sqlite_name(store, row->project));
    put_int(&b, sqlite_name(store, row->agent));
    put_int(&b, row->runs);
    put_int(&b, row->ok);
    put_int(&b, row->busy_ms);
    put_int(&b, row->tokens_in);
    put_int(&b, row->tokens_out);
    put_int(&b, row->tokens_cached);
    put_int(&b, row->cost_micro_usd);
    put_int(&b, row->unknown_tokens);
    put_int(&b, row->unknown_cost);
    return finish(&b);
}

static int add_spent(struct sqlite_store *store, const struct store_write *write,
                     struct error *err) {
    (void)err;
    int rc = put_spent(store, write->spent, false);
    return rc == SQLITE_OK ? put_spent(store, write->spent, true) : rc;
}

static int prune_spent(struct sqlite_store *store, const struct store_write *write,
                       struct error *err) {
    (void)err;
    struct binder b = bind(store, STATEMENT_PRUNE_SPENT);
    put_int(&b, write->flag);
    put_int(&b, write->time);
    return finish(&b);
}

typedef int (*write_function)(struct sqlite_store *store, const struct store_write *write,
                              struct error *err);

static const write_function functions[] = {
    [WRITE_ADD_TASK] = add_task,         [WRITE_CHANGE_TASK] = change_task,
    [WRITE_DELETE_TASK] = delete_task,   [WRITE_ADD_SPEC] = add_spec,
    [WRITE_PUT_RUN] = put_run,           [WRITE_ADD_EVENT] = add_event,
    [WRITE_PRUNE_EVENTS] = prune_events, [WRITE_PUT_PROJECT] = put_project,
    [WRITE_DELETE_GROUP] = delete_group, [WRITE_PUT_GROUP] = put_group,
    [WRITE_PUT_LIMITER] = put_limiter,   [WRITE_PUT_AGENT] = put_agent,
    [WRITE_ADD_USAGE] = add_usage,       [WRITE_PRUNE_USAGE] = prune_usage,
    [WRITE_PUT_WAIT] = put_wait,         [WRITE_ADD_KEY] = add_key,
    [WRITE_PRUNE_KEYS] = prune_keys,     [WRITE_PUT_PAUSE] = put_pause,
    [WRITE_TAKE_NUMBERS] = take_numbers, [WRITE_PUT_NOTE] = put_note,
    [WRITE_PUT_CONTEXT] = put_context,   [WRITE_ADD_SPENT] = add_spent,
    [WRITE_PRUNE_SPENT] = prune_spent,
};
_Static_assert(ARRAY_SIZE(functions) == WRITE_KIND_MAX, "a write has no function");

/* --- the transaction --------------------------------------------------------------------------- */

static int write_all(struct sqlite_store *store, const struct store_batch *batch,
                     struct error *err) {
    int rc = sqlite_run(store, STATEMENT_BEGIN);
    for (unsigned round = 0; round < STORE_ROUNDS; round++)
        for (size_t i = 0; rc == SQLITE_OK && i < batch->count; i++)
            if (store_write_round(&batch->writes[i]) == round)
                rc = functions[batch->writes[i].kind](store, &batch->writes[i], err);
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
        sqlite_names_settle(store);
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
