/* client_find.c: which of several daemons is asked?
 *
 * The one of the own home first. Where that is not there, or says that it is a standby, the addresses of the
 * configuration are tried in their order, and those that a standby tells. So a command that finds its daemon
 * at home reads no configuration. A token goes only to addresses that the configuration has: of what a standby tells,
 * sockets of this machine are taken alone. */
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/client_internal.h"
#include "os/clock.h"

#define AGAIN_MS    10 /* between two tries while the daemon's queue of new connections is full */
#define TCP_TIMEOUT SECONDS(2) /* for a connection: the next address may answer */

/* --- the list -------------------------------------------------------------------------------- */

static bool is_known(const struct client *client, const char *text) {
    for (size_t i = 0; i < client->address_count; i++)
        if (strcmp(client->addresses[i].text, text) == 0)
            return true;
    return false;
}

/* "unix:/PATH", "http://HOST:PORT", "https://HOST:PORT"; what is none is left out. */
void client_add_address(struct client *client, const char *text) {
    struct client_address address = { 0 };
    const char *rest = strchr(text, ':');
    if (!rest || is_known(client, text))
        return;
    if (strncmp(text, "unix:/", 6) == 0) {
        address.path = xstrdup(rest + 1);
    } else {
        const char *port = strrchr(text, ':');
        address.tls = strncmp(text, "https://", 8) == 0;
        if ((!address.tls && strncmp(text, "http://", 7) != 0) || port <= rest + 3)
            return;
        address.host = xstrndup(rest + 3, (size_t)(port - rest - 3));
        address.port = xstrdup(port + 1);
    }
    address.text = xstrdup(text);
    client->addresses = xgrow(client->addresses, &client->address_capacity,
                              client->address_count + 1, sizeof(address));
    client->addresses[client->address_count++] = address;
}

static void add_list(struct client *client, const char *list) {
    _cleanup_(strbuf_finish) struct strbuf one = STRBUF_INIT;
    for (const char *at = list; *at; at += strspn(at, ",")) {
        strbuf_clear(&one);
        strbuf_add(&one, at, strcspn(at, ","));
        client_add_address(client, strbuf_text(&one));
        at += one.length;
    }
}

void client_take_peers(struct client *client, const char *list) {
    add_list(client, list);
    client->has_peers = client->address_count > 1;
    client->own_count = client->address_count;
}

void client_take_place(struct client *client, const char *place) {
    _cleanup_(strbuf_finish) struct strbuf one = STRBUF_INIT;
    bool many = strstr(place, "://");
    if (many)
        add_list(client, place);
    client->has_peers = many;
    if (!many) {
        client->addresses =
            xgrow(client->addresses, &client->address_capacity, 1, sizeof(*client->addresses));
        strbuf_clear(&one);
        strbuf_printf(&one, "unix:%s", place);
        client->addresses[client->address_count++] =
            (struct client_address){ .text = strbuf_take(&one), .path = xstrdup(place) };
    }
    client->own_count = client->address_count;
}

void client_free_addresses(struct client *client) {
    for (size_t i = 0; i < client->address_count; i++) {
        free(client->addresses[i].text);
        free(client->addresses[i].path);
        free(client->addresses[i].host);
        free(client->addresses[i].port);
    }
    free(client->addresses);
}

static void find_more(struct client *client) {
    struct client_peers peers = { 0 };
    if (client->looked || !client->options.peers)
        return;
    client->looked = true;
    client->options.peers(client->options.ctx, &peers);
    client->has_peers = peers.count > 0;
    for (size_t i = 0; i < peers.count; i++)
        client_add_address(client, peers.addresses[i]);
    client->peer_token = peers.token ? xstrdup(peers.token) : NULL;
    client->peer_ca = peers.ca ? xstrdup(peers.ca) : NULL;
}

void client_learn(struct client *client, const json_t *answer) {
    size_t i;
    json_t *item;
    find_more(client);
    json_array_foreach(json_object_get(answer, "active"), i, item) {
        const char *text = json_string_value(item);
        if (text && strncmp(text, "unix:/", 6) == 0)
            client_add_address(client, text);
    }
    client->at = (client->at + 1) % client->address_count;
}

const struct client_address *client_address(const struct client *client) {
    return &client->addresses[client->at];
}

/* --- connecting ------------------------------------------------------------------------------ */

