/* fuzz_bus.c: arbitrary bytes as a message file, and arbitrary bytes as a body.
 *
 * Beyond not crashing: every message has an id; searching from the end finds the same last message as reading from
 * the beginning; a body is read as it was posted and never becomes two messages. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bus/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file_of(const void *bytes, size_t size) {
    int fd = memfd_create("bus", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    return fd;
}

static void read_all(const uint8_t *data, size_t size) {
    struct bus_reader reader = BUS_READER_INIT;
    const struct bus_message *message;
    int fd = file_of(data, size);
    uint64_t last = 0, count = 0;
    bus_reader_borrow(&reader, fd);
    while (bus_reader_next(&reader, &message, NULL) > 0) {
        assert(message->id && message->body);
        last = reader.end;
        count++;
    }
    assert(bus_reader_seek_tail(&reader, 1, 0, NULL, NULL, NULL) == 0);
    assert((bus_reader_next(&reader, &message, NULL) > 0) == (count > 0));
    assert(count == 0 || reader.end == last);
    bus_reader_finish(&reader);
    close(fd);
}

static void post_body(const uint8_t *data, size_t size) {
    _cleanup_(freep) char *body = xstrndup((const char *)data, size);
    size_t length = strlen(body);
    while (length > 0 && body[length - 1] == '\n')
        body[--length] = '\0';
    struct bus_message posted = { .id = "MSG-1", .at = 1, .type = "FACT", .project = "web" };
    posted.body = body;
    if (bus_message_check(&posted, NULL) < 0)
        return;
    _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
    bus_message_print(&posted, &bytes);
    struct bus_reader reader = BUS_READER_INIT;
    const struct bus_message *message;
    int fd = file_of(strbuf_text(&bytes), bytes.length);
    bus_reader_borrow(&reader, fd);
    assert(bus_reader_next(&reader, &message, NULL) == 1);
    assert(strcmp(message->body, body) == 0);
    assert(bus_reader_next(&reader, &message, NULL) == 0);
    bus_reader_finish(&reader);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_all(data, size);
    post_body(data, size);
    return 0;
}
