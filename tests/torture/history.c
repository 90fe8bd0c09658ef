/* history.c: see history.h. A run writes its diary lines after it has begun and before it ends,
 * so intervals that overlap in the diary really overlapped. */
#include "history.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

#define ATTEMPTS_MAX 50 /* more than any task has */
#define RUNS_SHOWN   10 /* runs in the answer of GET /v1/tasks/ID */

static const char *text_of(const json_t *object, const char *member) {
    const char *text = json_string_value(json_object_get(object, member));
    return text ? text : "";
}

/* --- spawned --------------------------------------------------------------------------------- */

void history_find_spawned(struct client *client, struct dag *dag) {
    unsigned planned = dag->count;
    for (unsigned i = 0; i < planned; i++) {
        unsigned spawns = dag->tasks[i].spawns, found = 0;
        json_t *answer = NULL;
        struct error err = { 0 };
        if (spawns == 0)
            continue;
        int status = client_get(client, &answer, &err, "/v1/tasks?parent=%s&state=all&limit=1000",
                                dag->tasks[i].id);
        rig_expect(status == 200, "no list: %d %s", status, err.text);
        const json_t *items = json_object_get(answer, "items");
        for (size_t j = 0; j < json_array_size(items); j++) {
            const char *id = text_of(json_array_get(items, j), "id");
            bool known = false;
            for (unsigned k = 0; k < planned && !known; k++)
                known = strcmp(dag->tasks[k].id, id) == 0;
            if (!known)
                dag_add_spawned(dag, i, id);
            found += !known;
        }
        rig_expect(found == (dag->tasks[i].due == DUE_DONE ? spawns : 0),
                   "%s has spawned %u children, and %u are there", dag->tasks[i].id, spawns, found);
        json_decref(answer);
    }
}

/* --- tasks ----------------------------------------------------------------------------------- */

/* Compares one record with the diary. A run is lost only if the daemon died between its
 * decision and the start of the shim: then the diary has no line of it. */
static void check_run(const struct diary *diary, const struct dag_task *task, const json_t *run) {
    unsigned attempt = (unsigned)json_integer_value(json_object_get(run, "attempt"));
    const char *outcome = text_of(run, "outcome");
    const struct diary_run *written = diary_find(diary, task->id, attempt);
    if (task->unlaunchable || strcmp(outcome, "lost") == 0) {
        rig_expect(!written, "%s attempt %u is %s on record, and it ran", task->id, attempt,
                   outcome);
        return;
    }
    if (task->due == DUE_EITHER) /* it may have been stopped at any time */
        return;
    rig_expect(written && written->end_us, "%s attempt %u is on record (%s) and never ended",
               task->id, attempt, outcome);
    int code = (int)json_integer_value(json_object_get(run, "exit_code"));
    bool by_check = strcmp(outcome, "invalid") == 0; /* the exit code is that of the check */
    rig_expect(!written || by_check || written->code == code,
               "%s attempt %u returned %d, the record says %d (%s)", task->id, attempt,
               written ? written->code : 0, code, outcome);
}

static unsigned count_runs(const struct diary *diary, const char *id) {
    unsigned count = 0;
    for (unsigned attempt = 1; attempt < ATTEMPTS_MAX; attempt++)
        count += diary_find(diary, id, attempt) != NULL;
    return count;
}

/* The expected number of runs; a lost run may replace one of them. */
static void check_runs(const struct diary *diary, const struct dag_task *task, const json_t *runs) {
    unsigned lost = 0, count = count_runs(diary, task->id);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        lost += strcmp(text_of(run, "outcome"), "lost") == 0;
        check_run(diary, task, run);
    }
    bool all = json_array_size(runs) < RUNS_SHOWN;
    rig_expect(!all || task->unlaunchable || task->due == DUE_EITHER
                   || json_array_size(runs) == count + lost,
               "%s has %zu runs on record, %u of them lost, and %u in the diary", task->id,
               json_array_size(runs), lost, count);
    rig_expect(lost || (task->due == DUE_EITHER ? count <= 1 : count == task->runs_due),
               "%s ran %u times and should have run %u times", task->id, count, task->runs_due);
}

static bool ended_as_due(const struct dag_task *task, const char *state) {
    static const char *const states[] = { "done", "failed", "waiting" };
    if (task->due == DUE_EITHER)
        return strcmp(state, "done") == 0 || strcmp(state, "invalidated") == 0;
    return strcmp(state, states[task->due]) == 0;
}

