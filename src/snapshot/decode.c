/* decode.c: fills records from tokens, with a stack of frames.
 *
 * Each token belongs to the innermost open bracket; the kind of its frame defines which tokens are
 * valid. A member is looked up in the table of its object, first at the row that followed the same
 * member last time. */
#include "snapshot/decode.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "base/money.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/utf8.h"

_Static_assert(FIELDS_MAX <= 64, "struct frame.seen has 64 bits");

/* --- values ---------------------------------------------------------------------------------- */

static const char *token_noun(const struct json_token *token) {
    static const char *const nouns[] = {
        [JSON_NULL] = "null",
        [JSON_BOOL] = "false",
        [JSON_NUMBER] = "a number",
        [JSON_TEXT] = "a text",
        [JSON_KEY] = "a text",
        [JSON_OBJECT_BEGIN] = "an object",
        [JSON_OBJECT_END] = "an object",
        [JSON_LIST_BEGIN] = "a list",
        [JSON_LIST_END] = "a list",
    };
    return token->kind == JSON_BOOL && token->boolean ? "true" : nouns[token->kind];
}

typedef int put_function(struct reader *r, const struct frame *frame,
                         const struct json_token *token, struct error *err);
static put_function put_bool, put_number, put_cap, put_word, put_range, put_text;

static const struct {
    const char *expected;      /* in messages */
    const char *expected_item; /* of a list or map; NULL: as `expected` */
    /* Stores a scalar, or an item of a list if that is expected; NULL: neither is valid. */
    put_function *put;
} types[FIELD_TYPE_MAX] = {
    [FIELD_SKIP] = { "anything" },
    [FIELD_BOOL] = { "true or false", NULL, put_bool },
    [FIELD_SWITCH] = { "true or false", NULL, put_bool },
    [FIELD_INT64] = { "a whole number", NULL, put_number },
    [FIELD_INT32] = { "a whole number", NULL, put_number },
    [FIELD_UINT32] = { "a whole number", NULL, put_number },
    [FIELD_UINT16] = { "a whole number", NULL, put_number },
    [FIELD_MILLI] = { "a number", NULL, put_number },
    [FIELD_USD] = { "a number", NULL, put_number },
    [FIELD_CAP] = { "a whole number or \"unlimited\"", NULL, put_cap },
    [FIELD_SYMBOL] = { "a text", NULL, put_text },
    [FIELD_ID] = { "a task id", NULL, put_text },
    [FIELD_WORD] = { "a text", NULL, put_word },
    [FIELD_RANGE] = { "a whole number or a list of two", "a whole number", put_range },
    [FIELD_SPAN] = { "a number or a list of two", "a number", put_range },
    [FIELD_IDS] = { "a list of task ids", "a task id", put_text },
    [FIELD_SYMBOLS] = { "a list of names", "a name", put_text },
    [FIELD_STEPS] = { "a list of agents", "the name of an agent", put_text },
    [FIELD_WORDS] = { "a list of words", "a text", put_word },
    [FIELD_OBJECT] = { "an object" },
    [FIELD_OBJECTS] = { "a list of objects", "an object" },
    [FIELD_LOCKS] = { "an object with a task id, null or true for each name",
                      "a task id, null or true" },
    [FIELD_HINTS] = { "an object with an object for each kind", "an object" },
    [FIELD_CONFIG] = { "an object" },
};

static int type_error(const struct frame *frame, const struct json_token *token,
                      struct error *err) {
    bool item = frame->kind == FRAME_LIST || frame->kind == FRAME_MAP;
    enum field_type type = frame->field->type;
    const char *expected =
        item && types[type].expected_item ? types[type].expected_item : types[type].expected;
    return error_set(err, -EINVAL, "%s'%s' of %s must be %s, not %s", item ? "each item of " : "",
                     frame->field->name, frame->object->noun, expected, token_noun(token));
}

