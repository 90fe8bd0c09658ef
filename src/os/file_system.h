/* file_system.h: what kind of file system is this? */
#pragma once

/* What the kernel calls a file system (statfs) that several hosts may share, or NULL: what one of them has
 * locked or synced, the others need not know. */
const char *file_system_shared(unsigned long magic);
/* The same of the one that `path` is on; NULL also when that cannot be asked. */
const char *file_system_of(const char *path);
