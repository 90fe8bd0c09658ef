/* delivery.c: the delivery record of a task. See delivery.h. */
#include "workspace/delivery.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "workspace/json_record.h"

void delivery_finish(struct delivery *d) {
    char *const texts[] = { d->strategy, d->result, d->message, d->repository,
                            d->branch,   d->base,   d->removed };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        free(texts[i]);
    *d = (struct delivery){ 0 };
}

int delivery_read(const char *path, struct delivery *ret) {
    json_t *json = NULL;
    int r = json_record_read(path, &json, NULL);
    if (r < 0)
        return r;
    const json_t *changes = json_object_get(json, "changes");
    *ret = (struct delivery){
        .strategy = json_record_text(json, "strategy"),
        .result = json_record_text(json, "result"),
        .message = json_record_text(json, "message"),
        .repository = json_record_text(json, "repository"),
        .branch = json_record_text(json, "branch"),
        .base = json_record_text(json, "base"),
        .removed = json_record_text(json, "removed"),
        .merged = json_record_flag(json, "merged"),
        .at = json_record_number(json, "at"),
        .changes = { json_is_object(changes), json_record_number(changes, "commits"),
                     json_record_number(changes, "files"),
                     json_record_number(changes, "insertions"),
                     json_record_number(changes, "deletions") },
    };
    json_record_hash(json, "commit", ret->commit);
    json_decref(json);
    return 0;
}

static const char *or_empty(const char *text) {
    return text ? text : "";
}

int delivery_write(const char *path, const struct delivery *d, struct error *err) {
    const struct delivery_changes *c = &d->changes;
    json_t *changes =
        !c->known ? json_null()
                  : json_pack("{s:I,s:I,s:I,s:I}", "commits", (json_int_t)c->commits, "files",
                              (json_int_t)c->files, "insertions", (json_int_t)c->insertions,
                              "deletions", (json_int_t)c->deletions);
    json_t *json = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:b,s:I,s:o}", "strategy",
                             or_empty(d->strategy), "result", or_empty(d->result), "message",
                             or_empty(d->message), "repository", or_empty(d->repository), "branch",
                             or_empty(d->branch), "base", or_empty(d->base), "removed",
                             or_empty(d->removed), "commit", d->commit, "merged", (int)d->merged,
                             "at", (json_int_t)d->at, "changes", changes);
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