static int check_text(const char *what, const struct json_token *token, struct error *err) {
    if (token->length == 0)
        return error_set(err, -EINVAL, "'%s' must not be empty", what);
    if (token->length > TEXT_MAX)
        return error_set(err, -EINVAL, "'%s' must not be longer than %d bytes", what, TEXT_MAX);
    return utf8_is_line(token->text, token->length)
               ? 0
               : error_set(err, -EINVAL, "'%s' must not contain control characters", what);
}

/* The member of the record that the frame's field fills. */
static void *member_of(struct reader *r, const struct frame *frame) {
    return (char *)r + frame->object->target + frame->field->offset;
}

/* JSON numbers consist of digits, signs, a point and an exponent. */
static bool is_integer(const struct json_token *token) {
    for (size_t i = 0; i < token->length; i++) {
        char c = token->text[i];
        if (c == '.' || c == 'e' || c == 'E')
            return false;
    }
    return true;
}

static int range_error(const struct frame *frame, const struct json_token *token,
                       struct error *err) {
    const struct field *f = frame->field;
    int length = token->length > 40 ? 40 : (int)token->length;
    bool milli = f->type == FIELD_MILLI || f->type == FIELD_SPAN;
    int64_t unit = milli ? 1000 : f->type == FIELD_USD ? MONEY_DOLLAR : 1;
    if (f->max == INT64_MAX)
        return error_set(err, -ERANGE, "'%s' of %s must be at least %" PRId64 ", not %.*s", f->name,
                         frame->object->noun, f->min / unit, length, token->text);
    return error_set(err, -ERANGE, "'%s' of %s must be from %" PRId64 " to %" PRId64 ", not %.*s",
                     f->name, frame->object->noun, f->min / unit, f->max / unit, length,
                     token->text);
}

static int parse_number(const struct frame *frame, const struct json_token *token, int64_t *ret,
                        struct error *err) {
    const struct field *f = frame->field;
    bool milli = f->type == FIELD_MILLI || f->type == FIELD_SPAN, usd = f->type == FIELD_USD;
    if (token->kind != JSON_NUMBER)
        return type_error(frame, token, err);
    if (!milli && !usd && !is_integer(token))
        return error_set(err, -EINVAL, "'%s' of %s must be a whole number, not %.*s", f->name,
                         frame->object->noun, token->length > 40 ? 40 : (int)token->length,
                         token->text);
    char digits[32];
    bool large = token->length >= sizeof(digits);
    memcpy(digits, token->text, large ? 0 : token->length);
    digits[large ? 0 : token->length] = '\0';
    bool negative = usd && digits[0] == '-';
    large |= usd && strspn(digits + negative, "0123456789") > 10;
    int64_t value = 0;
    int r = large   ? 0
            : usd   ? money_parse(digits + negative, &value, NULL)
            : milli ? number_parse_milli(digits, &value, NULL)
                    : number_parse_int(digits, &value, NULL);
    large |= !milli && r == -ERANGE;
    if (r < 0 && !large)
        return error_set(err, -EINVAL,
                         "'%s' of %s must be a number with at most %s decimals, not %.31s", f->name,
                         frame->object->noun, usd ? "six" : "three", digits);
    value = negative ? -value : value;
    if (large || value < f->min || value > f->max)
        return range_error(frame, token, err);
    *ret = value;
    return 0;
}

static int put_bool(struct reader *r, const struct frame *frame, const struct json_token *token,
                    struct error *err) {
    if (token->kind != JSON_BOOL)
        return type_error(frame, token, err);
    if (frame->field->type == FIELD_SWITCH)
        *(int8_t *)member_of(r, frame) = token->boolean;
    else
        *(bool *)member_of(r, frame) = token->boolean;
    return 0;
}

