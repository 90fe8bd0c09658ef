/* test_config_edit_random.c: for many files in many layouts, an edit changes one key and nothing else.
 *
 * Each seed generates a file from known keys and values: levels or dots, indentation or brackets,
 * quotes, comments, anchors, empty lines, CRLF, a byte order mark, JSON. One key is set or removed.
 * Checked: the new file has the values of the old one with that change, every comment outside
 * the value is still there, and all lines outside the changed range are unchanged. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "config/config_edit.h"
#include "config/config_internal.h"
#include "harness/test.h"

#define SEEDS 3000

/* --- keys and values ------------------------------------------------------------------------- */

struct known {
    const char *levels[4]; /* the last ones may be NULL */
    const char *values[3];
    bool is_list;
};

/* clang-format off */
static const struct known pool[] = {
    { { "lost" }, { "fail", "requeue", "fail" }, false },
    { { "max_wait_s" }, { "60", "never", "1.5" }, false },
    { { "order" }, { "score, seq", "priority, score, created_at, seq", "seq" }, false },
    { { "limits", "runs" }, { "4", "12", "unlimited" }, false },
    { { "limits", "roots" }, { "1", "0", "unlimited" }, false },
    { { "limits", "resource", "gpu" }, { "1", "2", "3" }, false },
    { { "limits", "resource", "a.b" }, { "7", "8", "9" }, false },
    { { "retry", "failed", "max" }, { "3", "0", "unlimited" }, false },
    { { "retry", "failed", "delay_s" }, { "2.5", "30", "1" }, false },
    { { "retry", "lost", "max" }, { "1", "2", "5" }, false },
    { { "tasks", "until" }, { "exit", "done", "validate" }, false },
    { { "tasks", "env" }, { "PATH", "PATH HOME", "" }, true },
    { { "tasks", "nice" }, { "1", "2", "19" }, false },
    { { "kinds", "plan", "base" }, { "-40", "7", "0" }, false },
    { { "kinds", "two words", "base" }, { "1", "2", "3" }, false },
    { { "agents", "gpt-4.1", "slots" }, { "1", "2", "unlimited" }, false },
    { { "agents", "gpt-4.1", "command" }, { "run -x {prompt}", "sh -c 'a # b'", "x" }, true },
    { { "agents", "gpt-4.1", "limiter" }, { "me@example.com", "it's", "a: b" }, false },
    { { "projects", "web", "weight" }, { "2", "2.5", "10" }, false },
    { { "projects", "web", "path" }, { "/srv/web", "/a b", "/x#y" }, false },
    { { "projects", "example.com", "budget" }, { "1000", "unlimited", "5" }, false },
    { { "projects", "example.com", "paused" }, { "true", "false", "true" }, false },
    { { "loop", "prefix" }, { "x, y", "{z}", "- a" }, false },
    { { "store", "url" }, { "postgresql://h/db", "/x, y", "/{z}" }, false },
};
/* clang-format on */

#define KNOWN_MAX ARRAY_SIZE(pool)

/* One generated file: its keys and values. */
struct given {
    struct rng rng;
    const char *values[KNOWN_MAX]; /* NULL: not in the file */
    struct strbuf text;
    bool crlf, json, brackets; /* brackets: around everything */
    unsigned step, comments;
};

static bool chance(struct given *g, unsigned percent) {
    return rng_below(&g->rng, 100) < percent;
}

static void key_of(const struct known *known, struct strbuf *out) {
    strbuf_clear(out);
    for (size_t i = 0; i < ARRAY_SIZE(known->levels) && known->levels[i]; i++)
        strbuf_printf(out, "%s%s", i ? "." : "", known->levels[i]);
}

/* --- writing a file -------------------------------------------------------------------------- */

static void put_newline(struct given *g) {
    strbuf_puts(&g->text, g->crlf ? "\r\n" : "\n");
}

static void put_comment(struct given *g) {
    if (!g->json)
        strbuf_printf(&g->text, "# c%u, [{'\"|", g->comments++);
}

static void put_indent(struct given *g, unsigned indent) {
    strbuf_repeat(&g->text, " ", indent);
}

/* Filler between other lines. */
static void put_noise(struct given *g, unsigned indent) {
    while (chance(g, 20)) {
        if (chance(g, 60)) {
            put_indent(g, chance(g, 50) ? indent : 0);
            put_comment(g);
        }
        put_newline(g);
    }
}

static bool is_simple(const char *text) {
    return *text && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_./") == strlen(text);
}

