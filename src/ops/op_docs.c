/* op_docs.c: prints docs/reference/api.md, docs/reference/members.md, docs/reference/openapi.json,
 * the dashboard's types and form, and the table for src/mcp from the tables of operations, shapes
 * and members. Tests compare the documents with the tables. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "core/state_style.h"
#include "ops/print.h"
#include "taskfile/task_member.h"

static const char introduction[] =
    "# The HTTP interface\n"
    "\n"
    "Made from the table of operations by `make docs`; do not edit. [openapi.json](openapi.json) "
    "says the same for programs, and the clients for Python (`clients/python`) and TypeScript "
    "(`clients/typescript`) are made from it.\n"
    "\n"
    "The daemon listens on a Unix socket that only its owner can open, and speaks HTTP/1.1 and "
    "JSON:\n"
    "\n"
    "```sh\n"
    "curl --unix-socket \"$XDG_RUNTIME_DIR/sluice/sluice.sock\" http://localhost/v1/status\n"
    "```\n"
    "\n"
    "- Times are whole numbers, in ms since the epoch. What is unknown or not there is `null`.\n"
    "- A task is called `web-17`; its number alone is enough, because no other task has it.\n"
    "- A parameter that an operation does not have is refused, with the one that was probably "
    "meant. `null` in a body is the same as leaving the parameter out.\n"
    "- **Lists** take `limit` and `cursor` and answer `{\"items\":[…],\"next\":\"…\"}`; `next` is "
    "the cursor of the next page, or `null` behind the last.\n"
    "- **Repeating.** Operations marked *key* take the header `Idempotency-Key`, 8 to 128 "
    "printable characters that the client makes up. The same key within 24 hours does nothing "
    "again: it gets the answer of the first time, with `Idempotent-Replay: true`. The same key "
    "with other parameters is refused (409). Only what went well is kept: a refusal may be tried "
    "again.\n"
    "- **On disk.** What is answered is on disk, and what is shown too.\n"
    "- **Runs** ask at a socket of their own, `run.sock`, with `Authorization: Bearer` and their "
    "`SLUICE_TOKEN`: the operations marked *run*, about themselves and what is below them, and "
    "those marked *import* about tasks that they may import "
    "([capabilities.md](../guide/capabilities.md)). "
    "Everything else is refused (403). The owner's socket takes no token, and no process of a "
    "run.\n"
    "- **Over TCP**, where `http.listen` says, with `Authorization: Bearer` and a token of `sluice "
    "token add`, or of a page that `sluice dash` has opened: what its scope allows, `read`, "
    "`submit` or `admin`, each with those before it. Operations marked *socket* are not available "
    "over TCP. Without a token there are `/healthz`, `POST /v1/session` and the files of the "
    "dashboard ([security.md](../guide/security.md)).\n"
    "\n"
    "## Errors\n"
    "\n"
    "`{\"error\":{\"code\":\"not_found\",\"message\":\"there is no task 'web-99'\"}}`; in a list "
    "`index` says which entry it is about, from 0. Nothing has happened then.\n"
    "\n"
    "| status | code | meaning |\n"
    "|---|---|---|\n";

/* --- docs/reference/members.md ---------------------------------------------------------------- */

