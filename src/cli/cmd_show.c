/* cmd_show.c: shows a task with its state and runs. */
#include <inttypes.h>
#include <string.h>

#include "cli/print_task.h"
#include "cli/request.h"
#include "os/clock.h"

#define LABEL_WIDTH 12
#define FIELD_LINES 6 /* of a long prompt; --json has all of it */

struct sheet {
    struct strbuf out;
    size_t width; /* of a line; 0: unlimited */
    time_ms now;
};

/* --- fields ---------------------------------------------------------------------------------- */

/* Nothing if the text is empty. */
_printf_(3, 4) static void put_field(struct sheet *s, const char *label, const char *format, ...) {
    CMD_PRINT_ARGS(text, format);
    if (text.length == 0)
        return;
    strbuf_printf(&s->out, "  %s%-*s%s ", output_style()->dim, LABEL_WIDTH - 1, label,
                  output_style()->reset);
    print_wrapped(&s->out, strbuf_text(&text), 2 + LABEL_WIDTH, FIELD_LINES);
    strbuf_putc(&s->out, '\n');
}

static void put_member(struct sheet *s, const char *label, const json_t *object, const char *key) {
    put_field(s, label, "%s", get_text(object, key, ""));
}

static void put_value(struct strbuf *out, const json_t *value);

/* KEY=VALUE, and KEY.KEY=VALUE for nested members. */
static void put_pairs(struct strbuf *out, const char *before, const json_t *object) {
    EACH_MEMBER(key, item, object) {
        _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
        strbuf_printf(&name, "%s%s", before, key);
        if (json_is_object(item) && json_object_size(item) > 0) {
            strbuf_putc(&name, '.');
            put_pairs(out, strbuf_text(&name), item);
            continue;
        }
        strbuf_printf(out, "%s%s=", out->length > 0 ? " " : "", strbuf_text(&name));
        put_value(out, item);
    }
}

/* A member of the spec as text: words separated by blanks, objects as KEY=VALUE. */
static void put_value(struct strbuf *out, const json_t *value) {
    size_t i;
    json_t *item;
    if (json_is_string(value)) {
        strbuf_puts(out, json_string_value(value));
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, item) {
            strbuf_puts(out, i > 0 ? ", " : "");
            const json_t *argv = json_is_object(item) ? json_object_get(item, "argv") : item;
            if (json_is_array(argv))
                print_argv(out, argv);
            else
                put_value(out, item);
        }
    } else if (json_is_object(value)) {
        put_pairs(out, "", value);
    } else {
        output_add_json(value, out);
    }
}

/* --- sections -------------------------------------------------------------------------------- */

static void put_heading(struct sheet *s, const json_t *task) {
    const struct output_style *style = output_style();
    const char *title = print_title(task);
    strbuf_puts(&s->out, style->bold);
    print_line(&s->out, get_text(task, "id", "?"), 0);
    strbuf_printf(&s->out, "%s  ", style->reset);
    size_t used = strlen(get_text(task, "id", "?")) + 2;
    print_line(&s->out, title ? title : "", s->width > used + 20 ? s->width - used : 0);
    strbuf_putc(&s->out, '\n');
}

static void put_state(struct sheet *s, const json_t *task) {
    const char *state = get_text(task, "state", "?"), *reason = get_text(task, "reason", NULL);
    strbuf_printf(&s->out, "  %s%-*s%s%s%s%s", output_style()->dim, LABEL_WIDTH, "state",
                  output_style()->reset, print_state_colour(state), print_state(task).text,
                  output_style()->reset);
    if (reason && *reason && strcmp(reason, "none") != 0)
        strbuf_printf(&s->out, ", %s", reason);
    if (get_int(task, "changed_at", 0) > 0)
        strbuf_printf(&s->out, ", %s", print_when(get_int(task, "changed_at", 0), s->now).text);
    if (get_int(task, "not_before", 0) > s->now)
        strbuf_printf(&s->out, ", continues %s",
                      print_when(get_int(task, "not_before", 0), s->now).text);
    strbuf_putc(&s->out, '\n');
}

