/* cmd_debug.c: `debug outcome` reads the output of an agent as the daemon does, `debug events`
 * prints the stored events. `debug scheduler` is in cmd_plan.c. */
#include <string.h>
#include <time.h>

#include "agent/agent.h"
#include "base/json_write.h"
#include "cli/event_list.h"
#include "cli/request.h"
#include "os/clock.h"
#include "os/files.h"

DEFINE_FREEP(struct agent_reader, agent_reader_free);

typedef void (*feed_function)(struct agent_reader *, const char *, size_t);

/* Reads a file of any size in chunks. */
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

static void put_count(struct json_writer *w, const char *key, int64_t count) {
    if (count < 0)
        json_put_null(w, key);
    else
        json_put_int(w, key, count);
}

static void put_outcome(const struct agent_outcome *o, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_object_begin(&w);
    json_put_string(&w, "outcome", agent_result_name(o->result));
    put_count(&w, "reset_at", o->reset_at > 0 ? o->reset_at : -1);
    json_put_object(&w, "tokens");
    put_count(&w, "in", o->usage.in);
    put_count(&w, "out", o->usage.out);
    put_count(&w, "cached", o->usage.cached);
    json_write_object_end(&w);
    if (o->usage.cost_micro_usd < 0)
        json_put_null(&w, "cost_usd");
    else
        json_put_double(&w, "cost_usd", (double)o->usage.cost_micro_usd / 1e6, 6);
    json_put_string(&w, "session", o->session[0] ? o->session : NULL);
    json_put_string(&w, "message", o->message[0] ? o->message : NULL);
    json_write_object_end(&w);
    strbuf_putc(out, '\n');
}

/* 128 + N is signal N, as in shells, but only for signals that end programs: some agents exit with
 * the low bits of an HTTP status. */
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

static int outcome_run(const struct cmd_call *call) {
    const char *name = cmd_value(call, "agent"), *errors = cmd_value(call, "stderr");
    const char *usage = cmd_value(call, "usage");
    int64_t code = -1;
    int r = cmd_number(call, "exit", 0, 255, &code);
    if (r != CMD_OK)
        return r;
    if (!name || code < 0)
        return cmd_usage_error(call->cmd, "option '--%s' is required", name ? "exit" : "agent");
    const struct agent_adapter *adapter = agent_adapter_find(name);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT, usage_text = STRBUF_INIT;
    if (!adapter) {
        cmd_warn("unknown adapter '%s': expected one of %s", name,
                 agent_print_names(AGENT_LIST_ALL, ", ", &out));
        return CMD_USAGE;
    }
    if (errors && strcmp(errors, "-") == 0 && strcmp(call->args[0], "-") == 0)
        return cmd_usage_error(call->cmd, "both files are the standard input");
    _cleanup_(agent_reader_freep) struct agent_reader *reader = agent_reader_new(adapter);
    r = feed_file(reader, call->args[0], agent_reader_stdout);
    if (r == CMD_OK && errors)
        r = feed_file(reader, errors, agent_reader_stderr);
    struct error err = { 0 };
    if (r == CMD_OK && usage) {
        if (file_read_any(usage, AGENT_USAGE_FILE_MAX, &usage_text, &err) < 0)
            return cmd_error(&err);
        agent_reader_usage(reader, strbuf_text(&usage_text), usage_text.length);
    }
    if (r != CMD_OK)
        return r;
    struct agent_end end = end_of(code);
    struct agent_outcome outcome;
    agent_reader_end(reader, &end, &outcome);
    put_outcome(&outcome, &out);
    output_rest(&out);
    return CMD_OK;
}

static const struct cmd debug_outcome = {
    "debug outcome", outcome_run, 1, 1,
    CMD_OPTIONS({ "agent", 0, "NAME", "the adapter that parses it: claude, codex, gemini, …" },
                { "exit", 0, "CODE", "the exit code; 128 + N for signal N" },
                { "stderr", 0, "FILE", "a file with its standard error" },
                { "usage", 0, "FILE", "its usage file, if the adapter uses one" })
};

struct events {
    struct strbuf out;
    bool json, any;
};

static void print_event(void *ctx, const json_t *event) {
    struct events *e = ctx;
    if (e->json)
        strbuf_puts(&e->out, e->any ? "," : "[");
    output_put_json(event, &e->out);
    e->any = true;
    output_some(&e->out);
}

/* Every stored event, or those after one, for defect reports. */
static int events_run(const struct cmd_call *call) {
    int64_t number = 0;
    int code = cmd_number(call, "after", 0, INT64_MAX, &number);
    if (code != CMD_OK)
        return code;
    _cleanup_(request_finish) struct request req = { 0 };
    struct events e = { .json = call->json };
    code = event_list_after(&req, NULL, number, SIZE_MAX, print_event, &e);
    if (code == CMD_OK && e.json)
        strbuf_puts(&e.out, e.any ? "]\n" : "[]\n");
    output_rest(&e.out);
    strbuf_finish(&e.out);
    return code;
}

static const struct cmd debug_events = {
    "debug events", events_run, 0, 0,
    CMD_OPTIONS({ "after", 0, "N", "only events after number N; default 0, all stored events" })
};
extern const struct cmd debug_scheduler;
const struct cmd cmd_debug = { "debug",
                               .subs = CMD_LIST(&debug_events, &debug_outcome, &debug_scheduler) };
