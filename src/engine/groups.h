/* groups.h: moved to engine.h. */
#pragma once
#include "engine/engine.h" // IWYU pragma: export
