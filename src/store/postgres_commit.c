/* postgres_commit.c: what became of a batch?
 *
 * Everything goes in one round trip: BEGIN, the epoch, the rows, COMMIT. Of a large batch the server has the
 * first rows while the last are made (pg_commit_ahead). Then there are three ends.
 *
 * OK       the server answered COMMIT.
 * FAILED   a statement was refused, and the server answered ROLLBACK. When a rule was broken the batch is
 *          sent once more, one write after the other: rows that went together do not tell which of them was
 *          first, and the reason must not depend on how they were sent. What is only in the way (a deadlock
 *          with somebody else's maintenance) is tried again as it was.
 * UNKNOWN  the connection is lost or silent: the COMMIT may have arrived. Also when another daemon has
 *          raised the epoch: then nothing of ours is there, but this store is not ours any more.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/postgres_internal.h"

#define TRIES 5u

void pg_commit_note(struct pg_commit *commit, enum statement statement, uint32_t write) {
    commit->sent =
        xgrow(commit->sent, &commit->sent_capacity, commit->sent_count + 1, sizeof(*commit->sent));
    commit->sent[commit->sent_count++] = (struct pg_sent){ statement, write };
}

void pg_commit_finish(struct pg_commit *commit) {
    free(commit->sent);
    *commit = (struct pg_commit){ 0 };
}

/* Nothing of it was sent. */
static void start_over(struct pg_commit *commit) {
    commit->sent_count = commit->answered = commit->written = 0;
    commit->begun = commit->rolling_back = commit->over = false;
    commit->state[0] = commit->text[0] = '\0';
}

static void send_batch(struct pg_store *store) {
    pg_write_batch(store, store->commit.batch, store->commit.one_by_one);
    pg_link_sync(&store->writer);
}

/* Until the COMMIT comes the server may do what it likes with it: a connection that is lost takes it along. */
void pg_commit_ahead(struct store *base, const struct store_batch *batch) {
    struct pg_store *store = (struct pg_store *)base;
    if (!store->commit.batch)
        start_over(&store->commit);
    store->commit.batch = batch;
    pg_write_ahead(store, batch);
    pg_link_flush(&store->writer);
}

void pg_commit(struct store *base, const struct store_batch *batch) {
    struct pg_store *store = (struct pg_store *)base;
    if (!store->commit.batch)
        start_over(&store->commit);
    store->commit.batch = batch;
    store->commit.one_by_one = false;
    store->commit.again = 0;
    send_batch(store);
    if (!store->options.loop)
        pg_link_wait(&store->writer);
}

/* The first that was refused counts: those behind it were not even tried. */
void pg_commit_result(struct pg_store *store, const PGresult *result) {
    struct pg_commit *commit = &store->commit;
    assert(commit->answered < commit->sent_count);
    struct pg_sent sent = commit->sent[commit->answered++];
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_FATAL_ERROR && !commit->state[0]) {
        const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        commit->failed = sent;
        (void)snprintf(commit->state, sizeof(commit->state), "%s", state ? state : "XX000");
        struct error err = { 0 };
        pg_result_error(&store->place, "write", result, &err);
        (void)snprintf(commit->text, sizeof(commit->text), "%.299s", err.text);
        const char *rule = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
        (void)snprintf(commit->rule, sizeof(commit->rule), "%s", rule ? rule : "");
    }
    if (status == PGRES_COMMAND_OK && sent.statement == STATEMENT_COMMIT)
        commit->over = strcmp(PQcmdStatus((PGresult *)(uintptr_t)result), "COMMIT") == 0;
}

static bool has_state(const struct pg_commit *commit, const char *begin) {
    return strncmp(commit->state, begin, strlen(begin)) == 0;
}

/* Division by zero is how a statement says that its rule does not hold. */
static bool is_rule(const struct pg_commit *commit) {
    return has_state(commit, "23") || has_state(commit, "22012") || has_state(commit, "21000");
}

static bool is_passing(const struct pg_commit *commit) {
    return has_state(commit, "40") || has_state(commit, "55P03") || has_state(commit, "57014");
}

static void finish(struct pg_store *store, enum store_outcome outcome, const struct error *err) {
    if (outcome == STORE_OK) {
        store->last_task = store->commit.last_task;
        store->last_event = store->commit.last_event;
        store->names.stored = store->names.table.count;
    }
    store->commit.batch = NULL;
    store_finish_commit(&store->base, outcome, err);
}

static int code_of(const struct pg_commit *commit) {
    static const struct {
        const char *state; /* or how it begins */
        int code;
    } codes[] = {
        { "53100", -ENOSPC }, { "53", -ENOMEM }, { "42501", -EACCES }, { "25006", -EROFS }
    };
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        if (has_state(commit, codes[i].state))
            return codes[i].code;
    return is_passing(commit) ? -EAGAIN : -EIO;
}

/* A server that has become read-only, or tables that are damaged or gone: to go on is for the next start. */
static bool is_spoiled(const struct pg_commit *commit) {
    static const char *const states[] = { "25006", "XX", "42P", "42703", "58" };
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (has_state(commit, states[i]))
            return true;
    return false;
}

/* Once more, in the way that tells more, or because what was in the way goes by. */
static bool try_again(struct pg_store *store) {
    struct pg_commit *commit = &store->commit;
    if (is_rule(commit) && !commit->one_by_one)
        commit->one_by_one = true;
    else if (!is_passing(commit) || ++commit->again >= TRIES)
        return false;
    start_over(commit);
    send_batch(store);
    return true;
}

/* Nothing of it is there: the server said ROLLBACK. */
static void has_failed(struct pg_store *store) {
    struct pg_commit *commit = &store->commit;
    struct error err = { 0 };
    if (commit->failed.statement == STATEMENT_EPOCH && has_state(commit, "22012")) {
        error_set(&err, -ESTALE,
                  "another daemon has taken over the store '%s': this one has nothing to say any "
                  "more",
                  store->place.shown);
        finish(store, STORE_UNKNOWN, &err);
        return;
    }
    if (try_again(store))
        return;
    if (is_rule(commit) && commit->failed.write != UINT32_MAX)
        store_refuse(&commit->batch->writes[commit->failed.write],
                     strcmp(commit->rule, "spec_external") == 0, &err);
    if (err.code == 0)
        error_set(&err, is_rule(commit) ? -EEXIST : code_of(commit), "%s", commit->text);
    finish(store, is_spoiled(commit) ? STORE_UNKNOWN : STORE_FAILED, &err);
}

void pg_commit_synced(struct pg_store *store) {
    struct pg_commit *commit = &store->commit;
    PGTransactionStatusType status = PQtransactionStatus(store->writer.pg);
    if (!commit->state[0] && commit->over) {
        finish(store, STORE_OK, NULL);
        return;
    }
    if (!commit->rolling_back && status == PQTRANS_INERROR) {
        commit->rolling_back = true;
        pg_commit_note(commit, STATEMENT_ROLLBACK, UINT32_MAX);
        pg_link_send(&store->writer, statement_texts[STATEMENT_ROLLBACK].name,
                     &(struct pg_values){ 0 });
        pg_link_sync(&store->writer);
        return;
    }
    if (status == PQTRANS_IDLE && commit->state[0]) {
        has_failed(store);
        return;
    }
    struct error err = { 0 };
    error_set(&err, -EIO, "PostgreSQL at '%s' does not say what became of a commit (%s)",
              store->place.shown, commit->text);
    finish(store, STORE_UNKNOWN, &err);
}
