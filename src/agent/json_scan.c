/* json_scan.c: JSON as a machine of few states that stops and goes on at any byte.
 *
 * Only two things are ever kept: the wanted values and, of each open object on the way to one, where in the
 * wanted paths it stands. Everything else is passed over by loops that look for the next byte that matters:
 * eight at a time in strings, by table in containers, memchr in broken lines. A tree of the line would cost
 * memory that the agent chooses; a parser for whole lines would have to keep them.
 *
 * What is passed over is not checked: its strings and brackets must be balanced, no more. Wanted values and
 * everything on the way to them are checked, and an object counts only when its line ends behind it. */
#include <string.h>

#include "agent/json_scan_internal.h"
#include "base/macros.h"
#include "base/number.h"

/* --- passing over ---------------------------------------------------------------------------------- */

#define ALL(byte)  (UINT64_C(0x0101010101010101) * (byte))
#define ZERO_IN(x) (((x)-ALL(0x01)) & ~(x)&ALL(0x80))

/* The next quote, backslash or control character, or `end`. */
static const char *string_stop(const char *at, const char *end) {
    while (end - at >= 8) {
        uint64_t eight;
        memcpy(&eight, at, 8);
        uint64_t control = (eight - ALL(0x20)) & ~eight & ALL(0x80);
        if (ZERO_IN(eight ^ ALL('"')) | ZERO_IN(eight ^ ALL('\\')) | control)
            break;
        at += 8;
    }
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
        at++;
    return at;
}

static const char *step_broken(struct json_scan *s, const char *at, const char *end) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    if (!line_end)
        return end;
    s->state = STATE_START;
    return line_end + 1;
}

/* A control character in a string: agents and programs between leave some unescaped; a line end or a hole
 * breaks the line. */
static const char *control_in_string(struct json_scan *s, const char *at) {
    if (*at != '\n' && *at != '\0')
        return at + 1;
    s->state = STATE_BROKEN;
    return at;
}

/* Up to behind the closing quote; then `state` is still PASS_STRING and *ret_whole is set. */
static const char *pass_string(struct json_scan *s, const char *at, const char *end,
                               bool *ret_whole) {
    *ret_whole = false;
    s->state = STATE_PASS_STRING;
    while (at < end) {
        at = string_stop(at, end);
        if (at == end)
            break;
        if (*at == '"') {
            *ret_whole = true;
            return at + 1;
        }
        if (*at != '\\') {
            at = control_in_string(s, at);
            if (s->state == STATE_BROKEN)
                break;
        } else if (end - at >= 2 && at[1] != '\n' && at[1] != '\0') {
            at += 2;
        } else {
            s->state = STATE_PASS_ESCAPE;
            return at + 1;
        }
    }
    return at;
}

static const char *step_pass_string(struct json_scan *s, const char *at, const char *end) {
    bool whole;
    at = pass_string(s, at, end, &whole);
    if (whole)
        s->state = s->pass_depth ? STATE_PASS : STATE_AFTER;
    return at;
}

static const char *step_pass_escape(struct json_scan *s, const char *at, const char *end) {
    (void)end;
    bool broken = *at == '\n' || *at == '\0';
    s->state = broken ? STATE_BROKEN : STATE_PASS_STRING;
    return broken ? at : at + 1;
}

enum passed { PASS_ON, PASS_QUOTE, PASS_OPEN, PASS_CLOSE, PASS_LINE, PASS_HOLE };
static const uint8_t passed[256] = {
    ['"'] = PASS_QUOTE, ['{'] = PASS_OPEN,  ['['] = PASS_OPEN,  ['}'] = PASS_CLOSE,
    [']'] = PASS_CLOSE, ['\n'] = PASS_LINE, ['\0'] = PASS_HOLE,
};

/* A line that begins with '{' inside an object: the object was cut, this is the next one. */
static bool begins_anew(struct json_scan *s, const char *at) {
    bool anew = s->at_line_start && *at == '{';
    s->at_line_start = false;
    if (anew)
        s->state = STATE_START;
    return anew;
}

static const char *step_pass(struct json_scan *s, const char *at, const char *end) {
    if (begins_anew(s, at))
        return at;
    while (at < end) {
        while (at < end && passed[(unsigned char)*at] == PASS_ON)
            at++;
        if (at == end)
            break;
        switch ((enum passed)passed[(unsigned char)*at]) {
        case PASS_ON:
            break;
        case PASS_QUOTE: {
            bool whole;
            at = pass_string(s, at + 1, end, &whole);
            if (!whole)
                return at;
            s->state = STATE_PASS;
            break;
        }
        case PASS_OPEN:
            s->pass_depth++;
            at++;
            break;
        case PASS_CLOSE:
            at++;
            if (--s->pass_depth == 0) {
                s->state = STATE_AFTER;
                return at;
            }
            break;
        case PASS_LINE:
            s->at_line_start = true;
            return at + 1;
        case PASS_HOLE:
            s->state = STATE_BROKEN;
            return at;
        }
    }
    return at;
}

