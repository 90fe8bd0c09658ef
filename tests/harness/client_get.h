/* client_get.h: a GET whose path is formatted, for tests of the client and of the daemon. */
#pragma once

#include <stdarg.h>
#include <string.h>

#include "cli/client.h"

/* client_call with GET; each %s in the format is URL-escaped. Only %s, %d, %u, %lld, %llu, %%. */
_printf_(4, 5) static inline int client_get(struct client *client, json_t **ret_answer,
                                            struct error *err, const char *format, ...) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at; at++) {
        if (at[0] != '%') {
            strbuf_putc(&path, *at);
            continue;
        }
        at++;
        if (*at == 's')
            client_escape(&path, va_arg(args, const char *));
        else if (*at == 'd' || *at == 'u')
            strbuf_printf(&path, *at == 'd' ? "%d" : "%u", va_arg(args, unsigned));
        else if (strncmp(at, "lld", 3) == 0 || strncmp(at, "llu", 3) == 0)
            strbuf_printf(&path, *(at += 2) == 'd' ? "%lld" : "%llu", va_arg(args, long long));
        else
            strbuf_putc(&path, *at);
    }
    va_end(args);
    return client_call(client, "GET", strbuf_text(&path), NULL, ret_answer, err);
}
