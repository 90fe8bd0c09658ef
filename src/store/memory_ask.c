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

static void ask_all_runs(struct asked *asked) {
    const struct memory_table *runs = table_of(asked, TABLE_RUNS);
    struct run_row *rows = room(asked, sizeof(*rows));
    struct memory_key behind = { .high = asked->question->place.task,
                                 .low = (uint64_t)asked->question->place.attempt + 1 };
    for (size_t at = memory_table_position(runs, behind); at < runs->count && !is_full(asked); at++)
        rows[asked->answer.count++] =
            *(struct run_row *)row_copy(ROW_RUN, memory_table_at(runs, at)->row, &asked->arena);
    asked->answer.runs = rows;
}

static void ask_runs(struct asked *asked) {
    if (asked->question->task == 0) {
        ask_all_runs(asked);
        return;
    }
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

static int by_key(const void *a, const void *b) {
    const struct key_row *x = *(const struct key_row *const *)a;
    const struct key_row *y = *(const struct key_row *const *)b;
    return strcmp(x->key, y->key);
}

static void ask_keys(struct asked *asked) {
    const struct memory_table *keys = table_of(asked, TABLE_KEYS);
    const char *behind = asked->question->key;
    const struct key_row **found = arena_alloc(&asked->arena, (keys->count + 1) * sizeof(*found));
    size_t count = 0;
    for (size_t i = 0; i < keys->count; i++) {
        const struct key_row *row = memory_table_at(keys, i)->row;
        if (!behind || strcmp(row->key, behind) > 0)
            found[count++] = row;
    }
    qsort(found, count, sizeof(*found), by_key);
    struct key_row *rows = room(asked, sizeof(*rows));
    for (size_t i = 0; i < count && !is_full(asked); i++)
        rows[asked->answer.count++] = *(struct key_row *)row_copy(ROW_KEY, found[i], &asked->arena);
    asked->answer.key = rows;
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

static void ask_titles(struct asked *asked) {
    struct spec_row *rows = room(asked, sizeof(*rows));
    for (size_t i = 0; i < asked->question->task_count && !is_full(asked); i++) {
        struct memory_key key = { .low = asked->question->tasks[i] };
        const struct spec_row *row = memory_table_find(table_of(asked, TABLE_SPECS), key);
        const struct task_row *task = memory_table_find(table_of(asked, TABLE_TASKS), key);
        if (row)
            rows[asked->answer.count++] = (struct spec_row){
                .id = row->id,
                .title = row->title ? arena_strdup(&asked->arena, row->title) : NULL,
                .changed_at = task ? task->changed_at : 0,
            };
    }
    asked->answer.specs = rows;
}

/* --- what has ended ------------------------------------------------------------------------------ */

/* Latest first. */
static int by_end(const void *a, const void *b) {
    const struct run_row *x = *(const struct run_row *const *)a;
    const struct run_row *y = *(const struct run_row *const *)b;
    if (x->ended_at != y->ended_at)
        return x->ended_at > y->ended_at ? -1 : 1;
    if (x->task != y->task)
        return x->task > y->task ? -1 : 1;
    return x->attempt > y->attempt ? -1 : x->attempt < y->attempt;
}

static void ask_ended(struct asked *asked) {
    const struct store_place *place = &asked->question->place;
    const struct run_row end = { .ended_at = place->ended_at,
                                 .task = place->task,
                                 .attempt = place->attempt };
    const struct run_row *last = &end;
    const struct memory_table *runs = table_of(asked, TABLE_RUNS);
    const struct run_row **found = arena_alloc(&asked->arena, (runs->count + 1) * sizeof(*found));
    size_t count = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const struct run_row *row = memory_table_at(runs, i)->row;
        if (row->ended && row->ended_at >= asked->question->since && by_end(&row, &last) > 0)
            found[count++] = row;
    }
    qsort(found, count, sizeof(*found), by_end);
    struct run_row *rows = room(asked, sizeof(*rows));
    for (size_t i = 0; i < count && !is_full(asked); i++)
        rows[asked->answer.count++] = *(struct run_row *)row_copy(ROW_RUN, found[i], &asked->arena);
    asked->answer.runs = rows;
}

/* --- what was used ------------------------------------------------------------------------------- */

void memory_sum_spent(struct spent_row *row, const struct spent_row *more) {
    row->runs += more->runs;
    row->ok += more->ok;
    row->busy_ms += more->busy_ms;
    row->tokens_in += more->tokens_in;
    row->tokens_out += more->tokens_out;
    row->tokens_cached += more->tokens_cached;
    row->cost_micro_usd += more->cost_micro_usd;
    row->unknown_tokens += more->unknown_tokens;
    row->unknown_cost += more->unknown_cost;
}

static sym spent_name(const struct asked *asked, const struct spent_row *row) {
    return find_symbol(asked, asked->question->by_agent ? row->agent : row->project);
}

static int by_span(const void *a, const void *b, void *ctx) {
    const struct spent_row *x = a, *y = b;
    const struct asked *asked = ctx;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    sym left = spent_name(ctx, x), right = spent_name(ctx, y);
    if (left == right && asked->question->apart) {
        left = find_symbol(asked, x->agent);
        right = find_symbol(asked, y->agent);
    }
    return left < right ? -1 : left > right;
}

static void ask_spent(struct asked *asked) {
    const struct store_question *question = asked->question;
    const struct memory_table *table = table_of(asked, question->days ? TABLE_DAYS : TABLE_HOURS);
    struct spent_row *all = arena_alloc(&asked->arena, (table->count + 1) * sizeof(*all));
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct spent_row *row = memory_table_at(table, i)->row;
        if (row->at >= question->since && row->at < question->before_time)
            all[count++] = *row;
    }
    qsort_r(all, count, sizeof(*all), by_span, asked);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && by_span(&all[kept - 1], &all[i], asked) == 0)
            memory_sum_spent(&all[kept - 1], &all[i]);
        else
            all[kept++] = all[i];
    }
    struct spent_row *rows = room(asked, sizeof(*rows));
    for (size_t i = question->after; i < kept && !is_full(asked); i++) {
        struct spent_row *row = row_copy(ROW_SPENT, &all[i], &asked->arena);
        if (!question->apart)
            *(question->by_agent ? &row->project : &row->agent) = NULL;
        rows[asked->answer.count++] = *row;
    }
    asked->answer.spent = rows;
}

void memory_ask(struct store *base, const struct store_question *question, store_answered done,
                void *ctx) {
    static void (*const functions[])(struct asked * asked) = {
        [ASK_SPECS] = ask_specs,     [ASK_RUNS] = ask_runs,
        [ASK_EVENTS] = ask_events,   [ASK_EVENTS_BACK] = ask_events_back,
        [ASK_KEY] = ask_key,         [ASK_EXTERNAL] = ask_external,
        [ASK_EXPIRED] = ask_expired, [ASK_CHANGED] = ask_changed,
        [ASK_TITLES] = ask_titles,   [ASK_ENDED] = ask_ended,
        [ASK_SPENT] = ask_spent,     [ASK_KEYS] = ask_keys,
    };
    _Static_assert(ARRAY_SIZE(functions) == STORE_QUESTION_MAX, "a question has no function");
    struct asked asked = { .data = ((struct memory_store *)base)->data, .question = question };
    functions[question->kind](&asked);
    done(ctx, &asked.answer, NULL);
    arena_finish(&asked.arena);
}
