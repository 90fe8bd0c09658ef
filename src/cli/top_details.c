/* top_details.c: long texts: a task with why it does not run, its question, the help.
 *
 * First why a task is not running, the most frequent question, with every gate in the order they
 * are checked. Then its members, and how its last runs ended. */
#include "cli/top.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/print_task.h"
#include "core/state_style.h"

#define LABEL 12 /* columns of a name */

static void add_value(struct top_text *text, const char *name, const char *value) {
    if (value && *value)
        top_text_add(text, TOP_PLAIN, LABEL, "%-*s %s", LABEL - 1, name, value);
}

/* --- why ------------------------------------------------------------------------------------- */

static void add_gate(struct top_text *text, const json_t *gate, time_ms now, bool unicode) {
    bool open = get_true(gate, "open");
    _cleanup_(strbuf_finish) struct strbuf reason = STRBUF_INIT;
    print_gate(&reason, gate, now);
    top_text_add(text, open ? TOP_DIM : TOP_WARNING, 4, "  %s %s %s%s",
                 state_symbol(open ? TASK_DONE : TASK_FAILED, unicode), get_text(gate, "gate", "?"),
                 open ? "open" : "closed: ", strbuf_text(&reason));
}

static void add_forecast(struct top_text *text, const json_t *why, time_ms now) {
    int64_t position = get_int(why, "queue_position", 0);
    const json_t *forecast = json_object_get(why, "forecast");
    if (position > 0)
        top_text_add(text, TOP_PLAIN, 2, "  position %" PRId64 " in the queue", position);
    if (!json_is_object(forecast))
        return;
    top_text_add(text, TOP_PLAIN, 2, "  should start %s%s", print_start(forecast, now).text,
                 get_text(forecast, "text", "when its gate opens"));
}

/* "✓ open: paused, dependency, host": where there is little room. */
static void add_open_gates(struct top_text *text, const json_t *gates, bool unicode) {
    _cleanup_(strbuf_finish) struct strbuf names = STRBUF_INIT;
    EACH_ITEM(gate, gates) {
        if (get_true(gate, "open"))
            strbuf_printf(&names, "%s%s", names.length > 0 ? ", " : "",
                          get_text(gate, "gate", "?"));
    }
    if (names.length > 0)
        top_text_add(text, TOP_DIM, 4, "  %s open: %s", state_symbol(TASK_DONE, unicode),
                     strbuf_text(&names));
}

static void add_why(struct top_text *text, const json_t *why, time_ms now,
                    const struct top_details *how) {
    if (!why)
        return;
    top_text_add(text, TOP_BOLD, LABEL, "%-*s%s", LABEL, "why",
                 get_text(why, "summary", "nothing is known"));
    EACH_ITEM(gate, json_object_get(why, "gates")) {
        if (!how->is_brief || !get_true(gate, "open"))
            add_gate(text, gate, now, how->unicode);
    }
    if (how->is_brief)
        add_open_gates(text, json_object_get(why, "gates"), how->unicode);
    add_forecast(text, why, now);
}

/* --- members --------------------------------------------------------------------------------- */

static void add_words(struct top_text *text, const char *name, const json_t *list) {
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT;
    join_texts(&words, " ", list);
    add_value(text, name, strbuf_text(&words));
}

static void add_what(struct top_text *text, const json_t *task, time_ms now) {
    static const char *const names[] = { "project", "kind", "agent", "group", "parent" };
    const json_t *spec = json_object_get(task, "spec");
    double usd = get_real(task, "cost_usd", -1);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        add_value(text, names[i], get_text(task, names[i], NULL));
    add_value(text, "priority", cell_number(task, "priority").text);
    add_value(text, "iteration", cell_number(task, "iteration").text);
    add_value(text, "cost", usd >= 0 ? print_usd(usd).text : NULL);
    add_value(text, "created", cell_when(task, "created_at", now).text);
    add_value(text, "changed", cell_when(task, "changed_at", now).text);
    if (get_int(task, "not_before", 0) > now)
        add_value(text, "not before", cell_when(task, "not_before", now).text);
    add_words(text, "needs", json_object_get(task, "depends_on"));
    add_words(text, "command", json_object_get(spec, "argv"));
    add_value(text, "prompt", get_text(spec, "prompt", NULL));
    add_value(text, "last line", get_text(json_object_get(task, "run"), "last_line", NULL));
    add_value(text, "works in", get_text(task, "works_in", get_text(spec, "cwd", NULL)));
}

/* --- its question ---------------------------------------------------------------------------- */

/* A text of any number of lines, the first after a label of LABEL columns. */
static void add_lines(struct top_text *text, unsigned style, const char *label, const char *lines) {
    for (;; label = "") {
        size_t length = strcspn(lines, "\n");
        unsigned indent = *label ? LABEL : 0;
        top_text_add(text, style, indent, "%-*s%.*s", (int)indent, label, (int)length, lines);
        lines += length;
        if (!*lines++)
            return;
    }
}

static void add_question(struct top_text *text, const json_t *question) {
    if (!member_is(question, "state", "open"))
        return;
    add_lines(text, TOP_WARNING, "question", get_text(question, "question", ""));
    EACH_ITEM(choice, json_object_get(question, "choices")) {
        top_text_add(text, TOP_PLAIN, LABEL + 2, "%*s- %s", LABEL, "", json_string_value(choice));
    }
}

