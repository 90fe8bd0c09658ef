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
    return private_git_path(job->e->data, job->id, &job->arena);
}

static void import_failed(struct job *job) {
    (void)error_prefix(&job->err, "its commits cannot be taken over");
    job->after_import(job);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* A run can have filled it with files: then a helper process removes them. */
void worktree_import_discard(struct job *job, job_step then) {
    const char *folder = folder_of(job);
    const char *const argv[] = { "rm", "-rf", "--", folder, NULL };
    unsigned budget = REMOVED_AT_ONCE;
    if (access(folder, F_OK) < 0 || remove_tree_at(AT_FDCWD, folder, &budget) == 0) {
        job->result = (struct helper_end){ .output = "", .why = "" };
        then(job);
    } else
        job_call(job, &(struct job_call){ .argv = argv, .cwd = "/" }, then);
}

static void folder_deleted(struct job *job) {
    if (job_worked(job, "rm", import_failed))
        job->after_import(job);
}

static void head_set(struct job *job) {
    if (job_worked(job, "git update-ref", import_failed))
        worktree_import_discard(job, folder_deleted);
}

static void set_head(struct job *job) {
    if (job->tips.is_on_branch || !job->tips.head[0])
        worktree_import_discard(job, folder_deleted);
    else
        job_git_in_worktree(job, WORDS("update-ref", "--no-deref", "HEAD", job->tips.head),
                            head_set);
}

/* --- the branch ------------------------------------------------------------------------------- */

static void branch_moved(struct job *job) {
    if (job_worked(job, "git update-ref", import_failed))
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
static void branch_resolved(struct job *job) {
    char now[GIT_HASH_MAX];
    if (job->result.code == 0 && git_output_hash(job->result.output, 0, now)
        && strcmp(now, job->tips.branch) == 0)
        set_head(job);
    else
        move_branch(job);
}

static void resolve_branch(struct job *job) {
    job_git_read(job, WORDS("rev-parse", "--verify", "--quiet", job->branch_ref), branch_resolved);
}

/* --- the objects ------------------------------------------------------------------------------ */

static void objects_imported(struct job *job) {
    if (job_worked(job, "git", import_failed))
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

static void commits_packed(struct job *job) {
    static const char script[] = "file=$1; shift; exec \"$@\" <\"$file\"";
    const char *path = job_text(job, "%s/common/" PACK, folder_of(job));
    uint32_t count = 0;
    off_t size = 0;
    if (!job_worked(job, "git pack-objects", import_failed))
        return;
    int r = read_pack_header(path, &count, &size, &job->err);
    if (r < 0 || count == 0) {
        job_step next = r < 0 ? job->after_import : resolve_branch;
        next(job);
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
static void pack_commits(struct job *job) {
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
    job_call(job, &call, commits_packed);
}

void worktree_import(struct job *job, job_step then) {
    const char *folder = folder_of(job);
    struct private_git_tips *tips = &job->tips;
    job->after_import = then;
    job->err = (struct error){ 0 };
    if (!private_git_is_there(folder)
        || private_git_read(folder, job->record.git_dir, job->branch, tips, &job->err) < 0) {
        then(job);
        return;
    }
    bool is_same = !tips->branch[0] || strcmp(tips->branch, tips->begin) == 0;
    if (tips->has_objects)
        pack_commits(job);
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

int worktree_make_private_git(struct job *job) {
    const char *folder = folder_of(job);
    const struct run_spec *run;
    int r = job_run_spec(job, &run, &job->err);
    if (r == 0 && has_private_git(run))
        r = make_settings(job);
    if (r < 0 || !has_private_git(run) || private_git_is_there(folder))
        return r;
    return private_git_make(folder, job->record.common_dir, job->branch, &job->err);
}

static void commits_imported(struct job *job) {
    job->result = job->as_run_result;
    if (job->err.code < 0 && job->result.code == 0) {
        job->result.code = -1;
        job->result.error = -job->err.code;
        job->result.why = job_text(job, "%s", job->err.text);
    }
    job->after_as_run(job);
}

static void import_commits(struct job *job) {
    job->as_run_result = job->result;
    job->as_run_result.output = job_text(job, "%s", job->result.output);
    job->as_run_result.why = job->result.why ? job_text(job, "%s", job->result.why) : NULL;
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
    if (r < 0 || worktree_make_private_git(job) < 0) {
        job_not_started(job, &job->err, then);
        return;
    }
    job->after_as_run = then;
    job_call(job, &call, more ? then : import_commits);
}
