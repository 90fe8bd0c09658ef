/* memory.c: a store without a disk.
 *
 * The reference implementation: plain tables, scanned where a database has an index. Tests and the
 * simulation use it, and tests/store/ compares every other backend with it.
 *
 * "memory:" is lost when it is closed. "memory:NAME" persists for the rest of the process, so that
 * a test can simulate a restart of the daemon. */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/symbol_table.h"
#include "store/store_internal.h"

struct memory_key {
    uint64_t high, low;
};

struct memory_entry {
    struct memory_key key;
    void *row;
};

struct memory_table {
    struct memory_entry *entries; /* entries[first .. first + count), ascending */
    size_t first, count, capacity;
};

struct memory_change {
    struct memory_table *table;
    struct memory_key key;
    void *old; /* NULL: none */
};

struct memory_journal {
    struct memory_change *changes;
    size_t count, capacity;
};

/* --- tables ---------------------------------------------------------------------------------- */

static inline const struct memory_entry *memory_table_at(const struct memory_table *table,
                                                         size_t position) {
    return &table->entries[table->first + position];
}

static bool is_less(struct memory_key a, struct memory_key b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
}

/* The position of the first entry that is not less than `key`; may be `count`. */
static size_t memory_table_position(const struct memory_table *table, struct memory_key key) {
    size_t low = 0, high = table->count;
    if (high > 0 && is_less(memory_table_at(table, high - 1)->key, key))
        return high; /* most rows are added at the end */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_less(memory_table_at(table, middle)->key, key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct memory_table *table, size_t position, struct memory_key key) {
    if (position == table->count)
        return false;
    const struct memory_entry *entry = memory_table_at(table, position);
    return entry->key.high == key.high && entry->key.low == key.low;
}

/* or NULL */
static void *memory_table_find(const struct memory_table *table, struct memory_key key) {
    size_t position = memory_table_position(table, key);
    return is_at(table, position, key) ? memory_table_at(table, position)->row : NULL;
}

static void insert(struct memory_table *table, size_t position, struct memory_key key, void *row) {
    if (table->first > 0 && table->first + table->count == table->capacity) {
        memmove(table->entries, table->entries + table->first,
                table->count * sizeof(*table->entries));
        table->first = 0;
    }
    table->entries = xgrow(table->entries, &table->capacity, table->first + table->count + 1,
                           sizeof(*table->entries));
    struct memory_entry *at = table->entries + table->first + position;
    memmove(at + 1, at, (table->count - position) * sizeof(*at));
    *at = (struct memory_entry){ .key = key, .row = row };
    table->count++;
}

/* Puts `row` in place of the old row, which it returns; NULL: none. */
static void *exchange(struct memory_table *table, struct memory_key key, void *row) {
    size_t position = memory_table_position(table, key);
    if (!is_at(table, position, key)) {
        if (row)
            insert(table, position, key, row);
        return NULL;
    }
    struct memory_entry *entry = table->entries + table->first + position;
    void *old = entry->row;
    entry->row = row;
    if (row)
        return old;
    table->count--;
    if (position == 0)
        table->first++;
    else
        memmove(entry, entry + 1, (table->count - position) * sizeof(*entry));
    return old;
}

/* Rows are never changed in place: a new row replaces the old one, which is kept until the end of
 * the batch. That frees the old rows, or restores them in reverse order. */
static void memory_journal_end(struct memory_journal *journal, bool is_committed) {
    while (journal->count > 0) {
        struct memory_change *change = &journal->changes[--journal->count];
        free(is_committed ? change->old : exchange(change->table, change->key, change->old));
    }
}

/* --- open, close, load ----------------------------------------------------------------------- */

#define URL_PREFIX "memory:"

/* One for each kind of row, and: */
enum {
    TABLE_EXTERNAL = ROW_KIND_MAX, /* project, external id → number */
    TABLE_DAYS,                    /* the sums of days; ROW_SPENT are those of hours */
    MEMORY_TABLES,
};

/* Survives a close if it has a name. */
struct memory_data {
    struct memory_data *next;
    char *name;
    bool is_open;
    uint64_t epoch;
    struct symbol_table symbols;
    struct memory_table tables[MEMORY_TABLES];
    struct store_numbers last; /* after the last commit */
};

struct memory_store {
    struct store base;
    struct memory_data *data;
    struct memory_journal journal;
};

static struct memory_data *named; /* all named stores */

static struct memory_data *data_new(const char *name) {
    struct memory_data *data = xcalloc(1, sizeof(*data));
    symbol_table_init(&data->symbols);
    if (*name) {
        data->name = xstrdup(name);
        data->next = named;
        named = data;
    }
    return data;
}

static void data_free(struct memory_data *data) {
    for (size_t i = 0; i < MEMORY_TABLES; i++) {
        for (size_t at = 0; at < data->tables[i].count; at++)
            free(memory_table_at(&data->tables[i], at)->row);
        free(data->tables[i].entries);
    }
    symbol_table_finish(&data->symbols);
    free(data->name);
    free(data);
}

static int memory_open(const struct store_options *options, struct store **ret_store,
                       struct store_report *ret_report, struct error *err) {
    const char *name = options->url + strlen(URL_PREFIX);
    struct memory_data *data = *name ? named : NULL;
    while (data && strcmp(data->name, name) != 0)
        data = data->next;
    if (data && data->is_open)
        return error_set(err, -EBUSY, "store '%s' is open already: close it first", options->url);
    bool reads = options->use == STORE_USE_READ;
    if (!data && reads)
        return error_set(err, -ENOENT, "store '%s' is not there", options->url);
    ret_report->created = !data;
    if (!data)
        data = data_new(name);
    data->is_open = true;
    if (!reads) {
        if (data->epoch < options->epoch_above)
            data->epoch = options->epoch_above;
        data->epoch++;
    }
    ret_report->epoch = data->epoch;
    struct memory_store *store = xcalloc(1, sizeof(*store));
    store->data = data;
    store->base.last = data->last;
    *ret_store = &store->base;
    return 0;
}

static void memory_close(struct store *base) {
    struct memory_store *store = (struct memory_store *)base;
    store->data->is_open = false;
    if (!store->data->name)
        data_free(store->data);
    assert(store->journal.count == 0);
    free(store->journal.changes);
    free(store);
}

static struct memory_key key_of(uint64_t number) {
    return (struct memory_key){ .low = number };
}

static void *find(const struct memory_data *data, size_t id, uint64_t number) {
    return memory_table_find(&data->tables[id], key_of(number));
}

static int memory_load(struct store *base, const struct store_reader *reader,
                       struct store_totals *ret_totals, struct error *err) {
    static const enum row_kind kinds[] = { ROW_PROJECT, ROW_LIMITER, ROW_AGENT, ROW_GROUP,
                                           ROW_USAGE,   ROW_WAIT,    ROW_NOTE,  ROW_TASK,
                                           ROW_SPEC,    ROW_RUN };
    const struct memory_data *data = ((struct memory_store *)base)->data;
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        const struct memory_table *table = &data->tables[kinds[i]];
        for (size_t at = 0; r >= 0 && at < table->count; at++) {
            const void *row = memory_table_at(table, at)->row;
            const struct spec_row *spec = row;
            if (kinds[i] == ROW_SPEC && spec->external_id)
                r = store_pass_row(base, reader, ROW_SPEC,
                                   &(struct external_row){ spec->id, spec->external_id }, err);
            else if (kinds[i] != ROW_SPEC
                     && (kinds[i] != ROW_RUN || !((const struct run_row *)row)->ended))
                r = store_pass_row(base, reader, kinds[i], row, err);
        }
    }
    if (r < 0)
        return r;
    const struct memory_table *events = &data->tables[ROW_EVENT];
    const struct pause_row *pause = find(data, ROW_PAUSE, 0);
    *ret_totals = (struct store_totals){
        .last_task = base->last.task,
        .first_event = events->count ? memory_table_at(events, 0)->key.low : 0,
        .last_event = base->last.event,
        .tasks = data->tables[ROW_TASK].count,
        .pause = pause ? *pause : (struct pause_row){ 0 },
    };
    return 0;
}

