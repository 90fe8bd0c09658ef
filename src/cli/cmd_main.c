/* cmd_main.c: from argv to one command's run function and back to an exit code.
 *
 * `--help` wins over everything else that is wrong with a call: a person who asks for help does not know
 * yet how to call it. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/macros.h"
#include "base/nearest.h"
#include "cli/cmd.h"

const char *cmd_name(const struct cmd *cmd) {
    const char *blank = strchr(cmd->words, ' ');
    return blank ? blank + 1 : cmd->words;
}

const struct cmd *cmd_find(const struct cmd *const *table, const char *name) {
    for (; *table; table++)
        if (strcmp(cmd_name(*table), name) == 0)
            return *table;
    return NULL;
}

const char *cmd_nearest(const struct cmd *const *table, const char *name) {
    struct nearest nearest = nearest_to(name);
    for (; *table; table++)
        nearest_offer(&nearest, cmd_name(*table));
    return nearest.best;
}

const char *cmd_part(const struct cmd *cmd, enum cmd_part part) {
    for (const char *const *text = cmd_texts; *text; text++) {
        const char *at = *text;
        if (strcmp(at, cmd->words) != 0)
            continue;
        for (int i = 0; i < (int)part; i++)
            at += strlen(at) + 1;
        return at;
    }
    return ""; /* it has no page: tests/unit/test_cli_table.c fails */
}

#define OUTPUT_BUFFER (1u << 18) /* a million lines cost few writes */

extern const struct cmd cmd_version;

/* Messages quote what others wrote: names, paths, the messages of runs. */
_printf_(2, 0) static void put_line(struct strbuf *out, const char *format, va_list args) {
    _cleanup_(strbuf_finish) struct strbuf message = STRBUF_INIT;
    strbuf_vprintf(&message, format, args);
    sanitize_line(strbuf_text(&message), out);
    strbuf_putc(out, '\n');
}

_printf_(1, 0) static void vwarn(const char *format, va_list args) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    put_line(&line, format, args);
    (void)fprintf(stderr, "sluice: %s", strbuf_text(&line));
}

int cmd_say(const char *format, ...) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    put_line(&line, format, args);
    va_end(args);
    output_rest(&line);
    return CMD_OK;
}

const char *cmd_env(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

void cmd_warn(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vwarn(format, args);
    va_end(args);
}

int cmd_watch_interrupts(void) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &wanted, NULL);
    return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

int cmd_usage_error(const struct cmd *cmd, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vwarn(format, args);
    va_end(args);
    if (cmd)
        (void)fprintf(stderr, "usage: sluice %s\n", cmd_part(cmd, CMD_PART_USAGE));
    else
        (void)fputs("see 'sluice --help'\n", stderr);
    return CMD_USAGE;
}

int cmd_fail(const struct error *err) {
    cmd_warn("%s", err->text);
    return CMD_FAILED;
}

int cmd_error(const struct error *err) {
    cmd_warn("%s", err->text);
    switch (err->code) {
    case -EINVAL:
    case -ERANGE:
    case -ELOOP:
    case -ENOENT:
    case -EISDIR:
    case -ENOTDIR:
    case -EACCES:
        return CMD_USAGE;
    default:
        return CMD_FAILED;
    }
}

static int unknown_command(const struct cmd *parent, const char *name) {
    const struct cmd *const *table = parent ? parent->subs : cmd_table;
    const char *nearest = cmd_nearest(table, name);
    if (nearest)
        return cmd_usage_error(parent, "unknown command '%s%s%s'; did you mean '%s'?",
                               parent ? parent->words : "", parent ? " " : "", name, nearest);
    return cmd_usage_error(parent, "unknown command '%s%s%s'", parent ? parent->words : "",
                           parent ? " " : "", name);
}

static int print_help(const struct cmd *cmd) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    cmd_print_help(cmd, &out);
    output_rest(&out);
    return CMD_OK;
}

static bool is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool asks_for_help(int count, char **words) {
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (is_help(words[i]))
            return true;
    return false;
}

static int check_args(const struct cmd_call *call) {
    const struct cmd *cmd = call->cmd;
    if (call->arg_count < cmd->min_args)
        return cmd_usage_error(cmd, "'%s' needs %s%u argument%s", cmd_name(cmd),
                               cmd->max_args > cmd->min_args ? "at least " : "", cmd->min_args,
                               cmd->min_args == 1 ? "" : "s");
    if (cmd->max_args != CMD_ANY_ARGS && call->arg_count > cmd->max_args)
        return cmd_usage_error(cmd, "'%s' does not take the argument '%s'", cmd_name(cmd),
                               call->args[cmd->max_args]);
    return CMD_OK;
}

static int run_command(const struct cmd *cmd, int count, char **words) {
    while (cmd->subs) {
        if (count == 0)
            return cmd_usage_error(cmd, "'%s' needs a subcommand", cmd_name(cmd));
        if (is_help(words[0]))
            return print_help(cmd);
        const struct cmd *sub = cmd_find(cmd->subs, words[0]);
        if (!sub && words[0][0] == '-')
            return cmd_usage_error(cmd, "unknown option '%s'", words[0]);
        if (!sub)
            return unknown_command(cmd, words[0]);
        cmd = sub;
        count--;
        words++;
    }
    if (asks_for_help(count, words))
        return print_help(cmd);
    struct error err = { 0 };
    struct cmd_call call;
    if (options_parse(cmd, count, words, &call, &err) < 0)
        return cmd_usage_error(cmd, "%s", err.text);
    int code = check_args(&call);
    if (code == CMD_OK)
        code = cmd->run(&call);
    options_finish(&call);
    return code;
}

static int dispatch(int argc, char **argv) {
    const char *word = argc < 2 ? "--help" : argv[1];
    if (is_help(word))
        return print_help(NULL);
    if (strcmp(word, "--version") == 0)
        return run_command(&cmd_version, argc - 2, argv + 2);
    const struct cmd *cmd = cmd_find(cmd_table, word);
    if (cmd)
        return run_command(cmd, argc - 2, argv + 2);
    if (word[0] == '-')
        return cmd_usage_error(NULL, "unknown option '%s'", word);
    return unknown_command(NULL, word);
}

int cmd_main(int argc, char **argv) {
    (void)setvbuf(stdout, NULL, _IOFBF, OUTPUT_BUFFER);
    int code = dispatch(argc, argv);
    int r = output_flush();
    if (r < 0) {
        cmd_warn("cannot write the output: %s", strerror(-r));
        return CMD_FAILED;
    }
    return code;
}
