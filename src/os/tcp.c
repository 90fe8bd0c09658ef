/* tcp.c: see tcp.h. */
#include "os/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "os/fd.h"
#include "os/proc.h"

static int parse_host(const char *text, size_t length, struct tcp_address *ret) {
    char host[INET6_ADDRSTRLEN];
    bool v6 = length > 2 && text[0] == '[' && text[length - 1] == ']';
    if (v6) {
        text++;
        length -= 2;
    }
    if (length >= sizeof(host))
        return -EINVAL;
    memcpy(host, text, length);
    host[length] = '\0';
    memset(ret, 0, sizeof(*ret));
    ret->any.sa_family = v6 ? AF_INET6 : AF_INET;
    ret->size = v6 ? sizeof(ret->v6) : sizeof(ret->v4);
    void *bytes = v6 ? (void *)&ret->v6.sin6_addr : &ret->v4.sin_addr;
    return inet_pton(ret->any.sa_family, host, bytes) == 1 ? 0 : -EINVAL;
}

int tcp_parse(const char *text, struct tcp_address *ret, struct error *err) {
    struct tcp_address address;
    const char *colon = strrchr(text, ':');
    int64_t port = -1;
    if (!colon || parse_host(text, (size_t)(colon - text), &address) < 0
        || strspn(colon + 1, "0123456789") != strlen(colon + 1)
        || number_parse_int(colon + 1, &port, NULL) < 0 || port < 0 || port > 65535)
        return error_set(err, -EINVAL, "'%s' is not an address and port (example: 127.0.0.1:7878)",
                         text);
    if (address.any.sa_family == AF_INET)
        address.v4.sin_port = htons((uint16_t)port);
    else
        address.v6.sin6_port = htons((uint16_t)port);
    *ret = address;
    return 0;
}

bool tcp_is_loopback(const struct tcp_address *address) {
    if (address->any.sa_family == AF_INET)
        return address->v4.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
    return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

bool tcp_is_any(const struct tcp_address *address) {
    if (address->any.sa_family == AF_INET)
        return address->v4.sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr);
}

bool tcp_same_host(const struct tcp_address *a, const struct tcp_address *b) {
    char first[TCP_TEXT_MAX], second[TCP_TEXT_MAX];
    return tcp_is_loopback(a) || tcp_is_loopback(b)
           || strcmp(tcp_print_host(a, first), tcp_print_host(b, second)) == 0;
}

uint16_t tcp_port(const struct tcp_address *address) {
    return ntohs(address->any.sa_family == AF_INET ? address->v4.sin_port : address->v6.sin6_port);
}

const char *tcp_print_host(const struct tcp_address *address, char buf[TCP_TEXT_MAX]) {
    char host[INET6_ADDRSTRLEN] = "?";
    bool v4 = address->any.sa_family == AF_INET;
    const void *bytes = v4 ? (const void *)&address->v4.sin_addr : &address->v6.sin6_addr;
    (void)inet_ntop(address->any.sa_family, bytes, host, sizeof(host));
    (void)snprintf(buf, TCP_TEXT_MAX, v4 ? "%s" : "[%s]", host);
    return buf;
}

const char *tcp_print(const struct tcp_address *address, char buf[TCP_TEXT_MAX]) {
    size_t length = strlen(tcp_print_host(address, buf));
    (void)snprintf(buf + length, TCP_TEXT_MAX - length, ":%u", tcp_port(address));
    return buf;
}

int tcp_listen(const struct tcp_address *address, int backlog, int *ret_fd, struct error *err) {
    char text[TCP_TEXT_MAX];
    int one = 1;
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0
        && bind(fd, &address->any, address->size) == 0 && listen(fd, backlog) == 0) {
        *ret_fd = fd;
        return 0;
    }
    int code = errno;
    if (fd >= 0)
        close(fd);
    return error_set(err, -code, "cannot listen on '%s': %s", tcp_print(address, text),
                     strerror(code));
}

static int read_address(int fd, int (*get)(int fd, struct sockaddr *address, socklen_t *size),
                        struct tcp_address *ret) {
    struct tcp_address address = { .size = sizeof(address.v6) };
    if (get(fd, &address.any, &address.size) < 0)
        return -errno;
    *ret = address;
    return 0;
}

int tcp_local(int fd, struct tcp_address *ret) {
    return read_address(fd, getsockname, ret);
}

int tcp_peer(int fd, struct tcp_address *ret) {
    return read_address(fd, getpeername, ret);
}

/* In the table's format: words in host byte order. */
static void print_row(const struct tcp_address *address, char buf[48]) {
    uint32_t words[4] = { 0 };
    bool v4 = address->any.sa_family == AF_INET;
    size_t count = v4 ? 1 : 4, length = 0;
    memcpy(words, v4 ? (const void *)&address->v4.sin_addr : &address->v6.sin6_addr, 4 * count);
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(buf + length, 48 - length, "%08X", words[i]);
    (void)snprintf(buf + length, 48 - length, ":%04X", tcp_port(address));
}

