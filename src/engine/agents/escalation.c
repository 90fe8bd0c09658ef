/* escalation.c: models of tasks, and steps to stronger agents. See escalation.h.
 *
 * Everything about a task that has a model, a list or a rejected result is one note, written in the
 * commit of its cause. The agent of a step is in the row of the task as well: the core changes it.
 * A step remembers its model, so a new `agents.A.escalate` does not change what a task that has
 * taken the step runs with. */
#include "engine/escalation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/id_table.h"
#include "base/number.h"
#include "engine/agents.h"
#include "engine/agents/agents_internal.h"
#include "engine/note.h"
#include "engine/submission.h"

#define NOTE "escalation."

struct record {
    task_id task;
    char *model, *model_agent;  /* of the submission, and the agent that it is for; or NULL */
    char *steps[ESCALATE_MAX];  /* a list of its own, as written */
    struct escalation_spec was; /* what the note has of the core's state */
    char *own_agent;            /* with was.step */
    char *step_model;           /* with was.step; NULL: that of its agent */
    enum reason reason;         /* with was.step: of the last failure before it */
    uint32_t failures;          /* with was.step */
    bool is_stale;              /* the note is to be written with the row of the task */
};

struct escalations {
    struct id_table of_task;   /* struct record */
    uint64_t steps, steps_now; /* committed; in this turn */
};

PART_STATE(escalations, struct escalations, escalations_of)

/* --- the table ------------------------------------------------------------------------------- */

static void clear_record(void *record) {
    struct record *r = record;
    task_id task = r->task;
    free(r->model);
    free(r->model_agent);
    free(r->own_agent);
    free(r->step_model);
    for (unsigned i = 0; i < ESCALATE_MAX; i++)
        free(r->steps[i]);
    memset(r, 0, sizeof(*r));
    r->task = task;
}

static void escalations_drop_all(struct engine *e) {
    id_table_finish(&escalations_of(e)->of_task);
    escalations_of(e)->steps_now = 0;
}

static void escalations_reset(struct engine *e) {
    escalations_drop_all(e);
    id_table_init(&escalations_of(e)->of_task, sizeof(struct record), clear_record);
}

static struct record *find_record(const struct engine *e, task_id task) {
    return id_table_find(&escalations_of(e)->of_task, task);
}

static struct record *find_or_make(struct engine *e, task_id task) {
    return id_table_find_or_make(&escalations_of(e)->of_task, task);
}

static void drop_record(struct engine *e, task_id task) {
    if (!id_table_drop(&escalations_of(e)->of_task, task))
        return;
    note_put_task(e, NOTE, task, NULL);
    turn_wrote(e);
}

static void set_text(char **field, const char *text) {
    char *copy = text && *text ? xstrdup(text) : NULL;
    free(*field);
    *field = copy;
}

/* --- notes ----------------------------------------------------------------------------------- */

static void write_note(struct engine *e, const struct record *r) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    put_text(w, "model", r->model);
    put_text(w, "model_agent", r->model_agent);
    if (r->was.count > 0) {
        json_put_array(w, "list");
        for (unsigned i = 0; i < r->was.count; i++)
            json_write_string(w, r->steps[i]);
        json_write_array_end(w);
    }
    if (r->was.after > 0)
        json_put_int(w, "after", r->was.after);
    if (r->was.failed > 0)
        json_put_int(w, "failed", r->was.failed);
    if (r->was.step > 0) {
        json_put_int(w, "step", r->was.step);
        put_text(w, "own_agent", r->own_agent);
        put_text(w, "step_model", r->step_model);
        json_put_string(w, "reason", reason_name(r->reason));
        json_put_int(w, "failures", r->failures);
    }
    note_end_task(e, &data, NOTE, r->task);
    turn_wrote(e);
}

