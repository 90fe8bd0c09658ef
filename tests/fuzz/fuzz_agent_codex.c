/* fuzz_agent_codex.c: any bytes as the output of the agent 'codex'. */
#define AGENT "codex"
#include "fuzz_agent.h"
