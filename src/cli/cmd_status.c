/* cmd_status.c: shows the state of the home on one screen.
 *
 * On a terminal the sections share the lines: each gets rows one by one in turn, so that a long
 * list does not push out another. A pipe gets everything. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/money.h"
#include "cli/follow.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "os/clock.h"
#include "os/terminal.h"
#include "sim/text.h"

/* --- budgets: "######.... 62%, 10k reserved" -------------------------------------------------- */

#define BAR_WIDTH 10

/* Dollars in millionths; -1: none. */
static int64_t micro_usd(const json_t *item, const char *member) {
    double dollars = get_real(item, member, -1);
    return dollars < 0 ? -1 : (int64_t)(dollars * (double)MONEY_DOLLAR + 0.5);
}

static void put_bar(const json_t *item, time_ms now, double used, double cap, struct strbuf *out) {
    time_ms opens_at = get_int(item, "opens_at", 0);
    double part = cap > 0 ? used / cap : 1;
    if (cap < 0)
        return;
    for (int i = 0; i < BAR_WIDTH; i++)
        strbuf_putc(out, (i + 0.5) / BAR_WIDTH < part ? '#' : '.');
    if (cap > 0)
        strbuf_printf(out, " %.0f%%", part * 100);
    if (used >= cap && opens_at > now)
        strbuf_printf(out, ", opens %s", print_when(opens_at, now).text);
}

/* --- the queue: "queue: implement 9, review 1; soft limit 8; hard limit 16" ------------------- */

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
    size_t lines = put_warning(get_text(status, "warning", NULL), out);
    const json_t *queue = json_object_get(status, "queue");
    const char *warning = get_text(queue, "warning", NULL);
    int64_t soft = get_int(queue, "soft", -1), hard = get_int(queue, "hard", -1);
    if (warning)
        return lines + put_warning(warning, out);
    if (json_object_size(json_object_get(queue, "depths")) == 0)
        return lines;
    strbuf_puts(out, "queue: ");
    const char *comma = "";
    int64_t rest = get_int(queue, "depth", 0);
    EACH_MEMBER(kind, depth, json_object_get(queue, "depths")) {
        strbuf_puts(out, comma);
        sanitize_line(kind, out);
        strbuf_printf(out, " %" JSON_INTEGER_FORMAT, json_integer_value(depth));
        rest -= json_integer_value(depth);
        comma = ", ";
    }
    if (rest > 0)
        strbuf_printf(out, "%sof no kind %" PRId64, comma, rest);
    if (soft >= 0)
        strbuf_printf(out, "; soft limit %" PRId64, soft);
    if (hard >= 0)
        strbuf_printf(out, "; hard limit %" PRId64, hard);
    strbuf_putc(out, '\n');
    return lines + 1;
}

#define HEAD_LINES   3 /* identity and counts */
#define REDRAW_LEAST 500
#define REDRAW_MOST  5000

#define EMPTY " " /* a cell without even the mark for empty */

enum { NEEDS, RUNNING, WAITING, LIMITS, EVENTS, SECTION_COUNT };
enum { LIMIT_OPEN, LIMIT_CLOSED, LIMIT_MONEY };

struct section {
    struct rows rows;
    size_t wanted, given; /* rows */
    size_t total;         /* the daemon lists at most 50 runs, and what needs a person likewise */
};

struct screen {
    const json_t *status, *needs; /* `needs`: what waits for a person; NULL: nothing does */
    time_ms now;
    size_t width;   /* 0: unlimited */
    size_t used;    /* columns used in the first line */
    bool all;       /* include resources without a limit */
    bool tight;     /* no room for blank lines */
    json_t *limits; /* the most urgent first */
    struct section sections[SECTION_COUNT];
    struct strbuf out;
};

/* --- sections -------------------------------------------------------------------------------- */

static void add_item(struct screen *s, int section, const json_t *item) {
    rows_add_item(&s->sections[section].rows, item, s->now);
    s->sections[section].wanted++;
}

/* Its title, and the final message of its run, or why it is here. */
static void put_need(struct strbuf *out, const json_t *need, time_ms now) {
    const char *title = print_title(need), *why = get_text(need, "why", "");
    (void)now;
    int64_t blocks = get_int(need, "blocks", 0);
    strbuf_printf(out, "%s%s%s", title ? title : "", title && *why ? ": " : "", why);
    if (blocks > 0)
        strbuf_printf(out, " (%s task%s for it)", print_count(blocks).text,
                      blocks == 1 ? " waits" : "s wait");
}

