/* cmd_status.c: shows the state of the home on one screen.
 *
 * On a terminal the sections share the lines: each gets rows one by one in turn, so that a long
 * list does not push out another. A pipe gets everything. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/money.h"
#include "cli/ask.h"
#include "cli/print_task.h"
#include "os/clock.h"
#include "os/terminal.h"
#include "sim/text.h"

/* --- budgets: "######.... 62%, 10k reserved" -------------------------------------------------- */

#define WIDTH 10 /* of a bar */

/* Dollars in millionths; -1: none. */
static int64_t status_micro(const json_t *item, const char *member) {
    double dollars = ask_real(item, member, -1);
    return dollars < 0 ? -1 : (int64_t)(dollars * (double)MONEY_DOLLAR + 0.5);
}

static void put_bar(const json_t *item, time_ms now, double used, double cap, struct strbuf *out) {
    time_ms opens_at = ask_int(item, "opens_at", 0);
    double part = cap > 0 ? used / cap : 1;
    if (cap < 0)
        return;
    for (int i = 0; i < WIDTH; i++)
        strbuf_putc(out, (i + 0.5) / WIDTH < part ? '#' : '.');
    if (cap > 0)
        strbuf_printf(out, " %.0f%%", part * 100);
    if (used >= cap && opens_at > now)
        strbuf_printf(out, ", opens %s", print_when(opens_at, now).text);
}

static void put_comma(struct strbuf *out) {
    if (out->length > 0)
        strbuf_puts(out, ", ");
}

static void status_tokens(const json_t *item, time_ms now, struct strbuf *out) {
    int64_t reserved = ask_int(item, "reserved", 0);
    put_bar(item, now, (double)ask_int(item, "used", 0), (double)ask_int(item, "cap", -1), out);
    if (reserved <= 0)
        return;
    put_comma(out);
    strbuf_printf(out, "%s reserved", print_short(reserved).text);
}

static void status_money(const json_t *item, time_ms now, struct strbuf *out) {
    int64_t reserved = status_micro(item, "usd_reserved");
    int64_t unknown = ask_int(item, "unknown_cost_runs", 0);
    put_bar(item, now, (double)status_micro(item, "usd_used"),
            (double)status_micro(item, "usd_cap"), out);
    if (reserved > 0) {
        put_comma(out);
        money_put(out, reserved);
        strbuf_puts(out, " reserved");
    }
    if (unknown > 0) {
        put_comma(out);
        strbuf_printf(out, "%lld run%s of unknown cost", (long long)unknown,
                      unknown == 1 ? "" : "s");
    }
}

/* --- the queue: "queue: implement 9, review 1; soft limit 8; hard limit 16" ------------------- */

static void put_depths(const json_t *queue, struct strbuf *out) {
    const char *kind;
    json_t *depth;
    int64_t rest = ask_int(queue, "depth", 0);
    const char *comma = "";
    json_object_foreach(json_object_get(queue, "depths"), kind, depth) {
        strbuf_puts(out, comma);
        sanitize_line(kind, out);
        strbuf_printf(out, " %lld", (long long)json_integer_value(depth));
        rest -= json_integer_value(depth);
        comma = ", ";
    }
    if (rest > 0)
        strbuf_printf(out, "%sof no kind %lld", comma, (long long)rest);
}

static size_t put_warning(const char *warning, struct strbuf *out) {
    const struct output_style *style = output_style();
    if (!warning)
        return 0;
    strbuf_puts(out, style->yellow);
    sanitize_line(warning, out);
    strbuf_printf(out, "%s\n", style->reset);
    return 1;
}

/* One line, or none if no kind of task waits and the queue is not too long. Returns the number. */
static size_t status_queue(const json_t *status, struct strbuf *out) {
    size_t lines = put_warning(ask_text(status, "warning", NULL), out);
    const json_t *queue = json_object_get(status, "queue");
    const char *warning = ask_text(queue, "warning", NULL);
    int64_t soft = ask_int(queue, "soft", -1), hard = ask_int(queue, "hard", -1);
    if (warning)
        return lines + put_warning(warning, out);
    if (json_object_size(json_object_get(queue, "depths")) == 0)
        return lines;
    strbuf_puts(out, "queue: ");
    put_depths(queue, out);
    if (soft >= 0)
        strbuf_printf(out, "; soft limit %lld", (long long)soft);
    if (hard >= 0)
        strbuf_printf(out, "; hard limit %lld", (long long)hard);
    strbuf_putc(out, '\n');
    return lines + 1;
}

