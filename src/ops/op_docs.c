/* op_docs.c: docs/api.md, printed from the table.
 *
 * A page that is written by hand is wrong after the next change; this one is compared with the table by a
 * test. The few sentences that hold for every operation stand here. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "ops/print.h"
#include "taskfile/task_member.h"

static const char introduction[] =
    "# The HTTP interface\n"
    "\n"
    "Made from the table of operations by `make docs`; do not edit. "
    "[openapi.json](openapi.json) says the same for programs.\n"
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
    "meant. "
    "`null` in a body is the same as leaving the parameter out.\n"
    "- **Lists** take `limit` and `cursor` and answer `{\"items\":[…],\"next\":\"…\"}`; `next` is "
    "the "
    "cursor of the next page, or `null` behind the last.\n"
    "- **Repeating.** Operations marked *key* take the header `Idempotency-Key`, 8 to 128 "
    "printable "
    "characters that the client makes up. The same key within 24 hours does nothing again: it gets "
    "the answer of the first time, with `Idempotent-Replay: true`. The same key with other "
    "parameters is "
    "refused (409). Only what went well is kept: a refusal may be tried again.\n"
    "- **On disk.** What is answered is on disk, and what is shown too.\n"
    "- **Runs** ask at a socket of their own, `run.sock`, with `Authorization: Bearer` and their "
    "`SLUICE_TOKEN`: the operations marked *run*, about themselves and what is below them "
    "([capabilities.md](capabilities.md)). Everything else is refused (403). The owner's socket "
    "takes "
    "no token, and no process of a run.\n"
    "- **By TCP**, where `http.listen` says, with `Authorization: Bearer` and a token of `sluice "
    "token add`, or of a page that `sluice dash` has opened: what its scope allows, `read`, "
    "`submit` or `admin`, each with those before it. Operations marked *socket* are not done by "
    "TCP. Without a token there are `/healthz`, `POST /v1/session` and the files of the dashboard "
    "([security.md](security.md)).\n"
    "\n"
    "## Errors\n"
    "\n"
    "`{\"error\":{\"code\":\"not_found\",\"message\":\"there is no task 'web-99'\"}}`; in a list "
    "`index` says which entry it is about, from 0. Nothing has happened then.\n"
    "\n"
    "| status | code | meaning |\n"
    "|---|---|---|\n";

/* --- docs/members.md ------------------------------------------------------------------------- */

static const char members_introduction[] =
    "# Members of a task\n"
    "\n"
    "Made from the table of members by `make docs`; do not edit. They are written as JSON to the "
    "[HTTP interface](api.md), in [files of tasks](tasks.md#files-of-tasks), as options of "
    "[`sluice add`](cli/add.md) and [`sluice run`](cli/run.md), and as arguments of the tools of "
    "the "
    "[MCP server](mcp.md). The values are the same everywhere:\n"
    "\n"
    "| value | is written |\n"
    "|---|---|\n"
    "| time span | `90s`, `30m`, `2h`, `1.5d`; a number is seconds |\n"
    "| time | `30m` from now, `18:30` (the next one), `2027-01-31`, `2027-01-31T18:30`, in the "
    "time zone of "
    "the one who reads it: of `sluice`, or of the daemon; a number is ms since the epoch |\n"
    "| size | `512MB`, `1.5GB`; a number is MB of 1,048,576 bytes |\n"
    "| dollars | `2.50`, `$2.50`, with up to six places |\n"
    "| name | 1 to 128 bytes without control characters |\n"
    "| path | absolute. In files it counts from the folder of the file, on the command line from "
    "the "
    "current one |\n"
    "\n"
    "*Children* says whether a run may set it of [tasks that it adds](capabilities.md#children): "
    "with its token "
    "or in a spawn file, in a spawn file alone (*file*), in one that a command of yours has "
    "written "
    "(*command*), or with `capability.commands` (*if allowed*).\n";

/* Members and options that set them. */
static const char *const options[][2] = {
#define OPTION(member, option, ...) { #member, option },
#include "taskfile/task_members.inc"
};

static const char *child_of(const struct task_member *m) {
    if (m->child & CHILD_TOKEN)
        return "yes";
    if (m->child & CHILD_IF_ALLOWED)
        return m->child & CHILD_COMMAND ? "command, if allowed" : "if allowed";
    return m->child & CHILD_AGENT ? "file" : m->child ? "command" : "no";
}

static void print_member(struct strbuf *out, const struct task_member *m) {
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
#define MEMBER(name, ...) print_member(out, task_member_find(#name));
#include "taskfile/task_members.inc"
}

/* --- web/src/members.ts ---------------------------------------------------------------------- */

static const char *input_of(const struct task_member *m) {
    return m->kind == MEMBER_SWITCH  ? "switch"
           : m->kind == MEMBER_WHOLE ? "number"
           : m->kind == MEMBER_NAMES ? "names"
                                     : "text";
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
        json_write_init(&w, out, false);
        json_write_object_begin(&w);
        print_text(&w, "name", m->name);
        print_text(&w, "label", m->form);
        print_text(&w, "input", input_of(m));
        print_text(&w, "example", task_kinds[m->kind].example ? task_kinds[m->kind].example : "");
        print_text(&w, "help", strbuf_text(&text));
        json_write_object_end(&w);
        strbuf_puts(out, ",\n");
    }
    strbuf_puts(out, "];\n");
}

/* --- docs/api.md ----------------------------------------------------------------------------- */

static const char *type_of(enum op_type type) {
    static const char *const names[OP_TYPE_MAX] = {
        [OP_TEXT] = "text",       [OP_NUMBER] = "number", [OP_DECIMAL] = "decimal",
        [OP_BOOLEAN] = "boolean", [OP_LIST] = "texts",    [OP_OBJECT] = "object",
        [OP_ARRAY] = "list",      [OP_VALUE] = "value",   [OP_SETTINGS] = "value",
    };
    return names[type];
}

