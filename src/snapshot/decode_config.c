/* decode_config.c: the nested configuration as dotted keys.
 *
 * {"limits": {"runs": 10}} becomes limits.runs = "10"; a list becomes a JSON array of texts.
 * What a key means is config/'s business. Nothing is set here: the preset has to come first, and
 * may stand last in the file. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "snapshot/decode.h"

#define PATH_MAX_BYTES 1000

static int add_value(struct reader *r, const char *value) {
    struct draft *d = &r->draft;
    *POOL_ADD(&d->config) = (struct config_record){
        .key = arena_strdup(&d->texts, strbuf_text(&r->path)),
        .value = arena_strdup(&d->texts, value),
        .place = json_stream_place(r->stream),
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
        int result = decode_check_text(strbuf_text(&r->path), token, err);
        if (result < 0)
            return result;
    }
    strbuf_add(out, token->text, token->length);
    return 0;
}

static int on_key(struct reader *r, const struct frame *frame, const struct json_token *token,
                  struct error *err) {
    int result = decode_check_text("a key", token, err);
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

static int in_list(struct reader *r, struct frame *frame, const struct json_token *token,
                   struct error *err) {
    if (token->kind == JSON_LIST_END) {
        r->depth--;
        strbuf_putc(&r->value, ']');
        return add_value(r, strbuf_text(&r->value));
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

int decode_config(struct reader *r, struct frame *frame, const struct json_token *token,
                  struct error *err) {
    if (frame->kind == FRAME_CONFIG_LIST)
        return in_list(r, frame, token, err);
    struct frame *inner = &r->frames[r->depth];
    switch (token->kind) {
    case JSON_KEY:
        return on_key(r, frame, token, err);
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
    return result < 0 ? result : add_value(r, strbuf_text(&r->value));
}
