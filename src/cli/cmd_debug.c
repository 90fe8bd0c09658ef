/* cmd_debug.c: looks inside. `debug scheduler` lists the candidates the way document 000 does, of a
 * snapshot or of the daemon's queue; `debug events` prints what happened as data; `debug outcome` reads an
 * agent's output. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "base/json_write.h"
#include "cli/ask.h"
#include "cli/event_list.h"
#include "cli/print_task.h"
#include "cli/snapshot_file.h"
#include "os/clock.h"
#include "os/files.h"

/* --- scheduler: of the daemon -------------------------------------------------------------------- */

#define CANDIDATES_MOST 2000000
#define SCHEDULER_COLUMNS                                                                          \
    {                                                                                              \
        { "ID" }, { "TYPE" }, { "PRIORITY" }, { "AGE" }, { "DEPTH" }, { "ITER" }, {                \
            "RUNNABLE"                                                                             \
        }                                                                                          \
    }

/* Two or three words for a gate's code ("project-budget"), or the code itself: the column is
 * narrow, and `sluice why` has the sentence. */
static const char *debug_short_reason(const char *gate) {
    static const char *const words[][2] = {
        { "paused", "paused" },
        { "project", "project inactive" },
        { "held", "held" },
        { "dependency", "dependency incomplete" },
        { "parent", "parent incomplete" },
        { "artifact", "artifact missing" },
        { "breaker", "breaker open" },
        { "limiter", "rate limited" },
        { "host", "host short" },
        { "budget", "budget used up" },
        { "project-budget", "project budget used up" },
        { "pace", "paced" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i][0], gate) == 0)
            return words[i][1];
    return gate;
}

static int compare_items(const void *left, const void *right) {
    const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
    int64_t scores[] = { ask_int(a, "score", 0), ask_int(b, "score", 0) };
    if (scores[0] != scores[1])
        return scores[0] > scores[1] ? -1 : 1;
    int64_t times[] = { ask_int(a, "created_at", 0), ask_int(b, "created_at", 0) };
    return times[0] < times[1] ? -1 : times[0] > times[1];
}

static void print_json(json_t *const *items, size_t count, time_ms now, struct strbuf *out) {
    strbuf_puts(out, "{\"tasks\":[");
    for (size_t i = 0; i < count; i++) {
        const char *gate = ask_text(items[i], "gate", NULL);
        json_t *row = json_pack(
            "{s:s?, s:s?, s:I, s:I, s:O?, s:O?, s:b, s:s?}", "id", ask_text(items[i], "id", NULL),
            "type", ask_text(items[i], "kind", NULL), "priority",
            (json_int_t)ask_int(items[i], "score", 0), "age_ms",
            (json_int_t)(now - ask_int(items[i], "created_at", now)), "depth",
            json_object_get(items[i], "depth"), "iteration", json_object_get(items[i], "iteration"),
            "runnable", gate == NULL, "reason", gate ? debug_short_reason(gate) : NULL);
        strbuf_puts(out, i ? ",\n" : "\n");
        ask_dump(row, out);
        out->text[--out->length] = '\0'; /* the newline: it goes behind the comma */
        json_decref(row);
        output_some(out);
    }
    strbuf_puts(out, "]}\n");
}

static void print_table(json_t *const *items, size_t count, time_ms now, struct strbuf *out) {
    struct output_column columns[] = SCHEDULER_COLUMNS;
    _cleanup_(rows_finish) struct rows rows = { columns, ARRAY_SIZE(columns) };
    _cleanup_(strbuf_finish) struct strbuf runnable = STRBUF_INIT;
    for (size_t i = 0; i < count; i++) {
        const char *gate = ask_text(items[i], "gate", NULL);
        strbuf_clear(&runnable);
        if (gate)
            strbuf_printf(&runnable, "no (%s)", debug_short_reason(gate));
        else
            strbuf_puts(&runnable, "yes");
        rows_add(&rows, (const char *[]){
                            ask_text(items[i], "id", NULL),
                            ask_text(items[i], "kind", NULL),
                            cell_number(items[i], "score").text,
                            output_span(now - ask_int(items[i], "created_at", now)).text,
                            cell_number(items[i], "depth").text,
                            cell_number(items[i], "iteration").text,
                            strbuf_text(&runnable),
                        });
    }
    if (count == 0)
        output_head(columns, ARRAY_SIZE(columns), out);
    rows_print(&rows, out);
}