static uint32_t number_of(const json_t *note, const char *key, uint32_t most) {
    json_int_t number = json_integer_value(json_object_get(note, key));
    return number > 0 && number <= (json_int_t)most ? (uint32_t)number : 0;
}

static enum reason reason_of(const json_t *note) {
    const char *name = json_string_value(json_object_get(note, "reason"));
    for (int reason = 0; name && reason < REASON_MAX; reason++)
        if (strcmp(reason_name((enum reason)reason), name) == 0)
            return (enum reason)reason;
    return REASON_NONE;
}

/* An unreadable note was not written by us: the task has its own agent. */
static void escalations_load(struct engine *e, const struct note_row *row) {
    int64_t task = 0;
    const char *key = note_key(row, NOTE);
    if (!key || number_parse_int(key, &task, NULL) < 0 || task < 1)
        return;
    json_t *note = json_loads(row->text, 0, NULL);
    if (json_is_object(note)) {
        struct record *r = find_or_make(e, (task_id)task);
        const json_t *list = json_object_get(note, "list");
        clear_record(r);
        r->model = note_text(note, "model");
        r->model_agent = note_text(note, "model_agent");
        for (size_t i = 0; i < json_array_size(list) && i < ESCALATE_MAX; i++) {
            const char *step = json_string_value(json_array_get(list, i));
            if (step)
                r->steps[r->was.count++] = xstrdup(step);
        }
        r->was.after = (uint16_t)number_of(note, "after", UINT16_MAX);
        r->was.failed = (uint16_t)number_of(note, "failed", UINT16_MAX);
        r->was.step = (uint16_t)number_of(note, "step", ESCALATE_MAX);
        r->own_agent = note_text(note, "own_agent");
        r->step_model = note_text(note, "step_model");
        r->reason = reason_of(note);
        r->failures = number_of(note, "failures", UINT16_MAX);
    }
    json_decref(note);
}

/* --- the core -------------------------------------------------------------------------------- */

/* The agent of a step; 0: that of the step before. Agents that need no configuration become
 * known. */
static sym know_agent(struct engine *e, const char *name) {
    sym agent = symbol_of(e, name);
    (void)engine_know_agent(e, name, NULL);
    return agent;
}

static sym step_agent(struct engine *e, const char *step) {
    char *name = xstrndup(step, escalation_step_read(step).agent_length);
    sym agent = *name ? know_agent(e, name) : 0;
    free(name);
    return agent;
}

static void escalations_load_task(struct engine *e, struct task_spec *spec) {
    struct record *r = find_record(e, spec->id);
    if (!r)
        return;
    for (unsigned i = 0; i < r->was.count; i++)
        r->was.agents[i] = step_agent(e, r->steps[i]);
    if (r->was.step > 0 && r->own_agent) {
        r->was.own_agent = know_agent(e, r->own_agent);
        if (!config_has_agent(e->config, r->own_agent)
            && !core_agent_spec(e->core, r->was.own_agent, &(struct agent_spec){ 0 }))
            (void)config_apply_name(e->config, e->core, FACT_AGENT, r->own_agent, NULL);
    }
    spec->escalation = r->was;
}

int escalation_complete(struct engine *e, struct submission *s, struct error *err) {
    struct escalation_spec *spec = &s->spec.escalation;
    int r = 0;
    *spec = (struct escalation_spec){ 0 };
    for (size_t i = 0; r == 0 && i < json_array_size(s->escalate); i++) {
        const char *step = json_string_value(json_array_get(s->escalate, i));
        spec->agents[spec->count++] = step_agent(e, step);
        r = spec->agents[i] && !core_agent_spec(e->core, spec->agents[i], &(struct agent_spec){ 0 })
                ? error_set(err, -ENOENT, "'escalate': the agent of '%.100s' is not known", step)
                : 0;
    }
    if (s->escalate_after != SUBMISSION_NOT_GIVEN)
        spec->after = s->escalate_after == 0 ? ESCALATE_NEVER : (uint16_t)s->escalate_after;
    return r;
}

