/* diff_view.h: shows a patch; part of cmd_diff.c. */
#pragma once

#include "base/strbuf.h"

/* In colour and sanitized on a terminal, else unchanged. */
void print_patch(const char *patch, struct strbuf *out);
