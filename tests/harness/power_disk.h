/* power_disk.h: a file system whose power can be cut: what was not synced is lost, as on a real machine.
 *
 * A loop device with ext4 or XFS, mounted in a private namespace. EXT4_IOC_SHUTDOWN ends all writing at once, also
 * that of the journal; the next mount recovers from what had reached the device. Needs root; no device mapper. */
#pragma once

#include <stdbool.h>

#include "scratch.h"

struct power_disk {
    const char *type;  /* "ext4", "xfs" */
    const char *point; /* where it is mounted */
    char image[SCRATCH_PATH + 16];
    char device[32];
    int device_fd, root_fd; /* -1: none */
};

/* Creates the file system in an image below `folder` and mounts it at `point`. False: not possible here;
 * `ret_why` is a message. Both paths outlive the disk. */
bool power_disk_open(struct power_disk *disk, const char *type, const char *folder,
                     const char *point, const char **ret_why);
/* From now on every operation on the disk fails with EIO. Any thread may call it. */
bool power_disk_cut(const struct power_disk *disk);
/* After a cut, without any process that uses the disk: mounts it again. False: the file system does not recover. */
bool power_disk_restore(struct power_disk *disk);
void power_disk_close(struct power_disk *disk);
