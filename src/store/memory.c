/* memory.c: what a store must do, without a disk.
 *
 * The reference: plain tables, searched from end to end where a database has an index. Tests and
 * the simulation use it, and the suite in tests/store/ holds every other backend against it.
 *
 * "memory:" is gone when it is closed. "memory:NAME" stays for the rest of the process, so that a
 * test can play the end of a daemon and its next start.
 */
#include "store/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define URL_PREFIX "memory:"

static struct memory_data *named; /* every store with a name */

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
    for (size_t i = 0; i < MEMORY_TABLES; i++)
        memory_table_finish(&data->tables[i]);
    symbol_table_finish(&data->symbols);
    free(data->name);
    free(data);
}

static struct memory_data *data_find(const char *name) {
    struct memory_data *data = *name ? named : NULL;
    while (data && strcmp(data->name, name) != 0)
        data = data->next;
    return data;
}

sym memory_symbol(struct memory_data *data, const char *name) {
    return name ? symbol_intern(&data->symbols, name, strlen(name)) : 0;
}

static int memory_open(const struct store_options *options, struct store **ret_store,
                       struct store_report *ret_report, struct error *err) {
    const char *name = options->url + strlen(URL_PREFIX);
    struct memory_data *data = data_find(name);
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
    *ret_store = &store->base;
    return 0;
}

static void memory_close(struct store *base) {
    struct memory_store *store = (struct memory_store *)base;
    store->data->is_open = false;
    if (!store->data->name)
        data_free(store->data);
    memory_journal_finish(&store->journal);
    free(store);
}

/* A reader and whose rows it gets. */
struct reading {
    const struct store *store;
    const struct store_reader *reader;
};

typedef int (*row_reader)(void *ctx, const void *row, struct error *err);

static int read_table(const struct memory_table *table, row_reader read, void *ctx,
                      struct error *err) {
    int r = 0;
    for (size_t i = 0; r >= 0 && i < table->count; i++)
        r = read(ctx, memory_table_at(table, i)->row, err);
    return r < 0 ? r : 0;
}

/* One typed callback as one that takes any row. */
#define READER(name)                                                                               \
    static int read_##name(void *ctx, const void *row, struct error *err) {                        \
        const struct store_reader *reader = ((struct reading *)ctx)->reader;                       \
        return reader->name ? reader->name(reader->ctx, row, err) : 0;                             \
    }                                                                                              \
    struct reader_needs_a_semicolon_
READER(project);
READER(limiter);
READER(agent);
READER(group);
READER(usage);
READER(wait);
READER(task);
#undef READER

static int read_run(void *ctx, const void *row, struct error *err) {
    const struct store_reader *reader = ((struct reading *)ctx)->reader;
    const struct run_row *run = row;
    return reader->run && !run->ended ? reader->run(reader->ctx, run, err) : 0;
}

static int read_external(void *ctx, const void *row, struct error *err) {
    const struct store_reader *reader = ((struct reading *)ctx)->reader;
    const struct spec_row *spec = row;
    if (!reader->external || !spec->external_id)
        return 0;
    return reader->external(reader->ctx, &(struct external_row){ spec->id, spec->external_id },
                            err);
}

static int read_note(void *ctx, const void *row, struct error *err) {
    const struct reading *reading = ctx;
    return store_load_note(reading->store, reading->reader, row, err);
}

static int memory_load(struct store *base, const struct store_reader *reader,
                       struct store_totals *ret_totals, struct error *err) {
    static const struct {
        enum memory_table_id table;
        row_reader read;
    } parts[] = {
        { TABLE_PROJECTS, read_project }, { TABLE_LIMITERS, read_limiter },
        { TABLE_AGENTS, read_agent },     { TABLE_GROUPS, read_group },
        { TABLE_USAGE, read_usage },      { TABLE_WAITS, read_wait },
        { TABLE_NOTES, read_note },       { TABLE_TASKS, read_task },
        { TABLE_SPECS, read_external },   { TABLE_RUNS, read_run },
    };
    const struct memory_data *data = ((struct memory_store *)base)->data;
    struct reading reading = { base, reader };
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        int r = read_table(&data->tables[parts[i].table], parts[i].read, &reading, err);
        if (r < 0)
            return r;
    }
    const struct memory_table *events = &data->tables[TABLE_EVENTS];
    *ret_totals = (struct store_totals){
        .last_task = data->last_task,
        .first_event = events->count ? memory_table_at(events, 0)->key.low : 0,
        .last_event = data->last_event,
        .tasks = data->tables[TABLE_TASKS].count,
        .pause = {
            .paused = data->paused,
            .by = data->paused_by ? symbol_name(&data->symbols, data->paused_by) : NULL,
            .at = data->paused_at,
        },
    };
    return 0;
}

static void memory_commit(struct store *base, const struct store_batch *batch) {
    struct memory_store *store = (struct memory_store *)base;
    struct memory_data *data = store->data;
    task_id last_task = data->last_task;
    uint64_t last_event = data->last_event;
    bool paused = data->paused;
    sym paused_by = data->paused_by;
    time_ms paused_at = data->paused_at;
    struct error err = { 0 };
    int r = 0;
    for (unsigned round = 0; round < STORE_ROUNDS; round++)
        for (size_t i = 0; r >= 0 && i < batch->count; i++)
            if (store_write_round(&batch->writes[i]) == round)
                r = memory_write(store, &batch->writes[i], &err);
    if (r < 0) {
        memory_undo(&store->journal);
        data->last_task = last_task;
        data->last_event = last_event;
        data->paused = paused;
        data->paused_by = paused_by;
        data->paused_at = paused_at;
        store_finish_commit(base, STORE_FAILED, &err);
        return;
    }
    memory_settle(&store->journal);
    store_finish_commit(base, STORE_OK, NULL);
}

static time_ms memory_maintain(struct store *base, time_ms idle_ms) {
    (void)base;
    (void)idle_ms;
    return TIME_NEVER;
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
    .ask = memory_ask,
    .maintain = memory_maintain,
    .info = memory_info,
};
