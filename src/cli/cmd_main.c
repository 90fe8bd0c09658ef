/* cmd_main.c: dispatches argv to a command and returns its exit code.
 *
 * `--help` takes precedence over usage errors: its user does not know the usage yet. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/foreign_names.h"
#include "base/macros.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/time_ms.h"
#include "cli/cmd.h"
#include "cli/inputs.h"
#include "os/files.h"

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
    const char *foreign = table == cmd_table ? foreign_name(FOREIGN_COMMAND, name) : NULL;
    if (foreign)
        return foreign;
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
    return ""; /* no page: tests/unit/test_cli_table.c fails */
}

#define OUTPUT_BUFFER (1u << 18) /* so that a million lines need few writes */

extern const struct cmd cmd_version;

/* Messages quote untrusted text: names, paths, messages of runs. */
static void put_safe_line(struct strbuf *out, const struct strbuf *message) {
    sanitize_line(strbuf_text(message), out);
    strbuf_putc(out, '\n');
}

static void warn(const struct strbuf *message) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    put_safe_line(&line, message);
    (void)fprintf(stderr, "sluice: %s", strbuf_text(&line));
}

int cmd_print_line(const char *format, ...) {
    CMD_PRINT_ARGS(message, format);
    _cleanup_(output_finish) struct strbuf line = STRBUF_INIT;
    put_safe_line(&line, &message);
    return CMD_OK;
}

void cmd_put_line(struct strbuf *out, const char *format, ...) {
    CMD_PRINT_ARGS(message, format);
    put_safe_line(out, &message);
}