/* --- lines ---------------------------------------------------------------------------------------- */

static bool is_token(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || (c >= 'a' && c <= 'z')
           || (c >= 'A' && c <= 'Z');
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *step_start(struct json_scan *s, const char *at, const char *end) {
    while (at < end && is_blank(*at))
        at++;
    if (at == end)
        return at;
    if (*at == '{' && s->want_count > 0) {
        json_keep_forget(s);
        s->at_line_start = false;
        s->depth = 1;
        s->levels[0] = (struct scan_level){ 0 };
        s->state = STATE_FIRST_KEY;
        return at + 1;
    }
    json_keep_begin(s, s->line, sizeof(s->line));
    s->state = STATE_TEXT;
    return at;
}

static void tell_text(struct json_scan *s) {
    while (s->length > 0 && is_blank(s->line[s->length - 1]))
        s->length--;
    if (json_keep_end(s) > 0 && s->calls.text)
        s->calls.text(s->calls.ctx, s->line);
}

static const char *step_text(struct json_scan *s, const char *at, const char *end) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    const char *stop = line_end ? line_end : end;
    size_t size = (size_t)(stop - at), before = s->length;
    if (!s->is_cut) {
        json_keep_add(s, at, size);
        if (memchr(s->line + before, '\0', s->length > before ? s->length - before : 0)) {
            s->state = STATE_BROKEN;
            return at;
        }
    }
    if (!line_end)
        return end;
    tell_text(s);
    s->state = STATE_START;
    return line_end + 1;
}

static void tell_event(struct json_scan *s) {
    if (s->calls.event)
        s->calls.event(s->calls.ctx, s->values);
}

static const char *step_done(struct json_scan *s, const char *at, const char *end) {
    while (at < end && is_blank(*at) && *at != '\n')
        at++;
    if (at == end)
        return at;
    if (*at != '\n') {
        s->state = STATE_BROKEN;
        return at;
    }
    s->state = STATE_START;
    tell_event(s);
    return at + 1;
}

/* --- structure ------------------------------------------------------------------------------------ */

static const char *broken(struct json_scan *s, const char *at) {
    s->state = STATE_BROKEN;
    return at;
}

/* To the next byte that is no blank; `end`: there is none yet. Sets STATE_START when the line begins anew. */
static const char *skip_blanks(struct json_scan *s, const char *at, const char *end) {
    for (; at < end; at++) {
        if (s->at_line_start && begins_anew(s, at))
            return at;
        if (!is_blank(*at))
            return at;
        s->at_line_start = *at == '\n';
    }
    return at;
}

static void tell_match(struct json_scan *s, uint16_t node, const char *key) {
    int want = s->nodes[node].want;
    if (s->match && node && want >= 0)
        s->match(s->calls.ctx, s->values, (size_t)want, key);
}

static const char *key_of_value(const struct json_scan *s) {
    return s->levels[s->depth - 1].is_list ? "" : s->key;
}

static const char *value_done(struct json_scan *s, const char *at) {
    s->state = s->depth ? STATE_AFTER : STATE_DONE;
    return at;
}

static const char *container_end(struct json_scan *s, const char *at) {
    const struct scan_level *level = &s->levels[--s->depth];
    int want = s->nodes[level->node].want;
    if (level->node && want >= 0)
        s->values[want].count += level->members;
    tell_match(s, level->node, "");
    return value_done(s, at);
}

static const char *key_begin(struct json_scan *s, const char *at) {
    s->is_key = true;
    json_keep_begin(s, s->key, sizeof(s->key));
    s->state = STATE_STRING;
    return at;
}

static const char *step_first_key(struct json_scan *s, const char *at, const char *end) {
    at = skip_blanks(s, at, end);
    if (at == end || s->state == STATE_START)
        return at;
    if (*at == '"')
        return key_begin(s, at + 1);
    return *at == '}' ? container_end(s, at + 1) : broken(s, at);
}

static const char *step_key(struct json_scan *s, const char *at, const char *end) {
    at = skip_blanks(s, at, end);
    if (at == end || s->state == STATE_START)
        return at;
    return *at == '"' ? key_begin(s, at + 1) : broken(s, at);
}

static const char *step_colon(struct json_scan *s, const char *at, const char *end) {
    at = skip_blanks(s, at, end);
    if (at == end || s->state == STATE_START)
        return at;
    if (*at != ':')
        return broken(s, at);
    s->state = STATE_VALUE;
    return at + 1;
}

