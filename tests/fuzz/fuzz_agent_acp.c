/* fuzz_agent_acp.c: arbitrary bytes as the output of the agent 'acp'. */
#define AGENT "acp"
#include "fuzz_agent.h"
