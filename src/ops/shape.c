/* shape.c: walks over shapes; compares an answer with its own; examples and TypeScript. */
#include "ops/shape.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/state_look.h"
#include "ops/print.h"
#include "os/log.h"

const char *words_at(const struct words *words, int index) {
    return words->list ? words->list[index] : words->at(words->first + index);
}

static bool has_word(const struct words *words, const char *word) {
    const char *known;
    for (int i = 0; (known = words_at(words, i)); i++)
        if (strcmp(known, word) == 0)
            return true;
    return false;
}

void shape_name_of(const char *op, struct strbuf *out) {
    for (bool begins = true; *op; op++) {
        if (*op != '.')
            strbuf_putc(out, (char)(begins ? toupper((unsigned char)*op) : *op));
        begins = *op == '.';
    }
}

/* --- every shape once ------------------------------------------------------------------------ */

#define SEEN_MAX 200

struct walk {
    const void *seen[SEEN_MAX];
    size_t count;
    void (*each_shape)(const struct shape *shape, void *ctx);
    void (*each_words)(const struct words *words, void *ctx);
    void *ctx;
};

static bool is_new(struct walk *walk, const void *what) {
    for (size_t i = 0; i < walk->count; i++)
        if (walk->seen[i] == what)
            return false;
    assert(walk->count < SEEN_MAX);
    walk->seen[walk->count++] = what;
    return true;
}

static void walk_words(struct walk *walk, const struct words *words) {
    if (words->name && is_new(walk, words) && walk->each_words)
        walk->each_words(words, walk->ctx);
}

static void walk_shape(struct walk *walk,
                       const struct shape *shape) { /* NOLINT(misc-no-recursion) */
    if (!shape || !is_new(walk, shape))
        return;
    walk_shape(walk, shape->base);
    for (const struct shape_member *m = shape->members; m->name; m++) {
        if ((m->type & T_TYPE) == T_OBJECT)
            walk_shape(walk, m->of);
        else if (m->of && (m->type & T_TYPE) != T_TEXT)
            walk_words(walk, m->of);
    }
    if (shape->name && walk->each_shape)
        walk->each_shape(shape, walk->ctx);
}

static void walk_all(struct walk *walk) {
    for (const struct op *const *op = op_table; *op; op++)
        walk_shape(walk, (*op)->answers);
    walk_shape(walk, &shape_error);
}

void shape_each(void (*each)(const struct shape *shape, void *ctx), void *ctx) {
    walk_all(&(struct walk){ .each_shape = each, .ctx = ctx });
}

void words_each(void (*each)(const struct words *words, void *ctx), void *ctx) {
    walk_all(&(struct walk){ .each_words = each, .ctx = ctx });
}

/* --- is an answer of its shape? -------------------------------------------------------------- */

static const struct shape_member *find(const struct shape *shape, const char *name) {
    for (; shape; shape = shape->base)
        for (const struct shape_member *m = shape->members; m->name; m++)
            if (strcmp(m->name, name) == 0)
                return m;
    return NULL;
}

static int refuse(struct error *err, const char *name, const char *what) {
    return error_set(err, -EPROTO, "member '%s' %s", name, what);
}

static int check_one(const struct shape_member *m, const json_t *value, struct error *err) {
    bool good = false;
    switch (m->type & T_TYPE) {
    case T_TEXT:
    case T_ID:
        good = json_is_string(value);
        break;
    case T_INT:
    case T_TIME:
    case T_SPAN:
        good = json_is_integer(value);
        break;
    case T_NUMBER:
    case T_USD:
        good = json_is_number(value);
        break;
    case T_BOOL:
        good = json_is_boolean(value);
        break;
    case T_WORD:
        good = json_is_string(value) && has_word(m->of, json_string_value(value));
        break;
    case T_OBJECT:
        return shape_check(m->of, value, err) < 0 ? error_prefix(err, "%s", m->name) : 0;
    case T_PAIR:
        good = json_array_size(value) == 2 && json_is_integer(json_array_get(value, 0))
               && json_is_integer(json_array_get(value, 1));
        break;
    case T_JSON:
        good = true;
        break;
    default:
        break;
    }
    return good ? 0 : refuse(err, m->name, "has a value that its type does not allow");
}

