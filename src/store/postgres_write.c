/* postgres_write.c: which statements write a batch as if its writes happened one after the other?
 *
 * Rows of one kind are collected and go as one statement. Kinds are sent in a fixed order (tasks are added,
 * changed, run, told of, deleted), so a row may only be collected when everything that came before it in the
 * batch, and that its kind would overtake, is about something else: what was touched is noted by task.
 * Where that is not so, what was collected is sent first. Tables that nobody collects for are written at
 * once: each is touched by its own kinds of writes alone.
 *
 * One by one, every write is sent before the next: slower, and what fails is the first that is wrong.
 */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "store/columns.h"
#include "store/postgres_internal.h"

#define LARGE ((size_t)8 << 20)

/* --- what was touched ------------------------------------------------------------------------------ */

enum { ADDED = 1, CHANGED = 2, DELETED = 4, HERE = 8 };
#define GONE UINT_MAX /* in `fresh`; else the number of a project */

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

/* What is noted of this key, to be changed; 0: nothing yet. */
static unsigned *note(struct pg_touched *touched, uint64_t key) {
    if (touched->count * 2 >= touched->capacity)
        grow(touched);
    struct pg_touch *slot = slot_of(touched, key);
    touched->count += slot->bits == 0; /* at most: it may stay so */
    slot->key = key;
    return &slot->bits;
}

/* Is one of `against` noted of this key? If not, `bits` are noted. */
static bool collides(struct pg_touched *touched, uint64_t key, unsigned against, unsigned bits) {
    unsigned *noted = note(touched, key);
    if (*noted & against)
        return true;
    *noted |= bits | HERE;
    return false;
}

/* --- sending ---------------------------------------------------------------------------------------- */

struct writer {
    struct pg_store *store;
    uint32_t write; /* UINT32_MAX: many at once */
};

static struct pg_bulk *bulk_of(struct writer *w, enum pg_statement statement) {
    struct pg_bulk *bulk = &w->store->bulks[statement];
    if (bulk->statement != statement || bulk->columns == 0)
        pg_bulk_init(bulk, statement);
    return bulk;
}

static void send(struct writer *w, enum pg_statement statement) {
    pg_commit_note(&w->store->commit, statement, w->write);
    pg_bulk_send(bulk_of(w, statement), &w->store->writer);
}

/* Everything that was collected, in the order of the kinds. */
static void flush(struct writer *w) {
    for (enum pg_statement statement = PG_ADD_TASKS; statement <= PG_PUT_CONTEXTS; statement++)
        if (w->store->bulks[statement].rows > 0)
            send(w, statement);
    forget_touched(&w->store->touched);
}

/* A message of PostgreSQL has an end (1 GB). What can be large overtakes nothing that it concerns. */
static void send_large(struct writer *w) {
    static const enum pg_statement kinds[] = { PG_PUT_RUNS,  PG_ADD_EVENTS,     PG_ADD_KEYS,
                                               PG_ADD_SPECS, PG_ADD_LATE_SPECS, PG_PUT_CONTEXTS };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (w->store->bulks[kinds[i]].size >= LARGE)
            send(w, kinds[i]);
}

/* Room for a write about this task, which may not overtake any of `against`. */
static void make_room(struct writer *w, uint64_t key, unsigned against, unsigned bits) {
    if (!collides(&w->store->touched, key, against, bits))
        return;
    flush(w);
    (void)collides(&w->store->touched, key, 0, bits);
}

/* --- one function per kind of write ------------------------------------------------------------------ */

static sym name_of(struct writer *w, const char *name) {
    return names_number(&w->store->names, name);
}

static sym word_of(struct writer *w, enum word_list list, unsigned value) {
    return names_word(&w->store->names, list, value);
}

