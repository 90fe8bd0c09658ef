/* op_plan.c: a snapshot for `sluice plan` and `sluice sim`, and what-if. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/outlook.h"
#include "ops/print.h"

/* The engine writes a file; the front end opens it when it answers, and sends it as the client
 * reads. The file is unlinked with the call, so nothing is left behind whatever the client does. */

static void snapshot_remove(void *state) {
    char **path = state;
    (void)unlink(*path);
    free(*path);
}

static void take_snapshot(void *ctx, const char *path, const struct error *err) {
    struct op_call *call = ctx;
    if (path) {
        char **file = op_state(call, sizeof(*file), snapshot_remove);
        *file = xstrdup(path);
        call->log.path = xstrdup(path);
    }
    op_wake(call, path ? 0 : err->code, err);
}

static int run_snapshot(struct op_call *call) {
    int waits = op_wait(call, op_done);
    int r =
        engine_snapshot(call->engine, op_flag(call, "anonymous"), take_snapshot, call, &call->err);
    return r < 0 ? r : waits;
}

const struct op op_plan_snapshot = {
    OP("plan.snapshot", "GET", "/v1/snapshot", "get the live queue as a snapshot for plan and sim"),
    .text = "Everything the next decision depends on, as of one moment, in the format of "
            "docs/snapshot.md. Titles, prompts and commands are not in it. The answer may be large "
            "(about 200 bytes for each task) and comes in chunks. One at a time: another one "
            "meanwhile is refused with 409. Above 1 GB of scheduler state (about 3 million tasks) "
            "it is refused with 413.",
    .params = PARAMS(
        PARAM(BOOLEAN, QUERY, "anonymous",
              .text = "names and ids are replaced by neutral ones; the decisions stay the same")),
    OP_READS(ADMIN, NONE, run_snapshot),
    .answer = OP_ANSWER_FILE,
};

/* The settings are parsed as in config.set, but not written. */

/* clang-format off */
#define OUTLOOK_PROJECT(X) \
    X(json_put_string, "name", T_TEXT, "the project", "web", outlook->projects[i].name) \
    X(json_put_int, "tasks", T_INT, "how many of its tasks will be finished", NULL, outlook->projects[i].tasks) \
    X(json_put_int, "finish_at", T_TIME, "when the last of them is", NULL, outlook->projects[i].finish)
static const struct shape outlook_project_shape = { "OutlookProject", "the tasks of a project in a forecast", .members = SHAPE_ALL(OUTLOOK_PROJECT) };

#define OUTLOOK(X) \
    X(json_put_int, "finish_at", T_TIME, "when everything is finished", NULL, outlook->finish) \
    X(json_put_int, "makespan_ms", T_SPAN, "how long that takes", NULL, outlook->finish - outlook->at) \
    X(json_put_int, "tasks", T_INT, "how many tasks will be finished", NULL, outlook->tasks) \
    X(json_put_int, "others", T_INT, "those that will not, because they wait for a person", NULL, outlook->others) \
    X(json_put_bool, "complete", T_BOOL, "false: it was ended after 60 days or 400,000 steps, and more would follow", NULL, outlook->complete)
static const struct shape outlook_shape = { "Outlook", "what would come of the queue", .members = SHAPE_ROWS(
    OUTLOOK(SHAPE_ROW)
    { "projects", T_OBJECT | T_LIST, "by project", &outlook_project_shape },
    { "points", T_PAIR | T_LIST, "times, and how many tasks are left then; at most 120" }) };
/* clang-format on */

static void print_outlook(struct json_writer *w, const struct outlook *outlook) {
    json_write_object_begin(w);
    OUTLOOK(SHAPE_PRINT)
    json_put_array(w, "projects");
    for (size_t i = 0; i < outlook->project_count; i++) {
        SHAPE_OBJECT(OUTLOOK_PROJECT)
    }
    json_write_array_end(w);
    json_put_array(w, "points");
    for (size_t i = 0; i < outlook->point_count; i++)
        json_write_pack(w, "[I, I]", outlook->points[i].at, (int64_t)outlook->points[i].left);
    json_write_pack(w, "]}");
}

static void take_outlooks(void *ctx, const struct outlook *now, const struct outlook *then) {
    struct op_call *call = ctx;
    if (!now) {
        op_wake(call, -ESHUTDOWN, NULL);
        return;
    }
    struct json_writer w = op_begin(call);
    json_put_int(&w, "at", now->at);
    json_write_key(&w, "now");
    print_outlook(&w, now);
    json_write_key(&w, "then");
    print_outlook(&w, then);
    json_write_object_end(&w);
    op_wake(call, 0, NULL);
}

static int run_whatif(struct op_call *call) {
    _cleanup_(change_finish) struct change change = { 0 };
    int r = change_prepare_params(call, &change);
    int waits = op_wait(call, op_done);
    if (r == 0)
        r = engine_whatif(call->engine, change.config, take_outlooks, call, &call->err);
    return r < 0 ? r : waits;
}

const struct op op_plan_whatif = {
    OP("plan.whatif", "POST", "/v1/whatif",
       "play the queue forward as it is and with other settings"),
    .text = "Changes nothing. Each run takes as long as runs of its project and kind took on "
            "average (five minutes when none has ended yet) and succeeds; nobody adds, approves or "
            "cancels. A queue that is too large to be copied at once is refused with 413 (above 32 "
            "MB of scheduler state, about 100,000 tasks).",
    .params = PARAMS(
        PARAM(OBJECT, BODY, "set", .text = "settings and the values that they would have",
              .max = 100),
        PARAM(LIST, BODY, "unset", .text = "settings that would have their default", .max = 100)),
    .answers = ANSWERS({ "at", T_TIME, "when it was played" },
                       { "now", T_OBJECT, "with the settings in force", &outlook_shape },
                       { "then", T_OBJECT, "with those of `set`", &outlook_shape }),
    OP_READS(READ, NONE, run_whatif),
};
