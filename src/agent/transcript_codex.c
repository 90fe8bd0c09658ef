/* transcript_codex.c: `codex exec --json`.
 *
 * Items have a start and an end event. A command is printed at its start and its output at its end;
 * items without a start (a message, a file change) at their end. */
#include <string.h>

#include "agent/transcript_internal.h"
#include "base/macros.h"

#define WANTS(WANT)                                                                                \
    WANT(TYPE, "type", 32)                                                                         \
    WANT(THREAD, "thread_id", 128)                                                                 \
    WANT(MESSAGE, "message", 1024)                                                                 \
    WANT(ERROR_MESSAGE, "error/message", 1024)                                                     \
    WANT(ITEM_ID, "item/id", 64)                                                                   \
    WANT(ITEM_TYPE, "item/type", 32)                                                               \
    WANT(ITEM_TEXT, "item/text", TRANSCRIPT_TEXT)                                                  \
    WANT(ITEM_MESSAGE, "item/message", 1024)                                                       \
    WANT(COMMAND, "item/command", TRANSCRIPT_ARGUMENT)                                             \
    WANT(OUTPUT, "item/aggregated_output", TRANSCRIPT_RESULT)                                      \
    WANT(EXIT_CODE, "item/exit_code", 32)                                                          \
    WANT(CHANGE_PATH, "item/changes/*/path", 256)                                                  \
    WANT(SERVER, "item/server", 128)                                                               \
    WANT(TOOL, "item/tool", 128)                                                                   \
    WANT(ARGUMENT, "item/arguments/*", TRANSCRIPT_ARGUMENT)                                        \
    WANT(RESULT_TEXT, "item/result/content/*/text", TRANSCRIPT_RESULT)                             \
    WANT(ITEM_ERROR, "item/error/message", 1024)                                                   \
    WANT(QUERY, "item/query", TRANSCRIPT_ARGUMENT)                                                 \
    WANT(PROMPT, "item/prompt", TRANSCRIPT_ARGUMENT)                                               \
    WANT(TODO_TEXT, "item/items/*/text", 256)                                                      \
    WANT(TODO_DONE, "item/items/*/completed", 2)                                                   \
    WANT(TOKENS_IN, "usage/input_tokens", 32)                                                      \
    WANT(TOKENS_OUT, "usage/output_tokens", 32)
enum want { WANTS(JSON_WANT_NAME) };

static void codex_match(struct transcript *t, const struct json_value *values, size_t want,
                        const char *key) {
    (void)key;
    if (want == CHANGE_PATH && t->result.length < TRANSCRIPT_ARGUMENT) {
        strbuf_printf(&t->result, "%s%s", t->result.length > 0 ? ", " : "", values[want].text);
    } else if (want == TODO_DONE) {
        t->count += json_value_is_true(&values[want]);
    }
}

/* "/bin/bash -lc 'make test'" is "make test". */
static void put_command(struct transcript *t, const char *command) {
    static const char *const shells[] = { "bash -lc ", "zsh -lc ", "sh -lc ",
                                          "bash -c ",  "zsh -c ",  "sh -c " };
    _cleanup_(strbuf_finish) struct strbuf inner = STRBUF_INIT;
    const char *at = command;
    at += strncmp(at, "/usr", 4) == 0 ? 4 : 0;
    at += strncmp(at, "/bin/", 5) == 0 ? 5 : 0;
    for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
        size_t length = strlen(shells[i]);
        if (strncmp(at, shells[i], length) != 0)
            continue;
        at += length;
        size_t size = strlen(at);
        bool quoted = size >= 2 && (*at == '\'' || *at == '"') && at[size - 1] == *at
                      && memchr(at + 1, *at, size - 2) == NULL;
        strbuf_add(&inner, at + quoted, size - 2 * (size_t)quoted);
        command = strbuf_text(&inner);
        break;
    }
    transcript_call_with(t, "shell", command);
}

