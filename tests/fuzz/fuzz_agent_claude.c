/* fuzz_agent_claude.c: arbitrary bytes as the output of the agent 'claude'. */
#define AGENT "claude"
#include "fuzz_agent.h"
