/* small_disk.h: a disk that a test can really fill, without touching the machine's. */
#pragma once

#include <stdbool.h>

/* Mounts an empty disk of so many megabytes there, for this process and its children alone. False: the
 * kernel does not let us. */
bool small_disk_mount(const char *folder, int megabytes);
bool small_disk_resize(const char *folder, int megabytes);
void small_disk_unmount(const char *folder); /* with everything on it */
/* Takes everything that is free, to the last byte, into the file `name` of it. */
void small_disk_fill(const char *folder, const char *name);
long long small_disk_free_bytes(const char *folder);