static int put_number(struct reader *r, const struct frame *frame, const struct json_token *token,
                      struct error *err) {
    int64_t value = 0;
    int result = parse_number(frame, token, &value, err);
    if (result < 0)
        return result;
    void *member = member_of(r, frame);
    if (frame->field->type == FIELD_INT32)
        *(int32_t *)member = (int32_t)value;
    else if (frame->field->type == FIELD_UINT32)
        *(uint32_t *)member = (uint32_t)value;
    else if (frame->field->type == FIELD_UINT16)
        *(uint16_t *)member = (uint16_t)value;
    else
        *(int64_t *)member = value;
    return 0;
}

static int put_cap(struct reader *r, const struct frame *frame, const struct json_token *token,
                   struct error *err) {
    if (token->kind != JSON_TEXT)
        return put_number(r, frame, token, err);
    if (token->length != 9 || memcmp(token->text, "unlimited", 9) != 0)
        return type_error(frame, token, err);
    *(int64_t *)member_of(r, frame) = UNLIMITED;
    return 0;
}

static int put_word(struct reader *r, const struct frame *frame, const struct json_token *token,
                    struct error *err) {
    const struct field *f = frame->field;
    if (token->kind != JSON_TEXT)
        return type_error(frame, token, err);
    for (int64_t i = f->min; i <= f->max; i++) {
        const char *word = f->word((int)i);
        if (strncmp(word, token->text, token->length) == 0 && word[token->length] == '\0') {
            if (f->type == FIELD_WORDS)
                *(uint32_t *)member_of(r, frame) |= 1u << i;
            else
                *(int *)member_of(r, frame) = (int)i;
            return 0;
        }
    }
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT;
    for (int64_t i = f->min; i <= f->max; i++)
        strbuf_printf(&words, "%s%s", i > f->min ? ", " : "", f->word((int)i));
    int result = check_text(f->name, token, err);
    if (result < 0)
        return result;
    return error_set(err, -EINVAL, "'%s' of %s must be one of %s, not '%.*s'", f->name,
                     frame->object->noun, strbuf_text(&words), (int)token->length, token->text);
}

static int put_range(struct reader *r, const struct frame *frame, const struct json_token *token,
                     struct error *err) {
    int64_t value = 0;
    int result = parse_number(frame, token, &value, err);
    if (result < 0)
        return result;
    int64_t *pair = member_of(r, frame);
    if (frame->kind != FRAME_LIST) {
        pair[0] = pair[1] = value;
        return 0;
    }
    if (frame->count > 2 || (frame->count == 2 && value < pair[0]))
        return error_set(err, -EINVAL, "'%s' of %s must be a number or a list [least, most]",
                         frame->field->name, frame->object->noun);
    pair[frame->count - 1] = value;
    return 0;
}

static int put_step(struct reader *r, const struct frame *frame, const struct json_token *token,
                    struct error *err) {
    struct escalation_spec *steps = member_of(r, frame);
    bool same = token->length == 1 && *token->text == ':';
    if (steps->count == ESCALATE_MAX)
        return error_set(err, -E2BIG, "'%s' of %s has more than %d steps", frame->field->name,
                         frame->object->noun, ESCALATE_MAX);
    steps->agents[steps->count++] =
        same ? 0 : symbol_intern(r->draft.symbols, token->text, token->length);
    return 0;
}

static int put_text(struct reader *r, const struct frame *frame, const struct json_token *token,
                    struct error *err) {
    if (token->kind != JSON_TEXT)
        return type_error(frame, token, err);
    int result = check_text(frame->field->name, token, err);
    if (result < 0)
        return result;
    struct draft *d = &r->draft;
    enum field_type type = frame->field->type;
    if (type == FIELD_ID)
        *(task_id *)member_of(r, frame) = symbol_intern(&d->ids, token->text, token->length);
    else if (type == FIELD_IDS)
        *POOL_ADD(&d->depends_on) = symbol_intern(&d->ids, token->text, token->length);
    else if (type == FIELD_SYMBOLS)
        *POOL_ADD(&d->resources) = symbol_intern(d->symbols, token->text, token->length);
    else if (type == FIELD_STEPS)
        return put_step(r, frame, token, err);
    else
        *(sym *)member_of(r, frame) = symbol_intern(d->symbols, token->text, token->length);
    return 0;
}

