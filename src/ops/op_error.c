/* op_error.c: what went wrong, for a program (status, word) and for a person (the sentence).
 *
 * The errno of a refusal is chosen where it happens; this table is the only place that knows what
 * HTTP calls it. A code that is not here is a mistake of ours, not of the client: 500. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "ops/print.h"

static const struct {
    int code, status;
    const char *word;
} rows[] = {
    { EINVAL, 400, "bad_request" },
    { ERANGE, 400, "bad_request" },
    { E2BIG, 400, "bad_request" },
    { ELOOP, 400, "cycle" },
    { EPERM, 403, "refused" },
    { EACCES, 403, "refused" },
    { EKEYREJECTED, 401, "unauthorized" },
    { ENOENT, 404, "not_found" },
    { EEXIST, 409, "exists" },
    { ENOTUNIQ, 409, "ambiguous" },
    { EBUSY, 409, "conflict" },
    { EFBIG, 413, "too_large" },
    { EAGAIN, 429, "deferred" },
    { ENOTSUP, 501, "not_supported" },
    { EIO, 503, "outcome_unknown" },
    { ESHUTDOWN, 503, "stopping" },
    { ENOSPC, 507, "disk_full" },
};

static size_t row_of(int code) {
    size_t i = 0;
    while (i < ARRAY_SIZE(rows) && rows[i].code != -code)
        i++;
    return i;
}

int op_error_status(int code) {
    size_t row = row_of(code);
    return row < ARRAY_SIZE(rows) ? rows[row].status : 500;
}

const char *op_error_word(int code) {
    size_t row = row_of(code);
    return row < ARRAY_SIZE(rows) ? rows[row].word : "internal";
}

void op_print_error(const struct error *err, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_object_begin(&w);
    print_object(&w, "error");
    print_text(&w, "code", op_error_word(err->code));
    print_text(&w, "message", err->text);
    json_write_object_end(&w);
    json_write_object_end(&w);
}

int op_fail(struct op_call *call, int code, const char *format, ...) {
    char text[ERROR_TEXT_MAX]; /* what is printed may be the sentence that was there */
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return error_set(&call->err, code, "%s", text);
}

struct op_quoted op_quote(const char *text) {
    struct op_quoted quoted = { "" };
    size_t left = strlen(text), at = 0;
    const size_t most = sizeof(quoted.text) - sizeof("...");
    while (left > 0) {
        size_t size = utf8_length(text, left);
        bool plain = size > 0 && !utf8_is_control(text, size);
        if (at + (plain ? size : 1) > most) {
            memcpy(quoted.text + at, "...", sizeof("..."));
            break;
        }
        if (plain)
            memcpy(quoted.text + at, text, size);
        else
            quoted.text[at] = '?';
        at += plain ? size : 1;
        size = size ? size : 1;
        text += size;
        left -= size;
    }
    return quoted;
}
