/* run_table.c: see run_table.h. Keys are hashed because they are looked up often; directories are
 * searched linearly, because they are looked up only before a deletion. */
#include "executor/run_table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "os/loop.h"
#include "os/outside.h"
#include "rundir/remove.h"

static uint64_t key_hash(const struct run_key *key) {
    return hash_mix(hash_u64(key->task), key->attempt);
}

static bool key_same(const void *ctx, uint32_t handle, const void *key) {
    const struct run_table *table = ctx;
    const struct run_key *wanted = key, *has = &table->items[handle].key;
    return wanted->task == has->task && wanted->attempt == has->attempt;
}

void run_table_init(struct run_table *table) {
    *table = (struct run_table){ 0 };
    id_map_init(&table->by_key, key_same, table);
}

void run_table_finish(struct run_table *table) {
    id_map_finish(&table->by_key);
    free(table->items);
    free(table->free_numbers);
}

static uint32_t take_number(struct run_table *table) {
    if (table->free_count > 0)
        return table->free_numbers[--table->free_count];
    uint32_t number = (uint32_t)(table->count ? table->count : 1);
    table->count = number + 1;
    table->items = xgrow(table->items, &table->capacity, table->count, sizeof(*table->items));
    table->items[0] = (struct run_table_item){ 0 };
    return number;
}

uint32_t run_table_add(struct run_table *table, void *run, struct run_key key, const char *folder) {
    uint32_t number = take_number(table);
    table->items[number] = (struct run_table_item){ .run = run, .key = key, .folder = folder };
    if (key.task != 0)
        id_map_add(&table->by_key, key_hash(&key), number);
    return number;
}

void run_table_remove(struct run_table *table, uint32_t number) {
    struct run_table_item *item = &table->items[number];
    if (item->key.task != 0)
        id_map_remove(&table->by_key, key_hash(&item->key), &item->key);
    *item = (struct run_table_item){ 0 };
    table->free_numbers = xgrow(table->free_numbers, &table->free_capacity, table->free_count + 1,
                                sizeof(*table->free_numbers));
    table->free_numbers[table->free_count++] = number;
}

void *run_table_find(const struct run_table *table, struct run_key key) {
    uint32_t number = id_map_find(&table->by_key, key_hash(&key), &key);
    return number ? table->items[number].run : NULL;
}

bool run_table_has_folder(const struct run_table *table, const char *folder) {
    for (size_t i = 1; i < table->count; i++)
        if (table->items[i].run && strcmp(table->items[i].folder, folder) == 0)
            return true;
    return false;
}

bool run_table_has_task(const struct run_table *table, const char *task_folder) {
    size_t length = strlen(task_folder);
    for (size_t i = 1; i < table->count; i++)
        if (table->items[i].run && strncmp(table->items[i].folder, task_folder, length) == 0
            && table->items[i].folder[length] == '/')
            return true;
    return false;
}

/* --- deleting in the background --------------------------------------------------------------- */

/* A deleted directory is moved into the trash directory at once, which lists the remaining work,
 * also after a restart. A few entries per round of the loop: deleting is slow on some disks, and
 * the scheduler must not wait. */

#define TRASH_NAME ".trash"
#define PER_ROUND  32u /* entries */
#define PAUSE      10  /* ms between two rounds */
/* ms, while runs are live: to create a file, ext4 examines every inode deleted in the last five
 * seconds, so fast deletion slows down every start */
#define PAUSE_BUSY  200
#define AFTER_ERROR SECONDS(60)

struct trash {
    struct loop *loop;
    struct loop_timer *timer;
    const uint32_t *live; /* number of live runs */
    int root, folder;     /* folder: -1 until something is deleted */
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
        if (r < 0) { /* left for now; the disk may be temporarily read-only */
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
    fd_closep(&trash->folder);
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
    char unique[64];
    do
        (void)snprintf(unique, sizeof(unique), "%" PRId64 ".%" PRIu64, loop_now(trash->loop),
                       ++trash->thrown);
    while (faccessat(trash->folder, unique, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    if (renameat(trash->root, name, trash->folder, unique) < 0)
        return -errno;
    loop_timer_set(trash->loop, trash->timer, loop_now_steady(trash->loop) + PAUSE);
    return 0;
}
