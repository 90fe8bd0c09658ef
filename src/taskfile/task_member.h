/* task_member.h: every member of a task, and the one reader of its values.
 *
 * The table (task_members.inc) is all that the rest of the program knows of a member: requests
 * (ops/submission.h), files of tasks and formulas, options of `add` and `run`, tools of the MCP server, what a
 * run may say of its children, the dashboard's form, schemas and docs/members.md are made from it.
 *
 * Values: a JSON number means what it always meant (seconds, dollars, MB, ms since the epoch). A text is
 * accepted for each of these: 90s, $2.50, 1.5GB, 18:30 or 2027-01-31T18:30. What is kept is the number.
 *
 * Adding a member
 *   1. its row in task_members.inc, with an OPTION row if `add` and `run` should have one
 *   2. the code that uses it. ops/ has it as a field of struct submission, the engine in the stored JSON
 *   3. src/store/…, only if it is a column
 *   then `make docs`. A child of a run may not set it, and no MCP tool shows it, until its row says so.
 * tests/unit/test_taskfile_table.c tries every row in every form; tests/ops/test_children.c asks for a decision
 * whether a run may set it; ops_table compares the pages. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"

/* Texts first, then numbers: task_member.c compares kinds. */
enum task_member_kind {
    MEMBER_NAME,     /* 1 to NAME_BYTES_MAX bytes on one line */
    MEMBER_LINE,     /* a text on one line, at most `max` bytes */
    MEMBER_BODY,     /* any text */
    MEMBER_CHOICE,   /* one of `choices` */
    MEMBER_PATH,     /* absolute when kept */
    MEMBER_PLACE,    /* a path without ".." */
    MEMBER_ARTIFACT, /* the same; relative ones below iterations/ are the parent's */
    MEMBER_WHOLE,    /* a whole number */
    MEMBER_SPAN,     /* in seconds; `min` and `max` in ms */
    MEMBER_SIZE,     /* in MB */
    MEMBER_MONEY,    /* in dollars */
    MEMBER_MOMENT,   /* in ms since the epoch */
    MEMBER_SWITCH,   /* true or false */
    MEMBER_NAMES,    /* a list of names, each once; at most `max` */
    MEMBER_WORDS,    /* a command; under an alias a text for sh -c */
    MEMBER_CHECKS,   /* a list of commands */
    MEMBER_ENV,      /* variables and their values */
    MEMBER_PAIRS,    /* names and texts */
    MEMBER_OBJECT,   /* any object */
    MEMBER_KIND_MAX,
};

enum {
    MEMBER_NO_DEFAULT = 1u << 0, /* of one task: it has no default in a file */
    MEMBER_ADMIN_ONLY = 1u << 1, /* by TCP it needs the scope admin */
    MEMBER_INTERNAL = 1u << 2,   /* Sluice sets it; not in files */
};

/* `child`: who may set it of a task that a run adds. Nobody, unless the row says so. */
enum {
    CHILD_TOKEN = 1u << 0, /* a request with the token of a run */
    CHILD_AGENT = 1u << 1, /* a spawn file that an agent, or a command in a sandbox, has written */
    CHILD_COMMAND = 1u << 2, /* a spawn file of any other command that the owner has named */
    CHILD_FILE = CHILD_AGENT | CHILD_COMMAND,
    CHILD_ALL = CHILD_TOKEN | CHILD_FILE,
    CHILD_IF_ALLOWED = 1u << 8, /* all of them, with capability.commands */
};

/* `tools`: which tools of the MCP server show it. */
enum {
    MCP_QUEUE = 1u << 0,    /* queue_task */
    MCP_CHILDREN = 1u << 1, /* add_children */
    MCP_BOTH = MCP_QUEUE | MCP_CHILDREN,
};

struct task_member {
    const char *name;
    enum task_member_kind kind;
    int64_t min, max;           /* max 0: of its kind */
    const char *const *choices; /* CHOICE: ends with NULL */
    const char *aliases[3];     /* other names that are accepted; ends with NULL */
    unsigned flags, child, tools;
    const char *why;   /* a run may not set it; NULL: nothing to add */
    const char *value; /* what may be written, for documents; NULL: as its kind says */
    const char *form;  /* its label in the dashboard's form; NULL: not there */
    const char *text;  /* what it means, in Markdown */
};

/* What holds for every member of a kind. */
struct task_kind {
    const char *expected; /* in messages; NULL: depends on the member */
    const char *value;    /* in documents; NULL: the same */
    const char *unit;     /* what a number is, and what a text may be; NULL: no unit */
    const char *example;  /* in the form; or NULL */
};
extern const struct task_kind task_kinds[];

extern const struct task_member task_members[];
extern const size_t task_member_count;

/* By its name or an alias; or NULL. */
const struct task_member *task_member_find(const char *name);
/* -EINVAL: a task has no such member, and which one was probably meant. */
int task_member_unknown(const char *name, struct error *err);

/* What may be written, for documents: "time span", "`done`, `none`". */
void task_member_value(const struct task_member *m, struct strbuf *out);
/* Its text without links. */
void task_member_text(const struct task_member *m, struct strbuf *out);

/* Where values come from. */
struct task_source {
    const char *folder; /* relative paths begin here; NULL: they must be absolute */
    time_ms now;        /* a moment such as 18:30 is the next one */
};

/* Is this a value of the member, under this name? *ret_other is NULL if it is kept as it is; else what is kept
 * instead, which the caller frees. -EINVAL, -ERANGE or -E2BIG: "expected …, got …". */
int task_member_check(const struct task_member *m, const char *key, const json_t *value,
                      const struct task_source *source, json_t **ret_other, struct error *err);
/* The same from a text that a user has written. */
int task_member_parse(const struct task_member *m, const char *key, const char *text,
                      const struct task_source *source, json_t **ret_value, struct error *err);

/* Checks every member of an object and replaces what is kept otherwise, names too; *ret_changed: anything was.
 * `take` gets each value that is kept. Without it unknown members are left alone, else they are refused. */
struct task_read_options {
    struct task_source source;
    void (*take)(void *ctx, const struct task_member *m, const json_t *value);
    void *ctx;
};
int task_members_read(json_t *task, const struct task_read_options *reading, bool *ret_changed,
                      struct error *err);

/* Numbers as they are compared: spans in ms, money in millionths, switches 0 or 1. */
int64_t task_member_number(const struct task_member *m, const json_t *value);
