/* fuzz_agent_opencode.c: any bytes as the output of the agent 'opencode'. */
#define AGENT "opencode"
#include "fuzz_agent.h"
