/* cmd_merge.c: merges the branches of finished tasks. */
#include <string.h>

#include "base/alloc.h"
#include "cli/ask.h"
#include "cli/print_task.h"
#include "cli/task_verb.h"

/* "web-17 merged into 'main' at 1f0c1e0a8c6c" */
static void print_one(struct strbuf *out, const json_t *task) {
    const char *result = ask_text(task, "result", "?");
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    strbuf_printf(&line, "%s ", ask_text(task, "id", "?"));
    if (strcmp(result, "already") == 0 || strcmp(result, "empty") == 0)
        strbuf_puts(&line,
                    strcmp(result, "empty") == 0 ? "has no changes: " : "is merged already: ");
    else if (strcmp(result, "failed") == 0 || strcmp(result, "conflict") == 0)
        strbuf_puts(&line, "is not merged: ");
    strbuf_puts(&line, ask_text(task, "message", result));
    print_line(out, strbuf_text(&line), 0);
    strbuf_putc(out, '\n');
}

static json_t *body_of(const struct cmd_call *call) {
    json_t *body = json_object(), *tasks = json_array();
    for (unsigned i = 0; i < call->arg_count; i++)
        json_array_append_new(tasks, ask_string(call->args[i]));
    json_object_set_new(body, "tasks", tasks);
    ask_take_members(call, body);
    return body;
}

static int cmd_merge_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    int code = ask_open(&ask, ASK_START);
    if (code != CMD_OK)
        return code;
    client_set_timeout(ask.client, TASK_VERB_MERGE_TIMEOUT);
    code = ask_post(&ask, body_of(call), "/v1/tasks/merge");
    if (code != CMD_OK)
        return code;
    ASK_EACH(task, json_object_get(ask.answer, "tasks")) {
        const char *result = ask_text(task, "result", "");
        if (strcmp(result, "conflict") == 0)
            code = CMD_REFUSED;
        else if (strcmp(result, "failed") == 0 && code == CMD_OK)
            code = CMD_FAILED;
        if (!call->json)
            print_one(&out, task);
    }
    if (call->json) {
        print_value(&out, ask.answer);
        strbuf_putc(&out, '\n');
    }
    output_rest(&out);
    return code;
}

static const struct cmd_option merge_options[] = {
    { "into", 0, "BRANCH", "merge into this branch instead of the one that the task came from",
      "into" },
    { "dry-run", 'n', NULL, "change nothing; say whether there would be conflicts", "dry_run" },
    { "no-checks", 0, NULL, "do not run the checks of the task again after a rebase", "no_checks" },
    { NULL },
};

const struct cmd cmd_merge = { "merge", .options = merge_options, .min_args = 1,
                               .max_args = CMD_ANY_ARGS, .run = cmd_merge_run };
