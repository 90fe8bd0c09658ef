/* delivery.c: what became of a task's work. See delivery.h. */
#include "workspace/delivery.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/outside.h"

#define RECORD_MAX (64u << 10)

void delivery_finish(struct delivery *delivery) {
    free(delivery->strategy);
    free(delivery->result);
    free(delivery->message);
    free(delivery->repository);
    free(delivery->branch);
    free(delivery->base);
    free(delivery->removed);
    *delivery = (struct delivery){ 0 };
}

static char *take_text(const json_t *json, const char *member) {
    const char *text = json_string_value(json_object_get(json, member));
    return xstrdup(text ? text : "");
}

static int64_t take_number(const json_t *json, const char *member) {
    int64_t number = json_integer_value(json_object_get(json, member));
    return number > 0 ? number : 0;
}

int delivery_read(const char *path, struct delivery *ret) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = outside_read(AT_FDCWD, path, 0, RECORD_MAX, &text, NULL);
    if (r < 0)
        return r;
    json_t *json = json_loadb(strbuf_text(&text), text.length, 0, NULL);
    if (!json_is_object(json)) {
        json_decref(json);
        return -EUCLEAN;
    }
    const json_t *changes = json_object_get(json, "changes");
    const char *commit = json_string_value(json_object_get(json, "commit"));
    *ret = (struct delivery){
        .strategy = take_text(json, "strategy"),
        .result = take_text(json, "result"),
        .message = take_text(json, "message"),
        .repository = take_text(json, "repository"),
        .branch = take_text(json, "branch"),
        .base = take_text(json, "base"),
        .removed = take_text(json, "removed"),
        .merged = json_is_true(json_object_get(json, "merged")),
        .at = take_number(json, "at"),
        .changes = { .known = json_is_object(changes),
                     .commits = take_number(changes, "commits"),
                     .files = take_number(changes, "files"),
                     .insertions = take_number(changes, "insertions"),
                     .deletions = take_number(changes, "deletions") },
    };
    if (!commit || !git_hash(commit, ret->commit))
        ret->commit[0] = '\0';
    json_decref(json);
    return 0;
}

static const char *or_empty(const char *text) {
    return text ? text : "";
}

int delivery_write(const char *path, const struct delivery *d, struct error *err) {
    json_t *changes = d->changes.known ? json_pack("{s:I, s:I, s:I, s:I}", "commits",
                                                   (json_int_t)d->changes.commits, "files",
                                                   (json_int_t)d->changes.files, "insertions",
                                                   (json_int_t)d->changes.insertions, "deletions",
                                                   (json_int_t)d->changes.deletions)
                                       : json_null();
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:o}", "strategy",
                             or_empty(d->strategy), "result", or_empty(d->result), "message",
                             or_empty(d->message), "repository", or_empty(d->repository), "branch",
                             or_empty(d->branch), "base", or_empty(d->base), "removed",
                             or_empty(d->removed), "commit", d->commit, "merged", d->merged, "at",
                             (json_int_t)d->at, "changes", changes);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    int r = text ? outside_write(path, 0600, text, strlen(text), err)
                 : error_set(err, -EILSEQ, "'%s' cannot be written: a text is not UTF-8", path);
    free(text);
    json_decref(json);
    return r;
}

/* --- changes ---------------------------------------------------------------------------------- */

/* " 3 files changed, 10 insertions(+), 2 deletions(-)"; parts that are 0 are left out. */
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
