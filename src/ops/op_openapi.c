/* op_openapi.c: docs/openapi.json, printed from the table. OpenAPI 3.1. */
#include <string.h>

#include "ops/print.h"
#include "taskfile/task_member.h"

void print_spelled(struct json_writer *w) {
    print_json(w, "anyOf", "[{\"type\":\"number\"},{\"type\":\"string\"}]");
}

void print_param_type(struct json_writer *w, const struct op_param *p, const char *entry) {
    static const char *const types[OP_TYPE_MAX] = {
        [OP_TEXT] = "string",     [OP_NUMBER] = "integer", [OP_DECIMAL] = "number",
        [OP_BOOLEAN] = "boolean", [OP_LIST] = "array",     [OP_OBJECT] = "object",
        [OP_ARRAY] = "array",     [OP_VALUE] = NULL,       [OP_SETTINGS] = NULL,
    };
    bool text = p->type == OP_TEXT, list = p->type == OP_LIST || p->type == OP_ARRAY;
    bool number = p->type == OP_NUMBER || p->type == OP_DECIMAL;
    if (p->spelled) {
        print_spelled(w);
        return;
    }
    if (types[p->type])
        print_text(w, "type", types[p->type]);
    if (p->min != 0 ? text || list || number : number)
        print_int(w, text ? "minLength" : list ? "minItems" : "minimum", p->min);
    if (p->max != 0 && (text || list || number))
        print_int(w, text ? "maxLength" : list ? "maxItems" : "maximum", p->max);
    if (list)
        print_json(w, "items", p->type == OP_LIST ? "{\"type\":\"string\"}" : entry);
    if (p->choices) {
        print_list(w, "enum");
        for (const char *const *c = p->choices; *c; c++)
            json_write_string(w, *c);
        json_write_array_end(w);
    }
}

static void print_schema(struct json_writer *w, const struct op_param *p) {
    json_write_object_begin(w);
    print_param_type(w, p, "{\"$ref\":\"#/components/schemas/Submission\"}");
    json_write_object_end(w);
}

