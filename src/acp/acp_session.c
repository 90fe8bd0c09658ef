/* acp_session.c: the requests of one run in order, and the handling of answers.
 *
 *   initialize → authenticate (if configured) → session/new, or session/resume, or session/load
 *     → session/set_mode (if configured)
 *     → session/set_config_option (a model, if configured) → session/prompt
 *
 * At most one of our requests is open. The agent's requests are answered at once, except those for
 * a permission that a person decides about (acp_permission.c). The client's file and terminal methods are not offered: the
 * agent has its own tools in the same folder and sandbox. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "acp/acp.h"
#include "base/alloc.h"
#include "base/json_span.h"
#include "base/json_write.h"
#include "base/macros.h"

#define ACP_PROTOCOL     1
#define TEXT_MAX         4096 /* bytes quoted in the log */
#define METHOD_NOT_FOUND (-32601)
#define AUTH_REQUIRED    (-32000)

/* --- the log ---------------------------------------------------------------------------------- */

void acp_log_begin(struct acp_session *s, struct json_writer *w, const char *event) {
    json_write_init(w, &s->log, false);
    json_write_pack(w, "{s:s", "acp", event);
}

void acp_log_end(struct acp_session *s, struct json_writer *w) {
    json_write_object_end(w);
    strbuf_putc(&s->log, '\n');
}

/* `format` and what follows: its members (json_write_pack). */
static void log_event(struct acp_session *s, const char *event, const char *format, ...) {
    struct json_writer w;
    va_list args;
    acp_log_begin(s, &w, event);
    va_start(args, format);
    json_write_vpack(&w, format, args);
    va_end(args);
    acp_log_end(s, &w);
}

void acp_log_wish(struct json_writer *w, const struct acp_wish *wish) {
    json_write_pack(w, "s:s, s:s", "tool", wish->kind[0] ? wish->kind : "other", "argument",
                    wish->argument[0] ? wish->argument : wish->title);
}

static void end(struct acp_session *s, int exit_code) {
    s->phase = ACP_OVER;
    s->exit_code = exit_code;
}

/* `message` may be NULL. */
static void log_failure(struct acp_session *s, const char *event, int64_t code,
                        const char *message) {
    log_event(s, event, message ? "s:s, s:I, s:s" : "s:s, s:I", "during", s->method, "code", code,
              "message", message);
}

static void fail(struct acp_session *s, int64_t code, const char *message) {
    log_failure(s, "error", code, message);
    end(s, 1);
}

void acp_session_fail(struct acp_session *s, const char *message) {
    if (s->phase != ACP_OVER)
        fail(s, 0, message);
}

void acp_session_agent_exited(struct acp_session *s, int code) {
    if (s->phase == ACP_OVER)
        return;
    log_failure(s, "gone", code, NULL);
    end(s, code ? code : 1);
}

/* Output that is not part of the protocol. */
static void log_stray(struct acp_session *s, const char *line, size_t size) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_add(&text, line, strnlen(line, size < TEXT_MAX ? size : TEXT_MAX));
    if (text.length > 0)
        log_event(s, "stray", "s:s", "text", strbuf_text(&text));
}

/* --- sending ---------------------------------------------------------------------------------- */

/* `format` and what follows: the members of params (json_write_pack). */
static void request(struct acp_session *s, enum acp_phase phase, const char *method,
                    const char *format, ...) {
    struct json_writer w;
    va_list args;
    s->phase = phase;
    s->method = method;
    json_write_init(&w, &s->to_agent, false);
    json_write_pack(&w, "{s:s, s:s, s:I, s:{", "jsonrpc", "2.0", "method", method, "id",
                    ++s->request, "params");
    va_start(args, format);
    json_write_vpack(&w, format, args);
    va_end(args);
    json_write_pack(&w, "}}");
    strbuf_putc(&s->to_agent, '\n');
}

static void log_lost(struct acp_session *s, const char *message) {
    log_event(s, "lost", "s:s, s:s", "session", s->options->resume, "message", message);
    end(s, 1);
}

static void send_open(struct acp_session *s) {
    const char *resume = s->options->resume, *cwd = s->options->cwd;
    if (resume && !s->can_resume && !s->can_load) {
        log_lost(s, "the agent cannot load a session");
        return;
    }
    if (resume)
        request(s, ACP_OPEN, s->can_resume ? "session/resume" : "session/load", "s:s, s:s, s:[]",
                "sessionId", resume, "cwd", cwd, "mcpServers");
    else
        request(s, ACP_OPEN, "session/new", "s:s, s:[]", "cwd", cwd, "mcpServers");
}

