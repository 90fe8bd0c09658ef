/* op_actions.c: the requests that move tasks from one state to another.
 *
 * A list is applied completely or not at all: every task is checked before the first is changed.
 * core/action.h has the states that allow a request; they are checked here so that a refusal comes
 * first. A task that is already in the resulting state is not an error but `already`. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "core/action.h"
#include "engine/agents.h"
#include "engine/alert.h"
#include "engine/best_of.h"
#include "engine/descendants.h"
#include "engine/edits.h"
#include "engine/follow_ups.h"
#include "engine/loops.h"
#include "engine/takeover.h"
#include "engine/worktrees.h"
#include "ops/print.h"

/* What continues a finished task (again with `message`). */
struct following {
    json_t *spec;                  /* of the task */
    struct engine_session session; /* of its last run that has one; session NULL: none */
};

struct acting {
    task_id *tasks;
    bool *already;
    size_t count;
    json_t **contexts; /* of tasks whose steps are affected, or that get permissions; else NULL */
    task_id *queried;  /* these tasks */
    size_t queried_count;
    uint64_t writes; /* of texts, when they were read */
    size_t merging;  /* before approval: the next one to merge */
    bool waits;      /* that one is being merged */
    struct following follow;
};

static void acting_finish(void *state) {
    struct acting *s = state;
    for (size_t i = 0; s->contexts && i < s->count; i++)
        json_decref(s->contexts[i]);
    json_decref(s->follow.spec);
}

static const struct task_action *action_of(const struct op_call *call) {
    const struct task_action *a = task_actions;
    while (strcmp(a->name, call->op->name + strlen("task.")) != 0)
        a++;
    return a;
}

static bool waits_for_verdict(const struct task_view *t) {
    return t->state == TASK_HELD && (t->hold == HOLD_REVIEW || t->hold == HOLD_EXTERNAL);
}

static bool is_taken(const struct task_view *t) {
    return t->state == TASK_HELD && t->hold == HOLD_TAKEN;
}

bool task_is_continuable(const struct task_view *t) {
    return task_state_is_final(t->state) && t->state != TASK_INVALIDATED;
}

static bool may_follow_up(const struct op_call *call, const struct task_action *a,
                          const struct task_view *t) {
    return a->fact == FACT_AGAIN && op_text(call, "message") && task_is_continuable(t);
}

static const char *advice(const struct op_call *call, const struct task_action *a,
                          const struct task_view *t) {
    if (a->fact == FACT_AGAIN && op_text(call, "message"))
        return waits_for_verdict(t)
                   ? "it waits for review: reject it with the message as the reason"
               : t->state == TASK_INVALIDATED
                   ? "it was invalidated: add a new task"
                   : "only a task that is done, failed or canceled can be continued with a "
                     "message; use 'sluice edit' to change the prompt of a waiting task";
    if (t->state != TASK_HELD || !(a->from >> 16))
        return a->otherwise;
    if (is_taken(t))
        return "it is taken over: release it to let its agent continue, or approve it";
    return waits_for_verdict(t)    ? "it waits for review: approve or reject it"
           : a->fact == FACT_RETRY ? "release it to continue"
                                   : "it does not wait for a verdict; release it to continue";
}

/* --- candidates ------------------------------------------------------------------------------- */

/* Holding or releasing a task that runs nothing itself is meant for its candidates. */
static bool is_for_candidates(const struct task_action *a, const struct task_view *t) {
    return t->state == TASK_HELD && t->hold == HOLD_CANDIDATES
           && (a->fact == FACT_HOLD || a->fact == FACT_RELEASE);
}

static bool apply_to_candidates(struct op_call *call, const struct task_action *a, task_id task) {
    return (a->fact == FACT_HOLD
                ? engine_hold_candidates(call->engine, task, op_number(call, "until", 0))
                : engine_release_candidates(call->engine, task))
           > 0;
}

