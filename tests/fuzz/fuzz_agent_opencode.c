/* fuzz_agent_opencode.c: arbitrary bytes as the output of the agent 'opencode'. */
#define AGENT "opencode"
#include "fuzz_agent.h"
