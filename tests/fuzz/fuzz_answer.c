/* fuzz_answer.c: arbitrary bytes as the response of a daemon to the command line, as text and as events.
 *
 * Beyond not crashing: reading terminates, and a complete response has a status. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/client.h"
#include "http_client/http_wire.h"

#define SIZE_MOST ((size_t)32 * 1024) /* bytes that a socket accepts in one write */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_bytes(void *ctx, const char *bytes, size_t size) {
    size_t *sum = ctx;
    assert(size > 0 && bytes);
    *sum += size;
    return 0;
}

static int take_event(void *ctx, const struct client_event *event) {
    size_t *count = ctx;
    assert(event->kind && event->data && (event->kind[0] || event->data[0]));
    *count += 1;
    return 0;
}

/* A socket whose peer has sent these bytes and closed the connection. */
static int socket_with(const uint8_t *data, size_t size) {
    int pair[2];
    int r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair);
    assert(r == 0);
    ssize_t sent = size ? send(pair[1], data, size, MSG_NOSIGNAL) : 0;
    assert(sent == (ssize_t)size);
    (void)r;
    (void)sent;
    close(pair[1]);
    return pair[0];
}

static void read_text(const uint8_t *data, size_t size) {
    struct http_wire wire = HTTP_WIRE_INIT;
    size_t sum = 0;
    wire.fd = socket_with(data, size);
    int r = http_wire_read_head(&wire, TIME_NEVER);
    assert(r == 0 || r == -EPROTO || r == -ECONNRESET);
    while (r == 0) {
        r = http_wire_take_body(&wire, take_bytes, &sum);
        if (r != 0)
            break;
        if (http_wire_read(&wire, TIME_NEVER) <= 0)
            r = http_wire_take_end(&wire) < 0 ? -ECONNRESET : 1;
    }
    assert(r < 0 || wire.status >= 200);
    assert(sum <= size);
    http_wire_finish(&wire);
}

static void read_events(const uint8_t *data, size_t size) {
    struct error err = { 0 };
    size_t count = 0;
    struct client *client = client_from_fd(socket_with(data, size), take_event, &count);
    int r = 1;
    while (r > 0)
        r = client_pump(client, &err);
    assert(r == 0 || err.code == r);
    assert(count <= size);
    client_close(client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > SIZE_MOST)
        return 0;
    read_text(data, size);
    read_events(data, size);
    return 0;
}