static const struct column need_columns[] = {
    { "NEEDS YOU", .put = print_need_subject },
    { "FOR", "need" },
    { "SINCE", "since", CELL_WHEN, .right = true },
    { "WHAT", .put = put_need },
    { NULL },
};

static void put_title(struct strbuf *out, const json_t *task, time_ms now) {
    const char *doing = get_text(json_object_get(task, "run"), "doing", NULL);
    const char *title = print_title(task);
    (void)now;
    if (doing)
        strbuf_printf(out, "[%s] ", doing);
    strbuf_puts(out, title ? title : "");
}

static const struct column running_columns[] = {
    { "RUNNING", "id" },
    { "PROJECT", "project" },
    { "AGENT", "agent" },
    { "FOR", .put = print_elapsed, .right = true },
    { "TOKENS", .put = print_tokens, .right = true },
    { "TITLE", .put = put_title },
    { NULL },
};

static void put_waiting_count(struct strbuf *out, const json_t *gate, time_ms now) {
    (void)now;
    strbuf_puts(out, print_count(get_int(gate, "count", 0)).text);
}

static void put_examples(struct strbuf *out, const json_t *gate, time_ms now) {
    const json_t *ids = json_object_get(gate, "examples");
    (void)now;
    join_texts(out, ", ", ids);
    if (out->length == 0)
        strbuf_puts(out, EMPTY);
    else if ((int64_t)json_array_size(ids) < get_int(gate, "count", 0))
        strbuf_puts(out, ", ...");
}

static const struct column waiting_columns[] = {
    { "WAITING", .put = put_waiting_count, .right = true },
    { "FOR", "gate" },
    { "TASKS", .put = put_examples },
    { NULL },
};

static const struct column limit_columns[] = {
    { "LIMIT", "key" },
    { "USED", "used", .right = true },
    { "CAP", "cap", .right = true },
    { "STATE", "state" },
    { NULL },
};

static struct print_text amount(int64_t number, bool is_money) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (!is_money || number < 0)
        return print_short(number);
    money_put(&out, number);
    return print_format("%s", strbuf_text(&out));
}

static void add_limit(struct screen *s, const char *key, int64_t used, int64_t cap, int kind,
                      const struct strbuf *state) {
    bool is_money = kind == LIMIT_MONEY, full = !is_money && cap >= 0 && used >= cap;
    const char *text = state->length > 0 ? strbuf_text(state) : full ? "full" : EMPTY;
    print_add_limit(s->limits,
                    json_pack("{s:s, s:s, s:s, s:s}", "key", key, "used",
                              amount(used, is_money).text, "cap", amount(cap, is_money).text,
                              "state", text),
                    print_limit_urgency(key, used, cap, kind == LIMIT_CLOSED));
}

/* A limit or limiter. */
static void add_runs_limit(struct screen *s, const char *prefix, const json_t *item) {
    _cleanup_(strbuf_finish) struct strbuf state = STRBUF_INIT;
    _cleanup_(freep) char *key =
        xasprintf("%s%s", prefix, get_text(item, *prefix ? "name" : "key", "?"));
    const char *word = get_text(item, "state", "open");
    bool closed = strcmp(word, "open") != 0;
    time_ms opens_at = get_int(item, "opens_at", 0);
    int64_t hits = get_int(item, "hits", 0), cap = get_int(item, "cap", -1);
    if (*prefix && closed)
        strbuf_puts(&state, word);
    if (*prefix && opens_at > s->now)
        strbuf_printf(&state, ", opens %s", print_when(opens_at, s->now).text);
    if (state.length > 0 && hits > 0)
        strbuf_printf(&state, ", %" PRId64 " hit%s", hits, hits == 1 ? "" : "s");
    bool has_windows = json_array_size(json_object_get(item, "windows")) > 0;
    if (has_windows && state.length > 0)
        strbuf_puts(&state, "; ");
    print_windows(&state, item, s->now);
    if (cap >= 0 || s->all || has_windows || strcmp(key, "runs") == 0)
        add_limit(s, key, get_int(item, "used", -1), cap, closed ? LIMIT_CLOSED : LIMIT_OPEN,
                  &state);
}

