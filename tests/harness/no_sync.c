/* no_sync.c: linked into a test program, its syncs return at once, also those of SQLite.
 *
 * For tests that make a home for each case and whose subject is not what a power cut leaves: on a disk they spend nine
 * tenths of their time waiting for it. What must be synced, and when, is the subject of tests/store (fault_vfs.h),
 * tests/run (faulty.c) and tests/daemon. */
#include <unistd.h>

int fsync(int fd) {
    (void)fd;
    return 0;
}

int fdatasync(int fd) {
    (void)fd;
    return 0;
}
