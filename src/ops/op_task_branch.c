/* op_task_branch.c: shows the changes of a task's branch, and merges it. */
#include <errno.h>
#include <string.h>

#include "engine/best_of.h"
#include "engine/worktrees.h"
#include "ops/print.h"

/* clang-format off */
#define DIFF_FILE(X) \
    X(json_put_string, "path", T_TEXT, "its path", "src/new.c", file->path) \
    X(json_put_string, "old_path", T_TEXT | T_NULL, "what it was called before", "src/old.c", file->old_path) \
    X(json_put_int, "added", T_INT, "lines added", NULL, (int64_t)file->added) \
    X(json_put_int, "removed", T_INT, "lines removed", NULL, (int64_t)file->removed) \
    X(json_put_bool, "binary", T_BOOL, "it is not text", NULL, file->binary)
static const struct shape diff_file_shape = { "DiffFile", "a file that differs", .members = SHAPE_ALL(DIFF_FILE) };
/* clang-format on */

static void print_diff(struct op_call *call, const struct diff *diff) {
    int64_t iteration = op_number(call, "iteration", 0);
    struct json_writer w = op_begin(call);
    print_count(&w, "iteration", iteration > 0 ? iteration : -1);
    json_write_pack(&w, "s:s, s:s, s:s, s:[", "branch", diff->branch, "base", diff->base, "head",
                    diff->head, "files");
    for (const struct diff_file *file = diff->files; file < diff->files + diff->file_count;
         file++) {
        SHAPE_OBJECT_TO(DIFF_FILE)
    }
    json_write_array_end(&w);
    /* NUL bytes, which JSON strings cannot carry, become U+FFFD. */
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    for (size_t at = 0; diff->patch && at < diff->patch_size; at++) {
        size_t size = strnlen(diff->patch + at, diff->patch_size - at);
        strbuf_add(&text, diff->patch + at, size);
        at += size;
        if (at < diff->patch_size)
            strbuf_puts(&text, "\xef\xbf\xbd");
    }
    json_put_string(&w, "patch", diff->patch ? strbuf_text(&text) : NULL);
    json_put_bool(&w, "truncated", diff->truncated);
    json_write_object_end(&w);
}

static void take_diff(void *ctx, const struct diff *diff, const struct error *err) {
    if (diff)
        print_diff(ctx, diff);
    op_wake(ctx, diff ? 0 : err->code, err);
}

static int run_diff(struct op_call *call) {
    struct diff_question question = {
        .task = op_task(call),
        .iteration = (uint32_t)op_number(call, "iteration", 0),
        .stat = op_flag(call, "stat"),
        .context = (uint32_t)op_number(call, "context", DIFF_CONTEXT),
        .path = op_text(call, "path"),
        .old_path = op_text(call, "old_path"),
    };
    if (!question.task)
        return call->err.code;
    if (question.old_path && !question.path)
        return op_fail(call, -EINVAL, "'old_path' needs 'path'");
    question.task = engine_result_of(call->engine, question.task);
    int waits = op_wait(call, op_done);
    int r = engine_diff(call->engine, &question, take_diff, call, &call->err);
    return r < 0 ? r : waits;
}

const struct op op_task_diff = {
    OP("task.diff", "GET", "/v1/tasks/{id}/diff",
       "show what a task has changed in its git worktree"),
    .text =
        "All of the task: the files of its worktree as they are now, committed or not, against "
        "where its branch left `branch`; after the worktree has gone, what was merged or was there "
        "at the end of its last run. With `iteration`: what that one changed, as it was recorded "
        "at its end, or so far. A task without a worktree, and what was not recorded or is no "
        "longer there, is 404 with a sentence that says which. No hook, filter or other program of "
        "the repository is run for it. More than 16 at once are refused with 429.",
    .params = PARAMS(
        OP_PARAM_ID,
        PARAM(NUMBER, QUERY, "iteration",
              .text = "what this one changed; all of the task when not given", .min = 1,
              .max = UINT32_MAX - 1),
        PARAM(BOOLEAN, QUERY, "stat", .text = "the files alone: `patch` is null"),
        PARAM(NUMBER, QUERY, "context",
              .text = "unchanged lines around each change; 3 when not given",
              .max = DIFF_CONTEXT_MAX),
        PARAM(TEXT, QUERY, "path", .text = "only this file", .min = 1, .max = 4096, .lines = true),
        PARAM(TEXT, QUERY, "old_path", .text = "with `path`: what the file was called before",
              .min = 1, .max = 4096, .lines = true)),
    .answers = ANSWERS(
        { "iteration", T_INT | T_NULL, "the one that was asked for; null: all of the task" },
        { "branch", T_TEXT | T_NULL, "what it is compared with", "main" },
        { "base", T_TEXT, "the commit or tree before", "1f0c1e0a8c6c1f1f5f0c3c8a7a3d9b1e2f4a5b6c" },
        { "head", T_TEXT | T_NULL, "that after; null: the worktree now" },
        { "files", T_OBJECT | T_LIST, "at most 1,000", &diff_file_shape },
        { "patch", T_TEXT | T_NULL, "a unified diff, at most 1 MiB",
          "diff --git a/src/old.c b/src/new.c" },
        { "truncated", T_BOOL, "there is more" }),
    OP_READS(READ, SUBTREE, run_diff),
};

