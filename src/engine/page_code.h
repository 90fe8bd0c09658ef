/* page_code.h: moved to access.h. */
#pragma once
#include "engine/access.h" // IWYU pragma: export
