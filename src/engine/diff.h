/* diff.h: what a task changed in its worktree. A git helper process computes it beside the loop,
 * with a deadline. It runs nothing that the repository configures (hooks, filters, diff programs)
 * and changes no index, branch or file. */
#pragma once

#include "engine/engine.h"
#include "workspace/diff_record.h"

#define DIFF_PATCH_MAX (1u << 20) /* bytes */
#define DIFF_FILES_MAX 1000u

struct diff {
    const char *base;   /* start: a commit or a tree */
    const char *head;   /* end; NULL: the files of the worktree as they are now */
    const char *branch; /* the branch it came from */
    const struct diff_file *files;
    size_t file_count;
    const char *patch; /* raw bytes of the files; NULL: not requested */
    size_t patch_size;
    bool truncated; /* more files or more patch than fits */
};

/* `diff` is valid during the call; NULL: `err` has the reason. */
typedef void (*diff_ready)(void *ctx, const struct diff *diff, const struct error *err);

struct diff_question {
    task_id task;
    uint32_t iteration; /* 0: the complete task */
    bool stat;          /* no patch */
};
/* Whether there is a worktree or its remains. A query may still find nothing. */
bool engine_has_diff(const struct engine *engine, task_id task);
/* `ready` is called once, from the loop or when the engine is freed; not after an error. -ENOENT:
 * nothing to compare, or not recorded. -EAGAIN: too many concurrent queries. */
int engine_diff(struct engine *engine, const struct diff_question *question, diff_ready ready,
                void *ctx, struct error *err);
