/* run_outcome.c: decides what the end of a run means for its task.
 *
 * One function with a list of rules, in the order of their priority. It reads the facts that
 * run_end.c has collected and nothing else: no clock, no file, no state of the engine. The exit
 * code alone never decides: real agents exit with 0 when interrupted, and with 1 when their account
 * must only wait. A run without a recorded end is lost, and lost is not success. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/probes/probes_internal.h"
#include "engine/runs/runs_internal.h"

#define SIGN_OF_LIFE SECONDS(2) /* an attempt that ran this long was launched successfully */

bool run_end_showed_life(const struct run_end *end) {
    return end->out_bytes + end->err_bytes > 0
           || (end->started_at > 0 && end->ended_at - end->started_at >= SIGN_OF_LIFE);
}

/* --- by the recorded end ---------------------------------------------------------------------- */

/* A marker and checks that passed outweigh silence, and a failure after the reported success. */
static enum outcome by_exit(const struct end_facts *f) {
    bool is_clean = f->end->kind == RUN_END_EXIT && f->end->code == 0;
    if (f->until == UNTIL_DONE && f->marker == MARKER_FILE)
        return OUTCOME_OK;
    if (f->until == UNTIL_VALIDATE && is_clean)
        return OUTCOME_OK;
    if (f->must_print && !run_end_showed_life(f->end))
        return OUTCOME_LAUNCH;
    if (!is_clean)
        return OUTCOME_FAILED;
    return f->until == UNTIL_DONE ? OUTCOME_UNFINISHED : OUTCOME_OK;
}

/* A check may have no result yet, for a time. */
static enum outcome by_check(const struct end_facts *f) {
    return f->end->code == PROBE_NOT_YET && !f->check_expired ? OUTCOME_PENDING : OUTCOME_INVALID;
}

static enum outcome by_end(const struct end_facts *f) {
    switch (f->end->kind) {
    case RUN_END_EXIT:
    case RUN_END_SIGNAL:
        return by_exit(f);
    case RUN_END_OUTPUT:
        return OUTCOME_FAILED;
    case RUN_END_TIMEOUT:
        return OUTCOME_TIMEOUT;
    case RUN_END_STOPPED:
        /* If the core requested the stop, the core knows what follows. A stop without a request
         * comes from the launch deadline if the command never ran; else from outside, such as a
         * shutdown of the machine: then the work is unfinished and was not canceled. */
        return f->stop_requested    ? OUTCOME_CANCELED
               : f->end->started_at ? OUTCOME_LOST
                                    : OUTCOME_LAUNCH;
    case RUN_END_CHECK:
        return by_check(f);
    case RUN_END_LAUNCH:
        return OUTCOME_LAUNCH;
    case RUN_END_LOST:
    case RUN_END_KIND_MAX:
        break;
    }
    return OUTCOME_LOST;
}

/* --- by the report of its agent --------------------------------------------------------------- */

/* The agent succeeded: now the task's own conditions apply. The shim runs checks only after exit
 * code 0. */
static enum outcome by_success(const struct end_facts *f, enum outcome plain) {
    if (f->end->kind == RUN_END_CHECK)
        return by_check(f);
    if (f->until == UNTIL_DONE)
        return plain == OUTCOME_FAILED && f->marker == MARKER_NO_FILE ? OUTCOME_FAILED
                                                                      : OUTCOME_UNFINISHED;
    if (f->until == UNTIL_VALIDATE)
        return f->end->kind == RUN_END_EXIT && f->end->code == 0 ? OUTCOME_OK : OUTCOME_UNFINISHED;
    return OUTCOME_OK;
}

/* Without an account nothing holds the task back: it would start again at once. */
static enum outcome by_result(const struct end_facts *f, enum outcome plain) {
    switch (f->reported->result) {
    case AGENT_OK:
        return by_success(f, plain);
    case AGENT_LIMITED:
    case AGENT_OVERLOADED:
        return f->has_account ? OUTCOME_LIMITED : OUTCOME_BUDGET;
    case AGENT_AUTH:
    case AGENT_BILLING:
        return f->has_account ? OUTCOME_CLOSED : OUTCOME_FAILED;
    case AGENT_BUDGET:
        return OUTCOME_BUDGET;
    case AGENT_CANCELED: /* by whom? A machine that shuts down cancels no task. */
        return f->end->kind == RUN_END_STOPPED ? OUTCOME_LOST : OUTCOME_CANCELED;
    case AGENT_TIMEOUT:
        return OUTCOME_TIMEOUT;
    case AGENT_DENIED: /* the agent found another way if all checks have passed */
        return f->checks_passed ? OUTCOME_OK : OUTCOME_DENIED;
    case AGENT_CONTEXT_FULL:
    case AGENT_REFUSED:
    case AGENT_MAX_TURNS:
    case AGENT_CRASHED:
    case AGENT_FAILED:
    case AGENT_RESULT_MAX:
        break;
    }
    return OUTCOME_FAILED;
}

