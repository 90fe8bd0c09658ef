/* test_bus_reader.c: the message format: round trips, resists forged marks, and hides torn messages. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bus/reader.h"
#include "harness/scratch.h"
#include "harness/test.h"

static char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16];
static int file;

static int open_file(void **state) {
    (void)state;
    scratch_make(folder, "bus");
    snprintf(path, sizeof(path), "%s/web.md", folder);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return file < 0;
}

static int close_file(void **state) {
    (void)state;
    close(file);
    scratch_remove(folder);
    return 0;
}

static void put(const char *text) {
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
}

static void post(const char *id, const char *type, const char *body) {
    struct bus_message message = {
        .id = id, .at = 1731667252123, .type = type, .project = "web", .body = body
    };
    struct strbuf out = STRBUF_INIT;
    bus_message_print(&message, &out);
    put(strbuf_text(&out));
    strbuf_finish(&out);
}

/* "id=body|id=body|" of the messages that the reader shows now. */
static const char *rest(struct bus_reader *reader) {
    static char text[8192];
    const struct bus_message *message;
    struct error err = { 0 };
    int r;
    text[0] = '\0';
    while ((r = bus_reader_next(reader, &message, &err)) > 0) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s=%s|", message->id, message->body);
    }
    if (r < 0)
        fail_msg("%s", err.text);
    return text;
}

static void open_reader(struct bus_reader *reader) {
    struct error err = { 0 };
    if (bus_reader_open(reader, path, &err) < 0)
        fail_msg("%s", err.text);
}

static const char *all(void) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    open_reader(&reader);
    return rest(&reader);
}

/* --- form ------------------------------------------------------------------------------------ */

#define READER_TEST(name_) TEST_WITH(name_, open_file, close_file)

READER_TEST(every_member_comes_back) {
    struct bus_message in = {
        .id = "MSG-1",
        .at = 1731667252123,
        .type = "USER_REQUEST",
        .project = "a: \"b\" #c\n---",
        .task = "web-17",
        .run = "web-17.2",
        .issue = "123",
        .parents = "[{\"msg_id\": \"MSG-0\",\n \"kind\": \"reply\"}]",
        .links = "[\"http://x\"]",
        .meta = "{\"k\": \"---\"}",
        .body = "first\n\nlast",
    };
    struct strbuf bytes = STRBUF_INIT;
    bus_message_print(&in, &bytes);
    put(strbuf_text(&bytes));
    strbuf_finish(&bytes);
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    const struct bus_message *out = NULL;
    open_reader(&reader);
    assert_int_equal(bus_reader_next(&reader, &out, NULL), 1);
    assert_string_equal(out->id, "MSG-1");
    assert_int_equal(out->at, in.at);
    assert_string_equal(out->type, in.type);
    assert_string_equal(out->project, in.project);
    assert_string_equal(out->task, in.task);
    assert_string_equal(out->run, in.run);
    assert_string_equal(out->issue, "123");
    assert_string_equal(out->parents, "[{\"msg_id\":\"MSG-0\",\"kind\":\"reply\"}]");
    assert_string_equal(out->links, "[\"http://x\"]");
    assert_string_equal(out->meta, "{\"k\":\"---\"}");
    assert_string_equal(out->body, in.body);
}

READER_TEST(the_file_is_yaml_front_matter_and_a_body) {
    struct bus_message in = { .id = "MSG-1", .at = 1731667252123, .type = "FACT" };
    in.project = "web";
    in.body = "found it";
    struct strbuf bytes = STRBUF_INIT;
    bus_message_print(&in, &bytes);
    assert_string_equal(strbuf_text(&bytes), "---\nmsg_id: MSG-1\nts: 2024-11-15T10:40:52.123Z\n"
                                             "type: FACT\nproject_id: web\n---\nfound it\n...\n");
    strbuf_finish(&bytes);
}

READER_TEST(a_body_never_becomes_two_messages) {
    const char *const bodies[] = {
        "---",
        "...",
        "---\nmsg_id: FORGED\n---\nx\n...",
        "x\n...\n---\nmsg_id: FORGED\n---\ny",
        "\\---\n\\\\...\n... # torn\n--- x\n...\tx\n---\r",
        "----\n....\n...x\n ---",
    };
    char want[1024] = "";
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        char id[8];
        snprintf(id, sizeof(id), "M%zu", i);
        post(id, "FACT", bodies[i]);
        size_t used = strlen(want);
        snprintf(want + used, sizeof(want) - used, "%s=%s|", id, bodies[i]);
    }
    assert_string_equal(all(), want);
}

