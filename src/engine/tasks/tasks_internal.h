/* tasks_internal.h: projects, groups, blockers, deleted tasks, markers and artifacts, for other
 * parts. Private to engine/. */
#pragma once

#include "base/id_map.h"
#include "engine/engine_internal.h"

/* --- blocked ---------------------------------------------------------------------------------- */

/* A task was added or scheduled: writes what it waits for, if anything. */
void blocked_added(struct engine *e, task_id task);

/* --- watch ------------------------------------------------------------------------------------ */

/* Files that tasks wait for.
 *
 * There are two kinds: the DONE markers, all in HOME/done, and the artifacts that tasks are made
 * from. Folders are watched, not tasks: one watch per folder. Without inotify they are polled once
 * a minute, while tasks wait.
 *
 * An artifact is watched until it is seen; then the gate stays open, whatever becomes of the file.
 * One below the parent's folder counts only when the parent is done, so it is watched from then on.
 *
 * Findings are applied in the next turn; if its commit fails, they are all applied to the new core
 * again. */

/* --- DONE markers ---------------------------------------------------------------------------- */

enum marker {
    MARKER_NONE,
    MARKER_FILE,
    /* a directory, a FIFO: the task is held until it is removed; nothing is counted */
    MARKER_NO_FILE,
};
/* In a turn: holds a waiting task whose marker is MARKER_NO_FILE, with an alert, until that is
 * removed. A directory that appears between decision and launch is seen at the end of that run. */
void marker_hold(struct engine *e, task_id task);
bool marker_is_held(const struct task_spec *t);
/* It may wait now: then an existing marker ends that in the next turn. */
void watch_note_marker(struct engine *e, task_id task);
enum marker marker_read(const struct engine *e, task_id task);
/* The message for MARKER_NO_FILE. */
int marker_error(const struct engine *e, task_id task, struct error *err);

/* --- artifacts ----------------------------------------------------------------------------- */

/* Whether the artifact of a new task exists. `parent`: its number, or 0. */
bool artifact_is_there(const struct engine *e, const char *artifact, task_id parent);
/* Watches it from now on. */
void artifact_want(struct engine *e, task_id task, const char *artifact, task_id parent);

/* A task that waits for an artifact. It is in one list: of a watched folder, of its unfinished
 * parent, or in none and polled once a minute. */
struct wanted {
    task_id task, parent; /* parent: of an artifact below its folder; else 0 */
    char *artifact;       /* as submitted */
    uint32_t watched;     /* the watched folder; 0: none */
    uint32_t name;        /* hash of the missing name in it */
    uint32_t next, previous;
    uint32_t position; /* in watch.all */
    bool waits_for_parent, seen;
};

/* A watched folder. */
struct watched {
    int wd;
    char *path;
    uint32_t first; /* of those that wait for something in it */
};

/* Children of one task that wait until it is done. */
struct siblings {
    task_id parent;
    uint32_t first;
};

struct watch {
    int fd; /* inotify; -1: unavailable */
    struct loop_watch *ready;
    int done_wd; /* HOME/done; -1: not watched */
    bool scan;   /* check every existing marker */
    LIST(task_id) marked;

    struct slab wanted, watched_all, siblings_all;
    struct id_map by_task, by_wd, by_parent;
    LIST(uint32_t) all;   /* every struct wanted */
    LIST(task_id) found;  /* their artifacts were seen */
    LIST(task_id) slow;   /* not watched, polled */
    LIST(task_id) unread; /* loaded, but their artifacts are not read yet */
    size_t read;          /* how many of these are read */
    bool is_querying;     /* the store for some of these */
    uint32_t generation;  /* of the core */
    time_ms poll_at;
};

PART_STATE(watch, struct watch, watch_of)
