/* transcript_print.c: what a transcript looks like.
 *
 * Everything is made safe here, line by line, before colours are put around it. An event is written into the draft
 * first: whether it belongs to an agent below the agent, and is indented, is known at its end. */
#include <stdarg.h>
#include <string.h>

#include "agent/error_text.h"
#include "agent/transcript_internal.h"
#include "base/hash.h"
#include "base/macros.h"
#include "base/utf8.h"

#define DRAFT_MAX    ((size_t)256 * 1024)
#define HEAD_LINES   5   /* of a result, and of what it thinks */
#define HEAD_COLUMNS 200 /* bytes, more or less */
#define NO_LIMIT     SIZE_MAX

static const char *const style_begin[STYLE_MAX] = {
    [STYLE_PLAIN] = "",
    [STYLE_TOOL] = "\x1b[36m",
    [STYLE_FAINT] = "\x1b[2m",
    [STYLE_FAILED] = "\x1b[31m",
};

/* --- the last line --------------------------------------------------------------------------------- */

static void last_add(struct transcript *t, const char *text, size_t size) {
    for (size_t at = 0; at < size;) {
        size_t length = utf8_length(text + at, size - at);
        if (length == 0 || t->last_length + length > TRANSCRIPT_LINE_MAX)
            break;
        memcpy(t->last + t->last_length, text + at, length);
        if (text[at] == '\t')
            t->last[t->last_length] = ' ';
        t->last_length += length;
        at += length;
    }
    t->last[t->last_length] = '\0';
}

/* A line, or its beginning; false: it says nothing. */
static bool remember(struct transcript *t, const char *line, size_t size) {
    while (size > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        size--;
    }
    if (size == 0)
        return false;
    t->last_length = 0;
    last_add(t, line, size);
    return true;
}

static void remember_piece(struct transcript *t, const char *text, size_t size) {
    for (;;) {
        const char *line_end = memchr(text, '\n', size);
        size_t part = line_end ? (size_t)(line_end - text) : size;
        if (t->last_goes_on)
            last_add(t, text, part);
        else
            t->last_goes_on = remember(t, text, part);
        if (!line_end)
            return;
        t->last_goes_on = false;
        text += part + 1;
        size -= part + 1;
    }
}

/* --- the draft ------------------------------------------------------------------------------------- */

void transcript_flush(struct transcript *t) {
    const char *at = strbuf_text(&t->draft), *end = at + t->draft.length;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const char *stop = line_end ? line_end + 1 : end;
        if (t->is_nested)
            strbuf_puts(t->out, "  | ");
        strbuf_add(t->out, at, (size_t)(stop - at));
        at = stop;
    }
    strbuf_clear(&t->draft);
}

static void end_piece(struct transcript *t) {
    if (t->is_piece_open)
        strbuf_putc(&t->draft, '\n');
    t->is_piece_open = t->last_goes_on = false;
}

static void put_line(struct transcript *t, enum transcript_style style, const char *indent,
                     const char *line, size_t size) {
    bool is_coloured = t->is_coloured && style != STYLE_PLAIN && size > 0;
    end_piece(t);
    if (size > 0)
        strbuf_puts(&t->draft, indent);
    if (is_coloured)
        strbuf_puts(&t->draft, style_begin[style]);
    strbuf_add(&t->draft, line, size);
    if (is_coloured)
        strbuf_puts(&t->draft, "\x1b[0m");
    strbuf_putc(&t->draft, '\n');
    if (t->draft.length > DRAFT_MAX)
        transcript_flush(t);
}

/* --- texts ----------------------------------------------------------------------------------------- */

/* How it is shown. `lines`, `columns`: no more than these, and "..." for the rest. */
struct look {
    enum transcript_style style;
    const char *indent;
    size_t lines, columns;
    bool is_remembered;
};

static void put_shortened(struct transcript *t, const struct look *look, const char *line,
                          size_t size) {
    size_t at = 0, length;
    while (at < size && (length = utf8_length(line + at, size - at)) > 0
           && at + length <= look->columns)
        at += length;
    if (look->is_remembered)
        (void)remember(t, line, at);
    if (at == size) {
        put_line(t, look->style, look->indent, line, size);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf cut = STRBUF_INIT;
    strbuf_add(&cut, line, at);
    strbuf_puts(&cut, "...");
    put_line(t, look->style, look->indent, strbuf_text(&cut), cut.length);
}

static void put_rest(struct transcript *t, const struct look *look, const char *at, const char *end,
                     bool is_cut) {
    _cleanup_(strbuf_finish) struct strbuf more = STRBUF_INIT;
    size_t lines = 0;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        at = line_end ? line_end + 1 : end;
        lines++;
    }
    if (lines == 0 && !is_cut)
        return;
    strbuf_puts(&more, "...");
    if (!is_cut)
        strbuf_printf(&more, " %zu more line%s", lines, lines == 1 ? "" : "s");
    else if (look->lines == NO_LIMIT)
        strbuf_puts(&more, " [the rest is in the raw log]");
    put_line(t, STYLE_FAINT, look->indent, strbuf_text(&more), more.length);
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n';
}