#define HEAD_LINES   3 /* identity and counts */
#define LIMITS_MAX   256
#define REDRAW_LEAST 500
#define REDRAW_MOST  5000

#define EMPTY " " /* a cell without even the mark for empty */

enum { ALERTS, RUNNING, WAITING, LIMITS, EVENTS, SECTION_COUNT };

struct section {
    struct output_column columns[6];
    struct rows rows;
    size_t wanted, given; /* rows */
    size_t total;         /* the daemon lists at most 50 runs */
};

/* A limit before it is sorted. */
struct limit {
    char *key, *state;
    int64_t used, cap; /* -1: none */
    bool is_money;     /* both in millionths of a dollar */
    int urgency;       /* the highest comes first */
};

struct screen {
    const json_t *status;
    time_ms now;
    size_t width; /* 0: unlimited */
    size_t used;  /* columns used in the first line */
    bool all;     /* include resources without a limit */
    bool tight;   /* no room for blank lines */
    struct limit limits[LIMITS_MAX];
    size_t limit_count;
    struct section sections[SECTION_COUNT];
    struct strbuf out;
};

/* --- sections -------------------------------------------------------------------------------- */

static void section_begin(struct section *section, const struct output_column *columns,
                          size_t count) {
    for (size_t i = 0; i < count; i++)
        section->columns[i] = columns[i];
    section->rows.columns = section->columns;
    section->rows.column_count = count;
}

static void section_add(struct section *section, const char *const *cells) {
    rows_add(&section->rows, cells);
    section->wanted++;
}

static void fill_alerts(struct screen *s) {
    static const struct output_column columns[] = { { "ALERT" }, { "SINCE", true }, { "WHAT" } };
    section_begin(&s->sections[ALERTS], columns, ARRAY_SIZE(columns));
    ASK_EACH(alert, json_object_get(s->status, "alerts")) {
        section_add(&s->sections[ALERTS], (const char *[]){
                                              ask_text(alert, "key", NULL),
                                              print_when(ask_int(alert, "since", 0), s->now).text,
                                              ask_text(alert, "text", NULL),
                                          });
    }
}

/* External runs hold slots, too. */
static void add_external(struct screen *s) {
    ASK_EACH(id, json_object_get(s->status, "external")) {
        section_add(&s->sections[RUNNING],
                    (const char *[]){ json_string_value(id), NULL, NULL, NULL, NULL,
                                      "(external: a run that this daemon did not start)" });
    }
}

static void fill_running(struct screen *s) {
    static const struct output_column columns[] = {
        { "RUNNING" }, { "PROJECT" }, { "AGENT" }, { "FOR", true }, { "TOKENS", true }, { "TITLE" },
    };
    struct section *section = &s->sections[RUNNING];
    const json_t *counts = json_object_get(s->status, "counts");
    section_begin(section, columns, ARRAY_SIZE(columns));
    section->total = (size_t)(ask_int(counts, "running", 0) + ask_int(counts, "starting", 0));
    ASK_EACH(task, json_object_get(s->status, "running")) {
        const json_t *run = json_object_get(task, "run");
        time_ms since = ask_int(run, "started_at", ask_int(task, "changed_at", 0));
        _cleanup_(strbuf_finish) struct strbuf title = STRBUF_INIT;
        const char *doing = ask_text(run, "doing", NULL), *text = print_title(task);
        if (doing)
            strbuf_printf(&title, "[%s] ", doing);
        strbuf_puts(&title, text ? text : "");
        section_add(section, (const char *[]){
                                 ask_text(task, "id", NULL),
                                 ask_text(task, "project", NULL),
                                 ask_text(task, "agent", NULL),
                                 since > 0 ? print_span(s->now - since).text : NULL,
                                 print_short(print_run_tokens(run)).text,
                                 strbuf_text(&title),
                             });
    }
    add_external(s);
}

