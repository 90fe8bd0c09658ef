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
    bool is_told; /* of a pool, and not wished for: the core was told that it is locked */
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
};

struct workspace_place *workspace_find(const struct engine *e,
                                       task_id task); /* NULL: it works in none */
void job_free(struct job *job);
void workspace_add_leftover(struct engine *e, const char *path, const char *why);