static const char members_introduction[] =
    "# Members of a task\n"
    "\n"
    "Made from the table of members by `make docs`; do not edit. They are written as JSON to the "
    "[HTTP interface](api.md), in [files of tasks](../guide/tasks.md#files-of-tasks), as options "
    "of "
    "[`sluice add`](cli/add.md) and [`sluice run`](cli/run.md), and as arguments of the tools of "
    "the [MCP server](../guide/mcp.md). The values are the same everywhere:\n"
    "\n"
    "| value | is written |\n"
    "|---|---|\n"
    "| time span | `90s`, `30m`, `2h`, `1.5d`; a number is seconds |\n"
    "| time | `30m` from now, `18:30` (the next one), `2027-01-31`, `2027-01-31T18:30`, in the "
    "time zone of the one who reads it: of `sluice`, or of the daemon; a number is ms since the "
    "epoch |\n"
    "| size | `512MB`, `1.5GB`; a number is MB of 1,048,576 bytes |\n"
    "| dollars | `2.50`, `$2.50`, with up to six places |\n"
    "| name | 1 to 128 bytes without control characters |\n"
    "| path | absolute. In files it counts from the folder of the file, on the command line from "
    "the current one |\n"
    "\n"
    "*Children* says whether a run may set it of [tasks that it "
    "adds](../guide/capabilities.md#children): "
    "with its token or in a spawn file, in a spawn file alone (*file*), in one that a command of "
    "yours has written (*command*), with `capability.commands` (*if allowed*), or when it "
    "[imports](../guide/capabilities.md#importing) (*import*).\n";

static const char *const options[][2] = {
#define OPTION(member, option, ...) { #member, option },
#include "taskfile/task_members.inc"
};

static const char *child_of(const struct task_member *m) {
    if (m->child & CHILD_TOKEN)
        return "yes";
    if (m->child & CHILD_IF_ALLOWED)
        return m->child & CHILD_COMMAND ? "command, if allowed" : "if allowed";
    if (m->child & CHILD_IMPORT)
        return "import";
    return m->child & CHILD_AGENT ? "file" : m->child ? "command" : "no";
}

static void md_member(struct strbuf *out, const struct task_member *m) {
    strbuf_printf(out, "| `%s`", m->name);
    for (const char *const *alias = m->aliases; *alias; alias++)
        strbuf_printf(out, ", `%s`", *alias);
    strbuf_puts(out, " | ");
    const char *before = "";
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (strcmp(options[i][0], m->name) == 0) {
            strbuf_printf(out, "%s`--%s`", before, options[i][1]);
            before = ", ";
        }
    strbuf_puts(out, " | ");
    task_member_value(m, out);
    strbuf_printf(out, " | %s | %s |\n", m->text, child_of(m));
}

void op_print_members(struct strbuf *out) {
    strbuf_puts(out, members_introduction);
#define SECTION(title)                                                                             \
    strbuf_puts(out, "\n## " title "\n\n"                                                          \
                     "| member | option | value | meaning | children |\n|---|---|---|---|---|\n");
#define MEMBER(name, ...) md_member(out, task_member_find(#name));
#include "taskfile/task_members.inc"
}

void op_print_form(struct strbuf *out) {
    strbuf_puts(out, "// members.ts: the fields of the form that adds tasks. Made from the table "
                     "of members by `make docs`; do not edit.\n"
                     "export interface Member { name: string; label: string; input: 'text' | "
                     "'number' | 'names' | 'switch'; example: string; help: string }\n"
                     "export const members: Member[] = [\n");
    for (const struct task_member *m = task_members; m < task_members + task_member_count; m++) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        struct json_writer w;
        if (!m->form)
            continue;
        task_member_text(m, &text);
        strbuf_puts(out, "    ");
        const char *input = m->kind == MEMBER_SWITCH  ? "switch"
                            : m->kind == MEMBER_WHOLE ? "number"
                            : m->kind == MEMBER_NAMES ? "names"
                                                      : "text";
        const char *example = task_kinds[m->kind].example;
        json_write_init(&w, out, false);
        json_write_pack(&w, "{s:s, s:s, s:s, s:s, s:s}", "name", m->name, "label", m->form, "input",
                        input, "example", example ? example : "", "help", strbuf_text(&text));
        strbuf_puts(out, ",\n");
    }
    strbuf_puts(out, "];\n");
}

/* The type of a parameter in docs/reference/api.md, and in a JSON schema; NULL: any. */
static const char *const param_types[OP_TYPE_MAX][2] = {
    [OP_TEXT] = { "text", "string" },       [OP_NUMBER] = { "number", "integer" },
    [OP_DECIMAL] = { "decimal", "number" }, [OP_BOOLEAN] = { "boolean", "boolean" },
    [OP_LIST] = { "texts", "array" },       [OP_OBJECT] = { "object", "object" },
    [OP_ARRAY] = { "list", "array" },       [OP_VALUE] = { "value", NULL },
    [OP_SETTINGS] = { "value", NULL },
};