static int debug_live_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(client_answer_freep) json_t *found = json_array();
    int code = ask_open(&ask, ASK_RUNNING);
    if (code == CMD_OK)
        code = ask_pages(&ask, "/v1/tasks?state=waiting,ready,held&limit=1000", CANDIDATES_MOST,
                         ask_append, found);
    if (code != CMD_OK)
        return code;
    size_t count = json_array_size(found);
    _cleanup_(freep) json_t **items = xcalloc(count + 1, sizeof(json_t *));
    for (size_t i = 0; i < count; i++)
        items[i] = json_array_get(found, i);
    qsort(items, count, sizeof(json_t *), compare_items);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    time_ms now = clock_read();
    if (call->json)
        print_json(items, count, now, &out);
    else
        print_table(items, count, now, &out);
    output_rest(&out);
    return CMD_OK;
}

/* --- scheduler: of a snapshot -------------------------------------------------------------------- */

DEFINE_FREEP(struct snapshot, snapshot_free);

struct candidate {
    task_id task;
    time_ms created_at;
    int32_t score;
};

struct listing {
    const struct snapshot *snapshot;
    struct core *core;
    const struct symbol_table *symbols;
    const struct candidate *candidates;
    struct strbuf out, reason, runnable; /* scratch for one row, as those below */
    char score[16], depth[16], iteration[16];
    struct output_span age;
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

static bool fill_candidate(void *ctx, size_t row, bool printing, const char **cells) {
    struct listing *l = ctx;
    struct task_view v;
    struct verdict verdict;
    (void)printing;
    (void)core_task(l->core, l->candidates[row].task, &v);
    strbuf_clear(&l->runnable);
    if (core_blocked(l->core, v.id, &verdict)) {
        short_reason(l, &verdict);
        strbuf_printf(&l->runnable, "no (%s)", strbuf_text(&l->reason));
    } else {
        strbuf_puts(&l->runnable, "yes");
    }
    (void)snprintf(l->score, sizeof(l->score), "%" PRId32, v.score);
    (void)snprintf(l->depth, sizeof(l->depth), "%" PRIu32, v.depth);
    (void)snprintf(l->iteration, sizeof(l->iteration), "%" PRIu32, v.iteration);
    l->age = output_span(snapshot_now(l->snapshot) - v.created_at);
    cells[0] = snapshot_task_name(l->snapshot, v.id);
    cells[1] = v.kind ? symbol_name(l->symbols, v.kind) : "-";
    cells[2] = l->score;
    cells[3] = l->age.text;
    cells[4] = l->depth;
    cells[5] = l->iteration;
    cells[6] = strbuf_text(&l->runnable);
    return true;
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
    struct output_column columns[] = SCHEDULER_COLUMNS;
    l.candidates = candidates;
    if (call->json)
        write_json(&l, candidates, count);
    else
        output_table(&(struct output_table){ columns, ARRAY_SIZE(columns), fill_candidate, &l },
                     count, &l.out);
    output_rest(&l.out);
    free(candidates);
    strbuf_finish(&l.out);
    strbuf_finish(&l.reason);
    strbuf_finish(&l.runnable);
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

/* --- outcome: the same reader as for a run, on a file -------------------------------------------- */

DEFINE_FREEP(struct agent_reader, agent_reader_free);

typedef void (*feed_function)(struct agent_reader *, const char *, size_t);

/* A file of any size in pieces. */
static int feed_file(struct agent_reader *reader, const char *path, feed_function feed) {
    static char piece[64 * 1024];
    struct error err = { 0 };
    FILE *file;
    if (file_open(path, &file, &err) < 0)
        return cmd_error(&err);
    size_t size;
    while ((size = fread(piece, 1, sizeof(piece), file)) > 0)
        feed(reader, piece, size);
    bool failed = ferror(file);
    if (failed)
        (void)error_set_errno(&err, "read", path);
    file_close(file);
    return failed ? cmd_error(&err) : CMD_OK;
}

static int feed_usage(struct agent_reader *reader, const char *path) {
    _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
    struct error err = { 0 };
    if (file_read_any(path, AGENT_USAGE_FILE_MAX, &bytes, &err) < 0)
        return cmd_error(&err);
    agent_reader_usage(reader, strbuf_text(&bytes), bytes.length);
    return CMD_OK;
}

static void put_count(struct json_writer *w, const char *key, int64_t count) {
    json_write_key(w, key);
    if (count < 0)
        json_write_null(w);
    else
        json_write_int(w, count);
}

static void put_outcome(const struct agent_outcome *o, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_object_begin(&w);
    json_write_key(&w, "outcome");
    json_write_string(&w, agent_result_name(o->result));
    put_count(&w, "reset_at", o->reset_at > 0 ? o->reset_at : -1);
    json_write_key(&w, "tokens");
    json_write_object_begin(&w);
    put_count(&w, "in", o->usage.in);
    put_count(&w, "out", o->usage.out);
    put_count(&w, "cached", o->usage.cached);
    json_write_object_end(&w);
    json_write_key(&w, "cost_usd");
    if (o->usage.cost_micro_usd < 0)
        json_write_null(&w);
    else
        json_write_double(&w, (double)o->usage.cost_micro_usd / 1e6, 6);
    json_write_key(&w, "session");
    json_write_string(&w, o->session[0] ? o->session : NULL);
    json_write_key(&w, "message");
    json_write_string(&w, o->message[0] ? o->message : NULL);
    json_write_object_end(&w);
    strbuf_putc(out, '\n');
}

/* 128 + N is signal N, as shells print it; but not where it is none that ends programs: some agents leave
 * with the lower bits of an HTTP status. */
static struct agent_end end_of(int64_t code) {
    struct agent_end end = { .code = (int)code, .now = clock_read() };
    int64_t signal = code - 128;
    if (signal > 0 && signal < 32 && signal != 16) {
        end.code = -1;
        end.signal = (int)signal;
    }
    time_t seconds = (time_t)(end.now / 1000);
    struct tm local;
    if (localtime_r(&seconds, &local))
        end.utc_offset_s = (int32_t)local.tm_gmtoff;
    return end;
}

static int unknown_adapter(const char *name) {
    _cleanup_(strbuf_finish) struct strbuf list = STRBUF_INIT;
    cmd_warn("unknown adapter '%s': expected one of %s", name,
             agent_names(AGENT_LIST_ALL, ", ", &list));
    return CMD_USAGE;
}

static int outcome_run(const struct cmd_call *call) {
    const char *name = cmd_value(call, "agent"), *errors = cmd_value(call, "stderr");
    const char *usage = cmd_value(call, "usage");
    int64_t code = -1;
    int r = cmd_number(call, "exit", 0, 255, &code);
    if (r != CMD_OK)
        return r;
    if (!name || code < 0)
        return cmd_usage_error(call->cmd, "option '--%s' is missing", name ? "exit" : "agent");
    const struct agent_adapter *adapter = agent_adapter_find(name);
    if (!adapter)
        return unknown_adapter(name);
    if (errors && strcmp(errors, "-") == 0 && strcmp(call->args[0], "-") == 0)
        return cmd_usage_error(call->cmd, "both files are the standard input");
    _cleanup_(agent_reader_freep) struct agent_reader *reader = agent_reader_new(adapter);
    r = feed_file(reader, call->args[0], agent_reader_out);
    if (r == CMD_OK && errors)
        r = feed_file(reader, errors, agent_reader_err);
    if (r == CMD_OK && usage)
        r = feed_usage(reader, usage);
    if (r != CMD_OK)
        return r;
    struct agent_end end = end_of(code);
    struct agent_outcome outcome;
    agent_reader_end(reader, &end, &outcome);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    put_outcome(&outcome, &out);
    output_rest(&out);
    return CMD_OK;
}

static const struct cmd_option outcome_options[] = {
    { "agent", 0, "NAME", "the adapter that reads it: claude, codex, gemini, …" },
    { "exit", 0, "CODE", "the exit code; 128 + N for signal N" },
    { "stderr", 0, "FILE", "what it printed on the standard error" },
    { "usage", 0, "FILE", "the file that it wrote its usage to, where the adapter asks for one" },
    { NULL },
};

static const struct cmd debug_outcome = { "debug outcome", .options = outcome_options,
                                          .min_args = 1, .max_args = 1, .run = outcome_run };

/* --- events -------------------------------------------------------------------------------------- */

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