static void check_task(struct client *client, const struct diary *diary, const struct dag *dag,
                       unsigned index) {
    static const char *const due[] = { "done", "failed", "waiting", "done or invalidated" };
    const struct dag_task *task = &dag->tasks[index];
    json_t *answer = NULL;
    struct error err = { 0 };
    int status = client_get(client, &answer, &err, "/v1/tasks/%s", task->id);
    rig_expect(status == 200, "%s (n%u) was acknowledged and is missing: %d %s", task->id, index,
               status, err.text);
    if (status == 200) {
        const char *state = text_of(answer, "state");
        rig_expect(ended_as_due(task, state), "%s (n%u) is %s (%s) and should be %s", task->id,
                   index, state, text_of(answer, "reason"), due[task->due]);
        check_runs(diary, task, json_object_get(answer, "runs"));
    }
    json_decref(answer);
}

void history_check_tasks(struct client *client, const struct dag *dag, const struct diary *diary) {
    for (unsigned i = 0; i < dag->count; i++)
        check_task(client, diary, dag, i);
    rig_expect(diary->twice == 0, "%zu attempts started twice", diary->twice);
    rig_expect(diary->strange == 0, "%zu lines of the diary make no sense", diary->strange);
}

/* --- limits ---------------------------------------------------------------------------------- */

struct step {
    long long at;
    int by;
};

struct steps {
    struct step *items;
    size_t count, capacity;
};

/* At the same microsecond an end comes before a start: its slot was free. */
static int by_time(const void *a, const void *b) {
    const struct step *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->by - y->by;
}

static void add_span(struct steps *steps, long long start, long long end) {
    steps->items = xgrow(steps->items, &steps->capacity, steps->count + 2, sizeof(*steps->items));
    steps->items[steps->count++] = (struct step){ start, 1 };
    steps->items[steps->count++] = (struct step){ end > start ? end : start + 1, -1 };
}

static unsigned peak_of(struct steps *steps) {
    unsigned peak = 0;
    long now = 0;
    if (steps->count > 0)
        qsort(steps->items, steps->count, sizeof(*steps->items), by_time);
    for (size_t i = 0; i < steps->count; i++) {
        now += steps->items[i].by;
        if (now > (long)peak)
            peak = (unsigned)now;
    }
    free(steps->items);
    *steps = (struct steps){ 0 };
    return peak;
}

/* Selects the runs that hold a lease on a key. */
struct key {
    int project, kind, phase; /* -1: all */
    bool serial, resource;
};

static bool needs(const struct dag_task *task, const struct key *key) {
    return (key->project < 0 || task->project == (unsigned)key->project)
           && (key->kind < 0 || task->kind == (unsigned)key->kind)
           && (key->phase < 0 || task->phase == (unsigned)key->phase)
           && (!key->serial || !task->parallel) && (!key->resource || task->resource);
}

static unsigned peak_at(const struct dag *dag, const struct diary *diary, const struct key *key) {
    struct steps steps = { 0 };
    for (unsigned i = 0; i < dag->count; i++) {
        const struct dag_task *task = &dag->tasks[i];
        if (!needs(task, key))
            continue;
        for (unsigned attempt = 1; attempt < ATTEMPTS_MAX; attempt++) {
            const struct diary_run *run = diary_find(diary, task->id, attempt);
            if (run)
                add_span(&steps, run->start_us, run->end_us);
        }
    }
    return peak_of(&steps);
}

static void check_serial(const struct dag *dag, const struct diary *diary) {
    for (int project = 0; project < DAG_PROJECTS; project++)
        for (int kind = 0; kind <= DAG_KINDS; kind++)
            for (int phase = 0; phase <= DAG_PHASES; phase++) {
                struct key key = { project, kind, phase, true, false };
                unsigned peak = peak_at(dag, diary, &key);
                rig_expect(peak <= 1, "%u runs at once in p%d, phase %d, kind %d: one is allowed",
                           peak, project, phase, kind);
            }
}

