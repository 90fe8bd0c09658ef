/* cmd_plan.c: decides once for a snapshot and shows what starts and why the rest does not.
 *
 * No daemon, no effect. The reasons are asked for task by task while printing, so a million waiting
 * tasks cost time but no memory. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "cli/cmd.h"
#include "cli/output.h"
#include "cli/print_task.h"
#include "cli/snapshot_file.h"
#include "os/files.h"
#include "os/terminal.h"

int snapshot_file_read(const struct cmd_call *call, const char *path, struct snapshot **ret) {
    struct error err = { 0 };
    FILE *file;
    if (file_open(path, &file, &err) < 0)
        return cmd_error(&err);
    size_t count = 0;
    const char **overrides = xcalloc(call->given_count + 1, sizeof(*overrides));
    while ((overrides[count] = cmd_value_at(call, "set", count)))
        count++;
    struct snapshot_options options = { overrides, count };
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    int r = snapshot_read(file, name, &options, ret, &err);
    free(overrides);
    file_close(file);
    return r < 0 ? cmd_error(&err) : CMD_OK;
}

#define SHOWN_MAX 20 /* rows of a list on a terminal */

DEFINE_FREEP(struct snapshot, snapshot_free);

struct plan {
    const struct snapshot *snapshot;
    struct core *core;
    const struct symbol_table *symbols;
    struct task_names names;
    const struct order *orders;
    size_t order_count, start_count;
    size_t shown_max;
    struct strbuf out, code, sentence; /* scratch for one row */
    const struct waiting *waiting;
    struct output_span span;
};

/* A task that waits, and the group it is shown in. */
struct waiting {
    task_id task;
    unsigned group;
};

#define GROUP_MAX (GATE_MAX * LEASE_KIND_MAX)

static const char *symbol_or_dash(const struct plan *p, sym symbol) {
    return symbol ? symbol_name(p->symbols, symbol) : "-";
}

/* Is it listed under `blocked`? Fills why it waits. */
static bool is_waiting(const struct plan *p, task_id task, struct verdict *ret) {
    struct task_view view;
    if (!core_task(p->core, task, &view))
        return false;
    if (view.state != TASK_WAITING && view.state != TASK_READY && view.state != TASK_HELD)
        return false;
    return core_blocked(p->core, task, ret);
}

static void explain_code(struct plan *p, const struct verdict *verdict) {
    strbuf_clear(&p->code);
    verdict_code(verdict, p->symbols, &p->code);
}