void escalation_added(struct engine *e, const struct submission *s) {
    if (!s->model && json_array_size(s->escalate) == 0 && s->spec.escalation.after == 0)
        return;
    struct record *r = find_or_make(e, s->spec.id);
    clear_record(r);
    set_text(&r->model, s->model);
    set_text(&r->model_agent, s->model ? s->agent : NULL);
    r->was = s->spec.escalation;
    for (size_t i = 0; i < json_array_size(s->escalate); i++)
        r->steps[i] = xstrdup(json_string_value(json_array_get(s->escalate, i)));
    write_note(e, r);
}

static bool is_same(const struct escalation_spec *a, const struct escalation_spec *b) {
    return a->step == b->step && a->failed == b->failed && a->own_agent == b->own_agent;
}

/* In the commit of the change. A record with nothing in it is dropped. */
static void escalations_task_changed(struct engine *e, task_id task, const struct task_spec *spec) {
    static const struct escalation_spec none = { 0 };
    struct record *r = find_record(e, task);
    if (!spec) {
        drop_record(e, task);
        return;
    }
    if (!(r && r->is_stale) && is_same(r ? &r->was : &none, &spec->escalation))
        return;
    r = find_or_make(e, task);
    r->is_stale = false;
    r->was.step = spec->escalation.step;
    r->was.failed = spec->escalation.failed;
    r->was.own_agent = spec->escalation.own_agent;
    set_text(&r->own_agent, r->was.step > 0 ? name_of(e, r->was.own_agent) : NULL);
    if (r->was.step == 0)
        set_text(&r->step_model, NULL);
    if (r->model || r->was.count || r->was.after || r->was.step || r->was.failed)
        write_note(e, r);
    else
        drop_record(e, task);
}

/* --- lists ----------------------------------------------------------------------------------- */

/* The list that applies to a task: its own, or that of its own agent. */
struct plan {
    const char *const *steps;
    size_t count;
    unsigned after; /* 0: never */
};

sym engine_own_agent(const struct task_spec *spec) {
    return spec->escalation.step > 0 ? spec->escalation.own_agent : spec->agent;
}

static struct plan plan_of(const struct engine *e, const struct task_spec *spec,
                           const struct record *r) {
    const char *own = name_of(e, engine_own_agent(spec));
    struct plan plan = { 0 };
    if (r && r->was.count > 0) {
        plan.steps = (const char *const *)r->steps;
        plan.count = r->was.count;
    } else if (own && !spec->bound) {
        plan.count = config_words(e->config, "agents.A.escalate", own, &plan.steps);
    }
    plan.after = spec->escalation.after;
    if (plan.after == 0)
        plan.after = (unsigned)config_number(e->config, "agents.A.escalate_after", own ? own : "");
    if (plan.after == ESCALATE_NEVER)
        plan.after = 0;
    return plan;
}

const char *escalation_model(const struct engine *e, task_id task, const char *agent) {
    const struct record *r = find_record(e, task);
    struct task_spec spec;
    const char *usual = agent ? config_text(e->config, "agents.A.model", agent) : "";
    if (!r || !agent || !core_task_spec(e->core, task, &spec))
        return usual;
    const char *now = name_of(e, spec.agent);
    if (!now || strcmp(now, agent) != 0)
        return usual; /* a failover agent */
    if (spec.escalation.step > 0)
        return r->step_model ? r->step_model : usual;
    return r->model && r->model_agent && strcmp(r->model_agent, agent) == 0 ? r->model : usual;
}

/* --- a step ---------------------------------------------------------------------------------- */

static void put_target(const char *agent, const char *model, struct strbuf *out) {
    strbuf_puts(out, agent ? agent : "");
    if (model && *model)
        strbuf_printf(out, ":%s", model);
}

