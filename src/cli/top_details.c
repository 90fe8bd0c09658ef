/* top_details.c: everything about one task, in words.
 *
 * First why it does not run, since that is what is asked most: every gate in the order in which they
 * are checked. Then what it is, and how its last runs ended. */
#include <string.h>

#include "cli/ask.h"
#include "cli/print_task.h"
#include "cli/top.h"
#include "core/state_look.h"

#define LABEL 12 /* columns of a name */

static void add_value(struct top_text *text, const char *name, const char *value) {
    if (value && *value)
        top_text_add(text, TOP_PLAIN, LABEL, "%-*s %s", LABEL - 1, name, value);
}

/* --- why ------------------------------------------------------------------------------------- */

static void add_gate(struct top_text *text, const json_t *gate, time_ms now, bool unicode) {
    bool open = ask_true(gate, "open");
    const char *mark = open ? (unicode ? "✓" : "+") : (unicode ? "✗" : "x");
    time_ms opens_at = ask_int(gate, "opens_at", 0), since = ask_int(gate, "since", 0);
    _cleanup_(strbuf_finish) struct strbuf more = STRBUF_INIT;
    if (!open && opens_at > 0)
        strbuf_printf(&more, " (opens %s)", print_when(opens_at, now).text);
    if (!open && since > 0)
        strbuf_printf(&more, " (paused %s)", print_since(since, now).text);
    top_text_add(text, open ? TOP_DIM : TOP_WARNING, 4, "  %s %s %s%s%s%s", mark,
                 ask_text(gate, "gate", "?"), open ? "open" : "closed", open ? "" : ": ",
                 open ? "" : ask_text(gate, "reason", ""), strbuf_text(&more));
}

static void add_forecast(struct top_text *text, const json_t *why, time_ms now) {
    int64_t position = ask_int(why, "queue_position", 0);
    const json_t *forecast = json_object_get(why, "forecast");
    if (position > 0)
        top_text_add(text, TOP_PLAIN, 2, "  position %lld in the queue", (long long)position);
    if (!json_is_object(forecast))
        return;
    top_text_add(text, TOP_PLAIN, 2, "  should start %s%s", print_start(forecast, now).text,
                 ask_text(forecast, "text", "when its gate opens"));
}

static void add_why(struct top_text *text, const json_t *why, time_ms now, bool unicode) {
    size_t i;
    json_t *gate;
    if (!why)
        return;
    top_text_add(text, TOP_BOLD, LABEL, "%-*s%s", LABEL, "why",
                 ask_text(why, "summary", "nothing is known"));
    json_array_foreach(json_object_get(why, "gates"), i, gate) {
        add_gate(text, gate, now, unicode);
    }
    add_forecast(text, why, now);
}

/* --- what ------------------------------------------------------------------------------------ */

static void add_words(struct top_text *text, const char *name, const json_t *list) {
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT;
    size_t i;
    json_t *word;
    json_array_foreach(list, i, word) {
        strbuf_printf(&words, "%s%s", i > 0 ? " " : "", json_string_value(word));
    }
    add_value(text, name, strbuf_text(&words));
}

static void add_what(struct top_text *text, const json_t *task, time_ms now) {
    static const char *const names[] = { "project", "kind", "agent", "group", "parent" };
    const json_t *spec = json_object_get(task, "spec");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        add_value(text, names[i], ask_text(task, names[i], NULL));
    add_value(text, "priority", cell_number(task, "priority").text);
    add_value(text, "iteration", cell_number(task, "iteration").text);
    add_value(text, "created", cell_span(task, "created_at", now).text);
    add_value(text, "changed", cell_span(task, "changed_at", now).text);
    if (ask_int(task, "not_before", 0) > now)
        add_value(text, "not before", cell_span(task, "not_before", now).text);
    add_words(text, "needs", json_object_get(task, "depends_on"));
    add_words(text, "command", json_object_get(spec, "argv"));
    add_value(text, "prompt", ask_text(spec, "prompt", NULL));
    add_value(text, "last line", ask_text(json_object_get(task, "run"), "last_line", NULL));
    add_value(text, "works in", ask_text(task, "works_in", ask_text(spec, "cwd", NULL)));
}

/* --- runs ------------------------------------------------------------------------------------ */

