/* live.c: what a run is doing right now, as one line.
 *
 * The listener reads what agents print and knows their last line. For other runs the end of the log
 * is read on demand; nothing is cached or followed. A user's own command may print the events of an
 * agent, too: then the text in one of the last events is the line. The line is raw output of the
 * run: front ends must sanitize it. */
#include "engine/runs.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "engine/agents/agents_internal.h"
#include "engine/redaction.h"
#include "engine/runs/runs_internal.h"
#include "os/outside.h"

#define TAIL_MAX  16384
#define SHOWN_MAX 500 /* bytes of the line */
#define DEPTH_MAX 6

bool engine_live_details(const struct engine *e, task_id task, struct engine_live_details *ret) {
    const struct live_run *run = run_find(e, task);
    if (!run)
        return false;
    *ret = (struct engine_live_details){ .agent = run->agent,
                                         .iteration = run->iteration,
                                         .tokens_cached = run->tokens_cached,
                                         .cost_micro_usd = run->cost_micro_usd };
    return true;
}

/* From the shim's spec; the configuration may have changed. */
const char *engine_run_adapter(const struct engine *e, task_id task, uint32_t attempt) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    char id[ENGINE_ID_MAX];
    rundir_name(&folder, engine_task_id(e, task, id), attempt);
    if (rundir_read_spec(e->runs_folder, strbuf_text(&folder), NULL, &read, NULL) < 0)
        return NULL;
    const char *name = run_spec_variable(&read->spec, "SLUICE_ADAPTER");
    const struct agent_adapter *adapter = name ? agent_adapter_find(name) : NULL;
    return adapter ? adapter->name : NULL;
}

/* --- an event in JSON ------------------------------------------------------------------------ */

static const char *text_in(const json_t *value, unsigned depth);

/* Text for people before text for programs. */
static const char *text_of_object(const json_t *object, unsigned depth) {
    static const char *const names[] = { "text", "command", "result", "content", "message" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *text = text_in(json_object_get(object, names[i]), depth + 1);
        if (text)
            return text;
    }
    static const char *const around[] = { "item", "part", "data", "input" };
    for (size_t i = 0; i < ARRAY_SIZE(around); i++) {
        const json_t *inner = json_object_get(object, around[i]);
        const char *text = json_is_object(inner) ? text_in(inner, depth + 1) : NULL;
        if (text)
            return text;
    }
    return json_object_get(object, "input")
               ? json_string_value(json_object_get(object, "name")) /* a tool that is used */
               : NULL;
}

static const char *text_in(const json_t *value, unsigned depth) {
    if (depth > DEPTH_MAX)
        return NULL;
    if (json_is_string(value))
        return json_string_length(value) > 0 ? json_string_value(value) : NULL;
    if (json_is_object(value))
        return text_of_object(value, depth);
    for (size_t i = json_array_size(value); i-- > 0;) {
        const json_t *item = json_array_get(value, i);
        const char *text = json_is_object(item) ? text_in(item, depth + 1) : NULL;
        if (text)
            return text;
    }
    return NULL;
}

/* --- the last line --------------------------------------------------------------------------- */

/* The last non-empty line of a text, truncated for display. */
static bool put_last(const char *text, size_t size, struct strbuf *out) {
    while (size > 0 && (unsigned char)text[size - 1] <= ' ')
        size--;
    size_t begin = size;
    while (begin > 0 && text[begin - 1] != '\n' && text[begin - 1] != '\r')
        begin--;
    /* A color at the beginning stays: without its escape the rest of the code would be text. */
    while (begin < size && (unsigned char)text[begin] <= ' ' && text[begin] != '\x1b')
        begin++;
    size -= begin;
    for (size_t i = 0; i < size && i < SHOWN_MAX; i++)
        strbuf_putc(out, text[begin + i] ? text[begin + i] : ' ');
    return size > 0;
}

static bool put_event(const char *line, size_t size, struct strbuf *out) {
    json_t *event = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
    const char *text = event ? text_in(event, 0) : NULL;
    bool found = text && put_last(text, strlen(text), out);
    json_decref(event);
    return found;
}

/* Backwards over events without text; any other line is returned as it is. */
static bool put_line(const char *tail, size_t size, struct strbuf *out) {
    size_t end = size;
    while (end > 0) {
        size_t begin = end;
        while (begin > 0 && tail[begin - 1] != '\n')
            begin--;
        bool is_event = begin < end && tail[begin] == '{';
        if (is_event ? put_event(tail + begin, end - begin, out)
                     : put_last(tail + begin, end - begin, out))
            return true;
        end = begin > 0 ? begin - 1 : 0;
    }
    return false;
}

