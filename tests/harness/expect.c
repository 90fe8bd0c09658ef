/* expect.c: the assertions of world.h. A failed assertion prints the orders of the last decision and the state of all
 * tasks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/order_print.h"
#include "harness/world.h"

/* --- printing the state ---------------------------------------------------------------------- */

static const char *name_of(const void *ctx, task_id task) {
    return world_name(ctx, task);
}

static void print_orders(const struct world *w) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < w->order_count; i++) {
        strbuf_printf(&text, "  %-12s ", world_name(w, w->orders[i].task));
        order_print(&w->orders[i], core_symbols(w->core), &text);
        strbuf_putc(&text, '\n');
    }
    print_error("orders of the last decision:\n%s", strbuf_text(&text));
}

static void print_tasks(const struct world *w) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const struct task_names names = { name_of, w };
    struct symbol_table *symbols = core_symbols(w->core);
    for (task_id id = 1; id <= w->tasks.count; id++) {
        struct task_view view;
        struct verdict verdict;
        if (!core_task(w->core, id, &view))
            continue;
        strbuf_printf(&text, "  %-12s %s (%s)", world_name(w, id), task_state_name(view.state),
                      reason_name(view.reason));
        if (core_blocked(w->core, id, &verdict)) {
            strbuf_puts(&text, "  ");
            verdict_code(&verdict, symbols, &text);
            strbuf_puts(&text, ": ");
            verdict_message(&verdict, symbols, &names, &text);
        }
        strbuf_putc(&text, '\n');
    }
    print_error("tasks:\n%s", strbuf_text(&text));
}

/* Does not return. */
static void fail_with_state(const struct world *w, struct place place, const char *expected,
                            const char *got) {
    print_error("expected: %s\n     got: %s\n", expected, got);
    print_orders(w);
    print_tasks(w);
    _fail(place.file, place.line);
}

static void compare(const struct world *w, struct place place, const struct strbuf *expected,
                    const struct strbuf *got) {
    if (strcmp(strbuf_text(expected), strbuf_text(got)) != 0)
        fail_with_state(w, place, strbuf_text(expected), strbuf_text(got));
}

/* --- orders ---------------------------------------------------------------------------------- */

static void compare_tasks(struct world *w, enum order_kind kind, enum task_state to,
                          const char *const *tasks, struct place place) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT, got = STRBUF_INIT;
    const char *what = kind == ORDER_START  ? "started"
                       : kind == ORDER_STOP ? "stopped"
                                            : task_state_name(to);
    strbuf_printf(&expected, "%s:", what);
    strbuf_printf(&got, "%s:", what);
    for (; *tasks; tasks++)
        strbuf_printf(&expected, " %s", *tasks);
    for (size_t i = 0; i < w->order_count; i++) {
        const struct order *o = &w->orders[i];
        if (o->kind == kind && (kind != ORDER_CHANGE || o->to == to))
            strbuf_printf(&got, " %s", world_name(w, o->task));
    }
    compare(w, place, &expected, &got);
}

void expect_started(struct world *w, const char *const *tasks, struct place place) {
    compare_tasks(w, ORDER_START, TASK_STARTING, tasks, place);
}

void expect_stopped(struct world *w, const char *const *tasks, struct place place) {
    compare_tasks(w, ORDER_STOP, TASK_ABSENT, tasks, place);
}

void expect_became(struct world *w, enum task_state state, const char *const *tasks,
                   struct place place) {
    compare_tasks(w, ORDER_CHANGE, state, tasks, place);
}

void expect_start_count(struct world *w, size_t count, struct place place) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT, got = STRBUF_INIT;
    strbuf_printf(&expected, "%zu started", count);
    strbuf_printf(&got, "%zu started", w->started);
    compare(w, place, &expected, &got);
}

const struct order *world_start(struct world *w, size_t n) {
    for (size_t i = 0; i < w->order_count; i++)
        if (w->orders[i].kind == ORDER_START && n-- == 0)
            return &w->orders[i];
    fail_msg("the last decision started fewer");
    return NULL;
}

/* --- tasks ----------------------------------------------------------------------------------- */

struct task_view world_view(struct world *w, const char *task) {
    struct task_view view = { 0 };
    if (!core_task(w->core, world_number(w, task), &view))
        fail_msg("task '%s' is not there", task);
    return view;
}

