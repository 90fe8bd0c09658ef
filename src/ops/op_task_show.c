/* op_task_show.c: everything about one task. */
#include <unistd.h>

#include "base/alloc.h"
#include "base/json_span.h"
#include "engine/best_of.h"
#include "engine/edits.h"
#include "engine/executors.h"
#include "engine/follow_ups.h"
#include "engine/loops.h"
#include "engine/worktrees.h"
#include "ops/print.h"
#include "os/outside.h"

#define RUNS_SHOWN 10
/* Agents decide how many artifacts exist. */
#define ITERATIONS_SHOWN 10u
#define ARTIFACTS_SHOWN  20u
#define ARTIFACTS_SEEN   1000u /* including hidden ones */
#define READS_MAX        8u    /* of a task that changes while it is read */

struct showing {
    task_id task;
    struct task_view seen; /* before the store is read */
    unsigned reads;
    const char *title, *json, *context;
    time_ms changed_at;
};

/* clang-format off */
#define WORKSPACE(X) \
    X(json_put_string, "path", T_TEXT, "the folder", "/home/me/web", place.path) \
    X(json_put_string, "branch", T_TEXT | T_NULL, "its branch", "sluice/web-17", place.branch) \
    X(json_put_string, "base", T_TEXT | T_NULL, "the branch that it came from", "main", place.base) \
    X(json_put_string, "merge", T_TEXT | T_NULL, "how its work is brought in", "direct", place.merge) \
    X(json_put_string, "on_conflict", T_TEXT | T_NULL, "what follows a conflict: `fail` or `iterate`", "iterate", place.branch ? place.iterates ? "iterate" : "fail" : NULL) \
    X(json_put_string, "conflict", T_TEXT | T_NULL, "the commit of `base` that its work conflicts with, until that is repaired", "1f0c1e0a8c6c1f1f5f0c3c8a7a3d9b1e2f4a5b6c", place.conflict)
static const struct shape workspace_shape = { "Workspace", "where a task works", .members = SHAPE_ALL(WORKSPACE) };

#define DELIVERY(X) \
    X(json_put_string, "strategy", T_TEXT | T_NULL, "how it was to be brought in", "direct", d.strategy) \
    X(json_put_string, "result", T_TEXT | T_NULL, "what came of it", "merged", d.result) \
    X(json_put_string, "message", T_TEXT | T_NULL, "the same for people", "merged into 'main'", d.message) \
    X(json_put_string, "branch", T_TEXT | T_NULL, "its branch", "sluice/web-17", d.branch) \
    X(json_put_string, "base", T_TEXT | T_NULL, "the branch that it came from", "main", d.base) \
    X(json_put_string, "commit", T_TEXT | T_NULL, "the last commit", "1f0c1e0a8c6c1f1f5f0c3c8a7a3d9b1e2f4a5b6c", d.commit[0] ? d.commit : NULL) \
    X(json_put_bool, "merged", T_BOOL, "the base branch has it", NULL, d.merged) \
    X(json_put_string, "removed", T_TEXT | T_NULL, "what was removed after that", "worktree", *d.removed ? d.removed : NULL) \
    X(print_time, "at", T_TIME | T_NULL, "when", NULL, d.at)
static const struct shape delivery_shape = { "Delivery", "what became of the work of a task", .members = SHAPE_ALL(DELIVERY) };

#define ITERATION(X) \
    X(json_put_int, "iteration", T_INT, "its number", NULL, iteration) \
    X(json_put_string, "folder", T_TEXT, "its folder", "/home/me/.local/share/sluice/tasks/web-17/iterations/001", folder) \
    X(json_put_bool, "feedback", T_BOOL, "it began with feedback", NULL, access(strbuf_text(&feedback), F_OK) == 0)
static const struct shape iteration_shape = { "Iteration", "one of the last 10 iterations of a task", .members = SHAPE_ROWS(
    ITERATION(SHAPE_ROW)
    { "artifacts", T_TEXT | T_LIST, "the files in it", "plan.md" }) };

#define COUNTERS(X) \
    X(json_put_int, "failures", T_INT, "failed attempts", NULL, t.failures) \
    X(json_put_int, "launch_failures", T_INT, "attempts that could not be launched", NULL, t.launch_failures) \
    X(json_put_int, "losses", T_INT, "runs that were lost", NULL, t.losses) \
    X(json_put_int, "restarts", T_INT, "iterations of its loop", NULL, t.restarts)
static const struct shape counters_shape = { "Counters", "what limits further attempts", .members = SHAPE_ALL(COUNTERS) };

#define FOLLOW_UP(X) \
    X(json_put_string, "message", T_TEXT, "the message", "Also update the manual.", f->text) \
    X(json_put_string, "by", T_TEXT | T_NULL, "who wrote it", "ann", f->by) \
    X(print_time, "at", T_TIME, "when", NULL, f->at) \
    X(json_put_bool, "used", T_BOOL, "an attempt has got it and has ended", NULL, f->is_used)
