/* web.h: the files of the dashboard, as they were when the program was built.
 *
 * `npm run build` makes web/dist; scripts/embed-web turns it into a table of C arrays (meson.build
 * here), each file as it is and, where that is smaller, compressed. Without a dashboard the table
 * is empty. What is in it is data of nobody: no token is needed to read it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"

struct web_file {
    const char *path;     /* "/index.html", "/assets/app-1a2b3c.js" */
    const char *encoding; /* "gzip"; NULL: as it is */
    const char *hash;     /* of the bytes, for ETag */
    const unsigned char *bytes;
    size_t size;
};

/* Made while building; a path stands once or, the compressed one first, twice. */
extern const struct web_file web_files[];
extern const size_t web_file_count;

/* "/" is the page itself. NULL: there is no such file. `gzip`: a compressed one will do. */
const struct web_file *web_find(const char *path, bool gzip);
/* Its name changes with what is in it: it can be kept for ever. */
bool web_is_immutable(const char *path);
/* Content-Type by the end of its name. */
const char *web_type(const char *path);

/* The same from a folder, for those who work on the dashboard. -ENOENT: there is no such file;
 * nothing outside of the folder is ever read. */
int web_read(const char *folder, const char *path, struct strbuf *out, struct error *err);
