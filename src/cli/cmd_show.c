/* cmd_show.c: shows a task with its state and runs. */
#include <string.h>

#include "cli/ask.h"
#include "cli/print_task.h"
#include "os/clock.h"

#define LABEL_WIDTH 12
#define FIELD_LINES 6 /* of a long prompt; --json has all of it */

struct sheet {
    struct strbuf out;
    size_t width; /* of a line; 0: unlimited */
    time_ms now;
};

/* --- fields ---------------------------------------------------------------------------------- */

static void put_field(struct sheet *s, const char *label, const char *text) {
    if (!text || !*text)
        return;
    strbuf_printf(&s->out, "  %s%-*s%s ", output_style()->dim, LABEL_WIDTH - 1, label,
                  output_style()->reset);
    print_wrapped(&s->out, text, 2 + LABEL_WIDTH, FIELD_LINES);
    strbuf_putc(&s->out, '\n');
}

/* True if a word needs no shell quotes. */
static bool is_plain(const char *word) {
    return *word
           && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "_-+=./:,@%")
                  == strlen(word);
}

static void put_word(struct strbuf *out, const char *word) {
    if (is_plain(word)) {
        strbuf_puts(out, word);
        return;
    }
    strbuf_putc(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            strbuf_puts(out, "'\\''");
        else
            strbuf_putc(out, *word);
    strbuf_putc(out, '\'');
}

static void put_argv(struct strbuf *out, const json_t *argv) {
    size_t i;
    json_t *word;
    json_array_foreach(argv, i, word) {
        strbuf_puts(out, i > 0 ? " " : "");
        put_word(out, json_is_string(word) ? json_string_value(word) : "?");
    }
}

static void put_value(struct strbuf *out, const json_t *value);

/* KEY=VALUE, and KEY.KEY=VALUE for nested members. */
static void put_pairs(struct strbuf *out, const char *before, const json_t *object) {
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)(uintptr_t)object, key, item) {
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
                put_argv(out, argv);
            else
                put_value(out, item);
        }
    } else if (json_is_object(value)) {
        put_pairs(out, "", value);
    } else {
        print_value(out, value);
    }
}

/* --- sections -------------------------------------------------------------------------------- */

static void put_heading(struct sheet *s, const json_t *task) {
    const struct output_style *style = output_style();
    const char *title = print_title(task);
    strbuf_puts(&s->out, style->bold);
    print_line(&s->out, ask_text(task, "id", "?"), 0);
    strbuf_printf(&s->out, "%s  ", style->reset);
    size_t used = strlen(ask_text(task, "id", "?")) + 2;
    print_line(&s->out, title ? title : "", s->width > used + 20 ? s->width - used : 0);
    strbuf_putc(&s->out, '\n');
}

static void put_state(struct sheet *s, const json_t *task) {
    const char *state = ask_text(task, "state", "?"), *reason = ask_text(task, "reason", NULL);
    strbuf_printf(&s->out, "  %s%-*s%s%s%s%s", output_style()->dim, LABEL_WIDTH, "state",
                  output_style()->reset, print_state_colour(state), print_state(task).text,
                  output_style()->reset);
    if (reason && *reason && strcmp(reason, "none") != 0)
        strbuf_printf(&s->out, ", %s", reason);
    if (ask_int(task, "changed_at", 0) > 0)
        strbuf_printf(&s->out, ", %s", print_when(ask_int(task, "changed_at", 0), s->now).text);
    if (ask_int(task, "not_before", 0) > s->now)
        strbuf_printf(&s->out, ", goes on %s",
                      print_when(ask_int(task, "not_before", 0), s->now).text);
    strbuf_putc(&s->out, '\n');
}

static void put_why(struct sheet *s, const json_t *task) {
    const char *why = ask_text(task, "why", NULL), *gate = ask_text(task, "gate", NULL);
    if (!why && !gate)
        return;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "%s%s%s", gate ? gate : "", gate && why ? ": " : "", why ? why : "");
    put_field(s, "why", strbuf_text(&text));
}

/* "codex, for claude, which is closed and opens in 2 h". */
static void put_instead(struct sheet *s, const json_t *run) {
    const char *instead_of = ask_text(run, "instead_of", NULL);
    time_ms until = ask_int(run, "instead_until", 0);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (!instead_of)
        return;
    strbuf_printf(&text, "%s, for %s", ask_text(run, "agent", "-"), instead_of);
    if (until > 0)
        strbuf_printf(&text, ", which opens %s", print_when(until, s->now).text);
    put_field(s, "runs with", strbuf_text(&text));
}

