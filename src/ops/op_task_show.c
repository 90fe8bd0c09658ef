/* op_task_show.c: everything about one task. */
#include <string.h>
#include <unistd.h>

#include "base/json_span.h"
#include "engine/deliveries.h"
#include "engine/diff.h"
#include "engine/executors.h"
#include "engine/loops.h"
#include "ops/budgets.h"
#include "os/outside.h"

#define RUNS_SHOWN 10
/* Bounded in every direction: an agent decides how many artifacts there are. */
#define ITERATIONS_SHOWN 10u
#define ARTIFACTS_SHOWN  20u
#define ARTIFACTS_SEEN   1000u /* those that are hidden included */

struct showing {
    task_id task;
    const char *title, *json, *context;
    time_ms changed_at;
    struct strbuf runs; /* printed as they came */
};

static void showing_finish(void *state) {
    strbuf_finish(&((struct showing *)state)->runs);
}

static struct showing *showing_of(struct op_call *call) {
    return op_state(call, sizeof(struct showing), showing_finish);
}

static void print_depends(struct op_call *call, struct json_writer *w, task_id task) {
    const struct core *core = engine_core(call->engine);
    size_t count = core_task_depends(core, task, NULL, 0);
    task_id *tasks = arena_alloc(op_arena(call), (count + 1) * sizeof(*tasks));
    (void)core_task_depends(core, task, tasks, count);
    print_list(w, "depends_on");
    for (size_t i = 0; i < count; i++) {
        char id[ENGINE_ID_MAX];
        json_write_string(w, engine_task_id(call->engine, tasks[i], id));
    }
    json_write_array_end(w);
}

static void print_workspace(struct json_writer *w, const struct engine *engine, task_id task) {
    struct engine_workspace place;
    engine_workspace(engine, task, &place);
    json_write_key(w, "works_in");
    if (place.path) {
        json_write_object_begin(w);
        print_text(w, "path", place.path);
        print_text(w, "branch", place.branch);
        print_text(w, "base", place.base);
        print_text(w, "merge", place.merge);
        json_write_object_end(w);
    } else {
        json_write_null(w);
    }
    engine_workspace_finish(&place);
    print_bool(w, "has_diff", engine_has_diff(engine, task));
}

static void print_delivery(struct json_writer *w, const struct engine *engine, task_id task) {
    struct delivery d;
    json_write_key(w, "delivery");
    if (!engine_delivery(engine, task, &d)) {
        json_write_null(w);
        return;
    }
    json_write_object_begin(w);
    print_text(w, "strategy", d.strategy);
    print_text(w, "result", d.result);
    print_text(w, "message", d.message);
    print_text(w, "branch", d.branch);
    print_text(w, "base", d.base);
    print_text(w, "commit", d.commit[0] ? d.commit : NULL);
    print_bool(w, "merged", d.merged);
    print_text(w, "removed", *d.removed ? d.removed : NULL);
    print_time(w, "at", d.at);
    json_write_object_end(w);
    delivery_finish(&d);
}

static void print_artifacts(struct json_writer *w, const char *folder) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/artifacts", folder);
    print_list(w, "artifacts");
    struct outside_list list;
    const char *name;
    (void)outside_list_open(&list, strbuf_text(&path), ARTIFACTS_SEEN);
    for (unsigned shown = 0; shown < ARTIFACTS_SHOWN && (name = outside_list_next(&list));) {
        if (name[0] == '.')
            continue;
        json_write_string(w, op_quote(name).text);
        shown++;
    }
    outside_list_close(&list);
    json_write_array_end(w);
}

static void print_iteration(struct json_writer *w, uint32_t iteration, const char *folder) {
    _cleanup_(strbuf_finish) struct strbuf feedback = STRBUF_INIT;
    strbuf_printf(&feedback, "%s/feedback.md", folder);
    json_write_object_begin(w);
    print_int(w, "iteration", iteration);
    print_text(w, "folder", folder);
    print_bool(w, "feedback", access(strbuf_text(&feedback), F_OK) == 0);
    print_artifacts(w, folder);
    json_write_object_end(w);
}