static void md_params(const struct op *op, struct strbuf *out) {
    if (!op->params || !op->params->name)
        return;
    strbuf_puts(out, "| parameter | in | value | meaning |\n|---|---|---|---|\n");
    for (const struct op_param *p = op->params; p->name; p++) {
        strbuf_printf(out, "| `%s`%s | %s | %s", p->name, p->required ? " *" : "",
                      op_place_names[p->place], param_types[p->type][0]);
        if (p->choices) {
            for (const char *const *c = p->choices; *c; c++)
                strbuf_printf(out, "%s`%s`", c == p->choices ? ": " : ", ", *c);
        } else if (p->type == OP_NUMBER && p->max != 0 && p->max < 1000000000) {
            strbuf_printf(out, " %" PRId64 " to %" PRId64, p->min, p->max);
        }
        if (p->spelled)
            strbuf_printf(out, ", or like `%s`", task_kinds[p->spelled].example);
        strbuf_printf(out, " | %s |\n", p->text);
    }
    strbuf_putc(out, '\n');
}

/* --- answers --------------------------------------------------------------------------------- */

/* Of an object or a list of words; else NULL. */
static const char *type_name(const struct shape_member *m) {
    return (m->type & T_TYPE) == T_OBJECT ? ((const struct shape *)m->of)->name
           : (m->type & T_TYPE) == T_WORD ? ((const struct words *)m->of)->name
                                          : NULL;
}

static void md_shape_members(const struct shape *shape, struct strbuf *out) {
    if (shape->base)
        strbuf_printf(out, "The members of `%s`, and these:\n\n", shape->base->name);
    strbuf_puts(out, "| member | value | meaning |\n|---|---|---|\n");
    for (const struct shape_member *m = shape->members; m->name; m++) {
        strbuf_printf(out, "| `%s`%s | ", m->name, m->type & T_MAYBE ? "?" : "");
        strbuf_puts(out, m->type & T_LIST ? "list of " : m->type & T_MAP ? "object of " : "");
        if (type_name(m))
            strbuf_printf(out, "`%s`", type_name(m));
        else
            strbuf_puts(out, shape_types[m->type & T_TYPE].markdown);
        strbuf_puts(out, m->type & T_NULL ? " or null" : "");
        strbuf_printf(out, " | %s |\n", m->text);
    }
    strbuf_putc(out, '\n');
}

static void md_answer(const struct shape *shape, struct strbuf *out) {
    if (!shape)
        return;
    if (shape->name)
        strbuf_printf(out, "Answer: `%s`.\n\n", shape->name);
    else
        md_shape_members(shape, out);
    strbuf_puts(out, "```json\n");
    shape_print_example(shape, out);
    strbuf_puts(out, "\n```\n\n");
}

static void md_words(const struct words *words, void *ctx) {
    const char *word;
    strbuf_printf(ctx, "- `%s`:", words->name);
    for (int i = 0; (word = words_at(words, i)); i++)
        strbuf_printf(ctx, "%s `%s`", i ? "," : "", word);
    strbuf_putc(ctx, '\n');
}

static void md_shape(const struct shape *shape, void *ctx) {
    strbuf_printf(ctx, "### %s\n\n%c%s.\n\n", shape->name, toupper((unsigned char)*shape->text),
                  shape->text + 1);
    md_shape_members(shape, ctx);
}