/* A row for its tokens and one for its money, if they are limited. */
static void add_budget(struct screen *s, const json_t *item) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, tokens = STRBUF_INIT,
                                           money = STRBUF_INIT;
    int64_t used = get_int(item, "used", 0), cap = get_int(item, "cap", -1);
    int64_t reserved = get_int(item, "reserved", 0),
            unknown = get_int(item, "unknown_cost_runs", 0);
    int64_t usd_used = micro_usd(item, "usd_used"), usd_cap = micro_usd(item, "usd_cap");
    int64_t usd_reserved = micro_usd(item, "usd_reserved");
    put_bar(item, s->now, (double)used, (double)cap, &tokens);
    if (reserved > 0)
        strbuf_printf(&tokens, "%s%s reserved", tokens.length > 0 ? ", " : "",
                      print_short(reserved).text);
    strbuf_printf(&key, "budget:%s", get_text(item, "key", "?"));
    if (cap >= 0 || s->all)
        add_limit(s, strbuf_text(&key), get_int(item, "used", -1), cap,
                  strcmp(get_text(item, "state", "open"), "open") != 0 ? LIMIT_CLOSED : LIMIT_OPEN,
                  &tokens);
    put_bar(item, s->now, (double)usd_used, (double)usd_cap, &money);
    if (usd_reserved > 0) {
        strbuf_puts(&money, money.length > 0 ? ", " : "");
        money_put(&money, usd_reserved);
        strbuf_puts(&money, " reserved");
    }
    if (unknown > 0)
        strbuf_printf(&money, "%s%" PRId64 " run%s of unknown cost", money.length > 0 ? ", " : "",
                      unknown, unknown == 1 ? "" : "s");
    strbuf_clear(&key);
    strbuf_printf(&key, "budget_usd:%s", get_text(item, "key", "?"));
    if (usd_cap >= 0 || (s->all && usd_used > 0))
        add_limit(s, strbuf_text(&key), usd_used, usd_cap, LIMIT_MONEY, &money);
}

/* Those that are closed, or all. */
static void add_hours(struct screen *s, const json_t *item) {
    _cleanup_(strbuf_finish) struct strbuf state = STRBUF_INIT;
    _cleanup_(freep) char *key =
        xasprintf("hours:%s:%s", get_text(item, "scope", "?"), get_text(item, "name", "?"));
    bool open = get_true(item, "open");
    if (open && !s->all)
        return;
    print_hours_state(&state, item, s->now);
    add_limit(s, key, -1, -1, open ? LIMIT_OPEN : LIMIT_CLOSED, &state);
}

static void fill_limits(struct screen *s) {
    EACH_ITEM(item, json_object_get(s->status, "limits")) {
        /* Limiters have more members and follow. */
        if (strncmp(get_text(item, "key", "?"), "limiter:", strlen("limiter:")) != 0)
            add_runs_limit(s, "", item);
    }
    EACH_ITEM(item, json_object_get(s->status, "limiters")) {
        add_runs_limit(s, "limiter:", item);
    }
    EACH_ITEM(item, json_object_get(s->status, "hours")) {
        add_hours(s, item);
    }
    EACH_ITEM(item, json_object_get(s->status, "budgets")) {
        add_budget(s, item);
    }
    EACH_ITEM(limit, s->limits) {
        add_item(s, LIMITS, limit);
    }
}

/* The scalar members of an event's data: from=ready to=starting. */
static void put_data(struct strbuf *out, const json_t *event, time_ms now) {
    EACH_MEMBER(key, value, json_object_get(event, "data")) {
        if (json_is_object(value) || json_is_array(value) || json_is_null(value))
            continue;
        strbuf_printf(out, "%s%s=", out->length > 0 ? " " : "", key);
        if (json_is_string(value))
            strbuf_puts(out, json_string_value(value));
        else if (strcmp(key, "until") == 0 || strcmp(key, "resets_at") == 0)
            strbuf_puts(out, print_when(json_integer_value(value), now).text);
        else
            output_add_json(value, out);
    }
    strbuf_puts(out, out->length > 0 ? "" : EMPTY);
}

static const struct column event_columns[] = {
    { "LAST", "at", CELL_WHEN, .right = true },
    { "EVENT", "kind" },
    { "TASK", "task" },
    { "DATA", .put = put_data },
    { NULL },
};