static int put_value(struct reader *r, const struct frame *frame, const struct json_token *token,
                     struct error *err) {
    enum field_type type = frame->field->type;
    if (type == FIELD_SKIP)
        return 0;
    bool list_only =
        type == FIELD_IDS || type == FIELD_SYMBOLS || type == FIELD_STEPS || type == FIELD_WORDS;
    if (!types[type].put || (list_only && frame->kind != FRAME_LIST))
        return type_error(frame, token, err);
    return types[type].put(r, frame, token, err);
}

/* --- configuration -----------------------------------------------------------------------------
 *
 * {"limits": {"runs": 10}} becomes limits.runs = "10"; a list becomes a JSON array of strings.
 * Settings are only collected here: the preset must be set first, and may be last in the file. */

#define PATH_MAX_BYTES 1000

static int add_config(struct reader *r) {
    struct draft *d = &r->draft;
    *POOL_ADD(&d->config) = (struct config_record){
        .key = arena_strdup(&d->texts, strbuf_text(&r->path)),
        .value = arena_strdup(&d->texts, strbuf_text(&r->value)),
        .position = json_stream_position(r->stream),
    };
    return 0;
}

static int print_scalar(struct reader *r, const struct json_token *token, struct strbuf *out,
                        struct error *err) {
    if (token->kind == JSON_BOOL) {
        strbuf_puts(out, token->boolean ? "true" : "false");
        return 0;
    }
    if (token->length > 0) {
        int result = check_text(strbuf_text(&r->path), token, err);
        if (result < 0)
            return result;
    }
    strbuf_add(out, token->text, token->length);
    return 0;
}

static int on_config_key(struct reader *r, const struct frame *frame,
                         const struct json_token *token, struct error *err) {
    int result = check_text("a key", token, err);
    if (result < 0)
        return result;
    r->path.length = frame->path_length;
    if (frame->path_length > 0)
        strbuf_putc(&r->path, '.');
    strbuf_add(&r->path, token->text, token->length);
    if (r->path.length > PATH_MAX_BYTES)
        return error_set(err, -EINVAL, "the key is longer than %d bytes", PATH_MAX_BYTES);
    if (symbol_find(&r->config_paths, r->path.text, r->path.length) != 0)
        return error_set(err, -EINVAL, "key '%s' is given twice in the configuration",
                         r->path.text);
    (void)symbol_intern(&r->config_paths, r->path.text, r->path.length);
    return 0;
}

static int in_config_list(struct reader *r, struct frame *frame, const struct json_token *token,
                          struct error *err) {
    if (token->kind == JSON_LIST_END) {
        r->depth--;
        strbuf_putc(&r->value, ']');
        return add_config(r);
    }
    if (token->kind != JSON_BOOL && token->kind != JSON_NUMBER && token->kind != JSON_TEXT)
        return error_set(err, -EINVAL, "'%s' must be a list of plain values",
                         strbuf_text(&r->path));
    _cleanup_(strbuf_finish) struct strbuf item = STRBUF_INIT;
    int result = print_scalar(r, token, &item, err);
    if (result < 0)
        return result;
    if (frame->count++ > 0)
        strbuf_puts(&r->value, ", ");
    struct json_writer w;
    json_write_init(&w, &r->value, false);
    json_write_string(&w, strbuf_text(&item));
    return 0;
}

