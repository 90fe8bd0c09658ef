/* import.h: shared by all imports: adds tasks from elsewhere, once.
 *
 * Life: import_init → import_add for each task, import_skip for those left out → import_send, which
 * prints and returns the exit code → import_finish. Each task has an external id, so a second
 * import adds no duplicates. Without --keep-going an error in one refuses all. A full queue defers
 * the rest: importing again continues.
 *
 * The state folder of another scheduler: state_open → state_item for each record, then its members
 * → state_send → state_finish. Items are collected first: dependencies may come later, or not
 * exist. state_send sorts them by dependency, holds those that must not start, and adds projects
 * and tasks. The folder is read-only. Paths are relative to it and cannot leave it; opening one
 * never blocks. */
#pragma once

#include <jansson.h>

#include "base/strbuf.h"
#include "base/time_ms.h"
#include "cli/cmd.h"

struct import {
    const struct cmd_call *call;
    json_t *tasks;           /* submissions */
    json_t *sources;         /* display name of each: a file, an id */
    json_t *report;          /* printed by --json; contains the following lists */
    json_t *done;            /* answers: {"source","id","result"} */
    json_t *skipped, *notes; /* {"source","why"} */
    json_t *refused;         /* {"source","error"} */
    json_t *deferred;        /* {"source"}: the queue is full */
    json_t *warning;         /* the daemon's last one; or NULL */
    json_t *counts; /* of an import that changes tasks, WORD: number; in `report`; or NULL */
    json_t *places; /* where each task is in the input ("line 3"), for errors; or NULL */
    /* For the state of another scheduler; else NULL, like `notes`. */
    json_t *settings;     /* KEY: VALUE, as 'sluice config set' takes them */
    json_t *new_projects; /* NAME: settings, added before the tasks */
    bool damaged;         /* something could not be read */
};

void import_init(struct import *import, const struct cmd_call *call);
/* Of an import that also changes tasks that are there already: `counts` and `places`. */
void import_init_counts(struct import *import);
void import_finish(struct import *import);

/* Takes `task`. Project, agent, kind and draft come from the options, unless it has its own. */
void import_add(struct import *import, const char *source, json_t *task);
/* Not added, for a reason that is not an error; printed as a warning. */
void import_skip(struct import *import, const char *source, const char *why);
/* The same without a warning: routine. */
void import_leave_out(struct import *import, const char *source, const char *why);
/* An item is invalid: CMD_OK with --keep-going; otherwise the exit code. */
int import_refuse(struct import *import, const char *source, const struct error *err);
/* On a terminal, periodically: "123 of 4567". */
void import_progress(size_t done, size_t count);

int import_send(struct import *import);
/* The same in two steps: adds the tasks; prints, and returns the exit code for both. */
int import_submit(struct import *import);
int import_report(struct import *import, int code);

/* The task that has this external id in the project (NULL: any), from `cache` (an object) or from
 * the daemon: {"id", "ref": "#17", "state", "attempt"}; NULL: none. Valid as long as the cache. */
struct request;
const json_t *import_known(struct request *req, json_t *cache, const char *project, const char *id);

extern const struct cmd import_cards, import_beads, import_agency, import_agent_queue,
    import_command, import_conductor, import_gastown, import_loopr;

/* The prompt of a bead: its title and sections. */
void import_bead_prompt(const json_t *bead, struct strbuf *out);
/* 0 is the most urgent of five, 2 the default: 80 … 100 … 120. */
json_t *import_bead_priority(double priority);

/* All rows of all tables of a SQLite database: {TABLE: [{COLUMN: value}]}. Blobs, and texts that
 * are not UTF-8, become {"bytes": SIZE}. `path` is absolute; a copy is read, in TMPDIR. */
int import_sqlite_read(const char *path, json_t **ret_tables, struct error *err);

#define IMPORT_OPTIONS                                                                             \
    { "project", 'p', "NAME", "the project they belong to" },                                      \
        { "agent", 'a', "NAME", "the agent that gets them" },                                      \
        { "kind", 'k', "KIND", "the kind of tasks that name none" },                               \
        { "group", 'g', "NAME", "add them to this group" },                                        \
        { "draft", 'D', NULL, "add them as drafts: they wait for 'sluice sling'" },                \
        { "keep-going", 0, NULL, "skip invalid entries, and add the others" },                     \
        { "dry-run", 'n', NULL, "only report what would be added or deferred" }, {                 \
        "force", 'f', NULL, "override the guards"                                                  \
    }

#define STATE_FILE_MAX (64u << 20)

struct state {
    struct import im;
    char *root;      /* absolute */
    int folder;      /* root, open; -1: PATH is a file */
    json_t *items;   /* KEY: item */
    json_t *workers; /* NAME: true; the agents of the roster */
    json_t *ignored; /* FIELD: true; unknown members of records */
    json_t *owned;   /* of state_own */
    time_ms now;
    bool paused; /* dispatch was paused there */
};