static void print_iterations(struct json_writer *w, const struct engine *engine,
                             const struct task_view *task) {
    print_list(w, "iterations");
    for (uint32_t i = 0; i < ITERATIONS_SHOWN && i < task->iteration; i++) {
        _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
        engine_iteration_folder(engine, task->id, task->iteration - i, &folder);
        if (access(strbuf_text(&folder), F_OK) == 0)
            print_iteration(w, task->iteration - i, strbuf_text(&folder));
    }
    json_write_array_end(w);
}

static int print(struct op_call *call) {
    struct showing *s = showing_of(call);
    struct task_view t;
    if (!core_task(engine_core(call->engine), s->task, &t))
        return op_task(call) ? 0 : call->err.code; /* deleted while the store was asked */
    struct json_writer w = op_begin(call);
    (void)print_task_members(&w, call->engine, s->task, s->title, s->changed_at);
    print_json(&w, "spec", s->json);
    print_json(&w, "context", s->context);
    print_depends(call, &w, s->task);
    print_object(&w, "counters");
    print_int(&w, "failures", t.failures);
    print_int(&w, "launch_failures", t.launch_failures);
    print_int(&w, "losses", t.losses);
    print_int(&w, "restarts", t.restarts);
    json_write_object_end(&w);
    print_text(&w, "executor", executor_kind_name(engine_executor_kind(call->engine, s->task)));
    print_text(&w, "partition", engine_partition(call->engine, s->task));
    print_workspace(&w, call->engine, s->task);
    print_delivery(&w, call->engine, s->task);
    print_task_budget(&w, call->engine, s->task);
    print_json(&w, "runs", strbuf_text(&s->runs));
    print_iterations(&w, call->engine, &t);
    return op_end(&w);
}

static void take_runs(struct op_call *call, const struct store_answer *answer) {
    struct json_writer w;
    json_write_init(&w, &showing_of(call)->runs, false);
    json_write_array_begin(&w);
    for (size_t i = 0; i < answer->count; i++)
        print_run(&w, call->engine, &answer->runs[i]);
    json_write_array_end(&w);
}

static int ask_runs(struct op_call *call) {
    struct store_question question = { .kind = ASK_RUNS,
                                       .task = showing_of(call)->task,
                                       .limit = RUNS_SHOWN };
    return op_ask(call, &question, take_runs, print);
}

/* Variables of a task are often keys: their names are shown, their values are for its runs alone. Everything else stays as
 * it was written. */
static const char *without_values(struct arena *arena, const char *json, size_t size) {
    const char *spec = arena_strndup(arena, json, size), *begin = json_span_member(spec, "env");
    const char *name;
    json_error_t read; /* has the size of the value */
    json_t *value, *env = begin ? json_loadb(begin, size - (size_t)(begin - spec),
                                             JSON_DISABLE_EOF_CHECK, &read)
                                : NULL;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct json_writer w;
    if (json_object_size(env) == 0) {
        json_decref(env);
        return spec;
    }
    strbuf_add(&out, spec, (size_t)(begin - spec));
    json_write_init(&w, &out, false);
    json_write_object_begin(&w);
    json_object_foreach(env, name, value) {
        print_text(&w, name, "[not shown]");
    }
    json_write_object_end(&w);
    strbuf_puts(&out, begin + read.position);
    json_decref(env);
    return arena_strdup(arena, strbuf_text(&out));
}

static void take_spec(struct op_call *call, const struct store_answer *answer) {
    struct showing *s = showing_of(call);
    if (answer->count == 0)
        return;
    const struct spec_row *row = &answer->specs[0];
    struct arena *arena = op_arena(call);
    s->title = row->title ? arena_strdup(arena, row->title) : NULL;
    s->json = row->json ? without_values(arena, row->json, row->json_size) : NULL;
    s->changed_at = row->changed_at;
    s->context = row->context ? arena_strdup(arena, row->context) : NULL;
}

static int run(struct op_call *call) {
    struct showing *s = showing_of(call);
    s->task = op_task(call);
    if (!s->task)
        return call->err.code;
    struct store_question question = {
        .kind = ASK_SPECS, .tasks = &s->task, .task_count = 1, .limit = 1
    };
    return op_ask(call, &question, take_spec, ask_runs);
}

const struct op op_task_show = {
    OP("task.show", "GET", "/v1/tasks/{id}", "show one task"),
    .params = PARAMS(OP_PARAM_ID),
    .answers = &shape_task_full,
    .right = OP_READ,
    .reach = OP_REACH_SUBTREE,
    .run = run,
};
