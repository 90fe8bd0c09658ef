/* watch_internal.h: shared by watch.c and artifact.c. Private to engine/. */
#pragma once

#include "base/id_map.h"
#include "engine/watch.h"

/* A task that waits for an artifact. It is in one list: of a folder that is watched, of its parent that is
 * not done yet, or in none and looked for once a minute. */
struct wanted {
    task_id task, parent; /* parent: of an artifact below its folder; else 0 */
    char *artifact;       /* as it was told */
    uint32_t spot;        /* the folder that is watched; 0: none */
    uint32_t name;        /* hash of the name that is missing in it */
    uint32_t next, previous;
    uint32_t position; /* in watch.all */
    bool waits_for_parent, seen;
};

/* A folder that is watched. */
struct spot {
    int wd;
    char *path;
    uint32_t first; /* of those who wait for something in it */
};

/* Children of one task that wait until it is done. */
struct brood {
    task_id parent;
    uint32_t first;
};

struct watch {
    int fd; /* of inotify; -1: there is none */
    struct loop_watch *ready;
    int done_wd; /* HOME/done; -1: not watched */
    bool scan;   /* look at every marker that is there */
    LIST(task_id) marked;

    struct slab wanted, spots, broods;
    struct id_map by_task, by_wd, by_parent;
    LIST(uint32_t) all;   /* every struct wanted */
    LIST(task_id) found;  /* their artifacts were seen */
    LIST(task_id) slow;   /* nobody would tell us of theirs */
    LIST(task_id) unread; /* from the store: their artifacts are not known yet */
    size_t read;          /* so many of these are */
    bool asking;
    uint32_t generation; /* of the core */
    time_ms look_at;
};

static inline struct watch *watch_of(const struct engine *e) {
    return e->part[PART_watch];
}
