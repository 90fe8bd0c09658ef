/* cmd_notify.c: do people hear of it? The daemon sends the sample, because its environment, its user and its
 * way to the network are those that count at night. */
#include "cli/ask.h"

#define TEST_TIMEOUT MINUTES(10) /* longer than any way may take by default */

static bool print_way(const json_t *way, struct strbuf *out) {
    const struct output_style *style = output_style();
    bool ok = ask_true(way, "ok");
    strbuf_printf(out, "%s%s%s  ", ok ? style->green : style->red, ok ? "ok    " : "failed",
                  style->reset);
    sanitize_line(ask_text(way, "way", "?"), out);
    strbuf_puts(out, ": ");
    sanitize_line(ask_text(way, "text", ""), out);
    strbuf_putc(out, '\n');
    return ok;
}

static int test_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    int code = ask_open(&ask, ASK_START);
    if (code != CMD_OK)
        return code;
    client_set_timeout(ask.client, TEST_TIMEOUT);
    code = ask_post(&ask, json_object(), "/v1/notify/test");
    if (code != CMD_OK)
        return code;
    const json_t *ways = json_object_get(ask.answer, "ways");
    size_t count = json_array_size(ways);
    for (size_t i = 0; i < count; i++)
        if (!print_way(json_array_get(ways, i), &out))
            code = CMD_FAILED;
    if (call->json)
        (void)ask_print(&ask);
    else
        output_rest(&out);
    if (count == 0) {
        cmd_warn("nobody is told of anything: set 'notify.webhook', 'notify.command' or "
                 "'notify.desktop'");
        return CMD_REFUSED;
    }
    return code;
}

static const struct cmd notify_test = { "notify test", .run = test_run };
const struct cmd cmd_notify = { "notify", .subs = CMD_LIST(&notify_test) };
