/* print_task.c: see print_task.h. */
#include "cli/print_task.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "cli/ask.h"
#include "core/state_look.h"
#include "os/terminal.h"
#include "sim/text.h"

/* --- short texts ----------------------------------------------------------------------------- */

struct print_text print_span(time_ms span) {
    struct output_span compact = output_span(span < 0 ? 0 : span);
    size_t length = strlen(compact.text);
    struct print_text ret;
    (void)snprintf(ret.text, sizeof(ret.text), "%.*s %c", (int)(length - 1), compact.text,
                   compact.text[length - 1]);
    return ret;
}

struct print_text print_when(time_ms at, time_ms now) {
    struct print_text ret = { "-" };
    if (at <= 0)
        return ret;
    /* The future is rounded up: "in 0 s" would be wrong. */
    struct print_text span = print_span(at > now ? at - now + 999 : now - at);
    if (at > now)
        (void)snprintf(ret.text, sizeof(ret.text), "in %.50s", span.text);
    else if (now - at < SECONDS(1))
        (void)snprintf(ret.text, sizeof(ret.text), "now");
    else
        (void)snprintf(ret.text, sizeof(ret.text), "%.50s ago", span.text);
    return ret;
}

struct print_text print_start(const json_t *forecast, time_ms now) {
    struct print_text ret = { "" };
    time_ms at = ask_int(forecast, "starts_at", 0);
    /* The time has come, with no condition: "if runs take as long as usual" alone says nothing. */
    bool is_condition = strncmp(ask_text(forecast, "text", ""), "if ", 3) == 0;
    if (at > now)
        (void)snprintf(ret.text, sizeof(ret.text), "%.50s, ", print_when(at, now).text);
    else if (at > 0 && is_condition)
        (void)snprintf(ret.text, sizeof(ret.text), "now, ");
    return ret;
}

struct print_text print_since(time_ms at, time_ms now) {
    static const struct print_text just_now = { "just now" };
    return now - at < SECONDS(1) ? just_now : print_when(at, now);
}

void print_paused_by(struct strbuf *out, const json_t *object, time_ms now) {
    const char *by = ask_text(object, "paused_by", NULL);
    time_ms at = ask_int(object, "paused_at", 0);
    if (by) {
        strbuf_puts(out, " by ");
        print_line(out, by, 0);
    }
    if (at > 0)
        strbuf_printf(out, " %s", print_since(at, now).text);
}

struct print_text print_count(int64_t count) {
    struct print_text ret = { "-" };
    if (count < 0)
        return ret;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    text_count(&text, count);
    (void)snprintf(ret.text, sizeof(ret.text), "%s", strbuf_text(&text));
    return ret;
}

struct print_text print_short(int64_t count) {
    static const char units[] = " kMGT";
    struct print_text ret = { "-" };
    size_t unit = 0;
    int64_t tenths = 0;
    if (count < 0)
        return ret;
    for (; count >= 1000 && unit + 2 < sizeof(units); unit++) {
        tenths = count % 1000 / 100;
        count /= 1000;
    }
    if (unit == 0)
        (void)snprintf(ret.text, sizeof(ret.text), "%" PRId64, count);
    else if (count >= 100)
        (void)snprintf(ret.text, sizeof(ret.text), "%" PRId64 "%c", count, units[unit]);
    else
        (void)snprintf(ret.text, sizeof(ret.text), "%" PRId64 ".%d%c", count, (int)tenths,
                       units[unit]);
    return ret;
}

struct print_text print_usd(double usd) {
    struct print_text ret;
    int places = usd >= 0.1 || usd <= 0 ? 2 : usd >= 0.0001 ? 4 : 6;
    (void)snprintf(ret.text, sizeof(ret.text), "%s$%.*f", usd > 0 && usd < 5e-7 ? "<" : "", places,
                   usd > 0 && usd < 5e-7 ? 1e-6 : usd);
    size_t length = strlen(ret.text), least = strcspn(ret.text, ".") + 3;
    while (length > least && ret.text[length - 1] == '0')
        ret.text[--length] = '\0';
    return ret;
}

bool print_is_empty(const json_t *task) {
    return ask_int(json_object_get(task, "changes"), "files", -1) == 0;
}

struct print_text print_state(const json_t *task) {
    const char *more = ask_text(task, "hold", NULL);
    if (!more)
        more = ask_text(json_object_get(task, "run"), "phase", NULL);
    if (more && (strcmp(more, "working") == 0 || strcmp(more, ask_text(task, "state", "?")) == 0))
        more = NULL;
    struct print_text ret;
    (void)snprintf(ret.text, sizeof(ret.text), "%.20s%s%.20s", ask_text(task, "state", "?"),
                   more ? ":" : "", more ? more : "");
    return ret;
}

struct print_text print_agent(const json_t *task) {
    struct print_text ret;
    const char *instead_of = ask_text(json_object_get(task, "run"), "instead_of", NULL);
    (void)snprintf(ret.text, sizeof(ret.text), "%.28s%s%.28s", ask_text(task, "agent", "-"),
                   instead_of ? " for " : "", instead_of ? instead_of : "");
    return ret;
}