/* From the start of its first run to the end of its last. */
static unsigned roots_peak(const struct dag *dag, const struct diary *diary) {
    struct steps steps = { 0 };
    for (unsigned i = 0; i < dag->count; i++) {
        long long start = 0, end = 0;
        for (unsigned attempt = 1; attempt < ATTEMPTS_MAX && dag->tasks[i].parent < 0; attempt++) {
            const struct diary_run *run = diary_find(diary, dag->tasks[i].id, attempt);
            if (run && (!start || run->start_us < start))
                start = run->start_us;
            if (run && run->end_us > end)
                end = run->end_us;
        }
        if (start)
            add_span(&steps, start, end);
    }
    return peak_of(&steps);
}

static void check_cap(unsigned peak, unsigned cap, const char *what, int index) {
    rig_expect(cap == 0 || peak <= cap, "%u at once of %s %d, the cap is %u", peak, what, index,
               cap);
}

struct history_peaks history_check_limits(const struct dag *dag, const struct diary *diary) {
    const struct dag_rules *rules = dag->rules;
    struct key all = { -1, -1, -1, false, false }, db = { -1, -1, -1, false, true };
    struct history_peaks peaks = { peak_at(dag, diary, &all), peak_at(dag, diary, &db) };
    check_cap(peaks.runs, rules->runs, "runs", 0);
    check_cap(peaks.resource, DAG_RESOURCE_CAP, "the resource", 0);
    check_cap(roots_peak(dag, diary), rules->roots, "roots", 0);
    for (int i = 0; i < DAG_KINDS; i++) {
        struct key key = { -1, i, -1, false, false };
        check_cap(peak_at(dag, diary, &key), rules->kind_caps[i], "kind", i);
    }
    for (int i = 0; i < DAG_PROJECTS; i++) {
        struct key key = { i, -1, -1, false, false };
        check_cap(peak_at(dag, diary, &key), rules->project_cap[i], "project", i);
    }
    check_serial(dag, diary);
    return peaks;
}

/* --- order ----------------------------------------------------------------------------------- */

static long long first_start(const struct diary *diary, const char *id) {
    long long first = 0;
    for (unsigned attempt = 1; attempt < ATTEMPTS_MAX; attempt++) {
        const struct diary_run *run = diary_find(diary, id, attempt);
        if (run && (!first || run->start_us < first))
            first = run->start_us;
    }
    return first;
}

static long long last_end(const struct diary *diary, const char *id) {
    long long last = 0;
    for (unsigned attempt = 1; attempt < ATTEMPTS_MAX; attempt++) {
        const struct diary_run *run = diary_find(diary, id, attempt);
        if (run && run->end_us > last)
            last = run->end_us;
    }
    return last;
}

void history_check_order(const struct dag *dag, const struct diary *diary) {
    for (unsigned i = 0; i < dag->count; i++) {
        const struct dag_task *task = &dag->tasks[i];
        long long start = first_start(diary, task->id);
        for (unsigned d = 0; start && d <= task->depends_count; d++) {
            bool waits = dag->rules->children_wait || task->spawned;
            int on = d < task->depends_count ? task->depends[d] : waits ? task->parent : -1;
            if (on < 0)
                continue;
            long long end = last_end(diary, dag->tasks[on].id);
            rig_expect(dag->tasks[on].due == DUE_DONE && end && end <= start,
                       "%s began %lld us before %s, which it waits for, had ended well", task->id,
                       end - start, dag->tasks[on].id);
        }
    }
}

/* --- events ---------------------------------------------------------------------------------- */

/* State of one task according to the events read so far. */
struct seen {
    char state[16];
    unsigned attempt; /* attempt of its last start */
    bool done;
};

struct reading {
    const struct dag *dag;
    struct seen *seen; /* one for each task of the graph */
    unsigned *numbers; /* number of a task id → index + 1 */
    unsigned numbers_count;
    long long seq;
    unsigned count;
};

static unsigned number_of(const char *id) {
    const char *hyphen = strrchr(id, '-');
    return hyphen ? (unsigned)strtoul(hyphen + 1, NULL, 10) : 0;
}

static void check_prerequisites(const struct reading *r, unsigned index) {
    const struct dag_task *task = &r->dag->tasks[index];
    for (unsigned d = 0; d < task->depends_count; d++)
        rig_expect(r->seen[task->depends[d]].done, "event %lld: %s starts before %s is done",
                   r->seq, task->id, r->dag->tasks[task->depends[d]].id);
    if (task->parent >= 0 && (r->dag->rules->children_wait || task->spawned))
        rig_expect(r->seen[task->parent].done, "event %lld: %s starts before its parent %s is done",
                   r->seq, task->id, r->dag->tasks[task->parent].id);
}