/* What does not come from the agent stays: a run stopped on purpose is canceled, one without a
 * recorded end is lost, and a DONE marker counts. */
static bool is_settled(const struct end_facts *f, enum outcome plain) {
    if (plain == OUTCOME_CANCELED || plain == OUTCOME_LAUNCH || f->end->kind == RUN_END_LOST
        || f->end->kind == RUN_END_OUTPUT)
        return true;
    return plain == OUTCOME_OK && f->until == UNTIL_DONE;
}

static enum outcome by_report(const struct end_facts *f, enum outcome plain) {
    if (!f->reported)
        return plain;
    if (f->reported->session_is_lost && f->resumes)
        return OUTCOME_NEW_SESSION;
    if (is_settled(f, plain))
        return plain;
    /* Without a final message, the cause of the end is known better than by the adapter. */
    bool has_final_message = f->reported->result != AGENT_CRASHED
                             && f->reported->result != AGENT_CANCELED
                             && f->reported->result != AGENT_TIMEOUT;
    if (!has_final_message && (f->end->kind == RUN_END_STOPPED || f->end->kind == RUN_END_TIMEOUT))
        return plain;
    return by_result(f, plain);
}

/* --- messages --------------------------------------------------------------------------------- */

/* The length of the text, at most `most` bytes, and never inside a character. */
static size_t cut(const char *text, size_t most) {
    size_t length = strlen(text);
    if (length <= most)
        return length;
    while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80)
        most--;
    return most;
}

static void set_text(char *to, size_t size, const char *text) {
    size_t length = cut(text, size - 1);
    memmove(to, text, length);
    to[length] = '\0';
}

/* Without the report of the agent. */
static void explain_end(const struct end_facts *f, struct end_verdict *v) {
    const char *text = f->spawn_error ? f->spawn_error : f->end->message;
    bool is_stopped = f->end->kind == RUN_END_STOPPED;
    if (!*text && is_stopped && v->outcome == OUTCOME_LOST)
        text = "it was stopped from outside";
    else if (!*text && is_stopped && v->outcome == OUTCOME_LAUNCH)
        text = "its command was not seen to start in time";
    else if (!*text && f->check_expired && v->outcome == OUTCOME_INVALID
             && f->end->code == PROBE_NOT_YET)
        text = "it had no result in time (pending_timeout_s)";
    else if (!*text && f->marker_message
             && (v->outcome == OUTCOME_FAILED || v->outcome == OUTCOME_UNFINISHED))
        text = f->marker_message;
    set_text(v->message, sizeof(v->message), text);
    memcpy(v->own_message, v->message, sizeof(v->own_message));
}

/* The agent may have reported success: a denial is what matters. */
static void explain_report(const struct end_facts *f, struct end_verdict *v) {
    if (v->outcome == OUTCOME_DENIED && f->denial)
        set_text(v->message, sizeof(v->message), f->denial);
    else if (v->outcome == OUTCOME_ASKED && f->question)
        set_text(v->message, sizeof(v->message), f->question);
    else if (f->reported && !v->message[0] && !f->spawn_error && !f->delivery_failed)
        set_text(v->message, sizeof(v->message), f->reported->message);
}

/* The agent's own message comes first. Without one, what became of the work is reported. That
 * nothing changed is always reported: a message such as "committed" must not hide it. */
static void explain_delivery(const struct end_facts *f, struct end_verdict *v) {
    char message[sizeof(v->message) + 32];
    if (v->outcome != OUTCOME_OK)
        return;
    snprintf(message, sizeof(message), "%s",
             !v->message[0] && f->delivery_note ? f->delivery_note : v->message);
    if (v->message[0] && f->changed_nothing)
        snprintf(message, sizeof(message), "no changes; it reported: %s", v->message);
    set_text(v->message, sizeof(v->message), message);
}

/* --- repeats ---------------------------------------------------------------------------------- */