static int check_member(const struct shape_member *m, json_t *value, struct error *err) {
    const char *key;
    json_t *entry;
    size_t i;
    int r = 0;
    if (json_is_null(value))
        return m->type & T_NULL ? 0 : refuse(err, m->name, "is null");
    if (m->type & T_LIST) {
        if (!json_is_array(value))
            return refuse(err, m->name, "is not a list");
        json_array_foreach(value, i, entry) {
            r = r < 0 ? r : check_one(m, entry, err);
        }
        return r;
    }
    if (!(m->type & T_MAP))
        return check_one(m, value, err);
    if (!json_is_object(value))
        return refuse(err, m->name, "is not an object");
    json_object_foreach(value, key, entry) {
        if (m->of && !has_word(m->of, key))
            return refuse(err, m->name, "has a member that it does not know");
        r = r < 0 ? r : check_one(m, entry, err);
    }
    return r;
}

int shape_check(const struct shape *shape, const json_t *value, struct error *err) {
    const char *name;
    json_t *entry;
    if (!json_is_object(value))
        return error_set(err, -EPROTO, "not an object");
    json_object_foreach((json_t *)value, name, entry) {
        const struct shape_member *m = find(shape, name);
        int r = m ? check_member(m, entry, err) : refuse(err, name, "is in no row of its shape");
        if (r < 0)
            return r;
    }
    for (; shape; shape = shape->base)
        for (const struct shape_member *m = shape->members; m->name; m++)
            if (!(m->type & T_MAYBE) && !json_object_get(value, m->name))
                return refuse(err, m->name, "is missing");
    return 0;
}

static int checks_fd = -1;

void op_check_answers(int fd) {
    checks_fd = fd;
}

static bool is_seen(const char *name) {
    static const char *seen[SEEN_MAX];
    size_t i = 0;
    while (i < SEEN_MAX - 1 && seen[i] && seen[i] != name)
        i++;
    bool known = seen[i] == name;
    seen[i] = name;
    return known;
}

void shape_report(const struct shape *shape, const char *name, const struct strbuf *answer) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    struct error err = { 0 };
    if (checks_fd < 0)
        return;
    json_t *value = json_loadb(answer->text, answer->length, JSON_REJECT_DUPLICATES, NULL);
    if (shape_check(shape, value, &err) < 0)
        strbuf_printf(&line, "bad %s: %s\n", name, err.text);
    else if (!is_seen(name))
        strbuf_printf(&line, "seen %s\n", name);
    json_decref(value);
    if (line.length > 0 && write(checks_fd, line.text, line.length) < 0)
        log_warning("%s: %s", strbuf_text(&line), strerror(errno));
}

/* --- examples -------------------------------------------------------------------------------- */

static void print_sample(struct json_writer *w, const struct shape_member *m) {
    static const char *const plain[T_TYPE] = {
        [T_ID] = "\"web-17\"",           [T_INT] = "1",      [T_NUMBER] = "0.5", [T_BOOL] = "true",
        [T_TIME] = "1760000000000",      [T_SPAN] = "60000", [T_USD] = "1.25",   [T_JSON] = "{}",
        [T_PAIR] = "[1760000000000,11]",
    };
    unsigned type = m->type & T_TYPE;
    if (m->type & T_NULL && !(type == T_TEXT && m->of)) {
        json_write_null(w);
    } else if (type == T_OBJECT) {
        shape_print_example(m->of, w->out);
        w->after_key = false;
    } else if (type == T_WORD) {
        json_write_string(w, words_at(m->of, 0));
    } else if (type == T_TEXT) {
        json_write_string(w, m->of ? m->of : "…");
    } else {
        strbuf_puts(w->out, plain[type]);
        w->after_key = false;
    }
}

static void print_members(struct json_writer *w, const struct shape *shape) {
    if (shape->base)
        print_members(w, shape->base);
    for (const struct shape_member *m = shape->members; m->name; m++) {
        if (m->type & T_MAYBE)
            continue;
        json_write_key(w, m->name);
        if (m->type & T_MAP && m->type & T_NULL) {
            json_write_null(w);
            continue;
        }
        if (m->type & T_LIST)
            json_write_array_begin(w);
        else if (m->type & T_MAP)
            json_write_object_begin(w);
        if (m->type & T_MAP && (m->type & T_TYPE) != T_JSON)
            json_write_key(w, m->of ? words_at(m->of, 0) : "implement");
        if (!(m->type & T_MAP) || (m->type & T_TYPE) != T_JSON)
            print_sample(w, m);
        if (m->type & T_LIST)
            json_write_array_end(w);
        else if (m->type & T_MAP)
            json_write_object_end(w);
    }
}

void shape_print_example(const struct shape *shape, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_object_begin(&w);
    print_members(&w, shape);
    json_write_object_end(&w);
}

/* --- TypeScript ------------------------------------------------------------------------------ */

