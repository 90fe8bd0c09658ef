/* test_workspaces.c: worktrees, merges and a workspace pool, while the daemon is killed (SIGKILL) again and again.
 *
 * Tasks write in git worktrees and are merged into one branch (merge: direct), on which the test commits as
 * well; some of them change the same file and may end in a conflict. Others work in a pool of paths, and some
 * of those need a second attempt. Checked afterwards: the work of a done task is in the branch, once; the work of a
 * task with a
 * conflict is only on its own branch; every head that the branch ever had is still an ancestor; no two runs were in
 * one folder at once; a second attempt used the folder of the first; no agent ran again because of a merge.
 *
 * test_workspaces [TASKS [SEED]]: TASKS defaults to 60. The seed is printed. */
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "harness/patience.h"
#include "rig.h"

#define HASH_SIZE  48
#define SEEN_MAX   256
#define LIVES_MORE 10 /* kills in addition to one per three tasks */

/* One run, as recorded in the notes of the agents. */
struct stay {
    char task[40], folder[PATH_MAX];
    unsigned attempt;
    long long from_us, to_us; /* to_us 0: it has not written its end */
};

struct acked {
    char id[40];
    const char *how;
    bool in_pool;
};

struct test {
    struct rig rig;
    struct rng rng;
    char repo[128], notes[128];
    const char *agent;
    struct acked *acked;
    size_t count, capacity, due;
    struct stay *stays;
    size_t stay_count, stay_capacity;
    char seen[SEEN_MAX][HASH_SIZE]; /* heads of the branch, noted after each kill */
    unsigned seen_count, kills, conflicts, own_commits;
};

/* --- git ------------------------------------------------------------------------------------- */

