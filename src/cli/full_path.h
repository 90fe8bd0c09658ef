/* full_path.h: a path that means the same to the daemon, which lives in another folder. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

/* `path` itself when it is absolute, else below the current folder. */
int full_path(const char *path, struct strbuf *out, struct error *err);
