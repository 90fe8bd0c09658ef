/* worktree_import.c: git in the sandbox of a run, and the import of its commits.
 *
 * The run has committed to a private git folder (workspace/private_git.h). Its contents are
 * untrusted, so git reads it only inside the sandbox, and packs what is new: the commits of the
 * branch and of HEAD, and what was added to the index. Outside, git reads that pack as one from the
 * network: each object is checked, and so is connectivity. Then the branch is moved.
 *
 * A worktree on another branch gets a detached HEAD at its commit: the other branch was private.
 *
 * Every step can be repeated: the folder is deleted last. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine/git/git_internal.h"
#include "os/files.h"
#include "os/outside.h"
#include "rundir/remove.h"

#define PACK            "sluice.pack"
#define UNPACKED_COUNT  100u       /* objects: fewer are unpacked, as with git fetch */
#define UNPACKED_BYTES  (8u << 20) /* a larger pack stays packed */
#define PACK_HEAD_WORDS 3u
#define REMOVED_AT_ONCE 1000u /* files */

static const char *folder_of(struct job *job) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    private_git_path(job->e->data, job->id, &path);
    return job_text(job, "%s", strbuf_text(&path));
}

static void end_with(struct job *job, bool worked) {
    job->after_import(job, worked);
}

static bool worked(struct job *job, const struct helper_end *end, const char *what) {
    if (job_worked(job, end, what))
        return true;
    (void)error_prefix(&job->err, "its commits cannot be taken over");
    end_with(job, false);
    return false;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* A run can have filled it with files: then a helper process removes them. */
void worktree_import_discard(struct job *job, job_step then) {
    const char *folder = folder_of(job);
    const char *const argv[] = { "rm", "-rf", "--", folder, NULL };
    unsigned budget = REMOVED_AT_ONCE;
    if (access(folder, F_OK) < 0 || remove_tree_at(AT_FDCWD, folder, &budget) == 0)
        then(job, NULL);
    else
        job_call(job, &(struct job_call){ .argv = argv, .cwd = "/" }, then);
}

static void discarded(struct job *job, const struct helper_end *end) {
    if (!end || worked(job, end, "rm"))
        end_with(job, true);
}

static void head_set(struct job *job, const struct helper_end *end) {
    if (worked(job, end, "git update-ref"))
        worktree_import_discard(job, discarded);
}

static void set_head(struct job *job) {
    if (job->tips.is_on_branch || !job->tips.head[0])
        worktree_import_discard(job, discarded);
    else
        job_git_in_worktree(job, WORDS("update-ref", "--no-deref", "HEAD", job->tips.head),
                            head_set);
}

/* --- the branch ------------------------------------------------------------------------------- */

static void branch_moved(struct job *job, const struct helper_end *end) {
    if (worked(job, end, "git update-ref"))
        set_head(job);
}

/* A branch that its owner moved meanwhile is not overwritten. */
static void move_branch(struct job *job) {
    const struct private_git_tips *tips = &job->tips;
    if (!tips->branch[0] || strcmp(tips->branch, tips->begin) == 0)
        set_head(job);
    else
        job_git_for_others(job,
                           WORDS("update-ref", "-m", "sluice: what its run has committed",
                                 job->branch_ref, tips->branch, tips->begin),
                           branch_moved);
}

/* A killed daemon may have moved it. */
static void branch_resolved(struct job *job, const struct helper_end *end) {
    char now[GIT_HASH_MAX];
    if (end->code == 0 && git_output_hash(end->output, 0, now)
        && strcmp(now, job->tips.branch) == 0)
        set_head(job);
    else
        move_branch(job);
}

static void resolve_branch(struct job *job) {
    job_git_read(job, WORDS("rev-parse", "--verify", "--quiet", job->branch_ref), branch_resolved);
}

/* --- the objects ------------------------------------------------------------------------------ */

static void objects_imported(struct job *job, const struct helper_end *end) {
    if (worked(job, end, "git"))
        resolve_branch(job);
}

/* The number of objects in it; <0: not a pack. */
static int read_pack_header(const char *path, uint32_t *ret_count, off_t *ret_size,
                            struct error *err) {
    uint32_t head[PACK_HEAD_WORDS];
    _cleanup_(fd_closep) int fd = outside_open(AT_FDCWD, path, O_RDONLY, ret_size, err);
    if (fd < 0)
        return fd;
    if (pread(fd, head, sizeof(head), 0) != sizeof(head) || memcmp(head, "PACK", 4) != 0)
        return error_set(err, -EUCLEAN, "'%.150s' is not a pack", path);
    *ret_count = ntohl(head[2]);
    return 0;
}

static void packed(struct job *job, const struct helper_end *end) {
    static const char script[] = "file=$1; shift; exec \"$@\" <\"$file\"";
    const char *path = job_text(job, "%s/common/" PACK, folder_of(job));
    uint32_t count = 0;
    off_t size = 0;
    if (!worked(job, end, "git pack-objects"))
        return;
    if (read_pack_header(path, &count, &size, &job->err) < 0) {
        end_with(job, false);
        return;
    }
    if (count == 0) {
        resolve_branch(job);
        return;
    }
    bool is_small = count < UNPACKED_COUNT && size < UNPACKED_BYTES;
    const struct job_call call = { .argv = WORDS("sh", "-c", script, "sh", path),
                                   .git = is_small ? WORDS("unpack-objects", "-q", "--strict")
                                                   : WORDS("index-pack", "--stdin", "--fix-thin",
                                                           "--strict"),
                                   .cwd = job->record.repository,
                                   .git_dir = job->record.common_dir,
                                   .is_offline = true };
    job_call(job, &call, objects_imported);
}

/* As the run, in its sandbox, where the common folder is the private one. */
static void pack(struct job *job) {
    static const char script[] =
        "out=$1 names=$2; shift 2; rm -rf \"$out\"; printf '%s\\n' \"$names\" | \"$@\" >\"$out\"";
    const struct private_git_tips *tips = &job->tips;
    const char *path = job_text(job, "%s/" PACK, job->record.common_dir);
    const char *names =
        job_text(job, "%s\n%s\n%s%s", tips->branch[0] ? tips->branch : tips->begin,
                 tips->head[0] ? tips->head : tips->begin, tips->begin[0] ? "^" : "", tips->begin);
    const struct job_call call = { .argv = WORDS("sh", "-c", script, "sh", path, names),
                                   .git = WORDS("pack-objects", "--revs", "--indexed-objects",
                                                "--local", "--thin", "--delta-base-offset",
                                                "--quiet", "--stdout"),
                                   .git_dir = job->record.git_dir,
                                   .work_tree = job->path,
                                   .as_run = true,
                                   .in_sandbox = true,
                                   .needs_sandbox = true,
                                   .is_offline = true };
    job->doing = "takes over its commits";
    job_call(job, &call, packed);
}

void worktree_import(struct job *job, void (*then)(struct job *job, bool worked)) {
    const char *folder = folder_of(job);
    struct private_git_tips *tips = &job->tips;
    job->after_import = then;
    if (!private_git_is_there(folder)) {
        then(job, true);
        return;
    }
    if (private_git_read(folder, job->record.git_dir, job->branch, tips, &job->err) < 0) {
        then(job, false);
        return;
    }
    bool is_same = !tips->branch[0] || strcmp(tips->branch, tips->begin) == 0;
    if (tips->has_objects)
        pack(job);
    else if (!is_same)
        resolve_branch(job);
    else
        set_head(job);
}

/* --- git of the daemon in the sandbox --------------------------------------------------------- */

/* A configured sandbox (`wrap`) shows the real repository. */
static bool has_private_git(const struct run_spec *run) {
    return run && run->wrap && run->enter;
}

/* The sandbox of the run needs a file that its launch created (launch_sandbox.c). A worktree that
 * was recreated since lacks it. */
static int make_settings(struct job *job) {
    const char *path = job_text(job, "%s/config.worktree", job->record.git_dir);
    if (access(path, F_OK) == 0)
        return 0;
    _cleanup_(fd_closep) int fd = outside_create(AT_FDCWD, path, &job->err);
    return fd < 0 ? fd : 0;
}

int worktree_lend(struct job *job) {
    const char *folder = folder_of(job);
    const struct run_spec *run;
    int r = job_run_spec(job, &run, &job->err);
    if (r == 0 && has_private_git(run))
        r = make_settings(job);
    if (r < 0 || !has_private_git(run) || private_git_is_there(folder))
        return r;
    return private_git_make(folder, job->record.common_dir, job->branch, &job->err);
}

static void commits_imported(struct job *job, bool worked) {
    struct helper_end end = job->as_run_end;
    job_step then = job->after_as_run;
    if (!worked && end.code == 0) {
        end.code = -1;
        end.error = job->err.code < 0 ? -job->err.code : EIO;
        end.why = job_text(job, "%s", job->err.text);
    }
    then(job, &end);
}

static void import_after(struct job *job, const struct helper_end *end) {
    job->as_run_end = *end;
    job->as_run_end.output = job_text(job, "%s", end->output);
    job->as_run_end.why = end->why ? job_text(job, "%s", end->why) : NULL;
    job->err = (struct error){ 0 };
    worktree_import(job, commits_imported);
}

void worktree_as_run(struct job *job, const char *const *words, bool more, job_step then) {
    const struct run_spec *run = NULL;
    const struct job_call call = { .git = words,
                                   .git_dir = job->record.git_dir,
                                   .work_tree = job->path,
                                   .as_run = true,
                                   .in_sandbox = true };
    int r = job_run_spec(job, &run, &job->err);
    if (r == 0 && !has_private_git(run)) {
        job_call(job, &call, then);
        return;
    }
    if (r < 0 || worktree_lend(job) < 0) {
        struct helper_end end = { .code = -1,
                                  .error = -job->err.code,
                                  .output = "",
                                  .why = job_text(job, "%s", job->err.text) };
        then(job, &end);
        return;
    }
    job->after_as_run = then;
    job_call(job, &call, more ? then : import_after);
}
