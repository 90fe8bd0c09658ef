/* run_record.c: what a shim says of itself (started) and of its run (end).
 *
 * The end is JSON, because people and other programs read it too; it is one line, so that it can also
 * travel through the pipe to the daemon when no disk takes it. */
#include "rundir/rundir.h"

#include "base/macros.h"
#include "rundir/record.h"

static const char *const kind_names[] = {
    [RUN_END_EXIT] = "exit",       [RUN_END_SIGNAL] = "signal", [RUN_END_TIMEOUT] = "timeout",
    [RUN_END_STOPPED] = "stopped", [RUN_END_OUTPUT] = "output", [RUN_END_CHECK] = "check",
    [RUN_END_LAUNCH] = "launch",   [RUN_END_LOST] = "lost",
};
_Static_assert(ARRAY_SIZE(kind_names) == RUN_END_KIND_MAX, "an end has no name");

const char *run_end_kind_name(enum run_end_kind kind) {
    return kind_names[kind];
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written through the struct
size_t run_started_format(const struct run_started *started, const struct tag_key *key, char *out,
                          size_t size) {
    struct record_out text = { .text = out, .size = size };
    record_add_number(&text, "version", started->version);
    record_add(&text, "boot_id", started->boot_id);
    record_add_number(&text, "shim", started->shim);
    record_add_number(&text, "command", started->command);
    record_add_number(&text, "exec_errno", started->exec_errno);
    record_add_number(&text, "at", started->at);
    record_add_number(&text, "validating", started->validating);
    if (key) {
        char tag[SHA256_HEX_SIZE];
        tag_print(key, TAG_STARTED, text.text, text.length, tag);
        record_add(&text, TAG_NAME, tag);
    }
    return text.length;
}

static void put_member(struct record_out *text, const char *name, int64_t number) {
    record_puts(text, ",\"");
    record_puts(text, name);
    record_puts(text, "\":");
    record_put_number(text, number);
}

static void put_text(struct record_out *text, const char *name, const char *value) {
    record_puts(text, ",\"");
    record_puts(text, name);
    record_puts(text, "\":");
    record_put_json(text, value);
}

static void put_flag(struct record_out *text, const char *name, bool flag) {
    record_puts(text, ",\"");
    record_puts(text, name);
    record_puts(text, flag ? "\":true" : "\":false");
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written through the struct
size_t run_end_format(const struct run_end *end, const struct tag_key *key, char *out,
                      size_t size) {
    struct record_out text = { .text = out, .size = size };
    record_puts(&text, "{\"version\":");
    record_put_number(&text, RUNDIR_VERSION);
    put_text(&text, "kind", run_end_kind_name(end->kind));
    put_member(&text, "code", end->code);
    put_member(&text, "signal", end->signal);
    put_member(&text, "exec_errno", end->exec_errno);
    if (end->kind == RUN_END_LAUNCH)
        put_text(&text, "cause", launch_cause_name(end->cause));
    put_member(&text, "check", end->check);
    put_flag(&text, "idle", end->idle);
    put_flag(&text, "core_dumped", end->core_dumped);
    put_flag(&text, "durable", end->durable);
    put_member(&text, "started_at", end->started_at);
    put_member(&text, "ended_at", end->ended_at);
    put_member(&text, "cpu_ms", end->cpu_ms);
    put_member(&text, "memory_kb", end->memory_kb);
    put_member(&text, "out_bytes", (int64_t)end->out_bytes);
    put_member(&text, "err_bytes", (int64_t)end->err_bytes);
    put_member(&text, "leftover", end->leftover);
    put_text(&text, "applied", end->applied);
    put_text(&text, "message", end->message);
    if (key) {
        char tag[SHA256_HEX_SIZE];
        tag_print(key, TAG_END, text.text, text.length, tag);
        put_text(&text, TAG_NAME, tag);
    }
    record_puts(&text, "}\n");
    return text.length;
}
