/* json_record.c: see json_record.h. */
#include "workspace/json_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/outside.h"

#define RECORD_MAX (64u << 10)

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

char *json_record_text(const json_t *json, const char *name) {
    const char *text = json_string_value(json_object_get(json, name));
    return xstrdup(text ? text : "");
}

bool json_record_flag(const json_t *json, const char *name) {
    return json_is_true(json_object_get(json, name));
}

int64_t json_record_number(const json_t *json, const char *name) {
    int64_t number = json_integer_value(json_object_get(json, name));
    return number > 0 ? number : 0;
}

void json_record_hash(const json_t *json, const char *name, char ret[GIT_HASH_MAX]) {
    const char *text = json_string_value(json_object_get(json, name));
    if (!text || !git_hash(text, ret))
        ret[0] = '\0';
}