/* "Which database? (sqlite, postgres)", and its answer, or how to give one. */
static void put_question(struct sheet *s, const json_t *task) {
    const json_t *question = json_object_get(task, "question");
    const char *answer = get_text(question, "answer", NULL);
    const char *by = get_text(question, "by", NULL);
    if (!json_is_object(question))
        return;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, get_text(question, "question", ""));
    if (json_array_size(json_object_get(question, "choices")) > 0) {
        strbuf_puts(&text, " (");
        put_value(&text, json_object_get(question, "choices"));
        strbuf_putc(&text, ')');
    }
    put_field(s, "question", "%s", strbuf_text(&text));
    if (answer)
        put_field(s, "answer", "%s%s%s", answer, by ? ", by " : "", by ? by : "");
    else if (member_is(question, "state", "open"))
        put_field(s, "answer", "sluice answer %s TEXT", get_text(task, "id", "?"));
}

/* The message that continued it, and who has got it. */
static void put_follow_up(struct sheet *s, const json_t *task) {
    const json_t *message = json_object_get(task, "follow_up");
    const char *by = get_text(message, "by", NULL);
    int64_t attempt = get_int(message, "attempt", 0);
    if (!json_is_object(message))
        return;
    put_field(s, "message", "%s", get_text(message, "message", ""));
    put_field(s, "message for", "%s%s%s",
              attempt > 0 ? print_format("attempt %" PRId64, attempt).text : "the next attempt",
              by ? ", by " : "", by ? by : "");
}

/* Each candidate with its state and its cost, and the pick. */
static void put_best_of(struct sheet *s, const json_t *task) {
    const json_t *best_of = json_object_get(task, "best_of");
    const json_t *all = json_object_get(best_of, "candidates");
    const char *by = get_text(best_of, "by", NULL);
    EACH_ITEM(candidate, all) {
        bool is_known = json_is_number(json_object_get(candidate, "usd"));
        put_field(s, "candidate", "%s, %s, %s tokens, %s%s%s", get_text(candidate, "id", "?"),
                  print_state(candidate).text, print_short(get_int(candidate, "tokens", 0)).text,
                  is_known ? print_usd(get_real(candidate, "usd", 0)).text : "unknown cost",
                  get_text(candidate, "agent", NULL) ? ", agent " : "",
                  get_text(candidate, "agent", ""));
    }
    put_member(s, "chooser", best_of, "chooser");
    if (get_text(best_of, "picked", NULL))
        put_field(s, "picked", "%s%s%s", get_text(best_of, "picked", "?"), by ? ", by " : "",
                  by ? by : "");
    put_member(s, "not merged", best_of, "refused");
    put_member(s, "candidate of", task, "candidate_of");
}

static void put_project(struct sheet *s, const json_t *task) {
    static const char *const members[] = { "kind", "agent", "model", "group", "parent" };
    const char *steps = get_text(json_object_get(task, "escalation"), "text", NULL);
    const json_t *run = json_object_get(task, "run");
    const char *instead_of = get_text(run, "instead_of", NULL);
    time_ms until = get_int(run, "instead_until", 0);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, get_text(task, "project", "-"));
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const char *value = get_text(task, members[i], NULL);
        if (value)
            strbuf_printf(&text, ", %s %s", members[i], value);
    }
    put_field(s, "project", "%s, priority %" PRId64, strbuf_text(&text),
              get_int(task, "priority", 0));
    if (steps)
        put_field(s, "escalation", "%s", steps);
    if (instead_of) /* "codex, for claude, which opens in 2 h" */
        put_field(s, "runs with", "%s, for %s%s%s", get_text(run, "agent", "-"), instead_of,
                  until > 0 ? ", which opens " : "",
                  until > 0 ? print_when(until, s->now).text : "");
}

