/* sandbox.h: turns the access rights of a run into the command line of a sandbox program.
 *
 * Pure: reads no files. The caller resolves paths (no symlinks, no "..") and which of them exist;
 * see engine/launch/launch_sandbox.c.
 *
 * A plan is a list of rules, each for a path and everything below it. The innermost rule applies;
 * of two for the same path, the last one. So the caller adds mandatory rules at the end. Outside
 * all rules the file system is visible, but read-only.
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
    SANDBOX_WRAP, /* a program from the configuration */
    SANDBOX_KIND_MAX,
};
const char *sandbox_kind_name(enum sandbox_kind kind); /* "none" "bubblewrap" "podman" "wrap" */
/* SANDBOX_KIND_MAX: unknown name. */
enum sandbox_kind sandbox_kind_find(const char *name);

enum sandbox_access {
    SANDBOX_EMPTY,  /* an empty directory, deleted with the run */
    SANDBOX_CLOSED, /* same, but read-only except for nested rules */
    SANDBOX_BLANK,  /* an empty read-only file */
    SANDBOX_LINK,   /* a symlink to the source, if nothing is shown there */
    SANDBOX_READ,
    SANDBOX_WRITE,
};

struct sandbox_rule {
    const char *path;
    const char *source; /* what is shown there; may equal path */
    enum sandbox_access access;
    bool is_optional; /* skipped if it no longer exists */
    size_t order;
};

struct sandbox_plan {
    enum sandbox_kind kind;
    const char *program; /* absolute path of the sandbox program */
    const char *cwd;
    bool network;
    bool is_root;      /* the daemon runs as root; some kernel files then belong to the owner */
    const char *image; /* podman */
    const char *shim;  /* podman: path of the shim, which is not in the image */
    const char *const *wrap;            /* SANDBOX_WRAP: NULL-terminated */
    const char *workspace, *home, *run; /* values of {workspace} {home} {run} */

    struct sandbox_rule *rules;
    size_t rule_count, rule_capacity;
    struct arena arena; /* strings of the rules */
};

void sandbox_plan_init(struct sandbox_plan *plan, enum sandbox_kind kind);
void sandbox_plan_finish(struct sandbox_plan *plan);
/* `source`: NULL for the path itself. Both are copied. */
void sandbox_add(struct sandbox_plan *plan, enum sandbox_access access, const char *path,
                 const char *source);
/* Same for a path that may be deleted when the arguments are reused after the run, for a check or
 * git. */
void sandbox_add_optional(struct sandbox_plan *plan, enum sandbox_access access, const char *path,
                          const char *source);
/* The access to this path under the rules; SANDBOX_READ without one. */
enum sandbox_access sandbox_access_of(const struct sandbox_plan *plan, const char *path);
bool sandbox_is_hidden(const struct sandbox_plan *plan, const char *path);
/* Is `path` this directory, or below it? */
bool sandbox_is_inside(const char *folder, const char *path);

/* Appends NUL-terminated arguments to `out`; their number goes to `ret_count`. `ret_enter`: the
 * path of the shim inside, or NULL if the command itself follows the arguments (rundir.h). */
int sandbox_build(struct sandbox_plan *plan, struct strbuf *out, size_t *ret_count,
                  const char **ret_enter, struct error *err);

/* A variable that makes programs run other code. A task must not set one for a sandbox program
 * that gets the environment of the command. */
bool sandbox_is_unsafe_variable(const char *pair);

/* --- defaults --------------------------------------------------------------------------------- */

/* NULL-terminated; lists for the home are relative to it. */
extern const char *const sandbox_private_folders[]; /* /tmp etc.: private to each run */
extern const char *const sandbox_shown_in_run[];    /* in /run: name resolution, system profiles */
extern const char *const sandbox_tools_at_home[];   /* installed programs */
extern const char *const sandbox_caches_at_home[];  /* private to each project */
