/* pause.c: nothing new starts, or it may again. What runs goes on either way. */
#include "cli/pause.h"

#include "cli/ask.h"
#include "cli/output.h"

static const char *said(bool pause, bool already) {
    if (pause)
        return already ? "is paused already" : "paused; what runs goes on, nothing new starts";
    return already ? "is not paused" : "resumed";
}

/* One project, or everything. */
static int pause_one(struct ask *ask, const char *project, bool pause) {
    json_t *body = json_object();
    if (project)
        json_object_set_new(body, "project", ask_string(project));
    return ask_post(ask, body, pause ? "/v1/pause" : "/v1/resume");
}

int pause_run(const struct cmd_call *call, bool pause) {
    for (size_t i = 0; i < call->arg_count; i++)
        if (!*call->args[i])
            return cmd_usage_error(call->cmd, "the name of a project is empty");
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    _cleanup_(client_answer_freep) json_t *answers = json_array();
    int code = ask_open(&ask, ASK_START);
    size_t count = call->arg_count > 0 ? call->arg_count : 1;
    for (size_t i = 0; i < count && code == CMD_OK; i++) {
        const char *project = call->arg_count > 0 ? call->args[i] : NULL;
        code = pause_one(&ask, project, pause);
        if (code != CMD_OK)
            break;
        json_array_append(answers, ask.answer);
        const char *line = said(pause, ask_true(ask.answer, "already"));
        if (project)
            strbuf_printf(&out, "%s %s\n", project, line);
        else
            strbuf_printf(&out, "%s%s\n", ask_true(ask.answer, "already") ? "the queue " : "",
                          line);
    }
    if (call->json) {
        strbuf_clear(&out);
        const json_t *value = call->arg_count > 1 ? answers : json_array_get(answers, 0);
        if (value)
            ask_dump(value, &out);
    }
    output_rest(&out);
    return code;
}