void expect_blocked(struct world *w, const char *task, const char *code, struct place place) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT, got = STRBUF_INIT;
    struct verdict verdict;
    strbuf_printf(&expected, "%s blocked by %s", task, code);
    strbuf_printf(&got, "%s blocked by ", task);
    if (core_blocked(w->core, world_number(w, task), &verdict))
        verdict_code(&verdict, core_symbols(w->core), &got);
    else
        strbuf_puts(&got, "nothing");
    compare(w, place, &expected, &got);
}

void expect_state(struct world *w, const char *task, enum task_state state, struct place place) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT, got = STRBUF_INIT;
    strbuf_printf(&expected, "%s %s", task, task_state_name(state));
    strbuf_printf(&got, "%s %s", task, task_state_name(world_view(w, task).state));
    compare(w, place, &expected, &got);
}

void expect_reason(struct world *w, const char *task, enum reason reason, struct place place) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT, got = STRBUF_INIT;
    strbuf_printf(&expected, "%s because of %s", task, reason_name(reason));
    strbuf_printf(&got, "%s because of %s", task, reason_name(world_view(w, task).reason));
    compare(w, place, &expected, &got);
}

void expect_failed(struct world *w, const char *task, enum reason reason, struct place place) {
    expect_state(w, task, TASK_FAILED, place);
    expect_reason(w, task, reason, place);
}

void expect_held(struct world *w, const char *task, enum hold hold, time_ms span,
                 struct place place) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT, got = STRBUF_INIT;
    struct task_view view = world_view(w, task);
    strbuf_printf(&expected, "%s held(%s) for %" PRId64 " ms", task, hold_name(hold), span);
    strbuf_printf(&got, "%s %s(%s) for %" PRId64 " ms", task, task_state_name(view.state),
                  hold_name(view.hold), view.not_before ? view.not_before - w->now : 0);
    compare(w, place, &expected, &got);
}

void expect_score(struct world *w, const char *task, int32_t score, struct place place) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT, got = STRBUF_INIT;
    strbuf_printf(&expected, "%s has score %" PRId32, task, score);
    strbuf_printf(&got, "%s has score %" PRId32, task, world_view(w, task).score);
    compare(w, place, &expected, &got);
}

/* --- shares, limiters, wakeups, leases ------------------------------------------------------- */

struct share_view world_share(struct world *w, const char *project) {
    struct share_view view = { 0 };
    if (!core_share(w->core, world_sym(w, project), &view))
        fail_msg("project '%s' is not there", project);
    return view;
}

struct limiter_view world_limiter(struct world *w, const char *limiter) {
    struct limiter_view view = { 0 };
    if (!core_limiter(w->core, world_sym(w, limiter), &view))
        fail_msg("limiter '%s' is not there", limiter);
    return view;
}

static void print_span(struct strbuf *out, time_ms span) {
    if (span == TIME_NEVER)
        strbuf_puts(out, "never woken");
    else
        strbuf_printf(out, "woken in %" PRId64 " ms", span);
}

void expect_wakes_in(struct world *w, time_ms span, struct place place) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT, got = STRBUF_INIT;
    time_ms at = core_next_wakeup(w->core);
    print_span(&expected, span);
    print_span(&got, at == TIME_NEVER ? TIME_NEVER : at - w->now);
    compare(w, place, &expected, &got);
}

void expect_places(struct world *w, enum lease_kind kind, const char *name, const char *used_cap,
                   struct place place) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT, got = STRBUF_INIT;
    const char *label = name ? name : "";
    amount used = 0, cap = 0;
    strbuf_printf(&expected, "%s:%s %s", lease_kind_name(kind), label, used_cap);
    if (!core_lease(w->core, kind, world_sym(w, name), &used, &cap))
        strbuf_printf(&got, "%s:%s not there", lease_kind_name(kind), label);
    else if (cap == UNLIMITED)
        strbuf_printf(&got, "%s:%s %" PRId64 " of unlimited", lease_kind_name(kind), label, used);
    else
        strbuf_printf(&got, "%s:%s %" PRId64 " of %" PRId64, lease_kind_name(kind), label, used,
                      cap);
    compare(w, place, &expected, &got);
}
