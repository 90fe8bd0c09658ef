/* claude_stream.c: other programs that print the events of Claude Code (Amp, Cursor, Qwen Code and more).
 *
 * Each is started in its own way, so there is no command here: the configuration has it. Their results lack
 * fields that Claude's have; what is not told stays unknown. */
#include "agent/claude_internal.h"

const struct agent_adapter agent_claude_stream = {
    .name = "claude-stream",
    .stop_signal = "TERM",
    .wants = claude_wants,
    .want_count = CLAUDE_WANTS,
    .event = claude_event,
    .text = claude_text,
    .transcript = &transcript_claude,
    .judge = claude_judge,
};
