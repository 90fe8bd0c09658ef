/* backup_files.c: see backup_files.h. */
#include "engine/schedules/backup_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "calendar/zone.h"
#include "os/outside.h"

#define FILES_MAX 100000u
#define STAMP     "00000000T000000Z"
#define SUFFIX    ".db"
#define PARTIAL   ".partial" /* of an unfinished copy: store.h */

char *backup_files_path(const char *folder, const char *name, int64_t due) {
    struct calendar_time t = calendar_fields(due);
    return xasprintf("%s/%s-%04" PRId64 "%02d%02dT%02d%02d%02dZ" SUFFIX, folder, name, t.year,
                     t.month, t.day, t.hour, t.minute, t.second);
}

bool backup_files_exist(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* NAME-STAMP.db; *ret_partial: with the suffix of an unfinished one. */
static bool is_own(const char *file, const char *name, bool *ret_partial) {
    size_t length = strlen(name);
    if (strncmp(file, name, length) != 0 || file[length] != '-')
        return false;
    const char *stamp = file + length + 1;
    for (size_t i = 0; i < strlen(STAMP); i++)
        if (STAMP[i] == '0' ? stamp[i] < '0' || stamp[i] > '9' : stamp[i] != STAMP[i])
            return false;
    const char *suffix = stamp + strlen(STAMP);
    *ret_partial = strcmp(suffix, SUFFIX PARTIAL) == 0;
    return *ret_partial || strcmp(suffix, SUFFIX) == 0;
}

static void delete_file(const char *folder, const char *file) {
    _cleanup_(freep) char *path = xasprintf("%s/%s", folder, file);
    (void)unlink(path);
}

/* The time is in the name, so the order of names is that of times. */
static int newest_first(const void *a, const void *b) {
    return strcmp(*(char *const *)b, *(char *const *)a);
}

void backup_files_prune(const char *folder, const char *name, size_t keep) {
    struct outside_list list;
    char **files = NULL;
    size_t count = 0, capacity = 0;
    if (outside_list_open(&list, folder, FILES_MAX) < 0)
        return;
    for (const char *file; (file = outside_list_next(&list));) {
        bool partial = false;
        if (!is_own(file, name, &partial))
            continue;
        if (partial) {
            delete_file(folder, file);
            continue;
        }
        files = xgrow((void *)files, &capacity, count + 1, sizeof(*files));
        files[count++] = xstrdup(file);
    }
    outside_list_close(&list);
    if (count > 1)
        qsort((void *)files, count, sizeof(*files), newest_first);
    for (size_t i = 0; i < count; i++) {
        if (i >= keep)
            delete_file(folder, files[i]);
        free(files[i]);
    }
    free((void *)files);
}
