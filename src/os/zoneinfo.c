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

static int read_own(struct strbuf *out) {
    const char *name = zone_of_environment();
    struct error ignored;
    if (name && *name == '/' && file_read(name, ZONE_FILE_MAX, out, &ignored) == 0)
        return 0;
    if (name && zoneinfo_is_name(name) && zoneinfo_read(name, out, &ignored) == 0)
        return 0;
    return !name && file_read("/etc/localtime", ZONE_FILE_MAX, out, &ignored) == 0 ? 0 : 1;
}

/* /etc/localtime is usually a link to a file of the zoneinfo folder. */
bool zoneinfo_own_name(struct strbuf *out) {
    static const char folder[] = "/zoneinfo/";
    _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT;
    const char *name = zone_of_environment(), *path;
    char target[PATH_MAX] = "";
    bool is_utc = read_own(&data) != 0;
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
    const char *folder = getenv("TZDIR");
    _cleanup_(freep) char *path =
        xasprintf("%s/%s", folder && *folder ? folder : ZONE_FOLDER, name);
    struct error why = { 0 };
    if (file_read(path, ZONE_FILE_MAX, out, &why) == 0)
        return 0;
    if (strcmp(name, "UTC") == 0)
        return 1;
    return error_set(err, -EINVAL, "there is no time zone '%s' (%s)", utf8_quote(name).text,
                     why.text);
}
