/* card_edit.c: two places of a card change, and no other byte.
 *
 * People edit cards while agents work, so the file is read right before it is written, and once more
 * after the new one is ready: if it has changed meanwhile, theirs is read and changed instead. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "card/card_internal.h"
#include "os/files.h"
#include "os/outside.h"

#define TRIES 10

/* Bytes [from, to) become `with`. */
struct edit {
    size_t from, to;
    struct strbuf with;
};

/* --- agent_status ---------------------------------------------------------------------------- */

static const char *line_end_of(const struct strbuf *text) {
    size_t end = card_line_end(text->text, text->length, 0);
    return end >= 2 && text->text[end - 2] == '\r' ? "\r\n" : "\n";
}

/* 1: it says so already. */
static int edit_status(const char *name, const struct strbuf *text, enum card_status status,
                       struct edit *ret, struct error *err) {
    struct card_front front = { 0 };
    struct yaml yaml = { 0 };
    const struct yaml_node *key = NULL;
    int r = card_read_front(name, text->text, text->length, &front, &yaml, err);
    if (r == 0)
        r = card_find_key(name, &yaml, "agent_status", &key, err);
    if (r == 0 && key && key->value->kind != YAML_SCALAR)
        r = error_set(err, -EINVAL, "%.160s:%u: 'agent_status': expected one word", name,
                      key->line);
    if (r == 0 && key && strcmp(key->value->text, card_status_name(status)) == 0)
        r = 1;
    if (r == 0 && key && key->value->end > key->value->start) {
        ret->from = front.begin + key->value->start;
        ret->to = front.begin + key->value->end;
        strbuf_puts(&ret->with, card_status_name(status));
    } else if (r == 0 && key) { /* nothing is written behind the colon */
        const char *colon =
            memchr(text->text + front.begin + key->end, ':', text->length - front.begin - key->end);
        ret->from = ret->to = (size_t)(colon - text->text) + 1;
        strbuf_printf(&ret->with, " %s", card_status_name(status));
    } else if (r == 0) {
        ret->from = ret->to = front.close;
        strbuf_printf(&ret->with, "agent_status: %s%s", card_status_name(status),
                      line_end_of(text));
    }
    yaml_finish(&yaml);
    return r;
}

/* --- history --------------------------------------------------------------------------------- */

struct line {
    const char *text;
    size_t length; /* without blanks at the ends */
    size_t end;    /* in the text, behind its line end */
};

static struct line line_at(const struct strbuf *text, size_t at) {
    struct line line = { .end = card_line_end(text->text, text->length, at) };
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

/* The next section: a heading, or a word with a colon that stands alone. */
static bool is_section(const struct line *line) {
    if (line->length == 0)
        return false;
    return line->text[0] == '#'
           || (line->text[line->length - 1] == ':' && line->text[0] != '-' && line->text[0] != '*');
}

/* 1: the line is there already. */
static int edit_history(const struct strbuf *text, size_t body, const char *what,
                        struct edit *ret) {
    _cleanup_(strbuf_finish) struct strbuf whole = STRBUF_INIT;
    const char *end = line_end_of(text);
    bool inside = false, found = false;
    size_t last = text->length; /* behind the last line of the section that says anything */
    strbuf_printf(&whole, "- %s", what);
    for (size_t at = body; at < text->length;) {
        struct line line = line_at(text, at);
        if (is_history(&line)) {
            inside = found = true;
            last = line.end;
        } else if (inside && is_section(&line)) {
            inside = false;
        } else if (inside && line_is(&line, strbuf_text(&whole))) {
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
    strbuf_printf(&ret->with, "%s%s", strbuf_text(&whole), end);
    return 0;
}

/* --- both ------------------------------------------------------------------------------------ */

static void add_edited(const struct strbuf *text, const struct edit *edits, struct strbuf *out) {
    size_t at = 0;
    for (size_t i = 0; i < 2; i++) { /* in the order of the text */
        if (edits[i].with.length == 0)
            continue;
        strbuf_add(out, text->text + at, edits[i].from - at);
        strbuf_add(out, edits[i].with.text, edits[i].with.length);
        at = edits[i].to;
    }
    strbuf_add(out, text->text + at, text->length - at);
}

/* Whatever the front matter is like: what comes out says what was meant, or is not written. */
static int check_edited(const char *name, const struct strbuf *out, size_t from,
                        enum card_status status, struct error *err) {
    _cleanup_(card_finish) struct card card = { 0 };
    struct error why = { 0 };
    if (card_parse(name, out->text + from, out->length - from, &card, &why) == 0
        && card.status == status)
        return 0;
    return error_set(err, -EINVAL,
                     "%.160s:1: agent_status cannot be written into this front matter; write it "
                     "there once by hand",
                     name);
}

int card_edit(const char *name, const struct strbuf *text, enum card_status status,
              const char *line, struct strbuf *out, struct error *err) {
    struct edit edits[2] = { 0 };
    struct card_front front = { 0 };
    int same = text->length > 0 ? edit_status(name, text, status, &edits[0], err)
                                : error_set(err, -EINVAL, "%.160s:1: it is empty", name);
    int there = 1;
    size_t before = out->length;
    if (same >= 0 && line && card_find_front(name, text->text, text->length, &front, err) == 0)
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

/* --- a file ---------------------------------------------------------------------------------- */

static int stat_of(const char *path, struct stat *ret, struct error *err) {
    if (stat(path, ret) < 0)
        return error_set_errno(err, "look at", path);
    return 0;
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_ino == b->st_ino && a->st_size == b->st_size
           && a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

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

/* The new card beside the old one; renamed only if that is still `before`. 1: it is not. */
static int replace(const char *path, const struct stat *before, const struct strbuf *bytes,
                   struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf temp = STRBUF_INIT;
    struct stat now;
    strbuf_printf(&temp, "%s.XXXXXX", path);
    int fd = mkostemp(temp.text, O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, "write beside", path);
    int r = write_bytes(fd, bytes);
    (void)!fchown(fd, before->st_uid, before->st_gid); /* only root may; its owner has it anyway */
    if (r == 0 && fchmod(fd, before->st_mode & 07777) < 0)
        r = -errno;
    (void)close(fd);
    bool moved = r == 0 && (stat(path, &now) < 0 || !same_file(before, &now));
    if (r == 0 && !moved && rename(temp.text, path) < 0)
        r = -errno;
    if (r < 0 || moved)
        (void)unlink(temp.text);
    else
        r = sync_folder(path);
    return r < 0 ? error_set(err, r, "cannot write '%s': %s", path, strerror(-r)) : moved;
}

/* A link stays a link: what it leads to is changed. */
int card_write(const char *path, enum card_status status, const char *line, struct error *err) {
    _cleanup_(freep) char *real = realpath(path, NULL);
    if (!real)
        return error_set_errno(err, "find", path);
    for (int i = 0; i < TRIES; i++) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
        struct stat before;
        int r = stat_of(real, &before, err);
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
