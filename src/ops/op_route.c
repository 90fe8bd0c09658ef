/* op_route.c: which operation does a request mean?
 *
 * A path is compared part by part. A part in braces takes any text and is decoded; a literal part wins
 * over one in braces, so that POST /v1/tasks/cancel is never a task called "cancel". There are some
 * fifty rows: comparing all of them costs less than a table built for it would to understand. */
#include <string.h>

#include "ops/op_internal.h"

const struct op *op_find(const char *name) {
    for (const struct op *const *op = op_table; *op; op++)
        if (strcmp((*op)->name, name) == 0)
            return *op;
    return NULL;
}

static size_t part_size(const char *at) {
    return strcspn(at, "/");
}

/* 0: no match, 1: with a part in braces, 2: word for word. */
static int match(const char *pattern, const char *path) {
    int result = 2;
    for (;;) {
        if (*pattern == '{') {
            result = 1;
            if (*path == '/' || *path == '\0')
                return 0;
            while (*pattern++ != '}')
                ;
            while (*path && *path != '/')
                path++;
        }
        if (*pattern != *path)
            return 0;
        if (*pattern == '\0')
            return result;
        pattern++;
        path++;
    }
}

/* What stands in the braces. -EINVAL: it is no text. */
static int take_parts(const char *pattern, const char *path, json_t *params) {
    for (;;) {
        size_t wanted = part_size(pattern), given = part_size(path);
        if (pattern[0] == '{') {
            _cleanup_(strbuf_finish) struct strbuf value = STRBUF_INIT;
            char name[32];
            int r = op_decode(path, given, false, &value);
            if (r < 0)
                return r;
            memcpy(name, pattern + 1, wanted - 2);
            name[wanted - 2] = '\0';
            json_object_set_new(params, name, json_stringn_nocheck(value.text, value.length));
        }
        pattern += wanted;
        path += given;
        if (*pattern == '\0')
            return 0;
        pattern++;
        path++;
    }
}

const struct op *op_route(const char *method, const char *path, json_t **ret_params,
                          const char **ret_allowed) {
    const struct op *found = NULL;
    const char *allowed = NULL;
    int best = 0;
    for (const struct op *const *op = op_table; *op; op++) {
        int how = match((*op)->path, path);
        if (how == 0)
            continue;
        if (strcmp((*op)->method, method) != 0) {
            allowed = allowed ? allowed : (*op)->method;
        } else if (how > best) {
            best = how;
            found = *op;
        }
    }
    *ret_allowed = found ? NULL : allowed;
    if (!found)
        return NULL;
    json_t *params = json_object();
    if (take_parts(found->path, path, params) < 0) {
        json_decref(params);
        return NULL;
    }
    *ret_params = params;
    return found;
}
