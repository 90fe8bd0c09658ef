/* memory_ask.c: the same questions, answered by looking at every row.
 *
 * The answer is copied, because whoever gets it may commit before it returns.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/memory.h"

struct asked {
    const struct memory_data *data;
    const struct store_question *question;
    struct arena arena;
    struct store_answer answer;
};

static const struct memory_table *table_of(const struct asked *asked, enum memory_table_id id) {
    return &asked->data->tables[id];
}

static bool is_full(const struct asked *asked) {
    return asked->answer.count == asked->question->limit;
}

static void *room(struct asked *asked, size_t row_size) {
    return arena_alloc(&asked->arena, asked->question->limit * row_size);
}

static void copy_spec(struct asked *asked, const struct spec_row *row, struct spec_row *ret) {
    struct memory_key key = { .low = row->id };
    const struct task_row *task = memory_table_find(table_of(asked, TABLE_TASKS), key);
    *ret = *(struct spec_row *)row_copy(ROW_SPEC, row, &asked->arena);
    ret->changed_at = task ? task->changed_at : 0;
}

static void ask_specs(struct asked *asked) {
    struct spec_row *rows = room(asked, sizeof(*rows));
    for (size_t i = 0; i < asked->question->task_count && !is_full(asked); i++) {
        struct memory_key key = { .low = asked->question->tasks[i] };
        const struct spec_row *row = memory_table_find(table_of(asked, TABLE_SPECS), key);
        if (row)
            copy_spec(asked, row, &rows[asked->answer.count++]);
    }
    asked->answer.specs = rows;
}

static void ask_changed(struct asked *asked) {
    struct spec_row *rows = room(asked, sizeof(*rows));
    for (size_t i = 0; i < asked->question->task_count && !is_full(asked); i++) {
        struct memory_key key = { .low = asked->question->tasks[i] };
        const struct task_row *row = memory_table_find(table_of(asked, TABLE_TASKS), key);
        if (row)
            rows[asked->answer.count++] =
                (struct spec_row){ .id = row->id, .changed_at = row->changed_at };
    }
    asked->answer.specs = rows;
}

static void ask_runs(struct asked *asked) {
    const struct store_question *question = asked->question;
    const struct memory_table *runs = table_of(asked, TABLE_RUNS);
    struct run_row *rows = room(asked, sizeof(*rows));
    struct memory_key below = { .high = question->task + (question->before == 0),
                                .low = question->before };
    size_t at = memory_table_position(runs, below);
    while (at > 0 && !is_full(asked)) {
        const struct run_row *row = memory_table_at(runs, --at)->row;
        if (row->task != question->task)
            break;
        rows[asked->answer.count++] = *(struct run_row *)row_copy(ROW_RUN, row, &asked->arena);
    }
    asked->answer.runs = rows;
}

static void add_event(struct asked *asked, struct event_row *rows, size_t at) {
    const struct event_row *row = memory_table_at(table_of(asked, TABLE_EVENTS), at)->row;
    if (asked->question->task == 0 || row->task == asked->question->task)
        rows[asked->answer.count++] = *(struct event_row *)row_copy(ROW_EVENT, row, &asked->arena);
}

static void ask_events(struct asked *asked) {
    const struct memory_table *events = table_of(asked, TABLE_EVENTS);
    struct event_row *rows = room(asked, sizeof(*rows));
    struct memory_key after = { .low = asked->question->after + 1 };
    for (size_t at = memory_table_position(events, after); at < events->count && !is_full(asked);
         at++)
        add_event(asked, rows, at);
    asked->answer.events = rows;
}

static void ask_events_back(struct asked *asked) {
    const struct memory_table *events = table_of(asked, TABLE_EVENTS);
    struct event_row *rows = room(asked, sizeof(*rows));
    struct memory_key before = { .low = asked->question->before };
    size_t at = before.low ? memory_table_position(events, before) : events->count;
    while (at > 0 && !is_full(asked))
        add_event(asked, rows, --at);
    asked->answer.events = rows;
}

static sym find_symbol(const struct asked *asked, const char *name) {
    return name ? symbol_find(&asked->data->symbols, name, strlen(name)) : 0;
}

static void ask_key(struct asked *asked) {
    struct memory_key key = { .low = find_symbol(asked, asked->question->key) };
    const struct key_row *row = memory_table_find(table_of(asked, TABLE_KEYS), key);
    if (!row)
        return;
    asked->answer.key = row_copy(ROW_KEY, row, &asked->arena);
    asked->answer.count = 1;
}

static void ask_external(struct asked *asked) {
    struct memory_key key = { .high = find_symbol(asked, asked->question->project),
                              .low = find_symbol(asked, asked->question->key) };
    const task_id *number = memory_table_find(table_of(asked, TABLE_EXTERNAL), key);
    if (!number)
        return;
    struct memory_key spec = { .low = *number };
    const struct spec_row *row = memory_table_find(table_of(asked, TABLE_SPECS), spec);
    assert(row);
    struct spec_row *rows = room(asked, sizeof(*rows));
    copy_spec(asked, row, rows);
    asked->answer.specs = rows;
    asked->answer.count = 1;
}

static int by_change(const void *a, const void *b) {
    const struct task_row *x = *(const struct task_row *const *)a;
    const struct task_row *y = *(const struct task_row *const *)b;
    if (x->changed_at != y->changed_at)
        return x->changed_at < y->changed_at ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void ask_expired(struct asked *asked) {
    const struct memory_table *tasks = table_of(asked, TABLE_TASKS);
    const struct task_row **found = arena_alloc(&asked->arena, tasks->count * sizeof(*found));
    size_t count = 0;
    for (size_t i = 0; i < tasks->count; i++) {
        const struct task_row *row = memory_table_at(tasks, i)->row;
        if (task_state_is_final(row->told.state) && row->changed_at < asked->question->before_time)
            found[count++] = row;
    }
    if (count > 1)
        qsort(found, count, sizeof(*found), by_change);
    task_id *numbers = room(asked, sizeof(*numbers));
    for (size_t i = asked->question->after; i < count && !is_full(asked); i++)
        numbers[asked->answer.count++] = found[i]->id;
    asked->answer.tasks = numbers;
}

void memory_ask(struct store *base, const struct store_question *question, store_answered done,
                void *ctx) {
    static void (*const functions[])(struct asked * asked) = {
        [ASK_SPECS] = ask_specs,     [ASK_RUNS] = ask_runs,
        [ASK_EVENTS] = ask_events,   [ASK_EVENTS_BACK] = ask_events_back,
        [ASK_KEY] = ask_key,         [ASK_EXTERNAL] = ask_external,
        [ASK_EXPIRED] = ask_expired, [ASK_CHANGED] = ask_changed,
    };
    _Static_assert(ARRAY_SIZE(functions) == STORE_QUESTION_MAX, "a question has no function");
    struct asked asked = { .data = ((struct memory_store *)base)->data, .question = question };
    functions[question->kind](&asked);
    done(ctx, &asked.answer, NULL);
    arena_finish(&asked.arena);
}
