/* op_openapi.c: docs/openapi.json, printed from the table. OpenAPI 3.1. */
#include <string.h>

#include "ops/print.h"
#include "taskfile/task_member.h"

static void print_schema(struct json_writer *w, const struct op_param *p) {
    static const char *const types[OP_TYPE_MAX] = {
        [OP_TEXT] = "string",     [OP_NUMBER] = "integer", [OP_DECIMAL] = "number",
        [OP_BOOLEAN] = "boolean", [OP_LIST] = "array",     [OP_OBJECT] = "object",
        [OP_ARRAY] = "array",     [OP_VALUE] = NULL,       [OP_SETTINGS] = NULL,
    };
    bool text = p->type == OP_TEXT, list = p->type == OP_LIST || p->type == OP_ARRAY;
    bool number = p->type == OP_NUMBER || p->type == OP_DECIMAL;
    json_write_object_begin(w);
    if (types[p->type])
        print_text(w, "type", types[p->type]);
    if (p->min != 0 || number)
        print_int(w, text ? "minLength" : list ? "minItems" : "minimum", p->min);
    if (p->max != 0 && p->type != OP_OBJECT && p->type != OP_VALUE && p->type != OP_SETTINGS)
        print_int(w, text ? "maxLength" : list ? "maxItems" : "maximum", p->max);
    if (list) {
        json_write_key(w, "items");
        json_write_object_begin(w);
        if (p->type == OP_LIST)
            print_text(w, "type", "string");
        else
            print_text(w, "$ref", "#/components/schemas/Submission");
        json_write_object_end(w);
    }
    if (p->choices) {
        json_write_key(w, "enum");
        json_write_array_begin(w);
        for (const char *const *c = p->choices; *c; c++)
            json_write_string(w, *c);
        json_write_array_end(w);
    }
    json_write_object_end(w);
}

static void print_parameters(struct json_writer *w, const struct op *op) {
    json_write_key(w, "parameters");
    json_write_array_begin(w);
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
        json_write_key(w, "schema");
        json_write_object_begin(w);
        print_text(w, "type", "string");
        print_int(w, "minLength", 8);
        print_int(w, "maxLength", 128);
        json_write_object_end(w);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void print_required(struct json_writer *w, const struct op *op) {
    json_write_key(w, "required");
    json_write_array_begin(w);
    for (const struct op_param *p = op->params; p && p->name; p++)
        if (p->place == OP_IN_BODY && p->required)
            json_write_string(w, p->name);
    json_write_array_end(w);
}

/* Members that are named by the settings table, or none. */
static void print_additional(struct json_writer *w, const struct op *op) {
    for (const struct op_param *p = op->params; p && p->name; p++)
        if (p->settings) {
            json_write_key(w, "additionalProperties");
            json_write_object_begin(w);
            print_text(w, "description", p->text);
            json_write_object_end(w);
            return;
        }
    print_bool(w, "additionalProperties", false);
}

static void print_body(struct json_writer *w, const struct op *op) {
    if (strcmp(op->method, "POST") != 0)
        return;
    json_write_key(w, "requestBody");
    json_write_object_begin(w);
    json_write_key(w, "content");
    json_write_object_begin(w);
    json_write_key(w, "application/json");
    json_write_object_begin(w);
    json_write_key(w, "schema");
    json_write_object_begin(w);
    print_text(w, "type", "object");
    print_additional(w, op);
    print_required(w, op);
    json_write_key(w, "properties");
    json_write_object_begin(w);
    for (const struct op_param *p = op->params; p && p->name; p++) {
        if (p->place != OP_IN_BODY || p->settings)
            continue;
        json_write_key(w, p->name);
        json_write_object_begin(w);
        print_text(w, "description", p->text);
        json_write_key(w, "allOf");
        json_write_array_begin(w);
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

static void print_content(struct json_writer *w, const struct op *op) {
    static const char *const kinds[] = {
        [OP_ANSWER_JSON] = "application/json",   [OP_ANSWER_TEXT] = "text/plain",
        [OP_ANSWER_EVENTS] = "application/json", [OP_ANSWER_LOG] = "application/octet-stream",
        [OP_ANSWER_FILE] = "application/json",
    };
    json_write_key(w, "content");
    json_write_object_begin(w);
    json_write_key(w, kinds[op->answer]);
    json_write_object_begin(w);
    if (op->result)
        print_json(w, "example", op->result);
    json_write_object_end(w);
    json_write_object_end(w);
}

static void print_responses(struct json_writer *w, const struct op *op) {
    json_write_key(w, "responses");
    json_write_object_begin(w);
    json_write_key(w, "200");
    json_write_object_begin(w);
    print_text(w, "description", op->summary);
    print_content(w, op);
    json_write_object_end(w);
    json_write_key(w, "default");
    json_write_object_begin(w);
    print_text(w, "$ref", "#/components/responses/Error");
    json_write_object_end(w);
    json_write_object_end(w);
}

static void print_operation(struct json_writer *w, const struct op *op) {
    json_write_key(w, strcmp(op->method, "GET") == 0 ? "get" : "post");
    json_write_object_begin(w);
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
    json_write_key(w, "paths");
    json_write_object_begin(w);
    for (const struct op *const *op = op_table; *op; op++) {
        const struct op *const *first = op_table;
        while (strcmp((*first)->path, (*op)->path) != 0)
            first++;
        if (first != op)
            continue;
        json_write_key(w, (*op)->path);
        json_write_object_begin(w);
        for (const struct op *const *other = op; *other; other++)
            if (strcmp((*other)->path, (*op)->path) == 0)
                print_operation(w, *other);
        json_write_object_end(w);
    }
    json_write_object_end(w);
}

static void print_components(struct json_writer *w) {
    json_write_key(w, "components");
    json_write_object_begin(w);
    json_write_key(w, "schemas");
    json_write_object_begin(w);
    json_write_key(w, "Submission");
    json_write_object_begin(w);
    print_text(w, "type", "object");
    print_bool(w, "additionalProperties", false);
    json_write_key(w, "properties");
    json_write_object_begin(w);
    for (size_t i = 0; i < task_member_count; i++) {
        json_write_key(w, task_members[i].name);
        print_member_schema(w, &task_members[i]);
    }
    json_write_object_end(w);
    json_write_object_end(w);
    json_write_object_end(w);
    print_json(
        w, "responses",
        "{\"Error\":{\"description\":\"nothing has happened\",\"content\":{\"application/json\":{"
        "\"schema\":{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{"
        "\"type\":\"object\",\"required\":[\"code\",\"message\"],\"properties\":{\"code\":{"
        "\"type\":\"string\"},\"message\":{\"type\":\"string\"},\"index\":{\"type\":\"integer\"}}}}"
        "}"
        "}}}}");
    json_write_object_end(w);
}

void op_print_openapi(struct strbuf *out, const char *version) {
    struct json_writer w;
    json_write_init(&w, out, true);
    json_write_object_begin(&w);
    print_text(&w, "openapi", "3.1.0");
    json_write_key(&w, "info");
    json_write_object_begin(&w);
    print_text(&w, "title", "Sluice");
    print_text(&w, "version", version);
    print_text(&w, "description", "Made from the table of operations; do not edit.");
    json_write_object_end(&w);
    print_paths(&w);
    print_components(&w);
    json_write_object_end(&w);
    strbuf_putc(out, '\n');
}
