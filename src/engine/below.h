/* below.h: moved to descendants.h. */
#pragma once
#include "engine/descendants.h" // IWYU pragma: export
