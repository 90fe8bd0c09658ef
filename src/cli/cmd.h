/* cmd.h: what a command of `sluice` is.
 *
 * Adding a command: CONTRIBUTING.md. Its entry (struct cmd) has options, arguments and the
 * function. Its page, docs/reference/cli/NAME.md, has usage, summary, text, examples, exit codes
 * and related commands, for --help and the man page (scripts/embed-commands). The page's table of
 * options is generated.
 *
 * Output: only results on stdout; `sluice: message` on stderr. Every command has --help and --json;
 * with --json stdout is one JSON value. A run function never exits and never flushes: main.c does,
 * and turns a failed write into CMD_FAILED. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/safe_text.h"
#include "base/strbuf.h"
#include "cli/output.h"

/* Exit codes, the same for every command; documented in docs/reference/cli/README.md. */
enum {
    CMD_OK = 0,
    CMD_FAILED = 1,
    CMD_USAGE = 2, /* usage error or invalid input */
    CMD_NO_DAEMON = 3,
    CMD_REFUSED = 4, /* deferred, or refused by a guard */
    CMD_TIMED_OUT = 5,
    CMD_NEEDS_PERSON = 6,
};

#define CMD_ANY_ARGS 0xffffu

struct cmd_option {
    const char *name;     /* without the dashes: "set"; "": a heading; NULL ends a list */
    char letter;          /* 's' for -s; 0: none */
    const char *argument; /* "KEY=VALUE"; NULL: a switch */
    const char *text;     /* lower case, no full stop */
    const char *member;   /* of the request, for request_take_members; of a task, for submit_task */
};

struct cmd_call;

struct cmd {
    const char *words;                       /* "plan"; for a subcommand both: "config get" */
    int (*run)(const struct cmd_call *call); /* returns an exit code */
    unsigned min_args, max_args;             /* plain arguments; max CMD_ANY_ARGS: any number */
    const struct cmd_option *options;        /* its own; --json and --help are implicit */
    const void *data;                        /* for a function shared by several commands */
    const struct cmd *const *subs;           /* NULL-terminated; then `run` is unused */
};
#define CMD_SUB(...)                                                                               \
    &(const struct cmd) {                                                                          \
        __VA_ARGS__                                                                                \
    }
#define CMD_LIST(...)                                                                              \
    (const struct cmd *const[]) {                                                                  \
        __VA_ARGS__, NULL                                                                          \
    }

/* Begins a group in a table of options. The first entry of such a table is a heading. */
#define CMD_HEADING(title)                                                                         \
    { .name = "", .text = (title) }

/* A table of options that one command has. */
#define CMD_OPTIONS(...)                                                                           \
    (const struct cmd_option[]) {                                                                  \
        __VA_ARGS__, {                                                                             \
            NULL                                                                                   \
        }                                                                                          \
    }

struct cmd_given {
    const struct cmd_option *option;
    const char *value; /* NULL for a switch */
};

/* A parsed call. Borrows the texts of argv. */
struct cmd_call {
    const struct cmd *cmd;
    const char **args;
    size_t arg_count;
    bool json;
    bool help;
    struct cmd_given *given;
    size_t given_count;
};

bool cmd_has(const struct cmd_call *call, const char *option);
/* The last value given, or NULL. */
const char *cmd_value(const struct cmd_call *call, const char *option);
/* The n-th value in the order given (from 0), or NULL. */
const char *cmd_value_at(const struct cmd_call *call, const char *option, size_t n);
/* The last value as an integer from `min` to `max` (INT64_MAX: no maximum); *number is unchanged if
 * not given. CMD_OK, or as cmd_usage_error. */
int cmd_number(const struct cmd_call *call, const char *option, int64_t min, int64_t max,
               int64_t *number);

/* The last value as a time span (90s, 30m; digits are seconds) of at most `max` s, rounded up. */
int cmd_seconds(const struct cmd_call *call, const char *option, int64_t max, int64_t *seconds);

/* The position of an option's value in the NULL-terminated list `words`; 0 if it is not given. -1
 * after a usage error: "unknown OPTION 'x'; expected a, b or c". */
int cmd_choice(const struct cmd_call *call, const char *option, const char *const *words);

