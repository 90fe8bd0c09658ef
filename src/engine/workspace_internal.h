/* workspace_internal.h: what the engine knows of workspaces between turns. Private to engine/. */
#pragma once

#include "engine/workspace.h"

struct job;

/* Where a live run works. */
struct workspace_place {
    task_id task;
    uint32_t attempt;
    char *path;
    char *prefix; /* of a worktree: where in it the project's folder is; NULL: no worktree */
    char *branch, *base;
    bool is_new;  /* of a worktree: nothing has prepared it */
    bool is_told; /* of a pool, and not wished for: the core was told that it is locked */
    int claim;    /* of a pool: what keeps other homes away; -1: nothing */
};

/* Who was the last in a path of a pool: its next attempt would like it back. */
struct habit {
    char *path;
    task_id task;
};

/* A worktree whose task is no more, and why it is kept. */
struct leftover {
    char *path, *why;
};

struct workspaces {
    struct job *jobs; /* in the order in which they came */
    LIST(struct workspace_place) places;
    LIST(struct habit) habits;
    LIST(struct leftover) leftovers;
    time_ms expire_at; /* not before: finished work is looked at whose days are over */
    time_ms room_at;   /* not before: all worktrees are looked at, for room on the disk */
};

static inline struct workspaces *workspaces_of(const struct engine *e) {
    return e->part[PART_workspaces];
}

struct workspace_place *workspace_find(const struct engine *e,
                                       task_id task); /* NULL: it works in none */
struct workspace_place *workspace_take(struct engine *e, struct run_key key, const char *path);
void workspace_tell_lock(struct engine *e, const char *path, task_id task); /* 0: it is free */
const struct project *workspace_project(const struct engine *e, task_id task);
bool workspace_makes_worktrees(const struct engine *e, const struct project *project);
char *workspace_of_run(const struct engine *e, const char *id, uint32_t attempt); /* or NULL */
/* Has an attempt before this one worked below that path? */
bool workspace_has_run_in(const struct engine *e, const char *id, uint32_t before,
                          const char *path);
void job_free(struct job *job);

/* --- the pool --------------------------------------------------------------------------------- */

/* --- claims ----------------------------------------------------------------------------------- */

struct workspace_claim {
    const char *path;
    const char *root, *folder; /* the run, as rundir.h names it */
};
/* 0 and a descriptor to keep (-1: the path is not ours to write in). -EBUSY: a run of another home is
 * there, or the same folder has another name here. */
int workspace_claim(const struct workspace_claim *claim, int *ret_fd, struct error *err);
