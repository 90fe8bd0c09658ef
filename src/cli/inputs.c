/* inputs.c: see inputs.h. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/inputs.h"

#define LIST_NUMBER_MAX 99u

void inputs_finish(struct inputs *inputs) {
    for (size_t i = 0; i < inputs->count; i++)
        freep(&inputs->lists[i].texts);
    freep(&inputs->lists);
    arena_finish(&inputs->arena);
    *inputs = (struct inputs){ 0 };
}

bool inputs_is_mark(const char *word) {
    size_t colons = strspn(word, ":");
    return (colons == 3 || colons == 4) && strcmp(word + colons, word[colons] ? "+" : "") == 0;
}

/* --- lists ------------------------------------------------------------------------------------ */

int inputs_begin(struct inputs *inputs, const char *name, bool is_linked, struct error *err) {
    if (is_linked && inputs->count == 0)
        return error_set(err, -EINVAL, "'%.200s' is linked to the list before it; there is none",
                         name);
    if (inputs->count == LIST_NUMBER_MAX)
        return error_set(err, -E2BIG, "too many lists of inputs; maximum is %u", LIST_NUMBER_MAX);
    inputs->lists =
        xgrow(inputs->lists, &inputs->capacity, inputs->count + 1, sizeof(*inputs->lists));
    inputs->lists[inputs->count++] =
        (struct input_list){ .name = arena_strdup(&inputs->arena, name), .is_linked = is_linked };
    return 0;
}

void inputs_add(struct inputs *inputs, const char *text, size_t size) {
    struct input_list *list = &inputs->lists[inputs->count - 1];
    list->texts = xgrow(list->texts, &list->capacity, list->count + 1, sizeof(*list->texts));
    list->texts[list->count++] = arena_strndup(&inputs->arena, text, size);
}

int inputs_split(struct inputs *inputs, const char *bytes, size_t size, char separator,
                 struct error *err) {
    struct input_list *list = &inputs->lists[inputs->count - 1];
    const char *end = bytes + size;
    for (size_t line = 1; bytes < end; line++) {
        const char *stop = memchr(bytes, separator, (size_t)(end - bytes));
        size_t length = (size_t)((stop ? stop : end) - bytes);
        if (separator && memchr(bytes, '\0', length))
            return error_set(err, -EINVAL,
                             "line %zu of '%.200s' has a NUL byte; --null reads inputs that are "
                             "separated by NUL",
                             line, list->name);
        size_t used = length - (size_t)(separator && length > 0 && bytes[length - 1] == '\r');
        if (used > 0)
            inputs_add(inputs, bytes, used);
        else if (list->empty_line == 0)
            list->empty_line = line;
        bytes += length + 1;
    }
    return 0;
}

/* Lists from `first` to before the result advance together. */
static size_t linked_end(const struct inputs *inputs, size_t first) {
    size_t end = first + 1;
    while (end < inputs->count && inputs->lists[end].is_linked)
        end++;
    return end;
}

static size_t linked_length(const struct inputs *inputs, size_t first, size_t end) {
    size_t length = inputs->lists[first].count;
    for (size_t i = first + 1; i < end; i++)
        if (inputs->lists[i].count < length)
            length = inputs->lists[i].count;
    return length;
}

int inputs_count(const struct inputs *inputs, size_t *ret_rows, size_t *ret_unused,
                 struct error *err) {
    size_t rows = 1, unused = 0;
    for (size_t first = 0, end; first < inputs->count; first = end) {
        end = linked_end(inputs, first);
        size_t length = linked_length(inputs, first, end);
        for (size_t i = first; i < end; i++) {
            const struct input_list *list = &inputs->lists[i];
            unused += list->count - length;
            if (end - first > 1 && list->empty_line > 0)
                return error_set(err, -EINVAL,
                                 "line %zu of '%.200s' is empty; remove it: linked lists are "
                                 "matched line by line",
                                 list->empty_line, list->name);
        }
        if (length > 0 && rows > INPUTS_ROWS_MAX / length)
            return error_set(err, -E2BIG, "the lists make more than %u tasks, the maximum",
                             INPUTS_ROWS_MAX);
        rows *= length;
    }
    *ret_rows = inputs->count > 0 ? rows : 0;
    *ret_unused = unused;
    return 0;
}

/* Where the linked lists that end before `end` begin. */
static size_t linked_begin(const struct inputs *inputs, size_t end) {
    size_t first = end - 1;
    while (inputs->lists[first].is_linked)
        first--;
    return first;
}

void inputs_row(const struct inputs *inputs, size_t index, const char **texts) {
    for (size_t first, end = inputs->count; end > 0; end = first) {
        first = linked_begin(inputs, end);
        size_t length = linked_length(inputs, first, end);
        for (size_t i = first; i < end; i++)
            texts[i] = inputs->lists[i].texts[index % length];
        index /= length;
    }
}

/* --- placeholders ----------------------------------------------------------------------------- */

enum input_part { PART_ALL, PART_NO_EXTENSION, PART_BASE, PART_DIRECTORY, PART_STEM, PART_NUMBER };