static void put_place(struct sheet *s, const json_t *task) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "%s", ask_text(task, "project", "-"));
    static const char *const members[] = { "kind", "agent", "group", "parent" };
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const char *value = ask_text(task, members[i], NULL);
        if (value)
            strbuf_printf(&text, ", %s %s", members[i], value);
    }
    strbuf_printf(&text, ", priority %lld", (long long)ask_int(task, "priority", 0));
    put_field(s, "project", strbuf_text(&text));
    put_instead(s, json_object_get(task, "run"));
}

/* Omitted for runs on this host. */
static void put_executor(struct sheet *s, const json_t *task) {
    const char *partition = ask_text(task, "partition", NULL);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (!ask_is(task, "executor", "slurm"))
        return;
    strbuf_printf(&text, "Slurm, %s%s", partition ? "partition " : "its default partition",
                  partition ? partition : "");
    put_field(s, "runs in", strbuf_text(&text));
}

/* Of the newest run. Omitted for a plain command without one. */
static void put_sandbox(struct sheet *s, const json_t *task) {
    const json_t *run = json_array_get(json_object_get(task, "runs"), 0);
    const char *sandbox = ask_text(run, "sandbox", NULL);
    if (sandbox && (ask_text(run, "agent", NULL) || strcmp(sandbox, "none") != 0))
        put_field(s, "sandbox", sandbox);
}

/* Its folder, and what is being done around its run. */
static void put_workspace(struct sheet *s, const json_t *task) {
    const json_t *place = json_object_get(task, "works_in");
    const char *branch = ask_text(place, "branch", NULL), *merge = ask_text(place, "merge", NULL);
    put_executor(s, task);
    put_sandbox(s, task);
    put_field(s, "works in", ask_text(place, "path", NULL));
    if (branch) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        strbuf_printf(&text, "%s, from %s", branch, ask_text(place, "base", "?"));
        if (merge && strcmp(merge, "none") != 0)
            strbuf_printf(&text, ", merge %s", merge);
        put_field(s, "branch", strbuf_text(&text));
    }
    put_field(s, "now", ask_text(json_object_get(task, "run"), "doing", NULL));
}

static void put_number(struct strbuf *out, const json_t *changes, const char *member,
                       const char *one) {
    int64_t n = ask_int(changes, member, 0);
    strbuf_printf(out, "%s%lld %s%s", out->length > 0 ? ", " : "", (long long)n, one,
                  n == 1 ? "" : "s");
}

/* The result: "3 files, +10 -2", and where it is now. */
static void put_delivery(struct sheet *s, const json_t *task) {
    const json_t *changes = json_object_get(task, "changes"),
                 *delivery = json_object_get(task, "delivery");
    const char *removed = ask_text(delivery, "removed", NULL);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (print_is_empty(task)) {
        put_field(s, "changes", "no changes");
    } else if (json_is_object(changes)) {
        put_number(&text, changes, "commits", "commit");
        put_number(&text, changes, "files", "file");
        strbuf_printf(&text, ", +%lld -%lld", (long long)ask_int(changes, "insertions", 0),
                      (long long)ask_int(changes, "deletions", 0));
        put_field(s, "changes", strbuf_text(&text));
    }
    put_field(s, "work", ask_text(delivery, "message", NULL));
    if (removed) {
        strbuf_clear(&text);
        strbuf_puts(&text, removed);
        if (ask_text(delivery, "commit", NULL))
            strbuf_printf(&text, "; its last commit is %.12s", ask_text(delivery, "commit", ""));
        put_field(s, "removed", strbuf_text(&text));
    }
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
    strbuf_printf(&text, "attempt %lld, iteration %lld", (long long)ask_int(task, "attempt", 0),
                  (long long)ask_int(task, "iteration", 0));
    const json_t *counted = json_object_get(task, "counters");
    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        int64_t n = ask_int(counted, counters[i].member, 0);
        if (n > 0)
            strbuf_printf(&text, ", %lld %s", (long long)n,
                          n == 1 ? counters[i].one : counters[i].many);
    }
    put_field(s, "runs", strbuf_text(&text));
}

/* Known usage: an unknown cost is not $0.00. */
static void put_spent(struct strbuf *out, const json_t *usd, bool is_known) {
    double used = ask_real(usd, "used", 0);
    if (!is_known && used <= 0) {
        strbuf_puts(out, "unknown");
        return;
    }
    strbuf_printf(out, "%s$%.2f", is_known ? "" : "at least ", used);
}