static void put_narrow(struct writer *w, struct pg_bulk *b, const struct task_row *row) {
    const struct task_spec *told = &row->told;
    pg_put_int(b, (int64_t)row->id);
    pg_put_int(b, told->created_at);
    pg_put_int(b, row->changed_at);
    if (task_state_is_final(told->state))
        pg_put_int(b, row->changed_at);
    else
        pg_put_null(b);
    pg_put_int(b, told->ready_since);
    pg_put_int(b, told->ready_clock);
    pg_put_int(b, (int64_t)told->parent);
    pg_put_int(b, told->parent_iteration);
    pg_put_int(b, told->group);
    pg_put_int(b, name_of(w, row->project));
    pg_put_int(b, name_of(w, row->kind));
    pg_put_int(b, name_of(w, row->agent));
    pg_put_int(b, name_of(w, row->limiter));
    pg_put_int(b, word_of(w, WORDS_STATE, told->state));
    pg_put_int(b, word_of(w, WORDS_REASON, row->reason));
    pg_put_int(b, told->priority);
    pg_put_int(b, word_of(w, WORDS_UNTIL, told->until));
    pg_put_int(b, word_of(w, WORDS_PARENT_GATE, told->parent_gate));
    pg_put_int(b, columns_flags(told));
    pg_put_int(b, told->retry_max);
    pg_put_text(b, row->workspace);
    pg_put_text(b, row->serial);
    pg_put_text(b, row->resources);
    pg_put_numbers(b, row->depends_on, row->depends_on_count);
}

/* NULL where it is what pg_load takes for granted. */
static void put_progress(struct writer *w, struct pg_bulk *b, const struct task_row *row) {
    const struct task_spec *told = &row->told;
    pg_put_int_unless(b, told->iteration, 1);
    pg_put_int_unless(b, told->attempt, 0);
    pg_put_int_unless(b, word_of(w, WORDS_HOLD, told->hold), word_of(w, WORDS_HOLD, HOLD_NONE));
    pg_put_int_unless(b, told->not_before, 0);
    pg_put_int_unless(b, word_of(w, WORDS_PHASE, told->phase),
                      word_of(w, WORDS_PHASE, PHASE_WORKING));
    pg_put_int_unless(b, told->started_at, 0);
    pg_put_int_unless(b, word_of(w, WORDS_STOP, told->stop), word_of(w, WORDS_STOP, STOP_NONE));
    pg_put_int_unless(b, name_of(w, row->run_agent), 0);
    pg_put_int_unless(b, name_of(w, row->run_limiter), 0);
    pg_put_int_unless(b, told->failures, 0);
    pg_put_int_unless(b, told->launch_failures, 0);
    pg_put_int_unless(b, told->losses, 0);
    pg_put_int_unless(b, told->restarts, 0);
    pg_put_int_unless(b, told->breaker_openings, 0);
    pg_put_int_unless(b, (int64_t)told->lender, 0);
    pg_put_int_unless(b, told->borrowed, 0);
}

static void add_task(struct writer *w, const struct store_write *write) {
    const struct task_row *row = write->task;
    bool wide = columns_have_progress(row);
    make_room(w, row->id, CHANGED | DELETED, ADDED);
    *note(&w->store->fresh, row->id) = name_of(w, row->project);
    struct pg_bulk *b = bulk_of(w, wide ? PG_ADD_WIDE_TASKS : PG_ADD_TASKS);
    put_narrow(w, b, row);
    if (wide)
        put_progress(w, b, row);
}

static void change_task(struct writer *w, const struct store_write *write) {
    make_room(w, write->task->id, CHANGED | DELETED, CHANGED);
    struct pg_bulk *b = bulk_of(w, PG_CHANGE_TASKS);
    put_narrow(w, b, write->task);
    put_progress(w, b, write->task);
    pg_put_int(b, write->flag);
}

static void delete_task(struct writer *w, const struct store_write *write) {
    make_room(w, write->number, 0, DELETED);
    *note(&w->store->fresh, write->number) = GONE;
    pg_put_int(bulk_of(w, PG_DELETE_TASKS), (int64_t)write->number);
}

/* The server need not look for a task of this batch. */
static void add_spec(struct writer *w, const struct store_write *write) {
    unsigned project = *note(&w->store->fresh, write->spec->id);
    if (project == GONE)
        return;
    struct pg_bulk *b = bulk_of(w, project ? PG_ADD_SPECS : PG_ADD_LATE_SPECS);
    pg_put_int(b, (int64_t)write->spec->id);
    if (project)
        pg_put_int(b, project);
    pg_put_text(b, write->spec->external_id);
    pg_put_text(b, write->spec->title);
    pg_put_text_size(b, write->spec->json, write->spec->json_size);
}

static void put_context(struct writer *w, const struct store_write *write) {
    make_room(w, write->spec->id, CHANGED, CHANGED); /* the last one counts */
    struct pg_bulk *b = bulk_of(w, PG_PUT_CONTEXTS);
    pg_put_int(b, (int64_t)write->spec->id);
    pg_put_text(b, write->spec->context);
}

