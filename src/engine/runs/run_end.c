/* run_end.c: the end of a run, from the report of its executor to the rows of its task.
 *
 * Reports of the executor are queued; the next turn applies them, in order, and they are kept until
 * that turn is committed. The end of a run first passes through the stages of enum end_stage, which
 * collect facts about it in a struct run_ending. An ending is in the list of those that wait, then
 * in the queue. It is not a member of struct live_run, because live runs are rebuilt from the rows
 * after a failed commit, and what the stages have found out must survive that.
 *
 * Nothing of this is on disk. After a crash the record of the shim is found again and the pipeline
 * starts with the first stage; every stage can be repeated. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/agents.h"
#include "engine/agents/agents_internal.h"
#include "engine/budget/budget_internal.h"
#include "engine/git/git_internal.h"
#include "engine/launch/launch_internal.h"
#include "engine/note.h"
#include "engine/probes/probes_internal.h"
#include "engine/questions.h"
#include "engine/redaction.h"
#include "engine/runs/runs_internal.h"
#include "engine/slurm/slurm_internal.h"
#include "engine/takeover.h"
#include "engine/tasks/tasks_internal.h"

#define LIMIT_PATIENCE MINUTES(10) /* agents retry a few times before they give up */

/* The end of one run, and what is known about it. */
struct run_ending {
    struct run_key run;
    enum end_stage stage;
    bool is_advancing;              /* inside advance(), else it waits for `stage` */
    bool is_delivered;              /* END_DELIVERY is complete, or there is nothing to deliver */
    struct run_end end;             /* as recorded; replaced by the end of the delivery */
    struct agent_outcome *reported; /* END_LOG; NULL: its output is not read */
    char tree[GIT_HASH_MAX];        /* END_TREE; "": unknown */
    char spawn_error[256]; /* its children cannot be added: known before the delivery; or "" */
    bool delivery_failed;  /* END_DELIVERY: `delivery_outcome` */
    enum outcome delivery_outcome;
    bool changed_nothing;
    char delivery_note[256]; /* or "" */
    char *conflict;          /* what must be repaired; or NULL */
    bool conflict_iterates;
};

enum report_kind { REPORT_STARTED, REPORT_VALIDATING, REPORT_ENDED };
struct run_report {
    enum report_kind kind;
    struct run_key run;
    time_ms at;
    struct run_ending *ending; /* REPORT_ENDED; NULL: it waits again */
};

struct run_ends {
    LIST(struct run_ending *) waiting;
    LIST(struct run_report) reports; /* kept until committed */
    size_t applied;                  /* how many of them this turn has applied to the core */
};

PART_STATE(run_ends, struct run_ends, ends_of)

static void ending_free(struct run_ending *ending) {
    if (!ending)
        return;
    free(ending->reported);
    free(ending->conflict);
    free(ending);
}

static struct run_report *queue_report(struct engine *e, enum report_kind kind,
                                       struct run_key run) {
    struct run_report *r = LIST_ADD(&ends_of(e)->reports);
    *r = (struct run_report){ .kind = kind, .run = run, .at = loop_now(e->loop) };
    turn_wake(e);
    return r;
}

/* --- facts ------------------------------------------------------------------------------------ */

/* An agent that exits at once and silently was not launched, whatever its exit code. A plain
 * command may have nothing to print. */
static bool must_print(const struct engine *e, const struct live_run *run,
                       const struct run_ending *ending) {
    return run->agent && !probe_skips_command(e, run->task, run->iteration)
           && (ending->reported
               || (config_is_set(e->config, "agents.A.adapter", run->agent)
                   && strcmp(config_text(e->config, "agents.A.adapter", run->agent), "plain")
                          != 0));
}

/* One that continued for long has failed for another reason: else its attempts would never be
 * counted. */
static bool gave_up_waiting(const struct engine *e, const struct live_run *run,
                            const struct run_end *end) {
    time_ms ended_at = end->ended_at ? end->ended_at : e->now;
    return run->limited_until > 0 && ended_at <= time_add(run->limited_until, LIMIT_PATIENCE);
}

/* The shim runs checks after exit code 0, and ends with that code when all of them pass. */
static bool checks_passed(const struct engine *e, const struct live_run *run,
                          const struct run_end *end) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    return end->kind == RUN_END_EXIT && end->code == 0 && run_read_spec(e, run, &read, NULL) == 0
           && read->spec.check_count > 0;
}

