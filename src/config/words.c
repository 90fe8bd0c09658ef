/* words.c: a list of texts as one text, both ways.
 *
 * Both directions are here so that printed output can be parsed again. A list is interned by its
 * printed form (config.c), so two notations of the same words are the same value. */
#include "config/words.h"

#include <jansson.h>
#include <string.h>

#include "base/utf8.h"

#define BLANKS " \t\r\n"

/* Words found so far. */
struct found {
    struct arena *arena;
    const char *items[WORDS_MAX + 1];
    size_t count;
};

static bool found_add(struct found *found, const char *text, size_t size) {
    if (found->count == WORDS_MAX)
        return false;
    found->items[found->count++] = arena_strndup(found->arena, text, size);
    return true;
}

/* --- as a shell ------------------------------------------------------------------------------- */

/* Inside "…" a backslash is literal unless it escapes one of these. */
static bool is_escaped_in_quotes(char c) {
    return c == '"' || c == '\\' || c == '$' || c == '`';
}

/* From after the opening quote to after the closing one; NULL: unterminated. */
static const char *read_quoted(const char *at, char quote, struct strbuf *word) {
    for (; *at != quote; at++) {
        if (*at == '\0')
            return NULL;
        if (quote == '"' && *at == '\\' && is_escaped_in_quotes(at[1]))
            at++;
        strbuf_putc(word, *at);
    }
    return at + 1;
}

/* One word; NULL: unterminated. */
static const char *read_word(const char *at, struct strbuf *word) {
    while (at && *at && !strchr(BLANKS, *at)) {
        if (*at == '\'' || *at == '"') {
            at = read_quoted(at + 1, *at, word);
            continue;
        }
        if (*at == '\\' && *++at == '\0')
            return NULL;
        strbuf_putc(word, *at++);
    }
    return at;
}

static bool split_shell(const char *text, struct found *found) {
    _cleanup_(strbuf_finish) struct strbuf word = STRBUF_INIT;
    for (const char *at = text + strspn(text, BLANKS); *at; at += strspn(at, BLANKS)) {
        strbuf_clear(&word);
        at = read_word(at, &word);
        if (!at || !found_add(found, strbuf_text(&word), word.length))
            return false;
    }
    return true;
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static bool split_json(const char *text, struct found *found) {
    json_t *list = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_array(list);
    for (size_t i = 0; good && i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        good = json_is_string(item)
               && found_add(found, json_string_value(item), json_string_length(item));
    }
    json_decref(list);
    return good;
}

/* --- texts ------------------------------------------------------------------------------------ */

bool words_is_text(const char *text, size_t size, bool controls) {
    const char *end = text + size;
    for (size_t length; text < end; text += length) {
        unsigned char c = (unsigned char)*text;
        length = utf8_length(text, (size_t)(end - text));
        if (length == 0 || c == '\0' || (!controls && utf8_is_control(text, length)))
            return false;
        if (c == 0xc2 && (unsigned char)text[1] < 0xa0) /* C1: no text needs these controls */
            return false;
    }
    return true;
}

bool words_split(const char *text, struct arena *arena, struct words *ret_words) {
    struct found found = { .arena = arena };
    size_t size = strlen(text);
    if (size > WORDS_BYTES_MAX || !words_is_text(text, size, true))
        return false;
    bool is_json = text[strspn(text, BLANKS)] == '[';
    if (is_json ? !split_json(text, &found) : !split_shell(text, &found))
        return false;
    const char **items = arena_alloc(arena, (found.count + 1) * sizeof(*items));
    memcpy(items, found.items, found.count * sizeof(*items));
    *ret_words = (struct words){ .items = items, .count = found.count };
    return true;
}

/* --- printing --------------------------------------------------------------------------------- */

/* Contains nothing that a shell or words_split would interpret. */
static bool is_bare(const char *word) {
    static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_@%+=:,./{}-";
    return *word && strspn(word, bare) == strlen(word) && strcmp(word, "-") != 0;
}

static void print_word(const char *word, struct strbuf *out) {
    if (is_bare(word)) {
        strbuf_puts(out, word);
    } else if (!strchr(word, '\'')) {
        strbuf_printf(out, "'%s'", word);
    } else {
        strbuf_putc(out, '"');
        for (; *word; word++) {
            if (is_escaped_in_quotes(*word))
                strbuf_putc(out, '\\');
            strbuf_putc(out, *word);
        }
        strbuf_putc(out, '"');
    }
}

void words_write(const struct words *words, struct json_writer *w) {
    json_write_array_begin(w);
    for (size_t i = 0; i < words->count; i++)
        json_write_string(w, words->items[i]);
    json_write_array_end(w);
}

void words_print(const struct words *words, struct strbuf *out) {
    for (size_t i = 0; i < words->count; i++)
        if (!words_is_text(words->items[i], strlen(words->items[i]), false)) {
            struct json_writer w;
            json_write_init(&w, out, false);
            words_write(words, &w);
            return;
        }
    for (size_t i = 0; i < words->count; i++) {
        if (i > 0)
            strbuf_putc(out, ' ');
        print_word(words->items[i], out);
    }
}