static void md_op(const struct op *op, struct strbuf *out) {
    strbuf_printf(out, "### %s\n\n`%s %s`: ", op->name, op->method, op->path);
    strbuf_printf(out, "%s · *%s*%s%s%s\n\n", op->summary,
                  op->local               ? "socket"
                  : op->open              ? "anybody"
                  : op->right == OP_READ  ? "read"
                  : op->right == OP_ADMIN ? "admin"
                                          : "submit",
                  op->writes ? " · *key*" : "", op->reach == OP_REACH_NONE ? "" : " · *run*",
                  op->imports ? " · *import*" : "");
    if (op->text)
        strbuf_printf(out, "%s\n\n", op->text);
    md_params(op, out);
    md_answer(op->answers, out);
}

void op_print_markdown(struct strbuf *out) {
    strbuf_puts(out, introduction);
    op_print_errors(out);
    strbuf_puts(out, "\n\n## Answers\n\nA member with ? may be missing. A later version may add "
                     "members: ignore those that you do not know. The values of words:\n\n");
    words_each(md_words, out);
    strbuf_putc(out, '\n');
    shape_each(md_shape, out);
    strbuf_puts(out, "## Operations\n\nA parameter with * is required.\n\n");
    for (const struct op *const *op = op_table; *op; op++)
        md_op(*op, out);
    while (out->length > 1 && out->text[out->length - 2] == '\n')
        out->text[--out->length] = '\0';
}

/* --- docs/reference/openapi.json (OpenAPI 3.1) ------------------------------------------------ */

/* The schema of a number that may also be a string such as 30m. */
static void print_spelled(struct json_writer *w) {
    print_json(w, "anyOf", "[{\"type\":\"number\"},{\"type\":\"string\"}]");
}

static void print_enum(struct json_writer *w, const char *const *choices) {
    size_t count = 0;
    while (choices && choices[count])
        count++;
    if (choices)
        print_words(w, "enum", choices, count);
}

/* The type of a parameter as members of a JSON schema; `entry`: the schema of OP_ARRAY items. */
static void print_param_type(struct json_writer *w, const struct op_param *p, const char *entry) {
    bool text = p->type == OP_TEXT, list = p->type == OP_LIST || p->type == OP_ARRAY;
    bool number = p->type == OP_NUMBER || p->type == OP_DECIMAL;
    if (p->spelled) {
        print_spelled(w);
        return;
    }
    if (param_types[p->type][1])
        json_put_string(w, "type", param_types[p->type][1]);
    if (p->min != 0 ? text || list || number : number)
        json_put_int(w, text ? "minLength" : list ? "minItems" : "minimum", p->min);
    if (p->max != 0 && (text || list || number))
        json_put_int(w, text ? "maxLength" : list ? "maxItems" : "maximum", p->max);
    if (list)
        print_json(w, "items", p->type == OP_LIST ? "{\"type\":\"string\"}" : entry);
    print_enum(w, p->choices);
}

static void openapi_param(struct json_writer *w, const struct op_param *p) {
    bool submissions = p->type == OP_ARRAY && strcmp(p->name, "tasks") == 0;
    json_write_object_begin(w);
    print_param_type(w, p,
                     submissions ? "{\"$ref\":\"#/components/schemas/Submission\"}"
                                 : "{\"type\":\"object\"}");
    json_write_object_end(w);
}

/* Members that the settings table names, or none. */
static void openapi_additional(struct json_writer *w, const struct op *op) {
    for (const struct op_param *p = op->params; p && p->name; p++)
        if (p->settings) {
            json_write_pack(w, "s:{s:s}", "additionalProperties", "description", p->text);
            return;
        }
    json_put_bool(w, "additionalProperties", false);
}

static void openapi_body(struct json_writer *w, const struct op *op) {
    if (strcmp(op->method, "POST") != 0)
        return;
    json_write_pack(w, "s:{s:{s:{s:{s:s", "requestBody", "content", "application/json", "schema",
                    "type", "object");
    openapi_additional(w, op);
    json_put_array(w, "required");
    for (const struct op_param *p = op->params; p && p->name; p++)
        if (p->place == OP_IN_BODY && p->required)
            json_write_string(w, p->name);
    json_write_pack(w, "], s:{", "properties");
    for (const struct op_param *p = op->params; p && p->name; p++) {
        if (p->place != OP_IN_BODY || p->settings)
            continue;
        json_write_pack(w, "s:{s:s, s:[", p->name, "description", p->text, "allOf");
        openapi_param(w, p);
        json_write_pack(w, "]}");
    }
    json_write_pack(w, "}}}}}");
}