/* Owns the texts of struct end_facts. */
struct fact_texts {
    struct strbuf denial, budget;
    struct error marker;
};

static void fact_texts_finish(struct fact_texts *texts) {
    strbuf_finish(&texts->denial);
    strbuf_finish(&texts->budget);
}

/* The facts that are known before the end is applied. */
static void collect_facts(const struct engine *e, const struct live_run *run,
                          const struct run_ending *ending, struct fact_texts *texts,
                          struct end_facts *f) {
    struct task_spec spec = { .until = UNTIL_EXIT };
    (void)core_task_spec(e->core, run->task, &spec);
    *f = (struct end_facts){
        .end = &ending->end,
        .reported = ending->reported,
        .until = spec.until,
        .stop_requested = spec.stop != STOP_NONE,
        .is_taken = takeover_is_run(e, run),
        .is_taken_from = spec.stop == STOP_TAKE,
        .has_account = spec.run_limiter != 0,
        .must_print = must_print(e, run, ending),
        .resumes = run->resumes,
        .gave_up_waiting = gave_up_waiting(e, run, &ending->end),
        .budget_stop = budget_is_stopping(e, run) ? "" : NULL,
        .question = question_of_end(e, run),
        .spawn_error = ending->spawn_error[0] ? ending->spawn_error : NULL,
        .delivery_failed = ending->delivery_failed,
        .delivery_outcome = ending->delivery_outcome,
        .delivery_note = ending->delivery_note,
        .changed_nothing = ending->changed_nothing,
        .conflict_iterates = ending->conflict_iterates,
        .check_expired = probe_has_expired(e, run->task, ending->end.check),
    };
    if (f->until == UNTIL_DONE)
        f->marker = marker_read(e, run->task);
    if (f->reported && f->reported->result == AGENT_DENIED) {
        f->checks_passed = checks_passed(e, run, f->end);
        denied_message(&f->reported->denial, &texts->denial);
        f->denial = strbuf_text(&texts->denial);
    }
}

/* What matters only when the end is applied, after the report of its agent was booked: the message of
 * a budget, and earlier ends of the task and of its account. */
static void collect_history(const struct engine *e, const struct live_run *run,
                            const struct run_ending *ending, struct fact_texts *texts,
                            struct end_facts *f) {
    if (f->marker == MARKER_NO_FILE) {
        (void)marker_error(e, run->task, &texts->marker);
        f->marker_message = texts->marker.text;
    }
    if (f->budget_stop) {
        budget_explain_stop(e, run, &texts->budget);
        f->budget_stop = strbuf_text(&texts->budget);
    }
    f->tree = ending->tree[0] ? ending->tree : NULL;
    f->most_same_trees = config_number(e->config, "loop.stuck_iterations", NULL);
    f->most_same_failures = config_number(e->config, "retry.same_text", NULL);
    if (f->tree)
        f->same_trees = session_same_trees(e, run->task, f->tree);
    if (f->most_same_failures > 0)
        f->last_failure = session_last_failure(e, run->task, &f->same_failures);
    if (f->reported)
        f->exhausted_account = limits_exhausted_account(e, run, f->reported);
}

/* The outcome by what is known so far. */
static enum outcome outcome_so_far(const struct engine *e, const struct live_run *run,
                                   const struct run_ending *ending) {
    _cleanup_(fact_texts_finish) struct fact_texts texts = { 0 };
    struct end_facts facts;
    struct end_verdict verdict;
    collect_facts(e, run, ending, &texts, &facts);
    run_outcome_decide(&facts, &verdict);
    return verdict.outcome;
}

/* --- stages ----------------------------------------------------------------------------------- */

/* A result that is not merged because of its spawn file must stay failed, even if the file is valid
 * later: so the error is a fact from here on. */
static bool deliver(struct engine *e, struct live_run *run, struct run_ending *ending) {
    struct worktree_record record = { 0 };
    struct error err = { 0 };
    if (ending->is_delivered || !workspace_has_work(e, run, &record))
        return false;
    enum outcome outcome = outcome_so_far(e, run, ending);
    if (outcome == OUTCOME_OK && spawning_add_children(e, run, true, &err) < 0) {
        snprintf(ending->spawn_error, sizeof(ending->spawn_error), "%.250s", err.text);
        memcpy(ending->end.message, ending->spawn_error, sizeof(ending->end.message));
        outcome = outcome_so_far(e, run, ending);
    }
    const struct end_delivery so_far = { .end = &ending->end,
                                         .outcome = outcome,
                                         .is_failed = ending->spawn_error[0] != '\0' };
    if (workspace_finish(e, run, &record, &so_far))
        queue_report(e, REPORT_VALIDATING, ending->run);
    return true;
}

