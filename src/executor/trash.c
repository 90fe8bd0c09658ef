/* trash.c: deletes folders aside, so that nobody waits for it.
 *
 * What is thrown away is renamed into a folder of its own at once; that folder is the list of what is
 * left to do, so nothing has to be remembered over a restart. A few entries per round of the loop:
 * deleting is slow on some disks, and a turn of the scheduler must not wait for it. */
#include "executor/trash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/loop.h"
#include "os/outside.h"
#include "rundir/remove.h"

#define TRASH_NAME ".trash"
#define PER_ROUND  32u /* entries */
#define PAUSE      10  /* ms between two rounds */
#define PAUSE_BUSY                                                                                 \
    200 /* ms, while runs live: ext4 looks at every inode that was deleted in the last five
                           seconds when it makes a file, so a quick deletion slows down every start */
#define AFTER_ERROR SECONDS(60)

struct trash {
    struct loop *loop;
    struct loop_timer *timer;
    const uint32_t *live; /* how many runs there are */
    int root, folder;     /* folder: -1 until something is thrown away */
    uint64_t thrown;
};

/* Any entry, or false. */
static bool first_entry(int folder, char *out, size_t size) {
    struct folder list;
    (void)outside_folder(&list, folder, ".");
    const char *name = folder_next(&list);
    if (name)
        (void)snprintf(out, size, "%s", name);
    folder_close(&list);
    return name != NULL;
}

static void delete_some(void *ctx) {
    struct trash *trash = ctx;
    unsigned budget = PER_ROUND;
    char name[256];
    while (budget > 0 && first_entry(trash->folder, name, sizeof(name))) {
        int r = remove_tree_at(trash->folder, name, &budget);
        if (r < 0) { /* it stays for now; the disk may be read-only for a while */
            loop_timer_set(trash->loop, trash->timer, loop_now_steady(trash->loop) + AFTER_ERROR);
            return;
        }
        budget -= budget > 0;
    }
    if (budget == 0)
        loop_timer_set(trash->loop, trash->timer,
                       loop_now_steady(trash->loop) + (*trash->live ? PAUSE_BUSY : PAUSE));
}

static int open_folder(struct trash *trash) {
    if (trash->folder >= 0)
        return 0;
    trash->folder = outside_open(trash->root, TRASH_NAME, O_RDONLY | O_DIRECTORY, NULL, NULL);
    return trash->folder < 0 ? trash->folder : 0;
}

struct trash *trash_new(struct loop *loop, int root, const uint32_t *live) {
    struct trash *trash = xcalloc(1, sizeof(*trash));
    trash->loop = loop;
    trash->root = root;
    trash->live = live;
    trash->folder = -1;
    trash->timer = loop_timer_new(loop, delete_some, trash);
    if (open_folder(trash) == 0)
        loop_timer_set(loop, trash->timer, loop_now_steady(loop));
    return trash;
}

struct trash *trash_free(struct trash *trash) {
    if (!trash)
        return NULL;
    loop_timer_free(trash->loop, trash->timer);
    if (trash->folder >= 0)
        close(trash->folder);
    free(trash);
    return NULL;
}

int trash_throw(struct trash *trash, const char *name) {
    if (open_folder(trash) < 0) {
        (void)mkdirat(trash->root, TRASH_NAME, 0700);
        int r = open_folder(trash);
        if (r < 0)
            return r;
    }
    char aside[64];
    do
        (void)snprintf(aside, sizeof(aside), "%" PRId64 ".%" PRIu64, loop_now(trash->loop),
                       ++trash->thrown);
    while (faccessat(trash->folder, aside, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    if (renameat(trash->root, name, trash->folder, aside) < 0)
        return -errno;
    loop_timer_set(trash->loop, trash->timer, loop_now_steady(trash->loop) + PAUSE);
    return 0;
}
