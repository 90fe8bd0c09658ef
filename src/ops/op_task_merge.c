/* op_task_merge.c: merges the branches of finished tasks, because a person says so. */
#include <errno.h>
#include <string.h>

#include "engine/merges.h"
#include "ops/print.h"

struct merging {
    task_id *tasks;
    size_t count, next;
    bool waits;
    struct strbuf out; /* an object for each task */
};

static void merging_finish(void *state) {
    strbuf_finish(&((struct merging *)state)->out);
}

static struct merging *merging_of(struct op_call *call) {
    return op_state(call, sizeof(struct merging), merging_finish);
}

/* clang-format off */
#define MERGED_TASK(X) \
    X(print_id, "id", T_ID, "its id", NULL, call->engine, m->tasks[m->next]) \
    X(print_text, "result", T_TEXT, "`merged`; `already`: the base branch had it; `empty`: it has changed nothing; `mergeable` (`dry_run`); `conflict`; `failed`", "merged", merge_result_name(answer->result)) \
    X(print_text, "branch", T_TEXT | T_NULL, "its branch", "sluice/web-17", answer->branch) \
    X(print_text, "into", T_TEXT | T_NULL, "the base branch", "main", answer->into) \
    X(print_text, "commit", T_TEXT | T_NULL, "the new commit", "1f0c1e0a8c6c1f1f5f0c3c8a7a3d9b1e2f4a5b6c", answer->commit) \
    X(print_text, "message", T_TEXT | T_NULL, "for people; of a conflict, the files", "merged into 'main' at 1f0c1e0a8c6c", answer->message)
static const struct shape merged_task_shape = { "MergedTask", "a task that was to be merged", .members = SHAPE_ALL(MERGED_TASK) };
/* clang-format on */

static void print_one(struct op_call *call, struct merging *m, const struct merge_answer *answer) {
    struct json_writer w;
    if (m->out.length > 0)
        strbuf_putc(&m->out, ',');
    json_write_init(&w, &m->out, false);
    json_write_object_begin(&w);
    MERGED_TASK(SHAPE_PRINT_TO)
    json_write_object_end(&w);
}

/* One after the other, in their order: what one has moved is the base of the next. */
static int merge_next(struct op_call *call) {
    struct merging *m = merging_of(call);
    if (m->waits) {
        print_one(call, m, op_merged(call));
        m->next++;
    }
    if (m->next < m->count) {
        const struct merge_question question = {
            .task = m->tasks[m->next],
            .into = op_text(call, "into"),
            .dry_run = op_flag(call, "dry_run"),
            .skips_checks = op_flag(call, "no_checks"),
        };
        struct error err = { 0 };
        m->waits = true;
        int r = op_wait_merge(call, &question, merge_next);
        if (r >= 0 || m->next == 0)
            return r;
        /* Others were merged before it: that must not be lost in an error. */
        err = call->err;
        call->err = (struct error){ 0 };
        const struct merge_answer failed = { .result = MERGE_FAILED, .message = err.text };
        print_one(call, m, &failed);
        m->next++;
        m->waits = false;
        return merge_next(call);
    }
    strbuf_printf(&call->answer, "{\"tasks\":[%s]}", strbuf_text(&m->out));
    return 0;
}

static int run(struct op_call *call) {
    struct merging *m = merging_of(call);
    int r = op_tasks(call, "tasks", &m->tasks, &m->count);
    return r < 0 ? r : merge_next(call);
}

const struct op op_task_merge = {
    OP("task.merge", "POST", "/v1/tasks/merge", "merge the branches of finished tasks"),
    .text = "For tasks that are finished or wait for review, and have run in a worktree. What is "
            "left in the worktree is committed, the branch is rebased onto the base branch, the "
            "checks of the task run again if that changed anything, and the base branch moves "
            "forwards. One task after the other; the answer waits for all. After `conflict` and "
            "`failed` the base branch is as it was. The event is `run.merge`.",
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
    .right = OP_SUBMIT,
    .reach = OP_REACH_NONE,
    .writes = true,
    .run = run,
};