static void put_scalar(struct given *g, const char *text, bool may_be_plain) {
    if (may_be_plain && is_simple(text) && chance(g, 70))
        strbuf_puts(&g->text, text);
    else if (!g->json && !strchr(text, '\'') && chance(g, 50))
        strbuf_printf(&g->text, "'%s'", text);
    else
        strbuf_printf(&g->text, "\"%s\"", text);
}

static void put_label(struct given *g, const char *text) {
    put_scalar(g, text, !g->json);
}

static void put_words(struct given *g, const char *text) {
    struct arena arena = ARENA_INIT;
    struct words words = { 0 };
    assert_true(words_split(text, &arena, &words));
    strbuf_putc(&g->text, '[');
    for (size_t i = 0; i < words.count; i++) {
        strbuf_puts(&g->text, i ? ", " : "");
        put_scalar(g, words.items[i], !g->json);
    }
    strbuf_putc(&g->text, ']');
    arena_finish(&arena);
}

static void put_end(struct given *g) {
    if (chance(g, 30)) {
        strbuf_repeat(&g->text, " ", 1 + (unsigned)rng_below(&g->rng, 3));
        put_comment(g);
    }
    put_newline(g);
}

static void put_block_list(struct given *g, const char *text, unsigned indent) {
    struct arena arena = ARENA_INIT;
    struct words words = { 0 };
    assert_true(words_split(text, &arena, &words));
    put_end(g);
    for (size_t i = 0; i < words.count; i++) {
        put_indent(g, indent);
        strbuf_puts(&g->text, "- ");
        put_scalar(g, words.items[i], true);
        put_end(g);
    }
    arena_finish(&arena);
}

/* The rest of the line after "key:". */
static void put_block_value(struct given *g, const struct known *known, const char *value,
                            unsigned indent) {
    if (known->is_list && *value && chance(g, 40)) {
        put_block_list(g, value, indent + (chance(g, 50) ? g->step : 0));
        return;
    }
    if (known->is_list && *value && chance(g, 20)) {
        strbuf_puts(&g->text, chance(g, 50) ? " |" : " >-");
        put_end(g);
        put_indent(g, indent + g->step);
        strbuf_puts(&g->text, value);
        put_newline(g);
        return;
    }
    if (chance(g, 10)) {
        put_end(g);
        put_indent(g, indent + g->step);
    } else {
        strbuf_repeat(&g->text, " ", 1 + (unsigned)rng_below(&g->rng, 3));
    }
    if (chance(g, 10))
        strbuf_printf(&g->text, "&a%u ", g->comments++);
    if (known->is_list)
        put_words(g, value);
    else
        put_scalar(g, value, true);
    put_end(g);
}

/* The keys [first, end) of the pool have the same first `depth` levels. */
static size_t same_level(size_t first, size_t depth, size_t end) {
    size_t next = first + 1;
    while (next < end && pool[next].levels[depth]
           && strcmp(pool[next].levels[depth], pool[first].levels[depth]) == 0)
        next++;
    return next;
}

static bool has_any(const struct given *g, size_t first, size_t end) {
    for (size_t i = first; i < end; i++)
        if (g->values[i])
            return true;
    return false;
}

static bool is_leaf(size_t row, size_t depth) {
    return depth + 1 == ARRAY_SIZE(pool[row].levels) || !pool[row].levels[depth + 1];
}

static void put_brackets(struct given *g, size_t first, size_t end, size_t depth, unsigned indent) {
    bool lines = g->json ? g->step > 2 : chance(g, 30);
    bool any = false;
    strbuf_putc(&g->text, '{');
    for (size_t i = first, next; i < end; i = next) {
        next = same_level(i, depth, end);
        if (!has_any(g, i, next))
            continue;
        strbuf_puts(&g->text, any ? "," : "");
        any = true;
        if (lines && chance(g, 30)) {
            strbuf_putc(&g->text, ' ');
            put_comment(g);
        }
        if (lines) {
            put_newline(g);
            put_indent(g, indent + g->step);
        } else {
            strbuf_putc(&g->text, ' ');
        }
        put_label(g, pool[i].levels[depth]);
        strbuf_puts(&g->text, ": ");
        if (!is_leaf(i, depth))
            put_brackets(g, i, next, depth + 1, indent + g->step);
        else if (pool[i].is_list)
            put_words(g, g->values[i]);
        else
            put_scalar(g, g->values[i], !g->json || strspn(g->values[i], "0123456789") > 0);
    }
    if (any && !g->json && chance(g, 10))
        strbuf_putc(&g->text, ',');
    if (lines) {
        put_newline(g);
        put_indent(g, g->brackets ? indent : indent + 1); /* in a block: deeper than its key */
    }
    strbuf_putc(&g->text, '}');
}