static void escalations_ordered(struct engine *e, const struct order *o, size_t count) {
    (void)count;
    struct task_spec spec;
    if (o->kind != ORDER_ESCALATE || !core_task_spec(e->core, o->task, &spec))
        return;
    struct record *r = find_or_make(e, o->task);
    struct plan plan = plan_of(e, &spec, r);
    const char *from_agent = name_of(e, o->instead_of), *to_agent = name_of(e, o->agent);
    _cleanup_(strbuf_finish) struct strbuf from = STRBUF_INIT, to = STRBUF_INIT;
    bool same_agent = from_agent && to_agent && strcmp(from_agent, to_agent) == 0;
    const char *before =
        r->was.step > 0 ? r->step_model
        : r->model && r->model_agent && from_agent && strcmp(r->model_agent, from_agent) == 0
            ? r->model
            : NULL;
    if (!before && from_agent)
        before = config_text(e->config, "agents.A.model", from_agent);
    put_target(from_agent, before, &from);
    bool is_listed = o->step > 0 && o->step <= plan.count;
    set_text(&r->step_model,
             is_listed ? escalation_step_read(plan.steps[o->step - 1]).model : NULL);
    r->reason = o->reason;
    r->failures = o->failures;
    put_target(to_agent,
               r->step_model ? r->step_model : config_text(e->config, "agents.A.model", to_agent),
               &to);
    r->was.step = (uint16_t)o->step;
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "from", strbuf_text(&from));
    json_put_string(w, "to", strbuf_text(&to));
    json_put_int(w, "step", o->step);
    json_put_int(w, "steps", (int64_t)plan.count);
    json_put_string(w, "reason", reason_name(o->reason));
    json_put_int(w, "failures", o->failures);
    json_put_bool(w, "same_agent", same_agent);
    event_end(e, &data, "task.escalated", o->task, o->attempt);
    r->is_stale = true;
    escalations_of(e)->steps_now++;
}

static void escalations_stored(struct engine *e) {
    struct escalations *s = escalations_of(e);
    s->steps += s->steps_now;
    s->steps_now = 0;
}

uint64_t engine_escalation_count(const struct engine *e) {
    return escalations_of(e)->steps;
}

/* --- views ----------------------------------------------------------------------------------- */

void engine_escalation(const struct engine *e, task_id task, struct engine_escalation *ret) {
    const struct record *r = find_record(e, task);
    struct task_spec spec;
    *ret = (struct engine_escalation){ 0 };
    if (!core_task_spec(e->core, task, &spec))
        return;
    struct plan plan = plan_of(e, &spec, r);
    const char *model = escalation_model(e, task, name_of(e, spec.agent));
    ret->model = *model ? model : NULL;
    ret->has_steps = (plan.count > 0 && plan.after > 0) || spec.escalation.step > 0;
    if (!ret->has_steps)
        return;
    ret->step = spec.escalation.step;
    ret->steps = plan.count > ret->step ? (unsigned)plan.count : ret->step;
    ret->after = plan.after;
    ret->failed = spec.escalation.failed;
    ret->next = ret->step < plan.count && plan.after > 0 ? plan.steps[ret->step] : NULL;
    if (ret->step == 0)
        return;
    ret->own_agent = name_of(e, spec.escalation.own_agent);
    ret->reason = r ? reason_name(r->reason) : NULL;
    ret->failures = r ? r->failures : 0;
}

static const char *failure_name(const char *reason) {
    bool is_check = reason && strcmp(reason, reason_name(REASON_VALIDATION)) == 0;
    bool is_reject = reason && strcmp(reason, reason_name(REASON_REJECTED)) == 0;
    return is_check ? "failed checks" : is_reject ? "rejected in review" : "unfinished";
}

