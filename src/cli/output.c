/* output.c: see output.h. */
#include "cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/json_write.h"
#include "cli/cmd.h"
#include "os/terminal.h"
#include "sim/text.h"

#define PIECE 65536

void output_some(struct strbuf *out) {
    if (out->length >= PIECE)
        output_rest(out);
}

static int first_errno;

void output_rest(struct strbuf *out) {
    if (out->length > 0 && fwrite(out->text, 1, out->length, stdout) != out->length && !first_errno)
        first_errno = errno;
    strbuf_clear(out);
}

void output_finish(struct strbuf *out) {
    output_rest(out);
    strbuf_finish(out);
}

int output_flush(void) {
    errno = 0;
    if (fflush(stdout) != 0 && !first_errno)
        first_errno = errno;
    if (ferror(stdout) && !first_errno)
        first_errno = EIO;
    return -first_errno;
}

bool output_is_unread(int timeout_ms) {
    struct pollfd out = { .fd = STDOUT_FILENO }; /* poll always reports errors and hang-ups */
    return poll(&out, 1, timeout_ms) > 0;
}

const struct output_style *output_style(void) {
    static const struct output_style plain = { "", "", "", "", "", "", "" };
    static const struct output_style colour = {
        "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[36m", "\x1b[0m",
    };
    return terminal_has_colour(stdout) ? &colour : &plain;
}

struct output_span output_span(time_ms span) {
    struct output_span ret;
    const char *sign = span < 0 ? "-" : "";
    uint64_t ms = span < 0 ? 0 - (uint64_t)span : (uint64_t)span;
    static const struct {
        uint64_t limit, unit;
        char letter;
    } units[] = {
        { MINUTES(1), SECONDS(1), 's' },
        { HOURS(2), MINUTES(1), 'm' },
        { DAYS(2), HOURS(1), 'h' },
        { UINT64_MAX, DAYS(1), 'd' },
    };
    size_t i = 0;
    while (ms >= units[i].limit && i + 1 < ARRAY_SIZE(units))
        i++;
    (void)snprintf(ret.text, sizeof(ret.text), "%s%" PRIu64 "%c", sign, ms / units[i].unit,
                   units[i].letter);
    return ret;
}

void output_measure(struct output_column *columns, size_t count, const char *const *cells) {
    for (size_t i = 0; i < count; i++) {
        size_t width = text_columns(cells[i]);
        if (width > columns[i].width && width <= OUTPUT_WIDTH_MAX)
            columns[i].width = width;
    }
}

void output_row_in(const struct output_column *columns, size_t count, const char *const *cells,
                   const char *const *colours, struct strbuf *out) {
    strbuf_puts(out, "  ");
    for (size_t i = 0; i < count; i++) {
        size_t width = text_columns(cells[i]), wanted = text_columns(columns[i].title);
        wanted = columns[i].width > wanted ? columns[i].width : wanted;
        size_t gap = wanted > width ? wanted - width : 0;
        const char *colour = colours && colours[i] ? colours[i] : "";
        if (columns[i].right)
            strbuf_repeat(out, " ", gap);
        strbuf_printf(out, "%s%s%s", colour, cells[i], *colour ? output_style()->reset : "");
        if (i + 1 == count)
            break;
        if (!columns[i].right)
            strbuf_repeat(out, " ", gap);
        strbuf_puts(out, "  ");
    }
    strbuf_putc(out, '\n');
}

void output_row(const struct output_column *columns, size_t count, const char *const *cells,
                struct strbuf *out) {
    output_row_in(columns, count, cells, NULL, out);
}

void output_head(const struct output_column *columns, size_t count, struct strbuf *out) {
    const char *titles[16];
    for (size_t i = 0; i < count && i < ARRAY_SIZE(titles); i++)
        titles[i] = columns[i].title;
    const struct output_style *style = output_style();
    strbuf_puts(out, style->dim);
    output_row(columns, count, titles, out);
    if (*style->reset) {
        out->text[--out->length] = '\0'; /* the newline must follow the escape */
        strbuf_printf(out, "%s\n", style->reset);
    }
}

void output_table(const struct output_table *table, size_t count, struct strbuf *out) {
    const char *cells[16];
    for (int printing = 0; printing < 2; printing++) {
        if (printing)
            output_head(table->columns, table->column_count, out);
        for (size_t row = 0; row < count; row++) {
            if (!table->fill(table->ctx, row, printing, cells))
                continue;
            if (printing)
                output_row(table->columns, table->column_count, cells, out);
            else
                output_measure(table->columns, table->column_count, cells);
            output_some(out);
        }
    }
}

/* --- JSON ------------------------------------------------------------------------------------- */

static int dump_piece(const char *bytes, size_t size, void *out) {
    strbuf_add(out, bytes, size);
    return 0;
}

/* 15 digits: 0.1 stays 0.1 instead of 0.10000000000000001. */
void output_add_json(const json_t *value, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    (void)json_dump_callback(value, dump_piece, &text,
                             JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    json_escape_controls(strbuf_text(&text), text.length, out);
}

void output_put_json(const json_t *value, struct strbuf *out) {
    output_add_json(value, out);
    strbuf_putc(out, '\n');
}

int output_json(json_t *value) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    output_put_json(value, &out);
    output_rest(&out);
    json_decref(value);
    return CMD_OK;
}