static void put_start(struct transcript *t, const struct json_value *values) {
    const struct json_value *type = &values[ITEM_TYPE];
    if (strcmp(t->item, values[ITEM_ID].text) == 0 && t->item[0])
        return;
    memcpy(t->item, values[ITEM_ID].text, values[ITEM_ID].length + 1);
    if (json_value_is(type, "command_execution"))
        put_command(t, values[COMMAND].text);
    else if (json_value_is(type, "web_search"))
        transcript_call_with(t, "web_search", values[QUERY].text);
    else if (json_value_is(type, "collab_tool_call"))
        transcript_call_with(t, values[TOOL].text, values[PROMPT].text);
    else
        transcript_call(t, values[TOOL].text);
}

static void on_item(struct transcript *t, const struct json_value *values) {
    const struct json_value *type = &values[ITEM_TYPE];
    transcript_call_id(t, &values[ITEM_ID]);
    bool complete = json_value_is(&values[TYPE], "item.completed");
    if (json_value_is(type, "todo_list")) {
        if (values[TODO_TEXT].count > 0)
            transcript_note(t, "to do: %u of %u done", t->count, (unsigned)values[TODO_TEXT].count);
    } else if (json_value_is(type, "agent_message")) {
        if (complete)
            transcript_say(t, &values[ITEM_TEXT]);
    } else if (json_value_is(type, "reasoning")) {
        if (complete)
            transcript_think(t, &values[ITEM_TEXT]);
    } else if (json_value_is(type, "file_change")) {
        if (complete)
            transcript_call_with(t, "edit", strbuf_text(&t->result));
    } else if (json_value_is(type, "error")) {
        transcript_note_of(t, &values[ITEM_MESSAGE]);
    } else if (json_value_is(type, "command_execution") || values[TOOL].length > 0
               || json_value_is(type, "web_search")) {
        if (!json_value_is(&values[TYPE], "item.updated"))
            put_start(t, values);
        if (!complete)
            return;
        transcript_output(t, &values[OUTPUT], false);
        transcript_output(t, &values[RESULT_TEXT], false);
        transcript_output(t, &values[ITEM_ERROR], true);
        transcript_exit_code(t, &values[EXIT_CODE]);
    }
}

static void on_turn_failed(struct transcript *t, const struct json_value *text) {
    struct agent_notes notes = { 0 };
    const char *message = transcript_error_text(&notes, text);
    bool is_new = message[0] && !transcript_was_printed(t, message);
    transcript_fail(t, "failed%s%s", is_new ? ": " : "", is_new ? message : "");
}

/* Each attempt to reach the provider reports an error, and the last one perhaps again. */
static void on_error(struct transcript *t, const struct json_value *text) {
    struct agent_notes notes = { 0 };
    bool retries = strncmp(text->text, "Reconnecting", strlen("Reconnecting")) == 0;
    transcript_put_note(t, retries ? STYLE_FAINT : STYLE_FAILED, "%s",
                        transcript_error_text(&notes, text));
}

static void on_thread(struct transcript *t, const struct json_value *id) {
    transcript_session(t, id, NULL);
}

static void on_turn_completed(struct transcript *t, const struct json_value *values) {
    transcript_note(t, "done, %s tokens in, %s out", values[TOKENS_IN].text,
                    values[TOKENS_OUT].text);
}

static const struct transcript_type types[] = {
    { "thread.started", on_thread, THREAD },
    { "item.started", .event = on_item },
    { "item.updated", .event = on_item },
    { "item.completed", .event = on_item },
    { "error", on_error, MESSAGE },
    { "turn.failed", on_turn_failed, ERROR_MESSAGE },
    { "turn.completed", .event = on_turn_completed },
    { NULL },
};

const struct transcript_family transcript_codex = {
    JSON_WANTS(WANTS),
    .argument = ARGUMENT,
    .match = codex_match,
    .types = types,
};
