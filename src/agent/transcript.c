/* transcript.c: bytes to lines and events, and these to readable text.
 *
 * A line that begins with '{' goes to the scanner; an object may continue on further lines. Its
 * first kilobytes are held until the scanner has recognized it: if it is not an event, they are
 * shown. Other lines are sanitized as they come.
 *
 * Text is sanitized line by line before colors are added. An event is written to the draft first:
 * only at its end is it known whether it belongs to a subagent and is indented. */
#include "agent/transcript.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "agent/transcript_internal.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/json_write.h"
#include "base/macros.h"
#include "base/money.h"
#include "base/utf8.h"

#define HELD_MAX      4096
#define TEXT_LINE_MAX TRANSCRIPT_TEXT
#define DRAFT_MAX     ((size_t)256 * 1024)
#define HEAD_LINES    5   /* of a result, and of thinking */
#define HEAD_COLUMNS  200 /* bytes, approximately */
#define NO_LIMIT      SIZE_MAX

static const char *const style_begin[STYLE_MAX] = {
    [STYLE_PLAIN] = "",
    [STYLE_TOOL] = "\x1b[36m",
    [STYLE_FAINT] = "\x1b[2m",
    [STYLE_FAILED] = "\x1b[31m",
};

/* --- the last line ---------------------------------------------------------------------------- */

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

/* A line or its beginning; false: it has no content. */
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
        if (t->last_is_open)
            last_add(t, text, part);
        else
            t->last_is_open = remember(t, text, part);
        if (!line_end)
            return;
        t->last_is_open = false;
        text += part + 1;
        size -= part + 1;
    }
}

/* --- the draft -------------------------------------------------------------------------------- */

static void flush(struct transcript *t) {
    const char *at = strbuf_text(&t->draft), *end = at + t->draft.length;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const char *stop = line_end ? line_end + 1 : end;
        if (t->has_entries) {
            strbuf_add(t->out, at, (size_t)(stop - at) - 1);
            strbuf_puts(t->out, t->is_nested ? ",\"nested\":true}\n" : "}\n");
        } else {
            if (t->is_nested)
                strbuf_puts(t->out, "  | ");
            strbuf_add(t->out, at, (size_t)(stop - at));
        }
        at = stop;
    }
    strbuf_clear(&t->draft);
}

static void end_piece(struct transcript *t) {
    if (t->is_piece_open && !t->has_entries)
        strbuf_putc(&t->draft, '\n');
    t->is_piece_open = t->last_is_open = false;
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
        flush(t);
}

/* --- entries ---------------------------------------------------------------------------------- */

/* A line of the draft is an object without its last brace: flush adds it. */
struct entry {
    const char *kind, *text, *tool;
    size_t size; /* of the text */
    bool is_cut, has_failed, continues;
};

static void put_member(struct strbuf *out, const char *key, const char *text, size_t size) {
    _cleanup_(strbuf_finish) struct strbuf value = STRBUF_INIT;
    struct json_writer w;
    strbuf_add(&value, text, size);
    strbuf_printf(out, ",\"%s\":", key);
    json_write_init(&w, out, false);
    json_write_string(&w, strbuf_text(&value));
}

static void put_entry(struct transcript *t, const struct entry *entry) {
    struct strbuf *out = &t->draft;
    end_piece(t);
    strbuf_printf(out, "{\"kind\":\"%s\"", entry->kind);
    if (entry->tool)
        put_member(out, "tool", entry->tool, strlen(entry->tool));
    put_member(out, "text", entry->text, entry->size);
    if (entry->tool && t->all_arguments.length > 0)
        strbuf_printf(out, ",\"arguments\":{%s}", strbuf_text(&t->all_arguments));
    bool is_of_call = entry->tool || strcmp(entry->kind, "result") == 0;
    if (is_of_call && t->call_id[0])
        put_member(out, "id", t->call_id, strlen(t->call_id));
    if (entry->is_cut)
        strbuf_puts(out, ",\"cut\":true");
    if (entry->has_failed)
        strbuf_puts(out, ",\"failed\":true");
    if (entry->continues)
        strbuf_puts(out, ",\"continues\":true");
    strbuf_putc(out, '\n');
    if (out->length > DRAFT_MAX)
        flush(t);
}