/* One that is approved must have a result. */
static int check_candidates(struct op_call *call, const struct task_action *a, task_id task) {
    const char *id = op_id(call, task);
    if (!engine_best_of(call->engine, task))
        return 0;
    if (a->fact == FACT_APPROVE)
        return op_fail(call, -EBUSY,
                       "task '%s' waits for a pick: 'sluice best %s' compares its candidates, "
                       "'sluice pick %s ID' picks one",
                       id, id, id);
    if (op_text(call, "message") && a->fact == FACT_AGAIN)
        return op_fail(call, -EBUSY,
                       "task '%s' runs nothing itself: continue one of its candidates with a "
                       "message",
                       id);
    return 0;
}

static void give_reason_to_candidates(struct op_call *call, task_id task, const char *reason) {
    const struct engine_best_of *v = engine_best_of(call->engine, task);
    for (size_t i = 0; v && i < v->count; i++)
        engine_give_feedback(call->engine, v->candidates[i], reason);
}

/* A message continues what a person has taken over. */
static int check_given_back(struct op_call *call, const struct task_view *t) {
    const struct engine_taken *taken = engine_taken(call->engine, t->id);
    const char *message = op_text(call, "message"), *id = op_id(call, t->id);
    if (!is_taken(t) || !taken)
        return op_fail(call, -EINVAL,
                       "'message' can only be used with tasks that are taken over, and '%s' is not",
                       id);
    if (!taken->has_prompt)
        return op_fail(call, -EINVAL,
                       "task '%s' is a command: it has no prompt that a message could follow", id);
    const char *agent = op_name_of(call->engine, t->agent);
    return agent ? engine_check_prompt(call->engine, agent, message, true, &call->err)
                 : engine_check_roster(call->engine, message, &call->err);
}

static int check_action(struct op_call *call, const struct task_action *a, struct acting *s,
                        size_t i) {
    struct task_view t;
    task_id task = s->tasks[i];
    if (!core_task(engine_core(call->engine), task, &t)) /* after a query or a merge */
        return op_fail(call, -ENOENT, "task '%s' has been deleted", op_id(call, task));
    if (is_for_candidates(a, &t)) {
        s->already[i] = false;
        return 0;
    }
    uint32_t in = task_situation(t.state, t.hold);
    s->already[i] = (a->already & in)
                    || (a->fact == FACT_HOLD
                        && (t.state == TASK_HELD && t.hold == HOLD_PERSON
                            && t.not_before == op_number(call, "until", 0)));
    if (s->already[i])
        return 0;
    if (!(a->from & in) && !may_follow_up(call, a, &t)) /* of a held task by the kind of hold */
        return op_fail(call, -EBUSY, "task '%s' is %s: %s", op_id(call, task),
                       task_state_name(t.state), advice(call, a, &t));
    int r = check_candidates(call, a, task);
    if (r == 0 && a->fact == FACT_RELEASE && op_text(call, "message"))
        r = check_given_back(call, &t);
    if (r < 0)
        return r;
    uint32_t living = engine_external_attempt(call->engine, task);
    if (living > 0 && (a->fact == FACT_AGAIN || a->fact == FACT_RETRY)) {
        /* Started by another daemon after the backup that was restored: it cannot be stopped from
         * here. */
        char id[ENGINE_ID_MAX];
        engine_task_id(call->engine, task, id);
        return op_fail(call, -EBUSY,
                       "run '%s.%u', started after the restored backup was made, is still live: "
                       "wait for its end, then try again",
                       id, living);
    }
    if (a->fact == FACT_RETRY && op_json(call, "allow"))
        return engine_check_allow(call->engine, task, &call->err);
    return 0;
}

/* --- steps ----------------------------------------------------------------------------------- */

static const json_t *steps_of(const struct acting *s, size_t i) {
    return s->contexts ? json_object_get(s->contexts[i], "steps") : NULL;
}

static task_id step_at(const json_t *steps, size_t i) {
    return (task_id)json_integer_value(json_array_get(steps, i));
}

static void put_context(struct op_call *call, const struct acting *s, size_t i) {
    char *text = json_dumps(s->contexts[i], JSON_COMPACT);
    engine_put_context(call->engine, s->tasks[i], text);
    freep(&text);
}

/* Permissions granted by a retry are stored in the context of the task (engine_put_context), beside the
 * submission. */
