/* shared_folder.h: moved to runs.h. */
#pragma once
#include "engine/runs.h" // IWYU pragma: export