static void put_run(struct writer *w, const struct store_write *write) {
    const struct run_row *row = write->run;
    make_room(w, row->task, DELETED, HERE);
    /* Two runs of one hash: one statement more. */
    make_room(w, hash_mix(row->task, row->attempt) | (uint64_t)1 << 63, CHANGED, CHANGED);
    struct pg_bulk *b = bulk_of(w, PG_PUT_RUNS);
    pg_put_int(b, (int64_t)row->task);
    pg_put_int(b, row->attempt);
    pg_put_int(b, row->iteration);
    pg_put_int(b, name_of(w, row->agent));
    pg_put_int(b, name_of(w, row->executor));
    pg_put_int(b, name_of(w, row->host));
    pg_put_int(b, name_of(w, row->boot_id));
    pg_put_text(b, row->folder);
    pg_put_int(b, word_of(w, WORDS_PHASE, row->phase));
    pg_put_int(b, row->ended);
    pg_put_int(b, row->ordered_at);
    pg_put_int(b, row->started_at);
    pg_put_int(b, row->ended_at);
    pg_put_int(b, word_of(w, WORDS_OUTCOME, row->outcome));
    pg_put_int(b, name_of(w, row->how));
    pg_put_int(b, row->exit_code);
    pg_put_int(b, row->exit_signal);
    pg_put_int(b, row->tokens_in);
    pg_put_int(b, row->tokens_out);
    pg_put_int(b, row->cost_micro_usd);
    pg_put_text(b, row->applied);
    pg_put_text(b, row->message);
    pg_put_int(b, row->limited_until);
    pg_put_int(b, row->stop_now);
    pg_put_text(b, row->token_hash);
    pg_put_int(b, row->tokens_cached);
    pg_put_text(b, row->session);
    pg_put_int(b, row->resumed);
    pg_put_int(b, name_of(w, row->model));
    pg_put_int(b, name_of(w, row->said));
    pg_put_text(b, row->shim_key);
    pg_put_int(b, row->shim_pid);
    pg_put_int(b, row->shim_start);
    pg_put_int(b, row->shim_space);
    pg_put_text(b, row->cgroup);
}

static void add_event(struct writer *w, const struct store_write *write) {
    const struct event_row *row = write->event;
    if (row->task)
        make_room(w, row->task, DELETED, HERE);
    struct pg_bulk *b = bulk_of(w, PG_ADD_EVENTS);
    pg_put_int(b, (int64_t)row->seq);
    pg_put_int(b, row->at);
    pg_put_int(b, name_of(w, row->kind));
    pg_put_int_unless(b, (int64_t)row->task, 0);
    pg_put_int(b, row->attempt);
    pg_put_text(b, row->data);
}

/* What is pruned must be there first. */
static void prune(struct writer *w, enum pg_statement statement, int64_t before) {
    flush(w);
    pg_put_int(bulk_of(w, statement), before);
    send(w, statement);
}

static void prune_events(struct writer *w, const struct store_write *write) {
    prune(w, PG_PRUNE_EVENTS, (int64_t)write->number);
}

static void prune_usage(struct writer *w, const struct store_write *write) {
    prune(w, PG_PRUNE_USAGE, write->time);
}

static void prune_keys(struct writer *w, const struct store_write *write) {
    prune(w, PG_PRUNE_KEYS, write->time);
}

static void prune_spent(struct writer *w, const struct store_write *write) {
    flush(w);
    pg_put_int(bulk_of(w, PG_PRUNE_SPENT), write->flag);
    pg_put_int(bulk_of(w, PG_PRUNE_SPENT), write->time);
    send(w, PG_PRUNE_SPENT);
}

static void put_project(struct writer *w, const struct store_write *write) {
    struct pg_bulk *b = bulk_of(w, PG_PUT_PROJECT);
    pg_put_text(b, write->project->name);
    pg_put_text(b, write->project->prefix);
    pg_put_int(b, write->project->paused);
    pg_put_int(b, write->project->created_at);
    pg_put_int(b, name_of(w, write->project->paused_by));
    pg_put_int(b, write->project->paused_at);
    send(w, PG_PUT_PROJECT);
}

