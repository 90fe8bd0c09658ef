/* finish.c: turns reports of the executor into facts. Reports are queued; the next turn applies
 * them, and they are kept until committed. The outcome of an attempt is decided here from its
 * record, never from a guess: a run without a record is lost, and lost is not success. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_write.h"
#include "engine/agents/agents_internal.h"
#include "engine/budget.h"
#include "engine/executors_internal.h"
#include "engine/forecast/forecast_internal.h"
#include "engine/git/git_internal.h"
#include "engine/launch/launch_internal.h"
#include "engine/redaction.h"
#include "engine/runs/runs_internal.h"
#include "engine/tasks/tasks_internal.h"
#include "engine/trouble.h"
#include "os/outside.h"

#define SIGN_OF_LIFE   SECONDS(2)  /* an attempt that ran this long was launched successfully */
#define LIMIT_PATIENCE MINUTES(10) /* agents retry a few times before they give up */

static struct happening *note(struct engine *e, enum happening_kind kind, struct run_key run) {
    struct happening *h = LIST_ADD(&e->happened);
    *h = (struct happening){ .kind = kind, .run = run, .at = loop_now(e->loop) };
    turn_wake(e);
    return h;
}

/* Before the turn that applies it: a cancel may wait for it. */
static void hear(struct engine *e, struct run_key key) {
    struct live_run *run = run_find(e, key.task);
    if (run && run->view.attempt == key.attempt)
        stopping_heard(e, run);
}

static void on_started(void *ctx, struct run_key run, time_ms at) {
    hear(ctx, run);
    note(ctx, HAPPENED_STARTED, run)->at = at;
}

static void on_validating(void *ctx, struct run_key run) {
    note(ctx, HAPPENED_VALIDATING, run);
}

static enum outcome outcome_of(const struct engine *e, const struct live_run *run,
                               const struct run_end *end);

/* The spawn file must be known before its work is delivered. */
void finish_take_end(struct engine *e, struct run_key key, const struct run_end *end) {
    struct live_run *run = run_find(e, key.task);
    struct happening fresh = { .kind = HAPPENED_ENDED, .run = key, .end = *end, .is_fresh = true };
    if (run && run->view.attempt == key.attempt && outcome_of(e, run, end) == OUTCOME_OK
        && spawning_must_wait(e, run, &fresh))
        return;
    if (!workspace_finish(e, key, end))
        note(e, HAPPENED_ENDED, key)->end = *end;
}

void finish_hear_end(struct engine *e, struct run_key run, const struct run_end *end) {
    if (!stuck_look(e, run, end))
        finish_take_end(e, run, end);
}

/* Slurm may report the end of a job without its start; that was reported while it ran. */
static void complete_end(const struct engine *e, struct run_key key, struct run_end *end) {
    const struct live_run *run = run_find(e, key.task);
    if (run && run->view.attempt == key.attempt && run->executor == EXECUTOR_SLURM
        && end->kind != RUN_END_LAUNCH && end->started_at == 0)
        end->started_at = run->view.started_at;
}

/* Its final message may still be unread. */
static void on_ended(void *ctx, struct run_key run, const struct run_end *end) {
    struct run_end whole = *end;
    complete_end(ctx, run, &whole);
    hear(ctx, run);
    if (!listen_end(ctx, run, &whole))
        finish_hear_end(ctx, run, &whole);
}

void finish_note_outcome(struct engine *e, struct run_key run, const struct run_end *end,
                         const struct finish_note *what) {
    struct happening *h = note(e, HAPPENED_ENDED, run);
    h->end = *end;
    h->is_forced = what->outcome != NULL;
    h->outcome = what->outcome ? *what->outcome : OUTCOME_OK;
    h->is_empty = what->is_empty;
    (void)snprintf(h->note, sizeof(h->note), "%s", what->text);
}

void finish_note_validating(struct engine *e, struct run_key run) {
    note(e, HAPPENED_VALIDATING, run);
}

void finish_note_end(struct engine *e, const struct live_run *run, enum run_end_kind kind,
                     const struct error *why) {
    struct run_key key = { .task = run->task, .attempt = run->view.attempt };
    struct happening *h = note(e, HAPPENED_ENDED, key);
    h->end = (struct run_end){ .kind = kind, .code = -1, .ended_at = e->now };
    h->end.exec_errno = kind == RUN_END_LAUNCH ? -why->code : 0;
    h->end.cause = run->launch_cause;
    h->end.code = kind == RUN_END_EXIT ? 0 : -1;
    snprintf(h->end.message, sizeof(h->end.message), "%.250s", why->text);
}