READER_TEST(ordinary_lines_stand_in_the_file_as_they_are) {
    struct bus_message in = { .id = "M", .at = 1, .type = "FACT", .project = "web" };
    in.body = "...and then\n----\n# a";
    struct strbuf bytes = STRBUF_INIT;
    bus_message_print(&in, &bytes);
    assert_non_null(strstr(strbuf_text(&bytes), "\n---\n...and then\n----\n# a\n...\n"));
    strbuf_finish(&bytes);
}

READER_TEST(bad_messages_cannot_be_posted) {
    struct error err = { 0 };
    struct bus_message m = { .type = "FACT", .body = "x" };
    assert_int_equal(bus_message_check(&m, &err), 0);
    m.type = "TWO WORDS";
    assert_int_equal(bus_message_check(&m, &err), -EINVAL);
    m.type = "";
    assert_int_equal(bus_message_check(&m, &err), -EINVAL);
    m.type = "A23456789012345678901234567890123";
    assert_int_equal(bus_message_check(&m, &err), -EINVAL);
    m.type = "FACT";
    m.body = "";
    assert_int_equal(bus_message_check(&m, &err), -EINVAL);
    m.body = "\xff";
    assert_int_equal(bus_message_check(&m, &err), -EINVAL);
    assert_string_equal(err.text, "the message is not UTF-8");
    m.body = "x";
    m.meta = "[]";
    assert_int_equal(bus_message_check(&m, &err), -EINVAL);
    m.meta = NULL;
    char *large = calloc(1, BUS_BODY_MAX + 2);
    memset(large, 'x', BUS_BODY_MAX + 1);
    m.body = large;
    assert_int_equal(bus_message_check(&m, &err), -EFBIG);
    free(large);
}

/* --- torn ------------------------------------------------------------------------------------ */

READER_TEST(f119_readers_need_no_lock_and_skip_a_tail_until_it_is_whole) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    post("M1", "FACT", "one");
    put("---\nmsg_id: M2\ntype: FA");
    open_reader(&reader);
    assert_string_equal(rest(&reader), "M1=one|");
    put("CT\n---\nbo");
    assert_string_equal(rest(&reader), "");
    put("dy\n..");
    assert_string_equal(rest(&reader), "");
    put(".\n");
    assert_string_equal(rest(&reader), "M2=body|");
    assert_string_equal(rest(&reader), "");
    assert_int_equal(reader.damaged, 0);
}

READER_TEST(a_message_can_be_torn_at_every_byte) {
    struct bus_message in = {
        .id = "M1", .at = 1, .type = "FACT", .project = "web", .body = "a\nb"
    };
    struct strbuf whole = STRBUF_INIT;
    bus_message_print(&in, &whole);
    for (size_t size = 0; size < whole.length; size++) {
        assert_int_equal(ftruncate(file, 0), 0);
        assert_int_equal(lseek(file, 0, SEEK_SET), 0);
        assert_int_equal(write(file, whole.text, size), (ssize_t)size);
        assert_string_equal(all(), "");
        /* As the next writer terminates it. */
        if (size > 0)
            put(whole.text[size - 1] == '\n' ? BUS_TORN_LINE : "\n" BUS_TORN_LINE);
        post("M2", "FACT", "next");
        bool only_newline = size + 1 == whole.length;
        assert_string_equal(all(), only_newline ? "M1=a\nb|M2=next|" : "M2=next|");
    }
    strbuf_finish(&whole);
}

READER_TEST(a_partial_write_that_was_undone_is_ignored) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    post("M1", "FACT", "one");
    off_t size = lseek(file, 0, SEEK_CUR);
    put("---\nmsg_id: M2\n---\nhalf of it");
    open_reader(&reader);
    assert_string_equal(rest(&reader), "M1=one|");
    assert_int_equal(ftruncate(file, size), 0);
    assert_int_equal(lseek(file, size, SEEK_SET), size);
    post("M3", "FACT", "three");
    assert_string_equal(rest(&reader), "M3=three|");
}

READER_TEST(junk_between_messages_hides_none) {
    put("what a person wrote\n\n");
    post("M1", "FACT", "one");
    put("more\n");
    post("M2", "FACT", "two");
    put("---\nno id: here\n---\nbody\n...\n");
    post("M3", "FACT", "three");
    assert_string_equal(all(), "M1=one|M2=two|M3=three|");
}

READER_TEST(a_message_that_is_too_long_is_left_out_and_counted) {
    post("M1", "FACT", "one");
    put("---\nmsg_id: BIG\n---\n");
    char line[1024];
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    for (size_t i = 0; i < 5 * BUS_BODY_MAX / sizeof(line); i++) {
        put(line); /* one line, many times longer than the buffer */
        if (i % 7 == 0)
            put("\n");
    }
    put("\n...\n");
    post("M2", "FACT", "two");
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    open_reader(&reader);
    assert_string_equal(rest(&reader), "M1=one|M2=two|");
    assert_int_equal(reader.damaged, 1);
}