static void allow(struct op_call *call, struct acting *s, size_t i) {
    const json_t *rules = op_json(call, "allow");
    json_t *context = s->contexts[i] ? s->contexts[i] : (s->contexts[i] = json_object());
    json_t *all = json_object_get(context, "allow");
    if (!json_is_array(all)) {
        all = json_array();
        json_object_set_new(context, "allow", all);
    }
    for (size_t k = 0; k < json_array_size(rules); k++) {
        bool known = false;
        for (size_t j = 0; j < json_array_size(all) && !known; j++)
            known = json_equal(json_array_get(all, j), json_array_get(rules, k));
        if (!known)
            json_array_append(all, json_array_get(rules, k));
    }
    put_context(call, s, i);
}

/* All steps are repeated with their task: a missing one would be skipped silently. */
static int check_steps(struct op_call *call, const struct task_action *a, const struct acting *s,
                       size_t i) {
    const json_t *steps = steps_of(s, i);
    struct task_view t;
    for (size_t k = 0; a->fact != FACT_CLEAR && k < json_array_size(steps); k++)
        if (!core_task(engine_core(call->engine), step_at(steps, k), &t))
            return op_fail(call, -ENOENT,
                           "a step of task '%s' was deleted: add the task again, and sling it",
                           op_id(call, s->tasks[i]));
    return 0;
}

static bool is_step(const json_t *steps, task_id task) {
    for (size_t k = 0; k < json_array_size(steps); k++)
        if (step_at(steps, k) == task)
            return true;
    return false;
}

/* Restores the state before the sling: the task depends on no step, and steps that have not started
 * are deleted. */
static void remove_steps(struct op_call *call, struct acting *s, size_t i) {
    const json_t *steps = steps_of(s, i);
    const struct core *core = engine_core(call->engine);
    size_t count, kept = 0;
    task_id *on = op_depends(call, s->tasks[i], 0, &count);
    for (size_t k = 0; k < count; k++)
        if (!is_step(steps, on[k]))
            on[kept++] = on[k];
    (void)op_set_depends(call, s->tasks[i], on, kept);
    for (size_t k = json_array_size(steps); k-- > 0;) {
        struct fact step = { .kind = FACT_CLEAR, .task = step_at(steps, k) };
        struct task_view t;
        if (!core_task(core, step.task, &t) || t.attempt > 0 || task_state_is_live(t.state)
            || task_state_is_final(t.state))
            continue;
        if (t.state != TASK_DRAFT)
            (void)engine_apply(call->engine, &step, NULL);
        step.kind = FACT_DELETE;
        (void)engine_apply(call->engine, &step, NULL);
    }
    json_object_del(s->contexts[i], "steps"); /* the generation stays */
    put_context(call, s, i);
}

/* --- messages -------------------------------------------------------------------------------- */

static int act(struct op_call *call);

static void add_known(int64_t *sum, int64_t more) {
    if (more >= 0)
        *sum = (*sum > 0 ? *sum : 0) + more;
}

/* The session is that of the last run that has one: the row of a run stays when its task is final,
 * and what the agent remembers of it (agents/session.c) does not. */
static void take_session(struct op_call *call, const struct store_answer *answer) {
    struct acting *s = op_state(call, sizeof(*s), acting_finish);
    struct engine_session *found = &s->follow.session;
    for (size_t i = 0; i < answer->count; i++) {
        const struct run_row *run = &answer->runs[i];
        if (!run->session || !run->agent)
            continue;
        if (!found->session) {
            found->session = op_keep(call, run->session);
            found->agent = op_keep(call, run->agent);
            found->used = (struct agent_usage){ -1, -1, -1, -1 };
        }
        if (strcmp(found->session, run->session) != 0)
            continue;
        add_known(&found->used.in, run->tokens_in);
        add_known(&found->used.out, run->tokens_out);
        add_known(&found->used.cached, run->tokens_cached);
        add_known(&found->used.cost_micro_usd, run->cost_micro_usd);
    }
}

static void take_followed(struct op_call *call, const struct store_answer *answer) {
    struct acting *s = op_state(call, sizeof(*s), acting_finish);
    const struct spec_row *row = answer->count > 0 ? &answer->specs[0] : NULL;
    if (row && row->json)
        s->follow.spec = json_loadb(row->json, row->json_size, 0, NULL);
    if (row && row->context)
        s->contexts[0] = json_loads(row->context, 0, NULL);
}

