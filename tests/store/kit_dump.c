/* kit_dump.c: the contents of a store as text, read through its public interface. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "kit.h"
#include "store/store_internal.h"

static const char *or_none(const char *text) {
    return text ? text : "(none)";
}

void kit_print_task(const struct task_row *row, struct strbuf *out) {
    const struct task_spec *t = &row->spec;
    strbuf_printf(out, "task %" PRIu64 " %" PRIu64 " project=%s kind=%s agent=%s limiter=%s",
                  row->id, t->id, or_none(row->project), or_none(row->kind), or_none(row->agent),
                  or_none(row->limiter));
    strbuf_printf(out, " workspace=%s serial=%s resources=%s run=%s/%s/%d", or_none(row->workspace),
                  or_none(row->serial), or_none(row->resources), or_none(row->run_agent),
                  or_none(row->run_limiter), t->run_unlimited);
    strbuf_printf(out, " priority=%d parent=%" PRIu64 "/%u created=%" PRId64 " ready=%" PRId64,
                  t->priority, t->parent, t->parent_iteration, t->created_at, t->ready_since);
    strbuf_printf(out, " clock=%" PRId64 " told=%s", t->ready_clock, reason_name(t->reason));
    strbuf_printf(out, " not_before=%" PRId64 " iteration=%u attempt=%u state=%s hold=%s phase=%s",
                  t->not_before, t->iteration, t->attempt, task_state_name(t->state),
                  hold_name(t->hold), run_phase_name(t->phase));
    strbuf_printf(out, " started=%" PRId64 " until=%s gate=%s flags=%d%d%d keeps=%u retry=%d",
                  t->started_at, until_name(t->until), parent_gate_name(t->parent_gate),
                  t->parallelizable, t->review, t->artifact_missing, t->keeps, t->retry_max);
    strbuf_printf(out, " counters=%u,%u,%u,%u,%u stop=%s group=%u reason=%s changed=%" PRId64,
                  t->failures, t->launch_failures, t->losses, t->restarts, t->breaker_openings,
                  stop_request_name(t->stop), t->group, reason_name(row->reason), row->changed_at);
    if (t->lender || t->borrowed) /* the dumps of older versions know none */
        strbuf_printf(out, " lender=%" PRIu64 "/%u", t->lender, t->borrowed);
    if (t->bound)
        strbuf_puts(out, " bound");
    for (size_t i = 0; i < row->depends_on_count; i++)
        strbuf_printf(out, " needs=%" PRIu64, row->depends_on[i]);
    strbuf_putc(out, '\n');
}

void kit_print_spec(const struct spec_row *row, struct strbuf *out) {
    strbuf_printf(out, "spec %" PRIu64 " title=%s external=%s json=%zu:%.*s", row->id,
                  or_none(row->title), or_none(row->external_id), row->json_size,
                  (int)row->json_size, or_none(row->json));
    if (row->context) /* the dumps of older versions know none */
        strbuf_printf(out, " context=%s", row->context);
    strbuf_putc(out, '\n');
}

void kit_print_run(const struct run_row *row, struct strbuf *out) {
    strbuf_printf(out, "run %" PRIu64 "/%u iteration=%u agent=%s executor=%s host=%s boot=%s",
                  row->task, row->attempt, row->iteration, or_none(row->agent),
                  or_none(row->executor), or_none(row->host), or_none(row->boot_id));
    strbuf_printf(out, " folder=%s phase=%s ended=%d times=%" PRId64 ",%" PRId64 ",%" PRId64,
                  or_none(row->folder), run_phase_name(row->phase), row->ended, row->ordered_at,
                  row->started_at, row->ended_at);
    strbuf_printf(out, " outcome=%s how=%s exit=%d/%d tokens=%" PRId64 ",%" PRId64 " cost=%" PRId64,
                  outcome_name(row->outcome), or_none(row->how), row->exit_code, row->exit_signal,
                  row->tokens_in, row->tokens_out, row->cost_micro_usd);
    strbuf_printf(out, " applied=%s message=%s%s", or_none(row->applied), or_none(row->message),
                  row->stop_now ? " stop_now" : "");
    if (row->token_hash) /* older versions have none */
        strbuf_printf(out, " token=%s", row->token_hash);
    if (row->limited_until) /* older versions have none */
        strbuf_printf(out, " limited=%" PRId64, row->limited_until);
    if (row->tokens_cached >= 0 || row->session) /* the same */
        strbuf_printf(out, " cached=%" PRId64 " session=%s%s model=%s said=%s", row->tokens_cached,
                      or_none(row->session), row->resumed ? " resumed" : "", or_none(row->model),
                      or_none(row->result));
    if (row->shim_key || row->shim_pid || row->shim_start || row->cgroup) /* the same */
        strbuf_printf(out, " key=%s shim=%" PRId64 "@%" PRId64 "/%" PRId64 " cgroup=%s",
                      or_none(row->shim_key), row->shim_pid, row->shim_start, row->shim_space,
                      or_none(row->cgroup));
    strbuf_putc(out, '\n');
}

