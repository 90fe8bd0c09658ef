/* cmd_dash.c: opens the dashboard in a browser.
 *
 * The link holds a code that is good once and for a minute. Every process of this user can read the arguments of the
 * others, a run as well, so the browser gets no link: it gets a private file of the daemon that leads there
 * (docs/security.md). */
#include <stdlib.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/daemon.h"
#include "cli/program.h"

#define OPENER "xdg-open"

/* False: there is none, or no display. */
static bool find_opener(struct strbuf *path) {
    return (cmd_env("DISPLAY") || cmd_env("WAYLAND_DISPLAY"))
           && daemon_find_program(OPENER, path, NULL) == 0;
}

static bool open_browser(const char *opener, const char *file) {
    const char *const argv[] = { OPENER, file, NULL };
    return *file && program_leave(opener, argv, NULL) == 0;
}

static void tell(const struct cmd_call *call, const struct ask *ask) {
    const char *url = ask_text(ask->answer, "url", "");
    const char *port = cmd_value(call, "port"), *colon = strrchr(url, ':');
    if (ask_true(ask->answer, "opened"))
        cmd_warn("the daemon listens at %s from now on, until it ends; 'sluice config set "
                 "http.listen=…' makes that lasting",
                 url);
    else if (port && colon && strcmp(colon + 1, port) != 0)
        cmd_warn("the daemon listens at %s already: --port was not needed", url);
}

/* What the page may do; NULL: as the daemon has it. */
static int take_scope(const struct cmd_call *call, const char **ret_scope) {
    *ret_scope = cmd_value(call, "scope");
    if (!cmd_has(call, "admin"))
        return CMD_OK;
    if (*ret_scope && strcmp(*ret_scope, "admin") != 0)
        return cmd_usage_error(call->cmd, "--admin and --scope %s cannot be used together",
                               *ret_scope);
    *ret_scope = "admin";
    return CMD_OK;
}

static int dash_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf opener = STRBUF_INIT;
    const char *scope = NULL;
    int64_t port = 0;
    int code = cmd_number(call, "port", 0, 65535, &port);
    if (code == CMD_OK)
        code = take_scope(call, &scope);
    if (code != CMD_OK)
        return code;
    bool opens = !call->json && !cmd_has(call, "print") && find_opener(&opener);
    json_t *body = json_pack("{s:I, s:b}", "port", (json_int_t)port, "file", opens);
    if (scope)
        json_object_set_new(body, "scope", ask_string(scope));
    code = ask_open_post(&ask, body, "/v1/session/code");
    if (code != CMD_OK)
        return code;
    tell(call, &ask);
    if (call->json)
        return ask_print(&ask);
    if (opens && open_browser(strbuf_text(&opener), ask_text(ask.answer, "file", "")))
        return cmd_say("opened %s in the browser", ask_text(ask.answer, "url", ""));
    return cmd_say("%s", ask_text(ask.answer, "link", ""));
}

static const struct cmd_option dash_options[] = {
    { "print", 0, NULL, "print the link, and open nothing" },
    { "scope", 0, "SCOPE", "what the page may do: read, submit (the default) or admin" },
    { "admin", 0, NULL, "also allow pausing and changing settings; same as --scope admin" },
    { "port", 0, "PORT",
      "where the daemon shall listen, if it does not yet; else any that is free" },
    { NULL },
};

const struct cmd cmd_dash = { "dash", .options = dash_options, .run = dash_run };