/* Where it runs, and what is being done around its run. */
static void put_workspace(struct sheet *s, const json_t *task) {
    const json_t *works_in = json_object_get(task, "works_in");
    const json_t *newest = json_array_get(json_object_get(task, "runs"), 0);
    const char *branch = get_text(works_in, "branch", NULL);
    const char *merge = get_text(works_in, "merge", "none");
    const char *partition = get_text(task, "partition", NULL);
    if (member_is(task, "executor", "slurm"))
        put_field(s, "runs in", "Slurm, %s%s", partition ? "partition " : "its default partition",
                  partition ? partition : "");
    /* Of a plain command only if it has one. */
    if (get_text(newest, "agent", NULL) || strcmp(get_text(newest, "sandbox", "none"), "none") != 0)
        put_member(s, "sandbox", newest, "sandbox");
    put_member(s, "works in", works_in, "path");
    if (branch)
        put_field(s, "branch", "%s, from %s%s%s", branch, get_text(works_in, "base", "?"),
                  strcmp(merge, "none") ? ", merge " : "", strcmp(merge, "none") ? merge : "");
    const char *conflict = get_text(works_in, "conflict", NULL);
    if (conflict)
        put_field(s, "conflict", "with %.12s of %s; %s", conflict, get_text(works_in, "base", "?"),
                  json_is_object(json_object_get(task, "run")) ? "this run repairs it"
                                                               : "its next run repairs it");
    put_member(s, "now", json_object_get(task, "run"), "doing");
}

/* The result: "3 files, +10 -2", and where it is now. */
static void put_delivery(struct sheet *s, const json_t *task) {
    const json_t *changes = json_object_get(task, "changes");
    const json_t *delivery = json_object_get(task, "delivery");
    int64_t commits = get_int(changes, "commits", 0), files = get_int(changes, "files", 0);
    const char *commit = get_text(delivery, "commit", NULL);
    if (print_is_empty(task))
        put_field(s, "changes", "no changes");
    else if (json_is_object(changes))
        put_field(s, "changes", "%" PRId64 " commit%s, %" PRId64 " file%s, +%" PRId64 " -%" PRId64,
                  commits, commits == 1 ? "" : "s", files, files == 1 ? "" : "s",
                  get_int(changes, "insertions", 0), get_int(changes, "deletions", 0));
    put_member(s, "work", delivery, "message");
    if (get_text(delivery, "removed", NULL))
        put_field(s, "removed", "%s%s%.12s", get_text(delivery, "removed", ""),
                  commit ? "; its last commit is " : "", commit ? commit : "");
}

static void put_counters(struct sheet *s, const json_t *task) {
    static const struct {
        const char *member, *one, *many;
    } counters[] = {
        { "failures", "failure", "failures" },
        { "launch_failures", "failed launch", "failed launches" },
        { "losses", "loss", "losses" },
        { "restarts", "restart", "restarts" },
    };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "attempt %" PRId64 ", iteration %" PRId64, get_int(task, "attempt", 0),
                  get_int(task, "iteration", 0));
    const json_t *counted = json_object_get(task, "counters");
    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        int64_t n = get_int(counted, counters[i].member, 0);
        if (n > 0)
            strbuf_printf(&text, ", %" PRId64 " %s", n,
                          n == 1 ? counters[i].one : counters[i].many);
    }
    put_field(s, "runs", "%s", strbuf_text(&text));
}

/* Only limited resources: usage is shown with each run. An unknown cost is not $0.00. */
static void put_limit(struct strbuf *out, const json_t *part, const char *of, bool is_known) {
    const json_t *tokens = json_object_get(part, "tokens"), *usd = json_object_get(part, "usd");
    double used = get_real(usd, "used", 0);
    if (json_is_integer(json_object_get(tokens, "budget")))
        strbuf_printf(out, "%s%s %s of %s tokens", out->length > 0 ? ", " : "", of,
                      print_count(get_int(tokens, "used", 0)).text,
                      print_count(get_int(tokens, "budget", 0)).text);
    if (!json_is_number(json_object_get(usd, "budget")))
        return;
    strbuf_printf(out, "%s%s ", out->length > 0 ? ", " : "", of);
    if (!is_known && used <= 0)
        strbuf_puts(out, "unknown");
    else
        strbuf_printf(out, "%s$%.2f", is_known ? "" : "at least ", used);
    strbuf_printf(out, " of %s", print_usd(get_real(usd, "budget", 0)).text);
}