/* Common options; loopr has one more. */
extern const struct cmd_option state_options[];
#define STATE_OPTIONS                                                                              \
    { "agent", 'a', "NAME", "the agent of tasks that name none" },                                 \
        { "project", 'p', "NAME", "the project of tasks that name none" },                         \
        { "group", 'g', "NAME", "add them to this group" },                                        \
        { "settings", 0, NULL, "also apply the settings that the report lists" }, {                \
        "dry-run", 'n', NULL, "only report what would be done"                                     \
    }

/* Opens call->args[0], a folder, or with `file` also a file. CMD_OK, or the exit code. */
int state_open(struct state *state, const struct cmd_call *call, bool file);
void state_finish(struct state *state); /* safe on a zeroed struct; usable with _cleanup_ */
/* Gives ownership of `value` to the state; returns it. */
json_t *state_own(struct state *state, json_t *value);
/* Adds everything and prints the report; returns the exit code. */
int state_send(struct state *state);

/* Paths are printf formats. */
/* A file as text: UTF-8 without NUL. -ENOENT: missing; other errors have a message. */
int state_read(const struct state *state, struct strbuf *out, struct error *err, const char *format,
               ...) _printf_(4, 5);
/* Names in a folder in version order, without hidden ones; empty if it is missing. */
json_t *state_list(const struct state *state, const char *format, ...) _printf_(2, 3);
/* st_mode without following links; 0: missing. */
unsigned state_mode(const struct state *state, const char *format, ...) _printf_(2, 3);
/* NULL: missing or damaged. Damage is reported here, or sets `err` (not -ENOENT). */
json_t *state_yaml(struct state *state, struct error *err, const char *format, ...) _printf_(3, 4);
json_t *state_json(struct state *state, const char *path);
/* Calls `each` for every line that is a JSON object; reports the others as damaged. */
typedef void (*state_each)(struct state *state, json_t *record, const char *source, void *ctx);
int state_lines(struct state *state, const char *path, state_each each, void *ctx,
                struct error *err);

/* The item of this project and id, created if missing (*ret_new). Owned by the state. */
json_t *state_item(struct state *state, const char *project, const char *id, bool *ret_new);
json_t *state_find(const struct state *state, const char *project, const char *id);
/* The submission of an item, to be filled in. */
json_t *state_task(const json_t *item);
const char *state_id(const json_t *item);
/* The first line of a text, cut to the maximum length of a title. */
void state_set_title(json_t *item, const char *text);
/* Sets a member of the submission; takes `value`. */
void state_put(json_t *item, const char *name, json_t *value);
/* The same with a text; nothing if it is NULL or "". */
void state_put_text(json_t *item, const char *name, const char *text);
/* Stored with the task as meta.import.NAME; takes `value`. */
void state_put_meta(json_t *item, const char *name, json_t *value);
/* The same for members of a record, by space-separated names, that are not null. */
void state_put_meta_members(json_t *item, const json_t *record, const char *names);
void state_add_need(json_t *item, const char *project, const char *id);
void state_set_parent(json_t *item, const char *project, const char *id, bool waits);
/* "waiting", "running", "held", "draft", "done", "failed", "canceled", "invalidated", "review". */
void state_set(struct state *state, json_t *item, const char *is);
/* `pairs`: { status there, state }, NULL-terminated. False: unknown status. */
bool state_set_from(struct state *state, json_t *item, const char *status,
                    const char *const (*pairs)[2]);
bool state_is(const json_t *item, const char *is);
/* It must not start by itself. Ended items and drafts only get the note. */
void state_hold(struct state *state, json_t *item, const char *format, ...) _printf_(3, 4);
/* Rank among waiting items: lower first. */
void state_set_rank(json_t *item, double rank);
void state_set_created(const struct state *state, json_t *item, time_ms at);

enum state_report {
    STATE_NOTE,
    STATE_SKIP,    /* skipped, because it is not work */
    STATE_DAMAGED, /* skipped, because it is unreadable or impossible; changes the exit code */
};
void state_report(struct state *state, enum state_report what, const char *source,
                  const char *format, ...) _printf_(4, 5);
#define state_note(state, ...)    state_report(state, STATE_NOTE, __VA_ARGS__)
#define state_skip(state, ...)    state_report(state, STATE_SKIP, __VA_ARGS__)
#define state_damaged(state, ...) state_report(state, STATE_DAMAGED, __VA_ARGS__)
/* Records members of an object that are not among the words, each once. */
void state_note_unknown(struct state *state, const json_t *object, const char *known);
void state_setting(struct state *state, const char *key, const json_t *value);
/* Settings of a project if it is new; borrowed. */
json_t *state_project(struct state *state, const char *name);

/* RFC 3339; 0: invalid. */
time_ms state_time(const char *text);
/* The usage error of a folder without the state of this scheduler: what is missing in it. */
int state_usage_error(const struct state *state, const char *what);
