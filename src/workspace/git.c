/* git.c: command lines for git, and the names in them. See git.h. */
#include "workspace/git.h"

#include <assert.h>
#include <string.h>

#include "base/macros.h"

/* A hook may ask, wait or refuse: those are for people. What agents call runs them as ever. */
static const char *const always[] = {
    "git",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "rebase.autoStash=false",
    "-c",
    "rebase.updateRefs=false",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "core.alternateRefsCommand=true",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "advice.detachedHead=false",
};

static void add(struct git_line *line, const char *word) {
    assert(line->count < GIT_WORDS_MAX);
    line->argv[line->count++] = word;
    line->argv[line->count] = NULL;
}

void git_line_make(struct git_line *line, const char *const *words) {
    line->count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(always); i++)
        add(line, always[i]);
    for (; *words; words++)
        add(line, *words);
}

static bool part_is_valid(const char *part, size_t length) {
    return length > 0 && part[0] != '.' && part[length - 1] != '.'
           && !(length >= 5 && memcmp(part + length - 5, ".lock", 5) == 0);
}

bool git_branch_is_valid(const char *name) {
    size_t length = strlen(name);
    if (length == 0 || length > 200 || name[0] == '-' || strcmp(name, "@") == 0
        || strcmp(name, "HEAD") == 0 || strstr(name, "..") || strstr(name, "@{"))
        return false;
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr("~^:?*[\\", *c))
            return false;
    for (const char *part = name;; part++) {
        size_t size = strcspn(part, "/");
        if (!part_is_valid(part, size))
            return false;
        part += size;
        if (*part == '\0')
            return true;
    }
}

void git_branch_of_task(const char *task, struct strbuf *out) {
    strbuf_printf(out, "sluice/%s", task);
}

void git_fill(const char *word, const struct git_variable *variables, struct strbuf *out) {
    while (*word) {
        const struct git_variable *found = NULL;
        size_t length = 0;
        for (const struct git_variable *v = variables; *word == '{' && v->name && !found; v++) {
            length = strlen(v->name);
            if (strncmp(word + 1, v->name, length) == 0 && word[1 + length] == '}')
                found = v;
        }
        if (found) {
            strbuf_puts(out, found->value);
            word += length + 2;
        } else {
            strbuf_putc(out, *word++);
        }
    }
}