/* --- writing ------------------------------------------------------------------------------------
 * Every backend must refuse what is refused here, with the same code. */

/* Names as numbers; 0: no name. */
static sym number_of(struct memory_data *data, const char *name) {
    return name ? symbol_intern(&data->symbols, name, strlen(name)) : 0;
}

static uint64_t pair_of(struct memory_data *data, const char *a, const char *b) {
    return (uint64_t)number_of(data, a) << 32 | number_of(data, b);
}

/* Times may be before the epoch. */
static uint64_t time_key(time_ms time) {
    return (uint64_t)time ^ ((uint64_t)1 << 63);
}

/* Replaces the row by `row` (takes ownership); NULL: removes it. */
static void set(struct memory_store *store, size_t id, struct memory_key key, void *row) {
    struct memory_journal *journal = &store->journal;
    struct memory_table *table = &store->data->tables[id];
    journal->changes =
        xgrow(journal->changes, &journal->capacity, journal->count + 1, sizeof(*journal->changes));
    journal->changes[journal->count++] =
        (struct memory_change){ .table = table, .key = key, .old = exchange(table, key, row) };
}

/* Projects are kept in the order of creation. */
static struct memory_key project_key(struct memory_store *store, const struct project_row *row) {
    const struct memory_table *projects = &store->data->tables[ROW_PROJECT];
    uint64_t number = 1;
    for (size_t i = 0; i < projects->count; i++, number++) {
        const struct project_row *old = memory_table_at(projects, i)->row;
        if (strcmp(old->name, row->name) == 0)
            break;
    }
    return key_of(number);
}

