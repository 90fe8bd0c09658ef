/* postgres_write.c: writes a batch as if its writes happened one after the other.
 *
 * Rows of one kind are collected into one statement. Kinds are sent in a fixed order (add, change,
 * run, event, delete), so a row may only be collected if nothing before it in the batch that its
 * kind would overtake concerns the same task: touched tasks are noted. Otherwise the collected rows
 * are sent first. Tables that are not collected are written immediately: each is touched only by
 * its own kinds of writes.
 *
 * One by one, every write is sent before the next: slower, but the first invalid write fails.
 *
 * Everything goes in one round trip: BEGIN, the epoch, the rows, COMMIT. For a large batch, the
 * server has the first rows while the last are prepared (pg_commit_ahead). There are three
 * outcomes:
 *
 * OK       the server confirmed COMMIT.
 * FAILED   a statement was refused, and the server confirmed ROLLBACK. If a rule was broken, the
 *          batch is sent again, one write at a time: combined rows do not show which of them was
 *          first, and the reason must not depend on how they were sent. Transient errors (a
 *          deadlock with external maintenance) are retried unchanged.
 * UNKNOWN  the connection is lost or silent: the COMMIT may have arrived. Also if another daemon
 *          has raised the epoch: nothing was written, but this store is no longer ours. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "store/postgres_internal.h"

#define LARGE ((size_t)8 << 20)
#define TRIES 5u

/* --- touched tasks --------------------------------------------------------------------------- */

enum { ADDED = 1, CHANGED = 2, DELETED = 4, HERE = 8 };
#define DELETED_TASK UINT_MAX /* in `fresh`; else the number of a project */

static struct pg_touch *slot_of(const struct pg_touched *touched, uint64_t key) {
    size_t at = hash_u64(key) & (touched->capacity - 1);
    while (touched->slots[at].bits && touched->slots[at].key != key)
        at = (at + 1) & (touched->capacity - 1);
    return &touched->slots[at];
}