static void put_budget(struct sheet *s, const json_t *task) {
    const json_t *budget = json_object_get(task, "budget"), *run = json_object_get(budget, "run");
    int64_t unknown = get_int(budget, "unknown_cost_runs", 0);
    bool is_known = get_int(task, "attempt", 0) <= 0
                    || json_is_number(json_object_get(json_object_get(run, "usd"), "used"));
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    put_limit(&line, run, "run", is_known);
    put_limit(&line, json_object_get(budget, "task"), "task", is_known && unknown == 0);
    if (line.length > 0 && unknown > 0)
        strbuf_printf(&line, ", %" PRId64 " run%s of unknown cost", unknown,
                      unknown == 1 ? "" : "s");
    put_field(s, "budget", "%s", strbuf_text(&line));
}

static void put_any(struct sheet *s, const char *label, const json_t *value) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (value && !json_is_null(value))
        put_value(&text, value);
    put_field(s, label, "%s", strbuf_text(&text));
}

/* Members of the spec that were not shown before. */
static void put_spec(struct sheet *s, const json_t *task) {
    static const char shown[] = "argv title project kind agent group parent priority name draft "
                                "hold not_before depends_on executor sandbox";
    json_t *spec = json_object_get(task, "spec");
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    print_argv(&text, json_object_get(spec, "argv"));
    put_field(s, "command", "%s", strbuf_text(&text));
    EACH_MEMBER(key, value, spec) {
        if (!word_in(key, shown))
            put_any(s, key, value);
    }
    if (json_is_object(json_object_get(task, "context")))
        put_any(s, "slung with", json_object_get(task, "context"));
}

/* --- runs ------------------------------------------------------------------------------------ */

static void put_result(struct strbuf *out, const json_t *task, const json_t *run) {
    const char *how = get_text(run, "how", "exit"), *message = get_text(run, "message", "");
    const char *outcome = get_text(run, "outcome", NULL), *agent = get_text(run, "agent", NULL);
    const char *reported = get_text(run, "said", outcome);
    const char *instead_of = get_text(run, "instead_of", NULL);
    int64_t code = get_int(run, "exit_code", -1), signal = get_int(run, "signal", 0);
    if (!outcome) {
        strbuf_puts(out, get_text(run, "phase", "working"));
        return;
    }
    strbuf_puts(out, strcmp(outcome, "launch") == 0 ? "not launched" : outcome);
    if (strcmp(reported, outcome) != 0)
        strbuf_printf(out, " (%s)", reported);
    if (signal > 0)
        strbuf_printf(out, ", signal %" PRId64, signal);
    else if (code > 0)
        strbuf_printf(out, ", exit code %" PRId64, code);
    else if (strcmp(how, "exit") != 0 && strcmp(how, outcome) != 0)
        strbuf_printf(out, ", %s", how);
    /* The agent, if it is not the task's: a failover, or a worker of the roster. */
    if (instead_of)
        strbuf_printf(out, ", with %s for %s", agent ? agent : "-", instead_of);
    else if (agent && strcmp(get_text(task, "agent", ""), agent) != 0)
        strbuf_printf(out, ", by %s", agent);
    strbuf_printf(out, "%s%s", *message ? ": " : "", message);
}

