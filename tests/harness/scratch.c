/* scratch.c: see scratch.h. */
#include "scratch.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FOLDERS    256
#define TMPDIR_MAX 36
#define ROOM_FAST  ((unsigned long long)512 << 20) /* containers often have 64 MB there */

static struct {
    char path[SCRATCH_PATH];
    pid_t owner; /* 0: the entry is free. A forked child removes no folder of its parent. */
} folders[FOLDERS];

static void die(const char *what, const char *path) {
    fprintf(stderr, "scratch: %s '%s': %s\n", what, path, strerror(errno));
    exit(99);
}

/* --- removing -------------------------------------------------------------------------------- */

void scratch_remove(const char *path) {
    for (size_t i = 0; i < FOLDERS; i++)
        if (folders[i].owner && strcmp(folders[i].path, path) == 0)
            folders[i].owner = 0;
    char *const roots[] = { (char *)path, NULL };
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_XDEV, NULL);
    if (!tree)
        die("cannot remove", path);
    for (FTSENT *entry; (entry = fts_read(tree));) {
        if (entry->fts_info == FTS_D) /* without permissions its entries cannot be removed */
            (void)chmod(entry->fts_accpath, (entry->fts_statp->st_mode & 07777) | S_IRWXU);
        else
            (void)remove(entry->fts_accpath);
    }
    (void)fts_close(tree);
}

static void remove_rest(void) {
    for (size_t i = 0; i < FOLDERS && !getenv("KEEP_HOME"); i++)
        if (folders[i].owner == getpid())
            scratch_remove(folders[i].path);
}

/* --- making ---------------------------------------------------------------------------------- */

static void make_in(const char *base, char ret[static SCRATCH_PATH], const char *prefix) {
    static pid_t registered;
    size_t i = 0;
    char template[SCRATCH_PATH], *real;
    int length = snprintf(template, sizeof(template), "%s/%s-XXXXXX", base, prefix);
    if (length < 0 || length >= SCRATCH_PATH)
        die("the path is too long:", template);
    if (!mkdtemp(template))
        die("cannot make", template);
    if (!(real = realpath(template, NULL)) || strlen(real) >= SCRATCH_PATH)
        die("cannot resolve", template);
    while (i < FOLDERS && folders[i].owner)
        i++;
    if (i == FOLDERS)
        die("too many folders:", real);
    if (!registered && atexit(remove_rest) != 0)
        die("cannot register the end of", real);
    registered = folders[i].owner = getpid();
    strcpy(folders[i].path, real); // NOLINT: measured above
    strcpy(ret, real);             // NOLINT
    free(real);
}

void scratch_make(char ret[static SCRATCH_PATH], const char *prefix) {
    const char *base = getenv("TMPDIR");
    make_in(base && *base == '/' && strlen(base) <= TMPDIR_MAX ? base : "/tmp", ret, prefix);
}

void scratch_make_fast(char ret[static SCRATCH_PATH], const char *prefix) {
    struct statvfs disk;
    if (access("/dev/shm", W_OK | X_OK) == 0 && statvfs("/dev/shm", &disk) == 0
        && (unsigned long long)disk.f_bavail * disk.f_frsize >= ROOM_FAST)
        make_in("/dev/shm", ret, prefix);
    else
        scratch_make(ret, prefix);
}
