/* cmd_graph.c: what waits for what, drawn. The daemon knows the graph; here it only gets its looks. */
#include <inttypes.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/graph_view.h"
#include "cli/print_task.h"
#include "os/terminal.h"

enum format { FORMAT_ASCII, FORMAT_DOT, FORMAT_MERMAID, FORMAT_SVG, FORMAT_MAX };
static const char *const formats[FORMAT_MAX] = { "ascii", "dot", "mermaid", "svg" };

static int read_format(const struct cmd_call *call, enum format *ret) {
    const char *word = cmd_value(call, "format");
    *ret = FORMAT_ASCII;
    if (!word)
        return CMD_OK;
    for (int f = 0; f < FORMAT_MAX; f++) {
        if (strcmp(word, formats[f]) == 0) {
            *ret = (enum format)f;
            return CMD_OK;
        }
    }
    return cmd_usage_error(call->cmd,
                           "there is no format '%s'; there are ascii, dot, mermaid and svg", word);
}

static int make_path(const struct cmd_call *call, struct strbuf *path) {
    const char *project = cmd_value(call, "project"), *group = cmd_value(call, "group");
    int64_t limit = 0;
    int code = cmd_number(call, "limit", 1, 20000, &limit);
    if (code != CMD_OK)
        return code;
    if ((call->arg_count > 0) + (project != NULL) + (group != NULL) > 1)
        return cmd_usage_error(call->cmd, "give a task, --project or --group, not several");
    strbuf_puts(path, "/v1/graph");
    if (call->arg_count > 0) {
        code = ask_name(call, call->args[0]);
        client_query(path, "root", call->args[0]);
    }
    client_query(path, "project", project);
    client_query(path, "group", group);
    if (cmd_has(call, "all"))
        client_query(path, "state", "all");
    if (limit > 0)
        client_query(path, "limit", cmd_value(call, "limit"));
    return code;
}

static void print(const struct graph_view *view, enum format format, struct strbuf *out) {
    struct graph_text how = { .width = print_width(), .unicode = terminal_is_utf8() };
    switch (format) {
    case FORMAT_DOT:
        graph_print_dot(view, out);
        break;
    case FORMAT_MERMAID:
        graph_print_mermaid(view, out);
        break;
    case FORMAT_SVG:
        graph_print_svg(view, out);
        break;
    case FORMAT_ASCII:
    case FORMAT_MAX:
        if (view->count == 0)
            strbuf_puts(out, "no such task is open; --all shows finished ones\n");
        graph_print_text(view, &how, out);
        break;
    }
}

static int run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, out = STRBUF_INIT;
    enum format format;
    int code = read_format(call, &format);
    if (code == CMD_OK)
        code = make_path(call, &path);
    if (code == CMD_OK)
        code = ask_open_get(&ask, strbuf_text(&path));
    if (ask_ended(call, &ask, &code))
        return code;
    _cleanup_(graph_view_finish) struct graph_view view = { 0 };
    graph_view_read(ask.answer, &view);
    print(&view, format, &out);
    output_rest(&out);
    if (view.truncated)
        cmd_warn("there is more than these %zu tasks: '--limit N' shows up to 20000", view.count);
    return CMD_OK;
}

static const struct cmd_option options[] = {
    { "project", 'p', "NAME", "the open tasks of this project" },
    { "group", 'g', "NAME", "the tasks of this group" },
    { "format", 'f', "FORMAT", "ascii (for people), dot, mermaid or svg; ascii if not given" },
    { "all", 'a', NULL, "finished tasks, too" },
    { "limit", 'n', "N", "at most so many tasks; 2000 if not given, 20000 at the most" },
    { NULL },
};

const struct cmd cmd_graph = { "graph", .options = options, .max_args = 1, .run = run };