static void fill_waiting(struct screen *s) {
    static const struct output_column columns[] = { { "WAITING", true }, { "FOR" }, { "TASKS" } };
    struct section *section = &s->sections[WAITING];
    section_begin(section, columns, ARRAY_SIZE(columns));
    size_t k;
    json_t *id;
    ASK_EACH(gate, json_object_get(s->status, "waiting_by_gate")) {
        _cleanup_(strbuf_finish) struct strbuf examples = STRBUF_INIT;
        int64_t count = ask_int(gate, "count", 0);
        json_array_foreach(json_object_get(gate, "examples"), k, id) {
            strbuf_printf(&examples, "%s%s", k > 0 ? ", " : "", json_string_value(id));
        }
        if (k > 0 && (int64_t)k < count)
            strbuf_puts(&examples, ", ...");
        section_add(section,
                    (const char *[]){ print_count(count).text, ask_text(gate, "gate", NULL),
                                      k > 0 ? strbuf_text(&examples) : EMPTY });
    }
}

static void add_limit(struct screen *s, const char *key, const json_t *item, const char *state) {
    bool endless = ask_int(item, "cap", -1) < 0 && strcmp(key, "runs") != 0;
    if (s->limit_count == LIMITS_MAX || (endless && !s->all))
        return;
    struct limit *limit = &s->limits[s->limit_count++];
    *limit = (struct limit){ .used = ask_int(item, "used", -1), .cap = ask_int(item, "cap", -1) };
    const char *open = ask_text(item, "state", "open");
    limit->urgency = print_limit_urgency(key, limit->used, limit->cap, strcmp(open, "open") != 0);
    limit->key = xstrdup(key);
    bool full = limit->cap >= 0 && limit->used >= limit->cap;
    limit->state = xstrdup(*state ? state : full ? "full" : EMPTY);
}

/* Stable: equal urgency keeps the order of the answer. */
static void sort_limits(struct screen *s) {
    for (size_t i = 1; i < s->limit_count; i++) {
        struct limit moving = s->limits[i];
        size_t at = i;
        for (; at > 0 && s->limits[at - 1].urgency < moving.urgency; at--)
            s->limits[at] = s->limits[at - 1];
        s->limits[at] = moving;
    }
}

static void put_amount(struct strbuf *out, int64_t number, bool is_money) {
    if (is_money && number >= 0)
        money_put(out, number);
    else
        strbuf_puts(out, print_short(number).text);
}

static void add_limits(struct screen *s) {
    sort_limits(s);
    for (size_t i = 0; i < s->limit_count; i++) {
        struct limit *limit = &s->limits[i];
        _cleanup_(strbuf_finish) struct strbuf used = STRBUF_INIT, cap = STRBUF_INIT;
        put_amount(&used, limit->used, limit->is_money);
        put_amount(&cap, limit->cap, limit->is_money);
        section_add(&s->sections[LIMITS], (const char *[]){ limit->key, strbuf_text(&used),
                                                            strbuf_text(&cap), limit->state });
        free(limit->key);
        free(limit->state);
    }
}

static void fill_limiters(struct screen *s) {
    ASK_EACH(item, json_object_get(s->status, "limiters")) {
        _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, state = STRBUF_INIT;
        strbuf_printf(&key, "limiter:%s", ask_text(item, "name", "?"));
        const char *now = ask_text(item, "state", "open");
        time_ms opens_at = ask_int(item, "opens_at", 0);
        int64_t hits = ask_int(item, "hits", 0);
        if (strcmp(now, "open") != 0)
            strbuf_puts(&state, now);
        if (opens_at > s->now)
            strbuf_printf(&state, ", opens %s", print_when(opens_at, s->now).text);
        if (state.length > 0 && hits > 0)
            strbuf_printf(&state, ", %lld hit%s", (long long)hits, hits == 1 ? "" : "s");
        add_limit(s, strbuf_text(&key), item, strbuf_text(&state));
    }
}

static void add_token_budget(struct screen *s, const json_t *item) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, state = STRBUF_INIT;
    strbuf_printf(&key, "budget:%s", ask_text(item, "key", "?"));
    status_tokens(item, s->now, &state);
    add_limit(s, strbuf_text(&key), item, strbuf_text(&state));
}

static void add_money_budget(struct screen *s, const json_t *item) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, state = STRBUF_INIT;
    int64_t used = status_micro(item, "usd_used"), cap = status_micro(item, "usd_cap");
    if (s->limit_count == LIMITS_MAX || (cap < 0 && (!s->all || used <= 0)))
        return;
    strbuf_printf(&key, "budget_usd:%s", ask_text(item, "key", "?"));
    status_money(item, s->now, &state);
    struct limit *limit = &s->limits[s->limit_count++];
    *limit = (struct limit){ .used = used, .cap = cap, .is_money = true };
    limit->urgency = print_limit_urgency(strbuf_text(&key), used, cap, false);
    limit->key = xstrdup(strbuf_text(&key));
    limit->state = xstrdup(state.length > 0 ? strbuf_text(&state) : EMPTY);
}