static bool read_end(const struct engine *e, const char *path, struct strbuf *out) {
    off_t size = 0;
    _cleanup_(fd_closep) int fd = outside_open(AT_FDCWD, path, O_RDONLY, &size, NULL);
    char space[REDACT_FILE_SPACE(TAIL_MAX)];
    const char *tail;
    if (fd < 0)
        return false;
    off_t from = size > TAIL_MAX ? size - TAIL_MAX : 0;
    const struct redact_range range = { from, TAIL_MAX, .grows = true, .once = true };
    ssize_t n = engine_read_log(e, fd, &range, space, &tail);
    if (n <= 0)
        return false;
    /* Begins after the truncated line, if another follows. */
    const char *newline = from > 0 ? memchr(tail, '\n', (size_t)n - 1) : NULL;
    const char *begin = newline ? newline + 1 : tail;
    return put_line(begin, (size_t)(tail + n - begin), out);
}

/* Of the first of these logs of a run that has any. */
static bool read_last_line(const struct engine *e, task_id task, uint32_t attempt,
                           const char *const names[2], struct strbuf *out) {
    for (size_t i = 0; i < 2; i++) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        engine_run_folder(e, task, attempt, &path);
        strbuf_puts(&path, names[i]);
        if (read_end(e, strbuf_text(&path), out))
            return true;
    }
    return false;
}

bool engine_ended_line(const struct engine *e, task_id task, uint32_t attempt, struct strbuf *out) {
    static const char *const names[] = { "/err.log", "/out.log" };
    return read_last_line(e, task, attempt, names, out);
}

bool engine_last_line(const struct engine *e, task_id task, struct strbuf *out) {
    static const char *const names[] = { "/out.log", "/err.log" };
    const struct live_run *run = run_find(e, task);
    const char *line = run ? listen_last_line(e, run_key_of(run)) : NULL;
    if (line) {
        strbuf_puts(out, line);
        return true;
    }
    return run && read_last_line(e, task, run->view.attempt, names, out);
}

/* --- shared folders --------------------------------------------------------------------------- */

/* Detects agents that work in the same folder at the same time. Each would find half-done changes
 * of the other. A worktree, a pool, or a task that wants its folder alone (`workspace`) keeps them
 * apart; then there is nothing to report. */

#define COMPARED_MAX 200u /* runs; each is compared with all others */

const char *engine_task_folder(const struct engine *e, const char *project, const char *agent,
                               const char *cwd) {
    const char *const *paths;
    const char *folder = cwd ? cwd : config_text(e->config, "projects.P.path", project);
    if (!agent || !*folder
        || strcmp(config_text(e->config, "projects.P.workspace_mode", project), "worktree") == 0
        || config_words(e->config, "projects.P.workspace_paths", project, &paths) > 0)
        return NULL;
    return folder;
}

/* A run that waits for its children changes nothing. */
static bool works(const struct engine *e, const struct live_run *run) {
    struct task_view view;
    return run->agent && run->cwd && core_task(e->core, run->task, &view)
           && view.phase != PHASE_WAITING;
}

task_id engine_agent_in_folder(const struct engine *e, const char *folder) {
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        if (works(e, run) && strcmp(run->cwd, folder) == 0)
            return run->task;
    }
    return 0;
}

static const struct live_run *find_other(const struct engine *e, const struct live_run *run,
                                         size_t from) {
    for (size_t i = from; i < run_count(e) && i < from + COMPARED_MAX; i++) {
        const struct live_run *other = run_live_at(e, i);
        if (other->task != run->task && works(e, other) && strcmp(other->cwd, run->cwd) == 0)
            return other;
    }
    return NULL;
}

bool engine_shared_folder(const struct engine *e, task_id task, struct strbuf *out) {
    char id[ENGINE_ID_MAX];
    for (size_t i = 0; i < run_count(e) && (task || i < COMPARED_MAX); i++) {
        const struct live_run *run = run_live_at(e, i);
        if (!works(e, run) || (task && run->task != task))
            continue;
        const struct live_run *other = find_other(e, run, task ? 0 : i + 1);
        if (!other)
            continue;
        strbuf_printf(out, "the agents of '%s'", engine_task_id(e, run->task, id));
        strbuf_printf(out, " and '%s' work in the same folder '%.200s': " SHARED_FOLDER_FIX,
                      engine_task_id(e, other->task, id), run->cwd);
        return true;
    }
    return false;
}
