/* http_proxy.h: to a server through a proxy. Private to http_client/. */
#pragma once

#include "http_client/http_client.h"

struct http_wire;

/* Afterwards the wire leads to the host and port of the URL. */
int http_proxy_connect(struct http_wire *wire, const char *proxy, const struct http_url *url,
                       time_ms deadline, struct error *err);