static void grow(struct pg_touched *touched) {
    struct pg_touched old = *touched;
    touched->capacity = old.capacity ? old.capacity * 2 : 256;
    touched->slots = xcalloc(touched->capacity, sizeof(*touched->slots));
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].bits)
            *slot_of(touched, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

static void forget_touched(struct pg_touched *touched) {
    if (touched->count > 0)
        memset(touched->slots, 0, touched->capacity * sizeof(*touched->slots));
    touched->count = 0;
}

/* The bits noted for this key, to be changed; 0: none yet. */
static unsigned *note(struct pg_touched *touched, uint64_t key) {
    if (touched->count * 2 >= touched->capacity)
        grow(touched);
    struct pg_touch *slot = slot_of(touched, key);
    touched->count += slot->bits == 0; /* an upper bound: it may stay 0 */
    slot->key = key;
    return &slot->bits;
}

/* Is one of `against` noted for this key? If not, notes `bits`. */
static bool collides(struct pg_touched *touched, uint64_t key, unsigned against, unsigned bits) {
    unsigned *noted = note(touched, key);
    if (*noted & against)
        return true;
    *noted |= bits | HERE;
    return false;
}

/* --- sending --------------------------------------------------------------------------------- */

static struct pg_bulk *bulk_of(struct pg_store *store, enum statement statement) {
    struct pg_bulk *bulk = &store->bulks[statement];
    if (bulk->statement != statement || bulk->count == 0)
        pg_bulk_init(bulk, statement);
    return bulk;
}

/* Sends the statement, and records which write it belongs to. */
static void send(struct pg_store *store, enum statement statement) {
    struct pg_commit *commit = &store->commit;
    commit->sent =
        xgrow(commit->sent, &commit->sent_capacity, commit->sent_count + 1, sizeof(*commit->sent));
    commit->sent[commit->sent_count++] = (struct pg_sent){ statement, commit->write };
    pg_bulk_send(bulk_of(store, statement), &store->writer);
}

/* Sends everything collected, in the order of the kinds. */
static void flush(struct pg_store *store) {
    for (enum statement statement = STATEMENT_WRITE_TASK; statement <= STATEMENT_EDIT_SPEC;
         statement++)
        if (store->bulks[statement].rows > 0)
            send(store, statement);
    forget_touched(&store->touched);
}

/* A PostgreSQL message is limited to 1 GB. Large kinds never overtake related writes. */
static void send_large(struct pg_store *store) {
    static const enum statement kinds[] = { STATEMENT_WRITE_RUN,       STATEMENT_WRITE_EVENT,
                                            STATEMENT_WRITE_KEY,       STATEMENT_WRITE_SPEC,
                                            STATEMENT_WRITE_LATE_SPEC, STATEMENT_PUT_CONTEXT,
                                            STATEMENT_EDIT_SPEC };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (store->bulks[kinds[i]].size >= LARGE)
            send(store, kinds[i]);
}

/* Prepares for a write about this task, which may not overtake any of `against`. */
static void make_room(struct pg_store *store, uint64_t key, unsigned against, unsigned bits) {
    if (!collides(&store->touched, key, against, bits))
        return;
    flush(store);
    (void)collides(&store->touched, key, 0, bits);
}

/* --- one function per kind of write ---------------------------------------------------------- */

static struct pg_bulk *put_row(struct pg_store *store, enum statement statement, enum row_kind kind,
                               const void *row) {
    struct pg_bulk *b = bulk_of(store, statement);
    pg_put_row(b, &row_types[kind], row, &store->names);
    return b;
}

static void add_task(struct pg_store *store, const struct task_row *row) {
    bool wide = task_has_progress(row);
    make_room(store, row->id, CHANGED | DELETED, ADDED);
    *note(&store->fresh, row->id) = names_number(&store->names, row->project);
    struct pg_bulk *b =
        put_row(store, wide ? STATEMENT_WRITE_WIDE_TASK : STATEMENT_WRITE_TASK, ROW_TASK, row);
    if (wide)
        pg_put_row(b, &row_types[ROW_PROGRESS], row, &store->names);
    pg_put_numbers(b, row->depends_on, row->depends_on_count);
}

static void change_task(struct pg_store *store, const struct store_write *write) {
    const struct task_row *row = write->task;
    make_room(store, row->id, CHANGED | DELETED, CHANGED);
    struct pg_bulk *b = put_row(store, STATEMENT_CHANGE_TASK, ROW_TASK, row);
    pg_put_row(b, &row_types[ROW_PROGRESS], row, &store->names);
    pg_put_numbers(b, row->depends_on, row->depends_on_count);
    pg_put_int(b, write->flags & STORE_CHANGE_NEEDS);
    pg_put_int(b, write->flags & STORE_CHANGE_SEEN);
}

/* The server need not look up a task of this batch. */
static void add_spec(struct pg_store *store, const struct spec_row *row) {
    unsigned project = *note(&store->fresh, row->id);
    if (project == DELETED_TASK)
        return;
    struct pg_bulk *b =
        put_row(store, project ? STATEMENT_WRITE_SPEC : STATEMENT_WRITE_LATE_SPEC, ROW_SPEC, row);
    if (project)
        pg_put_int(b, project);
}

static void put_context(struct pg_store *store, const struct store_write *write) {
    const struct spec_row *row = write->spec;
    make_room(store, row->id, CHANGED, CHANGED); /* the last one wins */
    struct pg_bulk *b = bulk_of(store, STATEMENT_PUT_CONTEXT);
    pg_put_int(b, (int64_t)row->id);
    pg_put_text(b, row->context);
}

static void edit_spec(struct pg_store *store, const struct store_write *write) {
    const struct spec_row *row = write->spec;
    make_room(store, row->id, CHANGED, CHANGED);
    struct pg_bulk *b = bulk_of(store, STATEMENT_EDIT_SPEC);
    pg_put_int(b, (int64_t)row->id);
    pg_put_text(b, row->title);
    pg_put_text(b, row->json);
}

static void write_row(struct pg_store *store, const struct store_write *write) {
    enum statement statement = sql_write_of(write->of);
    if (write->of == ROW_TASK) {
        add_task(store, write->task);
        return;
    }
    if (write->of == ROW_SPEC) {
        add_spec(store, write->spec);
        return;
    }
    if (write->of == ROW_RUN) {
        make_room(store, write->run->task, DELETED, HERE);
        /* A hash collision of two runs costs only an extra statement. */
        make_room(store, hash_mix(write->run->task, write->run->attempt) | (uint64_t)1 << 63,
                  CHANGED, CHANGED);
    }
    if (write->of == ROW_EVENT && write->event->task)
        make_room(store, write->event->task, DELETED, HERE);
    put_row(store, statement, write->of, write->row);
    if (!statement_texts[statement].bulk)
        send(store, statement);
}

static void delete_row(struct pg_store *store, const struct store_write *write) {
    if (write->of == ROW_TASK) {
        make_room(store, write->number, 0, DELETED);
        *note(&store->fresh, write->number) = DELETED_TASK;
        pg_put_int(bulk_of(store, STATEMENT_DELETE_TASK), (int64_t)write->number);
    } else if (write->of == ROW_GROUP) {
        pg_put_int(bulk_of(store, STATEMENT_DELETE_GROUP), (int64_t)write->number);
        send(store, STATEMENT_DELETE_GROUP);
    } else {
        pg_put_text(bulk_of(store, STATEMENT_DELETE_NOTE), write->note->name);
        send(store, STATEMENT_DELETE_NOTE);
    }
}

/* Rows to prune must be written first. */
static void prune(struct pg_store *store, const struct store_write *write) {
    enum statement statement = sql_prune_of(write->of);
    flush(store);
    pg_put_int(bulk_of(store, statement), write->time); /* or the number of an event */
    if (write->of == ROW_SPENT)
        pg_put_int(bulk_of(store, statement), write->flags);
    send(store, statement);
}

/* --- the batch ------------------------------------------------------------------------------- */

static void send_names(struct pg_store *store) {
    struct names *names = &store->names;
    for (sym number = names->stored + 1; number <= names->table.count; number++) {
        pg_put_int(bulk_of(store, STATEMENT_ADD_NAME), number);
        pg_put_text(bulk_of(store, STATEMENT_ADD_NAME), symbol_name(&names->table, number));
    }
    if (names->stored < names->table.count)
        send(store, STATEMENT_ADD_NAME);
}

/* The epoch comes first. The batch's counters are known only when it is complete. */
static void begin(struct pg_store *store) {
    if (store->commit.begun)
        return;
    store->commit.begun = true;
    forget_touched(&store->fresh);
    send(store, STATEMENT_BEGIN);
    pg_put_int(bulk_of(store, STATEMENT_EPOCH), store->epoch);
    pg_put_int(bulk_of(store, STATEMENT_EPOCH), (int64_t)store->base.next.task);
    pg_put_int(bulk_of(store, STATEMENT_EPOCH), (int64_t)store->base.next.event);
    send(store, STATEMENT_EPOCH);
}

static void write_round(struct pg_store *store, const struct store_batch *batch, unsigned round,
                        bool one_by_one) {
    static void (*const writers[])(struct pg_store * store, const struct store_write *write) = {
        [WRITE_ROW] = write_row, [WRITE_CHANGE] = change_task,  [WRITE_DELETE] = delete_row,
        [WRITE_PRUNE] = prune,   [WRITE_CONTEXT] = put_context, [WRITE_EDIT] = edit_spec,
        [WRITE_NUMBERS] = NULL, /* included in STATEMENT_EPOCH */
    };
    for (size_t i = round == 0 ? store->commit.written : 0; i < batch->count; i++) {
        if (store_write_round(&batch->writes[i]) != round || !writers[batch->writes[i].kind])
            continue;
        store->commit.write = one_by_one ? (uint32_t)i : UINT32_MAX;
        writers[batch->writes[i].kind](store, &batch->writes[i]);
        if (one_by_one)
            flush(store);
        else
            send_large(store);
    }
    flush(store);
    store->commit.write = UINT32_MAX;
}

static void write_batch(struct pg_store *store, const struct store_batch *batch, bool one_by_one) {
    bool ahead = store->commit.begun;
    begin(store);
    for (unsigned round = 0; round < STORE_ROUNDS; round++)
        write_round(store, batch, round, one_by_one);
    send_names(store);
    if (ahead) {
        pg_put_int(bulk_of(store, STATEMENT_NUMBERS), (int64_t)store->base.next.task);
        pg_put_int(bulk_of(store, STATEMENT_NUMBERS), (int64_t)store->base.next.event);
        send(store, STATEMENT_NUMBERS);
    }
    send(store, STATEMENT_COMMIT);
}

void pg_write_finish(struct pg_store *store) {
    for (size_t i = 0; i < STATEMENT_WRITES; i++)
        pg_bulk_finish(&store->bulks[i]);
    free(store->touched.slots);
    free(store->fresh.slots);
    free(store->commit.sent);
}

/* --- the outcome ----------------------------------------------------------------------------- */

/* Nothing was sent. */
static void start_over(struct pg_commit *commit) {
    commit->sent_count = commit->answered = commit->written = 0;
    commit->write = UINT32_MAX;
    commit->begun = commit->rolling_back = commit->confirmed = false;
    commit->state[0] = commit->err.text[0] = '\0';
}

static void send_batch(struct pg_store *store) {
    write_batch(store, store->commit.batch, store->commit.one_by_one);
    pg_link_sync(&store->writer);
}

/* Until COMMIT nothing is final: a lost connection discards it. */
void pg_commit_ahead(struct store *base, const struct store_batch *batch) {
    struct pg_store *store = (struct pg_store *)base;
    if (!store->commit.batch)
        start_over(&store->commit);
    store->commit.batch = batch;
    begin(store);
    write_round(store, batch, 0, false);
    store->commit.written = batch->count;
    pg_link_flush(&store->writer);
}

void pg_commit(struct store *base, const struct store_batch *batch) {
    struct pg_store *store = (struct pg_store *)base;
    if (!store->commit.batch)
        start_over(&store->commit);
    store->commit.batch = batch;
    store->commit.one_by_one = false;
    store->commit.retries = 0;
    send_batch(store);
    if (!store->options.loop)
        pg_link_wait(&store->writer);
}

/* The first refused statement counts: the server skips those after it. */
void pg_commit_result(void *ctx, const PGresult *result) {
    struct pg_store *store = ctx;
    struct pg_commit *commit = &store->commit;
    assert(commit->answered < commit->sent_count);
    struct pg_sent sent = commit->sent[commit->answered++];
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_FATAL_ERROR && !commit->state[0]) {
        const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        commit->failed = sent;
        (void)snprintf(commit->state, sizeof(commit->state), "%s", state ? state : "XX000");
        pg_result_error(&store->target, "write", result, &commit->err);
        const char *rule = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
        (void)snprintf(commit->rule, sizeof(commit->rule), "%s", rule ? rule : "");
    }
    if (status == PGRES_COMMAND_OK && sent.statement == STATEMENT_COMMIT)
        commit->confirmed = strcmp(PQcmdStatus((PGresult *)(uintptr_t)result), "COMMIT") == 0;
}

