/* cmd_why.c: shows why a task is not running: all gates in the order they are checked, and what
 * opens the closed ones. */
#include <limits.h>
#include <string.h>

#include "cli/print_task.h"
#include "cli/request.h"
#include "core/state_style.h"
#include "os/clock.h"
#include "os/terminal.h"
#include "sim/text.h"

#define BEFORE_GATE 4  /* "  x " */
#define BEHIND_GATE 10 /* "  closed  " */

struct answer {
    const json_t *why;
    struct strbuf out;
    size_t gate_width;
    time_ms now;
};

static void put_summary(struct answer *a) {
    const struct output_style *style = output_style();
    const char *state = get_text(a->why, "state", "?"), *summary = get_text(a->why, "summary", "");
    size_t length = strlen(state);
    if (strncmp(summary, state, length) == 0 && strncmp(summary + length, ": ", 2) == 0)
        summary += length + 2; /* the state precedes it */
    strbuf_puts(&a->out, style->bold);
    print_line(&a->out, get_text(a->why, "id", "?"), 0);
    strbuf_printf(&a->out, "%s  %s%s%s  ", style->reset, print_state_colour(state), state,
                  style->reset);
    print_wrapped(&a->out, summary, strlen(get_text(a->why, "id", "?")) + strlen(state) + 4,
                  UINT_MAX);
    strbuf_putc(&a->out, '\n');
}

/* "lease:runs closed the limit of runs is reached (8 of 8 in use)" */
static void put_gate(struct answer *a, const json_t *gate) {
    const struct output_style *style = output_style();
    bool open = get_true(gate, "open");
    const char *mark = state_symbol(open ? TASK_DONE : TASK_FAILED, terminal_is_utf8());
    const char *code = get_text(gate, "gate", "?"), *first = get_text(a->why, "first", "");
    const char *colour = open ? style->dim : strcmp(code, first) == 0 ? style->red : style->yellow;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    print_gate(&text, gate, a->now);
    size_t length = text_columns(code);
    strbuf_printf(&a->out, "  %s%s ", colour, mark);
    print_line(&a->out, code, 0);
    strbuf_repeat(&a->out, " ", a->gate_width > length ? a->gate_width - length : 0);
    strbuf_printf(&a->out, "  %s%s", open ? "open" : "closed", style->reset);
    if (text.length > 0) {
        strbuf_puts(&a->out, "  ");
        print_wrapped(&a->out, strbuf_text(&text), BEFORE_GATE + a->gate_width + BEHIND_GATE,
                      UINT_MAX);
    }
    strbuf_putc(&a->out, '\n');
}

static void put_gates(struct answer *a) {
    const json_t *gates = json_object_get(a->why, "gates");
    EACH_ITEM(gate, gates) {
        size_t length = text_columns(get_text(gate, "gate", "?"));
        a->gate_width = length > a->gate_width ? length : a->gate_width;
    }
    if (json_array_size(gates) > 0)
        strbuf_putc(&a->out, '\n');
    EACH_ITEM(gate, gates) {
        put_gate(a, gate);
    }
}

/* "agents claude: limited, opens in 2 h · codex: closed until cleared", if there is a choice. */
static void put_agents(struct answer *a) {
    const char *between = terminal_is_utf8() ? " · " : ", ";
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    EACH_ITEM(agent, json_object_get(a->why, "agents")) {
        const char *state = get_text(agent, "state", "?");
        time_ms opens_at = get_int(agent, "opens_at", 0);
        strbuf_printf(&text, "%s%s: %s", text.length > 0 ? between : "",
                      get_text(agent, "name", "?"), state);
        if (opens_at > 0)
            strbuf_printf(&text, ", opens %s", print_when(opens_at, a->now).text);
        else if (strcmp(state, "closed") == 0)
            strbuf_puts(&text, " until cleared");
    }
    if (text.length == 0)
        return;
    strbuf_puts(&a->out, "\nagents  ");
    print_wrapped(&a->out, strbuf_text(&text), strlen("agents  "), UINT_MAX);
    strbuf_putc(&a->out, '\n');
}

static void put_forecast(struct answer *a) {
    int64_t position = get_int(a->why, "queue_position", 0);
    const json_t *forecast = json_object_get(a->why, "forecast");
    if (position > 0 || json_is_object(forecast))
        strbuf_putc(&a->out, '\n');
    if (position > 0)
        strbuf_printf(&a->out, "position %lld in the queue\n", (long long)position);
    if (!json_is_object(forecast))
        return;
    strbuf_printf(&a->out, "should start %s", print_start(forecast, a->now).text);
    print_line(&a->out, get_text(forecast, "text", "when its gate opens"), 0);
    strbuf_putc(&a->out, '\n');
}

static void print_why(const struct cmd_call *call, const json_t *why, struct strbuf *out) {
    struct answer a = { .why = why, .now = clock_read() };
    (void)call;
    put_summary(&a);
    put_gates(&a);
    put_agents(&a);
    put_forecast(&a);
    *out = a.out;
}

const struct cmd cmd_why = { "why", REQUEST_COMMAND("/v1/tasks/", "/why", .print = print_why),
                             .min_args = 1, .max_args = 1 };