/* Any text, made safe. */
static void put_text(struct transcript *t, const struct look *look, const char *text, size_t size,
                     bool is_cut) {
    struct sanitizer sanitizer = SANITIZER_INIT;
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    sanitizer_feed(&sanitizer, text, size, &safe);
    sanitizer_finish(&sanitizer, &safe);
    const char *at = strbuf_text(&safe), *end = at + safe.length;
    while (end > at && is_space(end[-1]))
        end--;
    while (at < end && *at == '\n')
        at++;
    for (size_t shown = 0; at < end && shown < look->lines; shown++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        put_shortened(t, look, at, (size_t)((line_end ? line_end : end) - at));
        at = line_end ? line_end + 1 : end;
    }
    put_rest(t, look, at, end, is_cut);
}

void transcript_put_text(struct transcript *t, const char *bytes, size_t size) {
    strbuf_add(t->out, bytes, size);
    remember_piece(t, bytes, size);
}

void transcript_put_held(struct transcript *t, const char *text, size_t size, uint64_t all) {
    static const struct look as_it_is = { STYLE_PLAIN, "", NO_LIMIT, NO_LIMIT, true };
    put_text(t, &as_it_is, text, size, false);
    if (all > size)
        transcript_note(t, "%llu bytes more in this line", (unsigned long long)(all - size));
}

/* --- what the agent says ---------------------------------------------------------------------------- */

static uint64_t hash_of(const char *text, size_t size) {
    return hash_bytes(text, size) | 1;
}

bool transcript_was_said(const struct transcript *t, const char *text) {
    uint64_t hash = hash_of(text, strlen(text));
    return hash == t->said || hash == t->noted;
}

void transcript_say(struct transcript *t, const struct json_value *text) {
    static const struct look in_full = { STYLE_PLAIN, "", NO_LIMIT, NO_LIMIT, true };
    if (!json_value_has_text(text))
        return;
    put_text(t, &in_full, text->text, text->length, text->is_cut);
    t->said = hash_of(text->text, text->length);
}

void transcript_say_piece(struct transcript *t, const struct json_value *text) {
    struct sanitizer sanitizer = SANITIZER_INIT;
    if (!json_value_has_text(text))
        return;
    strbuf_clear(&t->scratch);
    sanitizer_feed(&sanitizer, text->text, text->length, &t->scratch);
    sanitizer_finish(&sanitizer, &t->scratch);
    if (t->scratch.length == 0)
        return;
    strbuf_add(&t->draft, strbuf_text(&t->scratch), t->scratch.length);
    remember_piece(t, strbuf_text(&t->scratch), t->scratch.length);
    t->is_piece_open = t->scratch.text[t->scratch.length - 1] != '\n';
    t->said = 0;
}

void transcript_think(struct transcript *t, const struct json_value *text) {
    static const struct look thought = { STYLE_FAINT, "  ~ ", HEAD_LINES, HEAD_COLUMNS, true };
    if (json_value_has_text(text))
        put_text(t, &thought, text->text, text->length, text->is_cut);
}

/* What is not shown of it is not kept. */
void transcript_think_piece(struct transcript *t, const struct json_value *text) {
    end_piece(t);
    if (t->thought.length < TRANSCRIPT_RESULT)
        strbuf_add(&t->thought, text->text, text->length);
    else
        t->thought_is_cut |= text->length > 0;
}

void transcript_close_line(struct transcript *t) {
    end_piece(t);
    if (t->thought.length > 0)
        transcript_think(t, &(struct json_value){
                                .kind = SCAN_STRING,
                                .is_cut = t->thought_is_cut,
                                .text = strbuf_text(&t->thought),
                                .length = t->thought.length,
                            });
    strbuf_clear(&t->thought);
    t->thought_is_cut = false;
    transcript_flush(t);
}

void transcript_hear(struct transcript *t, const struct json_value *text) {
    static const struct look heard = { STYLE_FAINT, "< ", HEAD_LINES, HEAD_COLUMNS, false };
    if (json_value_has_text(text))
        put_text(t, &heard, text->text, text->length, text->is_cut);
}

/* --- what it does ----------------------------------------------------------------------------------- */

