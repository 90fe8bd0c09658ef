/* diff_record.c: the two states of a change, and the list of its files. See diff_record.h. */
#include "workspace/diff_record.h"

#include <errno.h>
#include <string.h>

#include "workspace/json_record.h"

static const struct json_record_member members[] = {
    JSON_RECORD(TEXT, diff_record, repository),
    JSON_RECORD(TEXT, diff_record, base),
    JSON_RECORD(HASH, diff_record, from),
    JSON_RECORD(HASH, diff_record, to),
    { 0 },
};

void diff_record_finish(struct diff_record *record) {
    json_record_finish(members, record);
    *record = (struct diff_record){ 0 };
}

int diff_record_read(const char *path, struct diff_record *ret) {
    json_t *json = NULL;
    int r = json_record_read(path, &json, NULL);
    if (r < 0)
        return r;
    json_record_take(members, json, ret);
    json_decref(json);
    return 0;
}

int diff_record_write(const char *path, const struct diff_record *record, struct error *err) {
    int r = json_record_write(path, json_record_make(members, record), err);
    if (r == -EILSEQ)
        return error_set(err, r, "'%s' cannot be written: a path is not UTF-8", path);
    return r;
}

/* --- output of git diff ----------------------------------------------------------------------- */

/* "12\t", or "-\t" for a binary file. */
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

/* Returns the byte after the terminating NUL, or NULL. */
static const char *behind(const char *at, const char *end) {
    const char *nul = memchr(at, '\0', (size_t)(end - at));
    return nul ? nul + 1 : NULL;
}

/* "1\t2\tpath\0", or "1\t2\t\0old\0new\0" for a rename. */
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