static void fill_limits(struct screen *s) {
    static const struct output_column columns[] = {
        { "LIMIT" },
        { "USED", true },
        { "CAP", true },
        { "STATE" },
    };
    section_begin(&s->sections[LIMITS], columns, ARRAY_SIZE(columns));
    ASK_EACH(item, json_object_get(s->status, "limits")) {
        /* Limiters have more members and follow. */
        const char *key = ask_text(item, "key", "?");
        if (strncmp(key, "limiter:", strlen("limiter:")) != 0)
            add_limit(s, key, item, "");
    }
    fill_limiters(s);
    ASK_EACH(item, json_object_get(s->status, "budgets")) {
        add_token_budget(s, item);
        add_money_budget(s, item);
    }
    add_limits(s);
}

/* The scalar members of an event's data: from=ready to=starting. */
static void put_data(struct strbuf *out, const json_t *data, time_ms now) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)data, key, value) {
        if (json_is_object(value) || json_is_array(value) || json_is_null(value))
            continue;
        strbuf_printf(out, "%s%s=", out->length > 0 ? " " : "", key);
        if (json_is_string(value))
            strbuf_puts(out, json_string_value(value));
        else if (strcmp(key, "until") == 0)
            strbuf_puts(out, print_when(json_integer_value(value), now).text);
        else
            print_value(out, value);
    }
}

/* Newest first, in any order of arrival. */
static void fill_events(struct screen *s) {
    static const struct output_column columns[] = {
        { "LAST", true },
        { "EVENT" },
        { "TASK" },
        { "DATA" },
    };
    struct section *section = &s->sections[EVENTS];
    section_begin(section, columns, ARRAY_SIZE(columns));
    const json_t *events = json_object_get(s->status, "events");
    size_t count = json_array_size(events);
    bool oldest_first = count > 1
                        && ask_int(json_array_get(events, 0), "seq", 0)
                               < ask_int(json_array_get(events, count - 1), "seq", 0);
    for (size_t i = 0; i < count; i++) {
        const json_t *event = json_array_get(events, oldest_first ? count - 1 - i : i);
        _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT;
        put_data(&data, json_object_get(event, "data"), s->now);
        section_add(section, (const char *[]){
                                 print_when(ask_int(event, "at", 0), s->now).text,
                                 ask_text(event, "kind", NULL),
                                 ask_text(event, "task", NULL),
                                 data.length > 0 ? strbuf_text(&data) : EMPTY,
                             });
    }
}

/* --- the screen ------------------------------------------------------------------------------ */

/* Adds to the first line if it fits; important parts come first. */
_printf_(3, 4) static void put_piece(struct screen *s, const char *colour, const char *format,
                                     ...) {
    _cleanup_(strbuf_finish) struct strbuf piece = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&piece, format, args);
    va_end(args);
    size_t width = text_columns(strbuf_text(&piece)) + (s->used > 0 ? 2 : 0);
    if (s->width > 0 && s->used + width > s->width)
        return;
    strbuf_printf(&s->out, "%s%s%s%s", s->used > 0 ? "  " : "", colour, strbuf_text(&piece),
                  *colour ? output_style()->reset : "");
    s->used += width;
}

/* The pause is more important than who did it. */
static void put_paused(struct screen *s) {
    const struct output_style *style = output_style();
    _cleanup_(strbuf_finish) struct strbuf who = STRBUF_INIT;
    size_t used = s->used;
    print_paused_by(&who, s->status, s->now);
    put_piece(s, style->yellow, "PAUSED%s", strbuf_text(&who));
    if (s->used == used)
        put_piece(s, style->yellow, "PAUSED");
}

