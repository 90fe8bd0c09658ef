/* private_file.h: small files that no other user can read, in a folder of their own. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Makes the file, mode 0600. The folder is made if it is missing, mode 0700. Refused: a folder that
 * is a link, another user's or open to others (-EPERM), and a name that is taken (-EEXIST). A
 * failure leaves no file. */
int private_file_make(const char *folder, const char *name, const void *bytes, size_t size,
                      struct error *err);
/* Makes an empty file with mode 0600, or takes away what others may do with the one that is there.
 * What is no regular file stays as it is. */
int private_file_prepare(const char *path, struct error *err);
/* Missing: nothing happens. */
void private_file_remove(const char *folder, const char *name);
/* Removes the files in it, and leaves folders alone. */
void private_folder_clear(const char *folder);