const char *print_state_colour(const char *state) {
    static char codes[TASK_STATE_MAX][16];
    enum task_state known = task_state_find(state);
    const struct state_look *look = state_look(known);
    if (!*output_style()->reset || (look->color8 < 0 && !look->dim))
        return "";
    if (look->color8 < 0)
        return output_style()->dim;
    (void)snprintf(codes[known], sizeof(codes[known]), "\x1b[%s3%dm", look->bold ? "1;" : "",
                   look->color8);
    return codes[known];
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

int64_t print_run_tokens(const json_t *run) {
    int64_t in = ask_int(run, "tokens_in", -1), out = ask_int(run, "tokens_out", -1);
    return in < 0 && out < 0 ? -1 : (in > 0 ? in : 0) + (out > 0 ? out : 0);
}

void print_gate(struct strbuf *out, const json_t *gate, time_ms now) {
    time_ms opens_at = ask_int(gate, "opens_at", 0), since = ask_int(gate, "since", 0);
    if (ask_true(gate, "open"))
        return;
    strbuf_puts(out, ask_text(gate, "reason", ""));
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

void print_value(struct strbuf *out, const json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    strbuf_puts(out, text ? text : "null");
    free(text);
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
        const char *text = ask_text(task, members[i], NULL);
        if (!text || !*text)
            text = ask_text(spec, members[i], NULL);
        if (text && *text)
            return text;
    }
    return json_string_value(json_array_get(json_object_get(spec, "argv"), 0));
}

/* --- members of an answer --------------------------------------------------------------------- */

static struct print_text text_of(const char *text) {
    struct print_text ret;
    (void)snprintf(ret.text, sizeof(ret.text), "%s", text);
    return ret;
}

struct print_text cell_number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    struct print_text ret = { "-" };
    if (json_is_integer(value))
        (void)snprintf(ret.text, sizeof(ret.text), "%" JSON_INTEGER_FORMAT,
                       json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(ret.text, sizeof(ret.text), "%.12g",
                       (double)(int64_t)(json_real_value(value) * 1000 + 0.5) / 1000);
    return ret;
}

struct print_text cell_percent(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    struct print_text ret = { "-" };
    if (json_is_number(value))
        (void)snprintf(ret.text, sizeof(ret.text), "%.0f%%", json_number_value(value) * 100);
    return ret;
}

struct print_text cell_cap(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? cell_number(object, key)
                                 : text_of(ask_text(object, key, "unlimited"));
}

struct print_text cell_span(const json_t *object, const char *key, time_ms now) {
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? print_when(json_integer_value(value), now) : text_of("-");
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

static void rows_measure(const struct rows *rows) {
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
    const char *cells[16];
    size_t count = rows->column_count < ARRAY_SIZE(cells) ? rows->column_count : ARRAY_SIZE(cells);
    _cleanup_(strbuf_finish) struct strbuf last = STRBUF_INIT;
    for (size_t i = 0; i < count; i++)
        cells[i] = rows->cells[at + i];
    print_line(&last, cells[count - 1], room);
    cells[count - 1] = strbuf_text(&last);
    output_row_in(rows->columns, count, cells, colours, out);
}

static void rows_clear(struct rows *rows) {
    for (size_t i = 0; i < rows->count; i++)
        free(rows->cells[i]);
    rows->count = 0;
}

void rows_finish(struct rows *rows) {
    rows_clear(rows);
    free(rows->cells);
    rows->cells = NULL;
    rows->capacity = 0;
}

/* --- tasks ----------------------------------------------------------------------------------- */

static void begin_tasks(struct print_tasks *list) {
    static const char *const titles[PRINT_TASKS_COLUMNS] = {
        "ID", "STATE", "PROJECT", "AGENT", "AGE", "GATE", "TITLE",
    };
    for (size_t i = 0; i < PRINT_TASKS_COLUMNS; i++)
        list->columns[i].title = titles[i];
    list->columns[4].right = true;
    list->rows.columns = list->columns;
    list->rows.column_count = PRINT_TASKS_COLUMNS;
}

void print_tasks_add(struct print_tasks *list, const json_t *task, time_ms now) {
    if (!list->rows.columns)
        begin_tasks(list);
    time_ms since = ask_int(task, "changed_at", ask_int(task, "created_at", 0));
    const char *lends = ask_text(json_object_get(task, "run"), "lends_to", NULL);
    const char *host = ask_text(json_object_get(task, "run"), "unreachable_host", NULL);
    _cleanup_(strbuf_finish) struct strbuf gate = STRBUF_INIT, title = STRBUF_INIT;
    if (host)
        strbuf_printf(&gate, "host %s unreachable", host);
    else if (lends)
        strbuf_printf(&gate, "lends to %s", lends);
    else if (print_is_empty(task) && !ask_text(task, "gate", NULL))
        strbuf_puts(&gate, "no changes");
    const char *external_id = ask_text(task, "external_id", NULL), *text = print_title(task);
    if (external_id)
        strbuf_printf(&title, "[%s] ", external_id);
    strbuf_puts(&title, text ? text : "");
    rows_add(&list->rows, (const char *[]){
                              ask_text(task, "id", NULL),
                              print_state(task).text,
                              ask_text(task, "project", NULL),
                              print_agent(task).text,
                              since > 0 ? print_span(now - since).text : NULL,
                              gate.length > 0 ? strbuf_text(&gate) : ask_text(task, "gate", NULL),
                              strbuf_text(&title),
                          });
}

void print_tasks_flush(struct print_tasks *list, struct strbuf *out) {
    if (list->rows.count == 0)
        return; /* the columns have no titles yet */
    rows_measure(&list->rows);
    if (!list->headed)
        output_head(list->columns, PRINT_TASKS_COLUMNS, out);
    list->headed = true;
    size_t room = rows_room(&list->rows, 12);
    for (size_t at = 0; at < list->rows.count; at += PRINT_TASKS_COLUMNS) {
        const char *colours[PRINT_TASKS_COLUMNS] = { NULL }, *state = list->rows.cells[at + 1];
        char word[32];
        (void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(state, ":"), state);
        colours[1] = print_state_colour(word);
        rows_print_cut(&list->rows, at, room, colours, out);
        output_some(out);
    }
    rows_clear(&list->rows);
}

void print_tasks_finish(struct print_tasks *list) {
    rows_finish(&list->rows);
}