/* An IPv6 listener also accepts IPv4; the client's own socket is then in the IPv4 table. */
static void unmap(struct tcp_address *address) {
    if (address->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&address->v6.sin6_addr))
        return;
    struct tcp_address v4 = { .size = sizeof(v4.v4) };
    v4.v4.sin_family = AF_INET;
    v4.v4.sin_port = address->v6.sin6_port;
    memcpy(&v4.v4.sin_addr, address->v6.sin6_addr.s6_addr + 12, 4);
    *address = v4;
}

int tcp_peer_end(int fd, struct tcp_end *ret) {
    struct tcp_address here = { .size = 0 }, there = { .size = 0 };
    char wanted[100], from[48], to[48], line[512];
    int r = -ENOENT;
    if (tcp_local(fd, &here) < 0 || tcp_peer(fd, &there) < 0)
        return -ENOENT;
    unmap(&here);
    unmap(&there);
    print_row(&there, from); /* as seen from the other end */
    print_row(&here, to);
    (void)snprintf(wanted, sizeof(wanted), " %s %s ", from, to);
    FILE *table = fopen(there.any.sa_family == AF_INET ? "/proc/thread-self/net/tcp"
                                                       : "/proc/thread-self/net/tcp6",
                        "re");
    while (table && r < 0 && fgets(line, sizeof(line), table)) {
        const char *at = strstr(line, wanted);
        unsigned user = 0;
        unsigned long long inode = 0;
        /* state, queues, timer, retransmits, user, timeout, inode */
        if (at && sscanf(at + strlen(wanted), "%*s %*s %*s %*s %u %*s %llu", &user, &inode) == 2) {
            *ret = (struct tcp_end){ .user = user, .inode = inode };
            r = 0;
        }
    }
    if (table)
        (void)fclose(table);
    return r;
}

/* --- holder of a socket ----------------------------------------------------------------------- */

enum held { HELD_NO, HELD_YES, HELD_HIDDEN };

struct search {
    struct folder proc;
    char link[40]; /* the target of a descriptor of the socket */
    uid_t user;
};

/* Does the process run as this user, by any of its four ids? A setuid program has more than one. */
static bool runs_as(const struct search *s, const char *pid) {
    char path[64], text[2048];
    unsigned ids[4] = { 0 };
    (void)snprintf(path, sizeof(path), "%.20s/status", pid);
    if (proc_file(s->proc.fd, path, text, sizeof(text)) <= 0)
        return false;
    const char *line = strstr(text, "\nUid:");
    if (!line || sscanf(line, "\nUid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
        return true;
    return ids[0] == s->user || ids[1] == s->user || ids[2] == s->user || ids[3] == s->user;
}

static enum held holds(const struct search *s, const char *pid) {
    char path[64], target[64];
    struct folder fds;
    (void)snprintf(path, sizeof(path), "%.20s/fd", pid);
    int fd = openat(s->proc.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ESRCH ? HELD_NO : HELD_HIDDEN;
    (void)folder_use(&fds, fd);
    enum held held = HELD_NO;
    for (const char *name; held == HELD_NO && (name = folder_next(&fds));) {
        ssize_t size = readlinkat(fd, name, target, sizeof(target) - 1);
        if (size < 0)
            continue;
        target[size] = '\0';
        held = strcmp(target, s->link) == 0 ? HELD_YES : HELD_NO;
    }
    folder_close(&fds);
    return held;
}

enum socket_holder socket_holder(uint64_t inode, uid_t user, bool (*belongs)(void *ctx, pid_t pid),
                                 void *ctx) {
    struct search s = { .user = user };
    enum socket_holder answer = SOCKET_LOST;
    bool suspect = false, hidden = false;
    (void)folder_use(&s.proc, open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    (void)snprintf(s.link, sizeof(s.link), "socket:[%llu]", (unsigned long long)inode);
    for (const char *name; answer != SOCKET_BELONGS && (name = folder_next(&s.proc));) {
        pid_t pid = strspn(name, "0123456789") == strlen(name) ? (pid_t)strtol(name, NULL, 10) : 0;
        enum held held = pid > 0 && runs_as(&s, name) ? holds(&s, name) : HELD_NO;
        if (held == HELD_YES)
            answer = belongs(ctx, pid) ? SOCKET_BELONGS : SOCKET_OF_OTHERS;
        if (held != HELD_HIDDEN)
            continue;
        hidden = true;
        /* A process that ends meanwhile was not the holder: the connection still exists. */
        suspect = suspect || (belongs(ctx, pid) && !proc_has_ended(pid));
    }
    folder_close(&s.proc);
    return answer == SOCKET_LOST && hidden && !suspect ? SOCKET_HIDDEN : answer;
}
