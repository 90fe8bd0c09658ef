/* client_internal.h: the client's parts. Private to cli/.
 *
 * client.c         calls: tries, keys, errors
 * client_find.c    where the daemon is, of several the active one
 * client_wire.c    one connection: sends a request, reads the head and the body of the answer
 * client_stream.c  streams of bytes and events */
#pragma once

#include "cli/client.h"
#include "cli/client_tls.h"

#define CLIENT_HEADERS_MAX 32

enum client_body {
    BODY_LENGTH,     /* `left` more bytes */
    BODY_CHUNK_SIZE, /* in a size line */
    BODY_CHUNK,      /* `left` more bytes of a chunk */
    BODY_CHUNK_END,  /* its CR LF */
    BODY_LAST,       /* the empty line behind the last chunk */
    BODY_TO_END,     /* until the connection closes */
    BODY_DONE,
};

/* Takes bytes of a body: 0, 1 or <0 as the callbacks of client.h. */
typedef int (*client_sink)(void *ctx, const char *bytes, size_t size);

/* Where a daemon may be. */
struct client_address {
    char *text;        /* as it was written */
    char *path;        /* of a Unix socket; NULL: by TCP */
    char *host, *port; /* by TCP */
    bool tls;
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
    char *token;            /* of the run that this process belongs to; NULL: of none */
    int fd;                 /* -1: not connected */
    struct client_tls *tls; /* or NULL */
    int reader;             /* see client_set_reader */
    bool fresh;             /* no answer came over this connection yet */
    struct strbuf in;       /* read, and taken up to `in_taken` */
    size_t in_taken;

    /* The last answer. */
    int status;
    bool keep_alive;
    struct strbuf head; /* its lines, each a text of its own */
    struct {
        const char *name, *value;
    } headers[CLIENT_HEADERS_MAX];
    size_t header_count;
    struct strbuf text;
    enum client_body body;
    uint64_t left;

    char key[129]; /* of the next POST; "": a new one */

    /* The stream. */
    bool streaming;
    client_sink sink;
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

/* --- client_wire.c --------------------------------------------------------------------------- */

void wire_close(struct client *client);
/* -EPIPE: the other side does not take any more; it may have answered nevertheless. */
int wire_send(struct client *client, const char *bytes, size_t size, time_ms deadline);
/* Waits for bytes: how many came; 0: the end; -ETIMEDOUT, -EINTR, -ECONNRESET; -EPIPE: nobody reads. */
int wire_read(struct client *client, time_ms deadline);
/* Reads up to the body of the answer: 0; -EPROTO: that was no HTTP; or as wire_read. */
int wire_read_head(struct client *client, time_ms deadline);
/* Gives what has been read to the sink. 0: more is needed; 1: the body is complete; 2: the sink said
 * 1; <0: the sink's, or -EPROTO. */
int wire_take_body(struct client *client, client_sink sink, void *ctx);
/* The other side has closed. 0: this was the end of the body; -ECONNRESET: it was not. */
int wire_take_end(struct client *client);