/* Writes the first line of its output; returns the exit status. */
static int git(const struct test *t, char *ret_line, size_t size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int git(const struct test *t, char *ret_line, size_t size, const char *format, ...) {
    char words[600], command[900];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    snprintf(command, sizeof(command), "git -C '%s' %s 2>/dev/null", t->repo, words);
    FILE *pipe = popen(command, "re");
    if (!pipe)
        return -1;
    if (!fgets(ret_line, (int)size, pipe))
        *ret_line = '\0';
    ret_line[strcspn(ret_line, "\n")] = '\0';
    char rest[256];
    while (fgets(rest, sizeof(rest), pipe))
        ;
    return pclose(pipe);
}

static bool git_ok(const struct test *t, const char *words) {
    char line[8];
    return git(t, line, sizeof(line), "%s", words) == 0;
}

static void make_repository(struct test *t) {
    char command[600];
    snprintf(t->repo, sizeof(t->repo), "%s/repository", t->rig.home);
    snprintf(command, sizeof(command), "git init -q -b main '%s' && mkdir '%s/p0' '%s/p1' '%s/p2'",
             t->repo, t->rig.home, t->rig.home, t->rig.home);
    bool ok = system(command) == 0 && git_ok(t, "config user.name Test")
              && git_ok(t, "config user.email test@localhost")
              && git_ok(t, "commit -q --allow-empty -m begin");
    rig_expect(ok, "no repository in '%s'", t->repo);
}

static void note_branch(struct test *t) {
    char hash[HASH_SIZE];
    if (t->seen_count < SEEN_MAX && git(t, hash, sizeof(hash), "rev-parse refs/heads/main") == 0)
        memcpy(t->seen[t->seen_count++], hash, sizeof(hash));
}

/* Commits as a user would. Fails harmlessly while a merge of the daemon has the index locked. */
static void commit_something(struct test *t) {
    char words[64], line[8];
    snprintf(words, sizeof(words), "commit -q --allow-empty -m 'person %u'", t->own_commits + 1);
    if (git(t, line, sizeof(line), "%s", words) == 0)
        t->own_commits++;
}

/* --- tasks ----------------------------------------------------------------------------------- */

static void submit_one(struct test *t, struct client *client) {
    static const char *const trees[] = { "w", "w", "wc", "ws" };
    static const char *const pools[] = { "w", "w", "wf" };
    struct acked acked = { .in_pool = rng_below(&t->rng, 3) == 0 };
    acked.how = acked.in_pool ? pools[rng_below(&t->rng, 3)] : trees[rng_below(&t->rng, 4)];
    char ms[16];
    snprintf(ms, sizeof(ms), "%d", (int)rng_below(&t->rng, 150));
    json_t *task = json_pack("{s:[s,s,s,s], s:s}", "argv", t->agent, t->notes, ms, acked.how,
                             "project", acked.in_pool ? "pool" : "tree");
    struct error err = { 0 };
    int status = rig_submit(client, task, acked.id, &err);
    rig_expect(status == 200, "a submit was refused: %d %s", status, err.text);
    if (status != 200)
        return;
    t->acked = xgrow(t->acked, &t->capacity, t->count + 1, sizeof(acked));
    t->acked[t->count++] = acked;
}

static void one_life(struct test *t) {
    struct client *client = rig_client(&t->rig);
    unsigned submits = (unsigned)rng_below(&t->rng, 8);
    while (submits-- > 0 && t->count < t->due)
        submit_one(t, client);
    rig_pause((int)rng_below(&t->rng, 200));
    if (rng_below(&t->rng, 2) == 0)
        commit_something(t);
    rig_pause((int)rng_below(&t->rng, 300));
    rig_kill(&t->rig);
    t->kills++;
    note_branch(t);
    client_close(client);
}

/* --- notes of the agents --------------------------------------------------------------------- */

static struct stay *find_stay(struct test *t, const char *task, unsigned attempt) {
    for (size_t i = 0; i < t->stay_count; i++)
        if (t->stays[i].attempt == attempt && strcmp(t->stays[i].task, task) == 0)
            return &t->stays[i];
    return NULL;
}

static void read_line(struct test *t, const char *line) {
    struct stay stay = { 0 };
    char what[8];
    long long at;
    if (sscanf(line, "%7s %39s %u %lld %4095s", what, stay.task, &stay.attempt, &at, stay.folder)
        != 5) {
        rig_expect(false, "this line makes no sense: %s", line);
        return;
    }
    struct stay *known = find_stay(t, stay.task, stay.attempt);
    if (strcmp(what, "end") == 0) {
        rig_expect(known && known->to_us == 0, "%s attempt %u ends without a begin", stay.task,
                   stay.attempt);
        if (known)
            known->to_us = at;
        return;
    }
    rig_expect(!known, "%s attempt %u began twice", stay.task, stay.attempt);
    stay.from_us = at;
    t->stays = xgrow(t->stays, &t->stay_capacity, t->stay_count + 1, sizeof(stay));
    t->stays[t->stay_count++] = stay;
}

static void read_notes(struct test *t) {
    char line[PATH_MAX + 200];
    FILE *file = fopen(t->notes, "re");
    rig_expect(file != NULL, "no run has written to '%s'", t->notes);
    while (file && fgets(line, sizeof(line), file))
        read_line(t, line);
    if (file)
        (void)fclose(file);
}

static void check_alone(const struct test *t) {
    size_t together = 0;
    for (size_t i = 0; i < t->stay_count; i++)
        for (size_t j = 0; j < t->stay_count; j++) {
            const struct stay *a = &t->stays[i], *b = &t->stays[j];
            if (i == j || a->from_us > b->from_us)
                continue;
            bool overlap = a->to_us == 0 || a->to_us > b->from_us;
            together += overlap && strcmp(a->folder, b->folder) != 0;
            rig_expect(!overlap || strcmp(a->folder, b->folder) != 0,
                       "%s attempt %u and %s attempt %u were in '%s' at once", a->task, a->attempt,
                       b->task, b->attempt, a->folder);
        }
    rig_expect(together > 0, "never two runs at once: the test did not exercise what it should");
}

/* --- results in git -------------------------------------------------------------------------- */

/* Number of commits of the branch that have changed the file of the task. */
static int count_merges(const struct test *t, const char *id) {
    char line[32];
    if (git(t, line, sizeof(line), "rev-list --count refs/heads/main -- work-%s", id) != 0)
        return -1;
    return atoi(line);
}

static void check_tree(struct test *t, const struct acked *acked, const json_t *task) {
    const char *state = json_string_value(json_object_get(task, "state"));
    const char *reason = json_string_value(json_object_get(task, "reason"));
    const char *id = acked->id;
    char line[80], due[80];
    int merges = count_merges(t, id);
    if (state && strcmp(state, "done") == 0) {
        rig_expect(merges == 1, "%s is done, and %d commits of the branch have its work", id,
                   merges);
        (void)git(t, line, sizeof(line), "show refs/heads/main:work-%s", id);
        snprintf(due, sizeof(due), "%s ", id);
        rig_expect(strncmp(line, due, strlen(due)) == 0, "%s is done, and its work says '%s'", id,
                   line);
        return;
    }
    bool is_conflict = strcmp(acked->how, "ws") == 0 && state && strcmp(state, "failed") == 0
                       && reason && strcmp(reason, "merge-conflict") == 0;
    t->conflicts += is_conflict;
    rig_expect(is_conflict, "%s (%s) is %s: %s", id, acked->how, state ? state : "?",
               reason ? reason : "?");
    rig_expect(merges == 0, "%s has a conflict, and its work is in the branch", id);
    rig_expect(git(t, line, sizeof(line), "show refs/heads/sluice/%s:work-%s", id, id) == 0,
               "%s has a conflict, and its branch has not got its work", id);
}

static void check_pool(struct test *t, const struct acked *acked, const json_t *task) {
    const char *state = json_string_value(json_object_get(task, "state"));
    const struct stay *first = NULL;
    rig_expect(state && strcmp(state, "done") == 0, "%s is %s", acked->id, state ? state : "?");
    for (size_t i = 0; i < t->stay_count; i++) {
        if (strcmp(t->stays[i].task, acked->id) != 0)
            continue;
        if (!first)
            first = &t->stays[i];
        rig_expect(strcmp(first->folder, t->stays[i].folder) == 0,
                   "%s worked in '%s', and then in '%s'", acked->id, first->folder,
                   t->stays[i].folder);
    }
}

/* A successful attempt is the last one. */
static void check_attempts(struct test *t, const struct acked *acked) {
    unsigned ends = 0, due = strchr(acked->how, 'f') ? 2 : 1;
    for (size_t i = 0; i < t->stay_count; i++)
        ends += strcmp(t->stays[i].task, acked->id) == 0 && t->stays[i].to_us > 0;
    if (due == 2 && !find_stay(t, acked->id, 1))
        due = 1; /* the first attempt, which fails, was not launched */
    rig_expect(ends == due, "%s has worked %u times to the end, not %u", acked->id, ends, due);
}

static void check_task(struct test *t, struct client *client, const struct acked *acked) {
    json_t *task = NULL;
    struct error err = { 0 };
    int status = client_get(client, &task, &err, "/v1/tasks/%s", acked->id);
    rig_expect(status == 200, "%s was acknowledged and is missing: %d %s", acked->id, status,
               err.text);
    if (status == 200 && acked->in_pool)
        check_pool(t, acked, task);
    else if (status == 200)
        check_tree(t, acked, task);
    check_attempts(t, acked);
    json_decref(task);
}

static void check_branch(const struct test *t) {
    char line[80];
    for (unsigned i = 0; i < t->seen_count; i++)
        rig_expect(
            git(t, line, sizeof(line), "merge-base --is-ancestor %s refs/heads/main", t->seen[i])
                == 0,
            "the branch was %s once, and has lost it", t->seen[i]);
    rig_expect(git(t, line, sizeof(line), "rev-list --count --merges refs/heads/main") == 0
                   && strcmp(line, "0") == 0,
               "the branch is no line any more: %s merges", line);
    (void)git(t, line, sizeof(line), "rev-list --count --grep='^person ' refs/heads/main");
    rig_expect((unsigned)atoi(line) == t->own_commits,
               "%u commits of a person, of which %s are left", t->own_commits, line);
    (void)git(t, line, sizeof(line), "status --porcelain");
    rig_expect(*line == '\0', "the work tree of the branch is not clean: %s", line);
}

static bool worktrees_are_removed(const struct test *t) {
    char line[16];
    return git(t, line, sizeof(line), "worktree list --porcelain | grep -c ^worktree") == 0
           && (unsigned)atoi(line) == 1 + t->conflicts;
}

static void check(struct test *t) {
    read_notes(t);
    check_alone(t);
    struct client *client = rig_client(&t->rig);
    for (size_t i = 0; i < t->count; i++)
        check_task(t, client, &t->acked[i]);
    client_close(client);
    check_branch(t);
    bool are_removed = false;
    long long deadline = rig_now_us() + patience_s() * 1000000LL;
    while (!(are_removed = worktrees_are_removed(t)) && rig_now_us() < deadline)
        rig_pause(50); /* they are removed after their tasks are done */
    rig_expect(are_removed, "worktrees of what is merged are left");
    printf("  %zu tasks, %u kills, %zu runs, %u conflicts, %u commits of a person\n", t->count,
           t->kills, t->stay_count, t->conflicts, t->own_commits);
}

static void write_config(struct test *t) {
    char text[1200];
    snprintf(text, sizeof(text),
             "limits: {runs: 8}\n"
             "git: {retries: 100, retry_s: 0.05}\n"
             "retry:\n  failed: {max: 1, delay_s: 0.05}\n  lost: {max: 40, delay_s: 0.02}\n"
             "breaker: {reset_s: 0.1}\n"
             "host: {disk_free_gb: 0}\nstore: {min_free_mb: 1}\n"
             "projects:\n"
             "  tree: {path: %s, workspace_mode: worktree, base_branch: main, merge: direct}\n"
             "  pool: {workspace_paths: [%s/p0, %s/p1, %s/p2]}\n",
             t->repo, t->rig.home, t->rig.home, t->rig.home);
    rig_write_config(&t->rig, text);
}

int main(int argc, char **argv) {
    size_t tasks = argc > 1 ? strtoul(argv[1], NULL, 10) : 60;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)rig_now_us();
    struct test t = { .rng = { .state = seed }, .due = tasks, .agent = getenv("TREE_AGENT") };
    signal(SIGPIPE, SIG_IGN);
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
    if (system("git --version >/dev/null 2>&1") != 0)
        return 77; /* skipped */
    if (!t.agent || access(t.agent, X_OK) < 0) {
        fprintf(stderr, "torture: TREE_AGENT must name a program (run it by `make test`)\n");
        return 1;
    }
    printf("  %zu tasks, seed %llu\n", tasks, (unsigned long long)seed);
    rig_make_home(&t.rig);
    snprintf(t.notes, sizeof(t.notes), "%s/notes", t.rig.home);
    make_repository(&t);
    write_config(&t);
    for (size_t lives = tasks / 3 + LIVES_MORE; lives > 0 && rig_failures() == 0; lives--)
        one_life(&t);
    struct client *client = rig_client(&t.rig);
    while (t.count < t.due && rig_failures() == 0)
        submit_one(&t, client);
    client_close(client);
    bool over = rig_wait_drained(&t.rig);
    rig_expect(over, "not everything ended");
    if (over)
        check(&t);
    rig_expect(rig_stop(&t.rig) == 0, "the daemon did not stop cleanly");
    rig_close(&t.rig);
    free(t.acked);
    free(t.stays);
    if (rig_failures() > 0)
        printf("  repeat with: test_workspaces %zu %llu\n", tasks, (unsigned long long)seed);
    return rig_failures() > 0;
}