static void put_head(struct screen *s) {
    const struct output_style *style = output_style();
    time_ms started = ask_int(s->status, "started_at", 0);
    int64_t disk = ask_int(json_object_get(s->status, "host"), "disk_free_mb", -1);
    int64_t stuck = ask_int(s->status, "blocked_dependencies", 0);
    put_piece(s, style->bold, "sluice %s", ask_text(s->status, "version", "?"));
    if (ask_true(s->status, "paused"))
        put_paused(s);
    if (ask_true(json_object_get(s->status, "store"), "full"))
        put_piece(s, style->red, "DISK FULL: nothing new is taken");
    const json_t *http = json_object_get(s->status, "http");
    if (ask_text(http, "problem", NULL))
        put_piece(s, style->red, "http.listen FAILS: status --json says why");
    const json_t *sandbox = json_object_get(s->status, "sandbox");
    if (ask_text(sandbox, "why", NULL))
        put_piece(s, style->yellow, "sandbox none: 'sluice doctor' says why");
    if (stuck > 0)
        put_piece(s, style->yellow, "%lld wait%s for what failed", (long long)stuck,
                  stuck == 1 ? "s" : "");
    if (started > 0)
        put_piece(s, "", "up %s", print_span(s->now - started).text);
    put_piece(s, "", "preset %s", ask_text(s->status, "preset", "?"));
    put_piece(s, "", "pid %lld", (long long)ask_int(s->status, "pid", 0));
    if (disk >= 0)
        put_piece(s, "", "disk %lld GB free", (long long)(disk / 1024));
    if (sandbox && !ask_text(sandbox, "why", NULL))
        put_piece(s, "", "sandbox %s", ask_text(sandbox, "auto", "?"));
    if (ask_text(http, "url", NULL))
        put_piece(s, "", "%s", ask_text(http, "url", ""));
    strbuf_putc(&s->out, '\n');
}

static void put_counts(struct screen *s) {
    static const char *const states[] = {
        "running", "ready", "waiting", "held", "draft", "done", "failed", "canceled",
    };
    const json_t *counts = json_object_get(s->status, "counts");
    struct output_column columns[ARRAY_SIZE(states)];
    struct print_text texts[ARRAY_SIZE(states)];
    const char *cells[ARRAY_SIZE(states)], *colours[ARRAY_SIZE(states)];
    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        int64_t count = ask_int(counts, states[i], 0);
        if (i == 0)
            count += ask_int(counts, "starting", 0);
        texts[i] = print_count(count);
        cells[i] = texts[i].text;
        colours[i] = count > 0 ? print_state_colour(states[i]) : output_style()->dim;
        columns[i] = (struct output_column){ states[i], true, 0 };
    }
    output_measure(columns, ARRAY_SIZE(states), cells);
    output_head(columns, ARRAY_SIZE(states), &s->out);
    output_row_in(columns, ARRAY_SIZE(states), cells, colours, &s->out);
}

/* Distributes rows among the sections, one by one in turn, up to `lines`. */
static void share_lines(struct screen *s, size_t lines) {
    size_t used = HEAD_LINES, parts = 0, wanted = 0;
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        parts += s->sections[i].wanted > 0;
        wanted += s->sections[i].wanted;
    }
    s->tight = used + 2 * parts + wanted > lines;
    used += s->tight ? parts : 2 * parts;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < SECTION_COUNT && used < lines; i++) {
            struct section *section = &s->sections[i];
            if (section->given == section->wanted)
                continue;
            section->given++;
            used++;
            more = true;
        }
    }
}

/* Trims blanks before the last newline. */
static void cut_blanks(struct strbuf *out) {
    while (out->length > 1 && out->text[out->length - 2] == ' ') {
        out->text[out->length - 2] = '\n';
        out->text[--out->length] = '\0';
    }
}

/* Titles show the number of hidden rows, which costs no line; except for events. */
static void put_titles(struct screen *s, struct section *section) {
    size_t last = section->rows.column_count - 1;
    const char *title = section->columns[last].title;
    _cleanup_(strbuf_finish) struct strbuf more = STRBUF_INIT;
    size_t total = section->total > section->wanted ? section->total : section->wanted;
    strbuf_printf(&more, "%s (%zu more)", title, total - section->given);
    if (section->given < total && section != &s->sections[EVENTS])
        section->columns[last].title = strbuf_text(&more);
    output_head(section->columns, last + 1, &s->out);
    section->columns[last].title = title;
}

static void put_section(struct screen *s, struct section *section) {
    if (section->wanted == 0)
        return;
    struct rows *rows = &section->rows;
    size_t columns = rows->column_count;
    assert(columns > 0);
    for (size_t i = 0; i < section->given; i++)
        output_measure(section->columns, columns, (const char *const *)&rows->cells[i * columns]);
    strbuf_puts(&s->out, s->tight ? "" : "\n");
    put_titles(s, section);
    size_t room = rows_room(rows, 8);
    for (size_t i = 0; i < section->given; i++) {
        rows_print_cut(rows, i * columns, room, NULL, &s->out);
        cut_blanks(&s->out);
    }
}