static const struct shape follow_up_shape = { "FollowUp", "a message that continues a finished task", .members = SHAPE_ROWS(
    FOLLOW_UP(SHAPE_ROW)
    { "attempt", T_INT | T_NULL, "the attempt that has got it; null: none yet" }) };

static const struct shape task_full_shape = { "TaskFull", "everything about a task", &shape_task, SHAPE_ROWS(
    { "spec", T_JSON | T_MAP, "what was submitted" },
    { "context", T_JSON | T_MAP | T_NULL, "what was given when it was slung" },
    { "depends_on", T_ID | T_LIST, "what it depends on" },
    { "counters", T_OBJECT, "its counters", &counters_shape },
    { "executor", T_TEXT, "where it runs: `local` or `slurm`", "local" },
    { "partition", T_TEXT | T_NULL, "in Slurm, its partition; null: the default one", "gpu" },
    { "works_in", T_OBJECT | T_NULL, "where it works; null: not known yet", &workspace_shape },
    { "has_diff", T_BOOL, "`task.diff` can tell what it changed" },
    { "question", T_OBJECT | T_NULL, "its last question; null: it has none, or is final", &shape_question },
    { "follow_up", T_OBJECT | T_NULL, "the last message that continued it (`task.again`)", &follow_up_shape },
    { "best_of", T_OBJECT | T_NULL, "its candidates (`task.candidates`); null: it has none", &shape_best_of },
    { "candidate_of", T_ID | T_NULL, "the task that it is a candidate or the chooser of" },
    { "editable", T_BOOL, "`task.edit` can change it now" },
    { "continuable", T_BOOL, "`task.again` can continue it with a message" },
    { "version", T_INT, "rises with every edit and every attempt; for `task.edit`" },
    { "delivery", T_OBJECT | T_NULL, "null: it has no worktree, or no run of it has succeeded", &delivery_shape },
    { "budget", T_OBJECT, "what it has used of which budget", &shape_task_budget },
    { "runs", T_OBJECT | T_LIST, "its last 10 runs, newest first", &shape_run },
    { "iterations", T_OBJECT | T_LIST, "its last 10 iterations", &iteration_shape }) };
/* clang-format on */

static void print_delivery(struct json_writer *w, const struct engine *engine, task_id task) {
    struct delivery d;
    if (!print_object_if(w, "delivery", engine_delivery(engine, task, &d)))
        return;
    DELIVERY(SHAPE_PRINT)
    json_write_object_end(w);
    delivery_finish(&d);
}

static void print_follow_up(struct json_writer *w, const struct engine *engine, task_id task) {
    const struct engine_follow_up *f = engine_follow_up(engine, task);
    if (!print_object_if(w, "follow_up", f))
        return;
    FOLLOW_UP(SHAPE_PRINT)
    if (f->attempt > 0)
        json_put_int(w, "attempt", f->attempt);
    else
        json_put_null(w, "attempt");
    json_write_object_end(w);
}

static void print_iteration(struct json_writer *w, uint32_t iteration, const char *folder) {
    _cleanup_(strbuf_finish) struct strbuf feedback = STRBUF_INIT;
    strbuf_printf(&feedback, "%s/feedback.md", folder);
    json_write_object_begin(w);
    ITERATION(SHAPE_PRINT) {
        _cleanup_(freep) char *path = xasprintf("%s/artifacts", folder);
        json_put_array(w, "artifacts");
        struct outside_list list;
        const char *name;
        (void)outside_list_open(&list, path, ARTIFACTS_SEEN);
        for (unsigned shown = 0; shown < ARTIFACTS_SHOWN && (name = outside_list_next(&list));) {
            if (name[0] == '.')
                continue;
            json_write_string(w, utf8_quote(name).text);
            shown++;
        }
        outside_list_close(&list);
        json_write_array_end(w);
    }
    json_write_object_end(w);
}

static int read_task(struct op_call *call);

/* The rows of its runs are those of another state. */
static bool has_changed(const struct task_view *before, const struct task_view *now) {
    return before->state != now->state || before->attempt != now->attempt
           || before->iteration != now->iteration || before->hold != now->hold;
}