void kit_print_event(const struct event_row *row, struct strbuf *out) {
    strbuf_printf(out, "event %" PRIu64 " at=%" PRId64 " kind=%s task=%" PRIu64 "/%u data=%s\n",
                  row->seq, row->at, or_none(row->kind), row->task, row->attempt,
                  or_none(row->data));
}

/* Sorts the lines of a text: for rows without an order. */
static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_sorted(struct strbuf *text, struct strbuf *out) {
    char *lines[256];
    size_t count = 0;
    for (char *line = strtok(text->text, "\n"); line; line = strtok(NULL, "\n")) {
        assert_true(count < ARRAY_SIZE(lines));
        lines[count++] = line;
    }
    qsort(lines, count, sizeof(*lines), by_text);
    for (size_t i = 0; i < count; i++)
        strbuf_printf(out, "%s\n", lines[i]);
}

struct loaded {
    struct strbuf ordered, loose;
};

/* --- what loading reads -------------------------------------------------------------------------- */

/* Dumps of version 1 end here. */
static void dump_who(struct strbuf *out, const char *by, time_ms at) {
    if (by || at)
        strbuf_printf(out, " by=%s at=%" PRId64, or_none(by), at);
    strbuf_putc(out, '\n');
}

static int dump_project(void *ctx, const struct project_row *row, struct error *err) {
    (void)err;
    struct strbuf *out = &((struct loaded *)ctx)->ordered;
    strbuf_printf(out, "project %s prefix=%s paused=%d created=%" PRId64, row->name, row->prefix,
                  row->paused, row->created_at);
    dump_who(out, row->paused_by, row->paused_at);
    return 0;
}

static int dump_limiter(void *ctx, const struct limiter_row *row, struct error *err) {
    (void)err;
    const struct limiter_spec *t = &row->spec;
    strbuf_printf(&((struct loaded *)ctx)->loose,
                  "limiter %s until=%" PRId64 " hits=%u closed=%d since=%" PRId64 " last=%" PRId64
                  " in_backoff=%d ramp=%" PRId64,
                  row->name, t->backoff_until, t->hits, t->closed, t->backoff_since, t->last_hit,
                  t->in_backoff, t->ramp_since);
    if (t->last_success) /* older versions have none */
        strbuf_printf(&((struct loaded *)ctx)->loose, " success=%" PRId64, t->last_success);
    for (unsigned w = 0; w < QUOTA_WINDOW_MAX; w++)
        if (t->quota[w].resets_at) /* the same */
            strbuf_printf(&((struct loaded *)ctx)->loose, " %s=%" PRId32 ",%" PRId64,
                          quota_window_name(w), t->quota[w].used_milli, t->quota[w].resets_at);
    strbuf_putc(&((struct loaded *)ctx)->loose, '\n');
    return 0;
}

static int dump_agent(void *ctx, const struct agent_row *row, struct error *err) {
    (void)err;
    const struct agent_spec *t = &row->spec;
    strbuf_printf(&((struct loaded *)ctx)->loose,
                  "agent %s idle=%d launch_failures=%u openings=%u closed=%" PRId64 "\n", row->name,
                  t->idle, t->launch_failures, t->openings, t->closed_until);
    return 0;
}

static int dump_group(void *ctx, const struct group_row *row, struct error *err) {
    (void)err;
    strbuf_printf(&((struct loaded *)ctx)->ordered,
                  "group %u %s owned=%d closed=%d times=%" PRId64 ",%" PRId64 "\n", row->id,
                  row->name, row->owned, row->closed, row->created_at, row->closed_at);
    return 0;
}

static int dump_usage(void *ctx, const struct usage_row *row, struct error *err) {
    (void)err;
    struct strbuf *out = &((struct loaded *)ctx)->loose;
    strbuf_printf(out,
                  "usage %s bucket=%" PRId64 " tokens=%" PRId64 " unreported=%" PRId64
                  " counts=%d,%d,%d",
                  or_none(row->project), row->bucket, row->tokens, row->unreported, row->reports,
                  row->starts, row->completions);
    if (row->money || row->priced || row->unpriced) /* versions before 7 do not have it */
        strbuf_printf(out, " money=%" PRId64 " of=%d,%d", row->money, row->priced, row->unpriced);
    strbuf_putc(out, '\n');
    return 0;
}

static int dump_wait(void *ctx, const struct wait_row *row, struct error *err) {
    (void)err;
    strbuf_printf(&((struct loaded *)ctx)->loose,
                  "wait %s/%s%s%s lost=%" PRId64 " closed=%" PRId64 "\n", row->project,
                  or_none(row->limiter), row->agent ? "/" : "", row->agent ? row->agent : "",
                  row->lost, row->closed_since);
    return 0;
}