/* --- answers --------------------------------------------------------------------------------- */

static void openapi_ref(struct json_writer *w, const char *kind, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf ref = STRBUF_INIT;
    strbuf_printf(&ref, "#/components/%s/%s", kind, name);
    json_put_string(w, "$ref", strbuf_text(&ref));
}

static void openapi_member(struct json_writer *w, const struct shape_member *m) {
    bool list = m->type & T_LIST, map = m->type & T_MAP;
    json_write_pack(w, "s:{s:s", m->name, "description", m->text);
    if (m->type & T_NULL)
        json_write_pack(w, "s:[{", "anyOf");
    if (list || map)
        json_write_pack(w, "s:s, s:{", "type", list ? "array" : "object",
                        list ? "items" : "additionalProperties");
    unsigned type = m->type & T_TYPE;
    if (shape_types[type].schema)
        json_put_string(w, "type", shape_types[type].schema);
    if (type == T_TIME)
        json_put_string(w, "format", "unix-ms");
    if (type_name(m))
        openapi_ref(w, "schemas", type_name(m));
    else if (type == T_PAIR)
        print_json(w, "prefixItems", "[{\"type\":\"integer\"},{\"type\":\"integer\"}]");
    if (list || map)
        json_write_object_end(w);
    if (m->type & T_NULL)
        json_write_pack(w, "}, {s:s}]", "type", "null");
    json_write_object_end(w);
}

/* Without the braces. Later versions may add members; clients ignore unknown ones. */
static void openapi_shape(struct json_writer *w, const struct shape *shape) {
    json_put_string(w, "type", "object");
    if (shape->text)
        json_put_string(w, "description", shape->text);
    if (shape->base) {
        json_write_pack(w, "s:[{", "allOf");
        openapi_ref(w, "schemas", shape->base->name);
        json_write_pack(w, "}]");
    }
    json_put_array(w, "required");
    for (const struct shape_member *m = shape->members; m->name; m++)
        if (!(m->type & T_MAYBE))
            json_write_string(w, m->name);
    json_write_pack(w, "], s:{", "properties");
    for (const struct shape_member *m = shape->members; m->name; m++)
        openapi_member(w, m);
    json_write_object_end(w);
}

/* --- operations ------------------------------------------------------------------------------ */

static void openapi_operation(struct json_writer *w, const struct op *op) {
    json_write_pack(w, "s:{s:s, s:s", strcmp(op->method, "GET") == 0 ? "get" : "post",
                    "operationId", op->name, "summary", op->summary);
    if (op->text)
        json_put_string(w, "description", op->text);
    json_put_array(w, "parameters");
    for (const struct op_param *p = op->params; p && p->name; p++) {
        if (p->place == OP_IN_BODY)
            continue;
        json_write_pack(w, "{s:s, s:s, s:b, s:s, s", "name", p->name, "in",
                        op_place_names[p->place], "required", p->required, "description", p->text,
                        "schema");
        openapi_param(w, p);
        json_write_object_end(w);
    }
    if (op->writes)
        json_write_pack(w, "{s:s, s:s, s:s, s:{s:s, s:i, s:i}}", "name", "Idempotency-Key", "in",
                        "header", "description", "the same key within 24 hours is done once",
                        "schema", "type", "string", "minLength", 8, "maxLength", 128);
    json_write_array_end(w);
    openapi_body(w, op);
    static const char *const kinds[] = {
        [OP_ANSWER_JSON] = "application/json",   [OP_ANSWER_TEXT] = "text/plain",
        [OP_ANSWER_EVENTS] = "application/json", [OP_ANSWER_LOG] = "application/octet-stream",
        [OP_ANSWER_FILE] = "application/json",   [OP_ANSWER_PAGE] = "text/html",
    };
    json_write_pack(w, "s:{s:{s:s, s:{s:{", "responses", "200", "description", op->summary,
                    "content", kinds[op->answer]);
    if (op->answers) {
        json_put_object(w, "schema");
        if (op->answers->name)
            openapi_ref(w, "schemas", op->answers->name);
        else
            openapi_shape(w, op->answers);
        json_write_object_end(w);
    }
    json_write_pack(w, "}}}, s:{", "default");
    openapi_ref(w, "responses", "Error");
    json_write_pack(w, "}}}");
}