/* Only limited resources: usage is shown with each run. */
static void put_limit(struct strbuf *out, const json_t *part, const char *of, bool is_known) {
    const json_t *tokens = json_object_get(part, "tokens"), *usd = json_object_get(part, "usd");
    if (json_is_integer(json_object_get(tokens, "budget")))
        strbuf_printf(out, "%s%s %s of %s tokens", out->length > 0 ? ", " : "", of,
                      print_count(ask_int(tokens, "used", 0)).text,
                      print_count(ask_int(tokens, "budget", 0)).text);
    if (!json_is_number(json_object_get(usd, "budget")))
        return;
    strbuf_printf(out, "%s%s ", out->length > 0 ? ", " : "", of);
    put_spent(out, usd, is_known);
    strbuf_printf(out, " of %s", print_usd(ask_real(usd, "budget", 0)).text);
}

static void put_budget(struct sheet *s, const json_t *task) {
    const json_t *budget = json_object_get(task, "budget"), *run = json_object_get(budget, "run");
    int64_t unknown = ask_int(budget, "unknown_cost_runs", 0);
    bool has_run = ask_int(task, "attempt", 0) > 0;
    bool is_known =
        !has_run || json_is_number(json_object_get(json_object_get(run, "usd"), "used"));
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    put_limit(&line, run, "run", is_known);
    put_limit(&line, json_object_get(budget, "task"), "task", is_known && unknown == 0);
    if (line.length > 0 && unknown > 0)
        strbuf_printf(&line, ", %lld run%s of unknown cost", (long long)unknown,
                      unknown == 1 ? "" : "s");
    put_field(s, "budget", line.length > 0 ? strbuf_text(&line) : NULL);
}

/* Members of the spec that were not shown before. */
static void put_spec(struct sheet *s, const json_t *task) {
    static const char *const shown[] = {
        "argv", "title", "project", "kind",       "agent",      "group",    "parent",  "priority",
        "name", "draft", "hold",    "not_before", "depends_on", "executor", "sandbox",
    };
    const json_t *spec = json_object_get(task, "spec");
    json_t *rest = json_copy((json_t *)(uintptr_t)spec), *value;
    const char *key;
    for (size_t i = 0; rest && i < ARRAY_SIZE(shown); i++)
        (void)json_object_del(rest, shown[i]);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    put_argv(&text, json_object_get(spec, "argv"));
    put_field(s, "command", strbuf_text(&text));
    json_object_foreach(rest, key, value) {
        strbuf_clear(&text);
        put_value(&text, value);
        if (!json_is_null(value))
            put_field(s, key, strbuf_text(&text));
    }
    json_decref(rest);
    strbuf_clear(&text);
    put_value(&text, json_object_get(task, "context"));
    if (json_is_object(json_object_get(task, "context")))
        put_field(s, "slung with", strbuf_text(&text));
}

/* --- runs ------------------------------------------------------------------------------------ */

/* If it differs from the task's agent: a failover, or a worker of the roster. */
static void put_agent(struct strbuf *out, const json_t *task, const json_t *run) {
    const char *agent = ask_text(run, "agent", NULL);
    const char *instead_of = ask_text(run, "instead_of", NULL);
    if (instead_of)
        strbuf_printf(out, ", with %s for %s", agent ? agent : "-", instead_of);
    else if (agent && strcmp(ask_text(task, "agent", ""), agent) != 0)
        strbuf_printf(out, ", by %s", agent);
}

static void put_result(struct strbuf *out, const json_t *task, const json_t *run) {
    const char *how = ask_text(run, "how", NULL), *message = ask_text(run, "message", NULL);
    const char *outcome = ask_text(run, "outcome", NULL);
    int64_t code = ask_int(run, "exit_code", -1), signal = ask_int(run, "signal", 0);
    if (!outcome) {
        strbuf_puts(out, ask_text(run, "phase", "working"));
        return;
    }
    const char *said = ask_text(run, "said", NULL);
    strbuf_puts(out, strcmp(outcome, "launch") == 0 ? "not launched" : outcome);
    if (said && strcmp(said, outcome) != 0)
        strbuf_printf(out, " (%s)", said);
    if (signal > 0)
        strbuf_printf(out, ", signal %lld", (long long)signal);
    else if (code > 0)
        strbuf_printf(out, ", exit code %lld", (long long)code);
    else if (how && strcmp(how, "exit") != 0 && strcmp(how, outcome) != 0)
        strbuf_printf(out, ", %s", how);
    put_agent(out, task, run);
    if (message && *message)
        strbuf_printf(out, ": %s", message);
}

/* Of the newest run that has one, so that a person can resume it manually. */
static void put_session(struct sheet *s, const json_t *task) {
    const json_t *runs = json_object_get(task, "runs");
    ASK_EACH(run, runs) {
        const char *session = ask_text(run, "session", NULL), *model = ask_text(run, "model", NULL);
        if (!session)
            continue;
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        strbuf_printf(&text, "%s%s", session, ask_true(run, "resumed") ? ", resumed" : "");
        if (model)
            strbuf_printf(&text, ", model %s", model);
        put_field(s, "session", strbuf_text(&text));
        return;
    }
}