static void fill_sections(struct screen *s) {
    static const struct {
        const struct column *columns;
        const char *member; /* of the status: its items; NULL: filled below */
    } table[SECTION_COUNT] = {
        [NEEDS] = { need_columns, NULL },
        [RUNNING] = { running_columns, "running" },
        [WAITING] = { waiting_columns, "waiting_by_gate" },
        [LIMITS] = { limit_columns, NULL },
        [EVENTS] = { event_columns, NULL },
    };
    const json_t *counts = json_object_get(s->status, "counts");
    const json_t *events = json_object_get(s->status, "events");
    for (int i = 0; i < SECTION_COUNT; i++) {
        s->sections[i].rows = rows_new(table[i].columns);
        EACH_ITEM(item, table[i].member ? json_object_get(s->status, table[i].member) : NULL) {
            add_item(s, i, item);
        }
    }
    EACH_ITEM(item, json_object_get(s->needs, "items")) {
        json_auto_t *need = print_need(item);
        add_item(s, NEEDS, need);
    }
    s->sections[NEEDS].total = (size_t)get_int(s->needs, "total", 0);
    s->sections[RUNNING].total =
        (size_t)(get_int(counts, "running", 0) + get_int(counts, "starting", 0));
    EACH_ITEM(id, json_object_get(s->status, "external")) { /* they hold slots, too */
        rows_add(&s->sections[RUNNING].rows,
                 (const char *[]){ json_string_value(id), NULL, NULL, NULL, NULL,
                                   "(external: a run that this daemon did not start)" });
        s->sections[RUNNING].wanted++;
    }
    fill_limits(s);
    /* Newest first, in any order of arrival. */
    size_t count = json_array_size(events);
    bool oldest_first = count > 1
                        && get_int(json_array_get(events, 0), "seq", 0)
                               < get_int(json_array_get(events, count - 1), "seq", 0);
    for (size_t i = 0; i < count; i++)
        add_item(s, EVENTS, json_array_get(events, oldest_first ? count - 1 - i : i));
}

/* --- the screen ------------------------------------------------------------------------------ */

