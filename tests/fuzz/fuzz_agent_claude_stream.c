/* fuzz_agent_claude_stream.c: arbitrary bytes as the output of the agent 'claude-stream'. */
#define AGENT "claude-stream"
#include "fuzz_agent.h"
