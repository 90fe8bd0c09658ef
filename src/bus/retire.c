/* retire.c: messages do not stay for ever.
 *
 * The file of a task goes with its task. That of a project is moved aside when its first message is as old as
 * is kept, and takes the place of what was moved aside before: so every message is kept so long, and none
 * more than twice. A file is never made smaller, because those who read it know where they are in it.
 *
 * Both are done with the lock: a writer that has waited for it finds that the file has another name, or
 * none, and begins a new one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bus/bus.h"
#include "bus/bus_internal.h"
#include "bus/reader.h"
#include "os/files.h"

int bus_remove(struct bus *bus, const struct bus_place *place, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    _cleanup_(fd_closep) int fd = -1;
    int r = bus_path(bus, place, &path, err);
    if (r == 0)
        r = bus_open_locked(bus, place, strbuf_text(&path), false, &fd, err);
    if (r == -ENOENT)
        return 0;
    if (r == 0 && unlink(strbuf_text(&path)) < 0 && errno != ENOENT)
        r = error_set_errno(err, "remove", strbuf_text(&path));
    return r;
}

/* When its first message was written; 0: it has none. */
static int first_time(int fd, time_ms *ret_at, struct error *err) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    const struct bus_message *message = NULL;
    reader.gap_max = BUS_GAP_MAX;
    bus_reader_borrow(&reader, fd);
    int r = bus_reader_next(&reader, &message, err);
    *ret_at = r > 0 ? message->at : 0;
    return r < 0 ? r : 0;
}

static int move_aside(const char *path, char *old, struct error *err) {
    char *slash = strrchr(old, '/');
    *slash = '\0';
    (void)mkdir(old, 0700); /* if it cannot be made, the move says so */
    *slash = '/';
    return rename(path, old) == 0 ? 1 : error_set_errno(err, "move aside", path);
}

/* What was moved aside long ago, when nobody posts any more. */
static void remove_old(const char *old, time_ms before) {
    struct stat st;
    if (stat(old, &st) == 0 && (time_ms)st.st_mtim.tv_sec * 1000 < before)
        (void)unlink(old);
}

int bus_retire(struct bus *bus, const char *project, time_ms before, struct error *err) {
    const struct bus_place place = { .project = project };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, old = STRBUF_INIT;
    _cleanup_(fd_closep) int fd = -1;
    time_ms first = 0;
    int r = bus_path(bus, &place, &path, err);
    if (r < 0)
        return r;
    strbuf_printf(&old, "%s/" BUS_OLD_FOLDER "%s", bus->root, strrchr(strbuf_text(&path), '/'));
    remove_old(strbuf_text(&old), before);
    r = bus_open_locked(bus, &place, strbuf_text(&path), false, &fd, err);
    if (r == -ENOENT)
        return 0;
    if (r == 0)
        r = first_time(fd, &first, err);
    if (r < 0 || first == 0 || first >= before)
        return r;
    return move_aside(strbuf_text(&path), old.text, err);
}
