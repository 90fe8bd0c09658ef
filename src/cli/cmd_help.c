/* cmd_help.c: help is printed from the commands' own entries, so it cannot differ from them. */
#include "cli/cmd.h"

#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "cli/options.h"
#include "cli/output.h"

static void print_options(const struct cmd_option *list, struct strbuf *out) {
    for (; list && list->name; list++) {
        char left[64];
        char letter[5] = "    ";
        if (list->letter) {
            letter[0] = '-';
            letter[1] = list->letter;
            letter[2] = ',';
        }
        (void)snprintf(left, sizeof(left), "%s--%s%s%s", letter, list->name,
                       list->argument ? " " : "", list->argument ? list->argument : "");
        if (strlen(left) > 24)
            strbuf_printf(out, "  %s\n  %-24s  %s\n", left, "", list->text);
        else
            strbuf_printf(out, "  %-24s  %s\n", left, list->text);
    }
}

static void print_commands(const struct cmd *const *table, struct strbuf *out) {
    for (; *table; table++)
        strbuf_printf(out, "  %-10s  %s\n", (*table)->name, (*table)->summary);
}

/* "  " before every line. */
static void print_indented(const char *lines, struct strbuf *out) {
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        strbuf_puts(out, length ? "  " : "");
        strbuf_add(out, lines, length);
        strbuf_putc(out, '\n');
        lines += length + (lines[length] == '\n');
    }
}

void cmd_print_help(const struct cmd *cmd, struct strbuf *out) {
    strbuf_printf(out, "usage: sluice %s\n\n%s\n", cmd->usage, cmd->summary);
    if (cmd->text)
        strbuf_printf(out, "\n%s", cmd->text);
    if (cmd->subs) {
        strbuf_puts(out, "\ncommands:\n");
        print_commands(cmd->subs, out);
    } else {
        strbuf_puts(out, "\noptions:\n");
        print_options(cmd->options, out);
        print_options(options_common, out);
    }
    if (cmd->examples) {
        strbuf_puts(out, "\nexamples:\n");
        print_indented(cmd->examples, out);
    }
}

void cmd_print_overview(struct strbuf *out) {
    strbuf_puts(out, "usage: sluice COMMAND [OPTIONS] [ARGUMENTS]\n\n"
                     "a durable scheduler for coding agents\n\ncommands:\n");
    print_commands(cmd_table, out);
    strbuf_puts(out, "\n'sluice help COMMAND' tells more about one of them.\n"
                     "Every command has --json and --help.\n"
                     "Exit codes: 0 ok, 1 failed, 2 wrong call or bad input, 3 no daemon,\n"
                     "4 deferred or refused.\n");
}

static void write_options(struct json_writer *w, const struct cmd_option *list) {
    for (; list && list->name; list++) {
        json_write_object_begin(w);
        json_write_key(w, "name");
        json_write_string(w, list->name);
        json_write_key(w, "argument");
        json_write_string(w, list->argument);
        json_write_key(w, "text");
        json_write_string(w, list->text);
        json_write_object_end(w);
    }
}

static void write_command(struct json_writer *w, const struct cmd *cmd) {
    json_write_object_begin(w);
    json_write_key(w, "name");
    json_write_string(w, cmd->name);
    json_write_key(w, "usage");
    json_write_string(w, cmd->usage);
    json_write_key(w, "summary");
    json_write_string(w, cmd->summary);
    if (cmd->subs) {
        json_write_key(w, "commands");
        json_write_array_begin(w);
        for (const struct cmd *const *sub = cmd->subs; *sub; sub++)
            write_command(w, *sub);
        json_write_array_end(w);
    } else {
        json_write_key(w, "options");
        json_write_array_begin(w);
        write_options(w, cmd->options);
        write_options(w, options_common);
        json_write_array_end(w);
    }
    json_write_object_end(w);
}

static void write_all(struct json_writer *w) {
    json_write_object_begin(w);
    json_write_key(w, "commands");
    json_write_array_begin(w);
    for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
        write_command(w, *cmd);
    json_write_array_end(w);
    json_write_object_end(w);
}

static int unknown(const struct cmd_call *call, const char *name, const char *nearest) {
    if (nearest)
        return cmd_usage_error(call->cmd, "unknown command '%s'; did you mean '%s'?", name,
                               nearest);
    return cmd_usage_error(call->cmd, "unknown command '%s'", name);
}

static int cmd_help_run(const struct cmd_call *call) {
    const struct cmd *cmd = NULL;
    const struct cmd *const *table = cmd_table;
    for (size_t i = 0; i < call->arg_count; i++) {
        const char *name = call->args[i];
        cmd = table ? cmd_find(table, name) : NULL;
        if (!cmd)
            return unknown(call, name, table ? cmd_nearest(table, name) : NULL);
        table = cmd->subs;
    }
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (call->json) {
        struct json_writer w;
        json_write_init(&w, &out, true);
        if (cmd)
            write_command(&w, cmd);
        else
            write_all(&w);
        strbuf_putc(&out, '\n');
    } else if (cmd) {
        cmd_print_help(cmd, &out);
    } else {
        cmd_print_overview(&out);
    }
    output_rest(&out);
    return CMD_OK;
}

const struct cmd cmd_help = {
    .name = "help",
    .usage = "help [COMMAND...]",
    .summary = "tell how a command is used",
    .text = "Without a command: the list of all. With --json: every command and option as data.\n",
    .examples = "sluice help plan\n"
                "sluice help debug scheduler\n",
    .max_args = CMD_ANY_ARGS,
    .run = cmd_help_run,
};
