/* http_url.c: where does it go? Only what can be sent as it is: nothing is decoded and nothing guessed. */
#include "http_client/http_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"

void http_url_finish(struct http_url *url) {
    free(url->socket);
    free(url->host);
    free(url->port);
    free(url->authority);
    free(url->path);
    *url = (struct http_url){ 0 };
}

static int refuse(struct error *err, const char *why) {
    return error_set(err, -EINVAL,
                     "this URL %s; expected http://HOST[:PORT]/PATH, https://… or "
                     "unix:/SOCKET[:/PATH]",
                     why);
}

static bool is_plain(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text <= 0x20 || (unsigned char)*text >= 0x7f)
            return false;
    return true;
}

static int parse_unix(const char *text, struct http_url *url, struct error *err) {
    const char *colon = strchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : strlen(text);
    if (text[0] != '/' || size < 2)
        return refuse(err, "has no absolute path of a socket");
    if (colon && colon[1] != '/')
        return refuse(err, "has a path behind the socket that does not begin with '/'");
    url->socket = xstrndup(text, size);
    url->authority = xstrdup("localhost");
    url->path = xstrdup(colon ? colon + 1 : "/");
    return 0;
}

static int take_port(const char *text, size_t size, struct http_url *url, struct error *err) {
    int64_t number = 0;
    url->port = xstrndup(text, size);
    if (strspn(url->port, "0123456789") != size || number_parse_int(url->port, &number, NULL) < 0
        || number < 1 || number > 65535)
        return refuse(err, "has no port from 1 to 65535 behind its colon");
    return 0;
}

/* HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT */
static int parse_authority(struct http_url *url, struct error *err) {
    const char *text = url->authority;
    if (strchr(text, '@'))
        return refuse(err, "has a user name in it: everybody who sees the configuration sees it");
    const char *end = text[0] == '[' ? strchr(text, ']') : text + strcspn(text, ":");
    if (!end)
        return refuse(err, "has no ] behind its address");
    size_t skip = text[0] == '[' ? 1 : 0;
    url->host = xstrndup(text + skip, (size_t)(end - text) - skip);
    end += skip;
    if (!*url->host)
        return refuse(err, "has no host");
    if (*end == '\0') {
        url->port = xstrdup(url->tls ? "443" : "80");
        return 0;
    }
    if (*end != ':')
        return refuse(err, "has more behind its host than a port");
    return take_port(end + 1, strlen(end + 1), url, err);
}

static int parse_tcp(const char *text, struct http_url *url, struct error *err) {
    size_t size = strcspn(text, "/?");
    url->authority = xstrndup(text, size);
    size_t length = strlen(text + size) + 2;
    url->path = xmalloc(length);
    (void)snprintf(url->path, length, "%s%s", text[size] == '/' ? "" : "/", text + size);
    return parse_authority(url, err);
}

int http_url_parse(const char *text, struct http_url *ret, struct error *err) {
    static const struct {
        const char *prefix;
        bool tls;
        int (*parse)(const char *text, struct http_url *url, struct error *err);
    } kinds[] = { { "http://", false, parse_tcp },
                  { "https://", true, parse_tcp },
                  { "unix:", false, parse_unix } };
    if (strlen(text) > HTTP_CLIENT_URL_MAX)
        return refuse(err, "is too long");
    if (!is_plain(text))
        return refuse(err, "has a blank or a character outside of ASCII: write it as %XX");
    if (strchr(text, '#'))
        return refuse(err, "has a '#': what is behind it is never sent");
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        size_t size = strlen(kinds[i].prefix);
        if (strncmp(text, kinds[i].prefix, size) != 0)
            continue;
        struct http_url url = { .tls = kinds[i].tls };
        int r = kinds[i].parse(text + size, &url, err);
        if (r < 0)
            http_url_finish(&url);
        else
            *ret = url;
        return r;
    }
    return refuse(err, "is of no kind that can be sent to");
}