static int dump_note(void *ctx, const struct note_row *row, struct error *err) {
    (void)err;
    strbuf_printf(&((struct loaded *)ctx)->loose, "note %s: %s\n", row->name, row->text);
    return 0;
}

static int dump_task(void *ctx, const struct task_row *row, struct error *err) {
    (void)err;
    kit_print_task(row, &((struct loaded *)ctx)->ordered);
    return 0;
}

static int dump_run(void *ctx, const struct run_row *row, struct error *err) {
    (void)err;
    struct loaded *loaded = ctx;
    strbuf_puts(&loaded->ordered, "open ");
    kit_print_run(row, &loaded->ordered);
    return 0;
}

/* --- answers to questions ------------------------------------------------------------------------- */

struct dump {
    struct strbuf *out;
    enum row_kind kind; /* of the rows of an answer */
    uint64_t last_event;
    size_t count;
};

static void dump_answer(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct dump *dump = ctx;
    if (err)
        fail_msg("a question is not answered: %s", err->text);
    dump->count = answer->count;
    for (size_t i = 0; i < answer->count; i++) {
        if (dump->kind == ROW_SPEC)
            kit_print_spec(&answer->specs[i], dump->out);
        if (dump->kind == ROW_RUN)
            kit_print_run(&answer->runs[i], dump->out);
        if (dump->kind == ROW_KIND_MAX)
            strbuf_printf(dump->out, "expired %" PRIu64 "\n", answer->tasks[i]);
        if (dump->kind == ROW_EVENT) {
            kit_print_event(&answer->events[i], dump->out);
            dump->last_event = answer->events[i].seq;
        }
        if (dump->kind == ROW_KEY)
            strbuf_printf(dump->out, "key %s at=%" PRId64 " status=%d answer=%s\n",
                          answer->key->key, answer->key->at, answer->key->status,
                          or_none(answer->key->answer));
    }
}

static void ask(struct store *store, const struct store_query *question, struct dump *dump) {
    dump->kind = store_answer_kind(question->kind);
    kit_ask(store, question, dump_answer, dump);
}

static void dump_by_task(struct store *store, struct dump *dump, task_id last_task) {
    for (task_id task = 1; task <= last_task; task++) {
        struct store_query spec = { .kind = QUERY_SPECS, .tasks = &task, .task_count = 1 };
        struct store_query runs = { .kind = QUERY_RUNS, .task = task };
        struct store_query events = { .kind = QUERY_EVENTS_BACK, .task = task, .limit = 3 };
        ask(store, &spec, dump);
        ask(store, &runs, dump);
        ask(store, &events, dump);
    }
}

void kit_dump(struct store *store, struct strbuf *out) {
    struct loaded loaded = { STRBUF_INIT, STRBUF_INIT };
    struct store_reader reader = { .project = dump_project,
                                   .limiter = dump_limiter,
                                   .agent = dump_agent,
                                   .group = dump_group,
                                   .usage = dump_usage,
                                   .wait = dump_wait,
                                   .note = dump_note,
                                   .task = dump_task,
                                   .run = dump_run,
                                   .ctx = &loaded };
    struct store_totals totals = kit_load(store, &reader);
    strbuf_puts(out, strbuf_text(&loaded.ordered));
    if (loaded.loose.length > 0)
        add_sorted(&loaded.loose, out);
    strbuf_finish(&loaded.ordered);
    strbuf_finish(&loaded.loose);
    strbuf_printf(
        out,
        "totals last_task=%" PRIu64 " events=%" PRIu64 "..%" PRIu64 " tasks=%" PRIu64 " paused=%d",
        totals.last_task, totals.first_event, totals.last_event, totals.tasks, totals.pause.paused);
    dump_who(out, totals.pause.by, totals.pause.at);
    struct dump dump = { .out = out };
    dump_by_task(store, &dump, totals.last_task);
    dump.last_event = 0;
    do {
        struct store_query events = { .kind = QUERY_EVENTS, .after = dump.last_event };
        ask(store, &events, &dump);
    } while (dump.count == STORE_ANSWER_MAX);
    struct store_query expired = { .kind = QUERY_EXPIRED, .before_time = TIME_NEVER };
    ask(store, &expired, &dump);
    for (unsigned i = 1; i <= KIT_KEYS; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "key-%u", i);
        struct store_query by_key = { .kind = QUERY_KEY, .key = key };
        struct store_query web = { .kind = QUERY_EXTERNAL, .key = key, .project = "web" };
        struct store_query api = { .kind = QUERY_EXTERNAL, .key = key, .project = "api" };
        ask(store, &by_key, &dump);
        ask(store, &web, &dump);
        ask(store, &api, &dump);
    }
}