/* A command has no prompt that a message could follow, and neither has a task whose steps do the
 * work. */
static int check_message(struct op_call *call) {
    struct acting *s = op_state(call, sizeof(*s), acting_finish);
    const json_t *steps = json_object_get(s->contexts[0], "steps");
    const char *message = op_text(call, "message"), *id = op_id(call, s->tasks[0]);
    struct task_view t;
    if (!core_task(engine_core(call->engine), s->tasks[0], &t))
        return op_fail(call, -ENOENT, "task '%s' has been deleted", id);
    if (json_is_true(steps) || json_array_size(steps) > 0)
        return op_fail(call, -EINVAL,
                       "task '%s' runs nothing itself: continue one of its steps with a message",
                       id);
    if (!json_is_string(json_object_get(s->follow.spec, "prompt")))
        return op_fail(call, -EINVAL,
                       "task '%s' is a command: it has no prompt that a message could follow; "
                       "'sluice %s %s' runs it again without one",
                       id, t.state == TASK_DONE ? "again" : "retry", id);
    const char *agent = op_name_of(call->engine, t.agent);
    int r = agent ? engine_check_prompt(call->engine, agent, message, true, &call->err)
                  : engine_check_roster(call->engine, message, &call->err);
    return r < 0 ? r : act(call);
}

static int query_session(struct op_call *call) {
    const struct acting *s = op_state(call, sizeof(*s), acting_finish);
    struct store_query question = { .kind = QUERY_RUNS, .task = s->tasks[0] };
    return op_query(call, &question, take_session, check_message);
}

static int query_followed(struct op_call *call) {
    struct acting *s = op_state(call, sizeof(*s), acting_finish);
    if (s->count != 1)
        return op_fail(call, -EINVAL, "'message' can only be used with one task, got %zu",
                       s->count);
    int r = check_action(call, action_of(call), s, 0);
    if (r < 0)
        return r;
    s->contexts = arena_alloc(op_arena(call), sizeof(json_t *));
    struct store_query question = {
        .kind = QUERY_SPECS, .tasks = s->tasks, .task_count = 1, .limit = 1
    };
    return op_query(call, &question, take_followed, query_session);
}

static void follow_up(struct op_call *call, const struct acting *s, size_t i) {
    if (s->follow.session.session)
        engine_continue_session(call->engine, s->tasks[i], &s->follow.session);
    engine_put_follow_up(call->engine, s->tasks[i], op_text(call, "message"), op_actor(call));
}

static void apply_to_steps(struct op_call *call, const struct task_action *a, struct acting *s,
                           size_t i) {
    const json_t *steps = steps_of(s, i);
    if (a->fact == FACT_CLEAR && json_array_size(steps) > 0) {
        remove_steps(call, s, i);
        return;
    }
    for (size_t k = 0; k < json_array_size(steps); k++)
        (void)engine_apply(call->engine,
                           &(struct fact){ .kind = FACT_AGAIN, .task = step_at(steps, k) }, NULL);
}

/* The next iteration reads the reason of a rejection. */
static void record_verdict(struct op_call *call, bool is_rejected, task_id task) {
    const char *reason = op_text(call, "reason");
    json_t *data = json_pack("{s:s*, s:s*}", "by", op_actor(call), "reason", reason);
    char *text = json_dumps(data, JSON_COMPACT);
    engine_event(call->engine, is_rejected ? "task.rejected" : "task.approved", task, 0, text);
    if (is_rejected && reason) {
        engine_give_feedback(call->engine, task, reason);
        give_reason_to_candidates(call, task, reason);
    }
    freep(&text);
    json_decref(data);
}

