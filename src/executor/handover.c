/* handover.c: see handover.h. */
#include "executor/handover.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "os/files.h"

int handover_secrets(const char *const *secrets, int *ret_fd, struct error *err) {
    *ret_fd = -1;
    if (!secrets || !*secrets)
        return 0;
    struct strbuf block = STRBUF_INIT;
    for (; *secrets; secrets++)
        strbuf_add(&block, *secrets, strlen(*secrets) + 1);
    int fd = memfd_create("secrets", MFD_CLOEXEC);
    ssize_t put = fd < 0 ? -1 : write(fd, block.text, block.length);
    bool is_written = put == (ssize_t)block.length;
    int error = put < 0 ? errno : ENOSPC;
    explicit_bzero(block.text, block.length);
    strbuf_finish(&block);
    if (!is_written) {
        fd_closep(&fd);
        return error_set(err, -error, "cannot hand the secrets to the shim: %s", strerror(error));
    }
    *ret_fd = fd;
    return 0;
}