/* False: the stage is complete. */
static bool start_stage(struct engine *e, struct live_run *run, struct run_ending *ending) {
    switch (ending->stage) {
    case END_LOG:
        return listen_end(e, run, &ending->end);
    case END_TREE:
        return stuck_hash_tree(e, run, &ending->end);
    case END_CHILDREN: /* the spawn file must be known before its work is delivered */
        return outcome_so_far(e, run, ending) == OUTCOME_OK && spawning_must_query(e, run);
    case END_DELIVERY:
        return deliver(e, run, ending);
    case END_READY:
        break;
    }
    return false;
}

/* --- the pipeline ----------------------------------------------------------------------------- */

static struct run_ending *find_waiting(const struct engine *e, struct run_key run) {
    for (size_t i = 0; i < ends_of(e)->waiting.count; i++) {
        struct run_ending *ending = ends_of(e)->waiting.items[i];
        if (ending->run.task == run.task && ending->run.attempt == run.attempt)
            return ending;
    }
    return NULL;
}

static void complete(const struct engine *e, struct run_ending *ending) {
    const struct agent_outcome *reported =
        ending->stage == END_LOG ? listen_reported(e, ending->run) : NULL;
    if (reported) {
        ending->reported = xcalloc(1, sizeof(*ending->reported));
        *ending->reported = *reported;
    }
    ending->is_delivered |= ending->stage == END_DELIVERY;
    ending->stage++;
}

/* Starts the stages that are left, one after another, until one has to wait. A stage may call
 * run_end_continue before it returns. */
static void advance(struct engine *e, struct run_ending *ending) {
    ending->is_advancing = true;
    while (ending->stage < END_READY) {
        struct live_run *run = run_find_attempt(e, ending->run);
        if (!run) { /* not loaded yet; or replaced, and then the turn ignores it */
            ending->stage = END_READY;
            break;
        }
        enum end_stage stage = ending->stage;
        bool has_started = start_stage(e, run, ending);
        if (ending->stage == stage && has_started)
            break;
        if (ending->stage == stage)
            complete(e, ending);
    }
    ending->is_advancing = false;
    if (ending->stage < END_READY)
        return;
    size_t i = 0;
    while (ends_of(e)->waiting.items[i] != ending)
        i++;
    ends_of(e)->waiting.items[i] = ends_of(e)->waiting.items[--ends_of(e)->waiting.count];
    queue_report(e, REPORT_ENDED, ending->run)->ending = ending;
}

void run_end_continue(struct engine *e, struct run_key run, enum end_stage stage,
                      const struct end_result *result) {
    struct run_ending *ending = find_waiting(e, run);
    if (!ending || ending->stage != stage)
        return;
    if (stage == END_TREE && result->tree)
        snprintf(ending->tree, sizeof(ending->tree), "%s", result->tree);
    if (stage == END_DELIVERY) {
        ending->end = *result->delivery->end;
        ending->delivery_failed = result->delivery->is_failed;
        ending->delivery_outcome = result->delivery->outcome;
        ending->changed_nothing = result->delivery->changed_nothing;
        snprintf(ending->delivery_note, sizeof(ending->delivery_note), "%s",
                 result->delivery->note);
        free(ending->conflict);
        ending->conflict = result->delivery->conflict ? xstrdup(result->delivery->conflict) : NULL;
        ending->conflict_iterates = result->delivery->conflict_iterates;
    }
    complete(e, ending);
    if (!ending->is_advancing)
        advance(e, ending);
}

/* A run that was not launched has no output, no work tree and no work. */
static void begin(struct engine *e, struct run_key run, const struct run_end *end,
                  bool was_launched) {
    struct run_ending *ending = xcalloc(1, sizeof(*ending));
    *ending = (struct run_ending){ .run = run,
                                   .end = *end,
                                   .stage = was_launched ? END_LOG : END_READY,
                                   .is_delivered = !was_launched };
    *LIST_ADD(&ends_of(e)->waiting) = ending;
    advance(e, ending);
}

const struct run_end *run_end_find(const struct engine *e, struct run_key run) {
    const struct run_ending *ending = find_waiting(e, run);
    return ending ? &ending->end : NULL;
}

