/* json_scan.c: a JSON state machine that can stop and continue at any byte.
 *
 * It keeps only the wanted values and, for each open object on the way to one, its node in the
 * wanted paths. Loops skip everything else: eight bytes at a time in strings, by table in
 * containers, memchr in broken lines. A tree of the line would use as much memory as the agent
 * chooses; a parser for complete lines would have to buffer them.
 *
 * Skipped input is not validated: only its strings and brackets must balance. Wanted values and
 * everything on the way to them are validated, and an object counts only if its line ends there. */
#include "agent/json_scan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/number.h"

#define SCAN_KEY_SIZE   64 /* longer keys are never wanted */
#define SCAN_TOKEN_SIZE 64 /* numbers and words */
#define NODES_MAX       (JSON_SCAN_WANTS * JSON_SCAN_DEPTH + 1)
#define EXPONENT_MOST   9999

enum scan_state {
    STATE_START,       /* before the first significant byte of a line */
    STATE_TEXT,        /* in a line that is not JSON */
    STATE_BROKEN,      /* skips to the end of the line */
    STATE_FIRST_KEY,   /* after '{' */
    STATE_KEY,         /* after ',' in an object */
    STATE_COLON,       /* after a key */
    STATE_FIRST_VALUE, /* after '[' */
    STATE_VALUE,       /* after ':', or ',' in a list */
    STATE_AFTER,       /* after a value */
    STATE_STRING,      /* in a string that is kept */
    STATE_ESCAPE,      /* after its backslash */
    STATE_UNICODE,     /* in the digits of \u */
    STATE_TOKEN,       /* in a number or word */
    STATE_PASS_STRING, /* in a string that is not kept */
    STATE_PASS_ESCAPE, /* after its backslash */
    STATE_PASS,        /* in a list or object that is not kept */
    STATE_DONE,        /* the object is complete; the line has not ended */
    STATE_MAX,
};

/* A key of the wanted paths. Node 0 is the root object; as a link, 0 means none. */
struct scan_node {
    const char *key;
    size_t length;
    uint16_t child, next, any; /* first child by name; next sibling; the child '*' */
    int16_t want;              /* -1: only an inner node */
};

struct scan_level {
    uint16_t node;
    bool is_list;
    uint32_t members;
};

struct json_scan {
    enum scan_state state;
    bool at_line_start; /* the last byte ended a line inside an object */
    uint16_t node;      /* of the next value; 0: not wanted */
    uint32_t depth;     /* of `levels` */
    uint64_t pass_depth;
    struct scan_level levels[JSON_SCAN_DEPTH + 1];

    /* The string, key or text line being read. */
    char *to;
    size_t room, length;
    bool is_cut, is_key;
    uint32_t unicode, high;
    unsigned digits;

    char key[SCAN_KEY_SIZE], token[SCAN_TOKEN_SIZE], line[JSON_SCAN_LINE];
    size_t token_length;

    struct json_scan_calls calls;
    const struct json_want *wants;
    size_t want_count, node_count;
    uint64_t touched; /* bit set: values present in this object */
    struct scan_node *nodes;
    char *room_of_all;
    char *texts[JSON_SCAN_WANTS];
    struct json_value values[JSON_SCAN_WANTS];
};

/* --- paths ------------------------------------------------------------------------------------ */

static uint16_t node_add(struct json_scan *s, uint16_t parent, const char *key, size_t length) {
    bool any = length == 1 && key[0] == '*';
    struct scan_node *up = &s->nodes[parent];
    if (any && up->any)
        return up->any;
    for (uint16_t n = any ? 0 : up->child; n; n = s->nodes[n].next)
        if (s->nodes[n].length == length && memcmp(s->nodes[n].key, key, length) == 0)
            return n;
    uint16_t n = (uint16_t)s->node_count++;
    s->nodes[n] = (struct scan_node){ .key = key, .length = length, .want = -1 };
    if (any) {
        up->any = n;
    } else {
        s->nodes[n].next = up->child;
        up->child = n;
    }
    assert(!up->any || !up->child);
    return n;
}

