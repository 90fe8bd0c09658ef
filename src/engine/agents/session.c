/* session.c: which conversation an attempt resumes, and its usage before.
 *
 * Some agents count the complete conversation, over all the runs that resumed it. The usage of a
 * run is then the difference to the end of the run before. That number must be as durable as the
 * end itself, or a crash between the two books the same tokens twice.
 *
 * The id of a new session is derived from the run, so it need not be stored before the launch: if a
 * machine dies with its logs in memory, the next attempt can still name the session. */
#include "engine/agents/agents_internal.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/id_table.h"
#include "base/json_write.h"
#include "base/number.h"
#include "engine/follow_ups.h"
#include "engine/launch/launch_internal.h"
#include "engine/loops.h"
#include "engine/note.h"
#include "engine/runs/runs_internal.h"
#include "engine/takeover.h"
#include "os/outside.h"

/* --- session files ---------------------------------------------------------------------------- */

#define SESSION     "{session}"
#define SESSION_8   "{session:8}"
#define NAMES_MAX   10000u /* of one folder */
#define FOLDERS_MAX 1000u  /* searched for one file */
#define FILES_MAX   17u    /* sessions of one run */

/* --- finding ---------------------------------------------------------------------------------- */

struct search {
    struct strbuf path; /* so far, without a trailing '/' */
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

static bool find_path(struct search *s, const char *rest);

static bool find_name(struct search *s, const char *name, const char *rest) {
    size_t length = s->path.length;
    strbuf_printf(&s->path, "/%s", name);
    if (*rest ? find_path(s, rest) : access(strbuf_text(&s->path), F_OK) == 0)
        return true;
    strbuf_cut(&s->path, length);
    return false;
}

/* Continues with the parts of `rest`; true: the path is that of an existing file. */
static bool find_path(struct search *s, const char *rest) {
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

/* Its last bytes, from the beginning of a line. */
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

/* `pattern` contains SESSION or SESSION_8. */
static void read_one(const char *pattern, const char *session, struct agent_reader *reader) {
    struct search search = { .path = STRBUF_INIT, .left = FOLDERS_MAX };
    _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT, bytes = STRBUF_INIT;
    const char *complete = strstr(pattern, SESSION);
    const char *at = complete ? complete : strstr(pattern, SESSION_8);
    strbuf_add(&file, pattern, (size_t)(at - pattern));
    strbuf_add(&file, session, complete ? strlen(session) : strnlen(session, 8));
    strbuf_puts(&file, at + strlen(complete ? SESSION : SESSION_8));
    if (find_path(&search, strbuf_text(&file) + 1))
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
    const struct agent_path *file = adapter->session_file;
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    _cleanup_(strbuf_finish) struct strbuf pattern = STRBUF_INIT;
    char home[PATH_MAX], cwd[PATH_MAX];
    if (!file || !agent_reader_wants_file(reader, 0) || run_read_spec(e, run, &read, NULL) < 0)
        return;
    const char *given = run_spec_variable(&read->spec, "HOME");
    if (!realpath(given && *given == '/' ? given : sandboxes_home(e), home) || !read->spec.cwd
        || !realpath(read->spec.cwd, cwd))
        return;
    struct agent_path_context place = { home, cwd, run_spec_lookup, &read->spec };
    agent_path_resolve(adapter, file, &place, &pattern);
    if (!strstr(strbuf_text(&pattern), SESSION) && !strstr(strbuf_text(&pattern), SESSION_8))
        return; /* a folder whose name is too long */
    read_all(strbuf_text(&pattern), reader);
}

/* --- memory of a task ------------------------------------------------------------------------- */

#define NOTE "session."

#define TALKS_MAX (FAILOVER_MAX + 1) /* its agent, and all that may take over */

/* With one agent. */
struct talk {
    char *agent, *session;  /* NULL: none */
    bool resumable;         /* it was interrupted, and continues */
    bool is_complete;       /* its agent ended its turn: it can get feedback on the result */
    bool is_short;          /* its last run ended before it had reported all its usage */
    struct agent_usage had; /* total of that session; -1: not reported */
};

struct memory {
    task_id task;
    /* most recent first: others may have taken over from one another */
    LIST(struct talk) talks;
    char *text;                  /* of the last failure */
    uint32_t same;               /* how often in a row */
    char *tree;                  /* its work tree after the last iteration */
    uint32_t still;              /* how many times in a row it was the same */
    uint32_t quick;              /* quick ends in a row */
    struct agent_denial *denial; /* what its last run was denied; or NULL */
};

struct sessions {
    struct id_table of_task; /* struct memory */
};

PART_STATE(sessions, struct sessions, sessions_of)

/* --- the table ------------------------------------------------------------------------------- */

static void free_talks_after(struct memory *m, size_t kept) {
    while (m->talks.count > kept) {
        struct talk *last = &m->talks.items[--m->talks.count];
        free(last->agent);
        free(last->session);
    }
}

static void clear_memory(void *record) {
    struct memory *m = record;
    task_id task = m->task;
    free_talks_after(m, 0);
    free(m->talks.items);
    free(m->text);
    free(m->tree);
    free(m->denial);
    memset(m, 0, sizeof(*m));
    m->task = task;
}

static void sessions_free(struct engine *e) {
    id_table_finish(&sessions_of(e)->of_task);
}

static void sessions_reset(struct engine *e) {
    sessions_free(e);
    id_table_init(&sessions_of(e)->of_task, sizeof(struct memory), clear_memory);
}

static struct memory *find_memory(const struct engine *e, task_id task) {
    return id_table_find(&sessions_of(e)->of_task, task);
}

static struct memory *find_or_make_memory(struct engine *e, task_id task) {
    return id_table_find_or_make(&sessions_of(e)->of_task, task);
}

/* --- notes ----------------------------------------------------------------------------------- */

static void put_number(struct json_writer *w, const char *key, int64_t number) {
    if (number >= 0)
        json_put_int(w, key, number);
}

static void write_talk(struct json_writer *w, const struct talk *t) {
    put_text(w, "agent", t->agent);
    put_text(w, "session", t->session);
    put_number(w, "resumable", t->resumable ? 1 : -1);
    put_number(w, "complete", t->is_complete ? 1 : -1);
    put_number(w, "short", t->is_short ? 1 : -1);
    put_number(w, "in", t->had.in);
    put_number(w, "out", t->had.out);
    put_number(w, "cached", t->had.cached);
    put_number(w, "cost", t->had.cost_micro_usd);
}

static void write_note(struct engine *e, const struct memory *m) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    for (size_t i = 0; i < m->talks.count; i++) {
        if (i == 1)
            json_put_array(w, "others");
        if (i > 0)
            json_write_object_begin(w);
        write_talk(w, &m->talks.items[i]);
        if (i > 0)
            json_write_object_end(w);
    }
    if (m->talks.count > 1)
        json_write_array_end(w);
    put_text(w, "text", m->text);
    put_number(w, "same", m->text ? (int64_t)m->same : -1);
    put_text(w, "tree", m->tree);
    put_number(w, "still", m->tree ? (int64_t)m->still : -1);
    put_number(w, "quick", m->quick > 0 ? (int64_t)m->quick : -1);
    if (m->denial) {
        json_put_object(w, "denied");
        put_number(w, "count", m->denial->count);
        put_text(w, "tool", m->denial->tool);
        put_text(w, "argument", m->denial->argument);
        put_text(w, "rule", m->denial->rule);
        json_write_object_end(w);
    }
    note_end_task(e, &data, NOTE, m->task);
    turn_wrote(e);
}

static int64_t number_of(const json_t *note, const char *key) {
    const json_t *number = json_object_get(note, key);
    return json_is_integer(number) ? json_integer_value(number) : -1;
}

static void load_talk(struct memory *m, const json_t *note) {
    struct talk *t = LIST_ADD(&m->talks);
    *t = (struct talk){ .agent = note_text(note, "agent"),
                        .session = note_text(note, "session"),
                        .resumable = number_of(note, "resumable") == 1,
                        .is_complete = number_of(note, "complete") == 1,
                        .is_short = number_of(note, "short") == 1,
                        .had = { .in = number_of(note, "in"),
                                 .out = number_of(note, "out"),
                                 .cached = number_of(note, "cached"),
                                 .cost_micro_usd = number_of(note, "cost") } };
}

static void copy_text(char *to, size_t size, const json_t *note, const char *key) {
    const char *text = json_string_value(json_object_get(note, key));
    snprintf(to, size, "%s", text ? text : "");
}

static struct agent_denial *load_denial(const json_t *note) {
    int64_t count = number_of(note, "count");
    if (count < 1 || count > UINT32_MAX)
        return NULL;
    struct agent_denial *denial = xcalloc(1, sizeof(*denial));
    denial->count = (uint32_t)count;
    copy_text(denial->tool, sizeof(denial->tool), note, "tool");
    copy_text(denial->argument, sizeof(denial->argument), note, "argument");
    copy_text(denial->rule, sizeof(denial->rule), note, "rule");
    return denial;
}

/* An unreadable note was not written by us: the next attempt starts a new session. */
static void sessions_load(struct engine *e, const struct note_row *row) {
    int64_t task = 0;
    const char *key = note_key(row, NOTE);
    if (!key || number_parse_int(key, &task, NULL) < 0 || task < 1)
        return;
    json_t *note = json_loads(row->text, 0, NULL);
    if (!json_is_object(note)) {
        json_decref(note);
        return;
    }
    struct memory *m = find_or_make_memory(e, (task_id)task);
    clear_memory(m);
    const json_t *others = json_object_get(note, "others");
    if (json_object_get(note, "agent") || json_object_get(note, "session"))
        load_talk(m, note);
    for (size_t i = 0; i < json_array_size(others); i++)
        load_talk(m, json_array_get(others, i));
    m->text = note_text(note, "text");
    m->same = m->text ? (uint32_t)number_of(note, "same") : 0;
    m->tree = note_text(note, "tree");
    m->still = m->tree ? (uint32_t)number_of(note, "still") : 0;
    int64_t quick = number_of(note, "quick");
    m->quick = quick > 0 ? (uint32_t)quick : 0;
    m->denial = load_denial(json_object_get(note, "denied"));
    json_decref(note);
}

/* --- before the launch ----------------------------------------------------------------------- */

static void set_text(char **field, const char *text) {
    char *copy = text ? xstrdup(text) : NULL;
    free(*field);
    *field = copy;
}

/* Unique across runs and homes. In the form of a random UUID, which some agents check. */
static void make_id(const struct engine *e, const struct live_run *run, char ret[40]) {
    const char *host = executor_host(e->executor);
    uint64_t seed = hash_mix(hash_bytes(e->data, strlen(e->data)), hash_bytes(host, strlen(host)));
    seed = hash_mix(seed, run->task);
    seed = hash_mix(seed, run->view.attempt);
    uint64_t high = hash_mix(seed, (uint64_t)run->view.ordered_at);
    uint64_t low = hash_mix(high, seed);
    high = (high & ~UINT64_C(0xf000)) | UINT64_C(0x4000);
    low = (low & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62;
    snprintf(ret, 40, "%08" PRIx32 "-%04" PRIx32 "-%04" PRIx32 "-%04" PRIx32 "-%012" PRIx64,
             (uint32_t)(high >> 32), (uint32_t)(high >> 16 & 0xffff), (uint32_t)(high & 0xffff),
             (uint32_t)(low >> 48), low & UINT64_C(0xffffffffffff));
}

/* Each agent has its own: it cannot resume the conversation of another. */
static struct talk *talk_with(const struct memory *m, const char *agent) {
    for (size_t i = 0; m && agent && i < m->talks.count; i++)
        if (m->talks.items[i].agent && strcmp(m->talks.items[i].agent, agent) == 0)
            return &m->talks.items[i];
    return NULL;
}

void session_prepare(struct engine *e, struct live_run *run, bool can_resume, bool takes_id) {
    const struct talk *t = talk_with(find_memory(e, run->task), run->agent);
    char id[40], task[ENGINE_ID_MAX];
    bool is_known = can_resume && t && t->session;
    run->gets_feedback =
        is_known && !t->resumable && t->is_complete
        && (follow_up_of_run(e, run)
            || iteration_has_feedback(e, engine_task_id(e, run->task, task), run->iteration));
    bool is_open = t && (t->resumable || takeover_is_run(e, run));
    run->resumes = (is_known && is_open) || run->gets_feedback;
    if (!run->resumes)
        make_id(e, run, id);
    set_text(&run->session, run->resumes ? t->session : takes_id ? id : NULL);
}

/* --- booking --------------------------------------------------------------------------------- */

void session_hand_over(const struct engine *e, const struct live_run *run,
                       struct agent_reader *reader) {
    const struct talk *t = talk_with(find_memory(e, run->task), run->agent);
    bool has_old = t && t->session;
    bool is_old = has_old && run->session && strcmp(t->session, run->session) == 0;
    if (has_old) {
        struct agent_prior_usage before = {
            .session = t->session, .used = t->had, .is_short = t->is_short, .resumes = is_old
        };
        agent_reader_set_prior_usage(reader, &before);
    }
    if (run->session && !is_old) {
        struct agent_prior_usage before = { .session = run->session }; /* a new one: all zero */
        agent_reader_set_prior_usage(reader, &before);
    }
}

static int64_t sum(int64_t before, int64_t more) {
    int64_t known = time_max(before, 0);
    return more < 0 ? before : more <= INT64_MAX - known ? known + more : INT64_MAX;
}

/* The total of the session so far: never less than before, nor than what was booked for it. */
static void add_up(struct agent_usage *had, const struct agent_usage *reported,
                   const struct agent_usage *booked) {
    had->in = time_max(reported->in, sum(had->in, booked->in));
    had->out = time_max(reported->out, sum(had->out, booked->out));
    had->cached = time_max(reported->cached, sum(had->cached, booked->cached));
    had->cost_micro_usd =
        time_max(reported->cost_micro_usd, sum(had->cost_micro_usd, booked->cost_micro_usd));
}

/* --- the end --------------------------------------------------------------------------------- */

/* The conversation with the agent of the run becomes the first. */
static struct talk *continue_talk(struct memory *m, const char *agent) {
    struct talk *old = talk_with(m, agent), talk = { .had = { -1, -1, -1, -1 } };
    if (old) {
        talk = *old;
        m->talks.count--;
        memmove(old, old + 1, (size_t)(m->talks.items + m->talks.count - old) * sizeof(*old));
    }
    set_text(&talk.agent, agent);
    (void)LIST_ADD(&m->talks);
    memmove(m->talks.items + 1, m->talks.items, (m->talks.count - 1) * sizeof(talk));
    m->talks.items[0] = talk;
    return &m->talks.items[0];
}

const struct agent_denial *session_denial(const struct engine *e, task_id task,
                                          const char **ret_agent) {
    const struct memory *m = find_memory(e, task);
    if (!m || !m->denial || m->talks.count == 0)
        return NULL;
    *ret_agent = m->talks.items[0].agent;
    return m->denial;
}

const char *session_predecessor(const struct engine *e, const struct live_run *run) {
    const struct memory *m = find_memory(e, run->task);
    const char *agent = m && m->talks.count > 0 ? m->talks.items[0].agent : NULL;
    return agent && run->agent && strcmp(agent, run->agent) != 0 ? agent : NULL;
}

void session_ended(struct engine *e, const struct live_run *run,
                   const struct agent_outcome *reported, const struct agent_usage *booked,
                   const struct session_end *end) {
    const char *session = reported->session[0] ? reported->session : run->session;
    if (!session && !find_memory(e, run->task) && reported->result != AGENT_DENIED)
        return;
    struct memory *m = find_or_make_memory(e, run->task);
    struct talk *t = continue_talk(m, run->agent);
    bool same = session && t->session && strcmp(t->session, session) == 0;
    if (!same) {
        set_text(&t->session, session);
        t->had = run->resumes ? (struct agent_usage){ -1, -1, -1, -1 } : (struct agent_usage){ 0 };
    }
    t->resumable = end->resumable && session && !reported->session_is_lost;
    t->is_complete = end->complete && session && !reported->session_is_lost;
    t->is_short = reported->is_short;
    add_up(&t->had, &reported->session_usage, booked);
    free(m->denial);
    m->denial = NULL;
    if (reported->result == AGENT_DENIED) {
        m->denial = xcalloc(1, sizeof(*m->denial));
        *m->denial = reported->denial;
    }
    free_talks_after(m, end->interrupted && run->agent ? TALKS_MAX : 1);
    write_note(e, m);
}

void session_taken(struct engine *e, const struct live_run *run) {
    if (!run->session || !run->view.started_at)
        return;
    struct memory *m = find_or_make_memory(e, run->task);
    struct talk *t = continue_talk(m, run->agent);
    if (!t->session || strcmp(t->session, run->session) != 0) {
        set_text(&t->session, run->session);
        t->had = (struct agent_usage){ -1, -1, -1, -1 };
    }
    t->resumable = true;
    t->is_complete = false;
    t->is_short = true; /* its output was not read */
    write_note(e, m);
}

void engine_continue_session(struct engine *e, task_id task, const struct engine_session *known) {
    struct memory *m = find_or_make_memory(e, task);
    struct talk *t = continue_talk(m, known->agent);
    if (!t->session || strcmp(t->session, known->session) != 0)
        t->had = known->used;
    set_text(&t->session, known->session);
    t->resumable = false;
    t->is_complete = true;
    free_talks_after(m, 1);
    write_note(e, m);
}

void engine_restart_session(struct engine *e, task_id task) {
    struct memory *m = find_memory(e, task);
    if (!m)
        return;
    for (size_t i = 0; i < m->talks.count; i++)
        m->talks.items[i].resumable = m->talks.items[i].is_complete = false;
    write_note(e, m);
}

const char *session_last_failure(const struct engine *e, task_id task, uint32_t *ret_count) {
    const struct memory *m = find_memory(e, task);
    if (!m || !m->text)
        return NULL;
    *ret_count = m->same;
    return m->text;
}

void session_count_failure(struct engine *e, task_id task, const char *text) {
    struct memory *m = find_or_make_memory(e, task);
    bool is_same = m->text && strcmp(m->text, text) == 0;
    m->same = is_same ? m->same + 1 : 1;
    if (!is_same)
        set_text(&m->text, text);
    write_note(e, m);
}

uint32_t session_same_trees(const struct engine *e, task_id task, const char *tree) {
    const struct memory *m = find_memory(e, task);
    return m && m->tree && strcmp(m->tree, tree) == 0 ? m->still + 1 : 0;
}

void session_count_tree(struct engine *e, task_id task, const char *tree) {
    struct memory *m = find_or_make_memory(e, task);
    m->still = session_same_trees(e, task, tree);
    if (m->still == 0)
        set_text(&m->tree, tree);
    write_note(e, m);
}

uint32_t session_quick(struct engine *e, task_id task) {
    struct memory *m = find_or_make_memory(e, task);
    if (m->quick < UINT32_MAX)
        m->quick++;
    write_note(e, m);
    return m->quick;
}

void session_not_quick(struct engine *e, task_id task) {
    struct memory *m = find_memory(e, task);
    if (!m || m->quick == 0)
        return;
    m->quick = 0;
    write_note(e, m);
}

uint32_t engine_quick_ends(const struct engine *e, task_id task) {
    const struct memory *m = find_memory(e, task);
    return m ? m->quick : 0;
}

void session_drop(struct engine *e, task_id task) {
    if (!id_table_drop(&sessions_of(e)->of_task, task))
        return;
    note_put_task(e, NOTE, task, NULL);
    turn_wrote(e);
}

static void sessions_applied(struct engine *e, const struct fact *fact) {
    if (fact->kind == FACT_DELETE || fact->kind == FACT_FORGET)
        session_drop(e, fact->task);
}

/* A stronger agent or model is not stuck yet. */
static void forget_repetitions(struct engine *e, task_id task) {
    struct memory *m = find_memory(e, task);
    if (!m || (!m->text && !m->tree))
        return;
    set_text(&m->text, NULL);
    set_text(&m->tree, NULL);
    m->same = m->still = 0;
    write_note(e, m);
}

/* A retry after a conflict repairs it in the same session. */
static void sessions_ordered(struct engine *e, const struct order *order, size_t count) {
    (void)count;
    if (order->kind == ORDER_ESCALATE)
        forget_repetitions(e, order->task);
    if (order->kind == ORDER_CHANGE && task_state_is_final(order->to)
        && order->reason != REASON_CONFLICT)
        session_drop(e, order->task);
}

const struct engine_part sessions_part = {
    .state_size = sizeof(struct sessions),
    .at = { [STEP_INIT] = sessions_reset,
            [STEP_UNLOAD] = sessions_reset,
            [STEP_FREE] = sessions_free },
    .applied = sessions_applied,
    .ordered = sessions_ordered,
    .load_note = sessions_load,
};
