/* cmd_help.c: help is printed from the entries and the pages of the commands, so it cannot differ from them. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"

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
        strbuf_printf(out, "  %-10s  %s\n", cmd_name(*table), cmd_part(*table, CMD_PART_SUMMARY));
}

/* A part that is there, with its title, and "  " before every line. */
static void print_part(const char *title, const char *lines, struct strbuf *out) {
    if (*lines)
        strbuf_printf(out, "\n%s:\n", title);
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        strbuf_puts(out, length ? "  " : "");
        strbuf_add(out, lines, length);
        strbuf_putc(out, '\n');
        lines += length + (lines[length] == '\n');
    }
}

static void print_overview(struct strbuf *out) {
    strbuf_puts(out, "usage: sluice COMMAND [OPTIONS] [ARGUMENTS]\n\n"
                     "a durable scheduler for coding agents\n\ncommands:\n");
    print_commands(cmd_table, out);
    strbuf_puts(out, "\n'sluice help COMMAND' tells more about one of them.\n"
                     "Every command has --json and --help.\n");
    print_part("exit codes", cmd_exits, out);
}

void cmd_print_help(const struct cmd *cmd, struct strbuf *out) {
    if (!cmd) {
        print_overview(out);
        return;
    }
    strbuf_printf(out, "usage: sluice %s\n\n%s\n", cmd_part(cmd, CMD_PART_USAGE),
                  cmd_part(cmd, CMD_PART_SUMMARY));
    if (*cmd_part(cmd, CMD_PART_TEXT))
        strbuf_printf(out, "\n%s", cmd_part(cmd, CMD_PART_TEXT));
    if (cmd->subs) {
        strbuf_puts(out, "\ncommands:\n");
        print_commands(cmd->subs, out);
    } else {
        strbuf_puts(out, "\noptions:\n");
        print_options(cmd->options, out);
        print_options(cmd_common_options, out);
    }
    print_part("examples", cmd_part(cmd, CMD_PART_EXAMPLES), out);
    print_part("exit codes", cmd_part(cmd, CMD_PART_EXITS), out);
    print_part("see also", cmd_part(cmd, CMD_PART_SEE), out);
}

/* --- Markdown -------------------------------------------------------------------------------- */

/* The table of options on a page of docs/cli, which scripts/command-pages puts there. */
static void print_tables(const struct cmd *const *table, struct strbuf *out) {
    for (; *table; table++) {
        const struct cmd_option *o = (*table)->options;
        strbuf_printf(out, "# sluice %s\n", (*table)->words);
        if (o)
            strbuf_puts(out, "| option | meaning |\n|---|---|\n");
        for (; o && o->name; o++) {
            strbuf_puts(out, "| ");
            if (o->letter)
                strbuf_printf(out, "`-%c`, ", o->letter);
            strbuf_printf(out, "`--%s%s%s` | %s |\n", o->name, o->argument ? " " : "",
                          o->argument ? o->argument : "", o->text);
        }
        if ((*table)->subs)
            print_tables((*table)->subs, out);
    }
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *options_of(const struct cmd_option *list, json_t *options) {
    for (; list && list->name; list++)
        json_array_append_new(options, json_pack("{s:s, s:s?, s:s}", "name", list->name, "argument",
                                                 list->argument, "text", list->text));
    return options;
}

static json_t *command_of(const struct cmd *cmd) {
    static const struct {
        const char *key;
        enum cmd_part part;
    } parts[] = { { "usage", CMD_PART_USAGE },      { "summary", CMD_PART_SUMMARY },
                  { "text", CMD_PART_TEXT },        { "examples", CMD_PART_EXAMPLES },
                  { "exit_codes", CMD_PART_EXITS }, { "see_also", CMD_PART_SEE } };
    json_t *command = json_pack("{s:s}", "name", cmd_name(cmd)), *subs = json_array();
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        json_object_set_new(command, parts[i].key, json_string(cmd_part(cmd, parts[i].part)));
    for (const struct cmd *const *sub = cmd->subs; sub && *sub; sub++)
        json_array_append_new(subs, command_of(*sub));
    if (cmd->subs)
        json_object_set(command, "commands", subs);
    else
        json_object_set_new(command, "options",
                            options_of(cmd_common_options, options_of(cmd->options, json_array())));
    json_decref(subs);
    return command;
}

static json_t *all_commands(void) {
    json_t *list = json_array();
    for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
        json_array_append_new(list, command_of(*cmd));
    return json_pack("{s:o}", "commands", list);
}

/* On many lines: people read it, too. */
static void print_json(json_t *value, struct strbuf *out) {
    char *text = json_dumps(value, JSON_INDENT(2));
    strbuf_printf(out, "%s\n", text);
    json_decref(value);
    free(text);
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
    if (call->json)
        print_json(cmd ? command_of(cmd) : all_commands(), &out);
    else if (cmd_has(call, "tables"))
        print_tables(cmd_table, &out);
    else
        cmd_print_help(cmd, &out);
    output_rest(&out);
    return CMD_OK;
}

static const struct cmd_option options[] = {
    { "tables", 0, NULL, "print the options of every command as Markdown tables, for docs/cli" },
    { NULL },
};

const struct cmd cmd_help = { "help", .options = options, .max_args = CMD_ANY_ARGS,
                              .run = cmd_help_run };

static int cmd_version_run(const struct cmd_call *call) {
    (void)fputs(call->json ? "{\"version\":\"" SLUICE_VERSION "\"}\n"
                           : "sluice " SLUICE_VERSION "\n",
                stdout);
    return CMD_OK;
}

const struct cmd cmd_version = { "version", .run = cmd_version_run };