/* The argument that says most about a call; the first of these wins. */
static unsigned rank_of(const char *key) {
    static const char *const keys[] = {
        "command",       "cmd",           "script",  "file_path", "filePath",
        "notebook_path", "absolute_path", "pattern", "url",       "query",
        "path",          "description",   "subject", "prompt",    "skill",
    };
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return (unsigned)(ARRAY_SIZE(keys) - i + 1);
    return 1;
}

void transcript_argument(struct transcript *t, const char *key, const struct json_value *value) {
    char line[HEAD_COLUMNS + 1] = "", name[64] = "";
    if (value->kind != SCAN_STRING && value->kind != SCAN_NUMBER)
        return;
    unsigned rank = rank_of(key);
    agent_set_line(line, sizeof(line), value->text);
    if (!line[0] || rank < t->rank)
        return;
    bool is_long = value->is_cut || strlen(line) + 4 > sizeof(line);
    size_t used = rank == 1 && t->rank == 1 ? strlen(t->arguments) : 0;
    _cleanup_(strbuf_finish) struct strbuf all = STRBUF_INIT;
    strbuf_add(&all, t->arguments, used);
    if (rank == 1) {
        agent_set_line(name, sizeof(name), key);
        strbuf_printf(&all, "%s%s=", used > 0 ? ", " : "", name);
    }
    strbuf_printf(&all, "%s%s", line, is_long ? "..." : "");
    if (all.length < sizeof(t->arguments))
        memcpy(t->arguments, strbuf_text(&all), all.length + 1);
    t->rank = rank;
}

void transcript_call_with(struct transcript *t, const char *tool, const char *argument) {
    char name[128] = "tool";
    char line[HEAD_COLUMNS + 1] = "";
    _cleanup_(strbuf_finish) struct strbuf call = STRBUF_INIT;
    agent_set_line(name, sizeof(name), tool);
    agent_set_line(line, sizeof(line), argument);
    strbuf_printf(&call, "> %s%s%s%s", name, line[0] ? ": " : "", line,
                  strlen(argument) > strlen(line) && strlen(line) + 4 > sizeof(line) ? "..." : "");
    (void)remember(t, strbuf_text(&call), call.length);
    put_line(t, STYLE_TOOL, "", strbuf_text(&call), call.length);
}

void transcript_call(struct transcript *t, const char *tool) {
    char name[128] = "tool";
    _cleanup_(strbuf_finish) struct strbuf call = STRBUF_INIT;
    agent_set_line(name, sizeof(name), tool);
    strbuf_printf(&call, "> %s%s%s", name, t->arguments[0] ? ": " : "", t->arguments);
    (void)remember(t, strbuf_text(&call), call.length);
    put_line(t, STYLE_TOOL, "", strbuf_text(&call), call.length);
    t->arguments[0] = '\0';
    t->rank = 0;
}

void transcript_result(struct transcript *t, const char *text, bool is_cut, bool is_error) {
    const struct look head = { is_error ? STYLE_FAILED : STYLE_FAINT, "    ", HEAD_LINES,
                               HEAD_COLUMNS, is_error };
    put_text(t, &head, text, strlen(text), is_cut);
}

/* --- what happens around it -------------------------------------------------------------------------- */

static void put_note(struct transcript *t, enum transcript_style style, const char *format,
                     va_list args) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, note = STRBUF_INIT;
    char line[512] = "";
    strbuf_vprintf(&text, format, args);
    t->noted = hash_of(strbuf_text(&text), text.length);
    agent_set_line(line, sizeof(line), strbuf_text(&text));
    if (!line[0])
        return;
    strbuf_printf(&note, "[%s]", line);
    (void)remember(t, strbuf_text(&note), note.length);
    put_line(t, style, "", strbuf_text(&note), note.length);
}

void transcript_note(struct transcript *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    put_note(t, STYLE_FAINT, format, args);
    va_end(args);
}

void transcript_fail(struct transcript *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    put_note(t, STYLE_FAILED, format, args);
    va_end(args);
}

const char *transcript_error_text(struct agent_seen *seen, const struct json_value *text) {
    seen->message[0] = '\0';
    error_text_note(seen, text->text);
    return seen->message;
}

void transcript_session(struct transcript *t, const struct json_value *session,
                        const struct json_value *model) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (session && json_value_has_text(session))
        strbuf_printf(&text, "session %s", session->text);
    if (model && json_value_has_text(model))
        strbuf_printf(&text, "%s%s", text.length > 0 ? ", " : "", model->text);
    uint64_t hash = hash_of(strbuf_text(&text), text.length);
    if (hash != t->session)
        transcript_note(t, "%s", strbuf_text(&text));
    t->session = hash;
}
