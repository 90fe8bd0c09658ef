/* iterations.c: the folders that the iterations of a task have left, newest first.
 *
 * Bounded in every direction: an agent decides how many artifacts there are. */
#include <unistd.h>

#include "engine/loops.h"
#include "ops/print.h"
#include "os/outside.h"

#define ITERATIONS_SHOWN 10u
#define ARTIFACTS_SHOWN  20u
#define ARTIFACTS_SEEN   1000u /* those that are hidden included */

static void print_artifacts(struct json_writer *w, const char *folder) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/artifacts", folder);
    json_write_key(w, "artifacts");
    json_write_array_begin(w);
    struct outside_list list;
    const char *name;
    (void)outside_list_open(&list, strbuf_text(&path), ARTIFACTS_SEEN);
    for (unsigned shown = 0; shown < ARTIFACTS_SHOWN && (name = outside_list_next(&list));) {
        if (name[0] == '.')
            continue;
        json_write_string(w, op_quote(name).text);
        shown++;
    }
    outside_list_close(&list);
    json_write_array_end(w);
}

static void print_one(struct json_writer *w, uint32_t iteration, const char *folder) {
    _cleanup_(strbuf_finish) struct strbuf feedback = STRBUF_INIT;
    strbuf_printf(&feedback, "%s/feedback.md", folder);
    json_write_object_begin(w);
    print_int(w, "iteration", iteration);
    print_text(w, "folder", folder);
    print_bool(w, "feedback", access(strbuf_text(&feedback), F_OK) == 0);
    print_artifacts(w, folder);
    json_write_object_end(w);
}

void print_iterations(struct json_writer *w, const struct engine *engine,
                      const struct task_view *task) {
    json_write_key(w, "iterations");
    json_write_array_begin(w);
    for (uint32_t i = 0; i < ITERATIONS_SHOWN && i < task->iteration; i++) {
        _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
        engine_iteration_folder(engine, task->id, task->iteration - i, &folder);
        if (access(strbuf_text(&folder), F_OK) == 0)
            print_one(w, task->iteration - i, strbuf_text(&folder));
    }
    json_write_array_end(w);
}
