/* card.c: reads a card; edits its status and history and no other byte.
 *
 * The YAML reader starts at the beginning of the file, so that line numbers match. People edit
 * cards while agents work, so the file is read right before it is written and checked again before
 * the rename. If it has changed, the edit starts over. */
#include "card/card.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/files.h"
#include "os/outside.h"
#include "yaml/yaml.h"

#define TRIES 10

/* Offsets in the text. */
struct card_front {
    size_t begin, close, body;
};

static const char *const status_names[] = {
    [CARD_IDLE] = "idle",           [CARD_QUEUED] = "queued", [CARD_RUNNING] = "running",
    [CARD_SUCCEEDED] = "succeeded", [CARD_FAILED] = "failed", [CARD_CANCELED] = "canceled",
};
_Static_assert(ARRAY_SIZE(status_names) == CARD_STATUS_MAX, "a status has no name");

const char *card_status_name(enum card_status status) {
    return status_names[status];
}

static const struct yaml_limits limits = { .bytes = 65536, .levels = 16, .nodes = 4096 };

/* --- front matter ---------------------------------------------------------------------------- */

/* Offset after the newline of the line that contains `at`. */
static size_t line_end(const char *text, size_t size, size_t at) {
    const char *end = at < size ? memchr(text + at, '\n', size - at) : NULL;
    return end ? (size_t)(end - text) + 1 : size;
}

/* "---", optionally followed by blanks. */
static bool is_fence(const char *text, size_t from, size_t to) {
    while (to > from && isspace((unsigned char)text[to - 1]))
        to--;
    return to - from == 3 && memcmp(text + from, "---", 3) == 0;
}

static int find_front(const char *name, const char *text, size_t size, struct card_front *ret,
                      struct error *err) {
    static const char mark[] = "\xEF\xBB\xBF";
    size_t begin = size >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    size_t at = line_end(text, size, begin);
    if (size > CARD_BYTES_MAX)
        return error_set(err, -EINVAL, "%.160s: %zu bytes are too many for a card; maximum is %u",
                         name, size, CARD_BYTES_MAX);
    if (memchr(text, '\0', size))
        return error_set(err, -EINVAL, "%.160s: it is not text: it contains a NUL byte", name);
    if (!is_fence(text, begin, at))
        return error_set(err, -EINVAL,
                         "%.160s:1: there is no front matter: a card begins with a line ---", name);
    for (unsigned line = 2; at < size; line++) {
        size_t end = line_end(text, size, at);
        if (is_fence(text, at, end)) {
            *ret = (struct card_front){ .begin = begin, .close = at, .body = end };
            return 0;
        }
        at = end;
    }
    return error_set(err, -EINVAL, "%.160s:1: the front matter has no end: a second line ---",
                     name);
}

/* Parses the front matter; node offsets count from front.begin. */
static int read_front(const char *name, const char *text, size_t size, struct card_front *front,
                      struct yaml *ret_yaml, struct error *err) {
    int r = find_front(name, text, size, front, err);
    if (r == 0)
        r = yaml_parse(name, text + front->begin, front->close - front->begin, &limits, ret_yaml,
                       err);
    if (r < 0)
        return r;
    const struct yaml_node *root = ret_yaml->root;
    if (!root || yaml_type(root) == YAML_NULL || root->kind == YAML_MAPPING)
        return 0;
    r = error_set(err, -EINVAL, "%.160s:%u: expected keys and values, got %s", name, root->line,
                  yaml_noun(root).text);
    yaml_finish(ret_yaml);
    return r;
}