static int decode_config(struct reader *r, struct frame *frame, const struct json_token *token,
                         struct error *err) {
    if (frame->kind == FRAME_CONFIG_LIST)
        return in_config_list(r, frame, token, err);
    struct frame *inner = &r->frames[r->depth];
    switch (token->kind) {
    case JSON_KEY:
        return on_config_key(r, frame, token, err);
    case JSON_NULL:
        return 0;
    case JSON_OBJECT_BEGIN:
        *inner = (struct frame){ .kind = FRAME_CONFIG, .path_length = r->path.length };
        r->depth++;
        return 0;
    case JSON_LIST_BEGIN:
        *inner = (struct frame){ .kind = FRAME_CONFIG_LIST };
        r->depth++;
        strbuf_clear(&r->value);
        strbuf_putc(&r->value, '[');
        return 0;
    case JSON_OBJECT_END:
    case JSON_LIST_END:
        r->depth--;
        return 0;
    case JSON_BOOL:
    case JSON_NUMBER:
    case JSON_TEXT:
        break;
    }
    strbuf_clear(&r->value);
    int result = print_scalar(r, token, &r->value, err);
    return result < 0 ? result : add_config(r);
}

/* --- objects, lists and maps ----------------------------------------------------------------- */

void *grow_zeroed(void *items, size_t *capacity, size_t need, size_t size) {
    size_t before = *capacity;
    items = xgrow(items, capacity, need, size);
    memset((char *)items + before * size, 0, (*capacity - before) * size);
    return items;
}

bool reader_first(struct reader *r, sym name, enum seen_as as) {
    r->symbol_seen = grow_zeroed(r->symbol_seen, &r->symbol_capacity, (size_t)name + 1, 1);
    bool first = !(r->symbol_seen[name] & as);
    r->symbol_seen[name] |= (uint8_t)as;
    return first;
}

static struct frame *push(struct reader *r, enum frame_kind kind, const struct frame *around) {
    struct frame *frame = &r->frames[r->depth++]; /* the stream bounds the depth */
    *frame = (struct frame){ .kind = kind };
    if (around) {
        frame->object = around->object;
        frame->field = around->field;
    }
    return frame;
}

static void push_object(struct reader *r, const struct object *object) {
    struct frame *frame = push(r, FRAME_OBJECT, NULL);
    frame->object = object;
    if (object->size > 0)
        memcpy((char *)r + object->target, object->initial, object->size);
    if (object->begin)
        object->begin(r);
}

static bool is_named(const struct field *field, const struct json_token *token) {
    return field->length == token->length && memcmp(field->name, token->text, token->length) == 0;
}

static int unknown_key(const struct object *object, const struct json_token *token,
                       struct error *err) {
    int r = check_text("a key", token, err);
    if (r < 0)
        return r;
    char typed[TEXT_MAX + 1];
    memcpy(typed, token->text, token->length);
    typed[token->length] = '\0';
    struct nearest nearest = nearest_to(typed);
    for (unsigned i = 0; i < object->count; i++)
        nearest_offer(&nearest, object->fields[i].name);
    if (nearest.best)
        return error_set(err, -EINVAL, "unknown key '%s' in %s; did you mean '%s'?", typed,
                         object->noun, nearest.best);
    return error_set(err, -EINVAL, "unknown key '%s' in %s", typed, object->noun);
}

static int on_key(struct reader *r, struct frame *frame, const struct json_token *token,
                  struct error *err) {
    const struct object *object = frame->object;
    uint8_t *guess = &r->follows[object->number][frame->last];
    unsigned i = *guess;
    if (i >= object->count || !is_named(&object->fields[i], token)) {
        for (i = 0; i < object->count && !is_named(&object->fields[i], token); i++)
            ;
        if (i == object->count)
            return unknown_key(object, token, err);
        *guess = (uint8_t)i;
    }
    frame->field = &object->fields[i];
    frame->last = i + 1;
    uint64_t bit = (uint64_t)1 << i;
    if (frame->seen & bit)
        return error_set(err, -EINVAL, "key '%s' is given twice in %s", frame->field->name,
                         object->noun);
    frame->seen |= bit;
    return 0;
}

#define IS(type) (1u << FIELD_##type)
#define HAS_ITEMS                                                                                  \
    (IS(OBJECTS) | IS(IDS) | IS(SYMBOLS) | IS(STEPS) | IS(WORDS) | IS(RANGE) | IS(SPAN))
#define HAS_ENTRIES (IS(LOCKS) | IS(HINTS))

