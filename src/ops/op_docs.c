/* op_docs.c: docs/api.md, printed from the table.
 *
 * A page that is written by hand is wrong after the next change; this one is compared with the table by a
 * test. The few sentences that hold for every operation stand here. */
#include <inttypes.h>
#include <string.h>

#include "ops/op_internal.h"
#include "ops/submission.h"

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
    "|---|---|---|\n"
    "| 400 | `bad_request` | a parameter is wrong |\n"
    "| 400 | `cycle` | tasks would wait for each other |\n"
    "| 401 | `unauthorized` | by TCP: no token, or one that has ended |\n"
    "| 403 | `refused` | a guard says no; `force` overrides it where there is one |\n"
    "| 404 | `not_found` | there is no such thing |\n"
    "| 409 | `exists` | the name is taken |\n"
    "| 409 | `conflict` | not in this state, or the key was used for something else |\n"
    "| 409 | `ambiguous` | a word is the id of one task and the external id of another: the "
    "message "
    "names both |\n"
    "| 413 | `too_large` | more than is taken |\n"
    "| 429 | `deferred` | the queue is full; nothing was stored |\n"
    "| 501 | `not_supported` | not here |\n"
    "| 503 | `outcome_unknown` | it may have happened or not: ask again with the same key |\n"
    "| 503 | `stopping` | the daemon is ending |\n"
    "| 503 | `standby` | another daemon is active; by the Unix socket `active` lists its addresses "
    "|\n"
    "| 507 | `disk_full` | no room; nothing was stored |\n"
    "\n"
    "## A task to be added\n"
    "\n"
    "An entry of `tasks` in `POST /v1/tasks`. It needs `argv` or `prompt`; everything else has a "
    "default. "
    "What was written is kept as it is and shown as `spec`. At most 64 KiB, 128 words in `argv`, "
    "32 KiB of "
    "`env`, 256 dependencies, 16 resources; at most 10,000 tasks and 16 MiB in one request.\n"
    "\n"
    "| member | value | meaning |\n"
    "|---|---|---|\n";

static void print_submission(struct strbuf *out) {
    const char *name, *type, *text;
    for (size_t i = 0; submission_member(i, &name, &type, &text); i++)
        strbuf_printf(out, "| `%s` | %s | %s |\n", name, type, text);
}

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
        strbuf_printf(out, " | %s |\n", p->text);
    }
    strbuf_putc(out, '\n');
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
    if (op->result)
        strbuf_printf(out, "```json\n%s\n```\n\n", op->result);
}

void op_print_markdown(struct strbuf *out) {
    strbuf_puts(out, introduction);
    print_submission(out);
    strbuf_puts(out, "\n## Operations\n\nA parameter with * is required.\n\n");
    for (const struct op *const *op = op_table; *op; op++)
        print_op(*op, out);
    while (out->length > 1 && out->text[out->length - 2] == '\n')
        out->text[--out->length] = '\0';
}
