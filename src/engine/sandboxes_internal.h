/* sandboxes_internal.h: what `auto` means here. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"
#include "engine/sandboxes.h"

const char *sandboxes_home(const struct engine *e);
