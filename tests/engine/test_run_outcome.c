/* test_run_outcome.c: the rules of run_outcome.c as a table, without the engine. */
#include <stdio.h>
#include <string.h>

#include "engine/runs/runs_internal.h"
#include "harness/test.h"

#define EXIT(code_)                                                                                \
    { .kind = RUN_END_EXIT, .code = code_, .out_bytes = 1 }
#define SILENT(code_)                                                                              \
    { .kind = RUN_END_EXIT, .code = code_ }
#define SIGNAL(n_)                                                                                 \
    { .kind = RUN_END_SIGNAL, .code = -1, .signal = n_, .out_bytes = 1 }
#define KIND(kind_)                                                                                \
    { .kind = RUN_END_##kind_, .code = -1, .out_bytes = 1, .started_at = 1 }
#define CHECK(n_)                                                                                  \
    { .kind = RUN_END_CHECK, .code = 1, .check = n_, .out_bytes = 1 }
#define PENDING(n_)                                                                                \
    { .kind = RUN_END_CHECK, .code = 75, .check = n_, .out_bytes = 1 }
#define REPORT(...)   (&(const struct agent_outcome){ __VA_ARGS__ })
#define RESULT(name_) REPORT(.result = AGENT_##name_, .message = "from the agent")

static const struct rule {
    const char *text;
    struct run_end end;
    struct end_facts facts; /* without `end` */
    enum outcome outcome;
    const char *message; /* NULL: not compared */
} rules[] = {
    /* the recorded end */
    { "exit code 0 is success", EXIT(0), { 0 }, OUTCOME_OK, "" },
    { "another exit code is a failure", EXIT(1), { 0 }, OUTCOME_FAILED, "" },
    { "a signal is a failure", SIGNAL(9), { 0 }, OUTCOME_FAILED, "" },
    { "too much output is a failure", KIND(OUTPUT), { 0 }, OUTCOME_FAILED, NULL },
    { "a timeout is a timeout", KIND(TIMEOUT), { 0 }, OUTCOME_TIMEOUT, NULL },
    { "a check that fails is invalid", CHECK(0), { 0 }, OUTCOME_INVALID, NULL },
    { "a check that exits with 75 has no result yet", PENDING(0), { 0 }, OUTCOME_PENDING, "" },
    { "with any condition", PENDING(1), { .until = UNTIL_VALIDATE }, OUTCOME_PENDING, "" },
    { "but not for ever",
      PENDING(0),
      { .check_expired = true },
      OUTCOME_INVALID,
      "it had no result in time (pending_timeout_s)" },
    { "another failure of that check has its own cause",
      CHECK(0),
      { .check_expired = true },
      OUTCOME_INVALID,
      "" },
    { "a command that exits with 75 has failed", EXIT(75), { 0 }, OUTCOME_FAILED, "" },
    { "no recorded end is lost", KIND(LOST), { 0 }, OUTCOME_LOST, NULL },
    { "a launch that failed", KIND(LAUNCH), { 0 }, OUTCOME_LAUNCH, NULL },
    { "its own message is kept",
      { .kind = RUN_END_LAUNCH, .message = "no such program" },
      { 0 },
      OUTCOME_LAUNCH,
      "no such program" },

    /* stops */
    { "a requested stop is a cancel",
      KIND(STOPPED),
      { .stop_requested = true },
      OUTCOME_CANCELED,
      "" },
    { "a stop from outside is lost",
      KIND(STOPPED),
      { 0 },
      OUTCOME_LOST,
      "it was stopped from outside" },
    { "a stop before the command ran is a failed launch",
      { .kind = RUN_END_STOPPED },
      { 0 },
      OUTCOME_LAUNCH,
      "its command was not seen to start in time" },
    { "a requested stop outweighs the report of the agent",
      KIND(STOPPED),
      { .stop_requested = true, .reported = RESULT(OK) },
      OUTCOME_CANCELED,
      "from the agent" },

    /* the marker */
    { "without the marker it is unfinished",
      EXIT(0),
      { .until = UNTIL_DONE },
      OUTCOME_UNFINISHED,
      "" },
    { "the marker outweighs the exit code",
      EXIT(1),
      { .until = UNTIL_DONE, .marker = MARKER_FILE },
      OUTCOME_OK,
      "" },
    { "the marker outweighs a signal",
      SIGNAL(9),
      { .until = UNTIL_DONE, .marker = MARKER_FILE },
      OUTCOME_OK,
      "" },
    { "the marker outweighs the report of the agent",
      EXIT(1),
      { .until = UNTIL_DONE, .marker = MARKER_FILE, .reported = RESULT(FAILED) },
      OUTCOME_OK,
      "from the agent" },
    { "a marker that is not a file is reported",
      EXIT(0),
      { .until = UNTIL_DONE, .marker = MARKER_NO_FILE, .marker_message = "remove it" },
      OUTCOME_UNFINISHED,
      "remove it" },
    { "and fails a run that failed although its agent reports success",
      EXIT(1),
      { .until = UNTIL_DONE, .marker = MARKER_NO_FILE, .reported = RESULT(OK) },
      OUTCOME_FAILED,
      NULL },
    { "an agent that succeeds without the marker is unfinished",
      EXIT(1),
      { .until = UNTIL_DONE, .reported = RESULT(OK) },
      OUTCOME_UNFINISHED,
      NULL },

    /* silence */
    { "an agent that ends at once without output was not launched",
      SILENT(0),
      { .must_print = true },
      OUTCOME_LAUNCH,
      NULL },
    { "a plain command may have nothing to print", SILENT(0), { 0 }, OUTCOME_OK, NULL },
    { "checks that passed outweigh silence",
      SILENT(0),
      { .must_print = true, .until = UNTIL_VALIDATE },
      OUTCOME_OK,
      NULL },
    { "one that ran for 2 s was launched",
      { .kind = RUN_END_EXIT, .code = 1, .started_at = 1000, .ended_at = 3000 },
      { .must_print = true },
      OUTCOME_FAILED,
      NULL },

    /* the report of the agent */
    { "the agent's success outweighs the exit code",
      EXIT(1),
      { .reported = RESULT(OK) },
      OUTCOME_OK,
      "from the agent" },
    { "but not a pending check", PENDING(0), { .reported = RESULT(OK) }, OUTCOME_PENDING, NULL },
    { "but not a failed check", CHECK(0), { .reported = RESULT(OK) }, OUTCOME_INVALID, NULL },
    { "nor checks that have not run",
      EXIT(1),
      { .until = UNTIL_VALIDATE, .reported = RESULT(OK) },
      OUTCOME_UNFINISHED,
      NULL },
    { "the agent's failure outweighs exit code 0",
      EXIT(0),
      { .reported = RESULT(REFUSED) },
      OUTCOME_FAILED,
      "from the agent" },
    { "a limited account waits",
      EXIT(1),
      { .has_account = true, .reported = RESULT(LIMITED) },
      OUTCOME_LIMITED,
      NULL },
    { "without an account the task itself waits",
      EXIT(1),
      { .reported = RESULT(OVERLOADED) },
      OUTCOME_BUDGET,
      NULL },
    { "an account without login is closed",
      EXIT(1),
      { .has_account = true, .reported = RESULT(AUTH) },
      OUTCOME_CLOSED,
      NULL },
    { "without an account that is a failure",
      EXIT(1),
      { .reported = RESULT(BILLING) },
      OUTCOME_FAILED,
      NULL },
    { "the agent's own budget", EXIT(1), { .reported = RESULT(BUDGET) }, OUTCOME_BUDGET, NULL },
    { "a cancel inside the agent",
      EXIT(1),
      { .reported = RESULT(CANCELED) },
      OUTCOME_CANCELED,
      NULL },
    { "an agent that was stopped from outside did not decide that",
      KIND(STOPPED),
      { .reported = RESULT(CANCELED) },
      OUTCOME_LOST,
      NULL },
    { "a denied permission",
      EXIT(0),
      { .reported = RESULT(DENIED), .denial = "not permitted: Bash" },
      OUTCOME_DENIED,
      "not permitted: Bash" },
    { "unless all checks have passed",
      EXIT(0),
      { .reported = RESULT(DENIED), .denial = "not permitted: Bash", .checks_passed = true },
      OUTCOME_OK,
      "from the agent" },
    /* questions */
    { "a question outweighs a success",
      EXIT(0),
      { .reported = RESULT(OK), .question = "Which one?" },
      OUTCOME_ASKED,
      "Which one?" },
    { "and a success without a report", EXIT(0), { .question = "?" }, OUTCOME_ASKED, "?" },
    { "and a failure", EXIT(1), { .question = "?" }, OUTCOME_ASKED, "?" },
    { "and a check that fails", CHECK(0), { .question = "?" }, OUTCOME_ASKED, NULL },
    { "and an iteration without the marker",
      EXIT(0),
      { .until = UNTIL_DONE, .question = "?" },
      OUTCOME_ASKED,
      "?" },
    { "and the marker",
      EXIT(0),
      { .until = UNTIL_DONE, .marker = MARKER_FILE, .question = "?" },
      OUTCOME_ASKED,
      "?" },
    { "and a denied permission",
      EXIT(0),
      { .reported = RESULT(DENIED), .denial = "not permitted: Bash", .question = "?" },
      OUTCOME_ASKED,
      "?" },
    { "but not a cancel",
      KIND(STOPPED),
      { .stop_requested = true, .question = "?" },
      OUTCOME_CANCELED,
      NULL },
    { "nor a limit",
      EXIT(1),
      { .has_account = true, .reported = RESULT(LIMITED), .question = "?" },
      OUTCOME_LIMITED,
      NULL },
    { "nor a closed account",
      EXIT(1),
      { .has_account = true, .reported = RESULT(AUTH), .question = "?" },
      OUTCOME_CLOSED,
      NULL },
    { "nor a loss", KIND(LOST), { .question = "?" }, OUTCOME_LOST, NULL },
    { "nor a failed launch", KIND(LAUNCH), { .question = "?" }, OUTCOME_LAUNCH, NULL },
    { "nor a timeout", KIND(TIMEOUT), { .question = "?" }, OUTCOME_TIMEOUT, NULL },
    { "a question stops no loop that changes nothing",
      EXIT(0),
      { .until = UNTIL_DONE, .question = "?", .tree = "a", .most_same_trees = 1, .same_trees = 5 },
      OUTCOME_ASKED,
      "?" },

    { "a session that does not exist any more",
      EXIT(1),
      { .resumes = true, .reported = REPORT(.result = AGENT_FAILED, .session_is_lost = true) },
      OUTCOME_NEW_SESSION,
      NULL },
    { "a timeout without a final message stays one",
      KIND(TIMEOUT),
      { .reported = RESULT(CRASHED) },
      OUTCOME_TIMEOUT,
      NULL },
    { "a final message before the timeout counts",
      KIND(TIMEOUT),
      { .reported = RESULT(OK) },
      OUTCOME_OK,
      NULL },
    { "a lost run stays lost", KIND(LOST), { .reported = RESULT(OK) }, OUTCOME_LOST, NULL },

    /* limits and budgets */
    { "a run that was asked to wait and gives up has not failed",
      EXIT(1),
      { .gave_up_waiting = true },
      OUTCOME_LIMITED,
      NULL },
    { "an account that is limited for too long is closed",
      EXIT(1),
      { .has_account = true, .reported = RESULT(LIMITED), .exhausted_account = "anthropic" },
      OUTCOME_CLOSED,
      "account 'anthropic' is limited for longer than limiter.max_wait_s allows; when it works "
      "again: sluice limiter clear anthropic" },
    { "that matters to no other outcome",
      EXIT(1),
      { .reported = RESULT(FAILED), .exhausted_account = "anthropic" },
      OUTCOME_FAILED,
      "from the agent" },
    { "a stop for a budget",
      KIND(STOPPED),
      { .budget_stop = "stopped: it has used 2" },
      OUTCOME_BUDGET,
      "stopped: it has used 2" },
    { "which does not undo a success",
      EXIT(0),
      { .budget_stop = "stopped: it has used 2" },
      OUTCOME_OK,
      "" },
    { "nor a cancel",
      KIND(STOPPED),
      { .budget_stop = "stopped: it has used 2", .stop_requested = true },
      OUTCOME_CANCELED,
      "" },

    /* children and work */
    { "children that cannot be added fail the run",
      EXIT(0),
      { .spawn_error = "line 3: bad", .reported = RESULT(OK) },
      OUTCOME_FAILED,
      "line 3: bad" },
    { "or make it invalid, if it validates",
      EXIT(0),
      { .until = UNTIL_VALIDATE, .spawn_error = "line 3: bad" },
      OUTCOME_INVALID,
      "line 3: bad" },
    { "work that was not delivered decides",
      { .kind = RUN_END_EXIT, .message = "conflict in a.c" },
      { .delivery_failed = true, .delivery_outcome = OUTCOME_CONFLICT, .reported = RESULT(OK) },
      OUTCOME_CONFLICT,
      "conflict in a.c" },
    { "the message of a success is that of its agent",
      EXIT(0),
      { .reported = RESULT(OK), .delivery_note = "merged into 'main'" },
      OUTCOME_OK,
      "from the agent" },
    { "else what became of its work",
      EXIT(0),
      { .delivery_note = "merged into 'main'" },
      OUTCOME_OK,
      "merged into 'main'" },
    { "that nothing changed is never hidden",
      EXIT(0),
      { .reported = RESULT(OK), .delivery_note = "no changes", .changed_nothing = true },
      OUTCOME_OK,
      "no changes; it reported: from the agent" },
    { "a failure has no delivery",
      EXIT(1),
      { .delivery_note = "no changes", .changed_nothing = true },
      OUTCOME_FAILED,
      "" },

    /* repeats */
    { "iterations that change nothing",
      EXIT(0),
      { .until = UNTIL_DONE, .tree = "a", .most_same_trees = 2, .same_trees = 2 },
      OUTCOME_STUCK,
      "2 iterations have changed nothing in its work tree (loop.stuck_iterations)" },
    { "not before that number",
      EXIT(0),
      { .until = UNTIL_DONE, .tree = "a", .most_same_trees = 2, .same_trees = 1 },
      OUTCOME_UNFINISHED,
      "" },
    { "a conflict that the next iteration repairs counts, too",
      EXIT(0),
      { .delivery_failed = true,
        .delivery_outcome = OUTCOME_CONFLICT,
        .conflict_iterates = true,
        .tree = "a",
        .most_same_trees = 2,
        .same_trees = 2 },
      OUTCOME_STUCK,
      "2 iterations have changed nothing in its work tree (loop.stuck_iterations)" },
    { "a conflict that ends the task stays one",
      EXIT(0),
      { .delivery_failed = true,
        .delivery_outcome = OUTCOME_CONFLICT,
        .tree = "a",
        .most_same_trees = 2,
        .same_trees = 2 },
      OUTCOME_CONFLICT,
      "" },
    { "a success is never stuck",
      EXIT(0),
      { .tree = "a", .most_same_trees = 2, .same_trees = 2 },
      OUTCOME_OK,
      "" },
    { "the same failure again and again",
      EXIT(3),
      { .most_same_failures = 3, .last_failure = "exit code 3, signal 0", .same_failures = 2 },
      OUTCOME_STUCK,
      "the same failure 3 times (retry.same_text): exit code 3, signal 0" },
    { "another failure begins again",
      EXIT(4),
      { .most_same_failures = 3, .last_failure = "exit code 3, signal 0", .same_failures = 2 },
      OUTCOME_FAILED,
      "" },
};

TEST(each_rule_of_the_table_holds) {
    unsigned failed = 0;
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        const struct rule *rule = &rules[i];
        struct end_facts facts = rule->facts;
        struct end_verdict verdict;
        facts.end = &rule->end;
        run_outcome_decide(&facts, &verdict);
        bool is_right = verdict.outcome == rule->outcome
                        && (!rule->message || strcmp(verdict.message, rule->message) == 0);
        if (!is_right)
            print_message("%s: outcome %d, message '%s'\n", rule->text, (int)verdict.outcome,
                          verdict.message);
        failed += !is_right;
    }
    assert_int_equal(failed, 0);
}