const struct executor_events finish_events = {
    .started = on_started,
    .validating = on_validating,
    .ended = on_ended,
};

static bool showed_life(const struct run_end *end) {
    return end->out_bytes + end->err_bytes > 0
           || (end->started_at > 0 && end->ended_at - end->started_at >= SIGN_OF_LIFE);
}

static const struct agent_outcome *said_by(const struct engine *e, const struct live_run *run) {
    struct run_key key = { .task = run->task, .attempt = run->view.attempt };
    return listen_said(e, key);
}

/* An agent that exits at once and silently was not launched, whatever its exit code. A plain
 * command may have nothing to print. */
static bool died_at_once(const struct engine *e, const struct live_run *run,
                         const struct run_end *end) {
    if (!run->agent || showed_life(end))
        return false;
    return said_by(e, run)
           || (config_is_set(e->config, "agents.A.adapter", run->agent)
               && strcmp(config_text(e->config, "agents.A.adapter", run->agent), "plain") != 0);
}

/* It was stopped. If the core requested it, the core knows what follows. A stop without a recorded
 * request comes from the launch deadline if the command never ran; else from outside, such as a
 * shutdown of the machine: then the work is unfinished and was not canceled. */
static enum outcome outcome_of_stop(const struct engine *e, const struct live_run *run,
                                    const struct run_end *end) {
    struct task_spec told;
    if (core_task_spec(e->core, run->task, &told) && told.stop != STOP_NONE)
        return OUTCOME_CANCELED;
    return end->started_at ? OUTCOME_LOST : OUTCOME_LAUNCH;
}

/* A marker and checks that passed outweigh silence. */
static enum outcome outcome_of_exit(const struct engine *e, const struct live_run *run,
                                    const struct run_end *end) {
    struct task_view view = { .until = UNTIL_EXIT };
    (void)core_task(e->core, run->task, &view);
    enum marker marker = view.until == UNTIL_DONE ? marker_look(e, run->task) : MARKER_NONE;
    if (marker == MARKER_FILE || (end->code == 0 && view.until == UNTIL_VALIDATE))
        return OUTCOME_OK; /* an agent may fail after it has reported success */
    if (died_at_once(e, run, end))
        return OUTCOME_LAUNCH;
    if (end->code != 0)
        return OUTCOME_FAILED;
    return view.until == UNTIL_DONE ? OUTCOME_UNFINISHED : OUTCOME_OK;
}

static enum outcome outcome_of_signal(const struct engine *e, const struct live_run *run,
                                      const struct run_end *end) {
    struct task_view view = { .until = UNTIL_EXIT };
    (void)core_task(e->core, run->task, &view);
    if (view.until == UNTIL_DONE && marker_look(e, run->task) == MARKER_FILE)
        return OUTCOME_OK;
    return died_at_once(e, run, end) ? OUTCOME_LAUNCH : OUTCOME_FAILED;
}

static enum outcome outcome_of_end(const struct engine *e, const struct live_run *run,
                                   const struct run_end *end) {
    switch (end->kind) {
    case RUN_END_EXIT:
        return outcome_of_exit(e, run, end);
    case RUN_END_SIGNAL:
        return outcome_of_signal(e, run, end);
    case RUN_END_OUTPUT:
        return OUTCOME_FAILED;
    case RUN_END_TIMEOUT:
        return OUTCOME_TIMEOUT;
    case RUN_END_STOPPED:
        return outcome_of_stop(e, run, end);
    case RUN_END_CHECK:
        return OUTCOME_INVALID;
    case RUN_END_LAUNCH:
        return OUTCOME_LAUNCH;
    case RUN_END_LOST:
    case RUN_END_KIND_MAX:
        break;
    }
    return OUTCOME_LOST;
}

/* It was asked to wait, and ended soon after. One that continued has failed for another reason:
 * else its attempts would never be counted. */
static bool gave_up_for_limit(const struct engine *e, const struct live_run *run,
                              const struct run_end *end) {
    time_ms ended_at = end->ended_at ? end->ended_at : e->now;
    return run->limited_until > 0 && ended_at <= time_add(run->limited_until, LIMIT_PATIENCE);
}

