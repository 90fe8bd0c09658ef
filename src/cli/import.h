/* import.h: what all imports share: tasks from elsewhere, added once.
 *
 * Life: import_finish at the end; import_add for each, import_skip for those that are left out, then
 *       import_send, which prints and returns the exit code.
 * Each task has an external id, so importing again adds nothing twice. Without --keep-going a mistake in one
 * refuses all; with it those that are refused are told one by one and the others added. In either case a full
 * queue defers only those without room: importing again continues. */
#pragma once

#include <jansson.h>

#include "cli/cmd.h"

struct import {
    const struct cmd_call *call;
    json_t *tasks;    /* submissions */
    json_t *sources;  /* what people call each: a file, an id */
    json_t *done;     /* answers: {"source","id","result"} */
    json_t *skipped;  /* {"source","why"} */
    json_t *refused;  /* {"source","error"} */
    json_t *deferred; /* {"source"}: the queue has no room for them */
    json_t *warning;  /* the last of the daemon; or NULL */
    /* Of an import of a complete state (import_state.h); else NULL. */
    json_t *notes;        /* {"source","why"} */
    json_t *settings;     /* KEY: VALUE, as 'sluice config set' takes them */
    json_t *new_projects; /* NAME: settings, added before the tasks */
    bool damaged;         /* something could not be read */
};

void import_init(struct import *import, const struct cmd_call *call);
void import_finish(struct import *import);

/* `task` is taken. It gets project, agent, kind and draft from the options, where it says nothing itself. */
void import_add(struct import *import, const char *source, json_t *task);
/* Not added, for a reason that is no mistake; told as a warning. */
void import_skip(struct import *import, const char *source, const char *why);
/* A mistake in one of them: CMD_OK with --keep-going, which goes on; else the exit code to end with. */
int import_refuse(struct import *import, const char *source, const struct error *err);
/* A remark about an item: why it is held, what was not brought over. For an import of a complete state. */
void import_note(struct import *import, const char *source, const char *why);
/* On a terminal, now and then: "123 of 4567". */
void import_progress(size_t done, size_t count);

int import_send(struct import *import);

/* Each is a command of its own below `import`. */
extern const struct cmd import_cards, import_beads, import_agency, import_agent_queue,
    import_conductor, import_gastown, import_loopr;

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