/* Of the newest run that has one, so that a person can resume it manually. */
static void put_session(struct sheet *s, const json_t *task) {
    EACH_ITEM(run, json_object_get(task, "runs")) {
        const char *session = get_text(run, "session", NULL), *model = get_text(run, "model", NULL);
        if (!session)
            continue;
        put_field(s, "session", "%s%s%s%s", session, get_true(run, "resumed") ? ", resumed" : "",
                  model ? ", model " : "", model ? model : "");
        return;
    }
}

static void put_runs(struct sheet *s, const json_t *task) {
    static const struct column columns[] = {
        { "#", .right = true },
        { "STARTED" },
        { "TOOK", .right = true },
        { "TOKENS", .right = true },
        { "COST", .right = true },
        { "RESULT" },
        { NULL },
    };
    _cleanup_(rows_finish) struct rows rows = rows_new(columns);
    EACH_ITEM(run, json_object_get(task, "runs")) {
        time_ms began = get_int(run, "started_at", 0), ended = get_int(run, "ended_at", s->now);
        bool has_cost = json_is_number(json_object_get(run, "cost_usd"));
        _cleanup_(strbuf_finish) struct strbuf result = STRBUF_INIT;
        put_result(&result, task, run);
        rows_add(&rows, (const char *[]){
                            print_format("%" PRId64, get_int(run, "attempt", 0)).text,
                            print_when(began, s->now).text,
                            began > 0 ? print_span((ended > 0 ? ended : s->now) - began).text : "-",
                            print_short(print_run_tokens(run)).text,
                            has_cost ? print_usd(get_real(run, "cost_usd", 0)).text : "-",
                            strbuf_text(&result),
                        });
    }
    strbuf_puts(&s->out, rows.count > 0 ? "\n" : "");
    rows_print(&rows, &s->out);
}

/* The iterations' folders, newest first, one per line, with their contents. */
static void put_iterations(struct sheet *s, const json_t *task) {
    const json_t *iterations = json_object_get(task, "iterations");
    int64_t before = 0;
    EACH_ITEM(one, iterations) {
        _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
        int64_t number = get_int(one, "iteration", 0);
        const json_t *artifacts = json_object_get(one, "artifacts");
        if (number + 1 < before)
            put_field(s, "iterations", "%" PRId64 " to %" PRId64 " removed by retention.iterations",
                      number + 1, before - 1);
        before = number;
        strbuf_puts(&line, get_text(one, "folder", ""));
        strbuf_puts(&line, get_true(one, "feedback") ? ", feedback.md" : "");
        EACH_ITEM(artifact, artifacts) {
            strbuf_printf(&line, ", artifacts/%s", json_string_value(artifact));
        }
        /* Not the empty folder of a task that ran once. */
        if (json_array_size(iterations) > 1 || json_array_size(artifacts) > 0
            || get_true(one, "feedback"))
            put_field(s, print_format("iteration %" PRId64, number).text, "%s", strbuf_text(&line));
    }
}

static void print_sheet(const struct cmd_call *call, const json_t *task, struct strbuf *out) {
    struct sheet s = { .width = print_width(), .now = clock_read() };
    const char *why = get_text(task, "why", NULL), *gate = get_text(task, "gate", NULL);
    (void)call;
    put_heading(&s, task);
    put_state(&s, task);
    put_field(&s, "why", "%s%s%s", gate ? gate : "", gate && why ? ": " : "", why ? why : "");
    put_question(&s, task);
    put_follow_up(&s, task);
    put_best_of(&s, task);
    put_project(&s, task);
    put_any(&s, "after", json_object_get(task, "depends_on"));
    put_field(&s, "added", "%s", print_when(get_int(task, "created_at", 0), s.now).text);
    put_workspace(&s, task);
    put_delivery(&s, task);
    put_counters(&s, task);
    put_budget(&s, task);
    put_spec(&s, task);
    put_session(&s, task);
    put_iterations(&s, task);
    put_runs(&s, task);
    *out = s.out;
}

const struct cmd cmd_show = { "show", REQUEST_COMMAND("/v1/tasks/", "", .print = print_sheet),
                              .min_args = 1, .max_args = 1 };
