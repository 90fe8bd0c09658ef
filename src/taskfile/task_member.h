/* task_member.h: every member of a task, and the only parser of its values.
 *
 * The table (task_members.inc) is the single source: requests (engine/submission.h), task files and
 * formulas, options of `add` and `run`, MCP tools, what a run may set for its children, the
 * dashboard form, schemas and docs/reference/members.md are generated from it.
 *
 * Values: a JSON number is in the member's unit (seconds, dollars, MB, ms since the epoch). Texts
 * are accepted, too: 90s, $2.50, 1.5GB, 18:30 or 2027-01-31T18:30. The number is stored.
 *
 * Adding a member
 *   1. a row in task_members.inc, with an OPTION row if `add` and `run` should have an option
 *   2. the code that uses it: ops/ has it in struct submission, launch/ in the stored JSON
 *   3. src/store/…, only if it is a column
 *   then `make docs`. Its row decides whether runs may set it for children and MCP tools show it.
 * tests/unit/test_taskfile_table.c tries every row in every form; tests/ops/test_children.c
 * requires a decision whether a run may set it; ops_table compares the pages. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"

/* Texts first, then numbers: task_member.c relies on the order. */
enum task_member_kind {
    MEMBER_NAME,     /* 1 to NAME_BYTES_MAX bytes on one line */
    MEMBER_LINE,     /* one line of text, at most `max` bytes */
    MEMBER_BODY,     /* any text */
    MEMBER_CHOICE,   /* one of `choices` */
    MEMBER_PATH,     /* stored as an absolute path */
    MEMBER_PLACE,    /* a path without ".." */
    MEMBER_ARTIFACT, /* the same; relative ones under iterations/ are the parent's */
    MEMBER_WHOLE,    /* an integer */
    MEMBER_SPAN,     /* in seconds; `min` and `max` are in ms */
    MEMBER_SIZE,     /* in MB */
    MEMBER_MONEY,    /* in dollars */
    MEMBER_MOMENT,   /* in ms since the epoch */
    MEMBER_SWITCH,   /* true or false */
    MEMBER_NAMES,    /* a list of unique names; at most `max` */
    MEMBER_WORDS,    /* a command; under an alias, a text for sh -c */
    MEMBER_CHECKS,   /* a list of commands */
    MEMBER_GATE,     /* a command with a period */
    MEMBER_ENV,      /* variables and their values */
    MEMBER_PAIRS,    /* names and texts */
    MEMBER_OBJECT,   /* any object */
    MEMBER_KIND_MAX,
};

enum {
    MEMBER_NO_DEFAULT = 1u << 0, /* `defaults` of a file cannot set it */
    MEMBER_ADMIN_ONLY = 1u << 1, /* over TCP it needs the scope admin */
    MEMBER_INTERNAL = 1u << 2,   /* set by Sluice; not allowed in files */
};

/* `child`: who may set it for a task that a run adds. Default: none of these. */
enum {
    CHILD_TOKEN = 1u << 0,   /* a request with the token of a run */
    CHILD_AGENT = 1u << 1,   /* a spawn file written by an agent, or by a command in a sandbox */
    CHILD_COMMAND = 1u << 2, /* a spawn file of any other command that the owner has configured */
    CHILD_FILE = CHILD_AGENT | CHILD_COMMAND,
    CHILD_ALL = CHILD_TOKEN | CHILD_FILE,
    CHILD_IMPORT = 1u << 3, /* a request with the token of a run that may import (member imports) */
    CHILD_IF_ALLOWED = 1u << 8, /* all of the above, with capability.commands */
};

/* `tools`: the MCP tools that show it. */
enum {
    MCP_QUEUE = 1u << 0,    /* queue_task */
    MCP_CHILDREN = 1u << 1, /* add_children */
    MCP_BOTH = MCP_QUEUE | MCP_CHILDREN,
};

struct task_member {
    const char *name;
    enum task_member_kind kind;
    int64_t min, max;           /* max 0: the maximum of its kind */
    const char *const *choices; /* CHOICE: ends with NULL */
    const char *aliases[3];     /* other accepted names; ends with NULL */
    unsigned flags, child, tools;
    const char *why;   /* why a run may not set it; NULL: nothing to add */
    const char *value; /* accepted values, for documentation; NULL: from the kind */
    const char *form;  /* label in the dashboard form; NULL: not in the form */
    const char *text;  /* meaning, in Markdown */
};

/* Properties shared by all members of a kind. */
struct task_kind {
    const char *expected; /* in error messages; NULL: depends on the member */
    const char *value;    /* in documentation; NULL: same as `expected` */
    const char *unit;     /* unit of a number, and accepted texts; NULL: no unit */
    const char *example;  /* in the form; or NULL */
};
extern const struct task_kind task_kinds[];

extern const struct task_member task_members[];
extern const size_t task_member_count;

/* By name or alias; NULL if unknown. */
const struct task_member *task_member_find(const char *name);
/* -EINVAL with a message that suggests the nearest member. */
int task_member_unknown(const char *name, struct error *err);

/* Accepted values, for documentation: "time span", "`done`, `none`". */
void task_member_value(const struct task_member *m, struct strbuf *out);
/* Its text without Markdown links. */
void task_member_text(const struct task_member *m, struct strbuf *out);

struct task_source {
    const char *folder; /* base of relative paths; NULL: paths must be absolute */
    time_ms now;        /* to resolve a time such as 18:30 to its next occurrence */
};

/* Validates a value of the member, given under the name `key`. *ret_other is NULL if the value can
 * be stored as it is; otherwise the value to store, owned by the caller. -EINVAL, -ERANGE or
 * -E2BIG: "expected …, got …". */
int task_member_check(const struct task_member *m, const char *key, const json_t *value,
                      const struct task_source *source, json_t **ret_other, struct error *err);
/* The same for text that a user has typed. */
int task_member_parse(const struct task_member *m, const char *key, const char *text,
                      const struct task_source *source, json_t **ret_value, struct error *err);

/* Validates every member of an object and replaces values and aliases by their stored form;
 * *ret_changed is set if anything was replaced. `take` gets each stored value. Unknown members are
 * ignored without `take`, and refused with it. */
struct task_read_options {
    struct task_source source;
    void (*take)(void *ctx, const struct task_member *m, const json_t *value);
    void *ctx;
};
int task_members_read(json_t *task, const struct task_read_options *reading, bool *ret_changed,
                      struct error *err);

/* The number used for comparison: spans in ms, money in millionths, switches 0 or 1. */
int64_t task_member_number(const struct task_member *m, const json_t *value);