struct merging {
    task_id *tasks;
    size_t count, next;
    bool waits;
};

/* clang-format off */
#define MERGED_TASK(X) \
    X(print_id, "id", T_ID, "its id", NULL, call->engine, m->tasks[m->next]) \
    X(json_put_string, "result", T_TEXT, "`merged`; `already`: the base branch had it; `empty`: it has changed nothing; `mergeable` (`dry_run`); `conflict`; `failed`", "merged", merge_result_name(answer->result)) \
    X(json_put_string, "branch", T_TEXT | T_NULL, "its branch", "sluice/web-17", answer->branch) \
    X(json_put_string, "into", T_TEXT | T_NULL, "the base branch", "main", answer->into) \
    X(json_put_string, "commit", T_TEXT | T_NULL, "the new commit", "1f0c1e0a8c6c1f1f5f0c3c8a7a3d9b1e2f4a5b6c", answer->commit) \
    X(json_put_string, "message", T_TEXT | T_NULL, "for people; of a conflict, the files", "merged into 'main' at 1f0c1e0a8c6c", answer->message)
static const struct shape merged_task_shape = { "MergedTask", "a task that was to be merged", .members = SHAPE_ALL(MERGED_TASK) };
/* clang-format on */

static void print_merged(struct op_call *call, struct merging *m,
                         const struct merge_answer *answer) {
    struct strbuf *out = op_part(call); /* an object for each task */
    struct json_writer w;
    if (out->length > 0)
        strbuf_putc(out, ',');
    json_write_init(&w, out, false);
    SHAPE_OBJECT_TO(MERGED_TASK)
}

/* In order: each is merged onto the result of the previous one. */
static int merge_next(struct op_call *call) {
    struct merging *m = op_state(call, sizeof(*m), NULL);
    if (m->waits) {
        print_merged(call, m, op_merged(call));
        m->next++;
    }
    if (m->next < m->count) {
        const struct merge_question question = {
            .task = engine_result_of(call->engine, m->tasks[m->next]),
            .into = op_text(call, "into"),
            .dry_run = op_flag(call, "dry_run"),
            .skips_checks = op_flag(call, "no_checks"),
        };
        m->waits = true;
        int r = op_wait_merge(call, &question, merge_next);
        if (r >= 0 || m->next == 0)
            return r;
        /* Earlier ones are already merged: an error would hide that. */
        const struct error err = call->err;
        call->err = (struct error){ 0 };
        const struct merge_answer failed = { .result = MERGE_FAILED, .message = err.text };
        print_merged(call, m, &failed);
        m->next++;
        m->waits = false;
        return merge_next(call);
    }
    strbuf_printf(&call->answer, "{\"tasks\":[%s]}", strbuf_text(op_part(call)));
    return 0;
}

static int run_merge(struct op_call *call) {
    struct merging *m = op_state(call, sizeof(*m), NULL);
    int r = op_tasks(call, "tasks", &m->tasks, &m->count);
    return r < 0 ? r : merge_next(call);
}

const struct op op_task_merge = {
    OP("task.merge", "POST", "/v1/tasks/merge", "merge the branches of finished tasks"),
    .text =
        "For tasks that are finished or wait for review, and have run in a worktree. What is "
        "left in the worktree is committed, the branch is rebased onto the base branch, the "
        "checks of the task run again if that changed anything, and the base branch moves "
        "forwards. One task after the other; the answer waits for all. After `conflict` and "
        "`failed` the base branch is as it was. With `on_conflict: iterate` a conflict begins the "
        "next iteration of the task, which repairs it; `message` says so. The event is "
        "`run.merge`.",
    .params = PARAMS(
        OP_PARAM_TASKS,
        PARAM(TEXT, BODY, "into",
              .text = "the branch to merge into; else the one that the task's branch came from",
              .min = 1, .max = 250),
        PARAM(BOOLEAN, BODY, "dry_run",
              .text = "change nothing, and say whether there would be conflicts"),
        PARAM(BOOLEAN, BODY, "no_checks",
              .text = "do not run the checks of the task again after a rebase")),
    .answers =
        ANSWERS({ "tasks", T_OBJECT | T_LIST, "in the order of the request", &merged_task_shape }),
    OP_WRITES(SUBMIT, NONE, run_merge),
};