static void put_block(struct given *g, size_t first, size_t end, size_t depth, unsigned indent);

/* "projects.web:" cannot be empty, so removing its only key removes it as well. test_config_edit.c tests
 * that case; here every key is removed on its own. */
static bool ends_in_name(const struct strbuf *label, size_t row, size_t depth) {
    bool named = strchr("kap", pool[row].levels[0][0]) != NULL;
    return named && depth == 1 && strlen(pool[row].levels[1]) < label->length;
}

/* One key and its subkeys; several levels may be written in one dotted key. */
static void put_pair(struct given *g, size_t first, size_t end, size_t depth, unsigned indent) {
    struct strbuf label = STRBUF_INIT;
    strbuf_puts(&label, pool[first].levels[depth]);
    while (!is_leaf(first, depth) && same_level(first, depth + 1, end) == end
           && (ends_in_name(&label, first, depth) || chance(g, 30)))
        strbuf_printf(&label, ".%s", pool[first].levels[++depth]);
    put_noise(g, indent);
    put_indent(g, indent);
    put_label(g, strbuf_text(&label));
    strbuf_puts(&g->text, chance(g, 5) ? " :" : ":");
    strbuf_finish(&label);
    if (is_leaf(first, depth)) {
        put_block_value(g, &pool[first], g->values[first], indent);
    } else if (chance(g, 30)) {
        strbuf_putc(&g->text, ' ');
        put_brackets(g, first, end, depth + 1, indent);
        put_end(g);
    } else {
        put_end(g);
        put_block(g, first, end, depth + 1, indent + g->step);
    }
}

static void put_block(struct given *g, size_t first, size_t end, size_t depth, unsigned indent) {
    for (size_t i = first, next; i < end; i = next) {
        next = same_level(i, depth, end);
        if (has_any(g, i, next)) {
            while (!g->values[i])
                i++;
            size_t last = next;
            while (!g->values[last - 1])
                last--;
            put_pair(g, i, last, depth, indent);
        }
    }
}

static void make_file(struct given *g, uint64_t seed) {
    *g = (struct given){ .rng = { seed } };
    unsigned density = 10 + (unsigned)rng_below(&g->rng, 80);
    for (size_t i = 0; i < KNOWN_MAX; i++)
        if (chance(g, density))
            g->values[i] = pool[i].values[rng_below(&g->rng, 3)];
    g->crlf = chance(g, 15);
    g->json = chance(g, 15);
    g->step = 2 + 2 * (unsigned)rng_below(&g->rng, 2);
    if (chance(g, 5))
        strbuf_puts(&g->text, "\xef\xbb\xbf");
    g->brackets = g->json || chance(g, 5);
    if (g->brackets) {
        put_brackets(g, 0, KNOWN_MAX, 0, 0);
    } else {
        put_noise(g, 0);
        if (chance(g, 10)) {
            strbuf_puts(&g->text, "---");
            put_end(g);
        }
        put_block(g, 0, KNOWN_MAX, 0, 0);
        put_noise(g, 0);
    }
    bool cut = chance(g, 15);
    while (cut && g->text.length && strchr("\r\n", g->text.text[g->text.length - 1]))
        g->text.text[--g->text.length] = '\0';
}

/* --- meaning --------------------------------------------------------------------------------- */

static void expect_equal(const struct config *is, const struct config *should,
                         const struct setting *setting, const char *name, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    config_print(is, setting, config_effective(is, setting, name, NULL), &a);
    config_print(should, setting, config_effective(should, setting, name, NULL), &b);
    if (strcmp(strbuf_text(&a), strbuf_text(&b)) != 0)
        fail_msg("%s of '%s' is '%s', not '%s' in:\n%s", setting->key, name ? name : "",
                 strbuf_text(&a), strbuf_text(&b), text);
}

static void expect_same(const struct config *is, const struct config *should, const char *text) {
    for (size_t i = 0; i < settings_count; i++) {
        enum setting_section section = settings[i].section;
        if (section == SECTION_ROOT)
            expect_equal(is, should, &settings[i], NULL, text);
        for (size_t n = 0; n < config_name_count(is, section); n++)
            expect_equal(is, should, &settings[i], config_name(is, section, n), text);
        for (size_t n = 0; n < config_name_count(should, section); n++)
            expect_equal(is, should, &settings[i], config_name(should, section, n), text);
    }
}

/* The configuration with these values, built without a file. */
static struct config *meaning(const struct given *g, size_t changed, const char *value) {
    struct config *config = config_new();
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    for (size_t i = 0; i < KNOWN_MAX; i++) {
        const char *v = i == changed ? value : g->values[i];
        key_of(&pool[i], &key);
        if (v)
            assert_int_equal(config_set(config, strbuf_text(&key), v, "test", NULL), 0);
    }
    return config;
}

