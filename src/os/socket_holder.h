/* socket_holder.h: which processes have a socket open? By /proc, which takes a look at every process of a user: for rare
 * questions only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum socket_holder {
    SOCKET_OF_OTHERS, /* it was found, and none that has it belongs */
    SOCKET_BELONGS,   /* one that has it belongs */
    /* It was not found, but there are processes that hide their descriptors (they are not dumpable, as those of sshd),
     * and none of these belongs. */
    SOCKET_HIDDEN,
    /* It was not found, and nobody can say whose it is. A process can hide a socket on purpose: in the table of a
     * thread, in flight through another socket. */
    SOCKET_LOST,
};

/* Who has the socket with this inode, of this user? `belongs` says yes to a process. */
enum socket_holder socket_holder(uint64_t inode, uid_t user, bool (*belongs)(void *ctx, pid_t pid),
                                 void *ctx);