/* A list or an object: gone into when something in it, or its size, is wanted. */
static const char *container_begin(struct json_scan *s, const char *at, bool is_list) {
    const struct scan_node *node = &s->nodes[s->node];
    if (s->node == 0 || (node->want < 0 && !node->child && !node->any)) {
        s->pass_depth = 1;
        s->state = STATE_PASS;
        return at;
    }
    (void)json_keep_value(s, s->node, is_list ? SCAN_LIST : SCAN_OBJECT);
    s->levels[s->depth++] = (struct scan_level){ .node = s->node, .is_list = is_list };
    s->state = is_list ? STATE_FIRST_VALUE : STATE_FIRST_KEY;
    return at;
}

static const char *string_begin(struct json_scan *s, const char *at) {
    int want = s->nodes[s->node].want;
    if (json_keep_value(s, s->node, SCAN_STRING)) {
        s->is_key = false;
        json_keep_begin(s, s->texts[want], s->wants[want].size);
        s->state = STATE_STRING;
    } else {
        s->pass_depth = 0;
        s->state = STATE_PASS_STRING;
    }
    return at;
}

static const char *step_value(struct json_scan *s, const char *at, const char *end) {
    bool may_close = s->state == STATE_FIRST_VALUE;
    at = skip_blanks(s, at, end);
    if (at == end || s->state == STATE_START)
        return at;
    struct scan_level *level = &s->levels[s->depth - 1];
    if (*at == ']' && may_close)
        return container_end(s, at + 1);
    if (level->is_list) {
        level->members++;
        s->node = s->nodes[level->node].any;
    }
    if (*at == '"')
        return string_begin(s, at + 1);
    if (*at == '{' || *at == '[')
        return container_begin(s, at + 1, *at == '[');
    if (!is_token(*at))
        return broken(s, at);
    s->token_length = 0;
    s->state = STATE_TOKEN;
    return at;
}

static const char *step_after(struct json_scan *s, const char *at, const char *end) {
    at = skip_blanks(s, at, end);
    if (at == end || s->state == STATE_START)
        return at;
    bool is_list = s->levels[s->depth - 1].is_list;
    if (*at == (is_list ? ']' : '}'))
        return container_end(s, at + 1);
    if (*at != ',')
        return broken(s, at);
    s->state = is_list ? STATE_VALUE : STATE_KEY;
    return at + 1;
}

/* --- kept strings, numbers, words ----------------------------------------------------------------- */

static void high_alone(struct json_scan *s) {
    if (s->high)
        json_keep_add_character(s, 0xfffd);
    s->high = 0;
}

static size_t string_keep(struct json_scan *s) {
    size_t length = json_keep_end(s);
    if (!s->is_key) {
        struct json_value *value = &s->values[s->nodes[s->node].want];
        value->length = length;
        value->is_cut = s->is_cut;
        value->count++;
        int64_t micro;
        if (!s->is_cut && json_number_micro(value->text, &micro))
            json_keep_number(value, micro);
        tell_match(s, s->node, key_of_value(s));
    }
    return length;
}

static const char *string_end(struct json_scan *s, const char *at) {
    high_alone(s);
    size_t length = string_keep(s);
    if (!s->is_key)
        return value_done(s, at);
    struct scan_level *level = &s->levels[s->depth - 1];
    bool is_cut = s->is_cut;
    int want = s->nodes[level->node].want;
    if (level->members++ == 0 && level->node && want >= 0) {
        json_keep_begin(s, s->texts[want], s->wants[want].size);
        json_keep_add(s, s->key, length);
        s->values[want].length = json_keep_end(s);
        s->values[want].is_cut = is_cut || s->is_cut;
    }
    s->node = is_cut ? s->nodes[level->node].any : json_keep_find(s, level->node, s->key, length);
    s->state = STATE_COLON;
    return at;
}

static const char *step_string(struct json_scan *s, const char *at, const char *end) {
    const char *stop = string_stop(at, end);
    if (stop > at) {
        high_alone(s);
        json_keep_add(s, at, (size_t)(stop - at));
    }
    if (s->is_cut && !s->is_key) { /* the rest is passed over */
        (void)string_keep(s);
        s->pass_depth = 0;
        s->state = STATE_PASS_STRING;
        return stop;
    }
    if (stop == end)
        return end;
    if (*stop == '"')
        return string_end(s, stop + 1);
    if (*stop == '\\') {
        s->state = STATE_ESCAPE;
        return stop + 1;
    }
    high_alone(s);
    at = control_in_string(s, stop);
    if (s->state != STATE_BROKEN)
        json_keep_add(s, stop, 1);
    return at;
}

