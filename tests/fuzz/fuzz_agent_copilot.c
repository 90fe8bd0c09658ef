/* fuzz_agent_copilot.c: arbitrary bytes as the output of the agent 'copilot'. */
#define AGENT "copilot"
#include "fuzz_agent.h"