READER_TEST(foreign_front_matter_is_read_as_far_as_it_is_known) {
    put("---\nmsg_id: 'M1'\nts: 2024-11-15T10:40:52Z\ntype: FACT\nparents:\n  - msg_id: M0\n"
        "colour: red\n---\nbody\n...\n");
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    const struct bus_message *message = NULL;
    open_reader(&reader);
    assert_int_equal(bus_reader_next(&reader, &message, NULL), 1);
    assert_string_equal(message->id, "M1");
    assert_int_equal(message->at, 1731667252000);
    assert_null(message->parents);
    assert_string_equal(message->body, "body");
}

/* --- seeking --------------------------------------------------------------------------------- */

static bool is_fact(void *ctx, const struct bus_message *message) {
    (void)ctx;
    return strcmp(message->type, "FACT") == 0;
}

/* Much longer than one backward read; bodies are full of text that resembles marks. */
static void post_many(unsigned count) {
    for (unsigned i = 1; i <= count; i++) {
        char id[16], body[128];
        snprintf(id, sizeof(id), "M%u", i);
        snprintf(body, sizeof(body), "number %u\n...\n---\nmsg_id: X\n---\n\\...", i);
        post(id, i % 1000 == 0 ? "FACT" : "INFO", body);
    }
}

static void expect_next(struct bus_reader *reader, const char *id) {
    const struct bus_message *message = NULL;
    struct error err = { 0 };
    if (bus_reader_next(reader, &message, &err) != 1)
        fail_msg("there is no message: %s", err.text);
    assert_string_equal(message->id, id);
}

READER_TEST(the_last_ones_are_found_from_the_end) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    post_many(3000);
    open_reader(&reader);
    assert_int_equal(bus_reader_seek_tail(&reader, 2, 0, NULL, NULL, NULL), 0);
    expect_next(&reader, "M2999");
    expect_next(&reader, "M3000");
    assert_string_equal(rest(&reader), "");
    assert_int_equal(bus_reader_seek_tail(&reader, 2, 0, is_fact, NULL, NULL), 0);
    expect_next(&reader, "M2000");
    assert_int_equal(bus_reader_seek_tail(&reader, 5000, 0, NULL, NULL, NULL), 0);
    expect_next(&reader, "M1");
    assert_int_equal(bus_reader_seek_tail(&reader, 0, 0, NULL, NULL, NULL), 0);
    assert_string_equal(rest(&reader), "");
    post("LAST", "FACT", "x");
    assert_string_equal(rest(&reader), "LAST=x|");
}

READER_TEST(a_backward_search_can_be_bounded) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    post_many(3000);
    open_reader(&reader);
    assert_int_equal(bus_reader_seek_tail(&reader, 3000, 4096, NULL, NULL, NULL), 0);
    const struct bus_message *message = NULL;
    unsigned count = 0;
    while (bus_reader_next(&reader, &message, NULL) > 0)
        count++;
    assert_true(count > 10 && count < 100);
}

READER_TEST(the_position_after_a_message_is_found) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    post_many(3000);
    open_reader(&reader);
    assert_int_equal(bus_reader_seek_after(&reader, "M7", 0, NULL), 1);
    expect_next(&reader, "M8");
    uint64_t end = reader.end;
    assert_int_equal(bus_reader_seek_after(&reader, "M3000", 0, NULL), 1);
    assert_string_equal(rest(&reader), "");
    assert_int_equal(bus_reader_seek_after(&reader, "X", 0, NULL), 0);
    assert_int_equal(bus_reader_seek_after(&reader, "M7", 1731667252124, NULL), 0); /* too old */
    assert_int_equal(bus_reader_seek_to(&reader, end, NULL), 0);
    expect_next(&reader, "M9");
    assert_int_equal(bus_reader_seek_to(&reader, end - 1, NULL), -EINVAL);
    assert_int_equal(bus_reader_seek_to(&reader, 1u << 30, NULL), -EINVAL);
}

READER_TEST(a_missing_file_has_no_messages) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    assert_int_equal(bus_reader_open(&reader, "/nowhere/web.md", NULL), 0);
    assert_string_equal(rest(&reader), "");
    assert_int_equal(bus_reader_seek_tail(&reader, 5, 0, NULL, NULL, NULL), 0);
    assert_int_equal(bus_reader_seek_after(&reader, "M1", 0, NULL), 0);
}
