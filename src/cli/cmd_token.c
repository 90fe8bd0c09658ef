/* cmd_token.c: tokens for clients that come by TCP: made, listed, revoked.
 *
 * A token is printed alone on stdout, so that it can be piped to where it is kept; what is to be said about it goes to
 * stderr. */
#include <string.h>

#include "base/number.h"
#include "base/time_ms.h"
#include "cli/ask.h"
#include "cli/names.h"
#include "cli/print_task.h"
#include "os/clock.h"

static int take_expiry(const struct cmd_call *call, json_t *body) {
    const char *text = cmd_value(call, "expires");
    struct error err = { 0 };
    int64_t span = 0;
    if (!text || strcmp(text, "never") == 0)
        return CMD_OK;
    if (number_parse_span(text, &span, &err) < 0 || span < SECONDS(1))
        return cmd_usage_error(call->cmd, "--expires wants a time like 30d, 12h or never, not '%s'",
                               text);
    json_object_set_new(body, "expires_s", json_integer(span / SECONDS(1)));
    return CMD_OK;
}

static int add_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    json_t *body = json_object();
    json_object_set_new(body, "name", ask_string(call->args[0]));
    ask_take_members(call, body);
    int code = take_expiry(call, body);
    if (code != CMD_OK) {
        json_decref(body);
        return code;
    }
    code = ask_open_post(&ask, body, "/v1/tokens");
    if (ask_ended(call, &ask, &code))
        return code;
    (void)cmd_say("%s", ask_text(ask.answer, "token", ""));
    cmd_warn("this token is shown once; 'sluice token revoke %s' ends it",
             ask_text(ask.answer, "id", "ID"));
    return CMD_OK;
}

static void put_kind(const json_t *item, struct strbuf *out) {
    strbuf_puts(out, ask_true(item, "session") ? "page" : "token");
}

static void put_expiry(const json_t *item, struct strbuf *out) {
    bool never = json_is_null(json_object_get(item, "expires_at"));
    strbuf_puts(out, never ? "never" : cell_span(item, "expires_at", clock_read()).text);
}

static const struct name_list list = {
    "/v1/tokens",
    "there are no tokens; 'sluice token add' makes one\n",
    { { "NAME", "name" },
      { "ID", "id" },
      { "SCOPE", "scope" },
      { "KIND", .put = put_kind },
      { "MADE", "created_at", NAME_SPAN },
      { "USED", "used_at", NAME_SPAN },
      { "EXPIRES", .put = put_expiry } },
};
static const struct name_verb revoke = { "/v1/tokens/", "/revoke", "revoked",
                                         "is revoked already" };

static const struct cmd_option add_options[] = {
    { "scope", 0, "SCOPE", "read (the default), submit or admin", "scope" },
    { "expires", 0, "TIME", "how long it is good for: 30d, 12h; never when not given" },
    { NULL },
};

static const struct cmd token_add = { "token add", .options = add_options, .min_args = 1,
                                      .max_args = 1, .run = add_run };
static const struct cmd token_list = { "token list", .run = name_list_run, .data = &list };
static const struct cmd token_revoke = { "token revoke", .min_args = 1, .max_args = CMD_ANY_ARGS,
                                         .run = name_verb_run, .data = &revoke };
const struct cmd cmd_token = { "token", .subs = CMD_LIST(&token_add, &token_list, &token_revoke) };
