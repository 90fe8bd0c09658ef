/* web.c: finds the file behind a path. See web.h. */
#include "web/web.h"

#include <string.h>

#include "base/macros.h"

const char *web_path(const char *path) {
    return strcmp(path, "/") == 0 ? "/index.html" : path;
}

const struct web_file *web_find(const char *path, bool gzip) {
    path = web_path(path);
    for (size_t i = 0; i < web_file_count; i++)
        if (strcmp(web_files[i].path, path) == 0 && (gzip || !web_files[i].encoding))
            return &web_files[i];
    return NULL;
}

bool web_is_immutable(const char *path) {
    return strncmp(path, "/assets/", strlen("/assets/")) == 0;
}

const char *web_type(const char *path) {
    static const struct {
        const char *end, *type;
    } types[] = {
        { ".css", "text/css; charset=utf-8" },
        { ".html", "text/html; charset=utf-8" },
        { ".ico", "image/x-icon" },
        { ".js", "text/javascript; charset=utf-8" },
        { ".json", "application/json" },
        { ".map", "application/json" },
        { ".png", "image/png" },
        { ".svg", "image/svg+xml" },
        { ".txt", "text/plain; charset=utf-8" },
        { ".webmanifest", "application/manifest+json" },
        { ".woff2", "font/woff2" },
    };
    size_t length = strlen(web_path(path));
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        size_t end = strlen(types[i].end);
        if (length > end && strcmp(web_path(path) + length - end, types[i].end) == 0)
            return types[i].type;
    }
    return "application/octet-stream";
}
