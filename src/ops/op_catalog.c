/* op_catalog.c: the table of operations as C text for programs that do not have the operations.
 *
 * `sluice mcp` offers operations as tools without being able to carry them out: it needs their names,
 * paths and parameters, and must not be linked with the engine. A copy written by hand would be wrong
 * after the next change, so it is printed while the program is built (src/mcp/catalog.h). */
#include <string.h>

#include "ops/print.h"
#include "ops/submission.h"

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
    json_write_key(w, "items");
    json_write_object_begin(w);
    if (type)
        print_type(w, type);
    json_write_object_end(w);
}

static void print_range(struct json_writer *w, const struct op_param *p, const char *low,
                        const char *high) {
    if (p->min != 0 || p->type == OP_NUMBER || p->type == OP_DECIMAL)
        print_int(w, low, p->min);
    if (p->max != 0)
        print_int(w, high, p->max);
}

static void print_param_type(struct json_writer *w, const struct op_param *p) {
    switch (p->type) {
    case OP_TEXT:
        print_type(w, "string");
        print_range(w, p, "minLength", "maxLength");
        break;
    case OP_NUMBER:
    case OP_DECIMAL:
        print_type(w, p->type == OP_NUMBER ? "integer" : "number");
        print_range(w, p, "minimum", "maximum");
        break;
    case OP_BOOLEAN:
        print_type(w, "boolean");
        break;
    case OP_LIST:
    case OP_ARRAY:
        print_items(w, p->type == OP_LIST ? "string" : "object");
        print_range(w, p, "minItems", "maxItems");
        break;
    case OP_OBJECT:
        print_type(w, "object");
        break;
    case OP_VALUE:
    case OP_SETTINGS:
    case OP_TYPE_MAX:
        break; /* anything */
    }
}

static void print_param_schema(const struct op_param *p, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_object_begin(&w);
    print_param_type(&w, p);
    if (p->choices) {
        json_write_key(&w, "enum");
        json_write_array_begin(&w);
        for (const char *const *c = p->choices; *c; c++)
            json_write_string(&w, *c);
        json_write_array_end(&w);
    }
    print_text(&w, "description", p->text);
    json_write_object_end(&w);
}

/* What may be written for a member of a task is told in words; the words that mean one type. */
static const char *type_of_words(const char *written) {
    static const struct {
        const char *written, *type;
    } types[] = {
        { "boolean", "boolean" }, { "id or name", "string" }, { "name", "string" },
        { "number", "integer" },  { "object", "object" },     { "path", "string" },
        { "dollars", "number" },  { "seconds", "number" },    { "ms since the epoch", "integer" },
        { "text", "string" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strcmp(types[i].written, written) == 0)
            return types[i].type;
    return NULL;
}

/* "done, none": one of these. */
static void print_choices(struct json_writer *w, const char *written) {
    print_type(w, "string");
    json_write_key(w, "enum");
    json_write_array_begin(w);
    while (*written) {
        size_t size = strcspn(written, ",");
        _cleanup_(strbuf_finish) struct strbuf word = STRBUF_INIT;
        strbuf_add(&word, written, size);
        json_write_string(w, strbuf_text(&word));
        written += size;
        written += strspn(written, ", ");
    }
    json_write_array_end(w);
}

static void print_member_type(struct json_writer *w, const char *written) {
    const char *type = type_of_words(written);
    if (type)
        print_type(w, type);
    else if (strncmp(written, "[[", 2) == 0)
        print_items(w, NULL); /* commands: lists of words, or objects */
    else if (written[0] == '[')
        print_items(w, "string");
    else if (written[0] == '{')
        print_type(w, "object");
    else if (strchr(written, ','))
        print_choices(w, written);
}

static void print_member_schema(const char *written, const char *text, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_object_begin(&w);
    print_member_type(&w, written);
    print_text(&w, "description", text);
    json_write_object_end(&w);
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

static void print_members(struct strbuf *out) {
    const char *name, *written, *text;
    strbuf_puts(out, "const struct mcp_param mcp_task_members[] = {\n");
    for (size_t i = 0; submission_member(i, &name, &written, &text); i++) {
        _cleanup_(strbuf_finish) struct strbuf schema = STRBUF_INIT;
        print_member_schema(written, text, &schema);
        print_param(out, name, "body", &schema, false);
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
    print_members(out);
}