const char *run_end_doing(const struct engine *e, task_id task) {
    static const char *const texts[] = {
        [END_LOG] = "reads the rest of its output",
        [END_TREE] = "compares its work tree with that of the previous iteration",
        [END_CHILDREN] = "looks up what its task spawns",
        [END_DELIVERY] = "delivers its work",
    };
    const struct live_run *run = run_find(e, task);
    const struct run_ending *ending = run ? find_waiting(e, run_key_of(run)) : NULL;
    return ending ? texts[ending->stage] : NULL;
}

/* --- reports ---------------------------------------------------------------------------------- */

/* Before the turn that applies the report: a cancel may wait for it. */
static void note_reply(struct engine *e, struct run_key key) {
    struct live_run *run = run_find_attempt(e, key);
    if (run)
        stopping_confirmed(e, run);
}

static void on_started(void *ctx, struct run_key run, time_ms at) {
    note_reply(ctx, run);
    queue_report(ctx, REPORT_STARTED, run)->at = at;
}

static void on_validating(void *ctx, struct run_key run) {
    queue_report(ctx, REPORT_VALIDATING, run);
}

static void on_ended(void *ctx, struct run_key key, const struct run_end *end) {
    struct engine *e = ctx;
    const struct live_run *run = run_find_attempt(e, key);
    struct run_end recorded = *end;
    /* Slurm may report the end of a job without its start; that was reported while it ran. */
    if (run && run->executor == EXECUTOR_SLURM && end->kind != RUN_END_LAUNCH && !end->started_at)
        recorded.started_at = run->view.started_at;
    note_reply(e, key);
    if (!find_waiting(e, key))
        begin(e, key, &recorded, true);
}

const struct executor_events run_end_events = {
    .started = on_started,
    .validating = on_validating,
    .ended = on_ended,
};

void run_end_unlaunched(struct engine *e, const struct live_run *run, enum run_end_kind kind,
                        const struct error *why) {
    struct run_end end = { .kind = kind,
                           .code = kind == RUN_END_EXIT ? 0 : -1,
                           .exec_errno = kind == RUN_END_LAUNCH ? -why->code : 0,
                           .cause = run->launch_cause,
                           .ended_at = e->now };
    snprintf(end.message, sizeof(end.message), "%.250s", why->text);
    begin(e, run_key_of(run), &end, false);
}

/* --- inside a turn ---------------------------------------------------------------------------- */

static void write_end_event(struct engine *e, const struct live_run *run, const struct run_end *end,
                            enum outcome outcome) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "outcome", outcome_name(outcome));
    json_put_string(w, "how", run_end_kind_name(end->kind));
    if (end->code >= 0)
        json_put_int(w, "exit_code", end->code);
    if (outcome == OUTCOME_LAUNCH)
        put_text(w, "cause", launch_cause_name(end->cause));
    if (end->signal)
        json_put_int(w, "signal", end->signal);
    put_text(w, "message", end->message[0] ? end->message : NULL);
    put_text(w, "said", run->result);
    put_text(w, "session", run->session);
    event_end(e, &data, "run.ended", run->task, run->view.attempt);
}

static void apply_started(struct engine *e, struct live_run *run, time_ms at) {
    bool learned = run_proof_learn(e, run);
    if (run->view.started_at) {
        if (learned) /* adopted, and not stored by an earlier daemon */
            rows_write_run(e, run);
        return;
    }
    run->view.started_at = at;
    run->launch_deadline = TIME_NEVER;
    struct fact fact = { .kind = FACT_RUN_STARTED,
                         .task = run->task,
                         .attempt = run->view.attempt };
    (void)engine_apply(e, &fact, NULL);
    if (run->agent)
        usage_expect(e, run);
    char restart[48]; /* the first launch is number 0 */
    snprintf(restart, sizeof(restart), "{\"restart\":%" PRIu32 "}", run->view.attempt - 1);
    engine_event(e, "run.started", run->task, run->view.attempt, restart);
    rows_write_run(e, run);
}

static void apply_validating(struct engine *e, struct live_run *run) {
    run->phase = PHASE_VALIDATING;
    struct fact fact = { .kind = FACT_RUN_PHASE,
                         .task = run->task,
                         .attempt = run->view.attempt,
                         .phase = PHASE_VALIDATING };
    (void)engine_apply(e, &fact, NULL);
    rows_write_run(e, run);
}

