/* tcp.h: addresses of TCP as people write them, and a socket that listens there.
 *
 * Numbers only, no names: 127.0.0.1:7878, [::1]:7878. A name would be looked up, which may take any
 * time and give any answer. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/error.h"

#define TCP_TEXT_MAX 64u /* of an address in words, with its port and a NUL */

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
/* 127.0.0.1 or ::1: of this machine alone, and what browsers call localhost. */
bool tcp_is_loopback(const struct tcp_address *address);
/* Every address of this machine: 0.0.0.0 or ::. */
bool tcp_is_any(const struct tcp_address *address);
/* Are these two ends of one machine? Loopback addresses are; so is an address that talks to
 * itself. */
bool tcp_same_host(const struct tcp_address *a, const struct tcp_address *b);
uint16_t tcp_port(const struct tcp_address *address);
/* The address alone, with brackets around IPv6. */
const char *tcp_print_host(const struct tcp_address *address, char buf[TCP_TEXT_MAX]);
/* With its port. */
const char *tcp_print(const struct tcp_address *address, char buf[TCP_TEXT_MAX]);

/* A socket that does not block and is not inherited. A daemon that was started again gets the port
 * of the one before. */
int tcp_listen(const struct tcp_address *address, int backlog, int *ret_fd, struct error *err);
/* Where a socket is bound, the port that it was given too; or who is at its other end. */
int tcp_local(int fd, struct tcp_address *ret);
int tcp_peer(int fd, struct tcp_address *ret);

/* The other end of a connection inside this machine, by the kernel's table of sockets. */
struct tcp_end {
    uid_t user;     /* whose socket it is */
    uint64_t inode; /* names the socket (socket_holder); 0: no process has it any more */
};
/* -ENOENT: it is on another machine, in another network namespace, or gone. */
int tcp_peer_end(int fd, struct tcp_end *ret);

enum socket_holder {
    SOCKET_OF_OTHERS, /* it was found, and none that has it belongs */
    SOCKET_BELONGS,   /* one that has it belongs */
    /* It was not found, but there are processes with hidden descriptors (not dumpable, as those of
     * sshd), and none of these belongs. */
    SOCKET_HIDDEN,
    /* It was not found: its owner is unknown. A process can hide a socket on purpose: in the
     * descriptor table of a thread, or in flight through another socket. */
    SOCKET_LOST,
};

/* Who has the socket with this inode, of this user? Reads /proc of every process of the user: for
 * rare questions only. */
enum socket_holder socket_holder(uint64_t inode, uid_t user, bool (*belongs)(void *ctx, pid_t pid),
                                 void *ctx);
