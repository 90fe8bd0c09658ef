/* diff.h: what did a task change in its worktree?
 *
 * Asked of git beside the loop, with a deadline. Nothing that the repository configures is run for it: no
 * hook, no filter, no program for diffs. Neither index nor branch nor files of anybody are touched. */
#pragma once

#include "engine/engine.h"
#include "workspace/diff_record.h"

#define DIFF_PATCH_MAX (1u << 20) /* bytes */
#define DIFF_FILES_MAX 1000u

struct diff {
    const char *base;   /* where it begins: a commit or a tree */
    const char *head;   /* where it ends; NULL: the files of the worktree as they are now */
    const char *branch; /* that it came from */
    const struct diff_file *files;
    size_t file_count;
    const char *patch; /* bytes as they are in the files; NULL: not asked for */
    size_t patch_size;
    bool truncated; /* there is more, of files or of the patch */
};

/* `diff` lives as long as the call; NULL: `err` says why there is none. */
typedef void (*diff_ready)(void *ctx, const struct diff *diff, const struct error *err);

struct diff_question {
    task_id task;
    uint32_t iteration; /* 0: all of the task */
    bool stat;          /* no patch */
};
/* Is there a worktree, or what one has left? A question may find nothing all the same. */
bool engine_has_diff(const struct engine *engine, task_id task);
/* `ready` is called once, from the loop or when the engine is freed; not after an error. -ENOENT: there is
 * nothing to compare, or it was not recorded. -EAGAIN: too many are being asked for. */
int engine_diff(struct engine *engine, const struct diff_question *question, diff_ready ready,
                void *ctx, struct error *err);
