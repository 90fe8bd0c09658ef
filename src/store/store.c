/* store.c: the checked front end of all backends.
 *
 * Only this file uses a backend's function pointers. It checks arguments, allows one commit at a
 * time, and ensures that a store whose last outcome was UNKNOWN answers nothing more. It never
 * assumes that an answer has arrived when a call returns. */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "os/clock.h"
#include "store/store_internal.h"

static const char *const outcome_names[] = {
    [STORE_OK] = "ok",
    [STORE_FAILED] = "failed",
    [STORE_UNKNOWN] = "unknown",
};
_Static_assert(ARRAY_SIZE(outcome_names) == STORE_OUTCOME_MAX, "an outcome has no name");

const char *store_outcome_name(enum store_outcome outcome) {
    assert(outcome < STORE_OUTCOME_MAX);
    return outcome_names[outcome];
}

/* The backend of a URL: "NAME:…", else it is the path of a file. */
static const struct store_backend *backend_of(const char *url) {
    static const struct {
        const char *begin;
        const struct store_backend *backend;
    } kinds[] = { { "memory:", &memory_backend },
                  { "postgresql://", &postgres_backend },
                  { "postgres://", &postgres_backend } };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strncmp(url, kinds[i].begin, strlen(kinds[i].begin)) == 0)
            return kinds[i].backend;
    return &sqlite_backend;
}

int store_open_backend(const struct store_backend *backend, const struct store_options *options,
                       struct store **ret_store, struct store_report *ret_report,
                       struct error *err) {
    struct store *store = NULL;
    struct store_report report = { 0 };
    int r = backend->open(options, &store, &report, err);
    if (r < 0)
        return r;
    assert(store);
    store->backend = backend;
    store->use = options->use;
    if (ret_report)
        *ret_report = report;
    *ret_store = store;
    return 0;
}

int store_open(const struct store_options *options, struct store **ret_store,
               struct store_report *ret_report, struct error *err) {
    assert(options && options->url && ret_store);
    if (!*options->url) {
        store_await_cancel(options->awaited);
        return error_set(err, -EINVAL, "the store has no place: give the path of a file");
    }
    return store_open_backend(backend_of(options->url), options, ret_store, ret_report, err);
}

int store_await(struct loop *loop, const char *url, store_is_free free, void *ctx,
                struct store_await **ret_await, struct error *err) {
    assert(loop && url && free && ret_await);
    const struct store_backend *backend = backend_of(url);
    struct store_await *await = NULL;
    if (!backend->await)
        return error_set(err, -ENOTSUP, "a store in %s cannot be waited for", backend->name);
    int r = backend->await(loop, url, free, ctx, &await, err);
    if (r < 0)
        return r;
    await->backend = backend;
    *ret_await = await;
    return 0;
}

struct store_await *store_await_cancel(struct store_await *await) {
    if (await)
        await->backend->await_cancel(await);
    return NULL;
}

int store_await_holder(struct store_await *await, char ret_who[STORE_WHO_MAX]) {
    assert(await && ret_who);
    return await->backend->await_holder(await, ret_who);
}

int store_holder(const char *url, char ret_who[STORE_WHO_MAX], struct error *err) {
    assert(url && ret_who);
    const struct store_backend *backend = backend_of(url);
    if (!backend->holder)
        return error_set(err, -ENOTSUP, "a store in %s does not tell who has it", backend->name);
    return backend->holder(url, ret_who, err);
}

int store_summary(const char *url, struct store_summary *ret_summary, struct error *err) {
    assert(url && *url && ret_summary);
    const struct store_backend *backend = backend_of(url);
    struct store_summary summary = { 0 };
    int r = backend->summary ? backend->summary(url, &summary, err) : 0;
    if (r < 0)
        return r;
    *ret_summary = summary;
    return 0;
}

struct store *store_close(struct store *store) {
    if (!store)
        return NULL;
    assert(!store->in_flight);
    store_backup_cancel(store);
    store->backend->close(store);
    return NULL;
}

