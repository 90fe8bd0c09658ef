/* page_code.h: one-time codes with which a page in the owner's browser gets a token.
 *
 * A code is valid for one use within PAGE_CODE_LIFE and is kept in memory only. The browser is not
 * given the code as an argument, because every process of this user can read those. It gets a file
 * that redirects to the link: mode 0600, in its own folder in the home, removed with its code. */
#pragma once

#include "base/error.h"
#include "base/time_ms.h"
#include "engine/access.h"

#define PAGE_CODE_SIZE ACCESS_SECRET_SIZE
#define PAGE_CODE_LIFE SECONDS(60)

/* A new code for pages with this scope; returns when it expires. */
time_ms engine_make_code(struct engine *engine, enum access_scope scope,
                         char ret_code[PAGE_CODE_SIZE]);
/* Writes the file that redirects to `link`, which contains this code. *ret_path is valid as long as
 * the code. Such a code is for a program of this machine. */
int engine_write_code_file(struct engine *engine, const char *code, const char *link,
                           const char **ret_path, struct error *err);

struct page_code {
    enum access_scope scope; /* ACCESS_NONE: unknown, used, or expired */
    bool has_file;
};
/* Uses up the code and removes its file. */
struct page_code engine_take_code(struct engine *engine, const char *code);

/* --- inside the engine ----------------------------------------------------------------------- */
