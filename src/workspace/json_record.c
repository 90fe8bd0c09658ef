/* json_record.c: see json_record.h. A run can write these files: sizes are bounded, and links are
 * not followed. */
#include "workspace/json_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/outside.h"
#include "workspace/git.h"

#define RECORD_MAX (64u << 10)

void json_record_finish(const struct json_record_member *members, void *record) {
    for (; members->name; members++)
        if (members->type == JSON_RECORD_TEXT)
            free(*(char **)((char *)record + members->offset));
}

void json_record_take(const struct json_record_member *members, const json_t *json, void *record) {
    for (; members->name; members++) {
        void *at = (char *)record + members->offset;
        const json_t *value = json_object_get(json, members->name);
        const char *text = json_string_value(value);
        int64_t number = json_integer_value(value);
        switch (members->type) {
        case JSON_RECORD_TEXT:
            *(char **)at = xstrdup(text ? text : "");
            break;
        case JSON_RECORD_FLAG:
            *(bool *)at = json_is_true(value);
            break;
        case JSON_RECORD_NUMBER:
            *(int64_t *)at = number > 0 ? number : 0;
            break;
        case JSON_RECORD_HASH:
            if (!text || !git_hash(text, at))
                *(char *)at = '\0';
            break;
        }
    }
}

static json_t *make_value(enum json_record_type type, const void *at) {
    const char *text = type == JSON_RECORD_TEXT ? *(char *const *)at : at;
    if (type == JSON_RECORD_FLAG)
        return json_boolean(*(const bool *)at);
    if (type == JSON_RECORD_NUMBER)
        return json_integer(*(const int64_t *)at);
    return json_string(text ? text : "");
}

json_t *json_record_make(const struct json_record_member *members, const void *record) {
    json_t *json = json_object();
    for (; members->name; members++) {
        json_t *value = make_value(members->type, (const char *)record + members->offset);
        if (json_object_set_new(json, members->name, value) < 0) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

int json_record_read(const char *path, json_t **ret, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = outside_read(AT_FDCWD, path, 0, RECORD_MAX, &text, err);
    if (r < 0)
        return r;
    json_t *json = json_loadb(strbuf_text(&text), text.length, 0, NULL);
    if (json_is_object(json)) {
        *ret = json;
        return 0;
    }
    json_decref(json);
    return error_set(err, -EUCLEAN, "'%s' cannot be read", path);
}

int json_record_write(const char *path, json_t *json, struct error *err) {
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    int r = text ? outside_write(path, 0600, text, strlen(text), err) : -EILSEQ;
    free(text);
    json_decref(json);
    return r;
}