TEST(only_what_may_repeat_is_counted) {
    struct end_verdict verdict;
    struct run_end end = EXIT(1);
    struct end_facts facts = {
        .end = &end, .tree = "a", .most_same_trees = 3, .most_same_failures = 3
    };
    run_outcome_decide(&facts, &verdict);
    assert_string_equal(verdict.failure, "exit code 1, signal 0");
    assert_false(verdict.counts_tree);
    end = (struct run_end)CHECK(1);
    run_outcome_decide(&facts, &verdict);
    assert_string_equal(verdict.failure, "check 2: exit code 1");
    assert_true(verdict.counts_tree);
    end.kind = RUN_END_STOPPED;
    run_outcome_decide(&facts, &verdict);
    assert_string_equal(verdict.failure, "");
    assert_false(verdict.counts_tree);
}

TEST(a_long_message_is_cut_between_characters) {
    struct end_verdict verdict;
    struct agent_outcome reported = { .result = AGENT_OK };
    struct run_end end = EXIT(0);
    struct end_facts facts = { .end = &end, .reported = &reported, .changed_nothing = true };
    memset(reported.message, 'x', 254);
    strcpy(reported.message + 254, "\xc3\xa4 and more");
    run_outcome_decide(&facts, &verdict);
    static const char prefix[] = "no changes; it reported: ";
    assert_int_equal(strncmp(verdict.message, prefix, strlen(prefix)), 0);
    assert_int_equal(strlen(verdict.message), 255);
    facts.changed_nothing = false;
    run_outcome_decide(&facts, &verdict);
    assert_int_equal(strlen(verdict.message), 254);
    assert_int_equal(verdict.message[253], 'x');
}

TEST(the_feedback_on_a_check_lacks_the_report_of_the_agent) {
    struct end_verdict verdict;
    struct run_end end = CHECK(0);
    struct end_facts facts = { .end = &end, .reported = RESULT(OK) };
    run_outcome_decide(&facts, &verdict);
    assert_string_equal(verdict.own_message, "");
    assert_string_equal(verdict.message, "from the agent");
}