/* One may change the next: a task changed by an earlier one is left alone. */
static void apply(struct op_call *call, const struct task_action *a, struct acting *s, size_t i) {
    struct fact fact = { .kind = a->fact, .task = s->tasks[i] };
    if (a->fact == FACT_HOLD)
        fact.until = op_number(call, "until", 0);
    if (a->fact == FACT_CANCEL && op_flag(call, "now"))
        engine_stop_at_once(call->engine, s->tasks[i]);
    struct task_view t;
    bool is_known = core_task(engine_core(call->engine), fact.task, &t);
    if (is_known && is_for_candidates(a, &t)) {
        s->already[i] = !apply_to_candidates(call, a, fact.task);
        return;
    }
    if (a->fact == FACT_AGAIN && is_known && t.state != TASK_DONE)
        fact.kind = FACT_RETRY; /* with a message */
    if (a->fact == FACT_RETRY || a->fact == FACT_AGAIN)
        fact.own_agent = op_flag(call, "own_agent");
    if (a->fact == FACT_CLEAR)
        fact.own_agent = true; /* as when it was added */
    if (a->fact == FACT_RETRY && is_known && t.state == TASK_HELD) {
        fact.kind = FACT_CLEAR; /* resets the counters and the timer */
        (void)engine_apply(call->engine, &fact, NULL);
        fact = (struct fact){ .kind = FACT_SLING, .task = s->tasks[i] };
    }
    if (a->fact == FACT_RELEASE && is_known && is_taken(&t)) {
        s->already[i] = engine_apply(call->engine, &fact, NULL) != 0;
        engine_give_back(call->engine, fact.task, op_text(call, "message"), op_actor(call));
        return;
    }
    s->already[i] = engine_apply(call->engine, &fact, NULL) != 0;
    if (!s->already[i] && a->fact == FACT_RETRY && op_json(call, "allow"))
        allow(call, s, i);
    if (!s->already[i] && a->fact == FACT_AGAIN && op_text(call, "message"))
        follow_up(call, s, i);
    if (!s->already[i])
        apply_to_steps(call, a, s, i);
    if (a->fact == FACT_CANCEL)
        engine_cancel_descendants(call->engine, fact.task, op_flag(call, "now"));
    if (!s->already[i] && (a->fact == FACT_APPROVE || a->fact == FACT_REJECT))
        record_verdict(call, a->fact == FACT_REJECT, s->tasks[i]);
}

static int act(struct op_call *call) {
    const struct task_action *a = action_of(call);
    struct acting *s = op_state(call, sizeof(*s), acting_finish);
    int r = 0;
    for (size_t i = 0; i < s->count; i++) {
        call->index = (int64_t)i;
        r = check_action(call, a, s, i);
        if (r == 0 && !s->already[i])
            r = check_steps(call, a, s, i);
        if (r < 0)
            return r;
    }
    call->index = -1;
    /* Before deleting: ids of deleted tasks too. */
    const char *const *ids = op_ids(call, s->tasks, s->count);
    for (size_t i = 0; i < s->count; i++)
        if (!s->already[i])
            apply(call, a, s, i);
    print_states(call, ids, s->tasks, s->count, s->already, NULL);
    return 0;
}

/* --- approval merges first ------------------------------------------------------------------- */

/* Dependants start on approval and need the task's work in the base branch. If one task cannot be
 * merged, none is approved; those merged before it are `already` merged in the next request. */
static int merge_next(struct op_call *call) {
    struct acting *s = op_state(call, sizeof(*s), acting_finish);
    if (s->waits) {
        const struct merge_answer *m = op_merged(call);
        if (m->result == MERGE_CONFLICT || m->result == MERGE_FAILED) {
            call->index = (int64_t)s->merging;
            return op_fail(call, -EBUSY,
                           "task '%s' is not approved, because it cannot be merged: %s",
                           op_id(call, s->tasks[s->merging]), m->message);
        }
        s->waits = false;
        s->merging++;
    }
    for (; s->merging < s->count; s->merging++) {
        struct merge_question question = { .task = s->tasks[s->merging] };
        struct task_view t;
        if (!core_task(engine_core(call->engine), question.task, &t)
            || (!waits_for_verdict(&t) && !is_taken(&t))
            || !engine_merges_on_approval(call->engine, question.task))
            continue;
        s->waits = true;
        question.is_delivery = is_taken(&t);
        return op_wait_merge(call, &question, merge_next);
    }
    return act(call);
}

/* Nothing is merged if one of them cannot be approved. */
static int approve(struct op_call *call) {
    struct acting *s = op_state(call, sizeof(*s), acting_finish);
    for (size_t i = 0; i < s->count; i++) {
        call->index = (int64_t)i;
        int r = check_action(call, action_of(call), s, i);
        if (r < 0)
            return r;
    }
    call->index = -1;
    return merge_next(call);
}