static void screen_print(const json_t *status, const char *before, bool fit, bool all) {
    struct screen s = { .status = status, .now = clock_read(), .width = print_width(), .all = all };
    fill_alerts(&s);
    fill_running(&s);
    fill_waiting(&s);
    fill_limits(&s);
    fill_events(&s);
    _cleanup_(strbuf_finish) struct strbuf queue = STRBUF_INIT;
    size_t lines = status_queue(status, &queue);
    share_lines(&s, fit ? terminal_height(stdout) - 1 - lines : SIZE_MAX);
    strbuf_puts(&s.out, before);
    put_head(&s);
    put_counts(&s);
    strbuf_puts(&s.out, strbuf_text(&queue));
    for (size_t i = 0; i < SECTION_COUNT; i++)
        put_section(&s, &s.sections[i]);
    output_rest(&s.out);
    strbuf_finish(&s.out);
    for (size_t i = 0; i < SECTION_COUNT; i++)
        rows_finish(&s.sections[i].rows);
}

/* --- --watch --------------------------------------------------------------------------------- */

static int event_came(void *ctx, const struct client_event *event) {
    (void)event;
    *(bool *)ctx = true;
    return 0;
}

/* Until something happened and the last drawing is old enough, or a while has passed (elapsed times
 * change). 0: draw; 1: Ctrl-C; <0: the stream broke. */
static int wait_for_news(struct client *events, int signals, const bool *news, struct error *err) {
    time_ms drawn = clock_read_steady();
    for (;;) {
        time_ms passed = clock_read_steady() - drawn;
        if (passed >= REDRAW_MOST || (*news && passed >= REDRAW_LEAST))
            return 0;
        struct pollfd fds[] = {
            { .fd = client_fd(events), .events = POLLIN },
            { .fd = signals, .events = POLLIN },
        };
        (void)poll(fds, ARRAY_SIZE(fds), (int)((*news ? REDRAW_LEAST : REDRAW_MOST) - passed));
        if (fds[1].revents)
            return 1;
        int r = fds[0].revents ? client_pump(events, err) : 1;
        if (r <= 0)
            return r < 0 ? r : -ECONNRESET;
    }
}

static int watch(struct ask *ask) {
    _cleanup_(ask_finish) struct ask events = { 0 };
    int code = ask_open(&events, ASK_RUNNING), signals = cmd_watch_interrupts(), r = 0;
    bool news = false;
    if (code == CMD_OK
        && client_begin_events(events.client, "/v1/events", CLIENT_EVENTS_NEW, event_came, &news,
                               &events.err)
               != 200)
        code = ask_failed(&events);
    while (code == CMD_OK && r == 0) {
        code = ask_get(ask, "/v1/status");
        if (code != CMD_OK)
            break;
        screen_print(ask->answer, "\x1b[H\x1b[2J", true, false);
        (void)output_flush();
        news = false;
        r = wait_for_news(events.client, signals, &news, &events.err);
    }
    if (r < 0) {
        cmd_warn("the daemon has gone");
        code = CMD_NO_DAEMON;
    }
    if (signals >= 0)
        close(signals);
    return code;
}

static int cmd_status_run(const struct cmd_call *call) {
    bool watching = cmd_has(call, "watch");
    if (watching && call->json)
        return cmd_usage_error(call->cmd, "'--watch' and '--json' exclude each other");
    if (watching && !terminal_is(stdout))
        return cmd_usage_error(call->cmd, "option '--watch' needs a terminal");
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open(&ask, ASK_RUNNING);
    if (code == CMD_OK && watching)
        return watch(&ask);
    if (code != CMD_OK || (code = ask_get(&ask, "/v1/status")) != CMD_OK)
        return code;
    ask_warn_standby(&ask);
    if (call->json)
        return ask_print(&ask);
    screen_print(ask.answer, "", !cmd_has(call, "all") && terminal_is(stdout),
                 cmd_has(call, "all"));
    return CMD_OK;
}

static const struct cmd_option status_options[] = {
    { "all", 'a', NULL, "every row, and the limits that have no cap" },
    { "watch", 'w', NULL, "stay, and show what changes; Ctrl-C ends it" },
    { NULL },
};

const struct cmd cmd_status = { "status", .options = status_options, .run = cmd_status_run };