static struct memory_key row_key(struct memory_store *store, enum row_kind kind, const void *row) {
    struct memory_data *data = store->data;
    const struct run_row *run = row;
    const struct usage_row *usage = row;
    const struct wait_row *wait = row;
    const struct spent_row *spent = row;
    if (kind == ROW_PAUSE)
        return key_of(0); /* the only row */
    if (kind == ROW_PROJECT)
        return project_key(store, row);
    if (kind == ROW_RUN)
        return (struct memory_key){ run->task, run->attempt };
    if (kind == ROW_USAGE)
        return (struct memory_key){ time_key(usage->bucket), number_of(data, usage->project) };
    if (kind == ROW_WAIT)
        return (struct memory_key){ number_of(data, wait->project),
                                    pair_of(data, wait->limiter, wait->agent) };
    if (kind == ROW_SPENT)
        return (struct memory_key){ time_key(spent->at),
                                    pair_of(data, spent->project, spent->agent) };
    const struct column *id = row_types[kind].columns;
    return key_of(column_is_pointer(id) ? number_of(data, column_text(id, row))
                                        : (uint64_t)column_number(id, row));
}

static struct memory_key external_key(struct memory_store *store, const struct task_row *task,
                                      const struct spec_row *spec) {
    return (struct memory_key){ .high = number_of(store->data, task->project),
                                .low = number_of(store->data, spec->external_id) };
}

static int add_external(struct memory_store *store, const struct store_write *write,
                        const struct task_row *task, struct error *err) {
    if (!write->spec->external_id)
        return 0;
    struct memory_key key = external_key(store, task, write->spec);
    if (memory_table_find(&store->data->tables[TABLE_EXTERNAL], key))
        return store_refuse(write, true, err);
    task_id *number = xmalloc(sizeof(*number));
    *number = task->id;
    set(store, TABLE_EXTERNAL, key, number);
    return 0;
}

