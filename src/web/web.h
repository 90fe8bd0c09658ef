/* web.h: the dashboard's files, embedded at build time.
 *
 * `npm run build` creates web/dist; scripts/embed-web turns it into a table of C arrays
 * (meson.build here), with a compressed copy of each file where that is smaller. Without a
 * dashboard the table is empty. The files are public: reading them needs no token. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct web_file {
    const char *path;     /* "/index.html", "/assets/app-1a2b3c.js" */
    const char *encoding; /* "gzip"; NULL: not compressed */
    const char *hash;     /* of the bytes, for ETag */
    const unsigned char *bytes;
    size_t size;
};

/* Generated. A path with a compressed copy has two entries, the compressed one first. */
extern const struct web_file web_files[];
extern const size_t web_file_count;

/* Of the file: "/" is "/index.html". */
const char *web_path(const char *path);
/* NULL: no such file. `gzip`: the client accepts a compressed file. */
const struct web_file *web_find(const char *path, bool gzip);
/* The file name contains a content hash, so clients may cache it forever. */
bool web_is_immutable(const char *path);
/* Content-Type by file extension. */
const char *web_type(const char *path);
