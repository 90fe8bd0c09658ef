/* names.h: commands about things with names: agents, groups, hosts, limiters, projects, tokens.
 *
 * Each is a run function for `struct cmd`, and what it does is in `data`. */
#pragma once

#include <jansson.h>

#include "cli/cmd.h"

/* A column of a list: the member `key` of each item, as `kind` says, or what `put` writes. */
enum name_kind {
    NAME_TEXT,
    NAME_SPAN,
    NAME_NUMBER,
    NAME_PERCENT,
    NAME_CAP
}; /* numbers to the right */
struct name_column {
    const char *title; /* NULL ends a list */
    const char *key;
    enum name_kind kind;
    void (*put)(const json_t *item, struct strbuf *out); /* or NULL */
};

/* `agent list` and so on. Every page is followed to its end, for the table as for --json, which is one object of all items. */
struct name_list {
    const char *path; /* "/v1/groups" */
    const char *none; /* what to say when there is none; with its newline */
    struct name_column columns[10];
    void (*note)(const json_t *item, struct strbuf *out); /* lines below the table; or NULL */
};
int name_list_run(const struct cmd_call *call);

/* One thing done to each name on the command line: `limiter clear`, `group close`. One question per name, in the order given; the first
 * that fails ends it, and what was done before is printed. With --json: the daemon's answer, or a list of them when there are several. */
struct name_verb {
    const char *before, *after; /* POST BEFORE name AFTER */
    const char *did, *already;  /* "cleared", "is open already" */
};
int name_verb_run(const struct cmd_call *call);

/* Pauses or resumes, as the command is called, the projects that the arguments name; without arguments everything. */
int pause_run(const struct cmd_call *call);