/* All methods of one path are printed together. */
static void openapi_paths(struct json_writer *w) {
    json_put_object(w, "paths");
    for (const struct op *const *op = op_table; *op; op++) {
        const struct op *const *first = op_table;
        while (strcmp((*first)->path, (*op)->path) != 0)
            first++;
        if (first != op)
            continue;
        json_put_object(w, (*op)->path);
        for (const struct op *const *other = op; *other; other++)
            if (strcmp((*other)->path, (*op)->path) == 0)
                openapi_operation(w, *other);
        json_write_object_end(w);
    }
    json_write_object_end(w);
}

static void print_member_schema(struct json_writer *w, const struct task_member *m) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    task_member_text(m, &text);
    if (task_kinds[m->kind].unit)
        strbuf_printf(&text, "; %s", task_kinds[m->kind].unit);
    json_write_object_begin(w);
    if (m->kind < MEMBER_WHOLE) {
        json_put_string(w, "type", "string");
    } else if (m->kind == MEMBER_WHOLE) {
        json_write_pack(w, "s:s, s:I, s:I", "type", "integer", "minimum", (int64_t)m->min,
                        "maximum", (int64_t)m->max);
    } else if (task_kinds[m->kind].unit) {
        print_spelled(w);
    } else if (m->kind == MEMBER_NAMES || m->kind == MEMBER_WORDS || m->kind == MEMBER_CHECKS) {
        json_write_pack(w, m->kind == MEMBER_CHECKS ? "s:s, s:{}" : "s:s, s:{s:s}", "type", "array",
                        "items", "type", "string");
    } else if (m->kind == MEMBER_GATE) {
        print_json(w, "anyOf",
                   "[{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
                   "{\"type\":\"object\"}]");
    } else {
        json_put_string(w, "type", m->kind == MEMBER_SWITCH ? "boolean" : "object");
    }
    print_enum(w, m->choices);
    json_put_string(w, "description", strbuf_text(&text));
    json_write_object_end(w);
}

static void openapi_named_words(const struct words *words, void *ctx) {
    const char *word;
    json_write_pack(ctx, "s:{s:s, s:[", words->name, "type", "string", "enum");
    for (int i = 0; (word = words_at(words, i)); i++)
        json_write_string(ctx, word);
    json_write_pack(ctx, "]}");
}

static void openapi_named_shape(const struct shape *shape, void *ctx) {
    json_put_object(ctx, shape->name);
    openapi_shape(ctx, shape);
    json_write_object_end(ctx);
}

static void openapi_components(struct json_writer *w) {
    json_write_pack(w, "s:{s:{s:{s:s, s:b, s:{", "components", "schemas", "Submission", "type",
                    "object", "additionalProperties", false, "properties");
    for (size_t i = 0; i < task_member_count; i++) {
        json_write_key(w, task_members[i].name);
        print_member_schema(w, &task_members[i]);
    }
    json_write_pack(w, "}}, s:{s:s, s:s, s:[", "ErrorCode", "type", "string", "description",
                    "values of `code` of a problem; a later version may add some", "enum");
    op_print_error_words(w);
    json_write_pack(w, "]}");
    words_each(openapi_named_words, w);
    shape_each(openapi_named_shape, w);
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
    json_write_pack(&w, "{s:s, s:{s:s, s:s, s:s}", "openapi", "3.1.0", "info", "title", "Sluice",
                    "version", version, "description",
                    "Made from the table of operations; do not edit.");
    openapi_paths(&w);
    openapi_components(&w);
    json_write_object_end(&w);
    strbuf_putc(out, '\n');
}