/* A run that was asked to wait and gives up has not failed: it costs no retry. */
static enum outcome outcome_of(const struct engine *e, const struct live_run *run,
                               const struct run_end *end) {
    enum outcome outcome = outcome_of_end(e, run, end);
    const struct agent_outcome *said = said_by(e, run);
    if (said)
        outcome = agent_end_outcome(e, run, end, said, outcome);
    bool gave_up = outcome == OUTCOME_FAILED || outcome == OUTCOME_LAUNCH;
    if (gave_up && gave_up_for_limit(e, run, end))
        outcome = OUTCOME_LIMITED;
    return budget_outcome(e, run, outcome);
}

enum outcome finish_outcome(struct engine *e, const struct live_run *run, struct run_end *end,
                            bool *ret_bad_file) {
    enum outcome outcome = outcome_of(e, run, end);
    *ret_bad_file = false;
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = spawning_check(e, run, end);
    *ret_bad_file = outcome != OUTCOME_OK;
    return outcome;
}

static void put_text(struct json_writer *w, const char *key, const char *text) {
    if (text)
        json_put_string(w, key, text);
}

static void write_end_event(struct engine *e, const struct live_run *run, const struct run_end *end,
                            enum outcome outcome) {
    struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    json_put_string(&w, "outcome", outcome_name(outcome));
    json_put_string(&w, "how", run_end_kind_name(end->kind));
    if (end->code >= 0)
        json_put_int(&w, "exit_code", end->code);
    if (outcome == OUTCOME_LAUNCH)
        put_text(&w, "cause", launch_cause_name(end->cause));
    if (end->signal)
        json_put_int(&w, "signal", end->signal);
    put_text(&w, "message", end->message[0] ? end->message : NULL);
    put_text(&w, "said", run->said);
    put_text(&w, "session", run->session);
    json_write_object_end(&w);
    engine_event(e, "run.ended", run->task, run->view.attempt, strbuf_text(&data));
    strbuf_finish(&data);
}

static void tell_started(struct engine *e, struct live_run *run, time_ms at) {
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
    char restart[48]; /* the first launch is number 0 */
    snprintf(restart, sizeof(restart), "{\"restart\":%" PRIu32 "}", run->view.attempt - 1);
    engine_event(e, "run.started", run->task, run->view.attempt, restart);
    rows_write_run(e, run);
}

static void tell_validating(struct engine *e, struct live_run *run) {
    run->phase = PHASE_VALIDATING;
    struct fact fact = { .kind = FACT_RUN_PHASE,
                         .task = run->task,
                         .attempt = run->view.attempt,
                         .phase = PHASE_VALIDATING };
    (void)engine_apply(e, &fact, NULL);
    rows_write_run(e, run);
}

/* For a stop that was not explained when it happened. */
static void explain_stop(struct run_end *end, enum outcome outcome) {
    if (end->kind != RUN_END_STOPPED || end->message[0]
        || (outcome != OUTCOME_LOST && outcome != OUTCOME_LAUNCH))
        return;
    snprintf(end->message, sizeof(end->message), "%s",
             outcome == OUTCOME_LOST ? "it was stopped from outside"
                                     : "its command was not seen to start in time");
}

/* The marker must be a regular file. Anything else of its name is reported. */
static void explain_marker(const struct engine *e, const struct live_run *run, struct run_end *end,
                           enum outcome outcome) {
    struct task_view view = { .until = UNTIL_EXIT };
    struct error err = { 0 };
    (void)core_task(e->core, run->task, &view);
    bool went_on = outcome != OUTCOME_FAILED && outcome != OUTCOME_UNFINISHED;
    if (went_on || view.until != UNTIL_DONE || end->message[0]
        || marker_look(e, run->task) != MARKER_NO_FILE)
        return;
    (void)marker_complain(e, run->task, &err);
    snprintf(end->message, sizeof(end->message), "%.250s", err.text);
}

/* Prepends to its message, which is truncated if necessary. */
static void put_before(struct run_end *end, const char *text) {
    size_t added = strlen(text), left = strlen(end->message);
    if (added + left >= sizeof(end->message)) {
        left = sizeof(end->message) - added - 1;
        while (left > 0 && ((unsigned char)end->message[left] & 0xC0) == 0x80)
            left--;
    }
    memmove(end->message + added, end->message, left);
    memcpy(end->message, text, added);
    end->message[added + left] = '\0';
}