/* Causes in the task or its project do not close the agent, which other projects use too. */
static bool ended_before_agent(const struct engine *e, const struct live_run *run,
                               const struct run_end *end) {
    if (end->kind != RUN_END_LAUNCH)
        return run->own_command;   /* it ended at once without output */
    if (end->cause == LAUNCH_HOST) /* all would fail: one closed agent keeps the others queued */
        return false;
    if (end->cause != LAUNCH_PROGRAM)
        return true;
    /* Shims of earlier versions report no cause. */
    return !strstr(end->applied, "prepared") && launch_prepare_time(e, run) > 0;
}

/* Books what the agent has reported, decides, and applies the end to the core. */
static void conclude(struct engine *e, struct live_run *run, struct run_ending *ending,
                     struct end_facts *facts, struct end_verdict *verdict) {
    _cleanup_(fact_texts_finish) struct fact_texts texts = { 0 };
    struct run_end *end = &ending->end;
    if (ending->reported) {
        usage_book_end(e, run, end, ending->reported, facts->question != NULL);
        quota_report(e, run, ending->reported->quota);
    }
    collect_history(e, run, ending, &texts, facts);
    run_outcome_decide(facts, verdict);
    if (verdict->counts_tree)
        session_count_tree(e, run->task, ending->tree);
    if (verdict->failure[0])
        session_count_failure(e, run->task, verdict->failure);
    if (facts->is_taken)
        session_taken(e, run);
    struct fact fact = { .kind = FACT_RUN_ENDED, .task = run->task, .attempt = run->view.attempt };
    fact.ended.outcome = verdict->outcome;
    fact.ended.iterates = verdict->outcome == OUTCOME_CONFLICT && facts->conflict_iterates;
    fact.ended.limit_reported = run->limited_until > 0;
    fact.ended.output = run_end_showed_life(end);
    fact.ended.before_agent = ended_before_agent(e, run, end);
    fact.ended.workspace = end->started_at ? pool_path_to_request(e, run) : 0;
    fact.ended.tokens = run_tokens(run);
    fact.ended.money = run->cost_micro_usd;
    if (ending->reported)
        limits_ended(e, run, ending->reported, verdict->closes_account, &fact);
    if (verdict->outcome == OUTCOME_BUDGET && facts->budget_stop)
        fact.ended.reset_at = e->now; /* the gate of its window or its own budget holds it back */
    memcpy(end->message, verdict->message, sizeof(end->message));
    if (!probe_skips_command(e, run->task, run->iteration)) /* checks alone may be quick */
        runaway_ended(e, run, end, &fact);
    trouble_ended(e, run, end, ending->reported, &fact);
    (void)engine_apply(e, &fact, NULL);
    probe_run_ended(e, run, end, verdict->outcome);
}

static void remove_marker(const struct engine *e, task_id task) {
    char id[ENGINE_ID_MAX];
    launch_remove_marker(e, engine_task_id(e, task, id));
}

/* Writes everything that follows from the end, and frees `run`. False: the store is asked first what
 * the task spawns. `known` is not changed: after a failed commit it is applied again. */
static bool apply_end(struct engine *e, struct live_run *run, const struct run_ending *known) {
    _cleanup_(fact_texts_finish) struct fact_texts texts = { 0 };
    struct run_ending ending = *known;
    struct run_end *end = &ending.end;
    struct end_facts facts;
    struct end_verdict verdict;
    struct error err = { 0 };
    engine_redact_in_place(e, end->message);
    collect_facts(e, run, &ending, &texts, &facts);
    run_outcome_decide(&facts, &verdict);
    if (verdict.outcome == OUTCOME_OK && spawning_must_query(e, run))
        return false;
    if (verdict.outcome == OUTCOME_OK && spawning_add_children(e, run, false, &err) < 0) {
        snprintf(ending.spawn_error, sizeof(ending.spawn_error), "%.250s", err.text);
        facts.spawn_error = ending.spawn_error;
    }
    engine_redact_in_place(e, ending.spawn_error);
    if (run->own_command && end->cause == LAUNCH_PROGRAM)
        end->cause = LAUNCH_TASK;
    if (end->started_at && end->kind != RUN_END_LAUNCH)
        apply_started(e, run, end->started_at); /* it ended before its start was reported */
    bool had_command = !probe_skips_command(e, run->task, run->iteration);
    conclude(e, run, &ending, &facts, &verdict);
    const struct feedback feedback = { end, verdict.own_message, verdict.outcome, ending.conflict };
    feedback_write(e, run, &feedback);
    if (task_state_is_final(state_of(e, run->task)))
        iteration_tidy(e, run->task, run->iteration);
    iterations_keep_newest(e, run);
    /* A marker would end it before the answer is used, or the conflict repaired. */
    if (verdict.outcome == OUTCOME_ASKED || verdict.outcome == OUTCOME_CONFLICT)
        remove_marker(e, run->task);
    else if (verdict.outcome != OUTCOME_OK)
        watch_note_marker(e, run->task);
    if (had_command && !facts.is_taken) /* people take their time */
        forecast_learn(e, run->task, end, run_tokens(run), run->cost_micro_usd);
    budget_ended(e, run, verdict.outcome, ending.reported);
    write_end_event(e, run, end, verdict.outcome);
    rows_write_ended(e, run, end, verdict.outcome);
    e->turn.ends++;
    if (run->view.started_at)
        spans_add(&e->turn.ran, (end->ended_at ? end->ended_at : e->now) - run->view.started_at);
    workspace_release(e, run->task);
    secrets_release(e, run->task);
    run_remove(e, run->task);
    return true;
}

