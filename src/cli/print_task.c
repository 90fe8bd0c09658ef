/* print_task.c: see print_task.h. */
#include "cli/print_task.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "cli/request.h"
#include "core/state_style.h"
#include "os/terminal.h"
#include "sim/text.h"

/* --- short texts ----------------------------------------------------------------------------- */

struct print_text print_format(const char *format, ...) {
    struct print_text ret;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(ret.text, sizeof(ret.text), format, args);
    va_end(args);
    return ret;
}

struct print_text print_span(time_ms span) {
    struct output_span compact = output_span(span < 0 ? 0 : span);
    int digits = (int)strlen(compact.text) - 1;
    return print_format("%.*s %c", digits, compact.text, compact.text[digits]);
}

struct print_text print_when(time_ms at, time_ms now) {
    if (at <= 0)
        return print_format("-");
    if (at > now) /* rounded up: "in 0 s" would be wrong */
        return print_format("in %s", print_span(at - now + 999).text);
    return now - at < SECONDS(1) ? print_format("now")
                                 : print_format("%s ago", print_span(now - at).text);
}

struct print_text print_start(const json_t *forecast, time_ms now) {
    time_ms at = get_int(forecast, "starts_at", 0);
    /* The time has come, with no condition: "if runs take as long as usual" alone says nothing. */
    bool is_condition = strncmp(get_text(forecast, "text", ""), "if ", 3) == 0;
    if (at > now)
        return print_format("%s, ", print_when(at, now).text);
    return print_format("%s", at > 0 && is_condition ? "now, " : "");
}

struct print_text print_since(time_ms at, time_ms now) {
    return now - at < SECONDS(1) ? print_format("just now") : print_when(at, now);
}

void print_paused_by(struct strbuf *out, const json_t *object, time_ms now) {
    const char *by = get_text(object, "paused_by", NULL);
    time_ms at = get_int(object, "paused_at", 0);
    if (by) {
        strbuf_puts(out, " by ");
        print_line(out, by, 0);
    }
    if (at > 0)
        strbuf_printf(out, " %s", print_since(at, now).text);
}

struct print_text print_count(int64_t count) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (count >= 0)
        text_count(&text, count);
    return print_format("%s", count < 0 ? "-" : strbuf_text(&text));
}

struct print_text print_short(int64_t count) {
    static const char units[] = " kMGT";
    size_t unit = 0;
    int tenths = 0;
    if (count < 0)
        return print_format("-");
    for (; count >= 1000 && unit + 2 < sizeof(units); unit++) {
        tenths = (int)(count % 1000 / 100);
        count /= 1000;
    }
    if (unit == 0)
        return print_format("%" PRId64, count);
    return count >= 100 ? print_format("%" PRId64 "%c", count, units[unit])
                        : print_format("%" PRId64 ".%d%c", count, tenths, units[unit]);
}

struct print_text print_usd(double usd) {
    int places = usd >= 0.1 || usd <= 0 ? 2 : usd >= 0.0001 ? 4 : 6;
    bool tiny = usd > 0 && usd < 5e-7;
    struct print_text ret = print_format("%s$%.*f", tiny ? "<" : "", places, tiny ? 1e-6 : usd);
    size_t length = strlen(ret.text), least = strcspn(ret.text, ".") + 3;
    while (length > least && ret.text[length - 1] == '0')
        ret.text[--length] = '\0';
    return ret;
}

json_t *print_need(const json_t *item) {
    const json_t *task = json_object_get(item, "task");
    const json_t *question = json_object_get(item, "question");
    json_t *need = json_is_object(task) ? json_copy((json_t *)(uintptr_t)task) : json_object();
    copy_members(need, item, "key since name blocks");
    set_text(need, "kind_of_need", get_text(item, "kind", NULL));
    set_text(need, "need", get_text(item, "label", get_text(item, "kind", "?")));
    set_text(need, "why", get_text(question, "question", get_text(item, "text", NULL)));
    return need;
}

