/* op_plan_whatif.c: when would everything be finished, if these settings were others?
 *
 * The settings are read as config.set would read them, and written nowhere. The queue is played forward
 * twice, beside the daemon's work (engine/outlook.h). */
#include "engine/outlook.h"
#include "ops/change.h"
#include "ops/print.h"

static void print_outlook(struct json_writer *w, const struct outlook *outlook) {
    json_write_object_begin(w);
    print_int(w, "finish_at", outlook->finish);
    print_int(w, "makespan_ms", outlook->finish - outlook->at);
    print_int(w, "tasks", outlook->tasks);
    print_int(w, "others", outlook->others);
    print_bool(w, "complete", outlook->complete);
    json_write_key(w, "projects");
    json_write_array_begin(w);
    for (size_t i = 0; i < outlook->project_count; i++) {
        json_write_object_begin(w);
        print_text(w, "name", outlook->projects[i].name);
        print_int(w, "tasks", outlook->projects[i].tasks);
        print_int(w, "finish_at", outlook->projects[i].finish);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    json_write_key(w, "points");
    json_write_array_begin(w);
    for (size_t i = 0; i < outlook->point_count; i++) {
        json_write_array_begin(w);
        json_write_int(w, outlook->points[i].at);
        json_write_int(w, outlook->points[i].left);
        json_write_array_end(w);
    }
    json_write_array_end(w);
    json_write_object_end(w);
}

static void take(struct op_call *call, const struct outlook *now, const struct outlook *then) {
    struct json_writer w;
    json_write_init(&w, &call->answer, false);
    json_write_object_begin(&w);
    print_int(&w, "at", now->at);
    json_write_key(&w, "now");
    print_outlook(&w, now);
    json_write_key(&w, "then");
    print_outlook(&w, then);
    json_write_object_end(&w);
}

static int end(struct op_call *call) {
    (void)call;
    return 0; /* printed as it came */
}

static int run(struct op_call *call) {
    _cleanup_(change_finish) struct change change = { 0 };
    struct config_change *items = NULL;
    size_t count = 0;
    int r = change_collect(call, &items, &count);
    if (r == 0)
        r = change_prepare(call, items, count, &change);
    return r < 0 ? r : op_wait_outlook(call, change.config, take, end);
}

const struct op op_plan_whatif = {
    .name = "plan.whatif",
    .method = "POST",
    .path = "/v1/whatif",
    .summary = "play the queue forward as it is and with other settings",
    .text =
        "Changes nothing. Each run takes as long as runs of its project and kind took on average "
        "(five minutes when none has ended yet) and succeeds; nobody adds, approves or cancels. "
        "`now` and `then`: with the settings in force and with those of `set`. `tasks`: how many "
        "will be finished, `others`: those that will not, because they wait for somebody; "
        "`complete` false: the play was ended after 60 days or 400,000 steps, and more would "
        "follow. `points`: times and how many tasks are left then, at most 120. A queue that is "
        "too large to be copied at once is refused with 413 (above 32 MB of scheduler state, about "
        "100,000 tasks).",
    .params = PARAMS(
        PARAM(OBJECT, BODY, "set", .text = "settings and the values that they would have",
              .max = 100),
        PARAM(LIST, BODY, "unset", .text = "settings that would have their default", .max = 100)),
    .result =
        "{\"at\":1760000000000,\"now\":{\"finish_at\":1760003600000,\"makespan_ms\":3600000,"
        "\"tasks\":12,\"others\":1,\"complete\":true,\"projects\":[{\"name\":\"web\",\"tasks\":12,"
        "\"finish_at\":1760003600000}],\"points\":[[1760000300000,11]]},\"then\":{"
        "\"finish_at\":1760001800000,\"makespan_ms\":1800000,\"tasks\":12,\"others\":1,"
        "\"complete\":true,\"projects\":[],\"points\":[]}}",
    .right = OP_READ,
    .run = run,
};
