/* cmd_dash.c: opens the dashboard in a browser.
 *
 * The link holds a code that is good once and for a minute. It is seen by whoever can list the processes of this machine, as
 * an argument of the browser; the daemon takes it from programs of the owner alone (docs/security.md). */
#include "cli/cmd.h"

#include <stdlib.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/daemon.h"
#include "cli/output.h"
#include "cli/program.h"

#define OPENER "xdg-open"

static bool has_display(void) {
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (x && *x) || (wayland && *wayland);
}

/* False: there is none, or no display. */
static bool open_browser(const char *link) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    const char *const argv[] = { OPENER, link, NULL };
    return has_display() && daemon_find_program(OPENER, &path, NULL) == 0
           && program_leave(strbuf_text(&path), argv, NULL) == 0;
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

static int dash_run(const struct cmd_call *call) {
    static const char *const members[][2] = { { "scope", "scope" }, { NULL, NULL } };
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    json_t *body = json_object();
    int64_t port = 0;
    int code = cmd_number(call, "port", 0, 65535, &port);
    ask_take_options(call, members, body);
    json_object_set_new(body, "port", json_integer(port));
    if (code != CMD_OK) {
        json_decref(body);
        return code;
    }
    code = ask_open_post(&ask, body, "/v1/session/code");
    if (code != CMD_OK)
        return code;
    tell(call, &ask);
    if (call->json)
        return ask_print(&ask);
    const char *link = ask_text(ask.answer, "link", "");
    if (!cmd_has(call, "print") && open_browser(link))
        strbuf_printf(&out, "opened %s in the browser\n", ask_text(ask.answer, "url", ""));
    else
        strbuf_printf(&out, "%s\n", link);
    output_rest(&out);
    return CMD_OK;
}

static const struct cmd_option dash_options[] = {
    { "print", 0, NULL, "print the link, and open nothing" },
    { "scope", 0, "SCOPE", "what the page may do: read, submit or admin (the default)" },
    { "port", 0, "PORT",
      "where the daemon shall listen, if it does not yet; else any that is free" },
    { NULL, 0, NULL, NULL },
};

const struct cmd cmd_dash = {
    .name = "dash",
    .usage = "dash [--print] [--scope read|submit|admin] [--port PORT]",
    .summary = "open the dashboard in a browser",
    .text =
        "The link is good for one use within a minute. Without a display, or without xdg-open, it\n"
        "is printed. If the daemon lets nobody in by TCP (http.listen), it listens on a port of\n"
        "this machine from now on, until it ends.\n",
    .examples = "sluice dash\n"
                "sluice dash --print --scope read\n",
    .options = dash_options,
    .run = dash_run,
};
