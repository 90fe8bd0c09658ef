/* cmd_help.c: help and shell completions, generated from the table of commands and their pages.
 *
 * A completion script contains commands, subcommands and options; ids come from `sluice list`,
 * which starts no daemon. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"

static void print_options(const struct cmd *cmd, struct strbuf *out) {
    EACH_OPTION(option, cmd) {
        const char *heading = cmd_option_heading(cmd, option);
        if (heading)
            strbuf_printf(out, "%s  %s:\n", option == cmd_option_next(cmd, NULL) ? "" : "\n",
                          heading);
        char left[64];
        char letter[5] = "    ";
        if (option->letter)
            (void)snprintf(letter, sizeof(letter), "-%c, ", option->letter);
        (void)snprintf(left, sizeof(left), "%s--%s%s%s", letter, option->name,
                       option->argument ? " " : "", option->argument ? option->argument : "");
        if (strlen(left) > 24)
            strbuf_printf(out, "  %s\n  %-24s  %s\n", left, "", option->text);
        else
            strbuf_printf(out, "  %-24s  %s\n", left, option->text);
    }
}

static void print_command(const struct cmd *cmd, struct strbuf *out) {
    strbuf_printf(out, "  %-10s  %s\n", cmd_name(cmd), cmd_part(cmd, CMD_PART_SUMMARY));
}

static void print_commands(const struct cmd *const *table, struct strbuf *out) {
    for (; *table; table++)
        print_command(*table, out);
}

const struct cmd_group cmd_groups[] = {
    { "start", "add run", "again edit import schedule sling formula best pick tick" },
    { "look", "status list why logs dash", "show top diff graph digest events group wait" },
    { "control", "cancel retry",
      "pause resume hold release promote demote depend clear close delete budget" },
    { "agents", "merge", "questions answer approve reject take agent limiter mcp" },
    { "inside a run", "", "ask report bus" },
    { "plan ahead", "", "plan sim snapshot" },
    { "set-up", "init doctor",
      "up down service config project notify token host store backup restore completion help "
      "version debug report-bug" },
    { NULL },
};

/* The commands of a list of words. */
static void print_words(const char *words, struct strbuf *out) {
    while (*words) {
        char name[32];
        size_t length = strcspn(words, " ");
        (void)snprintf(name, sizeof(name), "%.*s", (int)length, words);
        print_command(cmd_find(cmd_table, name), out);
        words += length + (words[length] == ' ');
    }
}

static void print_groups(bool all, struct strbuf *out) {
    for (const struct cmd_group *group = cmd_groups; group->title; group++) {
        if (!all && !*group->first)
            continue;
        strbuf_printf(out, "%s%s:\n", all ? "\n" : "", group->title);
        print_words(group->first, out);
        if (all)
            print_words(group->more, out);
    }
}

/* A part with its title, each line indented by " "; nothing if it is missing. */
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

/* What a beginner needs, on a screen of 80 columns and 24 lines; or everything. */
static void print_overview(bool all, struct strbuf *out) {
    strbuf_puts(out, "usage: sluice COMMAND [OPTIONS] [ARGUMENTS]\n");
    strbuf_puts(out, all ? "" : "\n");
    print_groups(all, out);
    strbuf_puts(out, "\n'sluice help COMMAND' describes a command");
    strbuf_puts(out, all ? ".\n" : "; 'sluice help --all' lists every one.\n");
    strbuf_puts(out, "Every command has --json and --help.\n");
    if (all)
        print_part("exit codes", cmd_exits, out);
}

void cmd_print_help(const struct cmd *cmd, struct strbuf *out) {
    if (!cmd) {
        print_overview(false, out);
        return;
    }
    strbuf_printf(out, "usage: sluice %s\n\n%s\n", cmd_part(cmd, CMD_PART_USAGE),
                  cmd_part(cmd, CMD_PART_SUMMARY));
    print_part("examples", cmd_part(cmd, CMD_PART_EXAMPLES), out);
    if (*cmd_part(cmd, CMD_PART_TEXT))
        strbuf_printf(out, "\n%s", cmd_part(cmd, CMD_PART_TEXT));
    if (cmd->subs) {
        strbuf_puts(out, "\ncommands:\n");
        print_commands(cmd->subs, out);
    } else {
        strbuf_puts(out, "\noptions:\n");
        print_options(cmd, out);
    }
    print_part("exit codes", cmd_part(cmd, CMD_PART_EXITS), out);
    print_part("see also", cmd_part(cmd, CMD_PART_SEE), out);
}

