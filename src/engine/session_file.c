/* session_file.c: see session_file.h. */
#include "engine/session_file.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/runs_internal.h"
#include "engine/sandboxes_internal.h"
#include "os/files.h"
#include "os/outside.h"

#define SESSION     "{session}"
#define SESSION_8   "{session:8}"
#define NAMES_MAX   10000u /* of one folder */
#define FOLDERS_MAX 1000u  /* that are looked into for one file */
#define FILES_MAX   17u    /* sessions of one run */

/* --- finding ---------------------------------------------------------------------------------- */

struct search {
    struct strbuf path; /* so far, without a '/' at its end */
    unsigned left;      /* folders */
};

typedef LIST(char *) name_list;

static int by_name_backwards(const void *a, const void *b) {
    return strcmp(*(char *const *)b, *(char *const *)a);
}

/* Years, months and days: the last one first. */
static void list_names(struct search *s, const char *pattern, name_list *ret) {
    struct outside_list list = { 0 };
    if (s->left == 0)
        return;
    s->left--;
    if (outside_list_open(&list, strbuf_text(&s->path), NAMES_MAX) == 0)
        for (const char *name; (name = outside_list_next(&list));)
            if (fnmatch(pattern, name, FNM_PERIOD) == 0)
                *LIST_ADD(ret) = xstrdup(name);
    outside_list_close(&list);
    if (ret->count > 0)
        qsort(ret->items, ret->count, sizeof(*ret->items), by_name_backwards);
}

static bool find_below(struct search *s, const char *rest);

static bool find_name(struct search *s, const char *name, const char *rest) {
    size_t length = s->path.length;
    strbuf_printf(&s->path, "/%s", name);
    if (*rest ? find_below(s, rest) : access(strbuf_text(&s->path), F_OK) == 0)
        return true;
    s->path.length = length;
    s->path.text[length] = '\0';
    return false;
}

/* Goes on with the parts of `rest`; true: the path is that of a file that is there. */
static bool find_below(struct search *s, const char *rest) {
    size_t length = strcspn(rest, "/");
    char *part = xstrndup(rest, length);
    const char *more = rest[length] ? rest + length + 1 : "";
    name_list names = { 0 };
    bool found = false;
    if (strchr(part, '*'))
        list_names(s, part, &names);
    else
        *LIST_ADD(&names) = xstrdup(part);
    free(part);
    for (size_t i = 0; i < names.count; i++) {
        found = found || find_name(s, names.items[i], more);
        free(names.items[i]);
    }
    free(names.items);
    return found;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Its last bytes, from the beginning of a line on. */
static void read_end(const char *path, struct strbuf *out) {
    off_t size = 0;
    _cleanup_(fd_closep) int fd = outside_open(AT_FDCWD, path, O_RDONLY, &size, NULL);
    if (fd < 0 || size <= 0)
        return;
    off_t at = size > AGENT_SESSION_FILE_MAX ? size - AGENT_SESSION_FILE_MAX : 0;
    char *bytes = xmalloc((size_t)(size - at));
    ssize_t got = pread(fd, bytes, (size_t)(size - at), at);
    const char *from = bytes;
    if (at > 0 && got > 0)
        from = memchr(bytes, '\n', (size_t)got);
    if (got > 0 && from)
        strbuf_add(out, from, (size_t)(got - (from - bytes)));
    free(bytes);
}

static const char *variable_of(void *ctx, const char *name) {
    const struct run_spec *spec = ctx;
    size_t length = strlen(name);
    for (const char *const *pair = spec->env; pair && *pair; pair++)
        if (strncmp(*pair, name, length) == 0 && (*pair)[length] == '=')
            return *pair + length + 1;
    return NULL;
}

static void put_session(const char *pattern, const char *session, struct strbuf *out) {
    const char *whole = strstr(pattern, SESSION), *begin = strstr(pattern, SESSION_8);
    const char *at = whole ? whole : begin;
    strbuf_add(out, pattern, (size_t)(at - pattern));
    strbuf_add(out, session, whole ? strlen(session) : strnlen(session, 8));
    strbuf_puts(out, at + strlen(whole ? SESSION : SESSION_8));
}

static void read_one(const char *pattern, const char *session, struct agent_reader *reader) {
    struct search search = { .path = STRBUF_INIT, .left = FOLDERS_MAX };
    _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT, bytes = STRBUF_INIT;
    put_session(pattern, session, &file);
    if (find_below(&search, strbuf_text(&file) + 1))
        read_end(strbuf_text(&search.path), &bytes);
    if (bytes.length > 0)
        agent_reader_session_file(reader, session, strbuf_text(&bytes), bytes.length);
    strbuf_finish(&search.path);
}

static const char *next_wanted(const struct agent_reader *reader, const name_list *done) {
    for (size_t index = 0;; index++) {
        const char *id = agent_reader_wants_file(reader, index);
        bool is_done = false;
        for (size_t i = 0; id && i < done->count; i++)
            is_done = is_done || strcmp(done->items[i], id) == 0;
        if (!is_done)
            return id;
    }
}

/* What is read may change what is wanted: a session may name others. */
static void read_all(const char *pattern, struct agent_reader *reader) {
    name_list done = { 0 };
    for (const char *id; done.count < FILES_MAX && (id = next_wanted(reader, &done));) {
        *LIST_ADD(&done) = xstrdup(id);
        read_one(pattern, done.items[done.count - 1], reader);
    }
    for (size_t i = 0; i < done.count; i++)
        free(done.items[i]);
    free(done.items);
}

void session_files_read(struct engine *e, const struct live_run *run,
                        const struct agent_adapter *adapter, struct agent_reader *reader) {
    const struct agent_path *file = agent_session_file(adapter);
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    _cleanup_(strbuf_finish) struct strbuf pattern = STRBUF_INIT;
    char home[PATH_MAX], cwd[PATH_MAX];
    if (!file || !agent_reader_wants_file(reader, 0) || run_read_spec(e, run, &read, NULL) < 0)
        return;
    const char *given = variable_of(&read->spec, "HOME");
    if (!realpath(given && *given == '/' ? given : sandboxes_home(e), home) || !read->spec.cwd
        || !realpath(read->spec.cwd, cwd))
        return;
    struct agent_place place = { home, cwd, variable_of, &read->spec };
    agent_path_resolve(adapter, file, &place, &pattern);
    if (!strstr(strbuf_text(&pattern), SESSION) && !strstr(strbuf_text(&pattern), SESSION_8))
        return; /* a folder whose name is too long for it */
    read_all(strbuf_text(&pattern), reader);
}
