/* bus_internal.h: what the writers of a bus share. Private to bus/. */
#pragma once

#include "bus/bus.h"

/* A file that was appended to, from then until bus_sync. */
struct bus_unsynced {
    int fd;
    char *path;
    bool is_new;
};

struct bus_folder {
    char *path;
    uint64_t round; /* of the sync that had it; 0: none */
};

/* Takes the descriptor. */
void bus_note_unsynced(struct bus *bus, int fd, const char *path, bool is_new);
void bus_sync_finish(struct bus *bus);

/* With its lock, and the one that has the name. `make`: makes it if there is none; else -ENOENT. */
int bus_open_locked(struct bus *bus, const struct bus_place *place, const char *path, bool make,
                    int *ret_fd, struct error *err);
