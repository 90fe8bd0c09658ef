/* page_code.h: one-time codes with which a page in the owner's browser gets a token of its own.
 *
 * A code is good for one use within PAGE_CODE_LIFE, and is in memory only: it ends with the daemon. The browser is not
 * given a code as an argument, because every process of this user can read the arguments of the others. It is given a
 * file that leads to the link: mode 0600, in a folder of its own in the home, removed as soon as its code is used or
 * has expired. */
#pragma once

#include "base/error.h"
#include "base/time_ms.h"
#include "engine/access.h"

#define PAGE_CODE_SIZE ACCESS_SECRET_SIZE
#define PAGE_CODE_LIFE SECONDS(60)

/* A new code for pages with this scope, and until when it can be used. */
time_ms engine_make_code(struct engine *engine, enum access_scope scope,
                         char ret_code[PAGE_CODE_SIZE]);
/* Writes the file that leads to `link`, which holds this code. *ret_path: the code's, until it ends. Such a code is for
 * a program of this machine. */
int engine_write_code_file(struct engine *engine, const char *code, const char *link,
                           const char **ret_path, struct error *err);

struct page_code {
    enum access_scope scope; /* ACCESS_NONE: it is none, was used, or came too late */
    bool has_file;
};
/* It is used up now, and its file is removed. */
struct page_code engine_take_code(struct engine *engine, const char *code);

/* --- inside the engine ----------------------------------------------------------------------- */