static int connect_unix(const char *path, time_ms deadline, int *ret_fd, struct error *err) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, -ENAMETOOLONG,
                         "the socket's path '%s' has more than %zu bytes: use a shorter folder",
                         path, sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set(err, -errno, "cannot make a socket: %s", strerror(errno));
    while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        int code = errno;
        if (code == EINTR || (code == EAGAIN && clock_read_steady() < deadline)) {
            (void)poll(NULL, 0, AGAIN_MS);
            continue;
        }
        close(fd);
        if (code == ENOENT || code == ECONNREFUSED)
            return error_set(err, -code, "no daemon answers at '%s'", path);
        return error_set(err, -code, "cannot connect to the daemon at '%s': %s", path,
                         strerror(code));
    }
    *ret_fd = fd;
    return 0;
}

/* Without the brackets of IPv6. */
static void print_host(const struct client_address *address, struct strbuf *out) {
    size_t length = strlen(address->host);
    bool v6 = address->host[0] == '[' && address->host[length - 1] == ']';
    strbuf_add(out, address->host + v6, length - (v6 ? 2 : 0));
}

/* 0, or the errno. */
static int connect_in_time(int fd, const struct addrinfo *info, time_ms deadline) {
    int code = 0;
    socklen_t size = sizeof(code);
    if (connect(fd, info->ai_addr, info->ai_addrlen) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return -errno;
    struct pollfd poller = { .fd = fd, .events = POLLOUT };
    time_ms left = time_min(deadline - clock_read_steady(), TCP_TIMEOUT);
    if (poll(&poller, 1, left > 0 ? (int)left : 0) <= 0)
        return -ETIMEDOUT;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0)
        return -errno;
    return -code;
}

/* Whatever is in the way there, the daemon may be at the next address: that is -ECONNREFUSED, too. */
static int connect_tcp(const struct client_address *address, time_ms deadline, int *ret_fd,
                       struct error *err) {
    struct addrinfo wanted = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    _cleanup_(strbuf_finish) struct strbuf host = STRBUF_INIT;
    print_host(address, &host);
    int r = getaddrinfo(strbuf_text(&host), address->port, &wanted, &found);
    if (r != 0)
        return error_set(err, -ECONNREFUSED, "no daemon answers at '%s': %s", address->text,
                         gai_strerror(r));
    int fd = -1, one = 1;
    r = -ECONNREFUSED;
    for (const struct addrinfo *info = found; info && fd < 0; info = info->ai_next) {
        fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        r = fd < 0 ? -errno : connect_in_time(fd, info, deadline);
        if (r < 0 && fd >= 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    if (fd < 0)
        return error_set(err, -ECONNREFUSED, "no daemon answers at '%s': %s", address->text,
                         strerror(-r));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    *ret_fd = fd;
    return 0;
}

static int connect_to(struct client *client, const struct client_address *address, time_ms deadline,
                      struct error *err) {
    wire_close(client);
    if (!address->path && !client->peer_token && !client->token)
        return error_set(
            err, -EACCES,
            "'%s' needs a token: set SLUICE_API_TOKEN, or 'daemon.token_file' to a file "
            "with one ('sluice token add' makes it)",
            address->text);
    int fd = -1;
    int r = address->path ? connect_unix(address->path, deadline, &fd, err)
                          : connect_tcp(address, deadline, &fd, err);
    if (r < 0)
        return r;
    if (address->tls) {
        _cleanup_(strbuf_finish) struct strbuf host = STRBUF_INIT;
        print_host(address, &host);
        struct client_tls_peer peer = { address->text, strbuf_text(&host), client->peer_ca };
        r = client_tls_new(fd, &peer, deadline, &client->tls, err);
        if (r < 0) {
            close(fd);
            return r;
        }
    }
    client->fd = fd;
    client->fresh = true;
    return 0;
}

static void all_absent(const struct client *client, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf list = STRBUF_INIT;
    for (size_t i = 0; i < client->address_count; i++)
        strbuf_printf(&list, "%s'%s'", i ? ", " : "", client->addresses[i].text);
    error_set(err, -ECONNREFUSED,
              "no daemon answers at %s; 'sluice up' starts the one of this home",
              strbuf_text(&list));
}

int client_connect(struct client *client, time_ms deadline, struct error *err) {
    int r = connect_to(client, client_address(client), deadline, err);
    if (!client_is_absent(r))
        return r;
    find_more(client);
    int refused = 0;
    struct error why = { 0 };
    size_t first = client->at;
    for (size_t i = 1; i < client->address_count; i++) {
        client->at = (first + i) % client->address_count;
        r = connect_to(client, client_address(client), deadline, err);
        if (r >= 0)
            return r;
        if (!client_is_absent(r) && refused == 0) {
            refused = r;
            why = *err;
        }
    }
    client->at = first;
    if (refused < 0) /* one that is wrong, among others that are not there */
        return error_set(err, refused, "%s", why.text);
    if (client->address_count > 1)
        all_absent(client, err);
    return client->address_count > 1 ? -ECONNREFUSED : r;
}