static void take_contexts(struct op_call *call, const struct store_answer *answer) {
    struct acting *s = op_state(call, sizeof(*s), acting_finish);
    for (size_t i = 0; i < s->count; i++) {
        json_decref(s->contexts[i]);
        s->contexts[i] = NULL;
    }
    for (size_t k = 0, i = 0; k < answer->count; k++) {
        while (i < s->count && s->tasks[i] != answer->specs[k].id)
            i++;
        if (i < s->count && answer->specs[k].context)
            s->contexts[i] = json_loads(answer->specs[k].context, 0, NULL);
    }
}

static int query_contexts(struct op_call *call);

/* What another request has written meanwhile must not be lost. */
static int act_with_contexts(struct op_call *call) {
    const struct acting *s = op_state(call, sizeof(*s), acting_finish);
    for (size_t i = 0; i < s->queried_count; i++)
        if (engine_text_changed(call->engine, s->queried[i], s->writes))
            return query_contexts(call);
    return act(call);
}

static int query_contexts(struct op_call *call) {
    struct acting *s = op_state(call, sizeof(*s), acting_finish);
    for (size_t i = 0; i < s->queried_count; i++)
        if (engine_is_edited_now(call->engine, s->queried[i]))
            return op_yield(call, query_contexts);
    s->writes = engine_text_writes(call->engine);
    struct store_query question = { .kind = QUERY_SPECS,
                                    .tasks = s->queried,
                                    .task_count = s->queried_count,
                                    .limit = s->queried_count };
    return op_query(call, &question, take_contexts, act_with_contexts);
}

static bool needs_context(const struct op_call *call, const struct task_action *a, task_id task) {
    bool may_have_steps = a->fact == FACT_AGAIN || a->fact == FACT_REJECT || a->fact == FACT_CLEAR;
    return (may_have_steps && core_task_depends(engine_core(call->engine), task, NULL, 0) > 0)
           || (a->fact == FACT_RETRY && op_json(call, "allow"));
}

static int run(struct op_call *call) {
    const struct task_action *a = action_of(call);
    struct acting *s = op_state(call, sizeof(*s), acting_finish);
    int64_t until = op_number(call, "until", 0);
    if (op_json(call, "allow") && call->access.remote && call->access.scope < ACCESS_ADMIN)
        return op_fail(call, -EACCES, "'allow' needs the scope 'admin'");
    if (until != 0 && until <= engine_now(call->engine))
        return op_fail(call, -EINVAL, "'until' is in the past (it is in ms since the epoch)");
    int r = op_tasks(call, "tasks", &s->tasks, &s->count);
    if (r < 0)
        return r;
    s->already = arena_alloc(op_arena(call), s->count + 1);
    if (a->fact == FACT_APPROVE)
        return approve(call);
    if (op_text(call, "message") && a->fact == FACT_AGAIN)
        return query_followed(call);
    s->queried = arena_alloc(op_arena(call), (s->count + 1) * sizeof(*s->queried));
    for (size_t i = 0; i < s->count; i++)
        if (needs_context(call, a, s->tasks[i]))
            s->queried[s->queried_count++] = s->tasks[i];
    if (s->queried_count == 0)
        return act(call);
    if (s->queried_count > STORE_ANSWER_MAX)
        return op_fail(call, -E2BIG, "more than %u tasks in one request", STORE_ANSWER_MAX);
    s->contexts = arena_alloc(op_arena(call), s->count * sizeof(json_t *));
    return query_contexts(call);
}

/* In parentheses: a macro argument with commas. */
#define TASKS_AND(...) (PARAMS(OP_PARAM_TASKS, __VA_ARGS__))
#define TASKS_ONLY     (PARAMS(OP_PARAM_TASKS))
#define VERDICT_PARAMS                                                                             \
    TASKS_AND(PARAM(                                                                               \
        TEXT, BODY, "reason", .min = 1, .max = FOLLOW_UP_MAX, .lines = true,                       \
        .text = "the reason; the next iteration of a rejected task finds it in its feedback"))

