/* fuzz_agent_gemini.c: arbitrary bytes as the output of the agent 'gemini'. */
#define AGENT "gemini"
#include "fuzz_agent.h"
