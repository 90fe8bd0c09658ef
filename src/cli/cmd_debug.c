/* cmd_debug.c: looks inside. `debug scheduler` lists the candidates the way document 000 does, of a
 * snapshot or of the daemon's queue; `debug events` prints what happened as data; `debug outcome` reads an
 * agent's output (debug_outcome.c). */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/debug_live.h"
#include "cli/debug_outcome.h"
#include "cli/event_list.h"
#include "cli/output.h"
#include "cli/snapshot_file.h"

DEFINE_FREEP(struct snapshot, snapshot_free);

struct listing {
    const struct snapshot *snapshot;
    struct core *core;
    const struct symbol_table *symbols;
    struct strbuf out, reason;
};

struct candidate {
    task_id task;
    time_ms created_at;
    int32_t score;
};

/* Score, higher first; then older first; then the order of the file. */
static int compare(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->created_at != b->created_at)
        return a->created_at < b->created_at ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

static struct candidate *find_candidates(const struct listing *l, size_t *ret_count) {
    size_t tasks = snapshot_task_count(l->snapshot), count = 0;
    struct candidate *found = xcalloc(tasks + 1, sizeof(*found));
    for (task_id task = 1; task <= tasks; task++) {
        struct task_view v;
        if (core_task(l->core, task, &v)
            && (v.state == TASK_WAITING || v.state == TASK_READY || v.state == TASK_HELD))
            found[count++] = (struct candidate){ task, v.created_at, v.score };
    }
    qsort(found, count, sizeof(*found), compare);
    *ret_count = count;
    return found;
}

static void short_reason(struct listing *l, const struct verdict *v) {
    strbuf_clear(&l->reason);
    if (v->gate == GATE_LEASE)
        verdict_code(v, l->symbols, &l->reason);
    else
        strbuf_puts(&l->reason, debug_short_reason(gate_name(v->gate)));
}

static void write_json(struct listing *l, const struct candidate *candidates, size_t count) {
    strbuf_puts(&l->out, "{\"tasks\":[");
    time_ms now = snapshot_now(l->snapshot);
    for (size_t i = 0; i < count; i++) {
        struct task_view v;
        struct verdict verdict;
        (void)core_task(l->core, candidates[i].task, &v);
        bool blocked = core_blocked(l->core, candidates[i].task, &verdict);
        if (blocked)
            short_reason(l, &verdict);
        strbuf_puts(&l->out, i ? ",\n" : "\n");
        struct json_writer w;
        json_write_init(&w, &l->out, false);
        json_write_object_begin(&w);
        json_write_key(&w, "id");
        json_write_string(&w, snapshot_task_name(l->snapshot, v.id));
        json_write_key(&w, "type");
        json_write_string(&w, v.kind ? symbol_name(l->symbols, v.kind) : NULL);
        json_write_key(&w, "priority");
        json_write_int(&w, v.score);
        json_write_key(&w, "age_ms");
        json_write_int(&w, now - v.created_at);
        json_write_key(&w, "depth");
        json_write_int(&w, v.depth);
        json_write_key(&w, "iteration");
        json_write_int(&w, v.iteration);
        json_write_key(&w, "runnable");
        json_write_bool(&w, !blocked);
        json_write_key(&w, "reason");
        json_write_string(&w, blocked ? strbuf_text(&l->reason) : NULL);
        json_write_object_end(&w);
        output_some(&l->out);
    }
    strbuf_puts(&l->out, "]}\n");
}

