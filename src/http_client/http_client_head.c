/* http_client_head.c: is this the head of an answer, and what does it say?
 *
 * Pure. Of the head only the status counts; its other lines must be there, and be text, so that bytes of
 * another protocol are not taken for an acknowledgement. */
#include "http_client/http_client.h"

#include <errno.h>
#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* "HTTP/1.1 200" and then a blank or the end of the line. */
static int read_status(const char *line, size_t size, int *ret_status) {
    static const char begin[] = "HTTP/1.";
    const size_t at = strlen(begin) + 2;
    if (size < at + 3 || memcmp(line, begin, strlen(begin)) != 0
        || (line[at - 2] != '0' && line[at - 2] != '1') || line[at - 1] != ' ')
        return -EPROTO;
    if (!is_digit(line[at]) || !is_digit(line[at + 1]) || !is_digit(line[at + 2])
        || (size > at + 3 && line[at + 3] != ' '))
        return -EPROTO;
    int status = 100 * (line[at] - '0') + 10 * (line[at + 1] - '0') + (line[at + 2] - '0');
    if (status < 100 || status > 599)
        return -EPROTO;
    *ret_status = status;
    return 0;
}

/* What has come may still become one. */
static bool may_begin(const char *bytes, size_t size) {
    static const char begin[] = "HTTP/1.";
    size_t known = size < strlen(begin) ? size : strlen(begin);
    return memcmp(bytes, begin, known) == 0;
}

static bool is_text(const char *line, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (((unsigned char)line[i] < 0x20 && line[i] != '\t') || line[i] == 0x7f)
            return false;
    return true;
}

int http_client_read_head(const char *bytes, size_t size, int *ret_status, size_t *ret_size) {
    int status = 0;
    size_t at = 0;
    if (!may_begin(bytes, size))
        return -EPROTO;
    for (unsigned lines = 0;; lines++) {
        const char *newline = at < size ? memchr(bytes + at, '\n', size - at) : NULL;
        if (!newline)
            return 0;
        const char *line = bytes + at;
        size_t length = (size_t)(newline - line);
        if (length == 0 || line[length - 1] != '\r')
            return -EPROTO;
        length--;
        at = (size_t)(newline - bytes) + 1;
        if (!is_text(line, length) || (lines == 0 && read_status(line, length, &status) < 0))
            return -EPROTO;
        if (lines > 0 && length == 0)
            break;
        if (lines > 0 && !memchr(line, ':', length))
            return -EPROTO;
    }
    *ret_status = status;
    *ret_size = at;
    return 1;
}
