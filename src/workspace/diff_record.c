/* diff_record.c: between which two states a change lies, and which files git says are in it. See
 * diff_record.h. */
#include "workspace/diff_record.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/outside.h"

#define RECORD_MAX (64u << 10)

void diff_record_finish(struct diff_record *record) {
    free(record->repository);
    free(record->base);
    *record = (struct diff_record){ 0 };
}

/* What a person wrote into it must not become an option of git. */
static void take_hash(const json_t *json, const char *member, char ret[GIT_HASH_MAX]) {
    const char *text = json_string_value(json_object_get(json, member));
    if (!text || !git_hash(text, ret))
        ret[0] = '\0';
}

static char *take_text(const json_t *json, const char *member) {
    const char *text = json_string_value(json_object_get(json, member));
    return xstrdup(text ? text : "");
}

int diff_record_read(const char *path, struct diff_record *ret) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = outside_read(AT_FDCWD, path, 0, RECORD_MAX, &text, NULL);
    if (r < 0)
        return r;
    json_t *json = json_loadb(strbuf_text(&text), text.length, 0, NULL);
    if (!json_is_object(json)) {
        json_decref(json);
        return -EUCLEAN;
    }
    *ret = (struct diff_record){
        .repository = take_text(json, "repository"),
        .base = take_text(json, "base"),
    };
    take_hash(json, "from", ret->from);
    take_hash(json, "to", ret->to);
    json_decref(json);
    return 0;
}

int diff_record_write(const char *path, const struct diff_record *record, struct error *err) {
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s}", "repository", record->repository ? record->repository : "", "base",
        record->base ? record->base : "", "from", record->from, "to", record->to);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    int r = text ? outside_write(path, 0600, text, strlen(text), err)
                 : error_set(err, -EILSEQ, "'%s' cannot be written: a path is not UTF-8", path);
    free(text);
    json_decref(json);
    return r;
}

/* --- what git says of a diff ------------------------------------------------------------------- */

/* "12\t" or "-\t" of a binary file. */
static const char *take_count(const char *at, const char *end, size_t *ret, bool *ret_binary) {
    size_t count = 0;
    *ret_binary = at < end && *at == '-';
    if (*ret_binary)
        at++;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        count = count * 10 + (size_t)(*at - '0');
    *ret = count;
    return at < end && *at == '\t' ? at + 1 : NULL;
}

/* Behind the NUL that ends it, or NULL. */
static const char *behind(const char *at, const char *end) {
    const char *nul = memchr(at, '\0', (size_t)(end - at));
    return nul ? nul + 1 : NULL;
}

/* "1\t2\tpath\0", or of a renamed one "1\t2\t\0old\0new\0". */
bool diff_next_file(const char **at, const char *end, struct diff_file *ret) {
    struct diff_file file = { 0 };
    bool binary;
    const char *next = take_count(*at, end, &file.added, &file.binary);
    next = next ? take_count(next, end, &file.removed, &binary) : NULL;
    if (!next)
        return false;
    file.path = next;
    if (!(next = behind(next, end)))
        return false;
    if (*file.path == '\0') {
        file.old_path = next;
        if (!(file.path = behind(next, end)) || !(next = behind(file.path, end)))
            return false;
    }
    *at = next;
    *ret = file;
    return true;
}
