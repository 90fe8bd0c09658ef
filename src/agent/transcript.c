/* transcript.c: from bytes to lines and events.
 *
 * A line that begins with '{' goes to the scanner; an object may go on over further lines. Its first kilobytes are
 * held until the scanner has said what it is: when it is no event, they are shown instead. All other lines go
 * through the sanitizer, as they come. */
#include "agent/transcript.h"

#include <stdlib.h>
#include <string.h>

#include "agent/transcript_internal.h"
#include "base/alloc.h"
#include "base/macros.h"

#define HELD_MAX      4096
#define TEXT_LINE_MAX TRANSCRIPT_TEXT

static void on_match(void *ctx, const struct json_value *values, size_t want, const char *key) {
    struct transcript *t = ctx;
    t->fresh |= UINT64_C(1) << want;
    if (t->family->match)
        t->family->match(t, values, want, key);
}

static void event_begin(struct transcript *t) {
    t->fresh = 0;
    t->count = 0;
    t->is_nested = false;
    t->arguments[0] = '\0';
    t->rank = 0;
    strbuf_clear(&t->result);
}

static void on_event(void *ctx, const struct json_value *values) {
    struct transcript *t = ctx;
    t->has_event = true;
    t->is_event = t->family->event(t, values);
}

struct transcript *transcript_new(const struct agent_adapter *adapter, enum transcript_look look) {
    const struct transcript_family *family = adapter ? adapter->transcript : NULL;
    if (!family)
        return NULL;
    struct transcript *t = xcalloc(1, sizeof(*t));
    t->family = family;
    t->is_coloured = look == TRANSCRIPT_COLOUR;
    t->wants = xcalloc(family->want_count, sizeof(*t->wants));
    for (size_t i = 0; i < family->want_count; i++) {
        t->wants[i] = family->wants[i];
        if (look == TRANSCRIPT_BRIEF && t->wants[i].size > TRANSCRIPT_BRIEFLY)
            t->wants[i].size = TRANSCRIPT_BRIEFLY;
    }
    t->scan = json_scan_new(t->wants, family->want_count,
                            &(struct json_scan_calls){ .event = on_event, .ctx = t });
    json_scan_on_match(t->scan, on_match);
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
    free(t);
    return NULL;
}

/* --- text lines ------------------------------------------------------------------------------------ */

static void text_add(struct transcript *t, const char *bytes, size_t size) {
    uint64_t room = t->text_size < TEXT_LINE_MAX ? TEXT_LINE_MAX - t->text_size : 0;
    size_t shown = size < room ? size : (size_t)room;
    t->text_size += size;
    strbuf_clear(&t->scratch);
    sanitizer_feed(&t->sanitizer, bytes, shown, &t->scratch);
    transcript_put_text(t, strbuf_text(&t->scratch), t->scratch.length);
}

static void text_end(struct transcript *t) {
    strbuf_clear(&t->scratch);
    sanitizer_finish(&t->sanitizer, &t->scratch);
    if (t->text_size > TEXT_LINE_MAX)
        strbuf_printf(&t->scratch, "... [%llu bytes more]",
                      (unsigned long long)(t->text_size - TEXT_LINE_MAX));
    strbuf_putc(&t->scratch, '\n');
    transcript_put_text(t, strbuf_text(&t->scratch), t->scratch.length);
    t->text_size = 0;
    t->has_text = true;
}

static void text_begin(struct transcript *t) {
    transcript_close_line(t);
    t->mode = TRANSCRIPT_IN_TEXT;
    text_add(t, t->blanks, t->blank_count);
    t->blank_count = 0;
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

/* --- objects --------------------------------------------------------------------------------------- */

static void json_begin(struct transcript *t) {
    event_begin(t);
    strbuf_clear(&t->held);
    t->held_size = 0;
    t->has_event = t->is_event = false;
    t->at_json_line = false;
    t->has_text = false;
    t->mode = TRANSCRIPT_IN_JSON;
}

/* The object is over: its event was printed, or nothing is to be said about it, or it was none. What a broken one had
 * said until then stays. */
static void json_over(struct transcript *t) {
    bool has_draft = t->draft.length > 0;
    transcript_flush(t);
    if (!t->is_event && !has_draft)
        transcript_put_held(t, strbuf_text(&t->held), t->held.length, t->held_size);
    else if (!t->has_event)
        transcript_note(t, "the line is broken");
    transcript_flush(t);
    t->mode = TRANSCRIPT_AT_START;
}

static void hold(struct transcript *t, const char *bytes, size_t size) {
    size_t room = HELD_MAX - t->held.length;
    t->held_size += size;
    strbuf_add(&t->held, bytes, size < room ? size : room);
}

/* Further lines of an object are indented, or close it. */
static bool goes_on(char first) {
    return first == '}' || first == ']' || first == '\n' || is_blank(first);
}

static const char *step_json(struct transcript *t, const char *at, const char *end) {
    if (t->at_json_line && !goes_on(*at)) { /* it was cut; another line begins */
        json_scan_end(t->scan);
        json_over(t);
        return at;
    }
    t->at_json_line = false;
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    const char *stop = line_end ? line_end + 1 : end;
    hold(t, at, (size_t)(stop - at));
    json_scan_feed(t->scan, at, (size_t)(stop - at));
    if (line_end && json_scan_is_idle(t->scan))
        json_over(t);
    else
        t->at_json_line = line_end;
    return stop;
}

/* --- lines ----------------------------------------------------------------------------------------- */

static const char *step_start(struct transcript *t, const char *at, const char *end) {
    while (at < end && is_blank(*at) && t->blank_count < sizeof(t->blanks))
        t->blanks[t->blank_count++] = *at++;
    if (at == end)
        return at;
    if (*at == '\n') {
        if (t->has_text)
            transcript_put_text(t, "\n", 1);
        t->blank_count = 0;
        return at + 1;
    }
    if (*at == '{') {
        json_begin(t);
        t->blank_count = 0;
    } else {
        text_begin(t);
    }
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
    const char *at = bytes, *end = bytes + size;
    t->out = out;
    while (at < end)
        switch (t->mode) {
        case TRANSCRIPT_AT_START:
            at = step_start(t, at, end);
            break;
        case TRANSCRIPT_IN_TEXT:
            at = step_text(t, at, end);
            break;
        case TRANSCRIPT_IN_JSON:
            at = step_json(t, at, end);
            break;
        case TRANSCRIPT_IN_REST:
            at = step_rest(t, at, end);
            break;
        }
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
    t->said = t->noted = t->session = t->call = 0;
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