static void put_group(struct writer *w, const struct store_write *write) {
    struct pg_bulk *b = bulk_of(w, PG_PUT_GROUP);
    pg_put_int(b, write->group->id);
    pg_put_text(b, write->group->name);
    pg_put_int(b, write->group->owned);
    pg_put_int(b, write->group->closed);
    pg_put_int(b, write->group->created_at);
    pg_put_int(b, write->group->closed_at);
    send(w, PG_PUT_GROUP);
}

static void delete_group(struct writer *w, const struct store_write *write) {
    pg_put_int(bulk_of(w, PG_DELETE_GROUP), (int64_t)write->number);
    send(w, PG_DELETE_GROUP);
}

static void put_limiter(struct writer *w, const struct store_write *write) {
    const struct limiter_spec *told = &write->limiter->told;
    struct pg_bulk *b = bulk_of(w, PG_PUT_LIMITER);
    pg_put_int(b, name_of(w, write->limiter->name));
    pg_put_int(b, told->backoff_until);
    pg_put_int(b, told->hits);
    pg_put_int(b, told->closed);
    pg_put_int(b, told->backoff_since);
    pg_put_int(b, told->last_hit);
    pg_put_int(b, told->in_backoff);
    pg_put_int(b, told->ramp_since);
    pg_put_int(b, told->last_success);
    send(w, PG_PUT_LIMITER);
}

static void put_agent(struct writer *w, const struct store_write *write) {
    const struct agent_spec *told = &write->agent->told;
    struct pg_bulk *b = bulk_of(w, PG_PUT_AGENT);
    pg_put_int(b, name_of(w, write->agent->name));
    pg_put_int(b, told->idle);
    pg_put_int(b, told->launch_failures);
    pg_put_int(b, told->openings);
    pg_put_int(b, told->closed_until);
    send(w, PG_PUT_AGENT);
}

static void add_usage(struct writer *w, const struct store_write *write) {
    const struct usage_row *row = write->usage;
    struct pg_bulk *b = bulk_of(w, PG_ADD_USAGE);
    pg_put_int(b, name_of(w, row->project));
    pg_put_int(b, row->bucket);
    pg_put_int(b, row->tokens);
    pg_put_int(b, row->unreported);
    pg_put_int(b, row->reports);
    pg_put_int(b, row->starts);
    pg_put_int(b, row->completions);
    pg_put_int(b, row->money);
    pg_put_int(b, row->priced);
    pg_put_int(b, row->unpriced);
}

static void put_wait(struct writer *w, const struct store_write *write) {
    struct pg_bulk *b = bulk_of(w, PG_PUT_WAIT);
    pg_put_int(b, name_of(w, write->wait->project));
    pg_put_int(b, name_of(w, write->wait->limiter));
    pg_put_int(b, name_of(w, write->wait->agent));
    pg_put_int(b, write->wait->lost);
    pg_put_int(b, write->wait->closed_since);
    send(w, PG_PUT_WAIT);
}

static void add_key(struct writer *w, const struct store_write *write) {
    struct pg_bulk *b = bulk_of(w, PG_ADD_KEYS);
    pg_put_text(b, write->key->key);
    pg_put_int(b, write->key->at);
    pg_put_int(b, write->key->status);
    pg_put_text(b, write->key->answer);
}

static void put_pause(struct writer *w, const struct store_write *write) {
    struct pg_bulk *b = bulk_of(w, PG_PUT_PAUSE);
    pg_put_int(b, write->pause->paused);
    pg_put_int(b, name_of(w, write->pause->by));
    pg_put_int(b, write->pause->at);
    send(w, PG_PUT_PAUSE);
}

static void put_note(struct writer *w, const struct store_write *write) {
    const struct note_row *row = write->note;
    enum pg_statement statement = row->text ? PG_PUT_NOTE : PG_DELETE_NOTE;
    pg_put_text(bulk_of(w, statement), row->name);
    if (row->text)
        pg_put_text(bulk_of(w, statement), row->text);
    send(w, statement);
}

static void put_spent(struct writer *w, const struct spent_row *row, bool days) {
    if (row->span == (days ? SPENT_HOUR : SPENT_DAY))
        return;
    struct pg_bulk *b = bulk_of(w, PG_ADD_SPENT);
    pg_put_int(b, days);
    pg_put_int(b, store_span_of(row->at, days));
    pg_put_int(b, name_of(w, row->project));
    pg_put_int(b, name_of(w, row->agent));
    pg_put_int(b, row->runs);
    pg_put_int(b, row->ok);
    pg_put_int(b, row->busy_ms);
    pg_put_int(b, row->tokens_in);
    pg_put_int(b, row->tokens_out);
    pg_put_int(b, row->tokens_cached);
    pg_put_int(b, row->cost_micro_usd);
    pg_put_int(b, row->unknown_tokens);
    pg_put_int(b, row->unknown_cost);
}

