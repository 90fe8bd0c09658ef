/* web.c: finds the file behind a path. See web.h. */
#include "web/web.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macros.h"

#define PAGE     "/index.html"
#define FILE_MAX ((size_t)16 * 1024 * 1024)

static const char *path_of(const char *path) {
    return strcmp(path, "/") == 0 ? PAGE : path;
}

const struct web_file *web_find(const char *path, bool gzip) {
    path = path_of(path);
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
    size_t length = strlen(path_of(path));
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        size_t end = strlen(types[i].end);
        if (length > end && strcmp(path_of(path) + length - end, types[i].end) == 0)
            return types[i].type;
    }
    return "application/octet-stream";
}

/* The kernel (RESOLVE_BENEATH) keeps `..` and links from leaving the folder. */
static int open_beneath(const char *folder, const char *path) {
    struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                            .resolve =
                                RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    long file = syscall(SYS_openat2, fd, path, &how, sizeof(how));
    int code = errno;
    close(fd);
    return file < 0 ? -code : (int)file;
}

int web_read(const char *folder, const char *path, struct strbuf *out, struct error *err) {
    char buffer[16384];
    struct stat st;
    ssize_t n = 0;
    path = path_of(path);
    int fd = path[1] ? open_beneath(folder, path + 1) : -ENOENT;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)FILE_MAX) {
        if (fd >= 0)
            close(fd);
        return error_set(err, -ENOENT, "there is no file '%s' in '%s'", path, folder);
    }
    while ((n = read(fd, buffer, sizeof(buffer))) > 0 && out->length <= FILE_MAX)
        strbuf_add(out, buffer, (size_t)n);
    close(fd);
    return n < 0 ? error_set(err, -EIO, "'%s' in '%s' cannot be read", path, folder) : 0;
}
