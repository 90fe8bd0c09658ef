/* merges.h: moved to worktrees.h. */
#pragma once
#include "engine/worktrees.h" // IWYU pragma: export