/* NULL if the key is not set. */
static int find_key(const char *name, const struct yaml *yaml, const char *key,
                    const struct yaml_node **ret_key, struct error *err) {
    *ret_key = NULL;
    if (!yaml->root || yaml->root->kind != YAML_MAPPING)
        return 0;
    for (const struct yaml_node *k = yaml->root->first; k; k = k->next) {
        if (strcmp(k->text, key) != 0)
            continue;
        if (*ret_key)
            return error_set(err, -EINVAL, "%.160s:%u: '%s' is given twice, first in line %u", name,
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

static int read_word(const char *name, const struct yaml_node *key, char **ret_text,
                     struct error *err) {
    const char *text = key->value->text;
    if (key->value->kind != YAML_SCALAR || strpbrk(text, " \t\r\n"))
        return refuse(name, key, "one word", err);
    if (*text)
        *ret_text = xstrdup(text);
    return 0;
}

static int read_status(const char *name, const struct yaml_node *key, enum card_status *ret,
                       struct error *err) {
    for (int s = 0; key->value->kind == YAML_SCALAR && s < CARD_STATUS_MAX; s++)
        if (strcmp(key->value->text, status_names[s]) == 0) {
            *ret = (enum card_status)s;
            return 0;
        }
    return refuse(name, key, "idle, queued, running, succeeded, failed or canceled", err);
}

static int read_switch(const char *name, const struct yaml_node *key, enum card_switch *ret,
                       struct error *err) {
    enum yaml_type type = yaml_type(key->value);
    if (type != YAML_TRUE && type != YAML_FALSE)
        return refuse(name, key, "true or false", err);
    *ret = type == YAML_TRUE ? CARD_TRUE : CARD_FALSE;
    return 0;
}

/* Reads one key into the card, if it has a value. */
static int read_key(const char *name, const struct yaml *yaml, const char *what, struct card *card,
                    struct error *err) {
    const struct yaml_node *key = NULL;
    int r = find_key(name, yaml, what, &key, err);
    if (r < 0 || !key || yaml_type(key->value) == YAML_NULL)
        return r;
    if (strcmp(what, "agent_status") == 0)
        return read_status(name, key, &card->status, err);
    if (strcmp(what, "parallelizable") == 0)
        return read_switch(name, key, &card->parallelizable, err);
    return read_word(name, key, strcmp(what, "branch") == 0 ? &card->branch : &card->flow, err);
}

/* The text of the first heading in the body. */
static char *find_title(const char *text, size_t size, size_t at) {
    while (at < size) {
        size_t end = line_end(text, size, at), marks = 0;
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

int card_parse(const char *name, const char *text, size_t size, struct card *ret,
               struct error *err) {
    struct card card = { .status = CARD_IDLE };
    struct card_front front = { 0 };
    struct yaml yaml = { 0 };
    int r = read_front(name, text, size, &front, &yaml, err);
    if (r < 0)
        return r;
    static const char *const keys[] = { "agent_flow", "branch", "agent_status", "parallelizable" };
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(keys); i++)
        r = read_key(name, &yaml, keys[i], &card, err);
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

/* Replaces bytes [from, to) by `with`. */
struct edit {
    size_t from, to;
    struct strbuf with;
};

/* --- agent_status ---------------------------------------------------------------------------- */

static const char *newline_of(const struct strbuf *text) {
    size_t end = line_end(text->text, text->length, 0);
    return end >= 2 && text->text[end - 2] == '\r' ? "\r\n" : "\n";
}

/* Returns 1 if the card already has this status. */
static int edit_status(const char *name, const struct strbuf *text, enum card_status status,
                       struct card_front *ret_front, struct edit *ret, struct error *err) {
    struct card_front front = { 0 };
    struct yaml yaml = { 0 };
    const struct yaml_node *key = NULL;
    int r = read_front(name, text->text, text->length, &front, &yaml, err);
    *ret_front = front;
    if (r == 0)
        r = find_key(name, &yaml, "agent_status", &key, err);
    if (r == 0 && key && key->value->kind != YAML_SCALAR)
        r = error_set(err, -EINVAL, "%.160s:%u: 'agent_status': expected one word", name,
                      key->line);
    if (r == 0 && key && strcmp(key->value->text, card_status_name(status)) == 0)
        r = 1;
    if (r == 0 && key && key->value->end > key->value->start) {
        ret->from = front.begin + key->value->start;
        ret->to = front.begin + key->value->end;
        strbuf_puts(&ret->with, card_status_name(status));
    } else if (r == 0 && key) { /* the key has no value */
        const char *colon =
            memchr(text->text + front.begin + key->end, ':', text->length - front.begin - key->end);
        ret->from = ret->to = (size_t)(colon - text->text) + 1;
        strbuf_printf(&ret->with, " %s", card_status_name(status));
    } else if (r == 0) {
        ret->from = ret->to = front.close;
        strbuf_printf(&ret->with, "agent_status: %s%s", card_status_name(status), newline_of(text));
    }
    yaml_finish(&yaml);
    return r;
}

/* --- history --------------------------------------------------------------------------------- */

struct line {
    const char *text;
    size_t length; /* without surrounding blanks */
    size_t end;    /* offset after its newline */
};

static struct line line_at(const struct strbuf *text, size_t at) {
    struct line line = { .end = line_end(text->text, text->length, at) };
    size_t to = line.end;
    while (to > at && strchr(" \t\r\n", text->text[to - 1]))
        to--;
    while (at < to && (text->text[at] == ' ' || text->text[at] == '\t'))
        at++;
    line.text = text->text + at;
    line.length = to - at;
    return line;
}

static bool line_is(const struct line *line, const char *word) {
    return line->length == strlen(word) && memcmp(line->text, word, line->length) == 0;
}

static bool is_history(const struct line *line) {
    return line_is(line, "History:") || line_is(line, "# History") || line_is(line, "## History")
           || line_is(line, "### History") || line_is(line, "**History:**");
}

/* A section starts with a heading, or with a word and a colon on a line of their own. */
static bool is_section(const struct line *line) {
    if (line->length == 0)
        return false;
    return line->text[0] == '#'
           || (line->text[line->length - 1] == ':' && line->text[0] != '-' && line->text[0] != '*');
}

/* Returns 1 if the line already exists. */
static int edit_history(const struct strbuf *text, size_t body, const char *what,
                        struct edit *ret) {
    _cleanup_(strbuf_finish) struct strbuf entry = STRBUF_INIT;
    const char *end = newline_of(text);
    bool inside = false, found = false;
    size_t last = text->length; /* after the section's last line that is not blank */
    strbuf_printf(&entry, "- %s", what);
    for (size_t at = body; at < text->length;) {
        struct line line = line_at(text, at);
        if (is_history(&line)) {
            inside = found = true;
            last = line.end;
        } else if (inside && is_section(&line)) {
            inside = false;
        } else if (inside && line_is(&line, strbuf_text(&entry))) {
            return 1;
        } else if (inside && line.length > 0) {
            last = line.end;
        }
        at = line.end;
    }
    ret->from = ret->to = last;
    if (last > 0 && text->text[last - 1] != '\n')
        strbuf_puts(&ret->with, end);
    if (!found)
        strbuf_printf(&ret->with, "%sHistory:%s", end, end);
    strbuf_printf(&ret->with, "%s%s", strbuf_text(&entry), end);
    return 0;
}

/* --- both ------------------------------------------------------------------------------------ */

static void add_edited(const struct strbuf *text, const struct edit *edits, struct strbuf *out) {
    size_t at = 0;
    for (size_t i = 0; i < 2; i++) { /* in text order */
        if (edits[i].with.length == 0)
            continue;
        strbuf_add(out, text->text + at, edits[i].from - at);
        strbuf_add(out, edits[i].with.text, edits[i].with.length);
        at = edits[i].to;
    }
    strbuf_add(out, text->text + at, text->length - at);
}

/* Refuses to write unless the result reads back as intended. */
static int check_edited(const char *name, const struct strbuf *out, size_t from,
                        enum card_status status, struct error *err) {
    _cleanup_(card_finish) struct card card = { 0 };
    struct error why = { 0 };
    if (card_parse(name, out->text + from, out->length - from, &card, &why) == 0
        && card.status == status)
        return 0;
    return error_set(err, -EINVAL,
                     "%.160s:1: agent_status cannot be written into this front matter; write it "
                     "there once manually",
                     name);
}

int card_edit(const char *name, const struct strbuf *text, enum card_status status,
              const char *line, struct strbuf *out, struct error *err) {
    struct edit edits[2] = { 0 };
    struct card_front front = { 0 };
    int same = text->length > 0 ? edit_status(name, text, status, &front, &edits[0], err)
                                : error_set(err, -EINVAL, "%.160s:1: it is empty", name);
    int there = 1;
    size_t before = out->length;
    if (same >= 0 && line)
        there = edit_history(text, front.body, line, &edits[1]);
    bool changes = same >= 0 && (same == 0 || there == 0);
    if (changes)
        add_edited(text, edits, out);
    strbuf_finish(&edits[0].with);
    strbuf_finish(&edits[1].with);
    if (!changes)
        return same < 0 ? same : 1;
    int r = check_edited(name, out, before, status, err);
    if (r < 0) {
        out->length = before;
        out->text[before] = '\0';
    }
    return r;
}

/* --- files ----------------------------------------------------------------------------------- */

static int sync_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    _cleanup_(freep) char *folder =
        slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    int fd = outside_open(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | OUTSIDE_LINKS, NULL, NULL);
    int r = fd < 0 ? fd : fsync(fd) < 0 ? -errno : 0;
    if (fd >= 0)
        (void)close(fd);
    return r;
}

static int write_bytes(int fd, const struct strbuf *bytes) {
    for (size_t done = 0; done < bytes->length;) {
        ssize_t n = write(fd, bytes->text + done, bytes->length - done);
        if (n < 0 && errno != EINTR)
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) < 0 ? -errno : 0;
}

/* Writes a temporary file and renames it, unless the card differs from `before`: then returns 1. */
static int replace(const char *path, const struct stat *before, const struct strbuf *bytes,
                   struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf temp = STRBUF_INIT;
    struct stat now;
    strbuf_printf(&temp, "%s.XXXXXX", path);
    int fd = mkostemp(temp.text, O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, "write beside", path);
    int r = write_bytes(fd, bytes);
    (void)!fchown(fd, before->st_uid, before->st_gid); /* only root can */
    if (r == 0 && fchmod(fd, before->st_mode & 07777) < 0)
        r = -errno;
    (void)close(fd);
    bool moved =
        r == 0
        && (stat(path, &now) < 0 || before->st_ino != now.st_ino || before->st_size != now.st_size
            || before->st_mtim.tv_sec != now.st_mtim.tv_sec
            || before->st_mtim.tv_nsec != now.st_mtim.tv_nsec);
    if (r == 0 && !moved && rename(temp.text, path) < 0)
        r = -errno;
    if (r < 0 || moved)
        (void)unlink(temp.text);
    else
        r = sync_folder(path);
    return r < 0 ? error_set(err, r, "cannot write '%s': %s", path, strerror(-r)) : moved;
}

/* A symbolic link is kept; its target is changed. */
int card_write(const char *path, enum card_status status, const char *line, struct error *err) {
    _cleanup_(freep) char *real = realpath(path, NULL);
    if (!real)
        return error_set_errno(err, "find", path);
    for (int i = 0; i < TRIES; i++) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
        struct stat before;
        int r = stat(real, &before) < 0 ? error_set_errno(err, "look at", real) : 0;
        if (r == 0)
            r = file_read(real, CARD_BYTES_MAX, &text, err);
        if (r == 0)
            r = card_edit(real, &text, status, line, &out, err);
        if (r != 0)
            return r < 0 ? r : 0;
        r = replace(real, &before, &out, err);
        if (r <= 0)
            return r;
    }
    return error_set(err, -EAGAIN, "'%s' changes all the time; it was left alone", path);
}
