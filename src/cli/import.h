/* import.h: what all imports share: tasks from elsewhere, added once.
 *
 * Life: import_init → import_add for each task, import_skip for those left out → import_send, which
 * prints and returns the exit code → import_finish. Each task has an external id, so importing
 * again adds nothing twice. Without --keep-going an error in one refuses all. A full queue defers
 * those without room: importing again continues.
 *
 * The state folder of another scheduler: state_open → state_item for each record, then what is
 * known of it → state_send → state_finish. Items are collected first: what they need may come
 * later, or not exist. state_send sorts them by their needs, holds what must not start, and adds
 * projects and tasks. The folder is only read. Paths are relative to it and cannot leave it;
 * opening one never blocks. */
#pragma once

#include <jansson.h>

#include "base/strbuf.h"
#include "base/time_ms.h"
#include "cli/cmd.h"

struct import {
    const struct cmd_call *call;
    json_t *tasks;           /* submissions */
    json_t *sources;         /* the name of each for users: a file, an id */
    json_t *report;          /* what --json prints; it has the lists that follow */
    json_t *done;            /* answers: {"source","id","result"} */
    json_t *skipped, *notes; /* {"source","why"} */
    json_t *refused;         /* {"source","error"} */
    json_t *deferred;        /* {"source"}: the queue has no room for them */
    json_t *warning;         /* the last of the daemon; or NULL */
    /* Of the state of another scheduler; else NULL, as `notes`. */
    json_t *settings;     /* KEY: VALUE, as 'sluice config set' takes them */
    json_t *new_projects; /* NAME: settings, added before the tasks */
    bool damaged;         /* something could not be read */
};

void import_init(struct import *import, const struct cmd_call *call);
void import_finish(struct import *import);

/* `task` is taken. Project, agent, kind and draft come from the options, unless it has its own. */
void import_add(struct import *import, const char *source, json_t *task);
/* Not added, for a reason that is not an error; printed as a warning. */
void import_skip(struct import *import, const char *source, const char *why);
/* One of them is invalid: CMD_OK with --keep-going; else the exit code to end with. */
int import_refuse(struct import *import, const char *source, const struct error *err);
/* On a terminal, now and then: "123 of 4567". */
void import_progress(size_t done, size_t count);

int import_send(struct import *import);

/* Each is a command of its own below `import`. */
extern const struct cmd import_cards, import_beads, import_agency, import_agent_queue,
    import_conductor, import_gastown, import_loopr;

/* The prompt of a bead: its title and the sections that it has. */
void import_bead_prompt(const json_t *bead, struct strbuf *out);
/* 0 is the most urgent of five, 2 the default: 80 … 100 … 120. */
json_t *import_bead_priority(double priority);

#define IMPORT_OPTIONS                                                                             \
    { "project", 'p', "NAME", "the project they belong to" },                                      \
        { "agent", 'a', "NAME", "the agent that is told them" },                                   \
        { "kind", 'k', "KIND", "the kind of those that name none" },                               \
        { "group", 'g', "NAME", "follow them together" },                                          \
        { "draft", 'D', NULL, "add them as drafts: they wait for 'sluice sling'" },                \
        { "keep-going", 0, NULL, "leave out what is wrong, and add the others" },                  \
        { "dry-run", 'n', NULL, "only say what would be added or deferred" }, {                    \
        "force", 'f', NULL, "although a guard says no"                                             \
    }

#define STATE_FILE_MAX (64u << 20)

struct state {
    struct import im;
    char *root;      /* absolute */
    int folder;      /* root, open; -1: PATH is a file */
    json_t *items;   /* KEY: item */
    json_t *workers; /* NAME: true; the agents of the roster */
    json_t *ignored; /* FIELD: true; members of records that are not known */
    json_t *owned;   /* of state_own */
    time_ms now;
    bool paused; /* dispatch was paused there */
};

/* The options of most; loopr has one more. */
extern const struct cmd_option state_options[];
#define STATE_OPTIONS                                                                              \
    { "agent", 'a', "NAME", "the agent of those that name none" },                                 \
        { "project", 'p', "NAME", "the project of those that name none" },                         \
        { "group", 'g', "NAME", "follow them together" },                                          \
        { "settings", 0, NULL, "also apply the settings that the report lists" }, {                \
        "dry-run", 'n', NULL, "only say what would be done"                                        \
    }

