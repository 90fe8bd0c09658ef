/* fuzz_snapshot.c: arbitrary bytes as a snapshot; the scheduler decides on accepted ones.
 *
 * Beyond not crashing: an error has a code and a message that begins with the file name, and every
 * task that waits after the decision has a reason. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "snapshot/snapshot.h"

#define NAME "fuzz.json"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask_why(struct snapshot *s, task_id task) {
    struct core *core = snapshot_core(s);
    struct task_view view;
    struct verdict v;
    assert(core_task(core, task, &view));
    assert(snapshot_find(s, snapshot_task_name(s, task)) == task);
    bool waits = view.state == TASK_WAITING || view.state == TASK_READY || view.state == TASK_HELD;
    bool blocked = core_blocked(core, task, &v);
    assert(!waits || blocked);
    if (!blocked)
        return;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct task_names names = snapshot_names(s);
    verdict_code(&v, core_symbols(core), &text);
    verdict_message(&v, core_symbols(core), &names, &text);
    assert(text.length > 0);
    struct sim_hint hint;
    snapshot_hint(s, task, &hint);
    assert(hint.duration_min >= 0 && hint.duration_max >= hint.duration_min);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
    assert(file);
    struct snapshot *snapshot = NULL;
    struct error err = { 0 };
    int r = snapshot_read(file, NAME, NULL, &snapshot, &err);
    (void)fclose(file);
    if (r < 0) {
        assert(err.code == r && !snapshot);
        assert(strncmp(err.text, NAME ":", strlen(NAME ":")) == 0);
        return 0;
    }
    size_t count;
    const struct order *orders = core_decide(snapshot_core(snapshot), &count);
    for (size_t i = 0; i < count; i++)
        assert(orders[i].task <= snapshot_task_count(snapshot));
    for (task_id task = 1; task <= snapshot_task_count(snapshot); task++)
        ask_why(snapshot, task);
    snapshot_free(snapshot);
    return 0;
}
