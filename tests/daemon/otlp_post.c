/* otlp_post.c: posts a file like the telemetry of an agent, and prints the status of the response.
 *
 *   otlp_post URL FILE [CONTENT-TYPE] */
#include <stdio.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "http_client/http_client.h"
#include "os/files.h"

int main(int argc, char **argv) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT, type = STRBUF_INIT;
    _cleanup_(http_url_finish) struct http_url url = { 0 };
    struct http_answer answer = { 0 };
    struct error err = { 0 };
    if (argc < 3)
        return 2;
    strbuf_printf(&type, "Content-Type: %s", argc > 3 ? argv[3] : "application/json");
    const char *const headers[] = { strbuf_text(&type), NULL };
    int r = http_url_parse(argv[1], &url, &err);
    if (r == 0)
        r = file_read(argv[2], (size_t)16 << 20, &body, &err);
    struct http_post post = { .headers = headers,
                              .body = strbuf_text(&body),
                              .size = body.length,
                              .timeout = SECONDS(60),
                              .cancel = -1 };
    if (r == 0)
        r = http_client_post(&url, &post, &answer, &err);
    if (r < 0) {
        (void)fprintf(stderr, "otlp_post: %s\n", err.text);
        return 1;
    }
    (void)printf("%d\n", answer.status);
    return 0;
}
