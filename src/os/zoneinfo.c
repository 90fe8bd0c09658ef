/* zoneinfo.c: see zoneinfo.h. */
#include "os/zoneinfo.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "os/files.h"

#define ZONE_FILE_MAX (1u << 20)
#define ZONE_FOLDER   "/usr/share/zoneinfo"

bool zoneinfo_is_name(const char *name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_+-/";
    size_t length = strlen(name);
    return length > 0 && length <= 64 && strspn(name, allowed) == length && *name != '/'
           && *name != '-' && name[length - 1] != '/' && !strstr(name, "//");
}

/* TZ, as the C library uses it: a name or a path, with an optional colon; NULL: not set. */
static const char *zone_of_environment(void) {
    const char *name = getenv("TZ");
    if (!name || !*name)
        return NULL;
    return *name == ':' ? name + 1 : name;
}

static char *path_of(const char *name) {
    const char *folder = getenv("TZDIR");
    return xasprintf("%s/%s", folder && *folder ? folder : ZONE_FOLDER, name);
}

/* The file of the machine's own zone, or NULL: UTC. The caller frees it. */
static char *own_path(void) {
    const char *name = zone_of_environment();
    if (!name)
        return xstrdup("/etc/localtime");
    if (*name == '/')
        return xstrdup(name);
    return zoneinfo_is_name(name) ? path_of(name) : NULL;
}

static int read_own(struct strbuf *out) {
    _cleanup_(freep) char *path = own_path();
    struct error ignored;
    return path && file_read(path, ZONE_FILE_MAX, out, &ignored) == 0 ? 0 : 1;
}

/* /etc/localtime is usually a link to a file of the zoneinfo folder. */
bool zoneinfo_own_name(struct strbuf *out) {
    static const char folder[] = "/zoneinfo/";
    _cleanup_(freep) char *file = own_path();
    const char *name = zone_of_environment(), *path;
    char target[PATH_MAX] = "";
    bool is_utc = !file || access(file, R_OK) < 0; /* not read: each answer of status asks */
    if (!name && readlink("/etc/localtime", target, sizeof(target) - 1) > 0)
        name = target;
    path = name ? strstr(name, folder) : NULL;
    name = is_utc ? "UTC" : path ? path + strlen(folder) : name;
    if (!name || !zoneinfo_is_name(name))
        return false;
    strbuf_puts(out, name);
    return true;
}

int zoneinfo_read(const char *name, struct strbuf *out, struct error *err) {
    if (!*name)
        return read_own(out);
    if (!zoneinfo_is_name(name))
        return error_set(err, -EINVAL, "time zone '%s' is not a name such as Europe/Berlin or UTC",
                         utf8_quote(name).text);
    _cleanup_(freep) char *path = path_of(name);
    struct error why = { 0 };
    if (file_read(path, ZONE_FILE_MAX, out, &why) == 0)
        return 0;
    if (strcmp(name, "UTC") == 0)
        return 1;
    return error_set(err, -EINVAL, "there is no time zone '%s' (%s)", utf8_quote(name).text,
                     why.text);
}
