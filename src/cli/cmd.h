/* cmd.h: what a command of `sluice` is.
 *
 * Adding a command
 *   1. src/cli/cmd_NAME.c       exports `const struct cmd cmd_NAME`
 *   2. src/cli/cmd_table.c      its extern and one line, in alphabetical order
 *   3. src/cli/meson.build      the file
 *   4. docs/cli/NAME.md         has its usage, word for word, in a code block
 *   5. tests/cli/test_NAME.sh   at least one good and one bad call
 * tests/unit/test_cli_table.c fails when the order, the page or the test is missing.
 *
 * Output: results on stdout, nothing else; `sluice: sentence` on stderr. Every command has --help
 * and --json; with --json stdout is one JSON value. A run function never exits and never flushes:
 * main.c does, and turns a failed write into CMD_FAILED. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/strbuf.h"

/* Exit codes, the same for every command. */
enum {
    CMD_OK = 0,
    CMD_FAILED = 1,
    CMD_USAGE = 2, /* wrong call or bad input */
    CMD_NO_DAEMON = 3,
    CMD_REFUSED = 4, /* deferred, or refused by a guard */
    CMD_TIMED_OUT = 5,
    CMD_NEEDS_PERSON = 6,
};

#define CMD_ANY_ARGS 0xffffu

struct cmd_option {
    const char *name;     /* without the dashes: "set"; NULL ends a list */
    char letter;          /* 's' for -s; 0 = none */
    const char *argument; /* "KEY=VALUE"; NULL = a switch */
    const char *text;     /* for --help; lower case, no full stop */
};

struct cmd_call;

struct cmd {
    const char *name;                 /* "plan"; of a subcommand its last word: "get" */
    const char *usage;                /* what follows `sluice `: "plan [--all] FILE|-" */
    const char *summary;              /* one line, lower case, no full stop */
    const char *text;                 /* more lines for --help; or NULL */
    const char *examples;             /* lines that work when pasted, each ends in \n; or NULL */
    const struct cmd_option *options; /* own options; --json and --help come by themselves */
    const struct cmd *const *subs;    /* NULL-terminated; with it `run` is not used */
    unsigned min_args, max_args;      /* plain arguments; max CMD_ANY_ARGS = any number */
    int (*run)(const struct cmd_call *call); /* returns an exit code */
};

/* One call of a command, options and arguments taken apart. Texts are those of argv. */
struct cmd_call {
    const struct cmd *cmd;
    const char **args;
    size_t arg_count;
    bool json;
    bool help;
    struct cmd_given *given; /* see options.h */
    size_t given_count;
};

/* Was the option given? */
bool cmd_has(const struct cmd_call *call, const char *option);
/* The last value given, or NULL. */
const char *cmd_value(const struct cmd_call *call, const char *option);
/* Every value in the order given: the n-th (from 0), or NULL behind the last. */
const char *cmd_value_at(const struct cmd_call *call, const char *option, size_t n);
/* The last value as a whole number from `min` to `max` (INT64_MAX: no end); not given: *number stays as
 * it is. CMD_OK, or as cmd_usage_error. */
int cmd_number(const struct cmd_call *call, const char *option, int64_t min, int64_t max,
               int64_t *number);

/* Prints `sluice: SENTENCE` on stderr. */
void cmd_warn(const char *format, ...) _printf_(1, 2);
/* cmd_warn and the way to the help; returns CMD_USAGE. */
int cmd_usage_error(const struct cmd *cmd, const char *format, ...) _printf_(2, 3);
/* Prints the sentence of an error; returns CMD_USAGE if the input was wrong (-EINVAL, -ERANGE,
 * -ELOOP, or a file that cannot be opened: -ENOENT, -EISDIR, -ENOTDIR, -EACCES), else CMD_FAILED. */
int cmd_error(const struct error *err);
/* From now on Ctrl-C and SIGTERM do not end the program but come as a signalfd, which does not block. */
int cmd_watch_interrupts(void);

/* --- the table ------------------------------------------------------------------------------- */

/* All commands, by name, NULL at the end. */
extern const struct cmd *const cmd_table[];

/* NULL: no such command. */
const struct cmd *cmd_find(const struct cmd *const *table, const char *name);
/* The known name that differs least from `name`, or NULL when none is near. */
const char *cmd_nearest(const struct cmd *const *table, const char *name);

/* What `sluice CMD --help` prints. */
void cmd_print_help(const struct cmd *cmd, struct strbuf *out);
/* What `sluice --help` prints. */
void cmd_print_overview(struct strbuf *out);

/* All of `sluice` but the process: main() calls it with its own argv. */
int cmd_main(int argc, char **argv);