/* The option tables of docs/reference/cli, which scripts/command-pages inserts. */
static void print_tables(const struct cmd *const *table, struct strbuf *out) {
    for (; *table; table++) {
        const struct cmd_option *o = (*table)->options;
        strbuf_printf(out, "# sluice %s\n", (*table)->words);
        if (o)
            strbuf_puts(out, "| option | meaning |\n|---|---|\n");
        for (; o && o->name; o++) {
            if (!*o->name) {
                strbuf_printf(out, "| **%s** | |\n", o->text);
                continue;
            }
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

static json_t *command_of(const struct cmd *cmd) {
    static const struct {
        const char *key;
        enum cmd_part part;
    } parts[] = { { "usage", CMD_PART_USAGE },      { "summary", CMD_PART_SUMMARY },
                  { "text", CMD_PART_TEXT },        { "examples", CMD_PART_EXAMPLES },
                  { "exit_codes", CMD_PART_EXITS }, { "see_also", CMD_PART_SEE } };
    json_t *command = json_pack("{s:s}", "name", cmd_name(cmd)), *list = json_array();
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        json_object_set_new(command, parts[i].key, json_string(cmd_part(cmd, parts[i].part)));
    for (const struct cmd *const *sub = cmd->subs; sub && *sub; sub++)
        json_array_append_new(list, command_of(*sub));
    EACH_OPTION(option, cmd) {
        if (!cmd->subs)
            json_array_append_new(list,
                                  json_pack("{s:s, s:s?, s:s}", "name", option->name, "argument",
                                            option->argument, "text", option->text));
    }
    json_object_set_new(command, cmd->subs ? "commands" : "options", list);
    return command;
}

static int cmd_help_run(const struct cmd_call *call) {
    const struct cmd *cmd = NULL;
    const struct cmd *const *table = cmd_table;
    for (size_t i = 0; i < call->arg_count; i++) {
        const char *name = call->args[i];
        cmd = table ? cmd_find(table, name) : NULL;
        const char *nearest = table && !cmd ? cmd_nearest(table, name) : NULL;
        if (!cmd)
            return cmd_usage_error(call->cmd, "unknown command '%s'%s%s%s", name,
                                   nearest ? "; did you mean '" : "", nearest ? nearest : "",
                                   nearest ? "'?" : "");
        table = cmd->subs;
    }
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    if (call->json) {
        json_auto_t *list = json_array();
        for (const struct cmd *const *each = cmd_table; !cmd && *each; each++)
            json_array_append_new(list, command_of(*each));
        json_auto_t *value = cmd ? command_of(cmd) : json_pack("{s:O}", "commands", list);
        char *text = json_dumps(value, JSON_INDENT(2)); /* for people, too */
        strbuf_printf(&out, "%s\n", text);
        free(text);
    } else if (cmd_has(call, "tables"))
        print_tables(cmd_table, &out);
    else if (cmd_has(call, "all"))
        print_overview(true, &out);
    else
        cmd_print_help(cmd, &out);
    return CMD_OK;
}

const struct cmd cmd_help = {
    "help", cmd_help_run, 0, CMD_ANY_ARGS,
    CMD_OPTIONS(
        { "all", 'a', NULL, "list all commands, not only those for the first day" },
        { "tables", 0, NULL,
          "print the options of every command as Markdown tables, for docs/reference/cli" })
};

static int cmd_version_run(const struct cmd_call *call) {
    (void)fputs(call->json ? "{\"version\":\"" SLUICE_VERSION "\"}\n"
                           : "sluice " SLUICE_VERSION "\n",
                stdout);
    return CMD_OK;
}

const struct cmd cmd_version = { "version", cmd_version_run };

#define IDS "sluice list --ids --all --limit 500 2>/dev/null"

static bool takes_ids(const struct cmd *cmd) {
    return strstr(cmd_part(cmd, CMD_PART_USAGE), " ID");
}

static void each_command(void (*put)(const struct cmd *cmd, const char *words, struct strbuf *out),
                         struct strbuf *out) {
    for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
        put(*cmd, (*cmd)->words, out);
        for (const struct cmd *const *sub = (*cmd)->subs; sub && *sub; sub++)
            put(*sub, (*sub)->words, out);
    }
}

static void put_names(const struct cmd *const *table, struct strbuf *out) {
    for (size_t i = 0; table[i]; i++)
        strbuf_printf(out, "%s%s", i > 0 ? " " : "", cmd_name(table[i]));
}

static void put_bash_case(const struct cmd *cmd, const char *words, struct strbuf *out) {
    strbuf_printf(out, "    '%s') options='", words);
    EACH_OPTION(option, cmd) {
        strbuf_printf(out, " --%s", option->name);
    }
    strbuf_puts(out, "'");
    const struct cmd *const *names = strcmp(words, "help") == 0 ? cmd_table : cmd->subs;
    if (names) {
        strbuf_puts(out, " words='");
        put_names(names, out);
        strbuf_puts(out, "'");
    } else if (takes_ids(cmd)) {
        strbuf_puts(out, " ids=yes");
    }
    strbuf_puts(out, " ;;\n");
}

static void print_bash(struct strbuf *out) {
    strbuf_puts(out, "# bash completion of sluice: eval \"$(sluice completion bash)\"\n"
                     "_sluice() {\n"
                     "    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} sub=\n"
                     "    local options= words= ids=\n"
                     "    COMPREPLY=()\n"
                     "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                     "        COMPREPLY=($(compgen -W '");
    put_names(cmd_table, out);
    strbuf_puts(out, "' -- \"$word\"))\n"
                     "        return\n"
                     "    fi\n"
                     "    case $command in\n");
    for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
        if ((*cmd)->subs)
            strbuf_printf(out,
                          "    %s) [ \"$COMP_CWORD\" -eq 2 ] || sub=\" ${COMP_WORDS[2]}\" ;;\n",
                          (*cmd)->words);
    strbuf_puts(out, "    esac\n"
                     "    case \"$command$sub\" in\n");
    each_command(put_bash_case, out);
    strbuf_puts(out, "    esac\n"
                     "    case $word in\n"
                     "    -*) words=$options ;;\n"
                     "    *) [ -z \"$ids\" ] || words=$(" IDS ") ;;\n"
                     "    esac\n"
                     "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                     "}\n"
                     "complete -o default -F _sluice sluice\n");
}

/* Escapes a text inside single quotes, where zsh interprets colons and brackets. */
static void put_zsh_text(const char *text, struct strbuf *out) {
    for (; *text; text++) {
        if (*text == '\'')
            strbuf_puts(out, "'\\''");
        else if (strchr(":[]\\", *text))
            strbuf_printf(out, "\\%c", *text);
        else
            strbuf_putc(out, *text);
    }
}

static void put_zsh_names(const struct cmd *const *table, struct strbuf *out) {
    for (; *table; table++) {
        strbuf_printf(out, " \\\n            '%s:", cmd_name(*table));
        put_zsh_text(cmd_part(*table, CMD_PART_SUMMARY), out);
        strbuf_puts(out, "'");
    }
}

static void put_zsh_case(const struct cmd *cmd, const char *words, struct strbuf *out) {
    strbuf_printf(out, "    '%s')\n", words);
    if (cmd->subs) {
        strbuf_puts(out, "        names=(");
        put_zsh_names(cmd->subs, out);
        strbuf_puts(out, ")\n        _describe command names\n        ;;\n");
        return;
    }
    strbuf_puts(out, "        _arguments -s");
    EACH_OPTION(option, cmd) {
        strbuf_printf(out, " \\\n            '*--%s[", option->name);
        put_zsh_text(option->text, out);
        strbuf_puts(out, "]");
        if (option->argument) {
            strbuf_puts(out, ":");
            put_zsh_text(option->argument, out);
            strbuf_puts(out, ":_files");
        }
        strbuf_puts(out, "'");
    }
    strbuf_printf(out, " \\\n            '*:%s'\n        ;;\n",
                  takes_ids(cmd) ? "task:_sluice_ids" : "file:_files");
}

static void print_zsh(struct strbuf *out) {
    strbuf_puts(out, "#compdef sluice\n"
                     "# zsh completion of sluice: save as _sluice in a folder of $fpath, or\n"
                     "# eval \"$(sluice completion zsh)\"\n"
                     "_sluice_ids() {\n"
                     "    local -a ids\n"
                     "    ids=(${(f)\"$(" IDS ")\"})\n"
                     "    compadd -a ids\n"
                     "}\n"
                     "_sluice() {\n"
                     "    local -a names\n"
                     "    local at\n"
                     "    if ((CURRENT == 2)); then\n"
                     "        names=(");
    put_zsh_names(cmd_table, out);
    strbuf_puts(out, ")\n"
                     "        _describe command names\n"
                     "        return\n"
                     "    fi\n"
                     "    at=$words[2]\n"
                     "    shift words\n"
                     "    ((CURRENT--))\n"
                     "    case $at in\n"
                     "    ");
    for (const struct cmd *const *cmd = cmd_table, *const *first = NULL; *cmd; cmd++)
        if ((*cmd)->subs) {
            strbuf_printf(out, "%s%s", first ? "|" : "", (*cmd)->words);
            first = cmd;
        }
    strbuf_puts(out, ")\n"
                     "        if ((CURRENT > 2)); then\n"
                     "            at=\"$at $words[2]\"\n"
                     "            shift words\n"
                     "            ((CURRENT--))\n"
                     "        fi\n"
                     "        ;;\n"
                     "    esac\n"
                     "    case $at in\n");
    each_command(put_zsh_case, out);
    strbuf_puts(out, "    esac\n"
                     "}\n"
                     "if [[ $funcstack[1] == _sluice ]]; then _sluice \"$@\"; else compdef _sluice "
                     "sluice; fi\n");
}

/* " -d 'TEXT'" and a newline. */
static void put_fish_description(const char *text, struct strbuf *out) {
    strbuf_puts(out, " -d '");
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            strbuf_putc(out, '\\');
        strbuf_putc(out, *text);
    }
    strbuf_puts(out, "'\n");
}

static void put_fish_command(const struct cmd *cmd, const char *words, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf condition = STRBUF_INIT;
    const char *blank = strchr(words, ' ');
    int first = blank ? (int)(blank - words) : (int)strlen(words);
    strbuf_printf(&condition, "__fish_seen_subcommand_from %.*s", first, words);
    if (blank)
        strbuf_printf(&condition, "; and __fish_seen_subcommand_from %s", blank + 1);
    for (const struct cmd *const *sub = cmd->subs; sub && *sub; sub++) {
        strbuf_printf(out, "complete -c sluice -n '%s' -f -a %s", strbuf_text(&condition),
                      cmd_name(*sub));
        put_fish_description(cmd_part(*sub, CMD_PART_SUMMARY), out);
    }
    if (cmd->subs)
        return;
    EACH_OPTION(option, cmd) {
        strbuf_printf(out, "complete -c sluice -n '%s' -l %s", strbuf_text(&condition),
                      option->name);
        if (option->letter)
            strbuf_printf(out, " -s %c", option->letter);
        strbuf_puts(out, option->argument ? " -r" : "");
        put_fish_description(option->text, out);
    }
    if (takes_ids(cmd))
        strbuf_printf(out, "complete -c sluice -n '%s' -f -a '(" IDS ")'\n",
                      strbuf_text(&condition));
}

static void print_fish(struct strbuf *out) {
    strbuf_puts(out, "# fish completion of sluice: sluice completion fish | source\n"
                     "complete -c sluice -e\n");
    for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
        strbuf_printf(out, "complete -c sluice -n __fish_use_subcommand -f -a %s", (*cmd)->words);
        put_fish_description(cmd_part(*cmd, CMD_PART_SUMMARY), out);
    }
    each_command(put_fish_command, out);
}

static int cmd_completion_run(const struct cmd_call *call) {
    static const struct {
        const char *name;
        void (*print)(struct strbuf *out);
    } shells[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };
    for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
        if (strcmp(shells[i].name, call->args[0]) != 0)
            continue;
        _cleanup_(strbuf_finish) struct strbuf script = STRBUF_INIT;
        shells[i].print(&script);
        if (call->json)
            return output_json(
                json_pack("{s:s, s:s}", "shell", shells[i].name, "script", strbuf_text(&script)));
        output_rest(&script);
        return CMD_OK;
    }
    return cmd_usage_error(call->cmd, "there is no completion for '%s'; there are bash, zsh, fish",
                           call->args[0]);
}

const struct cmd cmd_completion = { "completion", cmd_completion_run, 1, 1 };
