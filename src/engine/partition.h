/* partition.h: moved to executors.h. */
#pragma once
#include "engine/executors.h" // IWYU pragma: export