#define OWN_AGENT_PARAM                                                                            \
    PARAM(BOOLEAN, BODY, "own_agent",                                                              \
          .text = "start an escalated task with its own agent and model again")

#define ACTION_OF(verb, params_, summary_, text_, reach_)                                          \
    const struct op op_task_##verb = {                                                             \
        .name = "task." #verb,                                                                     \
        .method = "POST",                                                                          \
        .path = "/v1/tasks/" #verb,                                                                \
        .summary = (summary_),                                                                     \
        .text = (text_),                                                                           \
        .params = (params_),                                                                       \
        .answers = &shape_changed,                                                                 \
        OP_WRITES(SUBMIT, reach_, run),                                                            \
        .imports = OP_REACH_##reach_ == OP_REACH_DESCENDANTS,                                      \
    }
#define ACTION(verb, params_, summary_, text_) ACTION_OF(verb, params_, summary_, text_, NONE)

ACTION(
    again,
    TASKS_AND(PARAM(TEXT, BODY, "message", .min = 1, .max = FOLLOW_UP_MAX, .lines = true,
                    .text = "continue one finished task in the session of its last run, with this "
                            "as the prompt"),
              OWN_AGENT_PARAM),
    "run finished tasks again",
    "Starts a new iteration; children of the last iteration are invalidated. With `message`, a "
    "task that failed or was canceled can be continued too, as with `task.retry`. An agent without "
    "sessions, or one that has lost its session, gets the prompt of the task and the message. A "
    "command is refused. The event is `task.followed_up`, with the message and its author.");
#define APPROVED                                                                                   \
    "The event is `task.approved`, with the user and the reason. With `merge: direct` the branch " \
    "of "                                                                                          \
    "the task is merged first, and the answer waits for that; if it cannot be merged, this is "    \
    "409 with the reason, and the task still waits."
ACTION(approve, VERDICT_PARAMS, "approve tasks that wait for review", APPROVED);
ACTION_OF(cancel,
          TASKS_AND(PARAM(BOOLEAN, BODY, "now",
                          .text = "kill runs immediately instead of asking them to stop first")),
          "cancel tasks",
          "A running task is asked to stop and is canceled when its run has ended; if the run "
          "succeeds first, the task is done. Children that its runs have added (`parent_gate: "
          "none`) are canceled with it. If its run is on an unreachable host (`host.list`), a "
          "`note` says when it will be stopped.",
          DESCENDANTS);
ACTION(clear, TASKS_ONLY, "turn waiting tasks into drafts",
       "Their counters and their escalation are reset.");
ACTION(close, VERDICT_PARAMS, "close tasks that are finished externally", APPROVED);
ACTION(delete, TASKS_ONLY, "delete drafts and finished tasks",
       "Their children fail as orphans, and so do tasks that wait for one that was not done.");
ACTION(hold,
       TASKS_AND(PARAM(
           NUMBER, BODY, "until", .spelled = MEMBER_MOMENT,
           .text = "when it continues automatically, in ms since the epoch; if not given, never",
           .max = INT64_C(253402300799999))),
       "hold waiting tasks", NULL);
ACTION(reject, VERDICT_PARAMS, "reject tasks that wait for review",
       "They run again, as a new iteration. The event is `task.rejected`, with the user and the "
       "reason.");
ACTION(
    release,
    TASKS_AND(PARAM(
        TEXT, BODY, "message", .min = 1, .max = FOLLOW_UP_MAX, .lines = true,
        .text = "for tasks that are taken over: a message to the agent, in the same session")),
    "release held tasks",
    "A task that a person has taken over (`task.take`) continues unattended in the same session.");
ACTION(retry,
       TASKS_AND(PARAM(LIST, BODY, "allow", .min = 1, .max = 50,
                       .text = "permission rules for the agent from now on, for this task only: "
                               "\"Bash(git commit:*)\""),
                 OWN_AGENT_PARAM),
       "queue failed, denied or canceled tasks again",
       "Their counters are reset. A task that waits for its next attempt starts it now. `allow` is "
       "for a task that is held because its agent was denied a permission (`denied`): its next "
       "attempt continues in the same session, with these rules. It needs the scope `admin`.");
