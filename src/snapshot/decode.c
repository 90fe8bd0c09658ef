/* decode.c: from tokens to records, along a stack of frames.
 *
 * Each token belongs to the innermost open bracket; its kind says what the token may be. A key is
 * looked up in the table of its object; first where it was found after the same key last time. */
#include "snapshot/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/nearest.h"

_Static_assert(FIELDS_MAX <= 64, "struct frame.seen has 64 bits");

bool reader_first(struct reader *r, sym name, enum seen_as as) {
    size_t old = r->symbol_capacity;
    r->symbol_seen = xgrow(r->symbol_seen, &r->symbol_capacity, (size_t)name + 1, 1);
    if (r->symbol_capacity > old)
        memset(r->symbol_seen + old, 0, r->symbol_capacity - old);
    if (r->symbol_seen[name] & as)
        return false;
    r->symbol_seen[name] |= (uint8_t)as;
    return true;
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
    if (object->begin)
        object->begin(r);
}

static bool is_named(const struct field *field, const struct json_token *token) {
    return field->length == token->length && memcmp(field->name, token->text, token->length) == 0;
}

static int unknown_key(const struct object *object, const struct json_token *token,
                       struct error *err) {
    int r = decode_check_text("a key", token, err);
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

#define IS(type)    (1u << FIELD_##type)
#define HAS_ITEMS   (IS(OBJECTS) | IS(IDS) | IS(SYMBOLS) | IS(WORDS) | IS(RANGE) | IS(SPAN))
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
        return decode_type_error(frame, token, err);
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
    return decode_value(r, frame, token, err);
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
    return decode_value(r, frame, token, err);
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
        int result = decode_check_text("a key", token, err);
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
            int result = decode_check_text("the holder of a workspace", token, err);
            if (result < 0)
                return result;
            holder = id_table_intern(&d->ids, token->text, token->length);
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
    return decode_type_error(frame, token, err);
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
            return error_set(err, -EINVAL, "%s must be an object", r->root->noun);
        push_object(r, r->root);
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
