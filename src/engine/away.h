/* away.h: moved to hosts.h. */
#pragma once
#include "engine/hosts.h" // IWYU pragma: export
