/* cmd_host.c: which hosts have runs, and which of them is gone for good? */
#include "cli/ask.h"
#include "cli/names.h"

static void put_state(const json_t *host, struct strbuf *out) {
    strbuf_puts(out, ask_true(host, "active")                ? "active"
                     : ask_int(host, "runs", 0) > 0          ? "unreachable"
                     : ask_int(host, "forgotten_at", -1) > 0 ? "forgotten"
                                                             : "away");
}

static const struct name_list list = {
    "/v1/hosts",
    "",
    { { "HOST", "name" },
      { "STATE", .put = put_state },
      { "RUNS", "runs", NAME_NUMBER },
      { "SINCE", "unreachable_since", NAME_SPAN },
      { "FORGOTTEN", "forgotten_at", NAME_SPAN },
      { "BY", "forgotten_by" } },
};

static int forget_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_change(&ask, call, NULL, "/v1/hosts/", "/forget");
    if (ask_ended(call, &ask, &code))
        return code;
    int64_t runs = ask_int(ask.answer, "runs", 0);
    if (ask_true(ask.answer, "already"))
        return cmd_say("%s is forgotten already", call->args[0]);
    return cmd_say("%s forgotten: %lld run%s lost", call->args[0], (long long)runs,
                   runs == 1 ? " is" : "s are");
}

static const struct cmd host_forget = { "host forget", .min_args = 1, .max_args = 1,
                                        .run = forget_run };
static const struct cmd host_list = { "host list", .run = name_list_run, .data = &list };
const struct cmd cmd_host = { "host", .subs = CMD_LIST(&host_forget, &host_list) };