void print_need_subject(struct strbuf *out, const json_t *need, time_ms now) {
    (void)now;
    const char *name = member_is(need, "kind_of_need", "alert") ? "key" : "name";
    strbuf_puts(out, get_text(need, "id", get_text(need, name, "")));
}

bool print_is_empty(const json_t *task) {
    return get_int(json_object_get(task, "changes"), "files", -1) == 0;
}

struct print_text print_state(const json_t *task) {
    const char *state = get_text(task, "state", "?");
    const char *phase = get_text(json_object_get(task, "run"), "phase", NULL);
    const char *more = get_text(task, "hold", phase);
    if (!more || strcmp(more, "working") == 0 || strcmp(more, state) == 0)
        return print_format("%.20s", state);
    return print_format("%.20s:%.20s", state, more);
}

const char *print_state_colour(const char *state) {
    static char codes[TASK_STATE_MAX][16];
    enum task_state known = task_state_find(state);
    const struct state_style *look = state_style(known);
    if (!*output_style()->reset || (look->color8 < 0 && !look->dim))
        return "";
    if (look->color8 < 0)
        return output_style()->dim;
    (void)snprintf(codes[known], sizeof(codes[known]), "\x1b[%s3%dm", look->bold ? "1;" : "",
                   look->color8);
    return codes[known];
}

void print_windows(struct strbuf *out, const json_t *limiter, time_ms now) {
    const char *between = "";
    EACH_ITEM(window, json_object_get(limiter, "windows")) {
        int64_t used = get_int(window, "used_percent", -1);
        int64_t reserve = get_int(window, "reserve_percent", 0);
        time_ms resets_at = get_int(window, "resets_at", 0);
        strbuf_printf(out, "%s%s ", between,
                      member_is(window, "window", "five_hour") ? "5-hour"
                                                               : get_text(window, "window", "?"));
        if (used >= 0)
            strbuf_printf(out, "%" PRId64 " %%", used);
        else
            strbuf_puts(out, "unknown");
        if (reserve > 0)
            strbuf_printf(out, ", %" PRId64 " %% reserved", reserve);
        if (resets_at > now)
            strbuf_printf(out, ", resets %s", print_when(resets_at, now).text);
        between = "; ";
    }
}

void print_hours_state(struct strbuf *out, const json_t *hours, time_ms now) {
    bool open = get_true(hours, "open");
    time_ms until = get_int(hours, "until", 0);
    strbuf_puts(out, open ? "open" : "closed");
    if (until > now)
        strbuf_printf(out, ", %s %s", open ? "closes" : "opens", print_when(until, now).text);
}

bool print_off_hours(struct strbuf *out, const json_t *item, const char *opens, time_ms now) {
    const json_t *hours = json_object_get(item, "hours");
    time_ms until = get_int(hours, "until", 0);
    if (!json_is_object(hours) || get_true(hours, "open"))
        return false;
    strbuf_puts(out, "off hours");
    if (until > now)
        strbuf_printf(out, "%s%s", opens, print_when(until, now).text);
    return true;
}

int print_limit_urgency(const char *key, int64_t used, int64_t cap, bool closed) {
    if (strcmp(key, "runs") == 0)
        return 1000;
    if (closed)
        return 900;
    if (cap < 0 || used <= 0)
        return used > 0;
    return used >= cap ? 500 : (int)(100 * (double)used / (double)cap);
}

void print_add_limit(json_t *limits, json_t *limit, int urgency) {
    size_t at = json_array_size(limits);
    while (at > 0 && get_int(json_array_get(limits, at - 1), "urgency", 0) < urgency)
        at--;
    json_object_set_new(limit, "urgency", json_integer(urgency));
    json_array_insert_new(limits, at, limit);
}

int64_t print_run_tokens(const json_t *run) {
    int64_t in = get_int(run, "tokens_in", -1), out = get_int(run, "tokens_out", -1);
    return in < 0 && out < 0 ? -1 : (in > 0 ? in : 0) + (out > 0 ? out : 0);
}

