/* denied.h: moved to agents.h. */
#pragma once
#include "engine/agents.h" // IWYU pragma: export
