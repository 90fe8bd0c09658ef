/* import_state.h: the state folder of another scheduler becomes tasks.
 *
 * Life: state_open → for each record of the folder state_item, and what is known of it → state_send → state_finish.
 * Items are collected first: their needs and parents may come later, or not exist. state_send sorts them, so that
 * those that others need come first, holds what must not start, adds the projects and then the tasks.
 *
 * The folder is only read. Paths are relative to it, lead nowhere else, and are never waited for. Nothing that
 * it contains is executed. */
#pragma once

#include <jansson.h>

#include "base/strbuf.h"
#include "base/time_ms.h"
#include "cli/import.h"

#define STATE_FILE_MAX (64u << 20)

struct state {
    struct import im;
    char *root;      /* absolute */
    int folder;      /* root, open; -1: PATH is a file */
    json_t *items;   /* KEY: item */
    json_t *workers; /* NAME: true; the agents of the roster */
    json_t *ignored; /* FIELD: true; members of records that are not known */
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
/* Adds everything and prints the report; returns the exit code. */
int state_send(struct state *state);

/* --- files ----------------------------------------------------------------------------------- */

/* A file as text: UTF-8 without NUL. -ENOENT if there is none; other errors say what is wrong. */
int state_read(const struct state *state, const char *path, struct strbuf *out, struct error *err);
/* The names in a folder in the order of versions, without hidden ones; an empty list if there is none. */
json_t *state_list(const struct state *state, const char *path);
/* st_mode without following links; 0: nothing is there. */
unsigned state_mode(const struct state *state, const char *path);
/* A YAML or JSON file. NULL: there is none, or it is damaged (err->code then is not -ENOENT). */
json_t *state_yaml(const struct state *state, const char *path, struct error *err);
json_t *state_json(const struct state *state, const char *path, struct error *err);
/* Calls `each` for every line of JSON that is an object; reports the others as damaged. */
typedef void (*state_each)(struct state *state, json_t *record, const char *source, void *ctx);
int state_lines(struct state *state, const char *path, state_each each, void *ctx,
                struct error *err);

/* --- items ----------------------------------------------------------------------------------- */

/* The item of this project and id; made if there is none (*ret_new). Lives as long as the state. */
json_t *state_item(struct state *state, const char *project, const char *id, bool *ret_new);
json_t *state_find(const struct state *state, const char *project, const char *id);
/* The submission of an item, to be filled in. */
json_t *state_task(const json_t *item);
const char *state_id(const json_t *item);
/* The first line of a text, as far as a title may be long. */
void state_title(json_t *item, const char *text);
/* Kept with the task as meta.import.NAME; `value` is taken. */
void state_keep(json_t *item, const char *name, json_t *value);
void state_need(json_t *item, const char *project, const char *id);
void state_parent(json_t *item, const char *project, const char *id, bool waits);
/* "waiting", "running", "held", "draft", "done", "failed", "canceled", "invalidated", "review". */
void state_set(struct state *state, json_t *item, const char *is);
bool state_is(const json_t *item, const char *is);
/* It must not start by itself, for this reason. Ended items and drafts stay as they are, with the note. */
void state_hold(struct state *state, json_t *item, const char *format, ...) _printf_(3, 4);
/* The rank among those that wait: lower first. */
void state_order(json_t *item, double rank);
void state_created(const struct state *state, json_t *item, time_ms at);

/* --- the report ------------------------------------------------------------------------------ */

enum state_report {
    STATE_NOTE,
    STATE_SKIP,    /* left out, because it is not work */
    STATE_DAMAGED, /* left out, because it cannot be read or done: the exit code tells */
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

/* --- values ---------------------------------------------------------------------------------- */

/* RFC 3339; 0: it is none. */
time_ms state_time(const char *text);
/* A number that may be written as a text; `otherwise` if it is none. */
double state_number(const json_t *object, const char *key, double otherwise);