static void path_add(struct json_scan *s, const char *path, int16_t want) {
    uint16_t n = 0;
    size_t depth = 0;
    for (const char *at = path; at; depth++) {
        const char *slash = strchr(at, '/');
        size_t length = slash ? (size_t)(slash - at) : strlen(at);
        assert(length > 0 && length < SCAN_KEY_SIZE);
        n = node_add(s, n, at, length);
        at = slash ? slash + 1 : NULL;
    }
    assert(depth <= JSON_SCAN_DEPTH && s->nodes[n].want == -1);
    s->nodes[n].want = want;
}

struct json_scan *json_scan_new(const struct json_want *wants, size_t count,
                                const struct json_scan_calls *calls) {
    assert(count <= JSON_SCAN_WANTS);
    struct json_scan *s = xcalloc(1, sizeof(*s));
    s->calls = *calls;
    s->wants = wants;
    s->want_count = count;
    struct scan_node *nodes = s->nodes = xcalloc(NODES_MAX, sizeof(*s->nodes));
    s->nodes[0] = (struct scan_node){ .key = "", .want = -1 };
    s->node_count = 1;
    size_t room = 0;
    for (size_t i = 0; i < count; i++) {
        assert(wants[i].size >= 2);
        path_add(s, wants[i].path, (int16_t)i);
        room += wants[i].size;
    }
    s->nodes = xrealloc(nodes, s->node_count * sizeof(*nodes));
    s->room_of_all = xcalloc(room + 1, 1);
    char *at = s->room_of_all;
    for (size_t i = 0; i < count; i++) {
        s->texts[i] = at;
        s->values[i].text = at;
        at += wants[i].size;
    }
    return s;
}

struct json_scan *json_scan_free(struct json_scan *s) {
    if (!s)
        return NULL;
    free(s->nodes);
    free(s->room_of_all);
    free(s);
    return NULL;
}

/* The node of a key; 0: not wanted. */
static uint16_t node_find(const struct json_scan *s, uint16_t parent, const char *key,
                          size_t length) {
    const struct scan_node *up = &s->nodes[parent];
    for (uint16_t n = up->child; n; n = s->nodes[n].next)
        if (s->nodes[n].length == length && s->nodes[n].key[0] == key[0]
            && memcmp(s->nodes[n].key, key, length) == 0)
            return n;
    return up->any;
}

/* --- values ----------------------------------------------------------------------------------- */

/* For a new object. */
static void values_clear(struct json_scan *s) {
    for (uint64_t left = s->touched; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        s->texts[i][0] = '\0';
        s->values[i] = (struct json_value){ .text = s->texts[i] };
    }
    s->touched = 0;
}

/* Starts a value of this kind for the node; NULL if it is not wanted. */
static struct json_value *value_begin(struct json_scan *s, uint16_t node, enum json_kind kind) {
    int want = s->nodes[node].want;
    if (node == 0 || want < 0)
        return NULL;
    s->touched |= UINT64_C(1) << want;
    struct json_value *value = &s->values[want];
    value->kind = kind;
    value->is_cut = false;
    value->length = 0;
    s->texts[want][0] = '\0';
    return value;
}

/* Adds to the sum if it is not negative. */
static void value_add_number(struct json_value *value, int64_t micro) {
    if (micro < 0)
        return;
    value->sum_count++;
    if (__builtin_add_overflow(value->sum_micro, micro, &value->sum_micro))
        value->sum_micro = INT64_MAX;
}