static void add_run(struct top_text *text, const json_t *run, time_ms now) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    time_ms started = ask_int(run, "started_at", ask_int(run, "ordered_at", 0));
    time_ms ended = ask_int(run, "ended_at", 0);
    const char *outcome = ask_text(run, "outcome", ask_text(run, "phase", "?"));
    int64_t in = ask_int(run, "tokens_in", -1), out = ask_int(run, "tokens_out", -1);
    strbuf_printf(&line, "  run %lld  %s", (long long)ask_int(run, "attempt", 0), outcome);
    if (json_is_integer(json_object_get(run, "exit_code")))
        strbuf_printf(&line, "  exit %lld", (long long)ask_int(run, "exit_code", 0));
    if (ask_int(run, "signal", 0) > 0)
        strbuf_printf(&line, "  signal %lld", (long long)ask_int(run, "signal", 0));
    if (started > 0)
        strbuf_printf(&line, "  %s", print_span((ended > 0 ? ended : now) - started).text);
    if (ended > 0)
        strbuf_printf(&line, "  ended %s", print_since(ended, now).text);
    if (in >= 0 || out >= 0)
        strbuf_printf(&line, "  tokens %s in, %s out", print_short(in).text, print_short(out).text);
    top_text_add(text, strcmp(outcome, "failed") == 0 ? TOP_ERROR : TOP_PLAIN, 4, "%s",
                 strbuf_text(&line));
    const char *message = ask_text(run, "message", "");
    if (*message)
        top_text_add(text, TOP_DIM, 4, "    %s", message);
}

void top_details_fill(struct top_text *text, const json_t *task, const json_t *why, time_ms now,
                      bool unicode) {
    struct print_text state = print_state(task);
    enum task_state known = task_state_find(ask_text(task, "state", ""));
    const char *title = print_title(task);
    size_t i;
    json_t *run;
    top_text_clear(text);
    bool is_plain = known == TASK_ABSENT || known == TASK_WAITING;
    top_text_add(text, is_plain ? TOP_BOLD : TOP_STATE + known, 0, "%s %s  %s",
                 state_symbol(known, unicode), ask_text(task, "id", "?"), state.text);
    top_text_add(text, TOP_BOLD, 0, "%s", title ? title : "");
    top_text_add(text, TOP_PLAIN, 0, "%s", "");
    add_why(text, why, now, unicode);
    top_text_add(text, TOP_PLAIN, 0, "%s", "");
    add_what(text, task, now);
    const json_t *runs = json_object_get(task, "runs");
    if (json_array_size(runs) > 0)
        top_text_add(text, TOP_PLAIN, 0, "%s", "");
    json_array_foreach(runs, i, run) {
        add_run(text, run, now);
    }
}

/* --- help ------------------------------------------------------------------------------------ */

void top_help_fill(struct top_text *text, bool unicode) {
    static const char *const keys[][2] = {
        { "tab, 1 to 6", "the panes: running, ready, waiting, ended, limits, alerts" },
        { "arrows, j k", "up and down; page up, page down, home, end" },
        { "enter", "everything about a task, with all the gates that stop it" },
        { "l", "its log: / searches, n and N go on, e shows the other stream, f follows" },
        { "/", "only rows with these words: id, title, project, agent, state, gate; "
               "gate:dependency is that gate alone; project:web, "
               "agent:, kind: and group: are asked of the daemon; esc removes the filter" },
        { "s", "another order: as they will start, oldest first, newest first" },
        { "c", "cancel the task; asks first" },
        { "p, P", "pause everything, or the project of the task, and resume; asks first" },
        { "r", "retry a task that failed or was canceled, or do its next attempt now" },
        { "h", "hold a task that waits, or release it" },
        { "+ -", "to the front of the queue, to its end" },
        { "Ctrl-L", "draw the screen anew" },
        { "q", "back, and at last out; Ctrl-C ends it at once" },
    };
    top_text_add(text, TOP_BOLD, 0, "keys");
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        top_text_add(text, TOP_PLAIN, 14, "%-14s%s", keys[i][0], keys[i][1]);
    top_text_add(text, TOP_PLAIN, 0, "%s", "");
    top_text_add(text, TOP_BOLD, 0, "marks");
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        top_text_add(text, TOP_STATE + (unsigned)s, 0, "  %s %s",
                     state_symbol((enum task_state)s, unicode),
                     task_state_name((enum task_state)s));
}