static int write_row(void *ctx, const struct store_write *write, struct error *err) {
    struct memory_store *store = ctx;
    enum row_kind of = write->of;
    const struct task_row *task =
        of == ROW_SPEC ? find(store->data, ROW_TASK, write->spec->id) : NULL;
    if (of == ROW_SPEC && !task)
        return 0; /* added and deleted in one batch */
    size_t table = of == ROW_SPENT && write->spent->span == SPENT_DAY ? TABLE_DAYS : of;
    struct memory_key key = row_key(store, of, write->row);
    const void *old = memory_table_find(&store->data->tables[table], key);
    bool must_be_new = of == ROW_TASK || of == ROW_SPEC || of == ROW_EVENT || of == ROW_KEY;
    int r = old && must_be_new ? store_refuse(write, false, err)
            : of == ROW_SPEC   ? add_external(store, write, task, err)
                               : 0;
    if (r < 0)
        return r;
    void *row = row_clone(of, write->row);
    if (of == ROW_LIMITER || of == ROW_AGENT)
        row_strip(of, row);
    if (old && (of == ROW_USAGE || of == ROW_SPENT))
        row_add(of, row, old);
    if (old && of == ROW_PROJECT) {
        _cleanup_(freep) void *changed = row;
        row_keep(of, changed, old, COLUMN_FIXED);
        row = row_clone(of, changed); /* with its own strings */
    }
    set(store, table, key, row);
    return 0;
}

static int change_task(void *ctx, const struct store_write *write, struct error *err) {
    struct memory_store *store = ctx;
    const struct task_row *old = find(store->data, ROW_TASK, write->task->id);
    if (!old)
        return store_refuse(write, false, err);
    struct task_row row = *write->task;
    row_keep(ROW_TASK, &row, old,
             COLUMN_FIXED | (write->flags & STORE_CHANGE_SEEN ? 0 : COLUMN_AGE));
    if (!(write->flags & STORE_CHANGE_NEEDS)) {
        row.depends_on = old->depends_on;
        row.depends_on_count = old->depends_on_count;
    }
    set(store, ROW_TASK, key_of(row.id), row_clone(ROW_TASK, &row));
    return 0;
}

static int put_context(void *ctx, const struct store_write *write, struct error *err) {
    struct memory_store *store = ctx;
    const struct spec_row *old = find(store->data, ROW_SPEC, write->spec->id);
    (void)err;
    if (!old)
        return 0;
    struct spec_row row = *old;
    row.context = write->spec->context;
    set(store, ROW_SPEC, key_of(row.id), row_clone(ROW_SPEC, &row));
    return 0;
}

static int edit_spec(void *ctx, const struct store_write *write, struct error *err) {
    struct memory_store *store = ctx;
    const struct spec_row *old = find(store->data, ROW_SPEC, write->spec->id);
    (void)err;
    if (!old)
        return 0;
    struct spec_row row = *old;
    row.title = write->spec->title;
    row.json = write->spec->json;
    row.json_size = write->spec->json_size;
    set(store, ROW_SPEC, key_of(row.id), row_clone(ROW_SPEC, &row));
    return 0;
}

static void delete_task(struct memory_store *store, task_id id) {
    const struct task_row *task = find(store->data, ROW_TASK, id);
    const struct spec_row *spec = find(store->data, ROW_SPEC, id);
    if (task && spec && spec->external_id)
        set(store, TABLE_EXTERNAL, external_key(store, task, spec), NULL);
    if (spec)
        set(store, ROW_SPEC, key_of(id), NULL);
    if (task)
        set(store, ROW_TASK, key_of(id), NULL);

    struct memory_table *runs = &store->data->tables[ROW_RUN];
    size_t at = memory_table_position(runs, (struct memory_key){ .high = id });
    while (at < runs->count && memory_table_at(runs, at)->key.high == id)
        set(store, ROW_RUN, memory_table_at(runs, at)->key, NULL);

    struct memory_table *events = &store->data->tables[ROW_EVENT];
    for (size_t i = 0; i < events->count; i++) {
        const struct event_row *event = memory_table_at(events, i)->row;
        if (event->task != id)
            continue;
        struct event_row *unlinked = row_clone(ROW_EVENT, event);
        unlinked->task = 0;
        set(store, ROW_EVENT, key_of(event->seq), unlinked);
    }
}

