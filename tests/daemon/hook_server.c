/* hook_server.c: a webhook receiver whose behaviour the test controls.
 *
 *   hook_server FOLDER [SECRET]
 *
 * Listens on a port of 127.0.0.1, written to FOLDER/port, and on FOLDER/hook.sock. The word in FOLDER/mode at
 * the end of a request selects the response:
 *   NNN     responds with this status (204 if the file does not exist)
 *   NNN+S   the same, with Retry-After: S (seconds)
 *   NNN=T   this status if the text T is in the request, else 204
 *   hang    does not respond until the peer closes the connection
 *   close   closes the connection
 *   half    closes the connection in the middle of a valid response
 *   junk    sends bytes that are not HTTP
 * Before the response it writes a line to FOLDER/log: mode, method, path, signature (good, bad, none), id, body.
 * It handles one connection at a time. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/strbuf.h"
#include "os/files.h"

static const char *folder, *secret;

static void path_of(const char *name, struct strbuf *out) {
    strbuf_clear(out);
    strbuf_printf(out, "%s/%s", folder, name);
}

/* --- the request ----------------------------------------------------------------------------- */

/* The value of a header, or "". */
static void header_of(const char *request, const char *name, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    strbuf_clear(out);
    strbuf_printf(&line, "\r\n%s: ", name);
    const char *at = strstr(request, strbuf_text(&line));
    if (at)
        strbuf_add(out, at + line.length, strcspn(at + line.length, "\r"));
}

/* Reads a complete request; false: the peer closed the connection before its end. */
static bool read_request(int fd, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf length = STRBUF_INIT;
    char bytes[4096];
    for (;;) {
        const char *end = strstr(strbuf_text(out), "\r\n\r\n");
        if (end) {
            header_of(strbuf_text(out), "Content-Length", &length);
            if (strlen(end + 4) >= strtoul(strbuf_text(&length), NULL, 10))
                return true;
        }
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n <= 0)
            return false;
        strbuf_add(out, bytes, (size_t)n);
    }
}

static const char *judge(const char *request, const char *body) {
    _cleanup_(strbuf_finish) struct strbuf time = STRBUF_INIT, given = STRBUF_INIT;
    struct hmac_sha256 hmac;
    uint8_t digest[SHA256_SIZE];
    char want[3 + SHA256_HEX_SIZE] = "v1=";
    header_of(request, "Sluice-Signature", &given);
    header_of(request, "Sluice-Timestamp", &time);
    if (given.length == 0)
        return "none";
    hmac_sha256_init(&hmac, secret, strlen(secret));
    hmac_sha256_add(&hmac, strbuf_text(&time), time.length);
    hmac_sha256_add(&hmac, ".", 1);
    hmac_sha256_add(&hmac, body, strlen(body));
    hmac_sha256_end(&hmac, digest);
    sha256_hex(digest, want + 3);
    return strcmp(strbuf_text(&given), want) == 0 ? "good" : "bad";
}

static void write_log(const char *mode, const char *request) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT, path = STRBUF_INIT, id = STRBUF_INIT;
    const char *body = strstr(request, "\r\n\r\n") + 4;
    header_of(request, "Sluice-Id", &id);
    strbuf_printf(&line, "%s %.*s %s id=%s %s\n", mode, (int)strcspn(request, "\r"), request,
                  judge(request, body), strbuf_text(&id), body);
    path_of("log", &path);
    FILE *file = fopen(strbuf_text(&path), "ae");
    if (file) {
        (void)fwrite(line.text, 1, line.length, file);
        (void)fclose(file);
    }
}

/* --- the answer ------------------------------------------------------------------------------ */

static void say(int fd, const char *text) {
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void answer(int fd, const char *mode) {
    char text[128];
    char bytes[64];
    if (strcmp(mode, "hang") == 0) {
        while (read(fd, bytes, sizeof(bytes)) > 0)
            continue;
    } else if (strcmp(mode, "half") == 0) {
        say(fd, "HTTP/1.1 200 OK\r\nContent-Ty");
    } else if (strcmp(mode, "junk") == 0) {
        say(fd, "220 mail.example.org ESMTP\r\n\r\n");
    } else if (strcmp(mode, "close") != 0) {
        const char *wait = strchr(mode, '+');
        (void)snprintf(text, sizeof(text),
                       "HTTP/1.1 %.3s X\r\nContent-Length: 5\r\n%s%.9s\r\n\r\nhello", mode,
                       wait ? "Retry-After: " : "X: ", wait ? wait + 1 : "-");
        say(fd, text);
    }
}

static void serve(int listener) {
    _cleanup_(strbuf_finish) struct strbuf request = STRBUF_INIT, path = STRBUF_INIT,
                                           mode = STRBUF_INIT;
    int fd = accept(listener, NULL, NULL);
    if (fd < 0)
        return;
    if (read_request(fd, &request)) {
        path_of("mode", &path);
        if (file_read(strbuf_text(&path), 100, &mode, NULL) < 0)
            strbuf_puts(&mode, "204");
        mode.text[strcspn(strbuf_text(&mode), "\n")] = '\0';
        char *text = strchr(mode.text, '=');
        if (text && !strstr(strbuf_text(&request), text + 1))
            (void)snprintf(mode.text, mode.length + 1, "204");
        else if (text)
            *text = '\0';
        write_log(mode.text, strbuf_text(&request));
        answer(fd, mode.text);
    }
    (void)close(fd);
}

/* --- listening ------------------------------------------------------------------------------- */

static int listen_on(struct sockaddr *address, socklen_t size) {
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, address, size) < 0 || listen(fd, 16) < 0
        || getsockname(fd, address, &size) < 0) {
        perror("hook_server");
        exit(1);
    }
    return fd;
}

int main(int argc, char **argv) {
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    char port[16];
    if (argc < 2)
        return 2;
    folder = argv[1];
    secret = argc > 2 ? argv[2] : "";
    (void)snprintf(un.sun_path, sizeof(un.sun_path), "%.90s/hook.sock", folder);
    struct pollfd listeners[] = {
        { .fd = listen_on((struct sockaddr *)&in, sizeof(in)), .events = POLLIN },
        { .fd = listen_on((struct sockaddr *)&un, sizeof(un)), .events = POLLIN },
    };
    (void)snprintf(port, sizeof(port), "%d\n", ntohs(in.sin_port));
    path_of("port", &path);
    if (file_write(strbuf_text(&path), port, strlen(port), NULL) < 0)
        return 1;
    while (poll(listeners, 2, -1) > 0)
        for (int i = 0; i < 2; i++)
            if (listeners[i].revents)
                serve(listeners[i].fd);
    return 1;
}