static void write_table(struct listing *l, const struct candidate *candidates, size_t count) {
    struct output_column columns[] = { { "ID" },    { "TYPE" }, { "PRIORITY" }, { "AGE" },
                                       { "DEPTH" }, { "ITER" }, { "RUNNABLE" } };
    _cleanup_(strbuf_finish) struct strbuf runnable = STRBUF_INIT;
    time_ms now = snapshot_now(l->snapshot);
    for (int printing = 0; printing < 2; printing++) {
        if (printing)
            output_head(columns, ARRAY_SIZE(columns), &l->out);
        for (size_t i = 0; i < count; i++) {
            struct task_view v;
            struct verdict verdict;
            (void)core_task(l->core, candidates[i].task, &v);
            strbuf_clear(&runnable);
            if (core_blocked(l->core, v.id, &verdict)) {
                short_reason(l, &verdict);
                strbuf_printf(&runnable, "no (%s)", strbuf_text(&l->reason));
            } else {
                strbuf_puts(&runnable, "yes");
            }
            char score[16], depth[16], iteration[16];
            (void)snprintf(score, sizeof(score), "%" PRId32, v.score);
            (void)snprintf(depth, sizeof(depth), "%" PRIu32, v.depth);
            (void)snprintf(iteration, sizeof(iteration), "%" PRIu32, v.iteration);
            struct output_span age = output_span(now - v.created_at);
            const char *cells[] = {
                snapshot_task_name(l->snapshot, v.id),
                v.kind ? symbol_name(l->symbols, v.kind) : "-",
                score,
                age.text,
                depth,
                iteration,
                strbuf_text(&runnable),
            };
            if (printing)
                output_row(columns, ARRAY_SIZE(columns), cells, &l->out);
            else
                output_measure(columns, ARRAY_SIZE(columns), cells);
            output_some(&l->out);
        }
    }
}

static int scheduler_run(const struct cmd_call *call) {
    const char *path = cmd_value(call, "snapshot");
    if (!path && cmd_has(call, "set"))
        return cmd_usage_error(call->cmd, "option '--set' needs --snapshot");
    if (!path)
        return debug_live_run(call);
    _cleanup_(snapshot_freep) struct snapshot *snapshot = NULL;
    int code = snapshot_file_read(call, path, &snapshot);
    if (code != CMD_OK)
        return code;
    struct listing l = {
        .snapshot = snapshot,
        .core = snapshot_core(snapshot),
        .symbols = core_symbols(snapshot_core(snapshot)),
    };
    size_t count;
    struct candidate *candidates = find_candidates(&l, &count);
    if (call->json)
        write_json(&l, candidates, count);
    else
        write_table(&l, candidates, count);
    output_rest(&l.out);
    free(candidates);
    strbuf_finish(&l.out);
    strbuf_finish(&l.reason);
    return CMD_OK;
}

static const struct cmd_option scheduler_options[] = {
    { "snapshot", 0, "FILE",
      "the queue to look at instead of the daemon's; - is the standard input" },
    SNAPSHOT_FILE_OPTION,
    { NULL },
};

static const struct cmd debug_scheduler = { "debug scheduler", .options = scheduler_options,
                                            .run = scheduler_run };

struct events {
    struct strbuf out;
    bool json, any;
};

static void print_event(void *ctx, const json_t *event) {
    struct events *e = ctx;
    if (e->json)
        strbuf_puts(&e->out, e->any ? "," : "[");
    ask_dump(event, &e->out);
    e->any = true;
    output_some(&e->out);
}

/* Every event that is kept, or those behind one: what a report of a defect needs. */
static int events_run(const struct cmd_call *call) {
    int64_t number = 0;
    int code = cmd_number(call, "after", 0, INT64_MAX, &number);
    if (code != CMD_OK)
        return code;
    _cleanup_(ask_finish) struct ask ask = { 0 };
    struct events e = { .json = call->json };
    code = ask_open(&ask, ASK_RUNNING);
    if (code == CMD_OK)
        code = event_list_after(&ask, NULL, number, SIZE_MAX, print_event, &e);
    if (code == CMD_OK && e.json)
        strbuf_puts(&e.out, e.any ? "]\n" : "[]\n");
    output_rest(&e.out);
    strbuf_finish(&e.out);
    return code;
}

static const struct cmd_option events_options[] = {
    { "after", 0, "N", "those behind event number N; 0, all that are kept" },
    { NULL },
};

static const struct cmd debug_events = { "debug events", .options = events_options,
                                         .run = events_run };

const struct cmd cmd_debug = { "debug",
                               .subs = CMD_LIST(&debug_events, &debug_outcome, &debug_scheduler) };
