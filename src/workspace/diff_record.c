/* diff_record.c: the two states of a change, and the list of its files. See diff_record.h. */
#include "workspace/diff_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workspace/json_record.h"

void diff_record_finish(struct diff_record *record) {
    free(record->repository);
    free(record->base);
    *record = (struct diff_record){ 0 };
}

int diff_record_read(const char *path, struct diff_record *ret) {
    json_t *json = NULL;
    int r = json_record_read(path, &json, NULL);
    if (r < 0)
        return r;
    ret->repository = json_record_text(json, "repository");
    ret->base = json_record_text(json, "base");
    json_record_hash(json, "from", ret->from);
    json_record_hash(json, "to", ret->to);
    json_decref(json);
    return 0;
}

int diff_record_write(const char *path, const struct diff_record *record, struct error *err) {
    json_t *json =
        json_pack("{s:s,s:s,s:s,s:s}", "repository", record->repository ? record->repository : "",
                  "base", record->base ? record->base : "", "from", record->from, "to", record->to);
    int r = json_record_write(path, json, err);
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
static const char *after_nul(const char *at, const char *end) {
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
    if (!(next = after_nul(next, end)))
        return false;
    if (*file.path == '\0') {
        file.old_path = next;
        if (!(file.path = after_nul(next, end)) || !(next = after_nul(file.path, end)))
            return false;
    }
    *at = next;
    *ret = file;
    return true;
}