const char *cmd_env(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

void cmd_warn(const char *format, ...) {
    CMD_PRINT_ARGS(message, format);
    warn(&message);
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
    CMD_PRINT_ARGS(message, format);
    warn(&message);
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
    const char *nearest = cmd_nearest(parent ? parent->subs : cmd_table, name);
    return cmd_usage_error(parent, "unknown command '%s%s%s'%s%s%s", parent ? parent->words : "",
                           parent ? " " : "", name, nearest ? "; did you mean '" : "",
                           nearest ? nearest : "", nearest ? "'?" : "");
}

static int print_help(const struct cmd *cmd) {
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    cmd_print_help(cmd, &out);
    return CMD_OK;
}

static bool is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* From here on, every word is an argument. */
static bool begins_args(const char *word) {
    return strcmp(word, "--") == 0 || inputs_is_mark(word);
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
    for (int i = 0; i < count && !begins_args(words[i]); i++)
        if (is_help(words[i]))
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

static const struct cmd_option common_options[] = {
    { "json", 0, NULL, "print JSON" },
    { "help", 'h', NULL, "print this help" },
    { NULL },
};

static bool is_heading(const struct cmd_option *option) {
    return option->name && !*option->name;
}

const struct cmd_option *cmd_option_next(const struct cmd *cmd, const struct cmd_option *last) {
    const struct cmd_option *next = last ? last + 1 : cmd->options;
    while (next && is_heading(next))
        next++;
    if (next && next->name)
        return next;
    return last == &common_options[1] ? NULL : common_options;
}

const char *cmd_option_heading(const struct cmd *cmd, const struct cmd_option *option) {
    if (!cmd->options || !is_heading(&cmd->options[0]))
        return NULL;
    if (option == &common_options[0])
        return "General";
    return option != &common_options[1] && is_heading(&option[-1]) ? option[-1].text : NULL;
}

static bool takes_tasks(const struct cmd *cmd) {
    return strcmp(cmd->words, "add") == 0 || strcmp(cmd->words, "run") == 0;
}

struct parser {
    struct cmd_call *call;
    struct error *err;
    char **words;
    int count, at;
};

static int unknown_option(struct parser *p, const char *word, size_t length) {
    _cleanup_(freep) char *name = xstrndup(word, length);
    const char *foreign = takes_tasks(p->call->cmd) ? foreign_name(FOREIGN_OPTION, name) : NULL;
    if (foreign)
        return error_set(p->err, -EINVAL, "unknown option '--%s'; did you mean '%s'?", name,
                         foreign);
    struct nearest nearest = nearest_to(name);
    EACH_OPTION(option, p->call->cmd) {
        nearest_offer(&nearest, option->name);
    }
    return error_set(p->err, -EINVAL, "unknown option '--%.*s'%s%s%s", (int)length, word,
                     nearest.best ? "; did you mean '--" : "", nearest.best ? nearest.best : "",
                     nearest.best ? "'?" : "");
}

/* `value`: the rest of the option's word, or NULL. */
static int take_option(struct parser *p, const struct cmd_option *option, const char *value) {
    if (!option->argument && value)
        return error_set(p->err, -EINVAL, "option '--%s' takes no value", option->name);
    if (option->argument && !value) {
        if (p->at + 1 >= p->count)
            return error_set(p->err, -EINVAL, "option '--%s' needs a value: %s", option->name,
                             option->argument);
        value = p->words[++p->at];
    }
    p->call->json |= option == &common_options[0];
    p->call->help |= option == &common_options[1];
    p->call->given[p->call->given_count++] = (struct cmd_given){ option, value };
    return 0;
}

static int parse_long(struct parser *p, const char *word) {
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    EACH_OPTION(option, p->call->cmd) {
        if (strncmp(option->name, word, length) == 0 && option->name[length] == '\0')
            return take_option(p, option, equals ? equals + 1 : NULL);
    }
    return unknown_option(p, word, length);
}

static int parse_letters(struct parser *p, const char *letters) {
    while (*letters) {
        const struct cmd_option *option = NULL;
        do
            option = cmd_option_next(p->call->cmd, option);
        while (option && option->letter != *letters);
        if (!option)
            return error_set(p->err, -EINVAL, "unknown option '-%c'", *letters);
        letters++;
        const char *value = option->argument && *letters ? letters : NULL;
        int r = take_option(p, option, value);
        if (r < 0 || value)
            return r;
    }
    return 0;
}

int options_parse(const struct cmd *cmd, int count, char **words, struct cmd_call *ret_call,
                  struct error *err) {
    struct cmd_call call = { .cmd = cmd };
    /* The letters of a word may each be an option, so they bound the count. */
    size_t most = 1;
    for (int i = 0; i < count; i++)
        most += strlen(words[i]) + 1;
    call.args = xcalloc((size_t)count + 1, sizeof(*call.args));
    call.given = xcalloc(most, sizeof(*call.given));
    struct parser p = { &call, err, words, count, 0 };
    bool only_args = false;
    int r = 0;
    for (; p.at < count && r == 0; p.at++) {
        const char *word = words[p.at];
        only_args |= inputs_is_mark(word);
        if (only_args || word[0] != '-' || word[1] == '\0')
            call.args[call.arg_count++] = word;
        else if (strcmp(word, "--") == 0)
            only_args = true;
        else
            r = word[1] == '-' ? parse_long(&p, word + 2) : parse_letters(&p, word + 1);
    }
    if (r < 0) {
        options_finish(&call);
        return r;
    }
    *ret_call = call;
    return 0;
}

void options_finish(struct cmd_call *call) {
    free(call->args);
    free(call->given);
    call->args = NULL;
    call->given = NULL;
    call->arg_count = call->given_count = 0;
}

bool cmd_has(const struct cmd_call *call, const char *option) {
    for (size_t i = 0; i < call->given_count; i++)
        if (strcmp(call->given[i].option->name, option) == 0)
            return true;
    return false;
}

const char *cmd_value(const struct cmd_call *call, const char *option) {
    for (size_t i = call->given_count; i > 0; i--)
        if (strcmp(call->given[i - 1].option->name, option) == 0)
            return call->given[i - 1].value;
    return NULL;
}

const char *cmd_value_at(const struct cmd_call *call, const char *option, size_t n) {
    for (size_t i = 0; i < call->given_count; i++)
        if (strcmp(call->given[i].option->name, option) == 0 && n-- == 0)
            return call->given[i].value;
    return NULL;
}

int cmd_seconds(const struct cmd_call *call, const char *option, int64_t max, int64_t *seconds) {
    const char *text = cmd_value(call, option);
    int64_t ms;
    if (!text)
        return CMD_OK;
    if (number_parse_span(text, &ms, NULL) < 0 || ms > SECONDS(max))
        return cmd_usage_error(
            call->cmd,
            "option '--%s': expected a time span like 90s or 30m, at most %" PRId64
            " s, got '%.80s'",
            option, max, text);
    *seconds = (ms + 999) / 1000;
    return CMD_OK;
}

int cmd_number(const struct cmd_call *call, const char *option, int64_t min, int64_t max,
               int64_t *number) {
    const char *text = cmd_value(call, option);
    int64_t value;
    if (!text)
        return CMD_OK;
    if (number_parse_int(text, &value, NULL) == 0 && value >= min && value <= max) {
        *number = value;
        return CMD_OK;
    }
    if (max == INT64_MAX)
        return cmd_usage_error(call->cmd,
                               "option '--%s': expected a whole number of at least %" PRId64
                               ", got '%.80s'",
                               option, min, text);
    return cmd_usage_error(call->cmd,
                           "option '--%s': expected a whole number from %" PRId64 " to %" PRId64
                           ", got '%.80s'",
                           option, min, max, text);
}

int cmd_choice(const struct cmd_call *call, const char *option, const char *const *words) {
    const char *given = cmd_value(call, option);
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT;
    for (int i = 0; words[i]; i++) {
        if (!given || strcmp(given, words[i]) == 0)
            return i;
        strbuf_printf(&known, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    }
    struct nearest nearest = nearest_to(given);
    for (int i = 0; words[i]; i++)
        nearest_offer(&nearest, words[i]);
    (void)cmd_usage_error(call->cmd, "unknown %s '%s'; expected %s%s%s%s", option, given,
                          strbuf_text(&known), nearest.best ? "; did you mean '" : "",
                          nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
    return -1;
}

int cmd_absolute_path(const char *path, struct strbuf *out, struct error *err) {
    if (*path == '\0')
        return error_set(err, -EINVAL, "a path is empty");
    if (*path != '/') {
        _cleanup_(freep) char *folder = getcwd(NULL, 0);
        if (!folder)
            return error_set(err, -errno, "cannot find the current folder: %s", strerror(errno));
        strbuf_printf(out, "%s/", folder);
    }
    strbuf_puts(out, path);
    return 0;
}

int cmd_make_parent(const char *path, struct error *err) {
    _cleanup_(freep) char *folder = xstrndup(path, (size_t)(strrchr(path, '/') - path));
    return folders_make(folder, 1, err);
}