/* An argument of a call. Text of any kind: its lines stay. */
static void keep_argument(struct transcript *t, const char *key, const struct json_value *value) {
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT, name = STRBUF_INIT;
    struct sanitizer sanitizer = SANITIZER_INIT;
    struct json_writer w;
    if (t->all_arguments.length > TRANSCRIPT_INSIDE)
        return;
    sanitizer_feed(&sanitizer, value->text, value->length, &safe);
    sanitizer_finish(&sanitizer, &safe);
    strbuf_puts(&safe, value->is_cut ? "..." : "");
    sanitize_line(key, &name);
    if (t->all_arguments.length > 0)
        strbuf_putc(&t->all_arguments, ',');
    json_write_init(&w, &t->all_arguments, false);
    json_write_string(&w, strbuf_text(&name));
    strbuf_putc(&t->all_arguments, ':');
    json_write_init(&w, &t->all_arguments, false);
    json_write_string(&w, strbuf_text(&safe));
}

void transcript_call_id(struct transcript *t, const struct json_value *id) {
    t->call_id[0] = '\0';
    if (id && json_value_has_text(id))
        agent_set_line(t->call_id, sizeof(t->call_id), id->text);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* How a text is printed. `lines`, `columns`: limits; "..." replaces the rest. */
struct layout {
    enum transcript_style style;
    const char *indent;
    size_t lines, columns;
    bool is_remembered;
    const char *kind; /* of entries */
};

static const struct layout in_full = { STYLE_PLAIN, "", NO_LIMIT, NO_LIMIT, true, "say" };

static void put_shortened(struct transcript *t, const struct layout *layout, const char *line,
                          size_t size) {
    size_t at = 0, length;
    while (at < size && (length = utf8_length(line + at, size - at)) > 0
           && at + length <= layout->columns)
        at += length;
    if (layout->is_remembered)
        (void)remember(t, line, at);
    if (at == size) {
        put_line(t, layout->style, layout->indent, line, size);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf cut = STRBUF_INIT;
    strbuf_add(&cut, line, at);
    strbuf_puts(&cut, "...");
    put_line(t, layout->style, layout->indent, strbuf_text(&cut), cut.length);
}

static void put_rest(struct transcript *t, const struct layout *layout, const char *at,
                     const char *end, bool is_cut) {
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
    else if (layout->lines == NO_LIMIT)
        strbuf_puts(&more, " [the rest is in the raw log]");
    put_line(t, STYLE_FAINT, layout->indent, strbuf_text(&more), more.length);
}

static void put_text(struct transcript *t, const struct layout *layout, const char *text,
                     size_t size, bool is_cut) {
    struct sanitizer sanitizer = SANITIZER_INIT;
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    sanitizer_feed(&sanitizer, text, size, &safe);
    sanitizer_finish(&sanitizer, &safe);
    const char *at = strbuf_text(&safe), *end = at + safe.length;
    while (end > at && strchr(" \t\n", end[-1]))
        end--;
    while (at < end && *at == '\n')
        at++;
    if (t->has_entries) {
        put_entry(t, &(struct entry){ .kind = layout->kind,
                                      .text = at,
                                      .size = (size_t)(end - at),
                                      .is_cut = is_cut,
                                      .has_failed = layout->style == STYLE_FAILED });
        return;
    }
    for (size_t shown = 0; at < end && shown < layout->lines; shown++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        put_shortened(t, layout, at, (size_t)((line_end ? line_end : end) - at));
        at = line_end ? line_end + 1 : end;
    }
    put_rest(t, layout, at, end, is_cut);
}

static void put_safe(struct transcript *t, const char *bytes, size_t size) {
    strbuf_add(t->out, bytes, size);
    remember_piece(t, bytes, size);
}

/* --- messages of the agent -------------------------------------------------------------------- */

static uint64_t hash_of(const char *text, size_t size) {
    return hash_bytes(text, size) | 1;
}

bool transcript_was_printed(const struct transcript *t, const char *text) {
    uint64_t hash = hash_of(text, strlen(text));
    return hash == t->last_text || hash == t->noted;
}

void transcript_say(struct transcript *t, const struct json_value *text) {
    if (!json_value_has_text(text))
        return;
    put_text(t, &in_full, text->text, text->length, text->is_cut);
    t->last_text = hash_of(text->text, text->length);
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
    if (t->has_entries) {
        put_entry(t, &(struct entry){ .kind = "say",
                                      .text = strbuf_text(&t->scratch),
                                      .size = t->scratch.length,
                                      .continues = t->is_piece_open });
        t->is_piece_open = true;
        t->last_text = 0;
        return;
    }
    strbuf_add(&t->draft, strbuf_text(&t->scratch), t->scratch.length);
    remember_piece(t, strbuf_text(&t->scratch), t->scratch.length);
    t->is_piece_open = t->scratch.text[t->scratch.length - 1] != '\n';
    t->last_text = 0;
}

void transcript_think(struct transcript *t, const struct json_value *text) {
    static const struct layout thought = { STYLE_FAINT,  "  ~ ", HEAD_LINES,
                                           HEAD_COLUMNS, true,   "think" };
    if (json_value_has_text(text))
        put_text(t, &thought, text->text, text->length, text->is_cut);
}

void transcript_think_piece(struct transcript *t, const struct json_value *text) {
    end_piece(t);
    if (t->thought.length < t->result_max)
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
    flush(t);
}

void transcript_prompt(struct transcript *t, const struct json_value *text) {
    static const struct layout prompt = { STYLE_FAINT,  "< ",  HEAD_LINES,
                                          HEAD_COLUMNS, false, "prompt" };
    if (json_value_has_text(text))
        put_text(t, &prompt, text->text, text->length, text->is_cut);
}

/* --- tool calls ------------------------------------------------------------------------------- */

/* How informative an argument of a call is: the highest rank is shown. */
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

void transcript_forget_arguments(struct transcript *t) {
    strbuf_clear(&t->all_arguments);
    t->arguments[0] = '\0';
    t->rank = 0;
}

void transcript_argument(struct transcript *t, const char *key, const struct json_value *value) {
    char line[HEAD_COLUMNS + 1] = "", name[64] = "";
    if (value->kind != SCAN_STRING && value->kind != SCAN_NUMBER)
        return;
    unsigned rank = rank_of(key);
    if (t->has_entries)
        keep_argument(t, key, value);
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

/* `rest`: after the argument, if it was cut. */
static void put_call(struct transcript *t, const char *tool, const char *argument,
                     const char *rest) {
    char name[128] = "tool";
    _cleanup_(strbuf_finish) struct strbuf call = STRBUF_INIT;
    agent_set_line(name, sizeof(name), tool);
    if (t->has_entries) {
        strbuf_printf(&call, "%s%s", argument, rest);
        put_entry(
            t, &(struct entry){
                   .kind = "call", .tool = name, .text = strbuf_text(&call), .size = call.length });
        return;
    }
    strbuf_printf(&call, "> %s%s%s%s", name, argument[0] ? ": " : "", argument, rest);
    (void)remember(t, strbuf_text(&call), call.length);
    put_line(t, STYLE_TOOL, "", strbuf_text(&call), call.length);
}

void transcript_call_with(struct transcript *t, const char *tool, const char *argument) {
    char line[HEAD_COLUMNS + 1] = "";
    agent_set_line(line, sizeof(line), argument);
    bool is_cut = strlen(argument) > strlen(line) && strlen(line) + 4 > sizeof(line);
    put_call(t, tool, line, is_cut ? "..." : "");
}

void transcript_call(struct transcript *t, const char *tool) {
    put_call(t, tool, t->arguments, "");
    transcript_forget_arguments(t);
}

void transcript_call_of(struct transcript *t, const struct json_value *tool) {
    transcript_call(t, tool->text);
}

void transcript_result(struct transcript *t, const char *text, bool is_cut, bool is_error) {
    const struct layout head = {
        is_error ? STYLE_FAILED : STYLE_FAINT, "    ", HEAD_LINES, HEAD_COLUMNS, is_error, "result"
    };
    put_text(t, &head, text, strlen(text), is_cut);
}

void transcript_output(struct transcript *t, const struct json_value *text, bool is_error) {
    if (json_value_has_text(text))
        transcript_result(t, text->text, text->is_cut, is_error);
}

void transcript_exit_code(struct transcript *t, const struct json_value *code) {
    if (code->kind != SCAN_NUMBER || code->micro == 0)
        return;
    _cleanup_(freep) char *text = xasprintf("exit code %s", code->text);
    transcript_result(t, text, false, true);
}

void transcript_put_cost(struct strbuf *out, int64_t micro_usd) {
    if (micro_usd <= 0 || micro_usd >= MONEY_MAX)
        return;
    strbuf_puts(out, ", ");
    money_put(out, micro_usd);
}

/* --- notes ------------------------------------------------------------------------------------ */

void transcript_put_note(struct transcript *t, enum transcript_style style, const char *format,
                         ...) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, note = STRBUF_INIT;
    char line[512] = "";
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    t->noted = hash_of(strbuf_text(&text), text.length);
    agent_set_line(line, sizeof(line), strbuf_text(&text));
    if (!line[0])
        return;
    if (t->has_entries) {
        put_entry(t, &(struct entry){ .kind = "note",
                                      .text = line,
                                      .size = strlen(line),
                                      .has_failed = style == STYLE_FAILED });
        return;
    }
    strbuf_printf(&note, "[%s]", line);
    (void)remember(t, strbuf_text(&note), note.length);
    put_line(t, style, "", strbuf_text(&note), note.length);
}

void transcript_note_of(struct transcript *t, const struct json_value *text) {
    transcript_note(t, "%s", text->text);
}

void transcript_fail_of(struct transcript *t, const struct json_value *text) {
    transcript_fail(t, "%s", text->text);
}

const char *transcript_error_text(struct agent_notes *notes, const struct json_value *text) {
    notes->message[0] = '\0';
    error_text_note(notes, text->text);
    return notes->message;
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

/* --- input ------------------------------------------------------------------------------------ */

static void on_match(void *ctx, const struct json_value *values, size_t want, const char *key) {
    struct transcript *t = ctx;
    t->fresh |= UINT64_C(1) << want;
    if (want == t->family->argument && want > 0)
        transcript_argument(t, key, &values[want]);
    else if (t->family->match)
        t->family->match(t, values, want, key);
}

static void on_event(void *ctx, const struct json_value *values) {
    struct transcript *t = ctx;
    const struct transcript_family *family = t->family;
    t->has_event = true;
    if (!family->types || !json_value_has_text(&values[0])) {
        t->is_event = family->other && family->other(t, values);
        return;
    }
    t->is_event = true;
    t->is_nested = family->parent && json_value_has_text(&values[family->parent]);
    const struct transcript_type *row = family->types;
    while (row->type && !json_value_is(&values[0], row->type))
        row++;
    if (row->event)
        row->event(t, values);
    else if (row->value)
        row->value(t, &values[row->want]);
}

struct transcript *transcript_new(const struct agent_adapter *adapter,
                                  enum transcript_layout look) {
    const struct transcript_family *family = adapter ? adapter->output->transcript : NULL;
    if (!family)
        return NULL;
    struct transcript *t = xcalloc(1, sizeof(*t));
    t->family = family;
    t->is_coloured = look == TRANSCRIPT_COLOUR;
    t->has_entries = look == TRANSCRIPT_ENTRIES;
    t->result_max = t->has_entries ? TRANSCRIPT_INSIDE : TRANSCRIPT_RESULT;
    t->wants = xcalloc(family->want_count, sizeof(*t->wants));
    for (size_t i = 0; i < family->want_count; i++) {
        t->wants[i] = family->wants[i];
        if (look == TRANSCRIPT_BRIEF && t->wants[i].size > TRANSCRIPT_BRIEFLY)
            t->wants[i].size = TRANSCRIPT_BRIEFLY;
        if (t->has_entries && t->wants[i].size == TRANSCRIPT_RESULT)
            t->wants[i].size = TRANSCRIPT_INSIDE;
    }
    t->scan = json_scan_new(t->wants, family->want_count,
                            &(struct json_scan_calls){ on_event, NULL, t, on_match });
    return t;
}

struct transcript *transcript_free(struct transcript *t) {
    if (!t)
        return NULL;
    json_scan_free(t->scan);
    free(t->wants);
    strbuf_finish(&t->held);
    strbuf_finish(&t->draft);
    strbuf_finish(&t->scratch);
    strbuf_finish(&t->result);
    strbuf_finish(&t->thought);
    strbuf_finish(&t->all_arguments);
    free(t);
    return NULL;
}

/* --- text lines ------------------------------------------------------------------------------- */

static void put_text_entry(struct transcript *t) {
    t->is_nested = false;
    put_entry(t, &(struct entry){ .kind = "text",
                                  .text = strbuf_text(&t->scratch),
                                  .size = t->scratch.length,
                                  .continues = t->is_text_open });
    flush(t);
}

static void text_add(struct transcript *t, const char *bytes, size_t size) {
    uint64_t room = t->text_size < TEXT_LINE_MAX ? TEXT_LINE_MAX - t->text_size : 0;
    size_t shown = size < room ? size : (size_t)room;
    t->text_size += size;
    strbuf_clear(&t->scratch);
    sanitizer_feed(&t->sanitizer, bytes, shown, &t->scratch);
    if (!t->has_entries) {
        put_safe(t, strbuf_text(&t->scratch), t->scratch.length);
    } else if (t->scratch.length > 0) {
        put_text_entry(t);
        t->is_text_open = true;
    }
}

static void text_end(struct transcript *t) {
    strbuf_clear(&t->scratch);
    sanitizer_finish(&t->sanitizer, &t->scratch);
    if (t->text_size > TEXT_LINE_MAX)
        strbuf_printf(&t->scratch, "... [%llu bytes more]",
                      (unsigned long long)(t->text_size - TEXT_LINE_MAX));
    if (!t->has_entries) {
        strbuf_putc(&t->scratch, '\n');
        put_safe(t, strbuf_text(&t->scratch), t->scratch.length);
    } else if (t->scratch.length > 0 || !t->is_text_open) {
        put_text_entry(t);
    }
    t->is_text_open = false;
    t->text_size = 0;
    t->has_text = true;
}

static const char *step_text(struct transcript *t, const char *at, const char *end) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    text_add(t, at, (size_t)((line_end ? line_end : end) - at));
    if (!line_end)
        return end;
    text_end(t);
    t->mode = TRANSCRIPT_AT_START;
    return line_end + 1;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* --- objects ---------------------------------------------------------------------------------- */

static void json_begin(struct transcript *t) {
    t->fresh = 0;
    t->count = 0;
    t->is_nested = false;
    t->call_id[0] = '\0';
    transcript_forget_arguments(t);
    strbuf_clear(&t->result);
    strbuf_clear(&t->held);
    t->held_size = 0;
    t->has_event = t->is_event = false;
    t->at_json_line = false;
    t->has_text = false;
    t->mode = TRANSCRIPT_IN_JSON;
}

/* The object has ended: printed, without content, or not an event. Output of a broken one stays. */
static void json_over(struct transcript *t) {
    bool has_draft = t->draft.length > 0;
    flush(t);
    if (!t->is_event && !has_draft) {
        put_text(t, &in_full, strbuf_text(&t->held), t->held.length, false);
        if (t->held_size > t->held.length)
            transcript_note(t, "%llu bytes more in this line",
                            (unsigned long long)(t->held_size - t->held.length));
    } else if (!t->has_event) {
        transcript_note(t, "the line is broken");
    }
    flush(t);
    t->mode = TRANSCRIPT_AT_START;
}

static const char *step_json(struct transcript *t, const char *at, const char *end) {
    /* Continuation lines of an object are indented, or close it. */
    bool continues = is_blank(*at) || *at == '}' || *at == ']' || *at == '\n';
    if (t->at_json_line && !continues) { /* truncated; another line begins */
        json_scan_end(t->scan);
        json_over(t);
        return at;
    }
    t->at_json_line = false;
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    const char *stop = line_end ? line_end + 1 : end;
    size_t size = (size_t)(stop - at), room = HELD_MAX - t->held.length;
    t->held_size += size;
    strbuf_add(&t->held, at, size < room ? size : room);
    json_scan_feed(t->scan, at, size);
    if (line_end && json_scan_is_idle(t->scan))
        json_over(t);
    else
        t->at_json_line = line_end;
    return stop;
}

/* --- lines ------------------------------------------------------------------------------------ */

static const char *step_start(struct transcript *t, const char *at, const char *end) {
    while (at < end && is_blank(*at) && t->blank_count < sizeof(t->blanks))
        t->blanks[t->blank_count++] = *at++;
    if (at == end)
        return at;
    if (*at == '\n') {
        if (t->has_text && t->has_entries)
            text_end(t);
        else if (t->has_text)
            put_safe(t, "\n", 1);
        t->blank_count = 0;
        return at + 1;
    }
    if (*at == '{') {
        json_begin(t);
    } else {
        transcript_close_line(t);
        t->mode = TRANSCRIPT_IN_TEXT;
        text_add(t, t->blanks, t->blank_count);
    }
    t->blank_count = 0;
    return at;
}

static const char *step_rest(struct transcript *t, const char *at, const char *end) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    if (!line_end)
        return end;
    t->mode = TRANSCRIPT_AT_START;
    return line_end + 1;
}

void transcript_feed(struct transcript *t, const char *bytes, size_t size, struct strbuf *out) {
    static const char *(*const steps[])(struct transcript *, const char *, const char *) = {
        [TRANSCRIPT_AT_START] = step_start,
        [TRANSCRIPT_IN_TEXT] = step_text,
        [TRANSCRIPT_IN_JSON] = step_json,
        [TRANSCRIPT_IN_REST] = step_rest,
    };
    const char *at = bytes, *end = bytes + size;
    t->out = out;
    while (at < end)
        at = steps[t->mode](t, at, end);
    t->out = NULL;
}

void transcript_end(struct transcript *t, struct strbuf *out) {
    t->out = out;
    if (t->mode == TRANSCRIPT_IN_TEXT) {
        text_end(t);
    } else if (t->mode == TRANSCRIPT_IN_JSON) {
        json_scan_end(t->scan);
        json_over(t);
    }
    transcript_close_line(t);
    t->mode = TRANSCRIPT_AT_START;
    t->blank_count = 0;
    t->has_text = false;
    t->last_text = t->noted = t->session = t->call = 0;
    t->cost_micro_usd = 0;
    t->item[0] = '\0';
    t->out = NULL;
}

void transcript_skip(struct transcript *t, struct strbuf *out) {
    transcript_end(t, out);
    t->mode = TRANSCRIPT_IN_REST;
}

const char *transcript_last_line(const struct transcript *t) {
    return t->last;
}
