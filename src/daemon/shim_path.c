/* shim_path.c: a daemon without its shim could start nothing, so this is looked for once, at the
 * beginning, and a missing one is an error with a name. */
#include "daemon/shim_path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"

int shim_path_find(char **ret_path, struct error *err) {
    const char *given = getenv("SLUICE_SHIM");
    if (given && access(given, X_OK) == 0) {
        *ret_path = xstrdup(given);
        return 0;
    }
    if (given)
        return error_set(err, -ENOENT, "SLUICE_SHIM: '%s' cannot be executed", given);
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        return error_set(err, -errno, "/proc/self/exe: %s", strerror(errno));
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    static const char *const places[] = { "", "/../libexec/sluice" };
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        struct strbuf path = STRBUF_INIT;
        strbuf_printf(&path, "%s%s/sluice-shim", self, places[i]);
        if (access(strbuf_text(&path), X_OK) == 0) {
            *ret_path = strbuf_take(&path);
            return 0;
        }
        strbuf_finish(&path);
    }
    return error_set(err, -ENOENT, "sluice-shim is not beside '%s/sluiced': install it there",
                     self);
}
