/* proc_sweep.c: signals processes selected by their /proc entries. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "os/files.h"
#include "os/folder.h"
#include "os/proc.h"

#define TEXT_MAX (4u << 20) /* bytes of an environment or a command line */

bool proc_has_text(pid_t pid, const char *file, const char *text, const char *first) {
    char path[64];
    _cleanup_(strbuf_finish) struct strbuf texts = STRBUF_INIT;
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    if (file_read(path, TEXT_MAX, &texts, NULL) < 0 || texts.length == 0
        || (first && strcmp(texts.text, first) != 0))
        return false;
    for (size_t at = 0; at < texts.length; at += strlen(texts.text + at) + 1)
        if (strcmp(texts.text + at, text) == 0)
            return true;
    return false;
}

unsigned proc_sweep(bool (*wanted)(void *ctx, pid_t pid), void *ctx, int signal,
                    struct proc_swept *ret) {
    struct folder processes;
    unsigned count = 0;
    (void)folder_use(&processes, open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const char *name; (name = folder_next(&processes));) {
        pid_t pid = (pid_t)strtol(name, NULL, 10);
        int fd = pid > 1 && pid != getpid() ? proc_open(pid) : -1;
        if (fd < 0)
            continue;
        bool is_swept = wanted(ctx, pid) && proc_signal(fd, signal) == 0;
        count += is_swept;
        if (is_swept && ret && ret->count < ret->max)
            ret->fds[ret->count++] = fd;
        else
            close(fd);
    }
    folder_close(&processes);
    return count;
}
