/* plain.c: adapter for any program. The exit code decides; the last line is the message. */
#include "agent/reader_internal.h"

static void plain_text(struct agent_notes *notes, const char *line, enum agent_stream from) {
    if (from == AGENT_STREAM_OUT)
        agent_set_message(notes, line);
}

static void plain_judge(struct agent_notes *notes, const struct agent_end *end) {
    notes->has_ended = end->code >= 0 && end->by == AGENT_BY_ITSELF;
    if (end->code == 0)
        return;
    agent_mark(notes, AGENT_FAILED);
    /* After a failure, error output explains why. */
    if (notes->last_error[0])
        agent_set_message(notes, notes->last_error);
}

static const struct agent_output output = {
    .text = plain_text,
    .judge = plain_judge,
};

const struct agent_adapter agent_plain = {
    .name = "plain",
    .stop_signal = "TERM",
    .output = &output,
};