static void explain(struct plan *p, const struct verdict *verdict) {
    explain_code(p, verdict);
    strbuf_clear(&p->sentence);
    verdict_sentence(verdict, p->symbols, &p->names, &p->sentence);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void write_time(struct json_writer *w, const char *key, time_ms at) {
    json_write_key(w, key);
    if (at == TIME_NEVER)
        json_write_null(w);
    else
        json_write_int(w, at);
}

static void write_text(struct json_writer *w, const char *key, const char *text) {
    json_write_key(w, key);
    json_write_string(w, text);
}

static void write_start(struct plan *p, const struct order *order) {
    struct json_writer w;
    json_write_init(&w, &p->out, false);
    json_write_object_begin(&w);
    write_text(&w, "task", snapshot_task_name(p->snapshot, order->task));
    write_text(&w, "project", order->project ? symbol_name(p->symbols, order->project) : NULL);
    write_text(&w, "agent", order->agent ? symbol_name(p->symbols, order->agent) : NULL);
    json_write_key(&w, "score");
    json_write_int(&w, order->score);
    json_write_object_end(&w);
}

static void write_blocked(struct plan *p, task_id task, const struct verdict *verdict) {
    explain(p, verdict);
    struct json_writer w;
    json_write_init(&w, &p->out, false);
    json_write_object_begin(&w);
    write_text(&w, "task", snapshot_task_name(p->snapshot, task));
    write_text(&w, "gate", strbuf_text(&p->code));
    write_text(&w, "reason", strbuf_text(&p->sentence));
    write_time(&w, "opens_at", verdict->opens_at);
    json_write_object_end(&w);
}

/* One line per entry: easy to read, to grep and to compare. */
static void next_entry(struct plan *p, size_t *count) {
    strbuf_puts(&p->out, (*count)++ ? ",\n" : "\n");
    output_some(&p->out);
}

static void print_json(struct plan *p) {
    size_t count = 0;
    strbuf_puts(&p->out, "{\"start\":[");
    for (size_t i = 0; i < p->order_count; i++) {
        if (p->orders[i].kind != ORDER_START)
            continue;
        next_entry(p, &count);
        write_start(p, &p->orders[i]);
    }
    strbuf_puts(&p->out, "],\n\"blocked\":[");
    count = 0;
    size_t tasks = snapshot_task_count(p->snapshot);
    for (task_id task = 1; task <= tasks; task++) {
        struct verdict verdict;
        if (!is_waiting(p, task, &verdict))
            continue;
        next_entry(p, &count);
        write_blocked(p, task, &verdict);
    }
    strbuf_puts(&p->out, "],\n\"next_wakeup\":");
    struct json_writer w;
    json_write_init(&w, &p->out, false);
    time_ms next = core_next_wakeup(p->core);
    if (next == TIME_NEVER)
        json_write_null(&w);
    else
        json_write_int(&w, next);
    strbuf_puts(&p->out, "}\n");
}

/* --- for people ------------------------------------------------------------------------------ */

static void put_title(struct plan *p, const char *colour, const char *title) {
    strbuf_printf(&p->out, "%s%s%s%s\n", output_style()->bold, colour, title,
                  output_style()->reset);
}

static void print_cut(struct plan *p, size_t count) {
    if (count > p->shown_max)
        strbuf_printf(&p->out, "  ... and %zu more; --all shows them\n", count - p->shown_max);
    strbuf_putc(&p->out, '\n');
}

static void print_starts(struct plan *p) {
    if (p->start_count == 0)
        return;
    struct output_column columns[] = {
        { "#", .right = true }, { "TASK" }, { "PROJECT" }, { "AGENT" }, { "SCORE" },
    };
    _cleanup_(rows_finish) struct rows rows = { columns, ARRAY_SIZE(columns) };
    put_title(p, output_style()->green, "starts now");
    size_t number = 0;
    for (size_t i = 0; i < p->order_count && number < p->shown_max; i++) {
        const struct order *o = &p->orders[i];
        char place[24], score[16];
        if (o->kind != ORDER_START)
            continue;
        (void)snprintf(place, sizeof(place), "%zu", ++number);
        (void)snprintf(score, sizeof(score), "%d", o->score);
        rows_add(&rows, (const char *[]){ place, snapshot_task_name(p->snapshot, o->task),
                                          symbol_or_dash(p, o->project),
                                          symbol_or_dash(p, o->agent), score });
    }
    rows_print(&rows, &p->out);
    print_cut(p, p->start_count);
}

/* All that wait, those of one gate together, else in the order of the file. */
static struct waiting *find_waiting(struct plan *p, size_t *ret_count) {
    size_t tasks = snapshot_task_count(p->snapshot), count = 0, capacity = 0;
    struct waiting *found = NULL;
    size_t starts[GROUP_MAX + 1] = { 0 };
    for (task_id task = 1; task <= tasks; task++) {
        struct verdict v;
        if (!is_waiting(p, task, &v))
            continue;
        unsigned lease = v.gate == GATE_LEASE ? (unsigned)v.lease : 0;
        found = xgrow(found, &capacity, count + 1, sizeof(*found));
        found[count] = (struct waiting){ task, (unsigned)v.gate * LEASE_KIND_MAX + lease };
        starts[found[count++].group + 1]++;
    }
    for (size_t i = 1; i <= GROUP_MAX; i++)
        starts[i] += starts[i - 1];
    struct waiting *sorted = xcalloc(count + 1, sizeof(*sorted));
    for (size_t i = 0; i < count; i++)
        sorted[starts[found[i].group]++] = found[i];
    free(found);
    *ret_count = count;
    return sorted;
}

static bool fill_waiting(void *ctx, size_t row, bool printing, const char **cells) {
    struct plan *p = ctx;
    struct verdict v;
    if (!core_blocked(p->core, p->waiting[row].task, &v))
        return false;
    explain_code(p, &v);
    strbuf_clear(&p->sentence);
    if (printing)
        verdict_sentence(&v, p->symbols, &p->names, &p->sentence);
    p->span = (struct output_span){ "-" };
    if (v.opens_at != TIME_NEVER)
        p->span = output_span(v.opens_at - snapshot_now(p->snapshot));
    cells[0] = snapshot_task_name(p->snapshot, p->waiting[row].task);
    cells[1] = strbuf_text(&p->code);
    cells[2] = p->span.text;
    cells[3] = strbuf_text(&p->sentence);
    return true;
}

static void print_waiting(struct plan *p, const struct waiting *waiting, size_t count) {
    if (count == 0)
        return;
    struct output_column columns[] = { { "TASK" }, { "GATE" }, { "OPENS IN" }, { "WHY" } };
    put_title(p, output_style()->yellow, "waits");
    p->waiting = waiting;
    output_table(&(struct output_table){ columns, ARRAY_SIZE(columns), fill_waiting, p },
                 count < p->shown_max ? count : p->shown_max, &p->out);
    print_cut(p, count);
}

static void put_count(struct plan *p, size_t count, const char *what, bool *any) {
    if (count > 0)
        strbuf_printf(&p->out, "%s%zu %s", *any ? ", " : "", count, what);
    *any |= count > 0;
}

static void print_closing(struct plan *p, const struct waiting *waiting, size_t count) {
    size_t by_gate[GATE_MAX] = { 0 };
    for (size_t i = 0; i < count; i++)
        by_gate[waiting[i].group / LEASE_KIND_MAX]++;
    struct core_counts counts;
    core_count(p->core, &counts);
    size_t tasks = snapshot_task_count(p->snapshot), finished = 0;
    size_t live = counts.by_state[TASK_STARTING] + counts.by_state[TASK_RUNNING] - p->start_count;
    for (int state = 0; state < TASK_STATE_MAX; state++)
        if (task_state_is_final((enum task_state)state))
            finished += counts.by_state[state];
    strbuf_printf(&p->out, "%zu task%s: ", tasks, tasks == 1 ? "" : "s");
    bool any = false;
    put_count(p, p->start_count, "start", &any);
    put_count(p, count, "wait", &any);
    for (int gate = 0, first = 1; gate < GATE_MAX; gate++) {
        if (by_gate[gate] == 0)
            continue;
        strbuf_printf(&p->out, "%s%zu %s", first ? " (" : ", ", by_gate[gate],
                      gate_name((enum gate)gate));
        first = 0;
    }
    strbuf_puts(&p->out, count > 0 ? ")" : "");
    put_count(p, live, "running", &any);
    put_count(p, counts.by_state[TASK_DRAFT], "draft", &any);
    put_count(p, finished, "finished", &any);
    strbuf_puts(&p->out, any ? "\n" : "nothing to do\n");
    time_ms next = core_next_wakeup(p->core);
    if (next != TIME_NEVER)
        strbuf_printf(&p->out, "next look in %s\n",
                      output_span(next - snapshot_now(p->snapshot)).text);
}

static void print_text(struct plan *p) {
    size_t count;
    struct waiting *waiting = find_waiting(p, &count);
    print_starts(p);
    print_waiting(p, waiting, count);
    print_closing(p, waiting, count);
    free(waiting);
}

static int cmd_plan_run(const struct cmd_call *call) {
    _cleanup_(snapshot_freep) struct snapshot *snapshot = NULL;
    int code = snapshot_file_read(call, call->args[0], &snapshot);
    if (code != CMD_OK)
        return code;
    struct plan p = {
        .snapshot = snapshot,
        .core = snapshot_core(snapshot),
        .symbols = core_symbols(snapshot_core(snapshot)),
        .names = snapshot_names(snapshot),
        .shown_max = cmd_has(call, "all") || !terminal_is(stdout) ? SIZE_MAX : SHOWN_MAX,
    };
    p.orders = core_decide(p.core, &p.order_count);
    for (size_t i = 0; i < p.order_count; i++)
        p.start_count += p.orders[i].kind == ORDER_START;
    if (call->json)
        print_json(&p);
    else
        print_text(&p);
    output_rest(&p.out);
    strbuf_finish(&p.out);
    strbuf_finish(&p.code);
    strbuf_finish(&p.sentence);
    return CMD_OK;
}

static const struct cmd_option plan_options[] = {
    { "all", 'a', NULL, "show every row on a terminal too" },
    SNAPSHOT_FILE_OPTION,
    { NULL },
};

const struct cmd cmd_plan = { "plan", .options = plan_options, .min_args = 1, .max_args = 1,
                              .run = cmd_plan_run };
