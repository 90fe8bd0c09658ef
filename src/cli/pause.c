/* pause.c: nothing new starts, or it may again. What runs goes on either way. */
#include "cli/pause.h"

#include <ctype.h>
#include <stdlib.h>

#include "cli/ask.h"
#include "cli/output.h"
#include "cli/print_task.h"
#include "os/clock.h"

static void say(struct strbuf *out, const char *project, bool pause, const json_t *answer) {
    bool already = ask_true(answer, "already");
    if (project)
        strbuf_printf(out, "%s ", project);
    else if (already)
        strbuf_puts(out, "the queue ");
    if (!pause) {
        strbuf_puts(out, already ? "is not paused\n" : "resumed\n");
    } else if (!already) {
        strbuf_puts(out, "paused; what runs goes on, nothing new starts\n");
    } else {
        strbuf_puts(out, "is paused already,");
        print_paused_by(out, answer, clock_read());
        strbuf_putc(out, '\n');
    }
}

/* From inside a run, who paused it is that run and not its user. NULL: no run, or no name of one. */
static const char *run_that_asks(void) {
    const char *run = getenv("SLUICE_RUN");
    for (const char *c = run; c && *c; c++)
        if (!isgraph((unsigned char)*c))
            return NULL;
    return run && *run ? run : NULL;
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
    if (code == CMD_OK)
        client_set_run(ask.client, run_that_asks());
    size_t count = call->arg_count > 0 ? call->arg_count : 1;
    for (size_t i = 0; i < count && code == CMD_OK; i++) {
        const char *project = call->arg_count > 0 ? call->args[i] : NULL;
        code = pause_one(&ask, project, pause);
        if (code != CMD_OK)
            break;
        json_array_append(answers, ask.answer);
        say(&out, project, pause, ask.answer);
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