static void run_ends_apply(struct engine *e) {
    struct run_ends *ends = ends_of(e);
    for (size_t i = 0; i < ends->reports.count; i++) {
        struct run_report *report = &ends->reports.items[i];
        struct live_run *run = run_find_attempt(e, report->run);
        if (!run)
            continue; /* already applied, or replaced */
        if (report->kind == REPORT_STARTED)
            apply_started(e, run, report->at);
        else if (report->kind == REPORT_VALIDATING)
            apply_validating(e, run);
        else if (report->ending && !apply_end(e, run, report->ending)) {
            /* A run that was never launched, or was loaded again after a failed commit, does not
             * know what its task spawns: its ending returns to that stage. */
            report->ending->stage = END_CHILDREN;
            *LIST_ADD(&ends->waiting) = TAKE_PTR(report->ending);
        }
    }
    ends->applied = ends->reports.count;
}

void run_end_now(struct engine *e, struct live_run *run, const struct run_end *end) {
    (void)apply_end(e, run, &(struct run_ending){ .end = *end }); /* lost: it spawns nothing */
}

void run_end_record(struct engine *e, const struct live_run *run, struct run_end *end) {
    _cleanup_(fact_texts_finish) struct fact_texts texts = { 0 };
    const struct run_ending ending = { .end = *end };
    struct end_facts facts;
    struct end_verdict verdict;
    collect_facts(e, run, &ending, &texts, &facts);
    run_outcome_decide(&facts, &verdict);
    memcpy(end->message, verdict.message, sizeof(end->message));
    write_end_event(e, run, end, verdict.outcome);
    rows_write_ended(e, run, end, verdict.outcome);
    turn_wrote(e);
}

/* --- the part --------------------------------------------------------------------------------- */

static void run_ends_stored(struct engine *e) {
    struct run_ends *ends = ends_of(e);
    if (ends->applied == 0)
        return;
    for (size_t i = 0; i < ends->applied; i++) {
        const struct run_report *report = &ends->reports.items[i];
        if (report->ending)
            executor_end_is_stored(e->executor, report->run);
        ending_free(report->ending);
    }
    ends->reports.count -= ends->applied;
    memmove(ends->reports.items, ends->reports.items + ends->applied,
            ends->reports.count * sizeof(*ends->reports.items));
    ends->applied = 0;
}

static void run_ends_undone(struct engine *e) {
    ends_of(e)->applied = 0;
}

static bool run_ends_have_work(const struct engine *e) {
    return ends_of(e)->reports.count > 0;
}

static void run_ends_free(struct engine *e) {
    struct run_ends *ends = ends_of(e);
    for (size_t i = 0; i < ends->reports.count; i++)
        ending_free(ends->reports.items[i].ending);
    for (size_t i = 0; i < ends->waiting.count; i++)
        ending_free(ends->waiting.items[i]);
    free(ends->reports.items);
    free(ends->waiting.items);
    *ends = (struct run_ends){ 0 };
}

const struct engine_part run_ends_part = {
    .state_size = sizeof(struct run_ends),
    .at = { [STEP_FACTS] = run_ends_apply,
            [STEP_STORED] = run_ends_stored,
            [STEP_UNDONE] = run_ends_undone,
            [STEP_FREE] = run_ends_free },
    .has_work = run_ends_have_work,
};
