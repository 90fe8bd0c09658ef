/* delivery.c: the delivery record of a task. See delivery.h. */
#include "workspace/delivery.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "workspace/json_record.h"

/* The members of a record; the JSON members have the same names. */
#define TEXTS(X)   X(strategy) X(result) X(message) X(repository) X(branch) X(base) X(removed)
#define NUMBERS(X) X(commits) X(files) X(insertions) X(deletions)

void delivery_finish(struct delivery *d) {
#define FREE(name) free(d->name);
    TEXTS(FREE)
    *d = (struct delivery){ 0 };
}

int delivery_read(const char *path, struct delivery *ret) {
    json_t *json = NULL;
    int r = json_record_read(path, &json, NULL);
    if (r < 0)
        return r;
    const json_t *changes = json_object_get(json, "changes");
#define READ_TEXT(name)   .name = json_record_text(json, #name),
#define READ_NUMBER(name) .name = json_record_number(changes, #name),
    *ret = (struct delivery){ TEXTS(READ_TEXT).merged = json_record_flag(json, "merged"),
                              .iterates = json_record_flag(json, "iterates"),
                              .at = json_record_number(json, "at"),
                              .changes = { NUMBERS(READ_NUMBER).known = json_is_object(changes) } };
    json_record_hash(json, "commit", ret->commit);
    json_decref(json);
    return 0;
}

int delivery_write(const char *path, const struct delivery *d, struct error *err) {
#define WRITE_TEXT(name)   , #name, d->name ? d->name : ""
#define WRITE_NUMBER(name) , #name, (json_int_t)d->changes.name
    json_t *changes =
        d->changes.known ? json_pack("{s:I,s:I,s:I,s:I}" NUMBERS(WRITE_NUMBER)) : json_null();
    json_t *json = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:b,s:b,s:I,s:o}" TEXTS(WRITE_TEXT),
                             "commit", d->commit, "merged", (int)d->merged, "iterates",
                             (int)d->iterates, "at", (json_int_t)d->at, "changes", changes);
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
