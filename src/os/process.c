/* process.c: what /proc says. */
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool process_has_ended(long pid) {
    char path[64], text[512];
    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    bool is_absent = fd < 0 && errno == ENOENT;
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return is_absent;
    text[length] = '\0';
    const char *state = strrchr(text, ')'); /* behind its name, which may contain anything */
    return state && (strncmp(state, ") Z", 3) == 0 || strncmp(state, ") X", 3) == 0);
}