void top_question_fill(struct top_text *text, const char *id, const json_t *question, time_ms now) {
    const char *otherwise = get_text(question, "default", NULL);
    time_ms deadline = get_int(question, "deadline", 0);
    int number = 0;
    top_text_clear(text);
    top_text_add(text, TOP_BOLD, 0, "%s asks", id);
    top_text_add(text, TOP_PLAIN, 0, "%s", "");
    add_lines(text, TOP_PLAIN, "", get_text(question, "question", ""));
    top_text_add(text, TOP_PLAIN, 0, "%s", "");
    EACH_ITEM(choice, json_object_get(question, "choices")) {
        top_text_add(text, TOP_BOLD, 6, "%4d  %s", ++number, json_string_value(choice));
    }
    if (deadline > 0)
        top_text_add(text, TOP_DIM, 0, "%s %s%s%s",
                     otherwise ? "without an answer" : "the task fails",
                     print_when(deadline, now).text, otherwise ? ": " : "",
                     otherwise ? otherwise : " without an answer");
}

/* --- runs ------------------------------------------------------------------------------------ */

static void add_run(struct top_text *text, const json_t *run, time_ms now) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    time_ms started = get_int(run, "started_at", get_int(run, "ordered_at", 0));
    time_ms ended = get_int(run, "ended_at", 0);
    const char *outcome = get_text(run, "outcome", get_text(run, "phase", "?"));
    int64_t in = get_int(run, "tokens_in", -1), out = get_int(run, "tokens_out", -1);
    double usd = get_real(run, "cost_usd", -1);
    strbuf_printf(&line, "  run %" PRId64 "  %s", get_int(run, "attempt", 0), outcome);
    if (json_is_integer(json_object_get(run, "exit_code")))
        strbuf_printf(&line, "  exit %" PRId64, get_int(run, "exit_code", 0));
    if (get_int(run, "signal", 0) > 0)
        strbuf_printf(&line, "  signal %" PRId64, get_int(run, "signal", 0));
    if (started > 0)
        strbuf_printf(&line, "  %s", print_span((ended > 0 ? ended : now) - started).text);
    if (ended > 0)
        strbuf_printf(&line, "  ended %s", print_since(ended, now).text);
    if (in >= 0 || out >= 0)
        strbuf_printf(&line, "  tokens %s in, %s out", print_short(in).text, print_short(out).text);
    if (usd >= 0)
        strbuf_printf(&line, "  %s", print_usd(usd).text);
    top_text_add(text, strcmp(outcome, "failed") == 0 ? TOP_ERROR : TOP_PLAIN, 4, "%s",
                 strbuf_text(&line));
    const char *message = get_text(run, "message", "");
    if (*message)
        top_text_add(text, TOP_DIM, 4, "    %s", message);
}

void top_details_fill(struct top_text *text, const json_t *task, const json_t *why, time_ms now,
                      const struct top_details *how) {
    struct print_text state = print_state(task);
    enum task_state known = task_state_find(get_text(task, "state", ""));
    const char *title = print_title(task);
    top_text_clear(text);
    bool is_plain = known == TASK_ABSENT || known == TASK_WAITING;
    top_text_add(text, is_plain ? TOP_BOLD : TOP_STATE + known, 0, "%s %s  %s",
                 state_symbol(known, how->unicode), get_text(task, "id", "?"), state.text);
    top_text_add(text, TOP_BOLD, 0, "%s", title ? title : "");
    top_text_add(text, TOP_PLAIN, 0, "%s", "");
    add_question(text, json_object_get(task, "question"));
    add_why(text, why, now, how);
    top_text_add(text, TOP_PLAIN, 0, "%s", "");
    add_what(text, task, now);
    const json_t *runs = json_object_get(task, "runs");
    if (json_array_size(runs) > 0)
        top_text_add(text, TOP_PLAIN, 0, "%s", "");
    EACH_ITEM(run, runs) {
        add_run(text, run, now);
    }
}

/* --- help ------------------------------------------------------------------------------------ */

void top_help_fill(struct top_text *text, bool unicode) {
    static const char *const keys[][2] = {
        { "tab, 1 to 6", "the panes: running, ready, waiting, ended, limits, needs you" },
        { "arrows, j k", "up and down; page up, page down, home, end" },
        { "enter", "everything about a task, with all the gates that stop it" },
        { "l", "its log: / searches, n and N go on, e shows the other stream, f follows" },
        { "J K", "scroll the log beside the list" },
        { "/", "only rows with these words: id, title, project, agent, state, gate; "
               "gate:dependency is that gate alone; project:web, "
               "agent:, kind: and group: are asked of the daemon; esc removes the filter" },
        { "s", "another order: as they will start, oldest first, newest first" },
        { "< >", "sort by the previous or next column; R reverses the order" },
        { "t, T", "tag the task, or all tasks of the list; the keys below then mean all tagged "
                  "tasks; esc removes the tags" },
        { "a", "approve a task that waits for review (asks first), or answer its question" },
        { "x", "reject what waits for review, with a reason" },
        { "c", "cancel the task; asks first" },
        { "r", "retry a task that failed or was canceled, or do its next attempt now" },
        { "h", "hold a task that waits, or release it" },
        { "+ -", "to the front of the queue, to its end" },
        { "p, P", "pause everything, or the project of the task, and resume; asks first" },
        { "mouse", "a click selects a row, a pane or the column to sort by; the wheel scrolls" },
        { "m", "mouse off and on: off, the terminal selects text with it" },
        { "w", "the task and its log beside the list, from 140 columns on; off and on" },
        { "Ctrl-L", "redraw the screen" },
        { "q", "back, and from the list out; Ctrl-C ends it at once" },
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
