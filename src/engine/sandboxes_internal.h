/* sandboxes_internal.h: what `auto` means here. Private to engine/. */
#pragma once

#include "engine/engine_internal.h"
#include "engine/sandboxes.h"

struct sandboxes {
    char *home;      /* the home directory of the daemon's user */
    bool works;      /* the trial of bubblewrap has succeeded */
    bool is_missing; /* it is not installed */
    char why[256];   /* it has not; "not tried" */
};

void sandboxes_init(struct engine *e);
void sandboxes_free(struct engine *e);
const char *sandboxes_automatic(const struct engine *e);
const char *sandboxes_home(const struct engine *e);
/* Absolute; a name without a slash is looked for in the daemon's PATH. */
bool sandboxes_find_program(const struct engine *e, const char *name, struct strbuf *out);
