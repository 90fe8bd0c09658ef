/* name_verb.c: see name_verb.h. */
#include "cli/name_verb.h"

#include "cli/ask.h"
#include "cli/output.h"
#include "cli/sanitize.h"

int name_verb_run(const struct cmd_call *call, const struct name_verb *verb) {
    for (size_t i = 0; i < call->arg_count; i++)
        if (ask_name(call, call->args[i]) != CMD_OK)
            return CMD_USAGE;
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    _cleanup_(client_answer_freep) json_t *answers = json_array();
    int code = CMD_OK;
    for (size_t i = 0; i < call->arg_count && code == CMD_OK; i++) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        ask_path(&path, verb->before, call->args[i], verb->after);
        code = ask_open_post(&ask, NULL, strbuf_text(&path));
        if (code != CMD_OK)
            break;
        json_array_append(answers, ask.answer);
        if (call->json)
            continue;
        sanitize_line(call->args[i], &out);
        strbuf_printf(&out, " %s\n", ask_true(ask.answer, "already") ? verb->already : verb->did);
    }
    if (call->json && json_array_size(answers) > 0)
        ask_dump(call->arg_count > 1 ? answers : json_array_get(answers, 0), &out);
    output_rest(&out);
    return code;
}
