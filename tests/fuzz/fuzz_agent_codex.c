/* fuzz_agent_codex.c: arbitrary bytes as the output of the agent 'codex'. */
#define AGENT "codex"
#include "fuzz_agent.h"
