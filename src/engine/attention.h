/* attention.h: what waits for a person, worst first.
 *
 * One list for all front ends. Its tasks are kept up to date as they change, so that reading the
 * first of them costs the same with ten tasks as with a million. Alerts and questions come from
 * their own lists (alert.h, questions.h); an alert about a task that is an item itself is omitted.
 *
 * Within a kind the order is the number of the task, which does not change while a person works:
 * oldest first, but of failures the newest first. A person may dismiss a failure: then it is not an
 * item until it has run and failed again. */
#pragma once

#include "engine/alert.h"
#include "engine/engine.h"

/* Worst first: the kind, its name for programs and its label for people. */
/* clang-format off */
#define ATTENTION_KINDS(X) \
    X(ATTENTION_STOPPED, "stopped", "stopped") /* no space: nothing starts, or no task is taken */ \
    X(ATTENTION_ACCOUNT, "account", "account closed") /* closed: nothing that uses it starts */ \
    X(ATTENTION_AGENT, "agent", "agent closed") /* could not be launched several times in a row */ \
    X(ATTENTION_WINDOW, "window", "budget used up") /* the budget of a project, or of all, is used up */ \
    X(ATTENTION_QUESTION, "question", "question") \
    X(ATTENTION_DENIED, "denied", "permission denied") /* an agent lacks a permission */ \
    X(ATTENTION_BLOCKING, "blocking", "blocks others") /* ended without being done, and other tasks wait for it */ \
    X(ATTENTION_PICK, "pick", "pick one") /* one of several candidates is to be picked */ \
    X(ATTENTION_REVIEW, "review", "review") \
    X(ATTENTION_BUDGET, "budget", "budget used up") /* of a task */ \
    X(ATTENTION_BREAKER, "breaker", "could not start") /* could not be launched several times in a row */ \
    X(ATTENTION_CLOSE, "close", "close it") /* finished from outside, or its marker is not a file */ \
    X(ATTENTION_FAILED, "failed", "failed") \
    X(ATTENTION_ALERT, "alert", "look") /* any other alert */
/* clang-format on */
#define ATTENTION_VALUE(value, name, label) value,
enum attention_kind { ATTENTION_KINDS(ATTENTION_VALUE) ATTENTION_MAX };
#undef ATTENTION_VALUE
const char *attention_kind_name(enum attention_kind kind);
const char *attention_kind_label(enum attention_kind kind);

struct engine_attention {
    enum attention_kind kind;
    task_id task;                     /* 0: none */
    const struct engine_alert *alert; /* NULL: none */
};

/* Fills at most `max` items and returns their number. */
size_t engine_attention(const struct engine *engine, struct engine_attention *ret, size_t max);
/* The number of items of each kind; returns the sum. `ret` may be NULL. */
size_t engine_attention_count(const struct engine *engine, size_t ret[ATTENTION_MAX]);

/* Inside a turn, of a failure. 1: no change. `is_dismissed` false: an item again. */
int engine_dismiss(struct engine *engine, task_id task, bool is_dismissed, const char *by);
