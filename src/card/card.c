/* card.c: what a card says.
 *
 * The front matter is read by the same YAML reader as everything else, from the beginning of the file, so that
 * its lines are the lines of the file. */
#include "card/card.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "card/card_internal.h"

static const char *const status_names[] = {
    [CARD_IDLE] = "idle",           [CARD_QUEUED] = "queued", [CARD_RUNNING] = "running",
    [CARD_SUCCEEDED] = "succeeded", [CARD_FAILED] = "failed", [CARD_CANCELED] = "canceled",
};
_Static_assert(ARRAY_SIZE(status_names) == CARD_STATUS_MAX, "a status has no name");

const char *card_status_name(enum card_status status) {
    return status_names[status];
}

static const struct yaml_limits limits = { .bytes = 65536, .levels = 16, .nodes = 4096 };

/* --- the frame ------------------------------------------------------------------------------- */

size_t card_line_end(const char *text, size_t size, size_t at) {
    const char *end = at < size ? memchr(text + at, '\n', size - at) : NULL;
    return end ? (size_t)(end - text) + 1 : size;
}

/* "---" and nothing else but blanks. */
static bool is_fence(const char *text, size_t from, size_t to) {
    while (to > from && isspace((unsigned char)text[to - 1]))
        to--;
    return to - from == 3 && memcmp(text + from, "---", 3) == 0;
}

int card_find_front(const char *name, const char *text, size_t size, struct card_front *ret,
                    struct error *err) {
    static const char mark[] = "\xEF\xBB\xBF";
    size_t begin = size >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    size_t at = card_line_end(text, size, begin);
    if (size > CARD_BYTES_MAX)
        return error_set(err, -EINVAL, "%.160s: %zu bytes are too many for a card; the most are %u",
                         name, size, CARD_BYTES_MAX);
    if (memchr(text, '\0', size))
        return error_set(err, -EINVAL, "%.160s: it is no text: it has a NUL byte in it", name);
    if (!is_fence(text, begin, at))
        return error_set(err, -EINVAL,
                         "%.160s:1: there is no front matter: a card begins with a line ---", name);
    for (unsigned line = 2; at < size; line++) {
        size_t end = card_line_end(text, size, at);
        if (is_fence(text, at, end)) {
            *ret = (struct card_front){ .begin = begin, .close = at, .body = end };
            return 0;
        }
        at = end;
    }
    return error_set(err, -EINVAL, "%.160s:1: the front matter has no end: a second line ---",
                     name);
}

int card_read_front(const char *name, const char *text, size_t size, struct card_front *front,
                    struct yaml *ret_yaml, struct error *err) {
    int r = card_find_front(name, text, size, front, err);
    if (r == 0)
        r = yaml_parse(name, text + front->begin, front->close - front->begin, &limits, ret_yaml,
                       err);
    if (r < 0)
        return r;
    const struct yaml_node *root = ret_yaml->root;
    bool nothing = !root || (root->kind == YAML_SCALAR && yaml_type(root) == YAML_NULL);
    if (nothing || root->kind == YAML_MAPPING)
        return 0;
    r = error_set(err, -EINVAL, "%.160s:%u: expected keys and values, got %s", name, root->line,
                  yaml_noun(root).text);
    yaml_finish(ret_yaml);
    return r;
}

int card_find_key(const char *name, const struct yaml *yaml, const char *key,
                  const struct yaml_node **ret_key, struct error *err) {
    *ret_key = NULL;
    if (!yaml->root || yaml->root->kind != YAML_MAPPING)
        return 0;
    for (const struct yaml_node *k = yaml->root->first; k; k = k->next) {
        if (strcmp(k->text, key) != 0)
            continue;
        if (*ret_key)
            return error_set(err, -EINVAL, "%.160s:%u: '%s' is said twice, first in line %u", name,
                             k->line, key, (*ret_key)->line);
        *ret_key = k;
    }
    return 0;
}

/* --- values ---------------------------------------------------------------------------------- */