/* The error for calls to a broken store. */
static int refuse_broken(const struct store *store, struct error *err) {
    return error_set(err, store->broken.code, "the store has stopped: %s", store->broken.text);
}

void store_break(struct store *store, const struct error *err) {
    if (store->broken.code == 0)
        store->broken = *err;
    if (store->broken.code >= 0)
        store->broken.code = -EIO;
}

int store_load(struct store *store, const struct store_reader *reader,
               struct store_totals *ret_totals, struct error *err) {
    assert(store && reader && ret_totals && !store->in_flight);
    if (store->broken.code)
        return refuse_broken(store, err);
    struct store_totals totals = { 0 };
    struct error own = { 0 };
    int r = store->backend->load(store, reader, &totals, err ? err : &own);
    if (r < 0)
        return r;
    *ret_totals = totals;
    return 0;
}

int store_pass_row(const struct store *store, const struct store_reader *reader, enum row_kind kind,
                   const void *row, struct error *err) {
#define PASS(KIND, member)                                                                         \
    if (kind == ROW_##KIND && reader->member)                                                      \
        return reader->member(reader->ctx, row, err);
    const struct column *first = row_types[kind].columns;
    const struct note_row *note = row;
    if (column_is_pointer(first) && kind != ROW_USAGE && !column_text(first, row))
        return 0; /* nothing with a name */
    if (kind == ROW_NOTE && store->use != STORE_USE_COPY
        && strcmp(note->name, STORE_COPY_NOTE) == 0)
        return error_set(err, -EINPROGRESS,
                         "a copy into this store is not finished: 'sluice store copy' with the "
                         "same FROM and TO goes on with it");
    if (reader->any)
        return reader->any(reader->ctx, kind, row, err);
    PASS(TASK, task) /* first: there are the most */
    PASS(PROJECT, project)
    PASS(LIMITER, limiter)
    PASS(AGENT, agent)
    PASS(GROUP, group)
    PASS(USAGE, usage)
    PASS(WAIT, wait)
    PASS(NOTE, note)
    PASS(RUN, run)
    PASS(SPEC, external)
    return 0;
#undef PASS
}

enum row_kind store_answer_kind(enum store_query_kind kind) {
    static const enum row_kind kinds[] = {
        [QUERY_SPECS] = ROW_SPEC,       [QUERY_CHANGED] = ROW_SPEC, [QUERY_TITLES] = ROW_SPEC,
        [QUERY_RUNS] = ROW_RUN,         [QUERY_EVENTS] = ROW_EVENT, [QUERY_EVENTS_BACK] = ROW_EVENT,
        [QUERY_KEY] = ROW_KEY,          [QUERY_KEYS] = ROW_KEY,     [QUERY_EXTERNAL] = ROW_SPEC,
        [QUERY_EXPIRED] = ROW_KIND_MAX, [QUERY_ENDED] = ROW_RUN,    [QUERY_SPENT] = ROW_SPENT,
    };
    _Static_assert(ARRAY_SIZE(kinds) == QUERY_KIND_MAX, "a question has no rows");
    return kinds[kind];
}

size_t store_answer_row(enum store_query_kind kind) {
    enum row_kind of = store_answer_kind(kind);
    return of == ROW_KIND_MAX ? sizeof(task_id) : row_types[of].size;
}

void store_answer(store_answered done, void *ctx, const void *rows, size_t count,
                  const struct error *err) {
    bool good = err->code == 0;
    struct store_answer answer = { .count = good ? count : 0, .rows = good && count ? rows : NULL };
    done(ctx, &answer, good ? NULL : err);
}

int store_refuse(const struct store_write *write, bool external, struct error *err) {
    if (write->kind == WRITE_CHANGE)
        return error_set(err, -ENOENT, "task %" PRIu64 " is not there to be changed",
                         write->task->id);
    if (store_writes(write, ROW_TASK))
        return error_set(err, -EEXIST, "task %" PRIu64 " already exists", write->task->id);
    if (store_writes(write, ROW_SPEC) && external)
        return error_set(err, -EEXIST, "external id '%s' is taken in the project of task %" PRIu64,
                         write->spec->external_id, write->spec->id);
    if (store_writes(write, ROW_SPEC))
        return error_set(err, -EEXIST, "task %" PRIu64 " has a spec already", write->spec->id);
    if (store_writes(write, ROW_EVENT))
        return error_set(err, -EEXIST, "event %" PRIu64 " already exists", write->event->seq);
    if (store_writes(write, ROW_KEY))
        return error_set(err, -EEXIST, "key '%s' was used already", write->key->key);
    return 0;
}

static void count_numbers(struct store *store, const struct store_batch *batch) {
    struct store_numbers next = store->last;
    for (size_t i = 0; i < batch->count; i++) {
        const struct store_write *write = &batch->writes[i];
        uint64_t task = store_writes(write, ROW_TASK)  ? write->task->id
                        : write->kind == WRITE_NUMBERS ? write->number
                                                       : 0;
        uint64_t event = store_writes(write, ROW_EVENT) ? write->event->seq : 0;
        next.task = task > next.task ? task : next.task;
        next.event = event > next.event ? event : next.event;
    }
    store->next = next;
}

void store_send_ahead(struct store *store, const struct store_batch *batch) {
    assert(store && batch && batch->count > 0);
    assert(!store->in_flight && !batch->in_flight && store->use != STORE_USE_READ);
    assert(!store->ahead || store->ahead == batch);
    if (store->broken.code || !store->backend->ahead)
        return;
    store->ahead = batch;
    count_numbers(store, batch);
    store->backend->ahead(store, batch);
}

void store_commit(struct store *store, struct store_batch *batch, store_committed done, void *ctx) {
    assert(store && batch && done);
    assert(!store->in_flight && !batch->in_flight); /* one at a time */
    assert(!store->ahead || store->ahead == batch);
    assert(store->use != STORE_USE_READ);
    store->ahead = NULL;
    if (store->broken.code) {
        struct error err = { 0 };
        refuse_broken(store, &err);
        done(ctx, STORE_UNKNOWN, &err);
        return;
    }
    if (batch->count == 0) {
        done(ctx, STORE_OK, NULL);
        return;
    }
    batch->in_flight = true;
    store->in_flight = batch;
    store->done = done;
    store->done_ctx = ctx;
    store->began_us = clock_read_steady_us();
    count_numbers(store, batch);
    store->backend->commit(store, batch);
}

void store_finish_commit(struct store *store, enum store_outcome outcome, const struct error *err) {
    assert(store->in_flight && (outcome == STORE_OK || err));
    int64_t took = clock_read_steady_us() - store->began_us;
    store->last_commit_us = took;
    if (took > store->slowest_commit_us)
        store->slowest_commit_us = took;
    latency_add(&store->latency, took);
    if (outcome == STORE_OK) {
        store->last = store->next;
        store->commits++;
        store->rows += store->in_flight->count;
    } else if (outcome == STORE_UNKNOWN) {
        store_break(store, err);
    }
    store->in_flight->in_flight = false;
    store->in_flight = NULL;
    /* Last: the callback may commit again, or close the store. */
    store->done(store->done_ctx, outcome, outcome == STORE_OK ? NULL : err);
}

void store_query(struct store *store, const struct store_query *question, store_answered done,
                 void *ctx) {
    assert(store && question && done);
    assert(question->kind < QUERY_KIND_MAX);
    assert(question->task_count == 0 || question->tasks);
    if (store->broken.code) {
        struct error err = { 0 };
        refuse_broken(store, &err);
        store_answer(done, ctx, NULL, 0, &err);
        return;
    }
    struct store_query bounded = *question;
    if (bounded.limit == 0 || bounded.limit > STORE_ANSWER_MAX)
        bounded.limit = STORE_ANSWER_MAX;
    store->backend->query(store, &bounded, done, ctx);
}

/* The callback may begin the next one. */
static void end_backup(struct store *store, const struct error *err) {
    store_copied done = store->copied;
    store->copied = NULL;
    done(store->copied_ctx, err);
}

static int begin_backup(struct store *store, const char *path, struct error *err) {
    if (store->broken.code)
        return refuse_broken(store, err);
    if (!store->backend->backup_begin)
        return error_set(err, -ENOTSUP, "a store in %s cannot be copied", store->backend->name);
    if (store->copied)
        return error_set(err, -EBUSY, "another backup is being made: try again when it is there");
    if (!store->in_flight)
        return store->backend->backup_begin(store, path, err);
    store->copy_path = xstrdup(path);
    return 0;
}

time_ms store_maintain(struct store *store, time_ms idle_ms) {
    assert(store && idle_ms >= 0);
    if (store->broken.code || store->in_flight)
        return TIME_NEVER; /* the end of that commit triggers the next call */
    time_ms next = store->backend->maintain ? store->backend->maintain(store, idle_ms) : TIME_NEVER;
    if (!store->copied || store->broken.code)
        return next;
    struct error err = { 0 };
    time_ms again = 0;
    _cleanup_(freep) char *path = TAKE_PTR(store->copy_path);
    int r = path ? store->backend->backup_begin(store, path, &err) : 0;
    if (r >= 0)
        r = store->backend->backup_go_on(store, &again, &err);
    if (r == 1)
        return time_min(next, again);
    end_backup(store, r < 0 ? &err : NULL);
    return next;
}

void store_backup(struct store *store, const char *path, store_copied done, void *ctx) {
    assert(store && path && done);
    struct error err = { 0 };
    if (begin_backup(store, path, &err) < 0) {
        done(ctx, &err);
        return;
    }
    store->copied = done;
    store->copied_ctx = ctx;
}

void store_backup_cancel(struct store *store) {
    if (!store->copied)
        return;
    struct error err = { 0 };
    error_set(&err, -ESHUTDOWN, "the backup was interrupted: no copy was made");
    _cleanup_(freep) char *not_begun = TAKE_PTR(store->copy_path);
    bool canceled = not_begun || store->backend->backup_cancel(store);
    end_backup(store, canceled ? &err : NULL);
}

int store_restore(const char *url, const char *path, char ret_kept[512], struct error *err) {
    assert(url && path && ret_kept);
    const struct store_backend *backend = backend_of(url);
    if (!backend->restore)
        return error_set(err, -ENOTSUP, "a store in %s cannot be restored", backend->name);
    return backend->restore(url, path, ret_kept, err);
}

void store_info(const struct store *store, struct store_info *ret) {
    assert(store && ret);
    *ret = (struct store_info){
        .backend = store->backend->name,
        .place = "",
        .commits = store->commits,
        .rows = store->rows,
        .bytes = -1,
        .log_bytes = -1,
        .last_commit_us = store->last_commit_us,
        .slowest_commit_us = store->slowest_commit_us,
        .latency = store->latency,
        .broken = store->broken.code != 0,
    };
    store->backend->info(store, ret);
}

void store_show_url(const char *url, char ret_shown[STORE_SHOWN_MAX]) {
    const struct store_backend *backend = backend_of(url);
    if (backend->show)
        backend->show(url, ret_shown);
    else
        (void)snprintf(ret_shown, STORE_SHOWN_MAX, "%s", url);
}

const struct error *store_why_broken(const struct store *store) {
    return store->broken.code ? &store->broken : NULL;
}

void store_give_up(struct store *store, const struct error *why) {
    store_break(store, why);
    if (store->backend->give_up)
        store->backend->give_up(store, why);
    assert(!store->in_flight);
}
