/* webhook_curl_text.c: what is curl told, and what has it said?
 *
 * Pure. Behind everything else curl prints two lines of ours: what Retry-After says, and the status, 000 if there
 * was none; before them stands its own sentence. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/webhook_curl.h"

#define MARK            "retry-after:" /* a curl before 7.84 prints no header behind it, which says nothing */
#define CODE_UNTRUSTED  60             /* "peer certificate cannot be authenticated"; */
#define CODE_OTHER_NAME 51             /* the same of older ones, when it is another server's */

/* --- its file -------------------------------------------------------------------------------- */

/* A value in quotes, as curl reads it. */
static void print_option(struct strbuf *out, const char *option, const char *value) {
    strbuf_printf(out, "%s = \"", option);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            strbuf_putc(out, '\\');
        strbuf_putc(out, *value);
    }
    strbuf_puts(out, "\"\n");
}

static void print_url(const struct http_url *url, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "https://%s%s", url->authority, url->path);
    print_option(out, "url", strbuf_text(&text));
}

void webhook_curl_print(const struct webhook_message *m, const char *body, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT;
    print_url(&m->url, out);
    for (size_t i = 0; i < m->header_count; i++)
        print_option(out, "header", m->headers[i]);
    print_option(out, "header", "Expect:"); /* no pause before the body */
    strbuf_printf(&file, "@%s", body);
    print_option(out, "data-binary", strbuf_text(&file));
    strbuf_printf(out, "max-time = %" PRId64 ".%03" PRId64 "\n", m->timeout / 1000,
                  m->timeout % 1000);
    strbuf_puts(out, "proto = \"=https\"\n"
                     "globoff\n" /* [ and { of a URL mean themselves */
                     "silent\n"
                     "show-error\n"
                     "output = \"/dev/null\"\n"
                     "write-out = \"\\n" MARK "%header{retry-after}\\n%{http_code}\"\n");
}

/* --- what it said ---------------------------------------------------------------------------- */

struct part {
    const char *text;
    size_t size;
};

/* Cuts the last line off. */
static struct part take_last_line(struct part *from) {
    size_t begin = from->size;
    while (begin > 0 && from->text[begin - 1] != '\n')
        begin--;
    struct part line = { from->text + begin, from->size - begin };
    from->size = begin > 0 ? begin - 1 : 0;
    return line;
}

static int status_of(struct part line) {
    int status = 0;
    for (size_t i = 0; i < line.size; i++) {
        if (line.size != 3 || line.text[i] < '0' || line.text[i] > '9')
            return -1;
        status = 10 * status + (line.text[i] - '0');
    }
    return line.size == 3 ? status : -1;
}

static void copy_sentence(struct part from, char *ret, size_t room) {
    size_t at = 0;
    for (size_t i = 0; i < from.size && at + 1 < room; i++)
        ret[at++] =
            (unsigned char)from.text[i] >= 0x20 && from.text[i] != 0x7f ? from.text[i] : ' ';
    while (at > 0 && ret[at - 1] == ' ')
        at--;
    ret[at] = '\0';
}

/* Behind "curl: (60) "; the lines below it are advice for people at a terminal. */
static struct part first_reason(struct part said) {
    const char *newline = memchr(said.text, '\n', said.size);
    size_t size = newline ? (size_t)(newline - said.text) : said.size;
    const char *behind = memchr(said.text, ')', size);
    size_t skip = behind ? (size_t)(behind - said.text) + 1 : 0;
    while (skip < size && said.text[skip] == ' ')
        skip++;
    return (struct part){ said.text + skip, size - skip };
}

static void describe(const char *program, const struct aside_end *end, struct part rest,
                     struct webhook_result *ret) {
    char said[300];
    bool untrusted = end->code == CODE_UNTRUSTED || end->code == CODE_OTHER_NAME;
    copy_sentence(untrusted ? first_reason(rest) : rest, said, sizeof(said));
    if (end->error)
        (void)snprintf(ret->text, sizeof(ret->text),
                       "https needs the program '%.100s' (notify.https_command), which cannot be "
                       "run: %s",
                       program, strerror(end->error));
    else if (end->timed_out)
        (void)snprintf(ret->text, sizeof(ret->text), "'%.100s' did not end in time", program);
    else if (untrusted)
        (void)snprintf(ret->text, sizeof(ret->text),
                       "the certificate of the server is not trusted (%.200s): for an authority of "
                       "your own set 'notify.https_command' to 'curl --cacert FILE'",
                       said);
    else
        (void)snprintf(ret->text, sizeof(ret->text), "'%.60s' ended with exit code %d: %.250s",
                       program, end->code, said);
}

void webhook_curl_read(const char *program, const struct aside_end *end, time_ms now,
                       struct webhook_result *ret) {
    struct part rest = { end->output, end->size }, before = rest;
    int status = status_of(take_last_line(&rest));
    *ret = (struct webhook_result){ 0 };
    if (status < 0)
        rest = before;
    before = rest;
    struct part line = take_last_line(&rest);
    bool is_mark =
        status >= 0 && line.size >= strlen(MARK) && strncmp(line.text, MARK, strlen(MARK)) == 0;
    if (is_mark)
        ret->retry_after =
            http_retry_after(line.text + strlen(MARK), line.size - strlen(MARK), now);
    else
        rest = before;
    if (status > 0 && !end->error && !end->timed_out)
        ret->status = status;
    else
        describe(program, end, rest, ret);
}