static bool has_state(const struct pg_commit *commit, const char *begin) {
    return strncmp(commit->state, begin, strlen(begin)) == 0;
}

/* Statements divide by zero to report a broken rule. */
static bool is_rule(const struct pg_commit *commit) {
    return has_state(commit, "23") || has_state(commit, "22012") || has_state(commit, "21000");
}

static bool is_passing(const struct pg_commit *commit) {
    return has_state(commit, "40") || has_state(commit, "55P03") || has_state(commit, "57014");
}

static void finish(struct pg_store *store, enum store_outcome outcome, const struct error *err) {
    if (outcome == STORE_OK) {
        store->names.stored = store->names.table.count;
    }
    store->commit.batch = NULL;
    store_finish_commit(&store->base, outcome, err);
}

/* A server that became read-only, or damaged or missing tables: only a restart can help. */
static bool is_spoiled(const struct pg_commit *commit) {
    static const char *const states[] = { "25006", "XX", "42P", "42703", "58" };
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (has_state(commit, states[i]))
            return true;
    return false;
}

/* Retries one by one to find the broken rule, or after a transient error. */
static bool try_again(struct pg_store *store) {
    struct pg_commit *commit = &store->commit;
    if (is_rule(commit) && !commit->one_by_one)
        commit->one_by_one = true;
    else if (!is_passing(commit) || ++commit->retries >= TRIES)
        return false;
    start_over(commit);
    send_batch(store);
    return true;
}