/* The agent's own message comes first. The delivery is reported if there is none; that nothing
 * changed is always reported: a message such as "committed" must not hide it. */
static void explain_delivery(struct happening *h, enum outcome outcome) {
    if (outcome != OUTCOME_OK)
        return;
    if (!h->end.message[0])
        (void)snprintf(h->end.message, sizeof(h->end.message), "%s", h->note);
    else if (h->is_empty)
        put_before(&h->end, "no changes; it reported: ");
}

static void tidy_if_final(struct engine *e, const struct live_run *run) {
    struct task_view view;
    if (core_task(e->core, run->task, &view) && task_state_is_final(view.state))
        iteration_tidy(e, run->task, run->iteration);
}

/* Books what its agent has reported. */
static void book_agent(struct engine *e, struct live_run *run, struct happening *h,
                       struct fact *ended) {
    const struct agent_outcome *said = said_by(e, run);
    if (said) {
        agent_end_book(e, run, &h->end, said);
        if (!h->is_forced)
            agent_end_explain(said, ended->ended.outcome, &h->end);
    }
    ended->ended.outcome = stuck_judge(e, run, &h->end, ended->ended.outcome);
    ended->ended.outcome = agent_end_repeated(e, run, &h->end, ended->ended.outcome);
    if (said)
        agent_end_limit(e, run, said, ended, &h->end);
    budget_ends(e, run, ended, &h->end);
    ended->ended.tokens = run_tokens(run);
    ended->ended.money = run->cost_micro_usd;
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

static enum outcome tell_end(struct engine *e, struct live_run *run, struct happening *h,
                             enum outcome outcome) {
    struct fact fact = { .kind = FACT_RUN_ENDED, .task = run->task, .attempt = run->view.attempt };
    fact.ended.outcome = outcome;
    fact.ended.limit_reported = run->limited_until > 0;
    fact.ended.output = showed_life(&h->end);
    fact.ended.before_agent = ended_before_agent(e, run, &h->end);
    fact.ended.workspace = h->end.started_at ? pool_left_in(e, run) : 0;
    book_agent(e, run, h, &fact);
    runaway_ended(e, run, &h->end, &fact);
    trouble_ended(e, run, &h->end, said_by(e, run), &fact);
    (void)engine_apply(e, &fact, NULL);
    return fact.ended.outcome;
}

static void tell_ended(struct engine *e, struct live_run *run, struct happening *h) {
    enum outcome outcome = h->is_forced ? h->outcome : outcome_of(e, run, &h->end);
    if (outcome == OUTCOME_OK && spawning_must_wait(e, run, h))
        return;
    if (outcome == OUTCOME_OK)
        outcome = spawning_children(e, run, &h->end);
    if (run->own_command && h->end.cause == LAUNCH_PROGRAM)
        h->end.cause = LAUNCH_TASK;
    engine_redact_in_place(e, h->end.message);
    explain_stop(&h->end, outcome);
    explain_marker(e, run, &h->end, outcome);
    if (h->end.started_at && h->end.kind != RUN_END_LAUNCH)
        tell_started(e, run, h->end.started_at); /* it ended before its start was reported */
    const struct run_end own = h->end;           /* without what its agent has reported */
    outcome = tell_end(e, run, h, outcome);
    explain_delivery(h, outcome);
    feedback_write(e, run, &h->end, own.message, outcome);
    tidy_if_final(e, run);
    iterations_keep_newest(e, run);
    if (outcome != OUTCOME_OK)
        watch_note_marker(e, run->task);
    forecast_learn(e, run->task, &h->end, run_tokens(run));
    budget_ended(e, run, outcome, said_by(e, run));
    write_end_event(e, run, &h->end, outcome);
    rows_write_ended(e, run, &h->end, outcome);
    e->turn.ends++;
    if (run->view.started_at)
        spans_add(&e->turn.ran,
                  (h->end.ended_at ? h->end.ended_at : e->now) - run->view.started_at);
    workspace_release(e, run->task);
    secrets_release(e, run->task);
    run_remove(e, run->task);
}

void finish_end_now(struct engine *e, struct live_run *run, const struct run_end *end) {
    struct happening h = { .kind = HAPPENED_ENDED, .at = e->now, .end = *end };
    h.run = (struct run_key){ .task = run->task, .attempt = run->view.attempt };
    tell_ended(e, run, &h);
}

void finish_record_end(struct engine *e, const struct live_run *run, struct run_end *end) {
    enum outcome outcome = outcome_of(e, run, end);
    explain_stop(end, outcome);
    write_end_event(e, run, end, outcome);
    rows_write_ended(e, run, end, outcome);
    turn_wrote(e);
}

void finish_tell_happened(struct engine *e) {
    for (size_t i = 0; i < e->happened.count; i++) {
        struct happening *h = &e->happened.items[i];
        struct live_run *run = run_find(e, h->run.task);
        if (!run || run->view.attempt != h->run.attempt)
            continue; /* already applied, or replaced */
        switch (h->kind) {
        case HAPPENED_STARTED:
            tell_started(e, run, h->at);
            break;
        case HAPPENED_VALIDATING:
            tell_validating(e, run);
            break;
        case HAPPENED_ENDED:
            tell_ended(e, run, h);
            break;
        }
    }
    e->turn.told = e->happened.count;
}

int engine_mark_done(struct engine *e, task_id task, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    launch_marker_path(e, task, &path);
    struct error why = { 0 };
    int fd = outside_open(AT_FDCWD, strbuf_text(&path), O_WRONLY | O_CREAT | O_EXCL, NULL, &why);
    if (fd == -EEXIST)
        return marker_look(e, task) == MARKER_FILE ? 1 : marker_complain(e, task, err);
    if (fd < 0)
        return error_set(err, fd, "cannot make the DONE marker: %s", why.text);
    close(fd);
    return 0;
}

/* Tokens are stored as input and output. A total that is not split is stored as output: the known
 * input is subtracted, whichever report comes first. */
static void divide_total(const struct live_run *run, const struct engine_usage *usage,
                         struct agent_usage *claim) {
    int64_t in = usage_larger(run->view.tokens_in, claim->in);
    if (usage->tokens_total > 0 && usage->tokens_total > in)
        claim->out = usage_larger(claim->out, usage->tokens_total - (in > 0 ? in : 0));
}

static int64_t rest_of(int64_t total, int64_t in) {
    return total > in ? total - (in > 0 ? in : 0) : 0;
}

/* The stored output before this claim. If it is the rest of a total, a claim of input splits that
 * again. */
static int64_t written_of_total(const struct live_run *run, const struct agent_usage *claim) {
    int64_t in = run->view.tokens_in, out = run->view.tokens_out;
    if (run->tokens_total > 0 && out == rest_of(run->tokens_total, in))
        return rest_of(run->tokens_total, usage_larger(in, claim->in));
    bool was_total = in < 0 && claim->in > 0 && claim->out >= 0; /* of an earlier daemon */
    return was_total ? out - claim->in : out;
}

int engine_report_usage(struct engine *e, task_id task, const struct engine_usage *usage,
                        struct error *err) {
    struct live_run *run = run_find(e, task);
    char id[ENGINE_ID_MAX];
    if (!run)
        return error_set(err, -EBUSY, "task '%s' has no live run to report for",
                         engine_task_id(e, task, id));
    struct agent_usage claim = { .in = usage->tokens_in,
                                 .out = usage->tokens_out,
                                 .cached = -1,
                                 .cost_micro_usd = usage->cost_micro_usd };
    divide_total(run, usage, &claim);
    bool refused = plausible_bound(e, run, e->now, &claim, err);
    run->view.tokens_out = usage_larger(written_of_total(run, &claim), claim.out);
    run->view.tokens_in = usage_larger(run->view.tokens_in, claim.in);
    if (usage->tokens_total > 0 && run->view.tokens_out == claim.out)
        run->tokens_total = claim.out + (run->view.tokens_in > 0 ? run->view.tokens_in : 0);
    run->cost_micro_usd = usage_larger(run->cost_micro_usd, claim.cost_micro_usd);
    struct fact fact = { .kind = FACT_RUN_TOKENS,
                         .task = task,
                         .attempt = run->view.attempt,
                         .tokens = run_tokens(run),
                         .money = run->cost_micro_usd };
    int r = fact.tokens >= 0 || fact.money >= 0 ? engine_apply(e, &fact, err) : 0;
    if (r < 0)
        return r;
    rows_write_run(e, run);
    budget_reported(e, run);
    return refused;
}
