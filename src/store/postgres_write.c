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

static struct pg_bulk *bulk_of(struct writer *w, enum statement statement) {
    struct pg_bulk *bulk = &w->store->bulks[statement];
    if (bulk->statement != statement || bulk->columns == 0)
        pg_bulk_init(bulk, statement);
    return bulk;
}

static void send(struct writer *w, enum statement statement) {
    pg_commit_note(&w->store->commit, statement, w->write);
    pg_bulk_send(bulk_of(w, statement), &w->store->writer);
}

/* Everything that was collected, in the order of the kinds. */
static void flush(struct writer *w) {
    for (enum statement statement = STATEMENT_ADD_TASK; statement <= STATEMENT_PUT_CONTEXT;
         statement++)
        if (w->store->bulks[statement].rows > 0)
            send(w, statement);
    forget_touched(&w->store->touched);
}

/* A message of PostgreSQL has an end (1 GB). What can be large overtakes nothing that it concerns. */
static void send_large(struct writer *w) {
    static const enum statement kinds[] = { STATEMENT_PUT_RUN,       STATEMENT_ADD_EVENT,
                                            STATEMENT_ADD_KEY,       STATEMENT_ADD_SPEC,
                                            STATEMENT_ADD_LATE_SPEC, STATEMENT_PUT_CONTEXT };
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

static struct pg_bulk *put_row(struct writer *w, enum statement statement, enum row_kind kind,
                               const void *row) {
    struct pg_bulk *b = bulk_of(w, statement);
    pg_put_row(b, &row_types[kind], row, &w->store->names);
    return b;
}

static void add_task(struct writer *w, const struct task_row *row) {
    bool wide = task_has_progress(row);
    make_room(w, row->id, CHANGED | DELETED, ADDED);
    *note(&w->store->fresh, row->id) = names_number(&w->store->names, row->project);
    struct pg_bulk *b =
        put_row(w, wide ? STATEMENT_ADD_WIDE_TASK : STATEMENT_ADD_TASK, ROW_TASK, row);
    if (wide)
        pg_put_row(b, &row_types[ROW_PROGRESS], row, &w->store->names);
    pg_put_numbers(b, row->depends_on, row->depends_on_count);
}

static void change_task(struct writer *w, const struct store_write *write) {
    const struct task_row *row = write->task;
    make_room(w, row->id, CHANGED | DELETED, CHANGED);
    struct pg_bulk *b = put_row(w, STATEMENT_CHANGE_TASK, ROW_TASK, row);
    pg_put_row(b, &row_types[ROW_PROGRESS], row, &w->store->names);
    pg_put_numbers(b, row->depends_on, row->depends_on_count);
    pg_put_int(b, write->flags & STORE_CHANGE_NEEDS);
    pg_put_int(b, write->flags & STORE_CHANGE_SEEN);
}

/* The server need not look for a task of this batch. */
static void add_spec(struct writer *w, const struct spec_row *row) {
    unsigned project = *note(&w->store->fresh, row->id);
    if (project == GONE)
        return;
    struct pg_bulk *b =
        put_row(w, project ? STATEMENT_ADD_SPEC : STATEMENT_ADD_LATE_SPEC, ROW_SPEC, row);
    if (project)
        pg_put_int(b, project);
}

static void put_context(struct writer *w, const struct spec_row *row) {
    make_room(w, row->id, CHANGED, CHANGED); /* the last one counts */
    struct pg_bulk *b = bulk_of(w, STATEMENT_PUT_CONTEXT);
    pg_put_int(b, (int64_t)row->id);
    pg_put_text(b, row->context);
}

static void write_new(struct writer *w, const struct store_write *write) {
    enum statement statement = sql_write_of(write->of);
    if (write->of == ROW_TASK) {
        add_task(w, write->task);
        return;
    }
    if (write->of == ROW_SPEC) {
        add_spec(w, write->spec);
        return;
    }
    if (write->of == ROW_RUN) {
        make_room(w, write->run->task, DELETED, HERE);
        /* Two runs of one hash: one statement more. */
        make_room(w, hash_mix(write->run->task, write->run->attempt) | (uint64_t)1 << 63, CHANGED,
                  CHANGED);
    }
    if (write->of == ROW_EVENT && write->event->task)
        make_room(w, write->event->task, DELETED, HERE);
    put_row(w, statement, write->of, write->row);
    if (!statement_texts[statement].bulk)
        send(w, statement);
}

static void delete (struct writer *w, const struct store_write *write) {
    if (write->of == ROW_TASK) {
        make_room(w, write->number, 0, DELETED);
        *note(&w->store->fresh, write->number) = GONE;
        pg_put_int(bulk_of(w, STATEMENT_DELETE_TASK), (int64_t)write->number);
    } else if (write->of == ROW_GROUP) {
        pg_put_int(bulk_of(w, STATEMENT_DELETE_GROUP), (int64_t)write->number);
        send(w, STATEMENT_DELETE_GROUP);
    } else {
        pg_put_text(bulk_of(w, STATEMENT_DELETE_NOTE), write->note->name);
        send(w, STATEMENT_DELETE_NOTE);
    }
}

/* What is pruned must be there first. */
static void prune(struct writer *w, const struct store_write *write) {
    enum statement statement = sql_prune_of(write->of);
    flush(w);
    pg_put_int(bulk_of(w, statement), write->time); /* or the number of an event */
    if (write->of == ROW_SPENT)
        pg_put_int(bulk_of(w, statement), write->flags);
    send(w, statement);
}

static void write_one(struct writer *w, const struct store_write *write) {
    switch (write->kind) {
    case WRITE_ROW:
        write_new(w, write);
        break;
    case WRITE_CHANGE:
        change_task(w, write);
        break;
    case WRITE_DELETE:
        delete (w, write);
        break;
    case WRITE_PRUNE:
        prune(w, write);
        break;
    case WRITE_CONTEXT:
        put_context(w, write->spec);
        break;
    case WRITE_NUMBERS: /* STATEMENT_EPOCH has it already */
        break;
    }
}

/* --- the batch --------------------------------------------------------------------------------------- */

/* The highest numbers with this batch. */
static void count_up(struct pg_store *store, const struct store_batch *batch) {
    struct pg_commit *commit = &store->commit;
    commit->last_task = store->last_task;
    commit->last_event = store->last_event;
    for (size_t i = 0; i < batch->count; i++) {
        const struct store_write *write = &batch->writes[i];
        uint64_t task = store_writes(write, ROW_TASK)  ? write->task->id
                        : write->kind == WRITE_NUMBERS ? write->number
                                                       : 0;
        uint64_t event = store_writes(write, ROW_EVENT) ? write->event->seq : 0;
        commit->last_task = task > commit->last_task ? task : commit->last_task;
        commit->last_event = event > commit->last_event ? event : commit->last_event;
    }
}

static void send_names(struct writer *w) {
    struct names *names = &w->store->names;
    for (sym number = names->stored + 1; number <= names->table.count; number++) {
        pg_put_int(bulk_of(w, STATEMENT_ADD_NAME), number);
        pg_put_text(bulk_of(w, STATEMENT_ADD_NAME), symbol_name(&names->table, number));
    }
    if (names->stored < names->table.count)
        send(w, STATEMENT_ADD_NAME);
}

/* The epoch is asked for first. What the batch counts up to is known when all of it is there. */
static void begin(struct writer *w) {
    struct pg_store *store = w->store;
    if (store->commit.begun)
        return;
    store->commit.begun = true;
    forget_touched(&store->fresh);
    send(w, STATEMENT_BEGIN);
    pg_put_int(bulk_of(w, STATEMENT_EPOCH), store->epoch);
    pg_put_int(bulk_of(w, STATEMENT_EPOCH), (int64_t)store->commit.last_task);
    pg_put_int(bulk_of(w, STATEMENT_EPOCH), (int64_t)store->commit.last_event);
    send(w, STATEMENT_EPOCH);
}

static void send_numbers(struct writer *w) {
    pg_put_int(bulk_of(w, STATEMENT_NUMBERS), (int64_t)w->store->commit.last_task);
    pg_put_int(bulk_of(w, STATEMENT_NUMBERS), (int64_t)w->store->commit.last_event);
    send(w, STATEMENT_NUMBERS);
}

static void write_round(struct writer *w, const struct store_batch *batch, unsigned round,
                        bool one_by_one) {
    for (size_t i = round == 0 ? w->store->commit.written : 0; i < batch->count; i++) {
        if (store_write_round(&batch->writes[i]) != round)
            continue;
        w->write = one_by_one ? (uint32_t)i : UINT32_MAX;
        write_one(w, &batch->writes[i]);
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
    send(&w, STATEMENT_COMMIT);
}

void pg_write_finish(struct pg_store *store) {
    for (size_t i = 0; i < STATEMENT_WRITES; i++)
        pg_bulk_finish(&store->bulks[i]);
    free(store->touched.slots);
    free(store->fresh.slots);
}
