/* git.h: what git is asked, and what its answers mean. Nothing here runs anything.
 *
 * A line is the words of one command. Its texts are borrowed from the caller, who keeps them until the
 * command has been started. Every line says what must not depend on the user's settings: no hook of the
 * repository runs, nothing is signed, no garbage is collected behind our back. It also turns off the
 * settings by which a repository names programs, as far as they have fixed names; the others (filters, merge drivers)
 * are why every line is run with a guard. Answers are read as git gives them with LC_ALL=C.
 *
 * What can begin with a dash or a colon is never given as it is: branches are checked by
 * git_branch_is_valid, commits are written refs/heads/BRANCH. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define GIT_WORDS_MAX 64
#define GIT_HASH_MAX  72 /* SHA-256 in hex, and a NUL */

struct git_line {
    const char *argv[GIT_WORDS_MAX + 1]; /* ends with NULL */
    size_t count;
};

/* "git" with the settings above, and these words; the list ends with NULL. */
void git_line_make(struct git_line *line, const char *const *words);
#define GIT_LINE(line, ...) git_line_make(line, (const char *const[]){ __VA_ARGS__, NULL })

/* --- names ------------------------------------------------------------------------------------ */

/* May it be the name of a branch? As git check-ref-format --branch, and never an option. */
bool git_branch_is_valid(const char *name);
/* "sluice/web-17" */
void git_branch_of_task(const char *task, struct strbuf *out);

/* --- answers ---------------------------------------------------------------------------------- */

/* The sentence a person needs: the first that git calls fatal or an error, else its last words. On one
 * line; "" if it said nothing. */
void git_error_message(const char *output, struct strbuf *out);

/* The line of that number (from 0) without its end; false: there are fewer. */
bool git_output_line(const char *output, size_t number, struct strbuf *out);
/* A full object name, and nothing else. */
bool git_hash(const char *output, char ret[GIT_HASH_MAX]);
/* The same in the line of that number; a `^` before it is left out. */
bool git_output_hash(const char *output, size_t number, char ret[GIT_HASH_MAX]);

/* Of `worktree list --porcelain`: where refs/heads/BRANCH is checked out. */
bool git_find_checkout(const char *output, const char *branch, struct strbuf *ret_path);

/* Of `status --porcelain`: are files missing, and is nothing else different? */
bool git_status_only_lacks_files(const char *output);

/* Names, one per line, as "a, b and 3 more"; how many there are. */
size_t git_names(const char *output, size_t most, struct strbuf *out);

/* The files that a refused merge names as being in the way; how many. */
size_t git_blockers(const char *output, size_t most, struct strbuf *out);

/* --- commands of the user ---------------------------------------------------------------------- */

struct git_variable {
    const char *name, *value;
};
/* {name} becomes its value, wherever it stands in the word; others stay as they are. The list ends with
 * a name that is NULL. */
void git_fill(const char *word, const struct git_variable *variables, struct strbuf *out);