static int refuse(const char *name, const struct yaml_node *key, const char *expected,
                  struct error *err) {
    return error_set(err, -EINVAL, "%.160s:%u: '%s': expected %s, got %s", name, key->line,
                     key->text, expected, yaml_noun(key->value).text);
}

static bool says_nothing(const struct yaml_node *key) {
    return !key || (key->value->kind == YAML_SCALAR && yaml_type(key->value) == YAML_NULL);
}

static int read_word(const char *name, const struct yaml *yaml, const char *what, char **ret_text,
                     struct error *err) {
    const struct yaml_node *key = NULL;
    int r = card_find_key(name, yaml, what, &key, err);
    if (r < 0 || says_nothing(key))
        return r;
    const char *text = key->value->text;
    if (key->value->kind != YAML_SCALAR || strpbrk(text, " \t\r\n"))
        return refuse(name, key, "one word", err);
    if (*text)
        *ret_text = xstrdup(text);
    return 0;
}

static int read_status(const char *name, const struct yaml *yaml, enum card_status *ret,
                       struct error *err) {
    const struct yaml_node *key = NULL;
    int r = card_find_key(name, yaml, "agent_status", &key, err);
    if (r < 0 || says_nothing(key))
        return r;
    for (int s = 0; key->value->kind == YAML_SCALAR && s < CARD_STATUS_MAX; s++)
        if (strcmp(key->value->text, status_names[s]) == 0) {
            *ret = (enum card_status)s;
            return 0;
        }
    return refuse(name, key, "idle, queued, running, succeeded, failed or canceled", err);
}

static int read_parallelizable(const char *name, const struct yaml *yaml, enum card_switch *ret,
                               struct error *err) {
    const struct yaml_node *key = NULL;
    int r = card_find_key(name, yaml, "parallelizable", &key, err);
    if (r < 0 || says_nothing(key))
        return r;
    enum yaml_type type = key->value->kind == YAML_SCALAR ? yaml_type(key->value) : YAML_TEXT;
    if (type != YAML_TRUE && type != YAML_FALSE)
        return refuse(name, key, "true or false", err);
    *ret = type == YAML_TRUE ? CARD_TRUE : CARD_FALSE;
    return 0;
}

/* The first heading of the body, without its marks. */
static char *find_title(const char *text, size_t size, size_t at) {
    while (at < size) {
        size_t end = card_line_end(text, size, at), marks = 0;
        while (at + marks < end && text[at + marks] == '#')
            marks++;
        size_t from = at + marks, to = end;
        while (from < to && isspace((unsigned char)text[from]))
            from++;
        while (to > from && isspace((unsigned char)text[to - 1]))
            to--;
        if (marks > 0 && to > from)
            return xstrndup(text + from, to - from);
        at = end;
    }
    return NULL;
}

static int read_values(const char *name, const struct yaml *yaml, struct card *card,
                       struct error *err) {
    int r = read_word(name, yaml, "agent_flow", &card->flow, err);
    if (r == 0)
        r = read_word(name, yaml, "branch", &card->branch, err);
    if (r == 0)
        r = read_status(name, yaml, &card->status, err);
    return r < 0 ? r : read_parallelizable(name, yaml, &card->parallelizable, err);
}

int card_parse(const char *name, const char *text, size_t size, struct card *ret,
               struct error *err) {
    struct card card = { .status = CARD_IDLE };
    struct card_front front = { 0 };
    struct yaml yaml = { 0 };
    int r = card_read_front(name, text, size, &front, &yaml, err);
    if (r < 0)
        return r;
    r = read_values(name, &yaml, &card, err);
    yaml_finish(&yaml);
    if (r < 0) {
        card_finish(&card);
        return r;
    }
    card.body = front.body;
    card.title = find_title(text, size, front.body);
    *ret = card;
    return 0;
}

void card_finish(struct card *card) {
    free(card->flow);
    free(card->branch);
    free(card->title);
}
