/* git.h: command lines for git, and parsing of its output. Nothing here runs git.
 *
 * A line is the arguments of one command. Its strings are borrowed until the command has been
 * started. Every line overrides the user's settings: no hooks, no signing, no garbage collection in
 * the background. It also disables settings by which a repository names programs, if their names
 * are fixed; the others (filters, merge drivers) are why every line is run with a guard. Output is
 * parsed as with LC_ALL=C.
 *
 * A name that may begin with a dash or a colon is never passed verbatim: branches are checked by
 * git_branch_is_valid, commits are written refs/heads/BRANCH. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define GIT_WORDS_MAX 64
#define GIT_HASH_MAX  72 /* SHA-256 in hex, and a NUL */

struct git_line {
    const char *argv[GIT_WORDS_MAX + 1]; /* NULL-terminated */
    size_t count;
};

/* "git" with these settings, then `words`; NULL-terminated. */
void git_line_make(struct git_line *line, const char *const *words);
#define GIT_LINE(line, ...) git_line_make(line, (const char *const[]){ __VA_ARGS__, NULL })

/* --- names ------------------------------------------------------------------------------------ */

/* Is it a valid branch name, as for git check-ref-format --branch, and not an option? */
bool git_branch_is_valid(const char *name);
char *git_branch_of_task(const char *task); /* "sluice/web-17"; the caller frees it */

/* --- output ----------------------------------------------------------------------------------- */

/* The message for the user: the first line marked fatal or error, else the last output. On one
 * line; "" without output. */
void git_error_message(const char *output, struct strbuf *out);

/* Line `number` (from 0) without its newline; false: there are fewer. */
bool git_output_line(const char *output, size_t number, struct strbuf *out);
/* A full object name, and nothing else. */
bool git_hash(const char *output, char ret[GIT_HASH_MAX]);
/* Same for line `number`; a leading `^` is skipped. */
bool git_output_hash(const char *output, size_t number, char ret[GIT_HASH_MAX]);

/* In `worktree list --porcelain`: where refs/heads/BRANCH is checked out. */
bool git_find_checkout(const char *output, const char *branch, struct strbuf *ret_path);

/* In `status --porcelain`: are missing files the only difference? */
bool git_status_only_lacks_files(const char *output);

/* Formats names, one per line, as "a, b and 3 more"; returns their number. */
size_t git_names(const char *output, size_t most, struct strbuf *out);

/* The files that block a refused merge; returns their number. */
size_t git_blockers(const char *output, size_t most, struct strbuf *out);

/* --- commands of the user --------------------------------------------------------------------- */

struct git_variable {
    const char *name, *value;
};
/* Replaces {name} by its value anywhere in the word; unknown names are kept. The list ends with a
 * NULL name. */
void git_fill(const char *word, const struct git_variable *variables, struct strbuf *out);
