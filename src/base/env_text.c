/* env_text.c: see env_text.h. */
#include "base/env_text.h"

#include <errno.h>
#include <string.h>

struct reader {
    const char *at, *end;
    size_t line;
    struct strbuf *out;
    struct error *err;
};

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The length of the variable name at the beginning of the text; 0: none. */
static size_t name_length(const char *text, size_t size) {
    size_t length = 0;
    while (
        length < size
        && (is_letter(text[length]) || (length > 0 && text[length] >= '0' && text[length] <= '9')))
        length++;
    return length;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct reader *r) {
    while (r->at < r->end && is_blank(*r->at))
        r->at++;
}

/* Skips to the end of the line; false: there is more than blanks. */
static bool end_line(struct reader *r) {
    skip_blanks(r);
    if (r->at == r->end)
        return true;
    if (*r->at != '\n')
        return false;
    r->at++;
    r->line++;
    return true;
}

static const char *line_end(const struct reader *r) {
    const char *at = r->at;
    while (at < r->end && *at != '\n')
        at++;
    return at;
}

static void skip_line(struct reader *r) {
    r->at = line_end(r);
    r->at += r->at < r->end;
    r->line++;
}

static void take_plain(struct reader *r) {
    const char *end = line_end(r);
    while (end > r->at && is_blank(end[-1]))
        end--;
    strbuf_add(r->out, r->at, (size_t)(end - r->at));
    skip_line(r);
}

static char unescaped(char c) {
    return (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
}

static int take_quoted(struct reader *r) {
    size_t first = r->line;
    char quote = *r->at++;
    while (r->at < r->end && *r->at != quote) {
        bool escapes = quote == '"' && *r->at == '\\' && r->end - r->at > 1
                       && strchr("ntr\"\\$`", r->at[1]) != NULL;
        r->line += *r->at == '\n';
        strbuf_putc(r->out, escapes ? unescaped(r->at[1]) : *r->at);
        r->at += escapes ? 2 : 1;
    }
    if (r->at == r->end)
        return error_set(r->err, -EINVAL, "line %zu: the quote is not closed", first);
    r->at++;
    if (!end_line(r))
        return error_set(r->err, -EINVAL, "line %zu: there is more behind the closing quote",
                         r->line);
    return 0;
}

static int take_line(struct reader *r) {
    static const char word[] = "export";
    skip_blanks(r);
    if (r->at == r->end || *r->at == '\n' || *r->at == '#') {
        skip_line(r);
        return 0;
    }
    size_t left = (size_t)(r->end - r->at);
    if (left > sizeof(word) && strncmp(r->at, word, sizeof(word) - 1) == 0
        && is_blank(r->at[sizeof(word) - 1])) {
        r->at += sizeof(word);
        skip_blanks(r);
        left = (size_t)(r->end - r->at);
    }
    size_t name = name_length(r->at, left);
    if (name == 0 || name == left || r->at[name] != '=')
        return error_set(r->err, -EINVAL, "line %zu is not NAME=VALUE", r->line);
    strbuf_add(r->out, r->at, name + 1);
    r->at += name + 1;
    int e = 0;
    if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
        e = take_quoted(r);
    else
        take_plain(r);
    strbuf_putc(r->out, '\0');
    return e;
}

int env_text_parse(const char *text, size_t size, struct strbuf *out, struct error *err) {
    struct reader r = { .at = text, .end = text + size, .line = 1, .out = out, .err = err };
    if (memchr(text, '\0', size))
        return error_set(err, -EINVAL, "there is a NUL in it");
    while (r.at < r.end) {
        size_t before = out->length;
        int e = take_line(&r);
        if (e < 0) {
            if (out->text)
                out->text[out->length = before] = '\0';
            return e;
        }
    }
    return 0;
}

const char *env_find(const char *const *env, const char *name) {
    size_t length = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, length) == 0 && (*env)[length] == '=')
            return *env + length + 1;
    return NULL;
}

size_t env_pick(const char *const *env, const char *const *names, size_t count, const char **ret) {
    size_t picked = 0;
    for (size_t i = 0; i < count; i++) {
        const char *value = env_find(env, names[i]);
        if (value)
            ret[picked++] = value - strlen(names[i]) - 1;
    }
    return picked;
}
