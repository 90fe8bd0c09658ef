/* claude_internal.h: the reading of Claude Code's stream, for the adapters of everything that prints the same. */
#pragma once

#include "agent/reader_internal.h"

#define CLAUDE_WANTS 32
extern const struct json_want claude_wants[CLAUDE_WANTS];

void claude_event(struct agent_seen *seen, const struct json_value *values, enum agent_stream from);
void claude_text(struct agent_seen *seen, const char *line, enum agent_stream from);
void claude_judge(struct agent_seen *seen, const struct agent_end *end);
