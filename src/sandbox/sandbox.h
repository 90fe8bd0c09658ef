/* sandbox.h: from what a run may see and change to the words of a program that makes it so.
 *
 * Pure: no file is looked at. The caller resolves paths (no symbolic links, no "..") and says which exist; see
 * engine/launch_sandbox.c.
 *
 * A plan is a list of rules, each for a path and everything below it. Where rules are nested, the inner one holds;
 * of two for the same path the one that was added last. So the caller adds what must hold in any case at the end.
 * Outside all rules the file system is as it is, but read-only.
 *
 * Life:  sandbox_plan_init → sandbox_add … → sandbox_build → sandbox_plan_finish */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"

enum sandbox_kind {
    SANDBOX_NONE,
    SANDBOX_BUBBLEWRAP,
    SANDBOX_PODMAN,
    SANDBOX_WRAP, /* a program that the configuration names */
    SANDBOX_KIND_MAX,
};
const char *sandbox_kind_name(enum sandbox_kind kind); /* "none" "bubblewrap" "podman" "wrap" */
/* SANDBOX_KIND_MAX: it is none of these. */
enum sandbox_kind sandbox_kind_find(const char *name);

enum sandbox_access {
    SANDBOX_EMPTY,  /* an empty folder, which is gone with the run */
    SANDBOX_CLOSED, /* one that cannot be written, but for what rules show in it */
    SANDBOX_BLANK,  /* an empty file that cannot be written */
    SANDBOX_LINK,   /* a symbolic link to the source, where nothing is shown */
    SANDBOX_READ,
    SANDBOX_WRITE,
};

struct sandbox_rule {
    const char *path;
    const char *source; /* what is shown there; the same as path, or another */
    enum sandbox_access access;
    bool is_optional; /* what is not there any more is left out */
    size_t order;
};

struct sandbox_plan {
    enum sandbox_kind kind;
    const char *program; /* absolute path of the sandbox program */
    const char *cwd;
    bool network;
    bool is_root;            /* the daemon is; some files of the kernel are the owner's then */
    const char *image;       /* podman */
    const char *shim;        /* podman: path of the shim, which its image does not have */
    const char *const *wrap; /* SANDBOX_WRAP: ends with NULL */
    const char *workspace, *home, *run; /* {workspace} {home} {run} in it */

    struct sandbox_rule *rules;
    size_t rule_count, rule_capacity;
    struct arena arena; /* texts of the rules */
};

void sandbox_plan_init(struct sandbox_plan *plan, enum sandbox_kind kind);
void sandbox_plan_finish(struct sandbox_plan *plan);
/* `source`: NULL for the path itself. Both are copied. */
void sandbox_add(struct sandbox_plan *plan, enum sandbox_access access, const char *path,
                 const char *source);
/* The same for what may be gone when the words are used again after the run, for a check or for git. */
void sandbox_add_optional(struct sandbox_plan *plan, enum sandbox_access access, const char *path,
                          const char *source);
/* What the rules give this path: SANDBOX_READ where there is none. */
enum sandbox_access sandbox_access_of(const struct sandbox_plan *plan, const char *path);
bool sandbox_is_hidden(const struct sandbox_plan *plan, const char *path);
/* Is `path` this folder, or below it? */
bool sandbox_is_inside(const char *folder, const char *path);

/* Words, each ended by NUL, into `out`; their number into `ret_count`. `ret_enter`: the path of the shim inside, or NULL
 * when the command itself follows the words (rundir.h). */
int sandbox_build(struct sandbox_plan *plan, struct strbuf *out, size_t *ret_count,
                  const char **ret_enter, struct error *err);

/* A variable that makes programs run other code than their own. A task must not set one for a sandbox program that
 * gets the environment of the command. */
bool sandbox_is_unsafe_variable(const char *pair);

/* --- what is usual ---------------------------------------------------------------- */

/* Lists end with NULL; those of the home are relative to it. */
const char *const *sandbox_private_folders(void); /* /tmp and the like: each run has its own */
const char *const *sandbox_shown_in_run(void);    /* of /run: name resolution, system profiles */
const char *const *sandbox_tools_at_home(void);   /* programs that are installed there */
const char *const *sandbox_caches_at_home(void);  /* each project has its own */
