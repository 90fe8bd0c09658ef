/* decode_value.c: one value into one place of a record. */
#include "snapshot/decode.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/money.h"
#include "base/number.h"
#include "base/utf8.h"

static const char *token_noun(const struct json_token *token) {
    switch (token->kind) {
    case JSON_NULL:
        return "null";
    case JSON_BOOL:
        return token->boolean ? "true" : "false";
    case JSON_NUMBER:
        return "a number";
    case JSON_TEXT:
    case JSON_KEY:
        return "a text";
    case JSON_OBJECT_BEGIN:
    case JSON_OBJECT_END:
        return "an object";
    case JSON_LIST_BEGIN:
    case JSON_LIST_END:
        return "a list";
    }
    return "something else";
}

static const char *const expected[] = {
    [FIELD_SKIP] = "anything",
    [FIELD_BOOL] = "true or false",
    [FIELD_INT64] = "a whole number",
    [FIELD_INT32] = "a whole number",
    [FIELD_UINT32] = "a whole number",
    [FIELD_COUNTED] = "a whole number",
    [FIELD_MILLI] = "a number",
    [FIELD_USD] = "a number",
    [FIELD_CAP] = "a whole number or \"unlimited\"",
    [FIELD_SYMBOL] = "a text",
    [FIELD_ID] = "a task id",
    [FIELD_WORD] = "a text",
    [FIELD_RANGE] = "a whole number or a list of two",
    [FIELD_SPAN] = "a number or a list of two",
    [FIELD_IDS] = "a list of task ids",
    [FIELD_SYMBOLS] = "a list of names",
    [FIELD_WORDS] = "a list of words",
    [FIELD_OBJECT] = "an object",
    [FIELD_OBJECTS] = "a list of objects",
    [FIELD_LOCKS] = "an object with a task id, null or true for each name",
    [FIELD_HINTS] = "an object with an object for each kind",
    [FIELD_CONFIG] = "an object",
};

static const char *expected_item(enum field_type type) {
    static const char *const items[] = {
        [FIELD_RANGE] = "a whole number", [FIELD_SPAN] = "a number",
        [FIELD_IDS] = "a task id",        [FIELD_SYMBOLS] = "a name",
        [FIELD_OBJECTS] = "an object",    [FIELD_LOCKS] = "a task id, null or true",
        [FIELD_HINTS] = "an object",      [FIELD_WORDS] = "a text",
    };
    return type < ARRAY_SIZE(items) && items[type] ? items[type] : expected[type];
}

int decode_type_error(const struct frame *frame, const struct json_token *token,
                      struct error *err) {
    bool item = frame->kind == FRAME_LIST || frame->kind == FRAME_MAP;
    enum field_type type = frame->field->type;
    return error_set(err, -EINVAL, "%s'%s' of %s must be %s, not %s", item ? "each item of " : "",
                     frame->field->name, frame->object->noun,
                     item ? expected_item(type) : expected[type], token_noun(token));
}

int decode_check_text(const char *what, const struct json_token *token, struct error *err) {
    if (token->length == 0)
        return error_set(err, -EINVAL, "'%s' must not be empty", what);
    if (token->length > TEXT_MAX)
        return error_set(err, -EINVAL, "'%s' must not be longer than %d bytes", what, TEXT_MAX);
    return utf8_is_line(token->text, token->length)
               ? 0
               : error_set(err, -EINVAL, "'%s' must not contain control characters", what);
}

static void *place_of(struct reader *r, const struct frame *frame) {
    return (char *)r + frame->object->target + frame->field->offset;
}

/* The digits as a number; false when they are no whole number of 64 bits. */
static bool whole_number(const struct json_token *token, int64_t *ret, bool *ret_large) {
    const char *p = token->text, *end = p + token->length;
    bool negative = p < end && *p == '-';
    p += negative;
    int64_t value = 0;
    *ret_large = false;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9')
            return false;
        int64_t digit = *p - '0';
        if (__builtin_mul_overflow(value, 10, &value)
            || __builtin_sub_overflow(value, digit, &value)) {
            *ret_large = true;
            value = 0;
        }
    }
    if (!negative && __builtin_sub_overflow(0, value, &value))
        *ret_large = true;
    *ret = value;
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
    if (token->kind != JSON_NUMBER)
        return decode_type_error(frame, token, err);
    int64_t value = 0;
    bool large = false;
    if (f->type == FIELD_MILLI || f->type == FIELD_SPAN) {
        char digits[32];
        large = token->length >= sizeof(digits);
        memcpy(digits, token->text, large ? 0 : token->length);
        digits[large ? 0 : token->length] = '\0';
        if (!large && number_parse_milli(digits, &value, NULL) < 0)
            return error_set(err, -EINVAL,
                             "'%s' of %s must be a number with at most three decimals, not %.31s",
                             f->name, frame->object->noun, digits);
    } else if (f->type == FIELD_USD) {
        char digits[32];
        large = token->length >= sizeof(digits);
        memcpy(digits, token->text, large ? 0 : token->length);
        digits[large ? 0 : token->length] = '\0';
        bool negative = digits[0] == '-';
        large |= strspn(digits + negative, "0123456789") > 10;
        int r = large ? 0 : money_parse(digits + negative, &value, NULL);
        large |= r == -ERANGE;
        if (r < 0 && !large)
            return error_set(err, -EINVAL,
                             "'%s' of %s must be a number with at most six decimals, not %.31s",
                             f->name, frame->object->noun, digits);
        value = negative ? -value : value;
    } else if (!whole_number(token, &value, &large)) {
        return error_set(err, -EINVAL, "'%s' of %s must be a whole number, not %.*s", f->name,
                         frame->object->noun, token->length > 40 ? 40 : (int)token->length,
                         token->text);
    }
    if (large || value < f->min || value > f->max)
        return range_error(frame, token, err);
    *ret = value;
    return 0;
}