/* --- web/src/types.ts ------------------------------------------------------------------------ */

/* "agent.clear" becomes "AgentClear". */
static void shape_name_of(const char *op, struct strbuf *out) {
    for (bool begins = true; *op; op++) {
        if (*op != '.')
            strbuf_putc(out, (char)(begins ? toupper((unsigned char)*op) : *op));
        begins = *op == '.';
    }
}

static void ts_type(const struct shape_member *m, struct strbuf *out) {
    unsigned type = m->type & T_TYPE;
    const char *name = type_name(m) ? type_name(m) : shape_types[type].typescript;
    if (m->type & T_MAP)
        strbuf_printf(out, "Record<%s, %s>",
                      m->of && type == T_INT ? ((const struct words *)m->of)->name : "string",
                      name);
    else
        strbuf_printf(out, "%s%s", name, m->type & T_LIST ? "[]" : "");
    if (m->type & T_NULL)
        strbuf_puts(out, " | null");
}

static void ts_interface(const char *name, const struct shape *shape, struct strbuf *out) {
    strbuf_printf(out, "\nexport interface %s", name);
    if (shape->base)
        strbuf_printf(out, " extends %s", shape->base->name);
    strbuf_puts(out, " {\n");
    for (const struct shape_member *m = shape->members; m->name; m++) {
        strbuf_printf(out, "    /** %s */\n    %s%s: ", m->text, m->name,
                      m->type & T_MAYBE ? "?" : "");
        ts_type(m, out);
        strbuf_puts(out, ";\n");
    }
    strbuf_puts(out, "}\n");
}

static void ts_words(const struct words *words, void *ctx) {
    const char *word;
    strbuf_printf(ctx, "\nexport type %s = ", words->name);
    for (int i = 0; (word = words_at(words, i)); i++)
        strbuf_printf(ctx, "%s'%s'", i ? " | " : "", word);
    strbuf_puts(ctx, ";\n");
}

static void ts_shape(const struct shape *shape, void *ctx) {
    strbuf_printf(ctx, "\n/** %s */", shape->text);
    ts_interface(shape->name, shape, ctx);
}

/* The symbols of states; their colors are in states.css. */
static void ts_looks(struct strbuf *out) {
    strbuf_puts(
        out, "\n/** How a state looks; `outline` and `solid` are SVG paths in a box of 16 x 16 */\n"
             "export interface Look {\n    outline: string;\n    solid: string;\n"
             "    heavy: boolean;\n    dashed: boolean;\n}\n"
             "\nexport const LOOKS: Record<State, Look> = {\n");
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++) {
        const struct state_style *look = state_style((enum task_state)s);
        strbuf_printf(out, "    %s: { outline: '%s', solid: '%s', heavy: %s, dashed: %s },\n",
                      task_state_name((enum task_state)s), look->outline, look->solid,
                      look->heavy ? "true" : "false", look->dashed ? "true" : "false");
    }
    strbuf_puts(out, "};\n");
}

static void css_colors(struct strbuf *out, const char *selector, bool dark) {
    strbuf_printf(out, "%s {", selector);
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++) {
        const struct state_style *look = state_style((enum task_state)s);
        strbuf_printf(out, " --%s: %s;", task_state_name((enum task_state)s),
                      dark ? look->dark : look->light);
    }
    strbuf_puts(out, " }\n");
}