/* `loop.stuck_iterations` iterations in a row left the work tree as it was. */
static void rule_same_tree(const struct end_facts *f, struct end_verdict *v) {
    v->counts_tree = f->most_same_trees > 0 && f->tree
                     && (v->outcome == OUTCOME_UNFINISHED || v->outcome == OUTCOME_INVALID
                         || (v->outcome == OUTCOME_CONFLICT && f->conflict_iterates));
    if (!v->counts_tree || (int64_t)f->same_trees < f->most_same_trees)
        return;
    v->outcome = OUTCOME_STUCK;
    snprintf(v->message, sizeof(v->message),
             "%" PRIu32 " iterations have changed nothing in its work tree (loop.stuck_iterations)",
             f->same_trees);
}

/* The same failure `retry.same_text` times in a row. */
static void rule_same_failure(const struct end_facts *f, struct end_verdict *v) {
    char message[sizeof(v->failure) + 96];
    if (f->most_same_failures == 0
        || (v->outcome != OUTCOME_FAILED && v->outcome != OUTCOME_INVALID))
        return;
    if (v->message[0])
        set_text(v->failure, sizeof(v->failure), v->message);
    else if (f->end->kind == RUN_END_CHECK)
        snprintf(v->failure, sizeof(v->failure), "check %d: exit code %d", f->end->check + 1,
                 f->end->code);
    else
        snprintf(v->failure, sizeof(v->failure), "exit code %d, signal %d", f->end->code,
                 f->end->signal);
    bool is_same = f->last_failure && strcmp(f->last_failure, v->failure) == 0;
    uint32_t count = is_same ? f->same_failures + 1 : 1;
    if ((int64_t)count < f->most_same_failures)
        return;
    v->outcome = OUTCOME_STUCK;
    snprintf(message, sizeof(message), "the same failure %" PRIu32 " times (retry.same_text): %s",
             count, v->failure);
    set_text(v->message, sizeof(v->message), message);
}

/* --- questions -------------------------------------------------------------------------------- */

/* The agent ended by itself. A question does not outweigh what others have done to the run: a
 * cancel, a limit, a loss. It outweighs a denied permission: the person who answers may help. */
static bool ends_turn(enum outcome outcome) {
    return outcome == OUTCOME_OK || outcome == OUTCOME_UNFINISHED || outcome == OUTCOME_INVALID
           || outcome == OUTCOME_FAILED || outcome == OUTCOME_DENIED;
}

/* --- the rules -------------------------------------------------------------------------------- */

void run_outcome_decide(const struct end_facts *f, struct end_verdict *v) {
    *v = (struct end_verdict){ 0 };

    /* 1. A success whose children cannot be added, or whose work could not be delivered. */
    if (f->spawn_error)
        v->outcome = f->until == UNTIL_VALIDATE ? OUTCOME_INVALID : OUTCOME_FAILED;
    else if (f->delivery_failed)
        v->outcome = f->delivery_outcome;
    else {
        /* 2. The recorded end, 3. unless the report of the agent knows better. */
        v->outcome = by_report(f, by_end(f));
        /* 4. A run that was asked to wait and gives up has not failed: it costs no retry. */
        if (f->gave_up_waiting && (v->outcome == OUTCOME_FAILED || v->outcome == OUTCOME_LAUNCH))
            v->outcome = OUTCOME_LIMITED;
        /* 5. It was stopped because a budget is used up. */
        if (f->budget_stop && !f->stop_requested && v->outcome != OUTCOME_OK)
            v->outcome = OUTCOME_BUDGET;
        /* 6. It cannot go on without the answer of a person. */
        if (f->question && ends_turn(v->outcome))
            v->outcome = OUTCOME_ASKED;
        /* 7. A person took it over, unless it succeeded first; or that person's work ended, and
         * the person decides what it is worth. */
        if (f->is_taken || (f->is_taken_from && v->outcome != OUTCOME_OK))
            v->outcome = OUTCOME_TAKEN;
    }
    explain_end(f, v);
    explain_report(f, v);

    /* 8. Iterations without a change, 9. the same failure again and again. */
    rule_same_tree(f, v);
    rule_same_failure(f, v);

    /* 10. An account that was limited for too long needs a person. */
    if (v->outcome == OUTCOME_LIMITED && f->exhausted_account) {
        v->outcome = OUTCOME_CLOSED;
        v->closes_account = true;
        snprintf(v->message, sizeof(v->message),
                 "account '%.60s' is limited for longer than limiter.max_wait_s allows; when it "
                 "works again: sluice limiter clear %.60s",
                 f->exhausted_account, f->exhausted_account);
    }
    if (v->outcome == OUTCOME_BUDGET && f->budget_stop && *f->budget_stop)
        set_text(v->message, sizeof(v->message), f->budget_stop);
    explain_delivery(f, v);
}
