/* client_find.c: which of several daemons is asked?
 *
 * The one of the own home first. Where that is not there, or says that it is a standby, the addresses of the
 * configuration are tried in their order, and those that a standby tells. So a command that finds its daemon
 * at home reads no configuration. A token goes only to addresses that the configuration has: of what a standby tells,
 * sockets of this machine are taken alone. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/client_internal.h"
#include "os/clock.h"

#define TCP_TIMEOUT SECONDS(4) /* for a connection: the next address may answer */

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
    if (strncmp(text, "unix:/", 6) == 0) /* the path may have a colon in it */
        address.url.socket = xstrdup(rest + 1);
    else if (http_url_parse(text, &address.url, NULL) < 0)
        return;
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
            (struct client_address){ .text = strbuf_take(&one), .url.socket = xstrdup(place) };
    }
    client->own_count = client->address_count;
}

void client_free_addresses(struct client *client) {
    for (size_t i = 0; i < client->address_count; i++) {
        free(client->addresses[i].text);
        http_url_finish(&client->addresses[i].url);
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

static int connect_to(struct client *client, const struct client_address *address, time_ms deadline,
                      struct error *err) {
    const struct http_url *url = &address->url;
    const char *why = NULL;
    http_wire_close(&client->wire);
    if (!url->socket && !client->peer_token && !client->token)
        return error_set(
            err, -EACCES,
            "'%s' needs a token: set SLUICE_API_TOKEN, or 'daemon.token_file' to a file "
            "with one ('sluice token add' makes it)",
            address->text);
    time_ms until = url->socket ? deadline : time_min(deadline, clock_read_steady() + TCP_TIMEOUT);
    int r = http_wire_connect(&client->wire, url, until, &why);
    if (r == -ENAMETOOLONG)
        return error_set(err, r,
                         "the socket's path '%s' has more than 107 bytes: use a shorter folder",
                         url->socket);
    if (r < 0 && url->socket)
        return client_is_absent(r) ? error_set(err, r, "no daemon answers at '%s'", url->socket)
                                   : error_set(err, r, "cannot connect to the daemon at '%s': %s",
                                               url->socket, why);
    if (r < 0) /* whatever is in the way there, the daemon may be at the next address */
        return error_set(err, -ECONNREFUSED, "no daemon answers at '%s': %s", address->text, why);
    if (url->tls) {
        struct http_tls_peer peer = { address->text, url->host, client->peer_ca, "daemon.tls_ca" };
        r = http_wire_start_tls(&client->wire, &peer, deadline, err);
        if (r < 0)
            return r;
    }
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