struct placeholder {
    size_t size; /* with its braces */
    size_t list; /* from 1; 0: all */
    enum input_part part;
};

static const char *const part_signs[] = { "", ".", "/", "//", "/.", "#" };

/* 1: a placeholder begins at `text`. 0: none. -EINVAL: it looks like one and is unknown. */
static int parse_placeholder(const char *text, struct placeholder *ret) {
    size_t size = *text == '{' ? strspn(text + 1, "0123456789./#%+-") : 0;
    *ret = (struct placeholder){ .size = size + 2 };
    if (*text != '{' || text[size + 1] != '}')
        return 0;
    const char *at = text + 1, *end = at + size;
    for (; *at >= '0' && *at <= '9'; at++) {
        ret->list = ret->list * 10 + (size_t)(*at - '0');
        if (ret->list > LIST_NUMBER_MAX)
            return -EINVAL;
    }
    bool has_digits = at > text + 1;
    if (has_digits && ret->list == 0)
        return -EINVAL;
    for (size_t i = 0; i < ARRAY_SIZE(part_signs) - has_digits; i++) /* {1#} is unknown */
        if (strlen(part_signs[i]) == (size_t)(end - at)
            && strncmp(at, part_signs[i], (size_t)(end - at)) == 0) {
            ret->part = (enum input_part)i;
            return 1;
        }
    return -EINVAL;
}

/* The next `{` that may begin a placeholder: ${1} and ${#} belong to the shell. */
static const char *next_brace(const char *text, const char *at) {
    while ((at = strchr(at, '{')) && at > text && at[-1] == '$')
        at++;
    return at;
}

int input_template_check(const char *text, size_t lists, bool *ret_found, struct error *err) {
    struct placeholder p;
    for (const char *at = text; (at = next_brace(text, at)); at++) {
        int r = parse_placeholder(at, &p);
        if (r < 0)
            return error_set(err, -EINVAL,
                             "'%.*s' is not a placeholder; there are {} {.} {/} {//} {/.} {#} {1}; "
                             "for this text itself, add a list with it and write its number",
                             (int)(p.size < 40 ? p.size : 40), at);
        if (r > 0 && p.list > lists)
            return error_set(err, -EINVAL,
                             "'%.*s' takes an input of list %zu, and there %s %zu; for this text "
                             "itself, add a list with it and write its number",
                             (int)p.size, at, p.list, lists == 1 ? "is" : "are", lists);
        if (r > 0)
            *ret_found = true;
    }
    return 0;
}

/* The dots at the beginning of a name do not begin an extension: .profile, .. */
static size_t before_extension(const char *text, size_t base, size_t end) {
    while (base < end && text[base] == '.')
        base++;
    for (size_t at = end; at > base + 1; at--)
        if (text[at - 1] == '.')
            return at - 1;
    return end;
}

static void put_part(const char *text, enum input_part part, struct strbuf *out) {
    size_t size = strlen(text), end = size;
    while (end > 1 && text[end - 1] == '/')
        end--;
    size_t base = end;
    while (base > 0 && text[base - 1] != '/')
        base--;
    if (base == end) /* "" or "/" */
        base = 0;
    size_t folder = base;
    while (folder > 1 && text[folder - 1] == '/')
        folder--;
    switch (part) {
    case PART_NO_EXTENSION: /* a name with a slash behind it has none */
        strbuf_add(out, text, end == size ? before_extension(text, base, end) : size);
        break;
    case PART_BASE:
        strbuf_add(out, text + base, end - base);
        break;
    case PART_STEM:
        strbuf_add(out, text + base, before_extension(text, base, end) - base);
        break;
    case PART_DIRECTORY:
        if (folder > 0)
            strbuf_add(out, text, folder);
        else
            strbuf_puts(out, *text == '/' ? "/" : ".");
        break;
    case PART_ALL:
    case PART_NUMBER:
        strbuf_add(out, text, size);
        break;
    }
}

static void put_placeholder(const struct placeholder *p, const struct input_row *row,
                            struct strbuf *out) {
    size_t from = p->list > 0 ? p->list - 1 : 0, to = p->list > 0 ? p->list : row->count;
    if (p->part == PART_NUMBER) {
        strbuf_printf(out, "%zu", row->number);
        return;
    }
    for (size_t i = from; i < to; i++) {
        if (i > from)
            strbuf_putc(out, ' ');
        put_part(row->texts[i], p->part, out);
    }
}

void input_template_expand(const char *text, const struct input_row *row, struct strbuf *out) {
    struct placeholder p;
    const char *from = text;
    for (const char *at = text; (at = next_brace(text, at));) {
        if (parse_placeholder(at, &p) <= 0) {
            at++;
            continue;
        }
        strbuf_add(out, from, (size_t)(at - from));
        put_placeholder(&p, row, out);
        from = at += p.size;
    }
    strbuf_puts(out, from);
}

bool input_template_is_each(const char *word) {
    struct placeholder p;
    return parse_placeholder(word, &p) > 0 && p.list == 0 && p.part != PART_NUMBER
           && word[p.size] == '\0';
}
