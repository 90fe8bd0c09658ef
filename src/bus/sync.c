/* sync.c: which messages survive a power cut, and what does that cost?
 *
 * Those for which bus_sync has said so. Appending leaves its file open and unsynced; one call syncs all files
 * of all messages since the last one, so whoever appends many pays once for each file and not for each
 * message. The lock is not held meanwhile: others append, and readers see what is not safe yet.
 *
 * A file that is new needs its folder on disk too, and that one the folder above it. Folders are synced once
 * by everybody who writes there, because whoever made one may have died, and again for each new file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bus/bus.h"
#include "bus/bus_internal.h"
#include "os/outside.h"

static bool is_same_file(int a, int b) {
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

void bus_note_unsynced(struct bus *bus, int fd, const char *path, bool is_new) {
    for (size_t i = 0; i < bus->unsynced_count; i++)
        if (is_same_file(bus->unsynced[i].fd, fd)) {
            close(fd);
            return;
        }
    bus->unsynced = xgrow(bus->unsynced, &bus->unsynced_capacity, bus->unsynced_count + 1,
                          sizeof(*bus->unsynced));
    bus->unsynced[bus->unsynced_count++] =
        (struct bus_unsynced){ .fd = fd, .path = xstrdup(path), .is_new = is_new };
}

/* --- folders --------------------------------------------------------------------------------- */

static struct bus_folder *folder_of(struct bus *bus, const char *path) {
    for (size_t i = 0; i < bus->folder_count; i++)
        if (strcmp(bus->folders[i].path, path) == 0)
            return &bus->folders[i];
    bus->folders =
        xgrow(bus->folders, &bus->folder_capacity, bus->folder_count + 1, sizeof(*bus->folders));
    struct bus_folder *folder = &bus->folders[bus->folder_count++];
    *folder = (struct bus_folder){ .path = xstrdup(path) };
    return folder;
}

static int sync_folder(struct bus *bus, const char *path, bool has_new, struct error *err) {
    struct bus_folder *folder = folder_of(bus, path);
    if (folder->round == bus->round || (folder->round > 0 && !has_new))
        return 0;
    int fd = outside_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, NULL, err);
    int r = fd < 0 ? fd : 0;
    if (fd >= 0 && bus->sync(fd) < 0)
        r = error_set_errno(err, "sync", path);
    if (fd >= 0)
        close(fd);
    if (r == 0)
        folder->round = bus->round;
    return r;
}

/* From that of the file up to the one that has the root. */
static int sync_folders(struct bus *bus, const struct bus_unsynced *file, struct error *err) {
    _cleanup_(freep) char *path = xstrdup(file->path);
    size_t root = strlen(bus->root);
    int r = 0;
    for (bool more = true; more && r == 0;) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            break;
        more = (size_t)(slash - path) >= root;
        *slash = '\0';
        r = sync_folder(bus, path, file->is_new, err);
    }
    return r;
}

/* --- all ------------------------------------------------------------------------------------- */

int bus_sync(struct bus *bus, struct error *err) {
    int result = 0;
    bus->round++;
    for (size_t i = 0; i < bus->unsynced_count; i++) {
        struct bus_unsynced *file = &bus->unsynced[i];
        int r = bus->sync(file->fd) < 0 ? error_set_errno(err, "sync", file->path)
                                        : sync_folders(bus, file, err);
        if (r < 0)
            result = r; /* the others are safe all the same */
        close(file->fd);
        free(file->path);
    }
    bus->unsynced_count = 0;
    return result;
}

void bus_sync_finish(struct bus *bus) {
    for (size_t i = 0; i < bus->unsynced_count; i++) {
        close(bus->unsynced[i].fd);
        free(bus->unsynced[i].path);
    }
    for (size_t i = 0; i < bus->folder_count; i++)
        free(bus->folders[i].path);
    free(bus->unsynced);
    free(bus->folders);
    bus->unsynced = NULL;
    bus->folders = NULL;
    bus->unsynced_count = bus->folder_count = 0;
}
