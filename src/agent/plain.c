/* plain.c: adapter for any program. The exit code decides; the last line is the message. */
#include "agent/reader_internal.h"
#include "base/macros.h"

static void plain_text(struct agent_notes *seen, const char *line, enum agent_stream from) {
    if (from == AGENT_STREAM_OUT)
        agent_set_message(seen, line);
}

static void plain_judge(struct agent_notes *seen, const struct agent_end *end) {
    seen->has_ended = end->code >= 0 && end->by == AGENT_BY_ITSELF;
    if (end->code == 0)
        return;
    agent_mark(seen, AGENT_FAILED);
    /* After a failure, error output explains why. */
    if (seen->last_error[0])
        agent_set_message(seen, seen->last_error);
}

const struct agent_adapter agent_plain = {
    .name = "plain",
    .stop_signal = "TERM",
    .text = plain_text,
    .judge = plain_judge,
};