static void put_runs(struct sheet *s, const json_t *task) {
    const json_t *runs = json_object_get(task, "runs");
    if (json_array_size(runs) == 0)
        return;
    struct output_column columns[] = {
        { "#", .right = true }, { "STARTED" },    { "TOOK", .right = true },
        { "TOKENS", true },     { "COST", true }, { "RESULT" },
    };
    _cleanup_(rows_finish) struct rows rows = { columns, ARRAY_SIZE(columns), NULL, 0, 0 };
    ASK_EACH(run, runs) {
        time_ms began = ask_int(run, "started_at", 0), ended = ask_int(run, "ended_at", 0);
        int64_t in = ask_int(run, "tokens_in", -1), written = ask_int(run, "tokens_out", -1);
        struct print_text number, cost = { "-" };
        (void)snprintf(number.text, sizeof(number.text), "%lld",
                       (long long)ask_int(run, "attempt", 0));
        if (json_is_number(json_object_get(run, "cost_usd")))
            cost = print_usd(ask_real(run, "cost_usd", 0));
        _cleanup_(strbuf_finish) struct strbuf result = STRBUF_INIT;
        put_result(&result, task, run);
        int64_t tokens =
            in < 0 && written < 0 ? -1 : (in > 0 ? in : 0) + (written > 0 ? written : 0);
        rows_add(&rows, (const char *[]){
                            number.text,
                            print_when(began, s->now).text,
                            began > 0 ? print_span((ended > 0 ? ended : s->now) - began).text : "-",
                            print_short(tokens).text,
                            cost.text,
                            strbuf_text(&result),
                        });
    }
    strbuf_putc(&s->out, '\n');
    rows_print(&rows, &s->out);
}

/* The iterations' folders, one per line, with their contents. */
static void put_iterations(struct sheet *s, const json_t *task) {
    const json_t *iterations = json_object_get(task, "iterations");
    size_t i;
    json_t *one;
    int64_t before = 0;
    json_array_foreach(iterations, i, one) {
        _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
        int64_t number = ask_int(one, "iteration", 0);
        if (i > 0 && number + 1 < before) { /* newest first */
            strbuf_printf(&line, "%lld to %lld removed by retention.iterations",
                          (long long)number + 1, (long long)before - 1);
            put_field(s, "iterations", strbuf_text(&line));
            strbuf_clear(&line);
        }
        before = number;
        const json_t *artifacts = json_object_get(one, "artifacts");
        strbuf_printf(&line, "%s", ask_text(one, "folder", ""));
        if (ask_true(one, "feedback"))
            strbuf_puts(&line, ", feedback.md");
        for (size_t k = 0; k < json_array_size(artifacts); k++)
            strbuf_printf(&line, ", artifacts/%s", json_string_value(json_array_get(artifacts, k)));
        bool tells = i > 0 || json_array_size(iterations) > 1 || json_array_size(artifacts) > 0
                     || ask_true(one, "feedback");
        char name[32];
        (void)snprintf(name, sizeof(name), "iteration %lld",
                       (long long)ask_int(one, "iteration", 0));
        if (tells) /* omit the empty folder of a task that ran once */
            put_field(s, name, strbuf_text(&line));
    }
}

static void print_sheet(const json_t *task) {
    struct sheet s = { .width = print_width(), .now = clock_read() };
    _cleanup_(strbuf_finish) struct strbuf after = STRBUF_INIT;
    put_heading(&s, task);
    put_state(&s, task);
    put_why(&s, task);
    put_place(&s, task);
    put_value(&after, json_object_get(task, "depends_on"));
    put_field(&s, "after", strcmp(strbuf_text(&after), "null") ? strbuf_text(&after) : NULL);
    put_field(&s, "added", print_when(ask_int(task, "created_at", 0), s.now).text);
    put_workspace(&s, task);
    put_delivery(&s, task);
    put_counters(&s, task);
    put_budget(&s, task);
    put_spec(&s, task);
    put_session(&s, task);
    put_iterations(&s, task);
    put_runs(&s, task);
    output_rest(&s.out);
    strbuf_finish(&s.out);
}

static int cmd_show_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_named(&ask, call, "/v1/tasks/", "");
    if (ask_ended(call, &ask, &code))
        return code;
    print_sheet(ask.answer);
    return CMD_OK;
}

const struct cmd cmd_show = { "show", .min_args = 1, .max_args = 1, .run = cmd_show_run };
