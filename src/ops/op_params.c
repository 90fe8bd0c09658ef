/* op_params.c: the parameters of a request, from its path, query and body.
 *
 * Everything is checked against the rows of the operation before its function is called, so
 * operations do not check types. The message for an unknown name suggests the nearest one. Messages
 * quote only a readable length of the client's text. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "config/settings.h"
#include "ops/op_internal.h"
#include "os/clock.h"
#include "os/moment.h"

const json_t *op_json(const struct op_call *call, const char *name) {
    return json_object_get(call->params, name);
}

const char *op_text(const struct op_call *call, const char *name) {
    return json_string_value(op_json(call, name));
}

int64_t op_number(const struct op_call *call, const char *name, int64_t otherwise) {
    const json_t *value = op_json(call, name);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

bool op_flag(const struct op_call *call, const char *name) {
    return json_is_true(op_json(call, name));
}

/* --- the rows -------------------------------------------------------------------------------- */

/* The name of a setting under `prefix`; NULL: it is elsewhere. */
static const char *setting_suffix(const char *prefix, const struct setting *setting) {
    size_t size = strlen(prefix);
    return strncmp(setting->key, prefix, size) == 0 ? setting->key + size : NULL;
}

static bool is_setting_under(const char *prefix, const char *name) {
    for (size_t i = 0; i < settings_count; i++) {
        const char *known = setting_suffix(prefix, &settings[i]);
        if (known && strcmp(known, name) == 0)
            return true;
    }
    return false;
}

