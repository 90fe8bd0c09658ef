/* json_get.c: see json_get.h. */
#include "cli/json_get.h"

#include <string.h>

#include "base/utf8.h"

const char *get_text(const json_t *object, const char *key, const char *otherwise) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : otherwise;
}

int64_t get_int(const json_t *object, const char *key, int64_t otherwise) {
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

double get_real(const json_t *object, const char *key, double otherwise) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

bool get_true(const json_t *object, const char *key) {
    return json_is_true(json_object_get(object, key));
}

bool word_in(const char *word, const char *words) {
    size_t length = strlen(word);
    for (const char *at = words; length > 0 && (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

bool member_is(const json_t *object, const char *key, const char *words) {
    return word_in(get_text(object, key, ""), words);
}

void join_texts(struct strbuf *out, const char *between, const json_t *list) {
    EACH_ITEM(item, list) {
        const char *text = json_string_value(item);
        strbuf_printf(out, "%s%s", out->length > 0 ? between : "", text ? text : "?");
    }
}

json_t *json_text(const char *text) {
    _cleanup_(strbuf_finish) struct strbuf clean = STRBUF_INIT;
    for (size_t left = strlen(text); left > 0;) {
        size_t length = utf8_length(text, left);
        if (length > 0)
            strbuf_add(&clean, text, length);
        else
            strbuf_puts(&clean, "\xEF\xBF\xBD");
        text += length ? length : 1;
        left -= length ? length : 1;
    }
    return json_stringn(strbuf_text(&clean), clean.length);
}

void set_text(json_t *object, const char *key, const char *text) {
    if (text)
        json_object_set_new(object, key, json_text(text));
}

void copy_members(json_t *to, const json_t *from, const char *names) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    for (; *names; names += strspn(names, " ")) {
        strbuf_clear(&name);
        strbuf_add(&name, names, strcspn(names, " "));
        names += name.length;
        json_t *value = json_object_get(from, strbuf_text(&name));
        if (value && !json_is_null(value) && !json_object_get(to, strbuf_text(&name)))
            json_object_set(to, strbuf_text(&name), value);
    }
}