static void send_prompt(struct acp_session *s) {
    request(s, ACP_PROMPTED, "session/prompt", "s:s, s:[{s:s, s:s}]", "sessionId", s->id, "prompt",
            "type", "text", "text", s->options->prompt);
}

void acp_session_cancel(struct acp_session *s) {
    struct json_writer w;
    if (s->phase == ACP_OVER || s->is_canceled)
        return;
    s->is_canceled = true;
    acp_permission_cancel(s);
    if (s->phase != ACP_PROMPTED) { /* nothing to save yet */
        log_event(s, "end", "s:s", "reason", "cancelled");
        end(s, 1);
        return;
    }
    json_write_init(&w, &s->to_agent, false);
    json_write_pack(&w, "{s:s, s:s, s:{s:s}}", "jsonrpc", "2.0", "method", "session/cancel",
                    "params", "sessionId", s->id);
    strbuf_putc(&s->to_agent, '\n');
}

void acp_session_log_wait(struct acp_session *s, const char *why) {
    log_event(s, "waits", "s:s", "message", why ? why : "");
}

bool acp_session_stop_waiting(struct acp_session *s) {
    if (!s->can_load && !s->can_resume) {
        acp_session_log_wait(s, "the agent cannot resume its session");
        return false;
    }
    s->is_asked = true;
    acp_session_cancel(s);
    return true;
}

/* --- mode and model --------------------------------------------------------------------------- */

/* Appends `name` of each list item, comma-separated. True if `wanted` is among them. */
static bool list_ids(struct json_span list, const char *name, const char *wanted,
                     struct strbuf *out) {
    struct json_span item = { NULL, 0 };
    bool found = false;
    while (json_span_item(list, &item)) {
        struct json_span id = json_span_get(item, name);
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        if (!json_span_text(id, 64, &text) || out->length > 512)
            continue;
        found |= wanted && strcmp(strbuf_text(&text), wanted) == 0;
        strbuf_printf(out, "%s%s", out->length ? ", " : "", strbuf_text(&text));
    }
    return found;
}

/* The option of this category; missing if the agent does not offer one. */
static struct json_span config_option(struct json_span result, const char *category) {
    struct json_span options = json_span_get(result, "configOptions"), option = { NULL, 0 };
    while (json_span_item(options, &option))
        if (json_span_is(json_span_get(option, "category"), category))
            return option;
    return (struct json_span){ NULL, 0 };
}

static void send_option(struct acp_session *s, enum acp_phase phase, struct json_span option,
                        const char *value) {
    _cleanup_(strbuf_finish) struct strbuf id = STRBUF_INIT;
    (void)json_span_text(json_span_get(option, "id"), 256, &id);
    request(s, phase, "session/set_config_option", "s:s, s:s, s:s", "sessionId", s->id, "configId",
            strbuf_text(&id), "value", value);
}

static void send_model(struct acp_session *s) {
    struct json_span result = { strbuf_text(&s->open_result), s->open_result.length };
    const char *model = s->options->model;
    if (!model) {
        send_prompt(s);
        return;
    }
    struct json_span option = config_option(result, "model");
    if (option.from)
        send_option(s, ACP_MODEL, option, model);
    else
        fail(s, 0, "the agent offers no choice of models: remove the setting 'model' of the agent");
}