static const char *place_of(enum op_place place) {
    static const char *const names[OP_PLACE_MAX] = {
        [OP_IN_PATH] = "path",
        [OP_IN_QUERY] = "query",
        [OP_IN_BODY] = "body",
    };
    return names[place];
}

static void print_range(const struct op_param *p, struct strbuf *out) {
    if (p->choices) {
        for (const char *const *c = p->choices; *c; c++)
            strbuf_printf(out, "%s`%s`", c == p->choices ? ": " : ", ", *c);
    } else if (p->type == OP_NUMBER && p->max != 0 && p->max < 1000000000) {
        strbuf_printf(out, " %" PRId64 " to %" PRId64, p->min, p->max);
    }
}

static void print_params(const struct op *op, struct strbuf *out) {
    if (!op->params || !op->params->name)
        return;
    strbuf_puts(out, "| parameter | in | value | meaning |\n|---|---|---|---|\n");
    for (const struct op_param *p = op->params; p->name; p++) {
        strbuf_printf(out, "| `%s`%s | %s | %s", p->name, p->required ? " *" : "",
                      place_of(p->place), type_of(p->type));
        print_range(p, out);
        if (p->spelled)
            strbuf_printf(out, ", or like `%s`", task_kinds[p->spelled].example);
        strbuf_printf(out, " | %s |\n", p->text);
    }
    strbuf_putc(out, '\n');
}

/* --- answers --------------------------------------------------------------------------------- */

static void print_value(const struct shape_member *m, struct strbuf *out) {
    static const char *const plain[T_TYPE] = {
        [T_TEXT] = "text",    [T_ID] = "task id",
        [T_INT] = "number",   [T_NUMBER] = "decimal",
        [T_BOOL] = "boolean", [T_TIME] = "time",
        [T_SPAN] = "ms",      [T_USD] = "dollars",
        [T_JSON] = "value",   [T_PAIR] = "[time, number]",
    };
    unsigned type = m->type & T_TYPE;
    strbuf_puts(out, m->type & T_LIST ? "list of " : m->type & T_MAP ? "object of " : "");
    if (type == T_OBJECT)
        strbuf_printf(out, "`%s`", ((const struct shape *)m->of)->name);
    else if (type == T_WORD)
        strbuf_printf(out, "`%s`", ((const struct words *)m->of)->name);
    else
        strbuf_puts(out, plain[type]);
    strbuf_puts(out, m->type & T_NULL ? " or null" : "");
}

static void print_members(const struct shape *shape, struct strbuf *out) {
    if (shape->base)
        strbuf_printf(out, "The members of `%s`, and these:\n\n", shape->base->name);
    strbuf_puts(out, "| member | value | meaning |\n|---|---|---|\n");
    for (const struct shape_member *m = shape->members; m->name; m++) {
        strbuf_printf(out, "| `%s`%s | ", m->name, m->type & T_MAYBE ? "?" : "");
        print_value(m, out);
        strbuf_printf(out, " | %s |\n", m->text);
    }
    strbuf_putc(out, '\n');
}

static void print_answer(const struct shape *shape, struct strbuf *out) {
    if (!shape)
        return;
    if (shape->name)
        strbuf_printf(out, "Answer: `%s`.\n\n", shape->name);
    else
        print_members(shape, out);
    strbuf_puts(out, "```json\n");
    shape_print_example(shape, out);
    strbuf_puts(out, "\n```\n\n");
}

static void print_named_words(const struct words *words, void *ctx) {
    const char *word;
    strbuf_printf(ctx, "- `%s`:", words->name);
    for (int i = 0; (word = words_at(words, i)); i++)
        strbuf_printf(ctx, "%s `%s`", i ? "," : "", word);
    strbuf_putc(ctx, '\n');
}

static void print_named_shape(const struct shape *shape, void *ctx) {
    strbuf_printf(ctx, "### %s\n\n%c%s.\n\n", shape->name, toupper((unsigned char)*shape->text),
                  shape->text + 1);
    print_members(shape, ctx);
}

static void print_shapes(struct strbuf *out) {
    strbuf_puts(out, "\n## Answers\n\nA member with ? may be missing. A later version may add "
                     "members: ignore those that you do not know. The values of words:\n\n");
    words_each(print_named_words, out);
    strbuf_putc(out, '\n');
    shape_each(print_named_shape, out);
}

static void print_op(const struct op *op, struct strbuf *out) {
    strbuf_printf(out, "### %s\n\n`%s %s`: ", op->name, op->method, op->path);
    strbuf_printf(out, "%s · *%s*%s%s\n\n", op->summary,
                  op->local               ? "socket"
                  : op->open              ? "anybody"
                  : op->right == OP_READ  ? "read"
                  : op->right == OP_ADMIN ? "admin"
                                          : "submit",
                  op->writes ? " · *key*" : "", op->reach == OP_REACH_NONE ? "" : " · *run*");
    if (op->text)
        strbuf_printf(out, "%s\n\n", op->text);
    print_params(op, out);
    print_answer(op->answers, out);
}

void op_print_markdown(struct strbuf *out) {
    strbuf_puts(out, introduction);
    op_print_errors(out);
    strbuf_puts(out, "\n");
    print_shapes(out);
    strbuf_puts(out, "## Operations\n\nA parameter with * is required.\n\n");
    for (const struct op *const *op = op_table; *op; op++)
        print_op(*op, out);
    while (out->length > 1 && out->text[out->length - 2] == '\n')
        out->text[--out->length] = '\0';
}