static void expect_meaning(const struct given *g, size_t changed, const char *value,
                           const struct strbuf *text) {
    struct error err = { 0 };
    struct config *is = config_new(), *should = meaning(g, changed, value);
    if (config_read_text(is, "new.yaml", strbuf_text(text), text->length, &err) < 0)
        fail_msg("%s in:\n%s", err.text, strbuf_text(text));
    expect_same(is, should, strbuf_text(text));
    config_free(is);
    config_free(should);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* The lines of a text, each with its line end. */
struct lines {
    const char *starts[512];
    size_t sizes[512], count;
};

static void split(const struct strbuf *text, struct lines *ret) {
    const char *at = strbuf_text(text), *end = at + text->length;
    at += strncmp(at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    for (ret->count = 0; at < end; ret->count++) {
        assert_true(ret->count < ARRAY_SIZE(ret->starts));
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        ret->starts[ret->count] = at;
        ret->sizes[ret->count] = (size_t)((newline ? newline + 1 : end) - at);
        at += ret->sizes[ret->count];
    }
}

static bool same_line(const struct lines *a, size_t i, const struct lines *b, size_t k) {
    return a->sizes[i] == b->sizes[k] && memcmp(a->starts[i], b->starts[k], a->sizes[i]) == 0;
}

/* Counts the lines of the old text that remain after removing the common first and last lines. */
static size_t lines_touched(const struct strbuf *old_text, const struct strbuf *new_text) {
    struct lines old, new;
    split(old_text, &old);
    split(new_text, &new);
    size_t head = 0, tail = 0;
    while (head < old.count && head < new.count &&same_line(&old, head, &new, head))
        head++;
    while (head + tail < old.count
           && head + tail
                  < new.count &&same_line(&old, old.count - tail - 1, &new, new.count - tail - 1))
        tail++;
    return old.count - head - tail;
}

/* A value on one line changes that line; a list or block text below its key changes its lines as well. */
static void expect_lines(const struct given *g, size_t changed, const struct strbuf *new) {
    size_t most = pool[changed].is_list ? 4 : 2;
    size_t touched = lines_touched(&g->text, new);
    if (touched > most)
        fail_msg("%zu lines were touched, expected at most %zu:\n%s\nbecame:\n%s", touched, most,
                 strbuf_text(&g->text), strbuf_text(new));
}

/* A comment is removed only with its line: that of a removed key, or of a list item. */
static void expect_comments(const struct given *g, size_t changed, bool removed,
                            const struct strbuf *new) {
    unsigned lost = 0;
    for (unsigned i = 0; i < g->comments; i++) {
        char comment[32];
        (void)snprintf(comment, sizeof(comment), "# c%u,", i);
        lost += strstr(strbuf_text(&g->text), comment) && !strstr(strbuf_text(new), comment);
    }
    unsigned most = pool[changed].is_list ? 3 : removed ? 2 : 0;
    if (lost > most)
        fail_msg("%u comments were lost:\n%s\nbecame:\n%s", lost, strbuf_text(&g->text),
                 strbuf_text(new));
}

static void edit_one_key_of_a_file(uint64_t seed) {
    struct given g;
    make_file(&g, seed);
    expect_meaning(&g, KNOWN_MAX, NULL, &g.text); /* checks the generator */
    size_t changed = rng_below(&g.rng, KNOWN_MAX);
    const char *value = chance(&g, 30) ? NULL : pool[changed].values[rng_below(&g.rng, 3)];
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, new = STRBUF_INIT;
    key_of(&pool[changed], &key);
    struct config_change change = { strbuf_text(&key), value };
    struct error err = { 0 };
    if (config_edit_text("old.yaml", &g.text, &change, 1, &new, &err) < 0)
        fail_msg("%s %s in:\n%s\n%s", value ? "setting" : "removing", change.key,
                 strbuf_text(&g.text), err.text);
    expect_meaning(&g, changed, value, &new);
    expect_lines(&g, changed, &new);
    expect_comments(&g, changed, !value, &new);
    if (!value && !g.values[changed])
        assert_string_equal(strbuf_text(&new), strbuf_text(&g.text));
    strbuf_finish(&g.text);
}

TEST(an_edit_changes_one_key_and_nothing_else) {
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        edit_one_key_of_a_file(seed);
}

int main(int argc, char **argv) {
    if (argc == 2) { /* run a single seed */
        edit_one_key_of_a_file(strtoull(argv[1], NULL, 10));
        return 0;
    }
    return tests_run();
}
