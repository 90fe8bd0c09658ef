/* cmd_token.c: tokens for clients that come by TCP: made, listed, revoked.
 *
 * A token is printed alone on stdout, so that it can be piped to where it is kept; what is to be said about it goes to
 * stderr. */
#include "cli/cmd.h"

#include <string.h>

#include "base/number.h"
#include "base/time_ms.h"
#include "cli/ask.h"
#include "cli/cell.h"
#include "cli/name_list.h"
#include "cli/name_verb.h"
#include "cli/output.h"
#include "cli/sanitize.h"

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
    static const char *const members[][2] = { { "scope", "scope" }, { NULL, NULL } };
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    json_t *body = json_object();
    json_object_set_new(body, "name", ask_string(call->args[0]));
    ask_take_options(call, members, body);
    int code = take_expiry(call, body);
    if (code != CMD_OK) {
        json_decref(body);
        return code;
    }
    code = ask_open_post(&ask, body, "/v1/tokens");
    if (code != CMD_OK)
        return code;
    if (call->json)
        return ask_print(&ask);
    sanitize_line(ask_text(ask.answer, "token", ""), &out);
    strbuf_putc(&out, '\n');
    output_rest(&out);
    cmd_warn("this token is shown once; 'sluice token revoke %s' ends it",
             ask_text(ask.answer, "id", "ID"));
    return CMD_OK;
}

static void add_row(struct rows *rows, const json_t *item, time_ms now) {
    const char *never = json_is_null(json_object_get(item, "expires_at")) ? "never" : NULL;
    rows_add(rows, (const char *[]){
                       ask_text(item, "name", NULL),
                       ask_text(item, "id", NULL),
                       ask_text(item, "scope", NULL),
                       ask_true(item, "session") ? "page" : "token",
                       cell_span(item, "created_at", now).text,
                       cell_span(item, "used_at", now).text,
                       never ? never : cell_span(item, "expires_at", now).text,
                   });
}

static int list_run(const struct cmd_call *call) {
    struct output_column columns[] = {
        { "NAME" }, { "ID" }, { "SCOPE" }, { "KIND" }, { "MADE" }, { "USED" }, { "EXPIRES" },
    };
    return name_list_run(call, &(struct name_list){
                                   .path = "/v1/tokens",
                                   .none = "there are no tokens; 'sluice token add' makes one\n",
                                   .columns = columns,
                                   .column_count = ARRAY_SIZE(columns),
                                   .add = add_row,
                               });
}

static int revoke_run(const struct cmd_call *call) {
    static const struct name_verb verb = {
        .before = "/v1/tokens/",
        .after = "/revoke",
        .did = "revoked",
        .already = "is revoked already",
    };
    return name_verb_run(call, &verb);
}

static const struct cmd_option add_options[] = {
    { "scope", 0, "SCOPE", "read (the default), submit or admin" },
    { "expires", 0, "TIME", "how long it is good for: 30d, 12h; never when not given" },
    { NULL, 0, NULL, NULL },
};

static const struct cmd token_add = { "token add", .options = add_options, .min_args = 1,
                                      .max_args = 1, .run = add_run };

static const struct cmd token_list = { "token list", .run = list_run };

static const struct cmd token_revoke = { "token revoke", .min_args = 1, .max_args = CMD_ANY_ARGS,
                                         .run = revoke_run };

const struct cmd cmd_token = { "token", .subs = CMD_LIST(&token_add, &token_list, &token_revoke) };
