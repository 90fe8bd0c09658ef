/* small_disk.h: a small disk that a test can fill without filling the disk of the machine. */
#pragma once

#include <stdbool.h>

/* Mounts an empty disk of `megabytes` at `folder`, visible only to this process and its children. False: the
 * kernel does not permit it. */
bool small_disk_mount(const char *folder, int megabytes);
bool small_disk_resize(const char *folder, int megabytes);
void small_disk_unmount(const char *folder); /* unmounts it with all its files */
/* Allocates all free space of the disk, to the last byte, to its file `name`. */
void small_disk_fill(const char *folder, const char *name);
long long small_disk_free_bytes(const char *folder);