const struct op_param *op_find_param(const struct op *op, const char *name) {
    for (const struct op_param *p = op->params; p && p->name; p++)
        if (p->settings ? is_setting_under(p->settings, name) : strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

const char *const op_place_names[OP_PLACE_MAX] = {
    [OP_IN_PATH] = "path",
    [OP_IN_QUERY] = "query",
    [OP_IN_BODY] = "body",
};

static int refuse_unknown(const struct op *op, const char *name, struct error *err) {
    const struct op_param *elsewhere = op_find_param(op, name);
    if (elsewhere)
        return error_set(err, -EINVAL, "parameter '%s' belongs into the %s", utf8_quote(name).text,
                         op_place_names[elsewhere->place]);
    struct nearest nearest = nearest_to(name);
    for (const struct op_param *p = op->params; p && p->name; p++)
        if (p->settings) {
            for (size_t i = 0; i < settings_count; i++) {
                const char *known = setting_suffix(p->settings, &settings[i]);
                if (known)
                    nearest_offer(&nearest, known);
            }
        } else if (p->place != OP_IN_PATH)
            nearest_offer(&nearest, p->name);
    if (nearest.best)
        return error_set(err, -EINVAL, "unknown parameter '%s'; did you mean '%s'?",
                         utf8_quote(name).text, nearest.best);
    return error_set(err, -EINVAL, "unknown parameter '%s' of %s", utf8_quote(name).text, op->name);
}

#define IS(type_) (1u << JSON_##type_)
#define IS_NUMBER (IS(INTEGER) | IS(REAL))
#define IS_BOOL   (IS(TRUE) | IS(FALSE))

/* What a message expects, the JSON types that are allowed, and the largest number, length or count
 * if the row has none. */
static const struct {
    const char *expected;
    unsigned allowed;
    int64_t max;
} types[OP_TYPE_MAX] = {
    [OP_TEXT] = { "a text", IS(STRING), OP_TEXT_MAX },
    [OP_NUMBER] = { "a whole number", IS(INTEGER), INT64_MAX },
    [OP_DECIMAL] = { "a number", IS_NUMBER, INT64_MAX },
    [OP_BOOLEAN] = { "true or false", IS_BOOL, 0 },
    [OP_LIST] = { "a list of texts", IS(ARRAY), OP_LIST_MAX },
    [OP_OBJECT] = { "an object", IS(OBJECT), OP_LIST_MAX },
    [OP_ARRAY] = { "a list", IS(ARRAY), OP_LIST_MAX },
    [OP_VALUE] = { "a text, a number, or true or false", IS(STRING) | IS_NUMBER | IS_BOOL,
                   OP_TEXT_MAX },
    [OP_SETTINGS] = { "a text, a number, or true or false", IS(STRING) | IS_NUMBER | IS_BOOL,
                      OP_TEXT_MAX },
};

static int64_t max_of(const struct op_param *p) {
    return p->max != 0 ? p->max : types[p->type].max;
}

static int refuse_type(const struct op_param *p, struct error *err) {
    return error_set(err, -EINVAL, "parameter '%s' must be %s", p->name, types[p->type].expected);
}

static int refuse_range(const struct op_param *p, const char *unit, struct error *err) {
    if (p->max == 0 && p->type == OP_NUMBER)
        return error_set(err, -ERANGE, "parameter '%s' must be at least %" PRId64, p->name, p->min);
    return error_set(err, -ERANGE, "parameter '%s' must be from %" PRId64 " to %" PRId64 "%s",
                     p->name, p->min, max_of(p), unit);
}

/* `what`: "parameter", or an entry of it, for the message. */
static int check_text(const struct op_param *p, const char *what, const json_t *value, int64_t most,
                      struct error *err) {
    size_t size = json_string_length(value);
    if (size == 0 && p->min > 0)
        return error_set(err, -EINVAL, "%s '%s' is empty", what, p->name);
    if ((int64_t)size > most)
        return error_set(err, -ERANGE, "%s '%s' has %zu bytes; maximum is %" PRId64, what, p->name,
                         size, most);
    if (p->lines && strlen(json_string_value(value)) < size)
        return error_set(err, -EINVAL, "%s '%s' has a NUL in it", what, p->name);
    if (!p->lines && !utf8_is_line(json_string_value(value), json_string_length(value)))
        return error_set(err, -EINVAL, "%s '%s' has a control character in it", what, p->name);
    return 0;
}

static int check_choice(const struct op_param *p, const char *text, struct error *err) {
    if (!p->choices)
        return 0;
    for (const char *const *c = p->choices; *c; c++)
        if (strcmp(*c, text) == 0)
            return 0;
    _cleanup_(strbuf_finish) struct strbuf list = STRBUF_INIT;
    struct nearest nearest = nearest_to(text);
    for (const char *const *c = p->choices; *c; c++) {
        strbuf_printf(&list, "%s%s", c == p->choices ? "" : c[1] ? ", " : " or ", *c);
        nearest_offer(&nearest, *c);
    }
    return error_set(err, -EINVAL, "parameter '%s' is '%s'; expected %s%s%s%s", p->name,
                     utf8_quote(text).text, strbuf_text(&list),
                     nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
                     nearest.best ? "'?" : "");
}

static int check_count(const struct op_param *p, size_t count, struct error *err) {
    if ((int64_t)count < p->min && count == 0)
        return error_set(err, -EINVAL, "parameter '%s' is empty", p->name);
    return (int64_t)count < p->min || (int64_t)count > max_of(p) ? refuse_range(p, " entries", err)
                                                                 : 0;
}

static int check_list(const struct op_param *p, const json_t *list, struct error *err) {
    struct op_param entry = *p;
    entry.min = 1;
    int r = check_count(p, json_array_size(list), err);
    for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        r = json_is_string(value) ? check_text(&entry, "an entry of", value, OP_TEXT_MAX, err)
                                  : refuse_type(p, err);
    }
    return r;
}

static int check_value(const struct op_param *p, const json_t *value, struct error *err) {
    if (!(types[p->type].allowed >> json_typeof(value) & 1))
        return refuse_type(p, err);
    if (p->type == OP_LIST)
        return check_list(p, value, err);
    if (json_is_array(value) || json_is_object(value))
        return check_count(p, json_array_size(value) + json_object_size(value), err);
    if (json_is_string(value)) {
        int r = check_text(p, "parameter", value, max_of(p), err);
        return r < 0 ? r : check_choice(p, json_string_value(value), err);
    }
    int64_t whole = json_integer_value(value);
    double number = json_number_value(value);
    if (p->type == OP_NUMBER
            ? whole < p->min || whole > max_of(p)
            : p->type == OP_DECIMAL && (number < (double)p->min || number > (double)max_of(p)))
        return refuse_range(p, "", err);
    return 0;
}

/* "30m" becomes 1800, which is then checked like any number. Times in a query are in the past. */
static int take_spelled(const struct op_param *p, const char *name, json_t *params, json_t **value,
                        struct error *err) {
    struct task_member m = { .name = name, .kind = p->spelled };
    struct task_source source = { .now = clock_read() };
    const char *text = json_string_value(*value);
    json_t *number = NULL;
    time_ms at = 0;
    if (p->spelled != MEMBER_MOMENT || p->place != OP_IN_QUERY) {
        int r = task_member_check(&m, name, *value, &source, &number, err);
        if (r < 0)
            return error_prefix(err, "parameter '%s'", name);
    } else if (moment_parse_past(text, source.now, &at, NULL) == 0) {
        number = json_integer(at);
    } else {
        return error_set(err, -EINVAL,
                         "parameter '%s': expected a past time like 12h, 18:30 or 2027-01-31, got "
                         "'%s'",
                         name, utf8_quote(text).text);
    }
    (void)json_object_set_new(params, name, number);
    *value = number;
    return 0;
}

int op_check(const struct op *op, json_t *params, struct error *err) {
    const char *name;
    json_t *value;
    json_object_foreach(params, name, value) {
        const struct op_param *p = op_find_param(op, name);
        if (!p && strcmp(name, OP_BODY) == 0)
            continue;
        if (!p)
            return refuse_unknown(op, name, err);
        struct op_param named = *p;
        named.name = name;
        int r =
            p->spelled && json_is_string(value) ? take_spelled(p, name, params, &value, err) : 0;
        if (r == 0)
            r = check_value(&named, value, err);
        if (r < 0)
            return r;
    }
    for (const struct op_param *p = op->params; p && p->name; p++)
        if (p->required && !json_object_get(params, p->name))
            return error_set(err, -EINVAL, "parameter '%s' is missing: %s", p->name, p->text);
    return 0;
}

/* --- from a query string --------------------------------------------------------------------- */

/* Converts a query value to the type of its row; NULL with a message. */
static json_t *json_of_query(const struct op_param *p, const struct strbuf *text,
                             struct error *err) {
    int64_t number;
    switch (p->type) {
    case OP_NUMBER:
        if (number_parse_int(strbuf_text(text), &number, NULL) == 0)
            return json_integer(number);
        if (p->spelled) /* op_check reads it */
            return json_string(strbuf_text(text));
        break;
    case OP_BOOLEAN:
        if (strcmp(strbuf_text(text), "true") == 0)
            return json_true();
        if (strcmp(strbuf_text(text), "false") == 0)
            return json_false();
        break;
    case OP_TEXT:
    case OP_VALUE:
    case OP_SETTINGS:
        return json_stringn_nocheck(strbuf_text(text), text->length);
    case OP_DECIMAL: /* not used in queries */
    case OP_LIST:
    case OP_OBJECT:
    case OP_ARRAY:
    case OP_TYPE_MAX:
        break;
    }
    (void)refuse_type(p, err);
    return NULL;
}

struct pair_source {
    const char *name; /* for messages */
    enum op_place place;
};

static int take_pair(const struct op *op, const struct pair_source *source, const char *pair,
                     size_t size, json_t *params, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT, text = STRBUF_INIT;
    const char *equals = memchr(pair, '=', size);
    size_t name_size = equals ? (size_t)(equals - pair) : size;
    size_t text_size = equals ? size - name_size - 1 : 0;
    if (utf8_decode_percent(pair, name_size, true, &name) < 0
        || (equals && utf8_decode_percent(equals + 1, text_size, true, &text) < 0))
        return error_set(err, -EINVAL, "the %s is not text: %%XX must be bytes of UTF-8",
                         source->name);
    const struct op_param *p = op_find_param(op, strbuf_text(&name));
    if (!p || p->place != source->place)
        return refuse_unknown(op, strbuf_text(&name), err);
    if (json_object_get(params, p->name))
        return error_set(err, -EINVAL, "parameter '%s' is given twice", p->name);
    if (text.length == 0)
        return error_set(err, -EINVAL, "parameter '%s' is empty; leave it out", p->name);
    json_t *value = json_of_query(p, &text, err);
    if (!value)
        return -EINVAL;
    (void)json_object_set_new(params, p->name, value);
    return 0;
}

static int take_pairs(const struct op *op, const struct pair_source *source, const char *text,
                      json_t *params, struct error *err) {
    int r = 0;
    while (r == 0 && text && *text) {
        size_t size = strcspn(text, "&");
        if (size > 0)
            r = take_pair(op, source, text, size, params, err);
        text += size + (text[size] == '&');
    }
    return r;
}

int op_take_query(const struct op *op, const char *query, json_t *params, struct error *err) {
    static const struct pair_source source = { "query", OP_IN_QUERY };
    return take_pairs(op, &source, query, params, err);
}

int op_take_form(const struct op *op, const char *body, size_t size, json_t *params,
                 struct error *err) {
    static const struct pair_source source = { "form", OP_IN_BODY };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_add(&text, body, size);
    if (strlen(strbuf_text(&text)) != size)
        return error_set(err, -EINVAL, "the form has a NUL in it");
    return take_pairs(op, &source, strbuf_text(&text), params, err);
}

/* --- from a body ----------------------------------------------------------------------------- */

/* Nesting depth, checked before jansson, which recurses. */
static unsigned nesting(const char *body, size_t size) {
    unsigned depth = 0, deepest = 0;
    for (size_t i = 0; i < size; i++) {
        switch (body[i]) {
        case '"':
            for (i++; i < size && body[i] != '"'; i++)
                i += body[i] == '\\';
            break;
        case '{':
        case '[':
            depth++;
            deepest = depth > deepest ? depth : deepest;
            break;
        case '}':
        case ']':
            depth -= depth > 0;
            break;
        default:
            break;
        }
    }
    return deepest;
}

static int refuse_json(json_error_t *why, struct error *err) {
    enum json_error_code code = json_error_code(why);
    const char *what = why->text;
    if (code == json_error_null_character || code == json_error_null_byte_in_key)
        what = "a text has a NUL in it";
    else if (code == json_error_duplicate_key)
        what = "a member is there twice";
    char *near = strstr(why->text, " near "); /* the rest is the client's text */
    if (near)
        *near = '\0';
    return error_set(err, -EINVAL, "the body is not JSON: line %d, column %d: %s", why->line,
                     why->column, utf8_quote(what).text);
}

static int parse_body(const char *body, size_t size, json_t **ret_object, struct error *err) {
    json_error_t why;
    json_t *object = json_read(body, size, OP_DEPTH_MAX);
    if (!object && nesting(body, size) > OP_DEPTH_MAX)
        return error_set(err, -EINVAL, "the body nests deeper than %d levels", OP_DEPTH_MAX);
    if (!object)
        object = json_loadb(body, size, JSON_REJECT_DUPLICATES, &why);
    if (!object)
        return refuse_json(&why, err);
    if (!json_is_object(object)) {
        json_decref(object);
        return error_set(err, -EINVAL, "the body must be a JSON object");
    }
    *ret_object = object;
    return 0;
}

int op_take_body(const struct op *op, const char *body, size_t size, json_t *params,
                 struct error *err) {
    if (size == 0)
        return 0;
    json_t *object = NULL;
    int r = parse_body(body, size, &object, err);
    if (r < 0)
        return r;
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
        const struct op_param *p = op_find_param(op, name);
        if (!p || p->place != OP_IN_BODY) {
            r = refuse_unknown(op, name, err);
            break;
        }
        if (json_is_null(value) && !p->required)
            continue; /* null is "not given" */
        (void)json_object_set(params, name, value);
        if (p->type == OP_ARRAY)
            (void)json_object_set_new(params, OP_BODY, json_stringn_nocheck(body, size));
    }
    json_decref(object);
    return r;
}