/* Opens call->args[0], a folder, or with `file` also a file. CMD_OK, or the exit code. */
int state_open(struct state *state, const struct cmd_call *call, bool file);
void state_finish(struct state *state); /* safe on a zeroed one; usable with _cleanup_ */
/* Gives `value` to the state, which frees it at its end; returns it. */
json_t *state_own(struct state *state, json_t *value);
/* Adds everything and prints the report; returns the exit code. */
int state_send(struct state *state);

/* The path is printed as printf does. */
/* A file as text: UTF-8 without NUL. -ENOENT if there is none; other errors say what is wrong. */
int state_read(const struct state *state, struct strbuf *out, struct error *err, const char *format,
               ...) _printf_(4, 5);
/* The names in a folder in version order, without hidden ones; an empty list if there is none. */
json_t *state_list(const struct state *state, const char *format, ...) _printf_(2, 3);
/* st_mode without following links; 0: nothing is there. */
unsigned state_mode(const struct state *state, const char *format, ...) _printf_(2, 3);
/* NULL: there is none, or it is damaged. Without `err` damage is reported here; else err->code is
 * not -ENOENT. */
json_t *state_yaml(struct state *state, struct error *err, const char *format, ...) _printf_(3, 4);
json_t *state_json(struct state *state, const char *path);
/* Calls `each` for every line of JSON that is an object; reports the others as damaged. */
typedef void (*state_each)(struct state *state, json_t *record, const char *source, void *ctx);
int state_lines(struct state *state, const char *path, state_each each, void *ctx,
                struct error *err);

/* The item of this project and id; made if there is none (*ret_new). Lives as long as the state. */
json_t *state_item(struct state *state, const char *project, const char *id, bool *ret_new);
json_t *state_find(const struct state *state, const char *project, const char *id);
/* The submission of an item, to be filled in. */
json_t *state_task(const json_t *item);
const char *state_id(const json_t *item);
/* The first line of a text, as far as a title may be long. */
void state_title(json_t *item, const char *text);
/* Sets a member of the submission; `value` is taken. */
void state_put(json_t *item, const char *name, json_t *value);
/* Kept with the task as meta.import.NAME; `value` is taken. */
void state_keep(json_t *item, const char *name, json_t *value);
/* The same for members of a record, named with blanks between them, that are not null. */
void state_keep_members(json_t *item, const json_t *record, const char *names);
void state_need(json_t *item, const char *project, const char *id);
void state_parent(json_t *item, const char *project, const char *id, bool waits);
/* "waiting", "running", "held", "draft", "done", "failed", "canceled", "invalidated", "review". */
void state_set(struct state *state, json_t *item, const char *is);
/* `pairs`: { status there, state }, NULL at the end. False: the status is not among them. */
bool state_set_from(struct state *state, json_t *item, const char *status,
                    const char *const (*pairs)[2]);
bool state_is(const json_t *item, const char *is);
/* It must not start by itself. Ended items and drafts only get the note. */
void state_hold(struct state *state, json_t *item, const char *format, ...) _printf_(3, 4);
/* The rank among those that wait: lower first. */
void state_order(json_t *item, double rank);
void state_created(const struct state *state, json_t *item, time_ms at);

enum state_report {
    STATE_NOTE,
    STATE_SKIP,    /* left out, because it is not work */
    STATE_DAMAGED, /* left out, because it cannot be read or done; changes the exit code */
};
void state_report(struct state *state, enum state_report what, const char *source,
                  const char *format, ...) _printf_(4, 5);
#define state_note(state, ...)    state_report(state, STATE_NOTE, __VA_ARGS__)
#define state_skip(state, ...)    state_report(state, STATE_SKIP, __VA_ARGS__)
#define state_damaged(state, ...) state_report(state, STATE_DAMAGED, __VA_ARGS__)
/* Notes the members of an object that are not among the words, each once. */
void state_known(struct state *state, const json_t *object, const char *known);
void state_setting(struct state *state, const char *key, const json_t *value);
/* The settings that a project gets if it is new; borrowed. */
json_t *state_project(struct state *state, const char *name);

/* RFC 3339; 0: it is none. */
time_ms state_time(const char *text);
/* A number that may be written as a text; `otherwise` if it is none. */
double state_number(const json_t *object, const char *key, double otherwise);
