/* live_snapshot.h: moved to outlook.h. */
#pragma once
#include "engine/outlook.h" // IWYU pragma: export
