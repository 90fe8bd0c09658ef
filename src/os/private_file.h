/* private_file.h: small files that no other user can read, in their own directory. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Creates the file, mode 0600, and its directory if missing, mode 0700. Refused: a directory that
 * is a link, another user's or open to others (-EPERM), and an existing name (-EEXIST). A failure
 * leaves no file. */
int private_file_make(const char *folder, const char *name, const void *bytes, size_t size,
                      struct error *err);
/* Creates an empty file with mode 0600, or removes the permissions of others from an existing one.
 * Anything but a regular file is unchanged. */
int private_file_prepare(const char *path, struct error *err);
/* A missing file is not an error. */
void private_file_remove(const char *folder, const char *name);
/* Deletes the files in it, not directories. */
void private_folder_clear(const char *folder);
