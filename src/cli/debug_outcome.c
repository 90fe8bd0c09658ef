/* debug_outcome.c: what would the daemon make of this output? The same reader as for a run, on a file: for
 * a run that was judged wrongly, and for who writes an adapter. Needs no daemon. */
#include "cli/debug_outcome.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"
#include "base/json_write.h"
#include "cli/output.h"
#include "os/clock.h"
#include "os/files.h"

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

const struct cmd debug_outcome = { "debug outcome", .options = outcome_options, .min_args = 1,
                                   .max_args = 1, .run = outcome_run };