static void print_type(const struct shape_member *m, struct strbuf *out) {
    static const char *const plain[T_TYPE] = {
        [T_TEXT] = "string",           [T_ID] = "string",    [T_INT] = "number",
        [T_NUMBER] = "number",         [T_BOOL] = "boolean", [T_TIME] = "number",
        [T_SPAN] = "number",           [T_USD] = "number",   [T_JSON] = "unknown",
        [T_PAIR] = "[number, number]",
    };
    unsigned type = m->type & T_TYPE;
    const char *name = type == T_OBJECT ? ((const struct shape *)m->of)->name
                       : type == T_WORD ? ((const struct words *)m->of)->name
                                        : plain[type];
    if (m->type & T_MAP)
        strbuf_printf(out, "Record<%s, %s>",
                      m->of && type == T_INT ? ((const struct words *)m->of)->name : "string",
                      name);
    else
        strbuf_printf(out, "%s%s", name, m->type & T_LIST ? "[]" : "");
    if (m->type & T_NULL)
        strbuf_puts(out, " | null");
}

static void print_interface(const char *name, const struct shape *shape, struct strbuf *out) {
    strbuf_printf(out, "\nexport interface %s", name);
    if (shape->base)
        strbuf_printf(out, " extends %s", shape->base->name);
    strbuf_puts(out, " {\n");
    for (const struct shape_member *m = shape->members; m->name; m++) {
        strbuf_printf(out, "    /** %s */\n    %s%s: ", m->text, m->name,
                      m->type & T_MAYBE ? "?" : "");
        print_type(m, out);
        strbuf_puts(out, ";\n");
    }
    strbuf_puts(out, "}\n");
}

static void print_words_type(const struct words *words, void *ctx) {
    const char *word;
    strbuf_printf(ctx, "\nexport type %s = ", words->name);
    for (int i = 0; (word = words_at(words, i)); i++)
        strbuf_printf(ctx, "%s'%s'", i ? " | " : "", word);
    strbuf_puts(ctx, ";\n");
}

static void print_shape_type(const struct shape *shape, void *ctx) {
    strbuf_printf(ctx, "\n/** %s */", shape->text);
    print_interface(shape->name, shape, ctx);
}

/* The symbols of states; their colours are in states.css. */
static void print_looks(struct strbuf *out) {
    strbuf_puts(
        out, "\n/** How a state looks; `outline` and `solid` are SVG paths in a box of 16 x 16 */\n"
             "export interface Look {\n    outline: string;\n    solid: string;\n"
             "    heavy: boolean;\n    dashed: boolean;\n}\n"
             "\nexport const LOOKS: Record<State, Look> = {\n");
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++) {
        const struct state_look *look = state_look((enum task_state)s);
        strbuf_printf(out, "    %s: { outline: '%s', solid: '%s', heavy: %s, dashed: %s },\n",
                      task_state_name((enum task_state)s), look->outline, look->solid,
                      look->heavy ? "true" : "false", look->dashed ? "true" : "false");
    }
    strbuf_puts(out, "};\n");
}

static void print_colors(struct strbuf *out, const char *selector, bool dark) {
    strbuf_printf(out, "%s {", selector);
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++) {
        const struct state_look *look = state_look((enum task_state)s);
        strbuf_printf(out, " --%s: %s;", task_state_name((enum task_state)s),
                      dark ? look->dark : look->light);
    }
    strbuf_puts(out, " }\n");
}

void op_print_css(struct strbuf *out) {
    strbuf_puts(out, "/* states.css: the colours of states. Made from the table of their looks by "
                     "`make docs`; do not edit. */\n");
    print_colors(out, ":root", false);
    strbuf_puts(out, "@media (prefers-color-scheme: dark) {\n");
    print_colors(out, "    :root:not([data-theme=\"light\"])", true);
    strbuf_puts(out, "}\n");
    print_colors(out, ":root[data-theme=\"dark\"]", true);
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++) {
        const char *name = task_state_name((enum task_state)s);
        strbuf_printf(out, ".s-%s { color: var(--%s); }\n", name, name);
    }
}

void op_print_typescript(struct strbuf *out) {
    strbuf_puts(out, "// types.ts: what the daemon answers. Made from the shapes of its operations "
                     "by `make docs`; do not edit.\n");
    strbuf_puts(out, "\n/** A page of any list */\nexport interface Page<T> {\n    items: T[];\n   "
                     " next: string | null;\n}\n");
    words_each(print_words_type, out);
    print_looks(out);
    shape_each(print_shape_type, out);
    for (const struct op *const *op = op_table; *op; op++) {
        _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
        if (!(*op)->answers || (*op)->answers->name)
            continue;
        shape_name_of((*op)->name, &name);
        strbuf_printf(out, "\n/** %s %s */", (*op)->method, (*op)->path);
        print_interface(strbuf_text(&name), (*op)->answers, out);
    }
}