void print_gate(struct strbuf *out, const json_t *gate, time_ms now) {
    time_ms opens_at = get_int(gate, "opens_at", 0), since = get_int(gate, "since", 0);
    if (get_true(gate, "open"))
        return;
    strbuf_puts(out, get_text(gate, "reason", ""));
    if (opens_at > 0)
        strbuf_printf(out, " (opens %s)", print_when(opens_at, now).text);
    if (since > 0)
        strbuf_printf(out, " (paused %s)", print_since(since, now).text);
}

/* --- lines ----------------------------------------------------------------------------------- */

void print_line(struct strbuf *out, const char *text, size_t columns) {
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    sanitize_line(text, &safe);
    if (columns == 0)
        strbuf_puts(out, strbuf_text(&safe));
    else
        (void)text_name(out, strbuf_text(&safe), columns, terminal_is_utf8());
}

/* How many bytes of `text` fit on a line of `columns`: up to a blank if possible. */
static size_t line_length(const char *text, size_t columns) {
    size_t fits = 0, last_blank = 0;
    for (size_t i = 0; text[i];) {
        size_t next = i + 1;
        while (((unsigned char)text[next] & 0xc0) == 0x80)
            next++;
        _cleanup_(freep) char *part = xstrndup(text, next);
        if (text_columns(part) > columns)
            return last_blank > 0 ? last_blank : fits > 0 ? fits : next;
        if (text[i] == ' ' && i > 0)
            last_blank = i;
        fits = i = next;
    }
    return fits;
}

void print_wrapped(struct strbuf *out, const char *text, size_t at, unsigned lines) {
    size_t width = print_width();
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    sanitize_line(text, &safe);
    const char *rest = strbuf_text(&safe);
    if (width == 0 || width < at + 20) {
        strbuf_puts(out, rest);
        return;
    }
    for (; lines > 1 && text_columns(rest) > width - at; lines--) {
        size_t length = line_length(rest, width - at);
        strbuf_add(out, rest, length);
        strbuf_putc(out, '\n');
        strbuf_repeat(out, " ", at);
        rest += length + (rest[length] == ' ');
    }
    print_line(out, rest, width - at);
}

size_t print_width(void) {
    if (terminal_is(stdout))
        return terminal_width(stdout);
    return getenv("COLUMNS") ? terminal_width(stdout) : 0;
}

const char *print_title(const json_t *task) {
    const json_t *spec = json_object_get(task, "spec");
    static const char *const members[] = { "title", "prompt" };
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const char *text = get_text(task, members[i], NULL);
        if (!text || !*text)
            text = get_text(spec, members[i], NULL);
        if (text && *text)
            return text;
    }
    return json_string_value(json_array_get(json_object_get(spec, "argv"), 0));
}

/* --- members of an answer --------------------------------------------------------------------- */

struct print_text cell_number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (json_is_integer(value))
        return print_format("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (!json_is_real(value))
        return print_format("-");
    return print_format("%.12g", (double)(int64_t)(json_real_value(value) * 1000 + 0.5) / 1000);
}

struct print_text cell_percent(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? print_format("%.0f%%", json_number_value(value) * 100)
                                 : print_format("-");
}

struct print_text cell_cap(const json_t *object, const char *key) {
    return json_is_number(json_object_get(object, key))
               ? cell_number(object, key)
               : print_format("%s", get_text(object, key, "unlimited"));
}

struct print_text cell_when(const json_t *object, const char *key, time_ms now) {
    return print_when(get_int(object, key, 0), now);
}

struct print_text cell_time(time_ms at) {
    time_t seconds = at / 1000;
    struct tm tm;
    struct print_text ret = { "-" };
    if (localtime_r(&seconds, &tm))
        (void)strftime(ret.text, sizeof(ret.text), "%Y-%m-%d %H:%M:%S", &tm);
    return ret;
}

/* --- tables ----------------------------------------------------------------------------------- */

struct rows rows_new(const struct column *columns) {
    struct rows rows = { .source = columns };
    for (; columns->title && rows.column_count < ROWS_COLUMNS_MAX; columns++)
        rows.columns[rows.column_count++] =
            (struct output_column){ columns->title,
                                    .right = columns->right || columns->kind >= CELL_NUMBER };
    return rows;
}

