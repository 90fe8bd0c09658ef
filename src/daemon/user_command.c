/* user_command.c: see user_command.h. */
#include "daemon/user_command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data_folder.h"
#include "engine/redaction.h"

#define SHOWN_MAX 200u /* bytes of a failed command's output in a message */

/* The pair is in the arena. */
static void add_pair(struct user_environment *env, const char *pair) {
    if (env->count < USER_COMMAND_VARIABLES)
        env->pairs[env->count++] = pair;
}

void user_environment_put(struct user_environment *env, const char *name, const char *value) {
    add_pair(env, arena_printf(&env->arena, "%s=%s", name, value ? value : ""));
}

void user_environment_put_number(struct user_environment *env, const char *name, int64_t number) {
    add_pair(env, arena_printf(&env->arena, "%s=%" PRId64, name, number));
}

void user_environment_pass(struct user_environment *env, const char *name) {
    if (getenv(name))
        user_environment_put(env, name, getenv(name));
}

void user_environment_put_common(struct user_environment *env, const struct engine *engine) {
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    const char *const *names = NULL;
    user_environment_put(env, "SLUICE_SOCKET", engine_socket_path(engine));
    helper_mark(engine_data(engine), &mark);
    add_pair(env, arena_strdup(&env->arena, strbuf_text(&mark)));
    size_t count = config_words(engine_config(engine), "tasks.env", NULL, &names);
    for (size_t i = 0; i < count; i++)
        user_environment_pass(env, names[i]);
}

/* The end of the output, which may have a secret. */
static void put_output(const struct engine *engine, const char *output, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf shown = STRBUF_INIT;
    strbuf_puts(&shown, output);
    if (shown.length > 0)
        engine_redact_in_place(engine, shown.text);
    size_t size = shown.length;
    while (size > 0 && (unsigned char)shown.text[size - 1] <= ' ')
        size--;
    size_t from = size > SHOWN_MAX ? size - SHOWN_MAX : 0;
    if (size > 0)
        strbuf_printf(out, ": %.*s", (int)(size - from), shown.text + from);
}

bool user_command_describe(const struct engine *engine, const struct user_command *command,
                           const struct helper_end *end, struct strbuf *out) {
    if (end->error)
        strbuf_printf(out, ": %s%s", command->program, strerror(end->error));
    else if (end->timed_out)
        strbuf_printf(out, " took longer than %" PRId64 " ms and was stopped", command->timeout);
    else if (end->signal)
        strbuf_printf(out, " was killed by signal %d", end->signal);
    else
        strbuf_printf(out, " ended with exit code %d", end->code);
    if (!end->error && !end->timed_out && end->code != 0)
        put_output(engine, end->output, out);
    return !end->error && !end->timed_out && end->code == 0;
}