static void send_mode(struct acp_session *s) {
    struct json_span result = { strbuf_text(&s->open_result), s->open_result.length };
    const char *mode = s->options->mode;
    _cleanup_(strbuf_finish) struct strbuf modes = STRBUF_INIT;
    if (!mode) {
        send_model(s);
        return;
    }
    struct json_span list = json_span_get(json_span_get(result, "modes"), "availableModes");
    struct json_span option = config_option(result, "mode");
    if (list_ids(list, "id", mode, &modes)) {
        request(s, ACP_MODE, "session/set_mode", "s:s, s:s", "sessionId", s->id, "modeId", mode);
    } else if (option.from && modes.length == 0) {
        send_option(s, ACP_MODE, option, mode);
    } else {
        _cleanup_(freep) char *text = xasprintf("the agent has no mode '%s'; its modes: %s", mode,
                                                modes.length ? strbuf_text(&modes) : "none");
        fail(s, 0, text);
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

static void log_open(struct acp_session *s) {
    struct json_span result = { strbuf_text(&s->open_result), s->open_result.length };
    _cleanup_(strbuf_finish) struct strbuf model = STRBUF_INIT;
    (void)json_span_text(json_span_get(config_option(result, "model"), "currentValue"), 100,
                         &model);
    const char *name = s->options->model ? s->options->model : strbuf_text(&model);
    log_event(s, "open", *name ? "s:s, s:b, s:s" : "s:s, s:b", "session", s->id, "resumed",
              s->options->resume != NULL, "model", name);
}

static void on_initialized(struct acp_session *s, struct json_span result) {
    int64_t version = -1;
    struct json_span able = json_span_get(result, "agentCapabilities");
    char text[160];
    if (!json_span_integer(json_span_get(result, "protocolVersion"), &version)
        || version != ACP_PROTOCOL) {
        snprintf(text, sizeof(text),
                 "the agent speaks version %" PRId64 " of the Agent Client Protocol; "
                 "Sluice speaks version %d",
                 version, ACP_PROTOCOL);
        fail(s, 0, text);
        return;
    }
    s->can_load = json_span_is_true(json_span_get(able, "loadSession"));
    s->can_resume =
        !json_span_is_missing(json_span_get(json_span_get(able, "sessionCapabilities"), "resume"));
    (void)list_ids(json_span_get(result, "authMethods"), "id", NULL, &s->methods);
    if (!s->options->auth_method) {
        send_open(s);
        return;
    }
    request(s, ACP_AUTHENTICATE, "authenticate", "s:s", "methodId", s->options->auth_method);
}

static void on_opened(struct acp_session *s, struct json_span result) {
    _cleanup_(strbuf_finish) struct strbuf id = STRBUF_INIT;
    if (s->options->resume)
        strbuf_puts(&id, s->options->resume);
    else
        (void)json_span_text(json_span_get(result, "sessionId"), sizeof(s->id) + 4, &id);
    if (id.length == 0 || id.length >= sizeof(s->id)) {
        fail(s, 0, "the agent gave no usable id of a session");
        return;
    }
    snprintf(s->id, sizeof(s->id), "%s", strbuf_text(&id));
    strbuf_clear(&s->open_result);
    if (result.from)
        strbuf_add(&s->open_result, result.from, result.size);
    log_open(s);
    send_mode(s);
}

static void on_prompted(struct acp_session *s, struct json_span result) {
    struct json_writer w;
    _cleanup_(strbuf_finish) struct strbuf reason = STRBUF_INIT;
    struct json_span stop_reason = json_span_get(result, "stopReason");
    (void)json_span_text(stop_reason, 64, &reason);
    acp_log_begin(s, &w, "end");
    json_put_string(&w, "reason", s->is_asked ? "asked" : strbuf_text(&reason));
    if (s->is_canceled && !s->is_asked)
        json_put_bool(&w, "stopped", true);
    if (s->denied > 0) { /* repeated at the end: a long log loses its middle */
        json_put_int(&w, "denied", s->denied);
        acp_log_wish(&w, &s->last_denied);
    }
    acp_log_end(s, &w);
    end(s, json_span_is(stop_reason, "end_turn") && !s->is_asked ? 0 : 1);
}

/* The message and its details; "Internal error" only if there is nothing else. */
static void describe_error(const struct acp_session *s, struct json_span error, int64_t code,
                           struct strbuf *out) {
    struct json_span data = json_span_get(error, "data"), message = json_span_get(error, "message");
    struct json_span details = json_span_is_object(data) ? json_span_get(data, "message") : data;
    if (json_span_is_object(data) && !details.from)
        details = json_span_get(data, "details");
    if (!json_span_is(message, "Internal error"))
        (void)json_span_text(message, TEXT_MAX, out);
    if (details.from && out->length > 0)
        strbuf_puts(out, ": ");
    (void)json_span_text(details, TEXT_MAX, out);
    if (out->length == 0)
        (void)json_span_text(message, TEXT_MAX, out);
    if (code == AUTH_REQUIRED && s->methods.length > 0)
        strbuf_printf(out, "%s(authentication methods of the agent: %s)", out->length ? " " : "",
                      strbuf_text(&s->methods));
}

static void on_error(struct acp_session *s, struct json_span error) {
    int64_t code = 0;
    _cleanup_(strbuf_finish) struct strbuf message = STRBUF_INIT;
    (void)json_span_integer(json_span_get(error, "code"), &code);
    describe_error(s, error, code, &message);
    if (s->phase == ACP_OPEN && s->options->resume && code != AUTH_REQUIRED)
        log_lost(s, strbuf_text(&message));
    else
        fail(s, code, strbuf_text(&message));
}

static void on_answer(struct acp_session *s, struct json_span message) {
    int64_t id;
    struct json_span error = json_span_get(message, "error");
    struct json_span result = json_span_get(message, "result");
    if (!json_span_integer(json_span_get(message, "id"), &id) || id != s->request)
        return;
    if (!json_span_is_missing(error)) {
        on_error(s, error);
        return;
    }
    switch (s->phase) {
    case ACP_INITIALIZE:
        on_initialized(s, result);
        break;
    case ACP_AUTHENTICATE:
        send_open(s);
        break;
    case ACP_OPEN:
        on_opened(s, result);
        break;
    case ACP_MODE:
        send_model(s);
        break;
    case ACP_MODEL:
        send_prompt(s);
        break;
    case ACP_PROMPTED:
        on_prompted(s, result);
        break;
    case ACP_OVER:
        break;
    }
}

/* --- requests of the agent -------------------------------------------------------------------- */

void acp_answer_begin(struct acp_session *s, struct json_span id) {
    strbuf_puts(&s->to_agent, "{\"jsonrpc\":\"2.0\",\"id\":");
    strbuf_add(&s->to_agent, id.from, id.size);
}

static void on_request(struct acp_session *s, struct json_span message) {
    struct json_span id = json_span_get(message, "id");
    struct json_span method = json_span_get(message, "method");
    if (json_span_is(method, "session/request_permission")) {
        acp_permission_take(s, id, json_span_get(message, "params"));
        return;
    }
    acp_answer_begin(s, id);
    strbuf_printf(&s->to_agent, ",\"error\":{\"code\":%d,\"message\":\"Method not found\"}}\n",
                  METHOD_NOT_FOUND);
}

/* --- messages of the agent -------------------------------------------------------------------- */

void acp_session_take(struct acp_session *s, const char *line, size_t size) {
    struct json_span message;
    if (!json_span_parse(line, size, &message) || !json_span_is_object(message)
        || json_span_get(message, "acp").from) {
        log_stray(s, line, size);
        return;
    }
    /* While loading, the agent replays the session, which is in an earlier run's log. */
    if (s->phase == ACP_OPEN && json_span_is(json_span_get(message, "method"), "session/update"))
        return;
    strbuf_add(&s->log, message.from, message.size);
    strbuf_putc(&s->log, '\n');
    bool has_id = !json_span_is_missing(json_span_get(message, "id"));
    if (s->phase == ACP_OVER)
        return;
    if (json_span_get(message, "method").from && has_id)
        on_request(s, message);
    else if (has_id)
        on_answer(s, message);
    struct json_span update = json_span_get(json_span_get(message, "params"), "update");
    struct json_span kind = json_span_get(update, "sessionUpdate");
    if (!has_id && json_span_get(message, "method").from
        && (json_span_is(kind, "tool_call") || json_span_is(kind, "tool_call_update")))
        acp_permission_note(s, update);
}

void acp_session_init(struct acp_session *s, const struct acp_options *options) {
    *s = (struct acp_session){ .options = options };
    request(s, ACP_INITIALIZE, "initialize", "s:i, s:{s:{s:b, s:b}, s:b}, s:{s:s, s:s, s:s}",
            "protocolVersion", ACP_PROTOCOL, "clientCapabilities", "fs", "readTextFile", false,
            "writeTextFile", false, "terminal", false, "clientInfo", "name", "sluice", "title",
            "Sluice", "version", ACP_CLIENT_VERSION);
}

void acp_session_finish(struct acp_session *s) {
    acp_permission_cancel(s);
    strbuf_finish(&s->methods);
    strbuf_finish(&s->open_result);
    strbuf_finish(&s->to_agent);
    strbuf_finish(&s->log);
}
