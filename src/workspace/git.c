/* git.c: command lines for git, and the names in them. See git.h. */
#include "workspace/git.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"

/* A hook may prompt, wait or refuse, which is meant for humans. Agents that call git run hooks as
 * usual. */
static const char *const settings[] = {
    "core.hooksPath=/dev/null", "commit.gpgSign=false",          "gc.auto=0",
    "maintenance.auto=false",   "rebase.autoStash=false",        "rebase.updateRefs=false",
    "core.fsmonitor=false",     "core.attributesFile=/dev/null", "core.alternateRefsCommand=true",
    "protocol.ext.allow=never", "advice.detachedHead=false",
};

static void add_word(struct git_line *line, const char *word) {
    assert(line->count < GIT_WORDS_MAX);
    line->argv[line->count++] = word;
    line->argv[line->count] = NULL;
}

void git_line_make(struct git_line *line, const char *const *words) {
    line->count = 0;
    add_word(line, "git");
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        add_word(line, "-c");
        add_word(line, settings[i]);
    }
    for (; *words; words++)
        add_word(line, *words);
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

char *git_branch_of_task(const char *task) {
    return xasprintf("sluice/%s", task);
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

/* --- output of git ---------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* One line, with terminal control characters removed. */
static void put_line(const char *line, struct strbuf *out) {
    for (; *line && *line != '\n'; line++)
        strbuf_putc(out, (unsigned char)*line < 0x20 || *line == 0x7f ? ' ' : *line);
}

static const char *next_line(const char *line) {
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

void git_error_message(const char *output, struct strbuf *out) {
    static const char *const marks[] = { "fatal: ", "error: ", "CONFLICT " };
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        for (const char *line = output; *line; line = next_line(line))
            if (starts_with(line, marks[i])) {
                put_line(line + (i < 2 ? strlen(marks[i]) : 0), out);
                return;
            }
    const char *last = "";
    for (const char *line = output; *line; line = next_line(line))
        if (line[strspn(line, " \t\r\n")] && *line != '\n')
            last = line;
    put_line(last, out);
}

bool git_output_line(const char *output, size_t number, struct strbuf *out) {
    const char *line = output;
    for (; number > 0 && *line; number--)
        line = next_line(line);
    if (number > 0 || !*line)
        return false;
    strbuf_add(out, line, strcspn(line, "\n"));
    return true;
}

bool git_hash(const char *output, char ret[GIT_HASH_MAX]) {
    size_t length = strspn(output, "0123456789abcdef");
    if ((length != 40 && length != 64) || output[length + strspn(output + length, "\r\n")])
        return false;
    memcpy(ret, output, length);
    ret[length] = '\0';
    return true;
}

bool git_output_hash(const char *output, size_t number, char ret[GIT_HASH_MAX]) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    if (!git_output_line(output, number, &line))
        return false;
    const char *text = strbuf_text(&line);
    return git_hash(text + (*text == '^'), ret);
}

bool git_find_checkout(const char *output, const char *branch, struct strbuf *ret_path) {
    const char *path = NULL;
    size_t length = strlen(branch);
    for (const char *line = output; *line; line = next_line(line)) {
        if (*line == '\n')
            path = NULL;
        else if (starts_with(line, "worktree "))
            path = line + strlen("worktree ");
        else if (path && starts_with(line, "branch refs/heads/")) {
            const char *name = line + strlen("branch refs/heads/");
            if (strcspn(name, "\n") == length && strncmp(name, branch, length) == 0) {
                strbuf_add(ret_path, path, strcspn(path, "\n"));
                return true;
            }
        }
    }
    return false;
}

bool git_status_only_lacks_files(const char *output) {
    if (*output == '\0')
        return false;
    for (const char *line = output; *line; line = next_line(line))
        if (!starts_with(line, " D "))
            return false;
    return true;
}

size_t git_names(const char *output, size_t most, struct strbuf *out) {
    size_t count = 0;
    for (const char *line = output; *line; line = next_line(line)) {
        if (*line == '\n' || count++ >= most)
            continue;
        strbuf_puts(out, count > 1 ? ", " : "");
        put_line(line, out);
    }
    if (count > most)
        strbuf_printf(out, " and %zu more", count - most);
    return count;
}

/* Git lists them after its message, one per line, indented by a tab. */
size_t git_blockers(const char *output, size_t most, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf names = STRBUF_INIT;
    for (const char *line = output; *line; line = next_line(line))
        if (*line == '\t') {
            put_line(line + 1, &names);
            strbuf_putc(&names, '\n');
        }
    return git_names(strbuf_text(&names), most, out);
}