static int delete_row(void *ctx, const struct store_write *write, struct error *err) {
    struct memory_store *store = ctx;
    (void)err;
    if (write->of == ROW_TASK)
        delete_task(store, write->number);
    else
        set(store, write->of,
            write->of == ROW_NOTE ? row_key(store, ROW_NOTE, write->note) : key_of(write->number),
            NULL);
    return 0;
}

static bool is_pruned(const struct store_write *write, const struct memory_entry *entry) {
    if (write->of == ROW_EVENT)
        return entry->key.low < write->number;
    if (write->of == ROW_KEY)
        return ((const struct key_row *)entry->row)->at < write->time;
    return entry->key.high < time_key(write->time);
}

static int prune(void *ctx, const struct store_write *write, struct error *err) {
    struct memory_store *store = ctx;
    size_t id = write->of == ROW_SPENT && write->flags ? TABLE_DAYS : write->of;
    struct memory_table *table = &store->data->tables[id];
    (void)err;
    for (size_t i = 0; i < table->count;) {
        bool pruned = is_pruned(write, memory_table_at(table, i));
        if (pruned)
            set(store, id, memory_table_at(table, i)->key, NULL);
        else if (id == ROW_KEY)
            i++;
        else
            break; /* the following ones are later */
    }
    return 0;
}

static void memory_commit(struct store *base, const struct store_batch *batch) {
    static const store_writer writers[] = {
        [WRITE_ROW] = write_row,  [WRITE_CHANGE] = change_task,  [WRITE_DELETE] = delete_row,
        [WRITE_PRUNE] = prune,    [WRITE_CONTEXT] = put_context, [WRITE_NUMBERS] = NULL,
        [WRITE_EDIT] = edit_spec,
    };
    struct memory_store *store = (struct memory_store *)base;
    struct error err = { 0 };
    bool is_good = store_batch_apply(batch, writers, store, &err) == 0;
    memory_journal_end(&store->journal, is_good);
    if (is_good)
        store->data->last = base->next;
    store_finish_commit(base, is_good ? STORE_OK : STORE_FAILED, &err);
}

/* --- queries ----------------------------------------------------------------------------------
 * Answered by scanning all rows. The answer is copied, because the callback may commit. */

struct query {
    const struct memory_data *data;
    const struct store_query *question;
    struct arena arena;
    char *rows;
    size_t count;
};

static bool is_full(const struct query *query) {
    return query->count == query->question->limit;
}

static void *next_row(struct query *query) {
    return query->rows + query->count++ * store_answer_row(query->question->kind);
}

static void *add(struct query *query, enum row_kind kind, const void *row) {
    return memcpy(next_row(query), row_copy(kind, row, &query->arena), row_types[kind].size);
}

static sym symbol_of(const struct query *query, const char *name) {
    return name ? symbol_find(&query->data->symbols, name, strlen(name)) : 0;
}

static void add_spec(struct query *query, task_id id) {
    const struct spec_row *spec = find(query->data, ROW_SPEC, id);
    const struct task_row *task = find(query->data, ROW_TASK, id);
    enum store_query_kind kind = query->question->kind;
    struct spec_row row = { .id = id, .title = spec && kind == QUERY_TITLES ? spec->title : NULL };
    if (kind == QUERY_CHANGED ? !task : !spec)
        return;
    bool is_complete = kind == QUERY_SPECS || kind == QUERY_EXTERNAL;
    struct spec_row *added = add(query, ROW_SPEC, is_complete ? spec : &row);
    added->changed_at = task ? task->changed_at : 0;
}

static void query_each(struct query *query) {
    for (size_t i = 0; i < query->question->task_count && !is_full(query); i++)
        add_spec(query, query->question->tasks[i]);
}