static void print_parameters(struct json_writer *w, const struct op *op) {
    print_list(w, "parameters");
    for (const struct op_param *p = op->params; p && p->name; p++) {
        if (p->place == OP_IN_BODY)
            continue;
        json_write_object_begin(w);
        print_text(w, "name", p->name);
        print_text(w, "in", p->place == OP_IN_PATH ? "path" : "query");
        print_bool(w, "required", p->required);
        print_text(w, "description", p->text);
        json_write_key(w, "schema");
        print_schema(w, p);
        json_write_object_end(w);
    }
    if (op->writes) {
        json_write_object_begin(w);
        print_text(w, "name", "Idempotency-Key");
        print_text(w, "in", "header");
        print_text(w, "description", "the same key within 24 hours is done once");
        print_object(w, "schema");
        print_text(w, "type", "string");
        print_int(w, "minLength", 8);
        print_int(w, "maxLength", 128);
        json_write_object_end(w);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void print_required(struct json_writer *w, const struct op *op) {
    print_list(w, "required");
    for (const struct op_param *p = op->params; p && p->name; p++)
        if (p->place == OP_IN_BODY && p->required)
            json_write_string(w, p->name);
    json_write_array_end(w);
}

/* Members that are named by the settings table, or none. */
static void print_additional(struct json_writer *w, const struct op *op) {
    for (const struct op_param *p = op->params; p && p->name; p++)
        if (p->settings) {
            print_object(w, "additionalProperties");
            print_text(w, "description", p->text);
            json_write_object_end(w);
            return;
        }
    print_bool(w, "additionalProperties", false);
}

static void print_body(struct json_writer *w, const struct op *op) {
    if (strcmp(op->method, "POST") != 0)
        return;
    print_object(w, "requestBody");
    print_object(w, "content");
    print_object(w, "application/json");
    print_object(w, "schema");
    print_text(w, "type", "object");
    print_additional(w, op);
    print_required(w, op);
    print_object(w, "properties");
    for (const struct op_param *p = op->params; p && p->name; p++) {
        if (p->place != OP_IN_BODY || p->settings)
            continue;
        print_object(w, p->name);
        print_text(w, "description", p->text);
        print_list(w, "allOf");
        print_schema(w, p);
        json_write_array_end(w);
        json_write_object_end(w);
    }
    json_write_object_end(w);
    json_write_object_end(w);
    json_write_object_end(w);
    json_write_object_end(w);
    json_write_object_end(w);
}

/* --- answers --------------------------------------------------------------------------------- */

static void print_ref(struct json_writer *w, const char *kind, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf ref = STRBUF_INIT;
    strbuf_printf(&ref, "#/components/%s/%s", kind, name);
    print_text(w, "$ref", strbuf_text(&ref));
}

static void print_enum(struct json_writer *w, const struct words *words) {
    const char *word;
    print_text(w, "type", "string");
    print_list(w, "enum");
    for (int i = 0; (word = words_at(words, i)); i++)
        json_write_string(w, word);
    json_write_array_end(w);
}

/* The schema of one value, without the braces. */
static void print_value(struct json_writer *w, const struct shape_member *m) {
    static const char *const types[T_TYPE] = {
        [T_TEXT] = "string",  [T_ID] = "string",    [T_INT] = "integer",  [T_NUMBER] = "number",
        [T_BOOL] = "boolean", [T_TIME] = "integer", [T_SPAN] = "integer", [T_USD] = "number",
    };
    unsigned type = m->type & T_TYPE;
    if (types[type])
        print_text(w, "type", types[type]);
    if (type == T_TIME)
        print_text(w, "format", "unix-ms");
    if (type == T_WORD)
        print_ref(w, "schemas", ((const struct words *)m->of)->name);
    else if (type == T_OBJECT)
        print_ref(w, "schemas", ((const struct shape *)m->of)->name);
    else if (type == T_PAIR)
        print_json(w, "prefixItems", "[{\"type\":\"integer\"},{\"type\":\"integer\"}]");
}

static void print_member(struct json_writer *w, const struct shape_member *m) {
    bool list = m->type & T_LIST, map = m->type & T_MAP;
    print_object(w, m->name);
    print_text(w, "description", m->text);
    if (m->type & T_NULL) {
        print_list(w, "anyOf");
        json_write_object_begin(w);
    }
    if (list || map) {
        print_text(w, "type", list ? "array" : "object");
        print_object(w, list ? "items" : "additionalProperties");
    }
    print_value(w, m);
    if (list || map)
        json_write_object_end(w);
    if (m->type & T_NULL) {
        json_write_object_end(w);
        json_write_object_begin(w);
        print_text(w, "type", "null");
        json_write_object_end(w);
        json_write_array_end(w);
    }
    json_write_object_end(w);
}

/* Without the braces. Members that it does not name may come with a later version: clients ignore them. */
static void print_shape(struct json_writer *w, const struct shape *shape) {
    print_text(w, "type", "object");
    if (shape->text)
        print_text(w, "description", shape->text);
    if (shape->base) {
        print_list(w, "allOf");
        json_write_object_begin(w);
        print_ref(w, "schemas", shape->base->name);
        json_write_object_end(w);
        json_write_array_end(w);
    }
    print_list(w, "required");
    for (const struct shape_member *m = shape->members; m->name; m++)
        if (!(m->type & T_MAYBE))
            json_write_string(w, m->name);
    json_write_array_end(w);
    print_object(w, "properties");
    for (const struct shape_member *m = shape->members; m->name; m++)
        print_member(w, m);
    json_write_object_end(w);
}

static void print_content(struct json_writer *w, const struct op *op) {
    static const char *const kinds[] = {
        [OP_ANSWER_JSON] = "application/json",   [OP_ANSWER_TEXT] = "text/plain",
        [OP_ANSWER_EVENTS] = "application/json", [OP_ANSWER_LOG] = "application/octet-stream",
        [OP_ANSWER_FILE] = "application/json",
    };
    print_object(w, "content");
    print_object(w, kinds[op->answer]);
    if (op->answers) {
        print_object(w, "schema");
        if (op->answers->name)
            print_ref(w, "schemas", op->answers->name);
        else
            print_shape(w, op->answers);
        json_write_object_end(w);
    }
    json_write_object_end(w);
    json_write_object_end(w);
}

static void print_responses(struct json_writer *w, const struct op *op) {
    print_object(w, "responses");
    print_object(w, "200");
    print_text(w, "description", op->summary);
    print_content(w, op);
    json_write_object_end(w);
    print_object(w, "default");
    print_ref(w, "responses", "Error");
    json_write_object_end(w);
    json_write_object_end(w);
}

/* --- operations ------------------------------------------------------------------------------ */

static void print_operation(struct json_writer *w, const struct op *op) {
    print_object(w, strcmp(op->method, "GET") == 0 ? "get" : "post");
    print_text(w, "operationId", op->name);
    print_text(w, "summary", op->summary);
    if (op->text)
        print_text(w, "description", op->text);
    print_parameters(w, op);
    print_body(w, op);
    print_responses(w, op);
    json_write_object_end(w);
}

/* All methods of one path stand together, where the first of them is. */
static void print_paths(struct json_writer *w) {
    print_object(w, "paths");
    for (const struct op *const *op = op_table; *op; op++) {
        const struct op *const *first = op_table;
        while (strcmp((*first)->path, (*op)->path) != 0)
            first++;
        if (first != op)
            continue;
        print_object(w, (*op)->path);
        for (const struct op *const *other = op; *other; other++)
            if (strcmp((*other)->path, (*op)->path) == 0)
                print_operation(w, *other);
        json_write_object_end(w);
    }
    json_write_object_end(w);
}

static void print_named_words(const struct words *words, void *ctx) {
    print_object(ctx, words->name);
    print_enum(ctx, words);
    json_write_object_end(ctx);
}

static void print_named_shape(const struct shape *shape, void *ctx) {
    print_object(ctx, shape->name);
    print_shape(ctx, shape);
    json_write_object_end(ctx);
}

static void print_components(struct json_writer *w) {
    print_object(w, "components");
    print_object(w, "schemas");
    print_object(w, "Submission");
    print_text(w, "type", "object");
    print_bool(w, "additionalProperties", false);
    print_object(w, "properties");
    for (size_t i = 0; i < task_member_count; i++) {
        json_write_key(w, task_members[i].name);
        print_member_schema(w, &task_members[i]);
    }
    json_write_object_end(w);
    json_write_object_end(w);
    words_each(print_named_words, w);
    shape_each(print_named_shape, w);
    json_write_object_end(w);
    print_json(w, "responses",
               "{\"Error\":{\"description\":\"nothing has "
               "happened\",\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/"
               "schemas/Error\"}}}}}");
    json_write_object_end(w);
}

void op_print_openapi(struct strbuf *out, const char *version) {
    struct json_writer w;
    json_write_init(&w, out, true);
    json_write_object_begin(&w);
    print_text(&w, "openapi", "3.1.0");
    print_object(&w, "info");
    print_text(&w, "title", "Sluice");
    print_text(&w, "version", version);
    print_text(&w, "description", "Made from the table of operations; do not edit.");
    json_write_object_end(&w);
    print_paths(&w);
    print_components(&w);
    json_write_object_end(&w);
    strbuf_putc(out, '\n');
}