void print_cell(const struct column *column, const json_t *item, time_ms now, struct strbuf *out) {
    const char *key = column->key;
    if (column->put) {
        column->put(out, item, now);
        return;
    }
    switch (column->kind) {
    case CELL_TEXT:
        strbuf_puts(out, key ? get_text(item, key, "") : "");
        break;
    case CELL_WHEN:
        strbuf_puts(out, cell_when(item, key, now).text);
        break;
    case CELL_BOOL:
        strbuf_puts(out, get_true(item, key) ? column->yes : column->no);
        break;
    case CELL_WORDS:
        join_texts(out, " ", json_object_get(item, key));
        break;
    case CELL_NUMBER:
        strbuf_puts(out, cell_number(item, key).text);
        break;
    case CELL_PERCENT:
        strbuf_puts(out, cell_percent(item, key).text);
        break;
    case CELL_CAP:
        strbuf_puts(out, cell_cap(item, key).text);
        break;
    }
}

void rows_add(struct rows *rows, const char *const *cells) {
    rows->cells =
        xgrow(rows->cells, &rows->capacity, rows->count + rows->column_count, sizeof(*rows->cells));
    for (size_t i = 0; i < rows->column_count; i++) {
        struct strbuf cell = STRBUF_INIT;
        if (cells[i])
            sanitize_line(cells[i], &cell);
        if (cell.length == 0)
            strbuf_putc(&cell, '-');
        rows->cells[rows->count++] = strbuf_take(&cell);
    }
}

void rows_add_item(struct rows *rows, const json_t *item, time_ms now) {
    struct strbuf texts[ROWS_COLUMNS_MAX] = { 0 };
    const char *cells[ROWS_COLUMNS_MAX] = { NULL };
    for (size_t i = 0; i < rows->column_count; i++) {
        print_cell(&rows->source[i], item, now, &texts[i]);
        cells[i] = strbuf_text(&texts[i]);
    }
    rows_add(rows, cells);
    for (size_t i = 0; i < rows->column_count; i++)
        strbuf_finish(&texts[i]);
}

static void rows_measure(struct rows *rows) {
    for (size_t at = 0; at < rows->count; at += rows->column_count)
        output_measure(rows->columns, rows->column_count, (const char *const *)&rows->cells[at]);
}

void rows_print(struct rows *rows, struct strbuf *out) {
    rows_measure(rows);
    if (rows->count > 0)
        output_head(rows->columns, rows->column_count, out);
    for (size_t at = 0; at < rows->count; at += rows->column_count) {
        output_row(rows->columns, rows->column_count, (const char *const *)&rows->cells[at], out);
        output_some(out);
    }
}

size_t rows_room(const struct rows *rows, size_t least) {
    size_t width = print_width(), used = 2;
    if (width == 0)
        return 0;
    for (size_t i = 0; i + 1 < rows->column_count; i++) {
        size_t title = strlen(rows->columns[i].title);
        used += (rows->columns[i].width > title ? rows->columns[i].width : title) + 2;
    }
    return width > used + least ? width - used : least;
}

void rows_print_cut(const struct rows *rows, size_t at, size_t room, const char *const *colours,
                    struct strbuf *out) {
    const char *cells[ROWS_COLUMNS_MAX];
    size_t last = rows->column_count - 1;
    _cleanup_(strbuf_finish) struct strbuf cut = STRBUF_INIT;
    for (size_t i = 0; i < last; i++)
        cells[i] = rows->cells[at + i];
    print_line(&cut, rows->cells[at + last], room);
    cells[last] = strbuf_text(&cut);
    output_row_in(rows->columns, last + 1, cells, colours, out);
}

static void rows_clear(struct rows *rows) {
    for (size_t i = 0; i < rows->count; i++)
        free(rows->cells[i]);
    rows->count = 0;
}

