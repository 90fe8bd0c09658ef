/* bus.c: where the files are, and which names they have. append.c writes them, retire.c removes them. */
#include "bus/bus.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bus/bus_internal.h"
#include "os/clock.h"
#include "os/outside.h"

#define SUFFIX       ".md"
#define PROJECTS_MAX 100000u /* looked at for a task */

const struct bus_limits bus_limits_standard = {
    .lock_every = 10,
    .lock_timeout = SECONDS(10),
    .retry_delay = 100,
    .attempts = 3,
};

static time_ms read_now(void *ctx) {
    (void)ctx;
    return clock_read();
}

static time_ms read_steady(void *ctx) {
    (void)ctx;
    return clock_read_steady();
}

static bool wait_span(void *ctx, time_ms span) {
    (void)ctx;
    (void)poll(NULL, 0, (int)span);
    return true;
}

void bus_init(struct bus *bus, const char *root) {
    *bus = (struct bus){
        .root = xstrdup(root),
        .limits = bus_limits_standard,
        .clock = { .now = read_now, .steady = read_steady, .wait = wait_span },
        .sync = fsync,
    };
}

void bus_finish(struct bus *bus) {
    if (bus->root)
        bus_counts_flush(bus);
    bus_sync_finish(bus);
    free(bus->root);
    bus->root = NULL;
}

/* --- names ----------------------------------------------------------------------------------- */

static int add_name(const char *what, const char *name, struct strbuf *out, struct error *err) {
    size_t before = out->length;
    if (!name || !*name)
        return error_set(err, -EINVAL, "a message needs the name of a %s", what);
    for (const char *c = name; *c; c++) {
        bool plain =
            *c != '/' && *c != '%' && !iscntrl((unsigned char)*c) && (*c != '.' || c > name);
        if (plain)
            strbuf_putc(out, *c);
        else
            strbuf_printf(out, "%%%02X", (unsigned char)*c);
    }
    if (out->length - before + strlen(SUFFIX) > NAME_MAX)
        return error_set(err, -ENAMETOOLONG, "the name of %s '%.40s…' is too long for a file", what,
                         name);
    return 0;
}

int bus_path(const struct bus *bus, const struct bus_place *place, struct strbuf *out,
             struct error *err) {
    strbuf_printf(out, "%s/", bus->root);
    int r = add_name("project", place->project, out, err);
    if (r == 0 && place->task) {
        strbuf_putc(out, '/');
        r = add_name("task", place->task, out, err);
    }
    strbuf_puts(out, SUFFIX);
    return r;
}

static int make_one(const char *path, struct error *err) {
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    return error_set_errno(err, "make folder", path);
}

int bus_make_folder(const struct bus *bus, const struct bus_place *place, struct error *err) {
    int r = make_one(bus->root, err);
    if (r < 0 || !place->task)
        return r;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/", bus->root);
    r = add_name("project", place->project, &path, err);
    return r < 0 ? r : make_one(strbuf_text(&path), err);
}

/* --- finding --------------------------------------------------------------------------------- */

static char *decode(const char *name) {
    struct strbuf out = STRBUF_INIT;
    for (; *name; name++) {
        if (name[0] == '%' && isxdigit((unsigned char)name[1])
            && isxdigit((unsigned char)name[2])) {
            const char digits[3] = { name[1], name[2], '\0' };
            strbuf_putc(&out, (char)strtoul(digits, NULL, 16));
            name += 2;
        } else {
            strbuf_putc(&out, *name);
        }
    }
    return strbuf_take(&out);
}

static bool has_task(const struct bus *bus, const char *folder, const char *task) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/%s/", bus->root, folder);
    if (add_name("task", task, &path, NULL) < 0)
        return false;
    strbuf_puts(&path, SUFFIX);
    return access(strbuf_text(&path), F_OK) == 0;
}

char *bus_find_project(const struct bus *bus, const char *task) {
    struct outside_list root;
    char *found = NULL;
    unsigned count = 0;
    (void)outside_list_open(&root, bus->root, PROJECTS_MAX);
    for (const char *name; (name = outside_list_next(&root));) {
        if (name[0] == '.' || !has_task(bus, name, task))
            continue;
        free(found);
        found = decode(name);
        count++;
    }
    outside_list_close(&root);
    if (count > 1) {
        free(found);
        found = NULL;
    }
    return found;
}
