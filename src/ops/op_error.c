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

/* By status. Those without a text are the same to a client as one that has it. */
/* clang-format off */
static const struct {
    int code, status;
    const char *word, *text;
} rows[] = {
    { EINVAL, 400, "bad_request", "a parameter is wrong" },
    { ERANGE, 400, "bad_request", NULL },
    { E2BIG, 400, "bad_request", NULL },
    { ELOOP, 400, "cycle", "tasks would wait for each other" },
    { EKEYREJECTED, 401, "unauthorized", "over TCP: no token, or one that has ended" },
    { EPERM, 403, "refused", "a guard says no; `force` overrides it where there is one" },
    { EACCES, 403, "refused", NULL },
    { ENOENT, 404, "not_found", "there is no such thing" },
    { EEXIST, 409, "exists", "the name is taken" },
    { EBUSY, 409, "conflict", "not in this state, or the key was used for something else" },
    { ENOTUNIQ, 409, "ambiguous", "a word is the id of one task and the external id of another: the message names both" },
    { EFBIG, 413, "too_large", "more than is taken" },
    { EAGAIN, 429, "deferred", "the queue is full; nothing was stored" },
    { ENOTSUP, 501, "not_supported", "not here" },
    { EIO, 503, "outcome_unknown", "it may have happened or not: ask again with the same key" },
    { ESHUTDOWN, 503, "stopping", "the daemon is ending" },
    { 0, 503, "standby", "another daemon is active; at the Unix socket `active` lists its addresses" },
    { ENOSPC, 507, "disk_full", "no room; nothing was stored" },
};
/* clang-format on */

void op_print_errors(struct strbuf *out) {
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].text)
            strbuf_printf(out, "| %d | `%s` | %s |\n", rows[i].status, rows[i].word, rows[i].text);
}

static size_t row_of(int code) {
    size_t i = 0;
    while (i < ARRAY_SIZE(rows) && (rows[i].code == 0 || rows[i].code != -code))
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