static void add_spent(struct writer *w, const struct store_write *write) {
    put_spent(w, write->spent, false);
    put_spent(w, write->spent, true);
}

/* PG_EPOCH has it already. */
static void take_numbers(struct writer *w, const struct store_write *write) {
    (void)w;
    (void)write;
}

typedef void (*write_function)(struct writer *w, const struct store_write *write);

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

/* --- the batch --------------------------------------------------------------------------------------- */

/* The highest numbers with this batch. */
static void count_up(struct pg_store *store, const struct store_batch *batch) {
    struct pg_commit *commit = &store->commit;
    commit->last_task = store->last_task;
    commit->last_event = store->last_event;
    for (size_t i = 0; i < batch->count; i++) {
        const struct store_write *write = &batch->writes[i];
        uint64_t task = write->kind == WRITE_ADD_TASK       ? write->task->id
                        : write->kind == WRITE_TAKE_NUMBERS ? write->number
                                                            : 0;
        uint64_t event = write->kind == WRITE_ADD_EVENT ? write->event->seq : 0;
        commit->last_task = task > commit->last_task ? task : commit->last_task;
        commit->last_event = event > commit->last_event ? event : commit->last_event;
    }
}

static void send_names(struct writer *w) {
    struct names *names = &w->store->names;
    for (sym number = names->stored + 1; number <= names->table.count; number++) {
        pg_put_int(bulk_of(w, PG_ADD_NAMES), number);
        pg_put_text(bulk_of(w, PG_ADD_NAMES), symbol_name(&names->table, number));
    }
    if (names->stored < names->table.count)
        send(w, PG_ADD_NAMES);
}

/* The epoch is asked for first. What the batch counts up to is known when all of it is there. */
static void begin(struct writer *w) {
    struct pg_store *store = w->store;
    if (store->commit.begun)
        return;
    store->commit.begun = true;
    forget_touched(&store->fresh);
    send(w, PG_BEGIN);
    pg_put_int(bulk_of(w, PG_EPOCH), store->epoch);
    pg_put_int(bulk_of(w, PG_EPOCH), (int64_t)store->commit.last_task);
    pg_put_int(bulk_of(w, PG_EPOCH), (int64_t)store->commit.last_event);
    send(w, PG_EPOCH);
}

static void send_numbers(struct writer *w) {
    pg_put_int(bulk_of(w, PG_NUMBERS), (int64_t)w->store->commit.last_task);
    pg_put_int(bulk_of(w, PG_NUMBERS), (int64_t)w->store->commit.last_event);
    send(w, PG_NUMBERS);
}

static void write_round(struct writer *w, const struct store_batch *batch, unsigned round,
                        bool one_by_one) {
    for (size_t i = round == 0 ? w->store->commit.written : 0; i < batch->count; i++) {
        if (store_write_round(&batch->writes[i]) != round)
            continue;
        w->write = one_by_one ? (uint32_t)i : UINT32_MAX;
        functions[batch->writes[i].kind](w, &batch->writes[i]);
        if (one_by_one)
            flush(w);
        else
            send_large(w);
    }
    flush(w);
    w->write = UINT32_MAX;
}

void pg_write_ahead(struct pg_store *store, const struct store_batch *batch) {
    struct writer w = { store, UINT32_MAX };
    count_up(store, batch);
    begin(&w);
    write_round(&w, batch, 0, false);
    store->commit.written = batch->count;
}

void pg_write_batch(struct pg_store *store, const struct store_batch *batch, bool one_by_one) {
    struct writer w = { store, UINT32_MAX };
    bool ahead = store->commit.begun;
    count_up(store, batch);
    begin(&w);
    for (unsigned round = 0; round < STORE_ROUNDS; round++)
        write_round(&w, batch, round, one_by_one);
    send_names(&w);
    if (ahead)
        send_numbers(&w);
    send(&w, PG_COMMIT);
}

void pg_write_finish(struct pg_store *store) {
    for (size_t i = 0; i < PG_WRITES; i++)
        pg_bulk_finish(&store->bulks[i]);
    free(store->touched.slots);
    free(store->fresh.slots);
}
