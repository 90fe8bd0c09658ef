/* client_internal.h: the client's parts. Private to cli/.
 *
 * client.c         calls: tries, keys, errors
 * client_find.c    where the daemon is, of several the active one
 * client_stream.c  streams of bytes and events */
#pragma once

#include "cli/client.h"
#include "http_client/http_client.h"
#include "http_client/http_wire.h"

/* Where a daemon may be. */
struct client_address {
    char *text; /* as it was written */
    struct http_url url;
};

struct client {
    struct client_address *addresses; /* at least one: that of the home */
    size_t address_count, address_capacity;
    size_t own_count; /* of these, those that client_open was told */
    size_t at;        /* which is asked */
    bool looked;      /* the others have been asked for */
    bool has_peers;   /* and there are some: then none is started */
    char *peer_token; /* shown by TCP; or NULL */
    char *peer_ca;    /* or NULL */
    char *standby;    /* what the first one said when it was one; or NULL */
    struct client_options options;
    char *run;
    char *token; /* of the run that this process belongs to; NULL: of none */
    struct http_wire wire;
    int reader;         /* see client_set_reader */
    bool fresh;         /* no answer came over this connection yet */
    struct strbuf text; /* of the last answer */

    char key[129]; /* of the next POST; "": a new one */

    /* The stream. */
    bool streaming;
    http_sink sink;
    client_bytes each_bytes;
    client_each each_event;
    void *each_ctx;
    struct strbuf line, kind, data;
    uint64_t seq;
};

/* One request as it is sent, again and again if need be. */
struct client_request {
    const char *method, *path, *accept;
    const char *body; /* or NULL */
    size_t size;
    const char *key; /* or NULL */
    bool streams;    /* the body of a good answer is left to the caller */
};

/* Sends it until there is an answer. The status, or <0. */
int client_send(struct client *client, const struct client_request *request, struct error *err);
/* What an answer from 400 on means, into `err`. `answer`: as JSON, or NULL. */
void client_take_error(const struct client *client, const json_t *answer, struct error *err);

/* The body is a stream of events from now on. */
void client_set_events(struct client *client, client_each each, void *ctx);

/* --- client_find.c --------------------------------------------------------------------------- */

/* What client_open was told. */
void client_take_place(struct client *client, const char *place);
/* And where else the run is known that this process belongs to: "unix:/PATH,…". */
void client_take_peers(struct client *client, const char *list);
void client_add_address(struct client *client, const char *text);
void client_free_addresses(struct client *client);
const struct client_address *client_address(const struct client *client);
/* The address that is asked said it is a standby, and where another one may be: the next is asked. */
void client_learn(struct client *client, const json_t *answer);
/* To the address that is asked, or to the next one that is there. -ENOENT, -ECONNREFUSED: nobody is. */
int client_connect(struct client *client, time_ms deadline, struct error *err);
