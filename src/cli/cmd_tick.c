/* cmd_tick.c: decide now, or show what the next decision would be.
 *
 * The daemon decides whenever something changes, so a tick is only needed where `pace.tick_s` makes
 * it wait, and for looking ahead. */
#include <inttypes.h>

#include "cli/ask.h"
#include "cli/print_task.h"
#include "os/clock.h"

static void print_starts(const json_t *starts, bool dry, struct strbuf *out) {
    struct output_column columns[] = { { "#", true }, { "TASK" },        { "PROJECT" },
                                       { "AGENT" },   { "SCORE", true }, { "WHEN" } };
    time_ms now = clock_read();
    _cleanup_(rows_finish) struct rows rows = { columns, ARRAY_SIZE(columns) };
    size_t i;
    json_t *item;
    json_array_foreach(starts, i, item) {
        char place[24], score[24];
        (void)snprintf(place, sizeof(place), "%zu", i + 1);
        (void)snprintf(score, sizeof(score), "%" PRId64, ask_int(item, "score", 0));
        time_ms at = ask_int(item, "at", 0);
        struct print_text when = print_when(at, now);
        rows_add(&rows, (const char *[]){
                            place, ask_text(item, "id", NULL), ask_text(item, "project", NULL),
                            ask_text(item, "agent", NULL), score, at > now ? when.text : "now" });
    }
    if (json_array_size(starts) == 0)
        strbuf_puts(out, dry ? "nothing would start; 'sluice status' tells why\n"
                             : "nothing to start; 'sluice status' tells why\n");
    else
        strbuf_puts(out, dry ? "would start\n" : "started\n");
    rows_print(&rows, out);
}

static int cmd_tick_run(const struct cmd_call *call) {
    bool dry = cmd_has(call, "dry-run");
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_post(&ask, json_pack("{s:b}", "dry_run", dry), "/v1/tick");
    if (ask_ended(call, &ask, &code))
        return code;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    print_starts(json_object_get(ask.answer, "start"), dry, &out);
    output_rest(&out);
    return CMD_OK;
}

static const struct cmd_option tick_options[] = {
    { "dry-run", 'n', NULL, "show what the next tick would start, and start nothing" },
    { NULL },
};

const struct cmd cmd_tick = { "tick", .options = tick_options, .run = cmd_tick_run };