static void query_external(struct query *query) {
    struct memory_key key = { .high = symbol_of(query, query->question->project),
                              .low = symbol_of(query, query->question->key) };
    const task_id *number = memory_table_find(&query->data->tables[TABLE_EXTERNAL], key);
    if (number)
        add_spec(query, *number);
}

static void query_runs(struct query *query) {
    const struct store_query *question = query->question;
    const struct memory_table *runs = &query->data->tables[ROW_RUN];
    struct memory_key after = { .high = question->place.task,
                                .low = (uint64_t)question->place.attempt + 1 };
    struct memory_key before = { .high = question->task + (question->before == 0),
                                 .low = question->before };
    size_t at = memory_table_position(runs, question->task ? before : after);
    for (; question->task == 0 && at < runs->count && !is_full(query); at++)
        add(query, ROW_RUN, memory_table_at(runs, at)->row);
    while (question->task && at > 0 && !is_full(query)) {
        const struct run_row *row = memory_table_at(runs, --at)->row;
        if (row->task != question->task)
            break;
        add(query, ROW_RUN, row);
    }
}

static void query_events(struct query *query) {
    const struct store_query *question = query->question;
    const struct memory_table *events = &query->data->tables[ROW_EVENT];
    bool back = question->kind == QUERY_EVENTS_BACK;
    size_t first = memory_table_position(events, key_of(question->after + 1));
    size_t end =
        question->before ? memory_table_position(events, key_of(question->before)) : events->count;
    size_t count = back ? end : events->count - first;
    for (size_t i = 0; i < count && !is_full(query); i++) {
        const struct event_row *row = memory_table_at(events, back ? end - 1 - i : first + i)->row;
        if (question->task == 0 || row->task == question->task)
            add(query, ROW_EVENT, row);
    }
}

static void query_key(struct query *query) {
    const struct key_row *row = find(query->data, ROW_KEY, symbol_of(query, query->question->key));
    if (row)
        add(query, ROW_KEY, row);
}

/* --- sorting --------------------------------------------------------------------------------- */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_key(const void *a, const void *b) {
    const struct key_row *x = *(const struct key_row *const *)a;
    const struct key_row *y = *(const struct key_row *const *)b;
    return strcmp(x->key, y->key);
}

static bool is_after_key(const struct store_query *question, const void *row) {
    return !question->key || strcmp(((const struct key_row *)row)->key, question->key) > 0;
}

static int by_change(const void *a, const void *b) {
    const struct task_row *x = *(const struct task_row *const *)a;
    const struct task_row *y = *(const struct task_row *const *)b;
    int order = COMPARE(x->changed_at, y->changed_at);
    return order ? order : COMPARE(x->id, y->id);
}

static bool is_expired(const struct store_query *question, const void *row) {
    const struct task_row *task = row;
    return task_state_is_final(task->spec.state) && task->changed_at < question->before_time;
}

/* Latest first. */
static int by_end(const void *a, const void *b) {
    const struct run_row *x = *(const struct run_row *const *)a;
    const struct run_row *y = *(const struct run_row *const *)b;
    int order = COMPARE(y->ended_at, x->ended_at);
    if (order == 0)
        order = COMPARE(y->task, x->task);
    return order ? order : COMPARE(y->attempt, x->attempt);
}

static bool has_ended_before(const struct store_query *question, const void *row) {
    const struct store_cursor *place = &question->place;
    const struct run_row end = { .ended_at = place->ended_at,
                                 .task = place->task,
                                 .attempt = place->attempt };
    const struct run_row *run = row, *last = &end;
    return run->ended && run->ended_at >= question->since && by_end(&run, &last) > 0;
}

