/* backup_files.h: the files of a schedule that makes backups: DIRECTORY/NAME-20261118T020000Z.db. Private
 * to engine/schedules. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file of a due time (UTC seconds); the caller frees it. */
char *backup_files_path(const char *folder, const char *name, int64_t due);
bool backup_files_exist(const char *path);
/* Deletes the oldest ones, so that at most `keep` are left, and what interrupted backups left behind.
 * Files with other names stay. Not while one is being written. */
void backup_files_prune(const char *folder, const char *name, size_t keep);