/* The length without an incomplete last character. */
static size_t complete_characters(const char *text, size_t length) {
    size_t back = 0;
    while (back < 3 && back < length && ((unsigned char)text[length - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back == length)
        return length;
    size_t start = length - 1 - back;
    unsigned char lead = (unsigned char)text[start];
    size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return need > back + 1 ? start : length;
}

/* Starts one text of at most `size` bytes; the rest is cut at a character boundary. */
static void text_begin(struct json_scan *s, char *to, size_t size) {
    s->to = to;
    s->room = size - 1;
    s->length = 0;
    s->is_cut = false;
    s->high = 0;
}

static void text_add(struct json_scan *s, const char *bytes, size_t size) {
    size_t fits = s->room - s->length;
    if (size > fits) {
        size = fits;
        s->is_cut = true;
    }
    memcpy(s->to + s->length, bytes, size);
    s->length += size;
    if (s->is_cut) /* append nothing after a cut */
        s->room = s->length = complete_characters(s->to, s->length);
}

static size_t text_end(struct json_scan *s) {
    s->to[s->length] = '\0';
    return s->length;
}

/* Invalid characters become U+FFFD. */
static void text_add_character(struct json_scan *s, uint32_t c) {
    if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    size_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; /* continuation bytes */
    static const unsigned char leads[] = { 0x00, 0xc0, 0xe0, 0xf0 };
    char bytes[4] = { (char)(leads[more] | c >> 6 * more) };
    for (size_t i = 1; i <= more; i++)
        bytes[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    text_add(s, bytes, more + 1);
}

/* --- numbers, exact and without floating point ------------------------------------------------ */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Parses at most nineteen digits into a mantissa and counts the rest. */
static const char *digits_take(const char *at, uint64_t *mantissa, unsigned *used, int *dropped) {
    for (; is_digit(*at); at++) {
        if (*used < 19) {
            *mantissa = *mantissa * 10 + (uint64_t)(*at - '0');
            *used += *mantissa > 0;
        } else {
            *dropped += 1;
        }
    }
    return at;
}

static int64_t micro_scale(uint64_t mantissa, int exponent, bool negative) {
    for (; exponent > 0 && mantissa > 0; exponent--)
        if (__builtin_mul_overflow(mantissa, 10, &mantissa)) {
            mantissa = UINT64_MAX;
            break;
        }
    unsigned last = 0;
    for (; exponent < 0 && mantissa > 0; exponent++) {
        last = (unsigned)(mantissa % 10);
        mantissa /= 10;
    }
    if (exponent < 0)
        last = 0;
    mantissa += last >= 5;
    if (negative)
        return mantissa > INT64_MAX ? INT64_MIN : -(int64_t)mantissa;
    return mantissa > INT64_MAX ? INT64_MAX : (int64_t)mantissa;
}

bool json_number_micro(const char *text, int64_t *ret_micro) {
    const char *at = text;
    bool negative = *at == '-';
    at += negative;
    if (!is_digit(at[0]) || (at[0] == '0' && is_digit(at[1])))
        return false;
    uint64_t mantissa = 0;
    unsigned used = 0;
    int dropped = 0, exponent = 0;
    at = digits_take(at, &mantissa, &used, &dropped);
    exponent = dropped;
    if (*at == '.') {
        const char *from = ++at;
        dropped = 0;
        at = digits_take(at, &mantissa, &used, &dropped);
        if (at == from)
            return false;
        exponent -= (int)(at - from) - dropped;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        bool down = *at == '-';
        at += down || *at == '+';
        int more = 0;
        if (!is_digit(*at))
            return false;
        for (; is_digit(*at); at++)
            more = more > EXPONENT_MOST ? more : more * 10 + (*at - '0');
        exponent += down ? -more : more;
    }
    if (*at)
        return false;
    *ret_micro = micro_scale(mantissa, exponent + 6, negative);
    return true;
}

/* --- skipping --------------------------------------------------------------------------------- */

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

/* Agents leave some control characters in strings unescaped. A line end or NUL breaks the line. */
static const char *control_in_string(struct json_scan *s, const char *at) {
    if (*at != '\n' && *at != '\0')
        return at + 1;
    s->state = STATE_BROKEN;
    return at;
}

/* Skips past the closing quote; then `state` is still PASS_STRING and *ret_complete is set. */
static const char *pass_string(struct json_scan *s, const char *at, const char *end,
                               bool *ret_complete) {
    *ret_complete = false;
    s->state = STATE_PASS_STRING;
    while (at < end) {
        at = string_stop(at, end);
        if (at == end)
            break;
        if (*at == '"') {
            *ret_complete = true;
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
    bool complete;
    at = pass_string(s, at, end, &complete);
    if (complete)
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

/* A line that begins with '{' inside an object: the object was truncated; this is the next. */
static bool starts_over(struct json_scan *s, const char *at) {
    bool over = s->at_line_start && *at == '{';
    s->at_line_start = false;
    if (over)
        s->state = STATE_START;
    return over;
}

static const char *step_pass(struct json_scan *s, const char *at, const char *end) {
    if (starts_over(s, at))
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
            bool complete;
            at = pass_string(s, at + 1, end, &complete);
            if (!complete)
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

/* --- lines ------------------------------------------------------------------------------------ */

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
        values_clear(s);
        s->at_line_start = false;
        s->depth = 1;
        s->levels[0] = (struct scan_level){ 0 };
        s->state = STATE_FIRST_KEY;
        return at + 1;
    }
    text_begin(s, s->line, sizeof(s->line));
    s->state = STATE_TEXT;
    return at;
}

static void report_text(struct json_scan *s) {
    while (s->length > 0 && is_blank(s->line[s->length - 1]))
        s->length--;
    if (text_end(s) > 0 && s->calls.text)
        s->calls.text(s->calls.ctx, s->line);
}

static const char *step_text(struct json_scan *s, const char *at, const char *end) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    const char *stop = line_end ? line_end : end;
    size_t size = (size_t)(stop - at), before = s->length;
    if (!s->is_cut) {
        text_add(s, at, size);
        if (memchr(s->line + before, '\0', s->length > before ? s->length - before : 0)) {
            s->state = STATE_BROKEN;
            return at;
        }
    }
    if (!line_end)
        return end;
    report_text(s);
    s->state = STATE_START;
    return line_end + 1;
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
    s->calls.event(s->calls.ctx, s->values);
    return at + 1;
}

/* --- structure -------------------------------------------------------------------------------- */

static const char *broken(struct json_scan *s, const char *at) {
    s->state = STATE_BROKEN;
    return at;
}

/* Returns the next byte that is not a blank, or `end`. Sets STATE_START if it starts over. */
static const char *skip_blanks(struct json_scan *s, const char *at, const char *end) {
    for (; at < end; at++) {
        if (s->at_line_start && starts_over(s, at))
            return at;
        if (!is_blank(*at))
            return at;
        s->at_line_start = *at == '\n';
    }
    return at;
}

static void report_match(struct json_scan *s, uint16_t node, const char *key) {
    int want = s->nodes[node].want;
    if (s->calls.match && node && want >= 0)
        s->calls.match(s->calls.ctx, s->values, (size_t)want, key);
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
    report_match(s, level->node, "");
    return value_done(s, at);
}

/* Steps from here to step_after begin at a byte that is not a blank. */
static const char *step_key(struct json_scan *s, const char *at, const char *end) {
    (void)end;
    if (*at == '}' && s->state == STATE_FIRST_KEY)
        return container_end(s, at + 1);
    if (*at != '"')
        return broken(s, at);
    s->is_key = true;
    text_begin(s, s->key, sizeof(s->key));
    s->state = STATE_STRING;
    return at + 1;
}

static const char *step_colon(struct json_scan *s, const char *at, const char *end) {
    (void)end;
    if (*at != ':')
        return broken(s, at);
    s->state = STATE_VALUE;
    return at + 1;
}

/* Enters a list or object if something in it, or its size, is wanted. */
static const char *container_begin(struct json_scan *s, const char *at, bool is_list) {
    const struct scan_node *node = &s->nodes[s->node];
    if (s->node == 0 || (node->want < 0 && !node->child && !node->any)) {
        s->pass_depth = 1;
        s->state = STATE_PASS;
        return at;
    }
    (void)value_begin(s, s->node, is_list ? SCAN_LIST : SCAN_OBJECT);
    s->levels[s->depth++] = (struct scan_level){ .node = s->node, .is_list = is_list };
    s->state = is_list ? STATE_FIRST_VALUE : STATE_FIRST_KEY;
    return at;
}

static const char *string_begin(struct json_scan *s, const char *at) {
    int want = s->nodes[s->node].want;
    if (value_begin(s, s->node, SCAN_STRING)) {
        s->is_key = false;
        text_begin(s, s->texts[want], s->wants[want].size);
        s->state = STATE_STRING;
    } else {
        s->pass_depth = 0;
        s->state = STATE_PASS_STRING;
    }
    return at;
}

static const char *step_value(struct json_scan *s, const char *at, const char *end) {
    (void)end;
    bool may_close = s->state == STATE_FIRST_VALUE;
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
    (void)end;
    bool is_list = s->levels[s->depth - 1].is_list;
    if (*at == (is_list ? ']' : '}'))
        return container_end(s, at + 1);
    if (*at != ',')
        return broken(s, at);
    s->state = is_list ? STATE_VALUE : STATE_KEY;
    return at + 1;
}

/* --- kept strings, numbers, words ------------------------------------------------------------- */

static void high_alone(struct json_scan *s) {
    if (s->high)
        text_add_character(s, 0xfffd);
    s->high = 0;
}

static size_t string_keep(struct json_scan *s) {
    size_t length = text_end(s);
    if (!s->is_key) {
        struct json_value *value = &s->values[s->nodes[s->node].want];
        value->length = length;
        value->is_cut = s->is_cut;
        value->count++;
        int64_t micro;
        if (!s->is_cut && json_number_micro(value->text, &micro))
            value_add_number(value, micro);
        report_match(s, s->node, key_of_value(s));
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
        text_begin(s, s->texts[want], s->wants[want].size);
        text_add(s, s->key, length);
        s->values[want].length = text_end(s);
        s->values[want].is_cut = is_cut || s->is_cut;
    }
    s->node = is_cut ? s->nodes[level->node].any : node_find(s, level->node, s->key, length);
    s->state = STATE_COLON;
    return at;
}

static const char *step_string(struct json_scan *s, const char *at, const char *end) {
    const char *stop = string_stop(at, end);
    if (stop > at) {
        high_alone(s);
        text_add(s, at, (size_t)(stop - at));
    }
    if (s->is_cut && !s->is_key) { /* skip the rest */
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
        text_add(s, stop, 1);
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
    text_add(s, &to[known - from], 1);
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
        text_add_character(s, 0x10000 + ((s->high - 0xd800) << 10) + (c - 0xdc00));
        s->high = 0;
        return at;
    }
    high_alone(s);
    if (c >= 0xd800 && c < 0xdc00)
        s->high = c;
    else
        text_add_character(s, c);
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
    struct json_value *value = value_begin(s, s->node, kind);
    if (!value)
        return true;
    value->count++;
    if (kind == SCAN_NUMBER) {
        if (__builtin_add_overflow(value->micro, micro, &value->micro))
            value->micro = micro < 0 ? INT64_MIN : INT64_MAX;
        value_add_number(value, micro);
        int want = s->nodes[s->node].want;
        text_begin(s, s->texts[want], s->wants[want].size);
        text_add(s, s->token, s->token_length);
        value->length = text_end(s);
        value->is_cut = s->is_cut;
    }
    report_match(s, s->node, key_of_value(s));
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
        [STATE_FIRST_KEY] = step_key,
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
    while (at < end) {
        if (s->state >= STATE_FIRST_KEY && s->state <= STATE_AFTER
            && (at = skip_blanks(s, at, end)) == end)
            break;
        at = steps[s->state](s, at, end);
    }
}

bool json_scan_is_idle(const struct json_scan *s) {
    return s->state == STATE_START;
}

void json_scan_end(struct json_scan *s) {
    enum scan_state state = s->state;
    s->state = STATE_START;
    if (state == STATE_DONE)
        s->calls.event(s->calls.ctx, s->values);
    else if (state == STATE_TEXT)
        report_text(s);
}

/* --- value accessors -------------------------------------------------------------------------- */

bool json_value_is(const struct json_value *value, const char *text) {
    return value->kind == SCAN_STRING && !value->is_cut && strcmp(value->text, text) == 0;
}

bool json_value_is_true(const struct json_value *value) {
    return value->kind == SCAN_TRUE;
}

bool json_value_has_text(const struct json_value *value) {
    return value->kind == SCAN_STRING && value->length > 0;
}

int64_t json_value_count(const struct json_value *value) {
    return value->kind == SCAN_NUMBER && value->micro >= 0 ? value->micro / 1000000 : -1;
}

int64_t json_value_sum_micro(const struct json_value *value) {
    return value->sum_count > 0 ? value->sum_micro : -1;
}

int64_t json_value_sum(const struct json_value *value) {
    return value->sum_count > 0 ? value->sum_micro / 1000000 : -1;
}
