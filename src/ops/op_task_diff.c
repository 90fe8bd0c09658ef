/* op_task_diff.c: what did a task change in its worktree, all of it or one iteration? */
#include <string.h>

#include "engine/diff.h"
#include "ops/print.h"

static void print_file(struct json_writer *w, const struct diff_file *file) {
    json_write_object_begin(w);
    print_text(w, "path", file->path);
    print_text(w, "old_path", file->old_path);
    print_int(w, "added", (int64_t)file->added);
    print_int(w, "removed", (int64_t)file->removed);
    print_bool(w, "binary", file->binary);
    json_write_object_end(w);
}

/* Bytes of files: what JSON cannot carry, a NUL, becomes what stands for it. */
static void print_patch(struct json_writer *w, const struct diff *diff) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    for (size_t at = 0; diff->patch && at < diff->patch_size; at++) {
        size_t size = strnlen(diff->patch + at, diff->patch_size - at);
        strbuf_add(&text, diff->patch + at, size);
        at += size;
        if (at < diff->patch_size)
            strbuf_puts(&text, "\xef\xbf\xbd");
    }
    print_text(w, "patch", diff->patch ? strbuf_text(&text) : NULL);
}

static void take(struct op_call *call, const struct diff *diff) {
    struct json_writer w;
    int64_t iteration = op_number(call, "iteration", 0);
    json_write_init(&w, &call->answer, false);
    json_write_object_begin(&w);
    json_write_key(&w, "iteration");
    if (iteration > 0)
        json_write_int(&w, iteration);
    else
        json_write_null(&w);
    print_text(&w, "branch", diff->branch);
    print_text(&w, "base", diff->base);
    print_text(&w, "head", diff->head);
    json_write_key(&w, "files");
    json_write_array_begin(&w);
    for (size_t i = 0; i < diff->file_count; i++)
        print_file(&w, &diff->files[i]);
    json_write_array_end(&w);
    print_patch(&w, diff);
    print_bool(&w, "truncated", diff->truncated);
    json_write_object_end(&w);
}

static int end(struct op_call *call) {
    (void)call;
    return 0; /* printed as it came */
}

static int run(struct op_call *call) {
    struct diff_question question = {
        .task = op_task(call),
        .iteration = (uint32_t)op_number(call, "iteration", 0),
        .stat = op_flag(call, "stat"),
    };
    return question.task ? op_wait_diff(call, &question, take, end) : call->err.code;
}

const struct op op_task_diff = {
    .name = "task.diff",
    .method = "GET",
    .path = "/v1/tasks/{id}/diff",
    .summary = "show what a task has changed in its git worktree",
    .text =
        "All of the task: the files of its worktree as they are now, committed or not, against "
        "where its branch left `branch`; after the worktree has gone, what was merged or was there "
        "at the end of its last run. With `iteration`: what that one changed, as it was recorded "
        "at "
        "its end, or so far. `base` and `head` are names of commits or trees, `head` null is the "
        "worktree now. At most 1,000 files and 1 MiB of `patch`, a unified diff; `truncated` when "
        "there is more. A task without a worktree, and what was not recorded or is no longer "
        "there, "
        "is 404 with a sentence that says which. No hook, filter or other program of the "
        "repository "
        "is run for it. More than 16 at once are refused with 429.",
    .params = PARAMS(OP_PARAM_ID,
                     PARAM(NUMBER, QUERY, "iteration",
                           .text = "what this one changed; all of the task when not given",
                           .min = 1, .max = UINT32_MAX - 1),
                     PARAM(BOOLEAN, QUERY, "stat", .text = "the files alone: `patch` is null")),
    .result =
        "{\"iteration\":null,\"branch\":\"main\","
        "\"base\":\"1f0c1e0a8c6c1f1f5f0c3c8a7a3d9b1e2f4a5b6c\",\"head\":null,"
        "\"files\":[{\"path\":\"src/new.c\",\"old_path\":\"src/old.c\",\"added\":3,"
        "\"removed\":1,\"binary\":false}],\"patch\":\"diff --git a/src/old.c b/src/new.c\\n\","
        "\"truncated\":false}",
    .right = OP_READ,
    .reach = OP_REACH_SUBTREE,
    .run = run,
};