static void read_state(struct reading *r, unsigned index, const json_t *event) {
    struct seen *seen = &r->seen[index];
    const json_t *data = json_object_get(event, "data");
    const char *from = text_of(data, "from"), *to = text_of(data, "to");
    rig_expect(!*seen->state || strcmp(seen->state, from) == 0,
               "event %lld: %s goes from %s to %s, but was %s", r->seq, r->dag->tasks[index].id,
               from, to, seen->state);
    snprintf(seen->state, sizeof(seen->state), "%s", to);
    seen->done = strcmp(to, "done") == 0;
    if (strcmp(to, "starting") == 0)
        check_prerequisites(r, index);
}

static void read_event(struct reading *r, const json_t *event) {
    long long seq = json_integer_value(json_object_get(event, "seq"));
    const char *kind = text_of(event, "kind"), *id = text_of(event, "task");
    rig_expect(seq == r->seq + 1, "event %lld follows event %lld", seq, r->seq);
    r->seq = seq;
    r->count++;
    unsigned number = number_of(id);
    if (!*id || number >= r->numbers_count || !r->numbers[number])
        return;
    unsigned index = r->numbers[number] - 1;
    unsigned attempt = (unsigned)json_integer_value(json_object_get(event, "attempt"));
    if (strcmp(kind, "task.state") == 0) {
        read_state(r, index, event);
    } else if (strcmp(kind, "run.started") == 0) {
        rig_expect(attempt > r->seen[index].attempt,
                   "event %lld: attempt %u of %s starts after attempt %u", seq, attempt, id,
                   r->seen[index].attempt);
        r->seen[index].attempt = attempt;
    }
}

static void index_ids(struct reading *r) {
    for (unsigned i = 0; i < r->dag->count; i++)
        if (number_of(r->dag->tasks[i].id) >= r->numbers_count)
            r->numbers_count = number_of(r->dag->tasks[i].id) + 1;
    r->numbers = xcalloc(r->numbers_count, sizeof(*r->numbers));
    for (unsigned i = 0; i < r->dag->count; i++)
        r->numbers[number_of(r->dag->tasks[i].id)] = i + 1;
}

unsigned history_check_events(struct client *client, const struct dag *dag) {
    struct reading r = { .dag = dag, .seen = xcalloc(dag->count, sizeof(*r.seen)) };
    index_ids(&r);
    for (bool more = true; more;) {
        json_t *answer = NULL;
        struct error err = { 0 };
        int status = client_get(client, &answer, &err, "/v1/events?limit=1000&after=%lld", r.seq);
        rig_expect(status == 200, "no events: %d %s", status, err.text);
        const json_t *items = json_object_get(answer, "items");
        for (size_t i = 0; i < json_array_size(items); i++)
            read_event(&r, json_array_get(items, i));
        more = json_array_size(items) > 0;
        json_decref(answer);
    }
    free(r.seen);
    free(r.numbers);
    return r.count;
}

/* --- processes ------------------------------------------------------------------------------- */

static bool file_names(const char *pid, const char *file, const char *text) {
    char path[300], bytes[65536];
    snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));
    if (fd >= 0)
        close(fd);
    return size > 0 && memmem(bytes, (size_t)size, text, strlen(text));
}

/* The working directory identifies a process too: a shim runs in the folder of its run. */
static bool works_in(const char *pid, const char *folder) {
    char path[300], where[4096];
    snprintf(path, sizeof(path), "/proc/%s/cwd", pid);
    ssize_t size = readlink(path, where, sizeof(where));
    return size >= (ssize_t)strlen(folder) && memcmp(where, folder, strlen(folder)) == 0;
}

unsigned history_count_processes(const struct rig *rig) {
    DIR *proc = opendir("/proc");
    unsigned count = 0;
    const struct dirent *entry;
    while (proc && (entry = readdir(proc)))
        if (isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != (int)getpid()
            && (file_names(entry->d_name, "cmdline", rig->home)
                || file_names(entry->d_name, "environ", rig->home)
                || works_in(entry->d_name, rig->home)))
            count++;
    if (proc)
        closedir(proc);
    return count;
}
