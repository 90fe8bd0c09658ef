/* fuzz_agent_plain.c: arbitrary bytes as the output of the agent 'plain'. */
#define AGENT "plain"
#include "fuzz_agent.h"