/* Adds to the first line if it fits; important parts come first. */
_printf_(3, 4) static void put_piece(struct screen *s, const char *colour, const char *format,
                                     ...) {
    CMD_PRINT_ARGS(piece, format);
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
    time_ms started = get_int(s->status, "started_at", 0);
    int64_t disk = get_int(json_object_get(s->status, "host"), "disk_free_mb", -1);
    int64_t stuck = get_int(s->status, "blocked_dependencies", 0);
    put_piece(s, style->bold, "sluice %s", get_text(s->status, "version", "?"));
    if (get_true(s->status, "paused"))
        put_paused(s);
    if (get_true(json_object_get(s->status, "store"), "full"))
        put_piece(s, style->red, "DISK FULL: new tasks are refused");
    const json_t *http = json_object_get(s->status, "http");
    if (get_text(http, "problem", NULL))
        put_piece(s, style->red, "http.listen FAILS: status --json shows why");
    const json_t *sandbox = json_object_get(s->status, "sandbox");
    if (get_text(sandbox, "why", NULL))
        put_piece(s, style->yellow, "sandbox none: 'sluice doctor' shows why");
    if (stuck > 0)
        put_piece(s, style->yellow, "%" PRId64 " wait%s for failed tasks", stuck,
                  stuck == 1 ? "s" : "");
    if (started > 0)
        put_piece(s, "", "up %s", print_span(s->now - started).text);
    put_piece(s, "", "preset %s", get_text(s->status, "preset", "?"));
    put_piece(s, "", "pid %" PRId64, get_int(s->status, "pid", 0));
    if (disk >= 0)
        put_piece(s, "", "disk %" PRId64 " GB free", disk / 1024);
    if (sandbox && !get_text(sandbox, "why", NULL))
        put_piece(s, "", "sandbox %s", get_text(sandbox, "auto", "?"));
    if (get_text(http, "url", NULL))
        put_piece(s, "", "%s", get_text(http, "url", ""));
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
        int64_t count = get_int(counts, states[i], 0);
        if (i == 0)
            count += get_int(counts, "starting", 0);
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

static void put_section(struct screen *s, struct section *section) {
    struct rows *rows = &section->rows;
    size_t columns = rows->column_count, last = columns - 1;
    size_t total = section->total > section->wanted ? section->total : section->wanted;
    const char *title = rows->columns[last].title;
    if (section->wanted == 0)
        return;
    for (size_t i = 0; i < section->given; i++)
        output_measure(rows->columns, columns, (const char *const *)&rows->cells[i * columns]);
    strbuf_puts(&s->out, s->tight ? "" : "\n");
    /* Titles show the number of hidden rows, which costs no line; except for events. */
    _cleanup_(freep) char *more = xasprintf("%s (%zu more)", title, total - section->given);
    if (section->given < total && section != &s->sections[EVENTS])
        rows->columns[last].title = more;
    output_head(rows->columns, columns, &s->out);
    rows->columns[last].title = title;
    size_t room = rows_room(rows, 8);
    for (size_t i = 0; i < section->given; i++) {
        rows_print_cut(rows, i * columns, room, NULL, &s->out);
        cut_blanks(&s->out);
    }
}

/* *ret_status: the answer of /v1/status; *ret_needs: what waits for a person, as the page lists it,
 * or NULL. */
static int read_screen(struct request *req, json_t **ret_status, json_t **ret_needs) {
    int code = request_get(req, "/v1/status");
    *ret_status = *ret_needs = NULL;
    if (code != CMD_OK)
        return code;
    *ret_status = TAKE_PTR(req->answer);
    if (get_int(*ret_status, "attention", 0) == 0)
        return CMD_OK;
    code = request_get(req, "/v1/attention?limit=50");
    *ret_needs = code == CMD_OK ? TAKE_PTR(req->answer) : NULL;
    return code;
}

static void screen_print(const json_t *status, const json_t *needs, const char *before, bool fit,
                         bool all) {
    json_auto_t *limits = json_array();
    struct screen s = { .status = status,
                        .needs = needs,
                        .now = clock_read(),
                        .width = print_width(),
                        .all = all,
                        .limits = limits };
    fill_sections(&s);
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

static int watch(struct request *req) {
    _cleanup_(request_finish) struct request events = { 0 };
    int code = request_open(&events, REQUEST_RUNNING), signals = cmd_watch_interrupts(), r = 0;
    bool news = false;
    if (code == CMD_OK
        && client_begin_events(events.client, "/v1/events", CLIENT_EVENTS_NEW, follow_note_event,
                               &news, &events.err)
               != 200)
        code = request_failed(&events);
    while (code == CMD_OK && r == 0) {
        json_auto_t *status = NULL, *needs = NULL;
        code = read_screen(req, &status, &needs);
        if (code != CMD_OK)
            break;
        screen_print(status, needs, "\x1b[H\x1b[2J", true, false);
        (void)output_flush();
        news = false;
        r = wait_for_news(events.client, signals, &news, &events.err);
    }
    if (r < 0) {
        cmd_warn("the daemon has stopped");
        code = CMD_NO_DAEMON;
    }
    if (signals >= 0)
        close(signals);
    return code;
}

static int cmd_status_run(const struct cmd_call *call) {
    bool watching = cmd_has(call, "watch");
    if (watching && call->json)
        return cmd_usage_error(call->cmd, "'--watch' and '--json' cannot be used together");
    if (watching && !terminal_is(stdout))
        return cmd_usage_error(call->cmd, "option '--watch' needs a terminal");
    _cleanup_(request_finish) struct request req = { 0 };
    if (watching)
        return watch(&req);
    if (call->json) {
        int code = request_get(&req, "/v1/status");
        if (code != CMD_OK)
            return code;
        request_warn_standby(&req);
        return request_print(&req);
    }
    json_auto_t *status = NULL, *needs = NULL;
    int code = read_screen(&req, &status, &needs);
    if (code != CMD_OK)
        return code;
    request_warn_standby(&req);
    screen_print(status, needs, "", !cmd_has(call, "all") && terminal_is(stdout),
                 cmd_has(call, "all"));
    return CMD_OK;
}

const struct cmd cmd_status = {
    "status", cmd_status_run, 0, 0,
    CMD_OPTIONS({ "all", 'a', NULL, "show every row, and limits without a cap" },
                { "watch", 'w', NULL, "keep running and update the output; Ctrl-C ends it" })
};
