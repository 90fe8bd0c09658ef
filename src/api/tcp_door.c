/* tcp_door.c: see tcp_door.h.
 *
 * Names are put together once, when listening begins, with the port in them: a request is compared with whole texts. A host
 * that the owner named may be written with the port or without, because a proxy in front of us has a port of its own;
 * its pages then come by either scheme. */
#include "api/tcp_door.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"

#define PEERS 64u /* whose failures are counted; then the oldest is forgotten */

struct names {
    char **items; /* NULL behind the last */
    size_t count, capacity;
};

struct peer {
    struct in6_addr address;
    time_ms since; /* the first of `failures` */
    unsigned failures;
};

struct tcp_door {
    struct door door;
    struct names hosts, origins;
    struct tls_server *tls;
    char *url;
    struct peer peers[PEERS];
};

static void add_name(struct names *names, const char *before, const char *name, const char *after) {
    struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "%s%s%s", before, name, after);
    names->items = xgrow(names->items, &names->capacity, names->count + 2, sizeof(*names->items));
    names->items[names->count++] = strbuf_take(&text);
    names->items[names->count] = NULL;
}

static void free_names(struct names *names) {
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

/* One of our own. Where the port is what the scheme means anyway, browsers leave it out. */
static void add_own(struct tcp_door *door, const char *name, unsigned port) {
    const char *scheme = door->tls ? "https://" : "http://";
    char after[8];
    (void)snprintf(after, sizeof(after), ":%u", port);
    add_name(&door->hosts, "", name, after);
    add_name(&door->origins, scheme, name, after);
    if (port == (door->tls ? 443u : 80u)) {
        add_name(&door->hosts, "", name, "");
        add_name(&door->origins, scheme, name, "");
    }
}

static void add_given(struct tcp_door *door, const char *name, unsigned port) {
    const char *colon = strrchr(name, ':');
    bool has_port = colon && !strchr(colon, ']');
    char after[8];
    (void)snprintf(after, sizeof(after), ":%u", port);
    for (int with_port = 0; with_port < (has_port ? 1 : 2); with_port++) {
        add_name(&door->hosts, "", name, with_port ? after : "");
        add_name(&door->origins, "http://", name, with_port ? after : "");
        add_name(&door->origins, "https://", name, with_port ? after : "");
    }
}

struct tcp_door *tcp_door_new(const struct tcp_address *address, const char *const *hosts,
                              struct tls_server *tls) {
    struct tcp_door *door = xcalloc(1, sizeof(*door));
    struct strbuf url = STRBUF_INIT;
    char text[TCP_TEXT_MAX];
    unsigned port = tcp_port(address);
    door->tls = tls;
    add_own(door, "localhost", port);
    add_own(door, "127.0.0.1", port);
    add_own(door, "[::1]", port);
    /* 0.0.0.0 is no name of anything: browsers reach this machine by it. */
    if (!tcp_is_loopback(address) && !tcp_is_any(address))
        add_own(door, tcp_print_host(address, text), port);
    for (; hosts && *hosts; hosts++)
        add_given(door, *hosts, port);
    door->door.hosts = (const char *const *)door->hosts.items;
    door->door.origins = (const char *const *)door->origins.items;
    door->door.entrance = "/";
    strbuf_printf(&url, "%s://", tls ? "https" : "http");
    if (tcp_is_any(address))
        strbuf_printf(&url, "127.0.0.1:%u", port);
    else
        strbuf_puts(&url, tcp_print(address, text));
    door->url = strbuf_take(&url);
    return door;
}

struct tcp_door *tcp_door_free(struct tcp_door *door) {
    if (!door)
        return NULL;
    free_names(&door->hosts);
    free_names(&door->origins);
    tls_server_free(door->tls);
    free(door->url);
    free(door);
    return NULL;
}

const struct door *tcp_door_door(const struct tcp_door *door) {
    return &door->door;
}

struct tls_server *tcp_door_tls(const struct tcp_door *door) {
    return door->tls;
}

const char *tcp_door_url(const struct tcp_door *door) {
    return door->url;
}

/* --- who guesses ----------------------------------------------------------------------------- */

/* IPv6 by its network: whoever has one has all of its addresses. */
static struct in6_addr key_of(const struct tcp_address *peer) {
    struct in6_addr key = { 0 };
    if (peer->any.sa_family == AF_INET6) {
        memcpy(&key, &peer->v6.sin6_addr, 8);
        return key;
    }
    memset(key.s6_addr + 10, 0xff, 2); /* as IPv6 writes addresses of IPv4 */
    memcpy(key.s6_addr + 12, &peer->v4.sin_addr, 4);
    return key;
}

bool tcp_door_failed(struct tcp_door *door, const struct tcp_address *address, time_ms now) {
    struct in6_addr key = key_of(address);
    struct peer *peer = door->peers;
    for (struct peer *other = door->peers; other < door->peers + PEERS; other++) {
        if (other->failures && memcmp(&other->address, &key, sizeof(key)) == 0) {
            peer = other;
            break;
        }
        if (!other->failures || (peer->failures && other->since < peer->since))
            peer = other;
    }
    bool known = peer->failures && memcmp(&peer->address, &key, sizeof(key)) == 0;
    if (!known || now >= time_add(peer->since, TCP_DOOR_WINDOW))
        *peer = (struct peer){ .address = key, .since = now };
    peer->failures++;
    return peer->failures > TCP_DOOR_FAILURES;
}
