/* test_os_inotify.c: every event is delivered once, in order. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/loop.h"

#define FILES 300 /* more than one read returns */

static struct loop *loop;
static struct strbuf received;

static void record_event(void *ctx, const struct inotify_event *event) {
    (void)ctx;
    strbuf_printf(&received, "%s ", event->name);
}

static void ready(void *ctx, int fd, unsigned events) {
    (void)ctx;
    (void)events;
    inotify_read(fd, record_event, NULL);
    loop_stop(loop);
}

TEST(all_events_are_delivered_in_order) {
    char folder[SCRATCH_PATH], path[128];
    struct strbuf expected = STRBUF_INIT;
    struct loop_watch *watch = NULL;
    assert_int_equal(loop_new(&loop, NULL), 0);
    scratch_make(folder, "inotify");
    int fd = inotify_open(loop, ready, NULL, &watch);
    assert_true(fd >= 0);
    assert_true(inotify_add_watch(fd, folder, IN_CREATE) >= 0);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof(path), "%s/a-file-with-a-long-name-%d", folder, i);
        close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        strbuf_printf(&expected, "%s ", strrchr(path, '/') + 1);
    }
    assert_int_equal(loop_run(loop, NULL), 0);
    assert_string_equal(strbuf_text(&received), strbuf_text(&expected));
    scratch_remove(folder);
    loop_unwatch(loop, watch);
    close(fd);
    loop = loop_free(loop);
    strbuf_finish(&expected);
    strbuf_finish(&received);
}
