/* tcp.h: parses TCP addresses, and listens on them.
 *
 * Numeric only, no names: 127.0.0.1:7878, [::1]:7878. A name lookup may take any time and give any
 * answer. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/error.h"

#define TCP_TEXT_MAX 64u /* of a printed address, with its port and a NUL */

struct tcp_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t size;
};

/* Port 0: any free one. -EINVAL: not an address and a port. */
int tcp_parse(const char *text, struct tcp_address *ret, struct error *err);
/* 127.0.0.1 or ::1: only this machine; what browsers call localhost. */
bool tcp_is_loopback(const struct tcp_address *address);
/* Every address of this machine: 0.0.0.0 or ::. */
bool tcp_is_any(const struct tcp_address *address);
/* Are both ends on one machine? True for loopback, and for an address connected to itself. */
bool tcp_same_host(const struct tcp_address *a, const struct tcp_address *b);
uint16_t tcp_port(const struct tcp_address *address);
/* The address without its port, with brackets around IPv6. */
const char *tcp_print_host(const struct tcp_address *address, char buf[TCP_TEXT_MAX]);
/* With its port. */
const char *tcp_print(const struct tcp_address *address, char buf[TCP_TEXT_MAX]);

/* A non-blocking CLOEXEC socket. A restarted daemon can reuse the port of the previous one. */
int tcp_listen(const struct tcp_address *address, int backlog, int *ret_fd, struct error *err);
/* The address to which a socket is bound, with the assigned port; or its peer. */
int tcp_local(int fd, struct tcp_address *ret);
int tcp_peer(int fd, struct tcp_address *ret);

/* The other end of a connection inside this machine, from the kernel's socket table. */
struct tcp_end {
    uid_t user;     /* owner of the socket */
    uint64_t inode; /* identifies the socket (socket_holder); 0: no process has it any more */
};
/* -ENOENT: it is on another machine, in another network namespace, or closed. */
int tcp_peer_end(int fd, struct tcp_end *ret);

enum socket_holder {
    SOCKET_OF_OTHERS, /* it was found, and none of its holders belongs */
    SOCKET_BELONGS,   /* one of its holders belongs */
    /* It was not found, but there are processes with hidden descriptors (not dumpable, such as
     * sshd), and none of these belongs. */
    SOCKET_HIDDEN,
    /* It was not found: its owner is unknown. A process can hide a socket on purpose: in the
     * descriptor table of a thread, or in flight through another socket. */
    SOCKET_LOST,
};

/* Which process of this user has the socket with this inode? Reads /proc of every process of the
 * user: for rare use only. */
enum socket_holder socket_holder(uint64_t inode, uid_t user, bool (*belongs)(void *ctx, pid_t pid),
                                 void *ctx);
