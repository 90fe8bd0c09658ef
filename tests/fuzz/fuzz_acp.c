/* fuzz_acp.c: arbitrary lines as the messages of an agent that uses the Agent Client Protocol.
 *
 * The first byte selects the policy and the options; a line with only 0x18 is a request to stop. Beyond not crashing: every line
 * that is logged or sent is valid JSON, and the agent cannot produce a line with the member `acp`, which marks lines of Sluice. */
#include <assert.h>
#include <string.h>

#include "acp/acp.h"
#include "base/json_span.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Asserts that each line is an object. Returns the number of lines with the member `acp`. */
static size_t check_lines(const struct strbuf *text) {
    const char *at = strbuf_text(text), *end;
    size_t own = 0;
    for (; (end = strchr(at, '\n')); at = end + 1) {
        struct json_span line;
        assert(json_span_parse(at, (size_t)(end - at), &line) && json_span_is_object(line));
        if (json_span_get(line, "acp").from) {
            assert(strncmp(at, "{\"acp\":\"", 8) == 0);
            own++;
        }
    }
    assert(*at == '\0' && strlen(strbuf_text(text)) == text->length);
    return own;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    struct acp_options options = {
        .policy = (enum acp_policy)(data[0] % ACP_POLICY_MAX),
        .resume = data[0] & 8 ? "s-1" : NULL,
        .mode = data[0] & 16 ? "code" : NULL,
        .model = data[0] & 32 ? "large" : NULL,
        .auth_method = data[0] & 64 ? "key" : NULL,
        .cwd = "/home/me",
        .prompt = "mend it",
    };
    struct acp_session s;
    acp_session_init(&s, &options);
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((line_end ? line_end : end) - at);
        if (length == 1 && *at == 0x18)
            acp_session_cancel(&s);
        else if (length == 1 && *at == 0x19 && s.asks)
            acp_permission_answer(&s, s.asks->choices[0].name, "ann", NULL);
        else if (length == 1 && *at == 0x1a && s.phase == ACP_PROMPTED)
            (void)acp_session_stop_waiting(&s);
        else
            acp_session_take(&s, at, length);
        at += length + 1;
    }
    acp_session_agent_exited(&s, 1);
    assert(s.phase == ACP_OVER);
    (void)check_lines(&s.log);
    assert(check_lines(&s.to_agent) == 0);
    acp_session_finish(&s);
    return 0;
}