static int put_number(struct reader *r, const struct frame *frame, const struct json_token *token,
                      struct error *err) {
    int64_t value = 0;
    int result = parse_number(frame, token, &value, err);
    if (result < 0)
        return result;
    void *place = place_of(r, frame);
    if (frame->field->type == FIELD_INT32)
        *(int32_t *)place = (int32_t)value;
    else if (frame->field->type == FIELD_UINT32)
        *(uint32_t *)place = (uint32_t)value;
    else if (frame->field->type == FIELD_COUNTED)
        *(uint32_t *)place = (uint32_t)value + 1;
    else
        *(int64_t *)place = value;
    return 0;
}

static int put_cap(struct reader *r, const struct frame *frame, const struct json_token *token,
                   struct error *err) {
    if (token->kind != JSON_TEXT)
        return put_number(r, frame, token, err);
    if (token->length != 9 || memcmp(token->text, "unlimited", 9) != 0)
        return decode_type_error(frame, token, err);
    *(int64_t *)place_of(r, frame) = UNLIMITED;
    return 0;
}

static int put_word(struct reader *r, const struct frame *frame, const struct json_token *token,
                    struct error *err) {
    const struct field *f = frame->field;
    if (token->kind != JSON_TEXT)
        return decode_type_error(frame, token, err);
    for (int64_t i = f->min; i <= f->max; i++) {
        const char *word = f->word((int)i);
        if (strncmp(word, token->text, token->length) == 0 && word[token->length] == '\0') {
            if (f->type == FIELD_WORDS)
                *(uint32_t *)place_of(r, frame) |= 1u << i;
            else
                *(int8_t *)place_of(r, frame) = (int8_t)i;
            return 0;
        }
    }
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT;
    for (int64_t i = f->min; i <= f->max; i++)
        strbuf_printf(&words, "%s%s", i > f->min ? ", " : "", f->word((int)i));
    int r2 = decode_check_text(f->name, token, err);
    if (r2 < 0)
        return r2;
    return error_set(err, -EINVAL, "'%s' of %s must be one of %s, not '%.*s'", f->name,
                     frame->object->noun, strbuf_text(&words), (int)token->length, token->text);
}

static int put_range(struct reader *r, const struct frame *frame, const struct json_token *token,
                     struct error *err) {
    int64_t value = 0;
    int result = parse_number(frame, token, &value, err);
    if (result < 0)
        return result;
    int64_t *pair = place_of(r, frame);
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

static int put_text(struct reader *r, const struct frame *frame, const struct json_token *token,
                    struct error *err) {
    if (token->kind != JSON_TEXT)
        return decode_type_error(frame, token, err);
    int result = decode_check_text(frame->field->name, token, err);
    if (result < 0)
        return result;
    struct draft *d = &r->draft;
    enum field_type type = frame->field->type;
    if (type == FIELD_ID)
        *(uint32_t *)place_of(r, frame) = id_table_intern(&d->ids, token->text, token->length);
    else if (type == FIELD_IDS)
        *POOL_ADD(&d->depends_on) = id_table_intern(&d->ids, token->text, token->length);
    else if (type == FIELD_SYMBOLS)
        *POOL_ADD(&d->resources) = symbol_intern(d->symbols, token->text, token->length);
    else
        *(sym *)place_of(r, frame) = symbol_intern(d->symbols, token->text, token->length);
    return 0;
}

int decode_value(struct reader *r, const struct frame *frame, const struct json_token *token,
                 struct error *err) {
    switch (frame->field->type) {
    case FIELD_SKIP:
        return 0;
    case FIELD_BOOL:
        if (token->kind != JSON_BOOL)
            return decode_type_error(frame, token, err);
        *(int8_t *)place_of(r, frame) = token->boolean;
        return 0;
    case FIELD_INT64:
    case FIELD_INT32:
    case FIELD_UINT32:
    case FIELD_COUNTED:
    case FIELD_MILLI:
    case FIELD_USD:
        return put_number(r, frame, token, err);
    case FIELD_CAP:
        return put_cap(r, frame, token, err);
    case FIELD_WORD:
        return put_word(r, frame, token, err);
    case FIELD_RANGE:
    case FIELD_SPAN:
        return put_range(r, frame, token, err);
    case FIELD_SYMBOL:
    case FIELD_ID:
        return put_text(r, frame, token, err);
    case FIELD_IDS:
    case FIELD_SYMBOLS:
        if (frame->kind == FRAME_LIST)
            return put_text(r, frame, token, err);
        return decode_type_error(frame, token, err);
    case FIELD_WORDS:
        if (frame->kind == FRAME_LIST)
            return put_word(r, frame, token, err);
        return decode_type_error(frame, token, err);
    case FIELD_OBJECT:
    case FIELD_OBJECTS:
    case FIELD_LOCKS:
    case FIELD_HINTS:
    case FIELD_CONFIG:
        break;
    }
    return decode_type_error(frame, token, err);
}