/* An opening bracket where the value of `frame->field` is expected. */
static int on_open(struct reader *r, struct frame *frame, const struct json_token *token,
                   struct error *err) {
    unsigned type = 1u << frame->field->type;
    bool list = token->kind == JSON_LIST_BEGIN;
    if (type & IS(SKIP)) {
        push(r, FRAME_SKIP, frame);
        return 0;
    }
    if (!(type & (list ? HAS_ITEMS : HAS_ENTRIES | IS(OBJECT) | IS(CONFIG))))
        return type_error(frame, token, err);
    if (frame->object->given)
        frame->object->given(r, frame->field);
    if (type & IS(OBJECT))
        push_object(r, frame->field->object);
    else
        push(r, list ? FRAME_LIST : type & HAS_ENTRIES ? FRAME_MAP : FRAME_CONFIG, frame);
    return 0;
}

static int in_object(struct reader *r, struct frame *frame, const struct json_token *token,
                     struct error *err) {
    switch (token->kind) {
    case JSON_KEY:
        return on_key(r, frame, token, err);
    case JSON_NULL:
        return 0;
    case JSON_OBJECT_BEGIN:
    case JSON_LIST_BEGIN:
        return on_open(r, frame, token, err);
    case JSON_OBJECT_END:
        r->depth--;
        return frame->object->end ? frame->object->end(r, err) : 0;
    case JSON_BOOL:
    case JSON_NUMBER:
    case JSON_TEXT:
    case JSON_LIST_END:
        break;
    }
    return put_value(r, frame, token, err);
}

static int in_list(struct reader *r, struct frame *frame, const struct json_token *token,
                   struct error *err) {
    const struct field *field = frame->field;
    bool pair = field->type == FIELD_RANGE || field->type == FIELD_SPAN;
    if (token->kind == JSON_LIST_END) {
        r->depth--;
        if (pair && frame->count != 2)
            return error_set(err, -EINVAL, "'%s' of %s must be a number or a list [least, most]",
                             field->name, frame->object->noun);
        return 0;
    }
    frame->count++;
    if (token->kind == JSON_OBJECT_BEGIN && field->type == FIELD_OBJECTS) {
        push_object(r, field->object);
        return 0;
    }
    return put_value(r, frame, token, err);
}

static int in_map(struct reader *r, struct frame *frame, const struct json_token *token,
                  struct error *err) {
    struct draft *d = &r->draft;
    bool locks = frame->field->type == FIELD_LOCKS;
    if (token->kind == JSON_OBJECT_END) {
        r->depth--;
        return 0;
    }
    if (token->kind == JSON_KEY) {
        int result = check_text("a key", token, err);
        if (result < 0)
            return result;
        r->map_key = symbol_intern(d->symbols, token->text, token->length);
        if (!reader_first(r, r->map_key, locks ? SEEN_WORKSPACE : SEEN_HINT))
            return error_set(err, -EINVAL, "key '%s' is given twice in '%s'",
                             symbol_name(d->symbols, r->map_key), frame->field->name);
        return 0;
    }
    if (locks && (token->kind == JSON_TEXT || token->kind == JSON_NULL)) {
        uint32_t holder = 0;
        if (token->kind == JSON_TEXT) {
            int result = check_text("the holder of a workspace", token, err);
            if (result < 0)
                return result;
            holder = symbol_intern(&d->ids, token->text, token->length);
        }
        *POOL_ADD(&d->locks) = (struct lock_record){ r->map_key, holder, false };
        return 0;
    }
    if (locks && token->kind == JSON_BOOL && token->boolean) {
        *POOL_ADD(&d->locks) = (struct lock_record){ r->map_key, 0, true };
        return 0;
    }
    if (!locks && token->kind == JSON_NULL)
        return 0;
    if (!locks && token->kind == JSON_OBJECT_BEGIN) {
        push_object(r, frame->field->object);
        return 0;
    }
    return type_error(frame, token, err);
}