void rows_flush(struct rows *rows, struct strbuf *out) {
    rows_measure(rows);
    if (rows->count > 0 && !rows->headed)
        output_head(rows->columns, rows->column_count, out);
    rows->headed |= rows->count > 0;
    size_t room = rows_room(rows, 12);
    for (size_t at = 0; at < rows->count; at += rows->column_count) {
        const char *colours[ROWS_COLUMNS_MAX] = { NULL };
        for (size_t i = 0; i < rows->column_count; i++) {
            const char *cell = rows->cells[at + i];
            if (rows->source[i].is_state)
                colours[i] =
                    print_state_colour(print_format("%.*s", (int)strcspn(cell, ":"), cell).text);
        }
        rows_print_cut(rows, at, room, colours, out);
        output_some(out);
    }
    rows_clear(rows);
}

void rows_finish(struct rows *rows) {
    rows_clear(rows);
    free(rows->cells);
    rows->cells = NULL;
    rows->capacity = 0;
}

/* --- columns of tasks ------------------------------------------------------------------------- */

void print_task_state(struct strbuf *out, const json_t *task, time_ms now) {
    (void)now;
    strbuf_puts(out, print_state(task).text);
}

void print_elapsed(struct strbuf *out, const json_t *task, time_ms now) {
    const json_t *run = json_object_get(task, "run");
    time_ms since = get_int(run, "started_at", get_int(task, "changed_at", 0));
    strbuf_puts(out, since > 0 ? print_span(now - since).text : "-");
}

void print_tokens(struct strbuf *out, const json_t *task, time_ms now) {
    (void)now;
    strbuf_puts(out, print_short(print_run_tokens(json_object_get(task, "run"))).text);
}

/* "claude", "claude:opus" if it is escalated, or "codex for claude" during a failover. */
static void put_agent(struct strbuf *out, const json_t *task, time_ms now) {
    const char *instead_of = get_text(json_object_get(task, "run"), "instead_of", NULL);
    const char *model = get_int(json_object_get(task, "escalation"), "step", 0) > 0
                            ? get_text(task, "model", NULL)
                            : NULL;
    (void)now;
    strbuf_printf(out, "%.28s", get_text(task, "agent", "-"));
    if (instead_of)
        strbuf_printf(out, " for %.28s", instead_of);
    else if (model)
        strbuf_printf(out, ":%.28s", model);
}

static void put_age(struct strbuf *out, const json_t *task, time_ms now) {
    time_ms since = get_int(task, "changed_at", get_int(task, "created_at", 0));
    strbuf_puts(out, since > 0 ? print_span(now - since).text : "");
}

/* What keeps it from running or, of a run, what is unusual about it. */
static void put_gate(struct strbuf *out, const json_t *task, time_ms now) {
    const json_t *run = json_object_get(task, "run");
    const char *lends = get_text(run, "lends_to", NULL);
    const char *host = get_text(run, "unreachable_host", NULL);
    (void)now;
    if (host)
        strbuf_printf(out, "host %s unreachable", host);
    else if (lends)
        strbuf_printf(out, "lends to %s", lends);
    else
        strbuf_puts(out, get_text(task, "gate", print_is_empty(task) ? "no changes" : ""));
}

static void put_title(struct strbuf *out, const json_t *task, time_ms now) {
    const char *external_id = get_text(task, "external_id", NULL), *title = print_title(task);
    (void)now;
    if (external_id)
        strbuf_printf(out, "[%s] ", external_id);
    strbuf_puts(out, title ? title : "");
}

const struct column task_list_columns[] = {
    { "ID", "id" },
    { "STATE", .put = print_task_state, .is_state = true },
    { "PROJECT", "project" },
    { "AGENT", .put = put_agent },
    { "AGE", .put = put_age, .right = true },
    { "GATE", .put = put_gate },
    { "TITLE", .put = put_title },
    { NULL },
};

/* --- commands --------------------------------------------------------------------------------- */

/* In shell quotes if it needs them. */
static void put_word(struct strbuf *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./:,@%";
    if (*word && word[strspn(word, plain)] == '\0') {
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

void print_argv(struct strbuf *out, const json_t *argv) {
    size_t i;
    json_t *word;
    json_array_foreach(argv, i, word) {
        strbuf_puts(out, i > 0 ? " " : "");
        put_word(out, json_is_string(word) ? json_string_value(word) : "?");
    }
}
