/* launch_prepare.c: what prepares a new worktree is a part of its first run.
 *
 * The project says what it is. The shim runs it before the command, in the project's folder of the worktree. It is
 * repeated until a run has said that it succeeded (workspace_finish), so one that was killed half way begins again.
 *
 * Its command is seen only when that is done, so the deadline of the launch is moved by as much. That is looked up when
 * the deadline passes, in the spec of the run: a daemon that was started meanwhile knows it, too. */
#include <string.h>

#include "engine/executors_internal.h"
#include "engine/workspace_internal.h"

void launch_prepare(struct engine *e, struct live_run *run, struct arena *arena,
                    struct run_spec *spec) {
    const struct workspace_place *place = workspace_find(e, run->task);
    const struct project *project = workspace_project(e, run->task);
    const char *const *words = NULL;
    run->prepares = false;
    if (!place || !place->is_new || !project)
        return;
    size_t count = config_words(e->config, "projects.P.prepare", project->view.name, &words);
    if (count == 0)
        return;
    const char **argv = arena_alloc(arena, (count + 1) * sizeof(*argv));
    memcpy(argv, words, count * sizeof(*argv));
    argv[count] = NULL;
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    (void)workspace_folder(e, run, NULL, &folder);
    spec->prepare.argv = argv;
    spec->prepare.timeout =
        config_number(e->config, "projects.P.prepare_timeout_s", project->view.name);
    spec->prepare_cwd = arena_strdup(arena, strbuf_text(&folder));
    run->prepares = true;
}

time_ms launch_prepare_time(const struct engine *e, const struct live_run *run) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (run_read_spec(e, run, &read, NULL) < 0 || !read->spec.prepare.argv)
        return 0;
    return read->spec.prepare.timeout > 0 ? time_add(read->spec.prepare.timeout, read->spec.grace)
                                          : TIME_NEVER;
}