static int in_skip(struct reader *r, const struct frame *frame, const struct json_token *token) {
    if (token->kind == JSON_OBJECT_BEGIN || token->kind == JSON_LIST_BEGIN)
        push(r, FRAME_SKIP, frame);
    else if (token->kind == JSON_OBJECT_END || token->kind == JSON_LIST_END)
        r->depth--;
    return 0;
}

int decode_token(void *ctx, struct json_stream *stream, const struct json_token *token,
                 struct error *err) {
    struct reader *r = ctx;
    r->stream = stream;
    if (r->depth == 0) {
        if (token->kind != JSON_OBJECT_BEGIN)
            return error_set(err, -EINVAL, "%s must be an object", object_snapshot.noun);
        push_object(r, &object_snapshot);
        return 0;
    }
    struct frame *frame = &r->frames[r->depth - 1];
    switch (frame->kind) {
    case FRAME_OBJECT:
        return in_object(r, frame, token, err);
    case FRAME_LIST:
        return in_list(r, frame, token, err);
    case FRAME_MAP:
        return in_map(r, frame, token, err);
    case FRAME_SKIP:
        return in_skip(r, frame, token);
    case FRAME_CONFIG:
    case FRAME_CONFIG_LIST:
        return decode_config(r, frame, token, err);
    }
    return 0;
}

/* --- listed tasks ---------------------------------------------------------------------------- */

#define WORD       sizeof(uint64_t)
#define TASK_WORDS (sizeof(struct task_record) / WORD)
_Static_assert(sizeof(struct task_record) % WORD == 0, "a record consists of words");
_Static_assert(TASK_WORDS <= 64, "one bit for each word");

static uint64_t word_at(const struct task_record *task, size_t index) {
    uint64_t word;
    memcpy(&word, (const char *)task + index * WORD, WORD);
    return word;
}

void draft_add_task(struct draft *d, struct task_record *task) {
    struct task_spec *spec = &task->spec;
    *POOL_ADD(&d->tasks) = (struct listed_task){
        .id = (sym)spec->id,
        .parent = (sym)spec->parent,
        .project = spec->project,
        .depends_on = task->depends_on,
        .depends_on_count = (uint32_t)spec->depends_on_count,
        .resources = task->resources,
        .resource_count = (uint32_t)spec->resource_count,
        .hint = task->hint,
        .words = d->words.count,
    };
    spec->id = spec->parent = 0;
    spec->project = 0;
    spec->depends_on_count = spec->resource_count = 0;
    task->depends_on = task->resources = task->hint = 0;
    d->run_tokens += task->tokens > 0 ? task->tokens : 0;
    d->run_usd += task->usd > 0 ? task->usd : 0;
    d->words.items = xgrow(d->words.items, &d->words.capacity, d->words.count + 1 + TASK_WORDS,
                           sizeof(*d->words.items));
    uint64_t *mask = &d->words.items[d->words.count], *next = mask + 1;
    *mask = 0;
    for (size_t i = 0; i < TASK_WORDS; i++) {
        if (word_at(task, i) == word_at(&task_initial, i))
            continue;
        *mask |= (uint64_t)1 << i;
        *next++ = word_at(task, i);
    }
    d->words.count = (size_t)(next - d->words.items);
}

void draft_task(const struct draft *d, size_t index, struct task_record *ret) {
    const struct listed_task *listed = &d->tasks.items[index];
    const uint64_t *next = &d->words.items[listed->words];
    *ret = task_initial;
    for (uint64_t mask = *next++; mask; mask &= mask - 1)
        memcpy((char *)ret + (size_t)__builtin_ctzll(mask) * WORD, next++, WORD);
    ret->spec.id = listed->id;
    ret->spec.parent = listed->parent;
    ret->spec.project = listed->project;
    ret->spec.depends_on_count = listed->depends_on_count;
    ret->spec.resource_count = listed->resource_count;
    ret->depends_on = listed->depends_on;
    ret->resources = listed->resources;
    ret->hint = listed->hint;
}
