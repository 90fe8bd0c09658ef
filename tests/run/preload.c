/* preload.c: a library that a hostile task brings along with LD_PRELOAD. It makes the file LOOT. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void leave_a_mark(void) {
    const char *path = getenv("LOOT");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0)
        close(fd);
}