void op_print_css(struct strbuf *out) {
    strbuf_puts(out, "/* states.css: the colours of states. Made from the table of their looks by "
                     "`make docs`; do not edit. */\n");
    css_colors(out, ":root", false);
    strbuf_puts(out, "@media (prefers-color-scheme: dark) {\n");
    css_colors(out, "    :root:not([data-theme=\"light\"])", true);
    strbuf_puts(out, "}\n");
    css_colors(out, ":root[data-theme=\"dark\"]", true);
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
    words_each(ts_words, out);
    ts_looks(out);
    shape_each(ts_shape, out);
    for (const struct op *const *op = op_table; *op; op++) {
        _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
        if (!(*op)->answers || (*op)->answers->name)
            continue;
        shape_name_of((*op)->name, &name);
        strbuf_printf(out, "\n/** %s %s */", (*op)->method, (*op)->path);
        ts_interface(strbuf_text(&name), (*op)->answers, out);
    }
}

/* --- the table for src/mcp ------------------------------------------------------------------- */

/* `sluice mcp` offers operations as tools without linking the engine. It needs their names, paths
 * and parameters, which are printed as C at build time (src/mcp/catalog.h). */

static void catalog_text(struct strbuf *out, const char *text) {
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

static void catalog_param(struct strbuf *out, const char *name, const char *place,
                          const struct strbuf *schema, bool required) {
    strbuf_puts(out, "    { ");
    catalog_text(out, name);
    strbuf_printf(out, ", \"%s\", ", place);
    catalog_text(out, strbuf_text(schema));
    strbuf_printf(out, ", %s },\n", required ? "true" : "false");
}

static void catalog_op(struct strbuf *out, const struct op *op, size_t index) {
    const char *const texts[] = { op->name, op->method, op->path, op->summary, op->text };
    strbuf_puts(out, "    { ");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        catalog_text(out, texts[i]);
        strbuf_puts(out, ", ");
    }
    strbuf_printf(out, "params_%zu, %s, %s },\n", index, op->writes ? "true" : "false",
                  op->answer == OP_ANSWER_LOG || op->answer == OP_ANSWER_FILE ? "true" : "false");
}

static void catalog_members(struct strbuf *out, const char *list, unsigned tool) {
    strbuf_printf(out, "const struct mcp_param %s[] = {\n", list);
    for (const struct task_member *m = task_members; m < task_members + task_member_count; m++) {
        _cleanup_(strbuf_finish) struct strbuf schema = STRBUF_INIT;
        struct json_writer w;
        json_write_init(&w, &schema, false);
        print_member_schema(&w, m);
        if (m->tools & tool)
            catalog_param(out, m->name, "body", &schema, false);
    }
    strbuf_puts(out, "    { NULL, NULL, NULL, false },\n};\n");
}

void op_print_catalog(struct strbuf *out) {
    strbuf_puts(out, "/* Made from the table of operations while building; do not edit. */\n"
                     "#include \"mcp/catalog.h\"\n\n#include <stddef.h>\n\n");
    for (size_t i = 0; op_table[i]; i++) {
        strbuf_printf(out, "static const struct mcp_param params_%zu[] = {\n", i);
        for (const struct op_param *p = op_table[i]->params; p && p->name; p++) {
            _cleanup_(strbuf_finish) struct strbuf schema = STRBUF_INIT;
            struct json_writer w;
            json_write_init(&w, &schema, false);
            json_write_object_begin(&w);
            print_param_type(&w, p, "{\"type\":\"object\"}");
            json_put_string(&w, "description", p->text);
            json_write_object_end(&w);
            catalog_param(out, p->name, op_place_names[p->place], &schema, p->required);
        }
        strbuf_puts(out, "    { NULL, NULL, NULL, false },\n};\n");
    }
    strbuf_puts(out, "const struct mcp_op mcp_ops[] = {\n");
    for (size_t i = 0; op_table[i]; i++)
        catalog_op(out, op_table[i], i);
    strbuf_puts(out, "    { NULL, NULL, NULL, NULL, NULL, NULL, false, false },\n};\n");
    catalog_members(out, "mcp_queue_members", MCP_QUEUE);
    catalog_members(out, "mcp_child_members", MCP_CHILDREN);
}