/* Nothing was written: the server confirmed ROLLBACK. */
static void has_failed(struct pg_store *store) {
    struct pg_commit *commit = &store->commit;
    struct error err = { 0 };
    if (commit->failed.statement == STATEMENT_EPOCH && has_state(commit, "22012")) {
        error_set(&err, -ESTALE,
                  "another daemon has taken over the store '%s': this one has nothing to say any "
                  "more",
                  store->target.shown);
        finish(store, STORE_UNKNOWN, &err);
        return;
    }
    if (try_again(store))
        return;
    if (is_rule(commit) && commit->failed.write != UINT32_MAX)
        store_refuse(&commit->batch->writes[commit->failed.write],
                     strcmp(commit->rule, "spec_external") == 0, &err);
    if (err.code == 0)
        error_set(&err, is_rule(commit) ? -EEXIST : commit->err.code, "%s", commit->err.text);
    finish(store, is_spoiled(commit) ? STORE_UNKNOWN : STORE_FAILED, &err);
}

void pg_commit_synced(void *ctx) {
    struct pg_store *store = ctx;
    struct pg_commit *commit = &store->commit;
    PGTransactionStatusType status = PQtransactionStatus(store->writer.pg);
    if (!commit->state[0] && commit->confirmed) {
        finish(store, STORE_OK, NULL);
        return;
    }
    if (!commit->rolling_back && status == PQTRANS_INERROR) {
        commit->rolling_back = true;
        send(store, STATEMENT_ROLLBACK);
        pg_link_sync(&store->writer);
        return;
    }
    if (status == PQTRANS_IDLE && commit->state[0]) {
        has_failed(store);
        return;
    }
    struct error err = { 0 };
    error_set(&err, -EIO, "PostgreSQL at '%s' does not say what became of a commit (%s)",
              store->target.shown, commit->err.text);
    finish(store, STORE_UNKNOWN, &err);
}
