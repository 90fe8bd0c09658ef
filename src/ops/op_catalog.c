/* op_catalog.c: the table of operations as C text for programs that do not have the operations.
 *
 * `sluice mcp` offers operations as tools without being able to carry them out: it needs their names,
 * paths and parameters, and must not be linked with the engine. A copy written by hand would be wrong
 * after the next change, so it is printed while the program is built (src/mcp/catalog.h). */
#include <string.h>

#include "ops/print.h"
#include "taskfile/task_member.h"

static void print_c_text(struct strbuf *out, const char *text) {
    if (!text) {
        strbuf_puts(out, "NULL");
        return;
    }
    strbuf_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            strbuf_putc(out, '\\');
        if (*text == '\n')
            strbuf_puts(out, "\\n");
        else
            strbuf_putc(out, *text);
    }
    strbuf_putc(out, '"');
}

/* --- schemas --------------------------------------------------------------------------------- */

static void print_type(struct json_writer *w, const char *type) {
    print_text(w, "type", type);
}

static void print_items(struct json_writer *w, const char *type) {
    print_type(w, "array");
    print_object(w, "items");
    if (type)
        print_type(w, type);
    json_write_object_end(w);
}

static void print_enum(struct json_writer *w, const char *const *choices) {
    if (!choices)
        return;
    json_write_key(w, "enum");
    json_write_array_begin(w);
    for (const char *const *c = choices; *c; c++)
        json_write_string(w, *c);
    json_write_array_end(w);
}

static void print_param_schema(const struct op_param *p, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_object_begin(&w);
    print_param_type(&w, p, "{\"type\":\"object\"}");
    print_text(&w, "description", p->text);
    json_write_object_end(&w);
}

static void print_member_type(struct json_writer *w, const struct task_member *m) {
    if (m->kind < MEMBER_WHOLE) {
        print_type(w, "string");
    } else if (m->kind == MEMBER_WHOLE) {
        print_type(w, "integer");
        print_int(w, "minimum", m->min);
        print_int(w, "maximum", m->max);
    } else if (task_kinds[m->kind].unit) {
        print_spelled(w);
    } else if (m->kind == MEMBER_NAMES || m->kind == MEMBER_WORDS || m->kind == MEMBER_CHECKS) {
        print_items(w, m->kind == MEMBER_CHECKS ? NULL : "string");
    } else {
        print_type(w, m->kind == MEMBER_SWITCH ? "boolean" : "object");
    }
}

void print_member_schema(struct json_writer *w, const struct task_member *m) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    task_member_text(m, &text);
    if (task_kinds[m->kind].unit)
        strbuf_printf(&text, "; %s", task_kinds[m->kind].unit);
    json_write_object_begin(w);
    print_member_type(w, m);
    print_enum(w, m->choices);
    print_text(w, "description", strbuf_text(&text));
    json_write_object_end(w);
}

/* --- the tables ------------------------------------------------------------------------------ */

static void print_param(struct strbuf *out, const char *name, const char *place,
                        const struct strbuf *schema, bool required) {
    strbuf_puts(out, "    { ");
    print_c_text(out, name);
    strbuf_printf(out, ", \"%s\", ", place);
    print_c_text(out, strbuf_text(schema));
    strbuf_printf(out, ", %s },\n", required ? "true" : "false");
}

static void print_params(struct strbuf *out, const struct op *op, size_t index) {
    static const char *const places[OP_PLACE_MAX] = {
        [OP_IN_PATH] = "path",
        [OP_IN_QUERY] = "query",
        [OP_IN_BODY] = "body",
    };
    strbuf_printf(out, "static const struct mcp_param params_%zu[] = {\n", index);
    for (const struct op_param *p = op->params; p && p->name; p++) {
        _cleanup_(strbuf_finish) struct strbuf schema = STRBUF_INIT;
        print_param_schema(p, &schema);
        print_param(out, p->name, places[p->place], &schema, p->required);
    }
    strbuf_puts(out, "    { NULL, NULL, NULL, false },\n};\n");
}

static void print_op(struct strbuf *out, const struct op *op, size_t index) {
    const char *const texts[] = { op->name, op->method, op->path, op->summary, op->text };
    strbuf_puts(out, "    { ");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        print_c_text(out, texts[i]);
        strbuf_puts(out, ", ");
    }
    strbuf_printf(out, "params_%zu, %s, %s },\n", index, op->writes ? "true" : "false",
                  op->answer == OP_ANSWER_LOG || op->answer == OP_ANSWER_FILE ? "true" : "false");
}

static void print_members(struct strbuf *out, const char *list, unsigned tool) {
    strbuf_printf(out, "const struct mcp_param %s[] = {\n", list);
    for (const struct task_member *m = task_members; m < task_members + task_member_count; m++) {
        _cleanup_(strbuf_finish) struct strbuf schema = STRBUF_INIT;
        struct json_writer w;
        json_write_init(&w, &schema, false);
        print_member_schema(&w, m);
        if (m->tools & tool)
            print_param(out, m->name, "body", &schema, false);
    }
    strbuf_puts(out, "    { NULL, NULL, NULL, false },\n};\n");
}

void op_print_catalog(struct strbuf *out) {
    strbuf_puts(out, "/* Made from the table of operations while building; do not edit. */\n"
                     "#include \"mcp/catalog.h\"\n\n#include <stddef.h>\n\n");
    for (size_t i = 0; op_table[i]; i++)
        print_params(out, op_table[i], i);
    strbuf_puts(out, "const struct mcp_op mcp_ops[] = {\n");
    for (size_t i = 0; op_table[i]; i++)
        print_op(out, op_table[i], i);
    strbuf_puts(out, "    { NULL, NULL, NULL, NULL, NULL, NULL, false, false },\n};\n");
    print_members(out, "mcp_queue_members", MCP_QUEUE);
    print_members(out, "mcp_child_members", MCP_CHILDREN);
}