static const char *step_escape(struct json_scan *s, const char *at, const char *end) {
    (void)end;
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (*at == 'u') {
        s->unicode = 0;
        s->digits = 0;
        s->state = STATE_UNICODE;
        return at + 1;
    }
    const char *known = *at ? strchr(from, *at) : NULL;
    if (!known)
        return broken(s, at);
    high_alone(s);
    json_keep_add(s, &to[known - from], 1);
    s->state = STATE_STRING;
    return at + 1;
}

static const char *step_unicode(struct json_scan *s, const char *at, const char *end) {
    for (; at < end && s->digits < 4; at++, s->digits++) {
        int digit = number_hex_digit(*at);
        if (digit < 0)
            return broken(s, at);
        s->unicode = s->unicode << 4 | (uint32_t)digit;
    }
    if (s->digits < 4)
        return at;
    s->state = STATE_STRING;
    uint32_t c = s->unicode;
    if (s->high && c >= 0xdc00 && c < 0xe000) {
        json_keep_add_character(s, 0x10000 + ((s->high - 0xd800) << 10) + (c - 0xdc00));
        s->high = 0;
        return at;
    }
    high_alone(s);
    if (c >= 0xd800 && c < 0xdc00)
        s->high = c;
    else
        json_keep_add_character(s, c);
    return at;
}

static bool token_end(struct json_scan *s) {
    static const char *const words[] = { "null", "false", "true" };
    static const enum json_kind kinds[] = { SCAN_NULL, SCAN_FALSE, SCAN_TRUE };
    s->token[s->token_length] = '\0';
    enum json_kind kind = SCAN_NUMBER;
    int64_t micro = 0;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(s->token, words[i]) == 0)
            kind = kinds[i];
    if (kind == SCAN_NUMBER && !json_number_micro(s->token, &micro))
        return false;
    struct json_value *value = json_keep_value(s, s->node, kind);
    if (!value)
        return true;
    value->count++;
    if (kind != SCAN_NUMBER) {
        tell_match(s, s->node, key_of_value(s));
        return true;
    }
    if (__builtin_add_overflow(value->micro, micro, &value->micro))
        value->micro = micro < 0 ? INT64_MIN : INT64_MAX;
    json_keep_number(value, micro);
    int want = s->nodes[s->node].want;
    json_keep_begin(s, s->texts[want], s->wants[want].size);
    json_keep_add(s, s->token, s->token_length);
    value->length = json_keep_end(s);
    value->is_cut = s->is_cut;
    tell_match(s, s->node, key_of_value(s));
    return true;
}

static const char *step_token(struct json_scan *s, const char *at, const char *end) {
    for (; at < end && is_token(*at); at++) {
        if (s->token_length == SCAN_TOKEN_SIZE - 1)
            return broken(s, at);
        s->token[s->token_length++] = *at;
    }
    if (at == end)
        return at;
    return token_end(s) ? value_done(s, at) : broken(s, at);
}

void json_scan_feed(struct json_scan *s, const char *bytes, size_t size) {
    static const char *(*const steps[])(struct json_scan *, const char *, const char *) = {
        [STATE_START] = step_start,
        [STATE_TEXT] = step_text,
        [STATE_BROKEN] = step_broken,
        [STATE_FIRST_KEY] = step_first_key,
        [STATE_KEY] = step_key,
        [STATE_COLON] = step_colon,
        [STATE_FIRST_VALUE] = step_value,
        [STATE_VALUE] = step_value,
        [STATE_AFTER] = step_after,
        [STATE_STRING] = step_string,
        [STATE_ESCAPE] = step_escape,
        [STATE_UNICODE] = step_unicode,
        [STATE_TOKEN] = step_token,
        [STATE_PASS_STRING] = step_pass_string,
        [STATE_PASS_ESCAPE] = step_pass_escape,
        [STATE_PASS] = step_pass,
        [STATE_DONE] = step_done,
    };
    _Static_assert(ARRAY_SIZE(steps) == STATE_MAX, "a state has no step");
    const char *at = bytes, *end = bytes + size;
    while (at < end)
        at = steps[s->state](s, at, end);
}

bool json_scan_is_idle(const struct json_scan *s) {
    return s->state == STATE_START;
}

void json_scan_on_match(struct json_scan *s, json_scan_match *match) {
    s->match = match;
}

void json_scan_end(struct json_scan *s) {
    enum scan_state state = s->state;
    s->state = STATE_START;
    if (state == STATE_DONE)
        tell_event(s);
    else if (state == STATE_TEXT)
        tell_text(s);
}
