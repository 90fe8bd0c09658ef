/* test_card.c: parses cards, and changes two fields of them without touching the rest. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "card/card.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/files.h"

#define LINE "2027-01-31: agent queued (web-1 #4)"

/* A second time there is nothing to change. */
static void expect_edit(const char *text, enum card_status status, const char *line,
                        const char *expected) {
    _cleanup_(strbuf_finish) struct strbuf in = STRBUF_INIT, out = STRBUF_INIT, more = STRBUF_INIT;
    struct error err = { 0 };
    strbuf_puts(&in, text);
    int r = card_edit("a.md", &in, status, line, &out, &err);
    if (r < 0)
        fail_msg("%s", err.text);
    assert_string_equal(strbuf_text(&out), expected);
    assert_int_equal(card_edit("a.md", &out, status, line, &more, &err), 1);
    assert_int_equal(more.length, 0);
}

static void expect_refused(const char *text, const char *message) {
    struct card card = { 0 };
    struct error err = { 0 };
    assert_int_equal(card_parse("a.md", text, strlen(text), &card, &err), -EINVAL);
    assert_string_equal(err.text, message);
}

TEST(the_status_is_replaced_where_it_stands) {
    expect_edit("---\nagent_status: idle # now\nx: 1\n---\nbody\n", CARD_RUNNING, NULL,
                "---\nagent_status: running # now\nx: 1\n---\nbody\n");
    expect_edit("---\nagent_status: \"idle\"\n---\n", CARD_FAILED, NULL,
                "---\nagent_status: failed\n---\n");
    expect_edit("---\nagent_status:\nx: 1\n---\n", CARD_QUEUED, NULL,
                "---\nagent_status: queued\nx: 1\n---\n");
    expect_edit("---\nx: 1\n---\nbody", CARD_QUEUED, NULL,
                "---\nx: 1\nagent_status: queued\n---\nbody");
    expect_edit("---\n---\nbody", CARD_QUEUED, NULL, "---\nagent_status: queued\n---\nbody");
    expect_edit("\xEF\xBB\xBF---\nagent_status: idle\n---\n", CARD_QUEUED, NULL,
                "\xEF\xBB\xBF---\nagent_status: queued\n---\n");
}

TEST(what_looks_like_it_elsewhere_is_left_alone) {
    expect_edit("---\nx: {agent_status: idle}\nagent_status: idle\n---\nagent_status: idle\n",
                CARD_CANCELED, NULL,
                "---\nx: {agent_status: idle}\nagent_status: canceled\n---\nagent_status: idle\n");
    expect_edit("---\nHistory: x\nagent_status: queued\n---\nbody\n", CARD_QUEUED, LINE,
                "---\nHistory: x\nagent_status: queued\n---\nbody\n\nHistory:\n- " LINE "\n");
}

TEST(line_ends_stay_as_they_are) {
    expect_edit("---\r\nagent_status: idle\r\n---\r\n# A\r\nHistory:\r\n- old\r\n", CARD_QUEUED,
                LINE,
                "---\r\nagent_status: queued\r\n---\r\n# A\r\nHistory:\r\n- old\r\n- " LINE "\r\n");
    expect_edit("---\r\nx: 1\r\n---\r\nbody", CARD_QUEUED, LINE,
                "---\r\nx: 1\r\nagent_status: queued\r\n---\r\nbody\r\n\r\nHistory:\r\n- " LINE
                "\r\n");
}

TEST(history_goes_to_the_end_of_its_section) {
    expect_edit("---\nagent_status: queued\n---\nHistory:\n- a\n- b\n\nNotes:\n- c\n", CARD_QUEUED,
                LINE,
                "---\nagent_status: queued\n---\nHistory:\n- a\n- b\n- " LINE "\n\nNotes:\n- c\n");
    expect_edit("---\nagent_status: queued\n---\n## History\n\n## Notes\n", CARD_QUEUED, LINE,
                "---\nagent_status: queued\n---\n## History\n- " LINE "\n\n## Notes\n");
    expect_edit("---\nagent_status: queued\n---\nHistory:\n- a", CARD_QUEUED, LINE,
                "---\nagent_status: queued\n---\nHistory:\n- a\n- " LINE "\n");
    expect_edit("---\nagent_status: queued\n---\n", CARD_QUEUED, LINE,
                "---\nagent_status: queued\n---\n\nHistory:\n- " LINE "\n");
}