static int print(struct op_call *call) {
    struct showing *s = op_state(call, sizeof(*s), NULL);
    struct task_view t;
    if (!core_task(engine_core(call->engine), s->task, &t))
        return op_task(call) ? 0 : call->err.code; /* deleted while the store was read */
    if (has_changed(&s->seen, &t) && s->reads < READS_MAX)
        return read_task(call);
    struct json_writer w = op_begin(call);
    (void)print_task_members(&w, call->engine, s->task, s->title, s->changed_at);
    print_json(&w, "spec", s->json);
    print_json(&w, "context", s->context);
    size_t count;
    const task_id *tasks = op_depends(call, s->task, 0, &count);
    print_words(&w, "depends_on", op_ids(call, tasks, count), count);
    json_put_object(&w, "counters");
    COUNTERS(SHAPE_PRINT_TO)
    json_write_object_end(&w);
    json_put_string(&w, "executor",
                    executor_kind_name(engine_executor_kind(call->engine, s->task)));
    json_put_string(&w, "partition", engine_partition(call->engine, s->task));
    struct engine_workspace place;
    engine_workspace(call->engine, s->task, &place);
    if (print_object_if(&w, "works_in", place.path)) {
        WORKSPACE(SHAPE_PRINT_TO)
        json_write_object_end(&w);
    }
    engine_workspace_finish(&place);
    json_put_bool(&w, "has_diff", engine_has_diff(call->engine, s->task));
    const struct engine_question *question = engine_question(call->engine, s->task);
    if (print_object_if(&w, "question", question)) {
        print_question(&w, call->engine, question);
        json_write_object_end(&w);
    }
    print_follow_up(&w, call->engine, s->task);
    const struct engine_best_of *best_of = engine_best_of(call->engine, s->task);
    if (print_object_if(&w, "best_of", best_of)) {
        print_best_of(&w, call->engine, best_of);
        json_write_object_end(&w);
    }
    print_id(&w, "candidate_of", call->engine, engine_candidate_of(call->engine, s->task));
    json_put_bool(&w, "editable", !best_of && task_is_editable(&t));
    json_put_bool(&w, "continuable",
                  !best_of && task_is_continuable(&t) && s->json
                      && json_span_member(s->json, "prompt"));
    json_put_int(&w, "version", (int64_t)engine_task_version(call->engine, s->task));
    print_delivery(&w, call->engine, s->task);
    print_task_budget(&w, call->engine, s->task);
    print_json(&w, "runs", strbuf_text(op_part(call)));
    json_put_array(&w, "iterations");
    for (uint32_t i = 0; i < ITERATIONS_SHOWN && i < t.iteration; i++) {
        _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
        engine_iteration_folder(call->engine, t.id, t.iteration - i, &folder);
        if (access(strbuf_text(&folder), F_OK) == 0)
            print_iteration(&w, t.iteration - i, strbuf_text(&folder));
    }
    json_write_array_end(&w);
    return op_end(&w);
}

static void take_runs(struct op_call *call, const struct store_answer *answer) {
    struct json_writer w;
    strbuf_clear(op_part(call));
    json_write_init(&w, op_part(call), false);
    json_write_array_begin(&w);
    for (size_t i = 0; i < answer->count; i++)
        print_run(&w, call->engine, &answer->runs[i]);
    json_write_array_end(&w);
}

static int query_runs(struct op_call *call) {
    const struct showing *s = op_state(call, sizeof(*s), NULL);
    struct store_query question = { .kind = QUERY_RUNS, .task = s->task, .limit = RUNS_SHOWN };
    return op_query(call, &question, take_runs, print);
}

/* Environment variables are often secrets: their names are shown, their values are not. Everything
 * else stays as written. */
static const char *without_values(struct arena *arena, const char *json, size_t size) {
    const char *spec = arena_strndup(arena, json, size), *begin = json_span_member(spec, "env");
    const char *name;
    json_error_t read = { .position = 0 }; /* has the size of the value */
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
        json_put_string(&w, name, "[not shown]");
    }
    json_write_object_end(&w);
    strbuf_puts(&out, begin + read.position);
    json_decref(env);
    return arena_strdup(arena, strbuf_text(&out));
}

static void take_spec(struct op_call *call, const struct store_answer *answer) {
    struct showing *s = op_state(call, sizeof(*s), NULL);
    if (answer->count == 0)
        return;
    const struct spec_row *row = &answer->specs[0];
    s->title = op_keep(call, row->title);
    s->json = row->json ? without_values(op_arena(call), row->json, row->json_size) : NULL;
    s->changed_at = row->changed_at;
    s->context = op_keep(call, row->context);
}

/* Turns pass while the store is read. Rows and state in one answer belong together. */
static int read_task(struct op_call *call) {
    struct showing *s = op_state(call, sizeof(*s), NULL);
    s->task = op_task(call);
    if (!s->task || !core_task(engine_core(call->engine), s->task, &s->seen))
        return call->err.code;
    s->reads++;
    struct store_query question = {
        .kind = QUERY_SPECS, .tasks = &s->task, .task_count = 1, .limit = 1
    };
    return op_query(call, &question, take_spec, query_runs);
}

const struct op op_task_show = {
    OP("task.show", "GET", "/v1/tasks/{id}", "show one task"),
    .params = PARAMS(OP_PARAM_ID),
    .answers = &task_full_shape,
    OP_READS(READ, SUBTREE, read_task),
    .imports = true,
};