/* The matching rows, in order. */
static void query_sorted(struct query *query) {
    static const struct {
        enum row_kind kind;
        bool (*is_wanted)(const struct store_query *question, const void *row);
        int (*order)(const void *a, const void *b);
    } queries[] = { [QUERY_KEYS] = { ROW_KEY, is_after_key, by_key },
                    [QUERY_EXPIRED] = { ROW_TASK, is_expired, by_change },
                    [QUERY_ENDED] = { ROW_RUN, has_ended_before, by_end } };
    enum store_query_kind kind = query->question->kind;
    assert(queries[kind].is_wanted && queries[kind].order);
    const struct memory_table *table = &query->data->tables[queries[kind].kind];
    const void **found = arena_alloc(&query->arena, (table->count + 1) * sizeof(*found));
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++)
        if (queries[kind].is_wanted(query->question, memory_table_at(table, i)->row))
            found[count++] = memory_table_at(table, i)->row;
    qsort(found, count, sizeof(*found), queries[kind].order);
    for (size_t i = 0; i < count && !is_full(query); i++)
        if (kind != QUERY_EXPIRED)
            add(query, queries[kind].kind, found[i]);
        else if (i >= query->question->after)
            *(task_id *)next_row(query) = ((const struct task_row *)found[i])->id;
}

static int by_span(const void *a, const void *b, void *ctx) {
    const struct spent_row *x = a, *y = b;
    const struct query *query = ctx;
    bool by_agent = query->question->by_agent;
    int order = COMPARE(x->at, y->at);
    if (order == 0)
        order = COMPARE(symbol_of(query, by_agent ? x->agent : x->project),
                        symbol_of(query, by_agent ? y->agent : y->project));
    if (order == 0 && query->question->apart)
        order = COMPARE(symbol_of(query, x->agent), symbol_of(query, y->agent));
    return order;
}

static void query_spent(struct query *query) {
    const struct store_query *question = query->question;
    const struct memory_table *table =
        &query->data->tables[question->days ? (size_t)TABLE_DAYS : ROW_SPENT];
    struct spent_row *all = arena_alloc(&query->arena, (table->count + 1) * sizeof(*all));
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct spent_row *row = memory_table_at(table, i)->row;
        if (row->at >= question->since && row->at < question->before_time)
            all[count++] = *row;
    }
    qsort_r(all, count, sizeof(*all), by_span, query);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && by_span(&all[kept - 1], &all[i], query) == 0)
            row_add(ROW_SPENT, &all[kept - 1], &all[i]);
        else
            all[kept++] = all[i];
    }
    for (size_t i = question->after; i < kept && !is_full(query); i++) {
        struct spent_row *row = add(query, ROW_SPENT, &all[i]);
        if (!question->apart)
            *(question->by_agent ? &row->project : &row->agent) = NULL;
    }
}

static void memory_query(struct store *base, const struct store_query *question,
                         store_answered done, void *ctx) {
    static void (*const functions[])(struct query * query) = {
        [QUERY_SPECS] = query_each,     [QUERY_RUNS] = query_runs,
        [QUERY_EVENTS] = query_events,  [QUERY_EVENTS_BACK] = query_events,
        [QUERY_KEY] = query_key,        [QUERY_EXTERNAL] = query_external,
        [QUERY_EXPIRED] = query_sorted, [QUERY_CHANGED] = query_each,
        [QUERY_TITLES] = query_each,    [QUERY_ENDED] = query_sorted,
        [QUERY_SPENT] = query_spent,    [QUERY_KEYS] = query_sorted,
    };
    _Static_assert(ARRAY_SIZE(functions) == QUERY_KIND_MAX, "a question has no function");
    struct query query = { .data = ((struct memory_store *)base)->data, .question = question };
    query.rows = arena_alloc(&query.arena, question->limit * store_answer_row(question->kind));
    functions[question->kind](&query);
    store_answer(done, ctx, query.rows, query.count, &(struct error){ 0 });
    arena_finish(&query.arena);
}

static void memory_info(const struct store *base, struct store_info *ret) {
    const struct memory_store *store = (const struct memory_store *)base;
    ret->place = store->data->name ? store->data->name : "";
}

const struct store_backend memory_backend = {
    .name = "memory",
    .open = memory_open,
    .close = memory_close,
    .load = memory_load,
    .commit = memory_commit,
    .query = memory_query,
    .info = memory_info,
};
