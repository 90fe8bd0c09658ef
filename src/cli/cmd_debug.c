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

/* --- scheduler ----------------------------------------------------------------------------------- */

#define CANDIDATES_MOST 2000000

DEFINE_FREEP(struct snapshot, snapshot_free);

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

/* A task that waits: one of the daemon's, or of a snapshot. */
struct candidate {
    int64_t score;
    time_ms created_at;
    size_t number;      /* in the answer, or the task of the snapshot */
    const json_t *item; /* NULL: of the snapshot */
};

struct listing {
    struct candidate *candidates;
    size_t count;
    time_ms now;
    const struct snapshot *snapshot; /* NULL: the daemon's */
    struct core *core;
    struct strbuf out, reason, runnable; /* scratch for one row, as those below */
    char score[24], depth[24], iteration[24];
    struct output_span age;
};

static void listing_finish(struct listing *l) {
    free(l->candidates);
    strbuf_finish(&l->out);
    strbuf_finish(&l->reason);
    strbuf_finish(&l->runnable);
}

/* What is shown of one. */
struct row {
    const char *id, *kind, *reason; /* reason NULL: it could start */
    int64_t score, age, depth, iteration;
};

/* Score, higher first; then older first; then in their order. */
static int compare(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->created_at != b->created_at)
        return a->created_at < b->created_at ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static const char *short_reason(struct listing *l, const struct verdict *v) {
    if (v->gate != GATE_LEASE)
        return debug_short_reason(gate_name(v->gate));
    strbuf_clear(&l->reason);
    verdict_code(v, core_symbols(l->core), &l->reason);
    return strbuf_text(&l->reason);
}

static struct row row_at(struct listing *l, size_t i) {
    const struct candidate *c = &l->candidates[i];
    struct row row = { .score = c->score, .age = l->now - c->created_at };
    if (c->item) {
        const char *gate = ask_text(c->item, "gate", NULL);
        row.id = ask_text(c->item, "id", "?");
        row.kind = ask_text(c->item, "kind", NULL);
        row.reason = gate ? debug_short_reason(gate) : NULL;
        row.depth = ask_int(c->item, "depth", 0);
        row.iteration = ask_int(c->item, "iteration", 0);
        return row;
    }
    struct task_view v;
    struct verdict verdict;
    (void)core_task(l->core, (task_id)c->number, &v);
    row.id = snapshot_task_name(l->snapshot, v.id);
    row.kind = v.kind ? symbol_name(core_symbols(l->core), v.kind) : NULL;
    row.reason = core_blocked(l->core, v.id, &verdict) ? short_reason(l, &verdict) : NULL;
    row.depth = v.depth;
    row.iteration = v.iteration;
    return row;
}

/* One line per task: easy to read, to grep and to compare. */
static void write_json(struct listing *l) {
    strbuf_puts(&l->out, "{\"tasks\":[");
    for (size_t i = 0; i < l->count; i++) {
        struct row row = row_at(l, i);
        json_t *value =
            json_pack("{s:s, s:s?, s:I, s:I, s:I, s:I, s:b, s:s?}", "id", row.id, "type", row.kind,
                      "priority", (json_int_t)row.score, "age_ms", (json_int_t)row.age, "depth",
                      (json_int_t)row.depth, "iteration", (json_int_t)row.iteration, "runnable",
                      row.reason == NULL, "reason", row.reason);
        strbuf_puts(&l->out, i ? ",\n" : "\n");
        print_value(&l->out, value);
        json_decref(value);
        output_some(&l->out);
    }
    strbuf_puts(&l->out, "]}\n");
}

static bool fill_row(void *ctx, size_t i, bool printing, const char **cells) {
    struct listing *l = ctx;
    struct row row = row_at(l, i);
    (void)printing;
    strbuf_clear(&l->runnable);
    if (row.reason)
        strbuf_printf(&l->runnable, "no (%s)", row.reason);
    else
        strbuf_puts(&l->runnable, "yes");
    (void)snprintf(l->score, sizeof(l->score), "%" PRId64, row.score);
    (void)snprintf(l->depth, sizeof(l->depth), "%" PRId64, row.depth);
    (void)snprintf(l->iteration, sizeof(l->iteration), "%" PRId64, row.iteration);
    l->age = output_span(row.age);
    cells[0] = row.id;
    cells[1] = row.kind ? row.kind : "-";
    cells[2] = l->score;
    cells[3] = l->age.text;
    cells[4] = l->depth;
    cells[5] = l->iteration;
    cells[6] = strbuf_text(&l->runnable);
    return true;
}

static int print_listing(const struct cmd_call *call, struct listing *l) {
    struct output_column columns[] = {
        { "ID" }, { "TYPE" }, { "PRIORITY" }, { "AGE" }, { "DEPTH" }, { "ITER" }, { "RUNNABLE" },
    };
    if (l->count > 0)
        qsort(l->candidates, l->count, sizeof(*l->candidates), compare);
    if (call->json)
        write_json(l);
    else
        output_table(&(struct output_table){ columns, ARRAY_SIZE(columns), fill_row, l }, l->count,
                     &l->out);
    output_rest(&l->out);
    return CMD_OK;
}

static int list_live(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(client_answer_freep) json_t *found = json_array();
    _cleanup_(listing_finish) struct listing l = { 0 };
    int code = ask_open(&ask, ASK_RUNNING);
    if (code == CMD_OK)
        code = ask_pages(&ask, "/v1/tasks?state=waiting,ready,held&limit=1000", CANDIDATES_MOST,
                         ask_append, found);
    if (code != CMD_OK)
        return code;
    l.now = clock_read();
    l.candidates = xcalloc(json_array_size(found) + 1, sizeof(*l.candidates));
    ASK_EACH(item, found) {
        l.candidates[l.count] =
            (struct candidate){ ask_int(item, "score", 0), ask_int(item, "created_at", l.now),
                                l.count, item };
        l.count++;
    }
    return print_listing(call, &l);
}

static int scheduler_run(const struct cmd_call *call) {
    const char *path = cmd_value(call, "snapshot");
    if (!path && cmd_has(call, "set"))
        return cmd_usage_error(call->cmd, "option '--set' needs --snapshot");
    if (!path)
        return list_live(call);
    _cleanup_(snapshot_freep) struct snapshot *snapshot = NULL;
    int code = snapshot_file_read(call, path, &snapshot);
    if (code != CMD_OK)
        return code;
    _cleanup_(listing_finish) struct listing l = { .snapshot = snapshot,
                                                   .core = snapshot_core(snapshot),
                                                   .now = snapshot_now(snapshot) };
    size_t tasks = snapshot_task_count(snapshot);
    l.candidates = xcalloc(tasks + 1, sizeof(*l.candidates));
    for (task_id task = 1; task <= tasks; task++) {
        struct task_view v;
        if (core_task(l.core, task, &v)
            && (v.state == TASK_WAITING || v.state == TASK_READY || v.state == TASK_HELD))
            l.candidates[l.count++] = (struct candidate){ v.score, v.created_at, task, NULL };
    }
    return print_listing(call, &l);
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
