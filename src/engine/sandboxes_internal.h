/* sandboxes_internal.h: what `auto` means here. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"
#include "engine/sandboxes.h"

const char *sandboxes_automatic(const struct engine *e);
const char *sandboxes_home(const struct engine *e);
/* Absolute; a name without a slash is looked for in the daemon's PATH. */
bool sandboxes_find_program(const struct engine *e, const char *name, struct strbuf *out);
