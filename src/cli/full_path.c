/* full_path.c: see full_path.h. Nothing is resolved: the file need not exist. */
#include "cli/full_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

int full_path(const char *path, struct strbuf *out, struct error *err) {
    if (*path == '\0')
        return error_set(err, -EINVAL, "a path is empty");
    if (*path != '/') {
        _cleanup_(freep) char *folder = getcwd(NULL, 0);
        if (!folder)
            return error_set(err, -errno, "cannot tell the current folder: %s", strerror(errno));
        strbuf_printf(out, "%s/", folder);
    }
    strbuf_puts(out, path);
    return 0;
}
