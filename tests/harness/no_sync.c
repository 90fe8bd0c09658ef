/* no_sync.c: linked into a test program, makes fsync and fdatasync return at once, also for SQLite.
 *
 * For tests that create a home per case and do not test durability: on a disk they would spend nine tenths of
 * their time in fsync. tests/store (fault_vfs.h), tests/run (faulty.c) and tests/daemon test which files are synced,
 * and when. */
#include <unistd.h>

int fsync(int fd) {
    (void)fd;
    return 0;
}

int fdatasync(int fd) {
    (void)fd;
    return 0;
}