bool engine_escalation_text(const struct engine *e, task_id task, struct strbuf *out) {
    struct engine_escalation x;
    struct task_spec spec;
    engine_escalation(e, task, &x);
    if (!x.has_steps || !core_task_spec(e->core, task, &spec))
        return false;
    if (x.step > 0) {
        strbuf_printf(out, "step %u of %u: ", x.step, x.steps);
        put_target(name_of(e, spec.agent), x.model, out);
        strbuf_printf(out, " after %u %s (the last one: %s)", x.failures,
                      x.failures == 1 ? "failure" : "failures", failure_name(x.reason));
    } else {
        put_target(name_of(e, spec.agent), x.model, out);
    }
    if (x.next && !task_state_is_final(spec.state))
        strbuf_printf(out, "; %s after %u more", x.next,
                      x.after > x.failed ? x.after - x.failed : 1);
    return true;
}

/* --- checks ---------------------------------------------------------------------------------- */

static bool names_model(const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strstr(words[i], MODEL_WORD))
            return true;
    return false;
}

int engine_check_model(const struct engine *e, const char *agent, const char *model,
                       struct error *err) {
    const char *const *words = NULL;
    int r = config_check_model(model, err);
    if (r < 0)
        return r;
    const struct agent_adapter *adapter =
        agent_adapter_find(config_text(e->config, "agents.A.adapter", agent));
    if (adapter && adapter->client)
        return 0;
    size_t count = config_words(e->config, "agents.A.command", agent, &words);
    const char *setting = "command";
    bool takes_model = count > 0 ? names_model(words, count) : adapter && adapter->model_option;
    if (count > 0 && takes_model) {
        count = config_words(e->config, "agents.A.resume_command", agent, &words);
        setting = "resume_command";
        takes_model = count == 0 || names_model(words, count);
    }
    if (takes_model)
        return 0;
    return error_set(err, -EINVAL,
                     "agent '%.60s' cannot be given a model: put the word {model} into "
                     "agents.%.60s.%s, or give no model",
                     agent, agent, setting);
}

int engine_check_steps(const struct engine *e, const char *agent, const char *prompt,
                       const json_t *steps, struct error *err) {
    char *now = xstrdup(agent);
    int r = 0;
    for (size_t i = 0; r == 0 && i < json_array_size(steps); i++) {
        const char *text = json_string_value(json_array_get(steps, i));
        struct escalation_step step = escalation_step_read(text);
        r = config_check_step(e->config, text, err);
        if (r == 0 && step.agent_length > 0) {
            free(now);
            now = xstrndup(text, step.agent_length);
            r = engine_check_agent(e, now, err);
            if (r == 0 && prompt)
                r = engine_check_prompt(e, now, prompt, false, err);
        }
        if (r == 0 && step.model)
            r = engine_check_model(e, now, step.model, err);
    }
    free(now);
    return r < 0 ? error_prefix(err, "'escalate'") : 0;
}

/* Agents of the default lists accept a prompt, and their models. */
static int escalations_check(struct engine *e, struct error *err) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < config_agent_count(e->config); i++) {
        const char *agent = config_agent_name(e->config, i), *const *steps = NULL;
        size_t count = config_words(e->config, "agents.A.escalate", agent, &steps);
        json_t *list = json_array();
        for (size_t k = 0; k < count; k++)
            json_array_append_new(list, json_string(steps[k]));
        r = engine_check_steps(e, agent, NULL, list, err);
        json_decref(list);
        if (r < 0)
            (void)error_prefix(err, "agents.%.60s", agent);
    }
    return r;
}

const struct engine_part escalations_part = {
    .state_size = sizeof(struct escalations),
    .at = { [STEP_INIT] = escalations_reset,
            [STEP_UNLOAD] = escalations_reset,
            [STEP_STORED] = escalations_stored,
            [STEP_FREE] = escalations_drop_all },
    .try = { [TRY_CHECK_CONFIG] = escalations_check },
    .ordered = escalations_ordered,
    .task_changed = escalations_task_changed,
    .load_note = escalations_load,
    .load_task = escalations_load_task,
};