TEST(f004_a_card_says_what_it_is) {
    static const char text[] = "---\nagent_flow: implement\nbranch: feature/x\nother: [1, 2]\n"
                               "parallelizable: false\nagent_status: failed\n---\n\n## 1.1 Title \n"
                               "body\n";
    _cleanup_(card_finish) struct card card = { 0 };
    struct error err = { 0 };
    assert_int_equal(card_parse("a.md", text, strlen(text), &card, &err), 0);
    assert_string_equal(card.flow, "implement");
    assert_string_equal(card.branch, "feature/x");
    assert_string_equal(card.title, "1.1 Title");
    assert_int_equal(card.parallelizable, CARD_FALSE);
    assert_int_equal(card.status, CARD_FAILED);
    assert_string_equal(text + card.body, "\n## 1.1 Title \nbody\n");
}

TEST(a_card_may_say_nothing) {
    _cleanup_(card_finish) struct card card = { 0 };
    struct error err = { 0 };
    assert_int_equal(card_parse("a.md", "---\n---\nx", 9, &card, &err), 0);
    assert_null(card.flow);
    assert_null(card.title);
    assert_int_equal(card.parallelizable, CARD_UNSET);
    assert_int_equal(card.status, CARD_IDLE);
}

TEST(impossible_front_matter_is_refused_with_its_line) {
    expect_refused("body\n", "a.md:1: there is no front matter: a card begins with a line ---");
    expect_refused("", "a.md:1: there is no front matter: a card begins with a line ---");
    expect_refused("---\nx: 1\n", "a.md:1: the front matter has no end: a second line ---");
    expect_refused("---\n- a\n---\n", "a.md:2: expected keys and values, got a list");
    expect_refused("---\nagent_status: asleep\n---\n",
                   "a.md:2: 'agent_status': expected idle, queued, running, succeeded, failed or "
                   "canceled, got 'asleep'");
    expect_refused("---\nx: 1\nparallelizable: maybe\n---\n",
                   "a.md:3: 'parallelizable': expected true or false, got 'maybe'");
    expect_refused("---\nbranch: two words\n---\n",
                   "a.md:2: 'branch': expected one word, got 'two words'");
    expect_refused("---\nagent_flow: a\nagent_flow: b\n---\n",
                   "a.md:3: 'agent_flow' is given twice, first in line 2");
}

TEST(front_matter_that_cannot_take_it_is_left_alone) {
    _cleanup_(strbuf_finish) struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;
    struct error err = { 0 };
    strbuf_puts(&in, "---\nx:x[ :\n-0-\n [1\n---\n");
    assert_int_equal(card_edit("a.md", &in, CARD_QUEUED, LINE, &out, &err), -EINVAL);
    assert_int_equal(out.length, 0);
    assert_string_equal(err.text, "a.md:1: agent_status cannot be written into this front matter; "
                                  "write it there once manually");
}

/* --- files ----------------------------------------------------------------------------------- */

TEST(a_file_is_replaced_whole_with_its_mode) {
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16], link[SCRATCH_PATH + 16];
    scratch_make(folder, "card");
    (void)snprintf(path, sizeof(path), "%s/a.md", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    assert_true(fd >= 0);
    assert_int_equal(dprintf(fd, "---\nagent_status: idle\n---\n"), 27);
    assert_int_equal(fchmod(fd, 0604), 0);
    close(fd);
    assert_int_equal(card_write(path, CARD_QUEUED, LINE, &err), 0);
    assert_int_equal(file_read(path, 10000, &text, &err), 0);
    assert_string_equal(strbuf_text(&text),
                        "---\nagent_status: queued\n---\n\nHistory:\n- " LINE "\n");
    struct stat st, again;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0604);
    assert_int_equal(card_write(path, CARD_QUEUED, LINE, &err), 0);
    assert_int_equal(stat(path, &again), 0);
    assert_int_equal(st.st_ino, again.st_ino); /* no change, no write */
    (void)snprintf(link, sizeof(link), "%s/link.md", folder);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(card_write(link, CARD_RUNNING, NULL, &err), 0);
    assert_int_equal(lstat(link, &again), 0);
    assert_true(S_ISLNK(again.st_mode)); /* a symbolic link stays one */
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(card_write(path, CARD_QUEUED, LINE, &err), -ENOENT);
    assert_int_equal(rmdir(folder), 0); /* no temporary file is left */
}
