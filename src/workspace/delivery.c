/* delivery.c: the delivery record of a task. See delivery.h. */
#include "workspace/delivery.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "workspace/json_record.h"

static const struct json_record_member members[] = {
    JSON_RECORD(TEXT, delivery, strategy),
    JSON_RECORD(TEXT, delivery, result),
    JSON_RECORD(TEXT, delivery, message),
    JSON_RECORD(TEXT, delivery, repository),
    JSON_RECORD(TEXT, delivery, branch),
    JSON_RECORD(TEXT, delivery, base),
    JSON_RECORD(TEXT, delivery, removed),
    JSON_RECORD(HASH, delivery, commit),
    JSON_RECORD(FLAG, delivery, merged),
    JSON_RECORD(NUMBER, delivery, at),
    { 0 },
};

static const struct json_record_member change_members[] = {
    JSON_RECORD(NUMBER, delivery_changes, commits),
    JSON_RECORD(NUMBER, delivery_changes, files),
    JSON_RECORD(NUMBER, delivery_changes, insertions),
    JSON_RECORD(NUMBER, delivery_changes, deletions),
    { 0 },
};

void delivery_finish(struct delivery *delivery) {
    json_record_finish(members, delivery);
    *delivery = (struct delivery){ 0 };
}

int delivery_read(const char *path, struct delivery *ret) {
    json_t *json = NULL;
    int r = json_record_read(path, &json, NULL);
    if (r < 0)
        return r;
    const json_t *changes = json_object_get(json, "changes");
    *ret = (struct delivery){ .changes.known = json_is_object(changes) };
    json_record_take(members, json, ret);
    json_record_take(change_members, changes, &ret->changes);
    json_decref(json);
    return 0;
}

int delivery_write(const char *path, const struct delivery *d, struct error *err) {
    json_t *json = json_record_make(members, d);
    (void)json_object_set_new(json, "changes",
                              d->changes.known ? json_record_make(change_members, &d->changes)
                                               : json_null());
    int r = json_record_write(path, json, err);
    if (r == -EILSEQ)
        return error_set(err, r, "'%s' cannot be written: a text is not UTF-8", path);
    return r;
}

/* --- changes ---------------------------------------------------------------------------------- */

/* " 3 files changed, 10 insertions(+), 2 deletions(-)"; parts that are 0 are missing. */
bool delivery_take_stat(const char *output, struct delivery_changes *ret) {
    const char *at = output;
    ret->files = ret->insertions = ret->deletions = 0;
    while (*at && *at != '\n') {
        char *end;
        intmax_t number = strtoimax(at, &end, 10);
        if (end == at || number < 0 || *end != ' ')
            return false;
        if (strncmp(end, " file", 5) == 0)
            ret->files = number;
        else if (strncmp(end, " insertion", 10) == 0)
            ret->insertions = number;
        else if (strncmp(end, " deletion", 9) == 0)
            ret->deletions = number;
        at = end + strcspn(end, ",\n");
        at += *at == ',';
    }
    return true;
}

bool delivery_is_empty(const struct delivery_changes *changes) {
    return changes->known && changes->files == 0;
}