/* Declares the buffer `out` with the arguments after `format`, printed. */
#define CMD_PRINT_ARGS(out, format)                                                                \
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;                                      \
    va_list out##_args;                                                                            \
    va_start(out##_args, format);                                                                  \
    strbuf_vprintf(&(out), format, out##_args);                                                    \
    va_end(out##_args)

/* Prints a line on stdout, sanitized for a terminal; returns CMD_OK. */
int cmd_print_line(const char *format, ...) _printf_(1, 2);
/* The same to a buffer. */
void cmd_put_line(struct strbuf *out, const char *format, ...) _printf_(2, 3);
/* An environment variable; NULL if unset or empty. */
const char *cmd_env(const char *name);
/* Prints `sluice: MESSAGE` on stderr. */
void cmd_warn(const char *format, ...) _printf_(1, 2);
/* cmd_warn and the usage; returns CMD_USAGE. */
int cmd_usage_error(const struct cmd *cmd, const char *format, ...) _printf_(2, 3);
/* Prints the message of an error; returns CMD_FAILED. */
int cmd_fail(const struct error *err);
/* The same, but CMD_USAGE for invalid input (-EINVAL, -ERANGE, -ELOOP, or a file that cannot be
 * opened: -ENOENT, -EISDIR, -ENOTDIR, -EACCES). */
int cmd_error(const struct error *err);
/* Relative paths start at the current directory; the file need not exist. */
int cmd_absolute_path(const char *path, struct strbuf *out, struct error *err);
/* Creates the missing directories above an absolute path. */
int cmd_make_parent(const char *path, struct error *err);
/* From now on, SIGINT and SIGTERM arrive through this non-blocking signalfd. */
int cmd_watch_interrupts(void);

/* --- the table of commands ------------------------------------------------------------------- */

extern const struct cmd *const cmd_table[]; /* sorted by name, NULL-terminated */

/* The order in which help lists the commands. Each command is in one group. */
struct cmd_group {
    const char *title;
    const char *first; /* names for the first day, separated by blanks */
    const char *more;  /* the others, shown by 'sluice help --all' */
};
extern const struct cmd_group cmd_groups[]; /* the last one has no title */

/* The option after `last`, or the first one: those of the command, then --json and --help. NULL: no
 * more. */
const struct cmd_option *cmd_option_next(const struct cmd *cmd, const struct cmd_option *last);
/* The heading of the group of options that begins with this one; NULL: it begins none. */
const char *cmd_option_heading(const struct cmd *cmd, const struct cmd_option *option);
#define EACH_OPTION(option, of)                                                                    \
    for (const struct cmd_option *option = NULL; (option = cmd_option_next(of, option));)

/* The last of its words: "get". */
const char *cmd_name(const struct cmd *cmd);
/* NULL: unknown command. */
const struct cmd *cmd_find(const struct cmd *const *table, const char *name);
/* The most similar known name, or NULL if none is close. */
const char *cmd_nearest(const struct cmd *const *table, const char *name);

/* Parts of a command's page, without Markdown. */
enum cmd_part {
    CMD_PART_WORDS,
    CMD_PART_USAGE,    /* after `sluice `: "plan [--all] FILE|-" */
    CMD_PART_SUMMARY,  /* one line, lower case, no full stop */
    CMD_PART_TEXT,     /* lines, or "" */
    CMD_PART_EXAMPLES, /* lines that can be pasted */
    CMD_PART_EXITS,    /* "0    done\n1    …" */
    CMD_PART_SEE,      /* "again, cancel", or "" */
};
const char *cmd_part(const struct cmd *cmd, enum cmd_part part);
/* Generated by scripts/embed-commands: parts separated by NUL; NULL-terminated. */
extern const char *const cmd_texts[];
extern const char cmd_exits[]; /* shared by all commands */

/* `sluice CMD --help`; NULL: `sluice --help`. */
void cmd_print_help(const struct cmd *cmd, struct strbuf *out);

/* Parses the words after the command's name: --name VALUE, --name=VALUE, -x VALUE, -xVALUE,
 * switches as -xy, options and arguments mixed; after `--`, and after the `:::` of a list of inputs
 * (cli/inputs.h), everything is an argument; so is `-` alone. 0, or -EINVAL with a message. The call borrows the words; end it with options_finish. */
int options_parse(const struct cmd *cmd, int count, char **words, struct cmd_call *ret_call,
                  struct error *err);
void options_finish(struct cmd_call *call);

/* All of `sluice` except the process itself. */
int cmd_main(int argc, char **argv);
