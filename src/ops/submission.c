/* submission.c: is this object a task?
 *
 * The table of members says what each may be; here is what one says of another, and what lists
 * show. */
#include "ops/submission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/utf8.h"
#include "ops/child.h"

/* --- members --------------------------------------------------------------------------------- */

/* Where each member of the table is kept. */
static const size_t offsets[] = {
#define MEMBER(name, ...) offsetof(struct submission, name),
#include "taskfile/task_members.inc"
};

static void *field_of(struct submission *s, const struct task_member *m) {
    return (char *)s + offsets[m - task_members];
}

static bool is_number(const struct task_member *m) {
    return m->kind >= MEMBER_WHOLE && m->kind <= MEMBER_SWITCH;
}

static void take(void *ctx, const struct task_member *m, const json_t *value) {
    void *field = field_of(ctx, m);
    if (is_number(m))
        *(int64_t *)field = task_member_number(m, value);
    else if (m->kind < MEMBER_WHOLE)
        *(const char **)field = json_string_value(value);
    else
        *(const json_t **)field = value;
}

static struct submission_names names_of(const json_t *list, struct arena *arena) {
    struct submission_names names = { NULL, json_array_size(list) };
    if (names.count > 0)
        names.items = arena_alloc(arena, names.count * sizeof(*names.items));
    for (size_t i = 0; i < names.count; i++)
        names.items[i] = json_string_value(json_array_get(list, i));
    return names;
}

/* --- what one member says of another --------------------------------------------------------- */

#define ITERATIONS "iterations/"

uint32_t submission_artifact_iteration(const char *artifact) {
    if (strncmp(artifact, ITERATIONS, strlen(ITERATIONS)) != 0)
        return 0;
    const char *digits = artifact + strlen(ITERATIONS);
    size_t length = strspn(digits, "0123456789");
    return length > 0 && length < 9 && digits[length] == '/' ? (uint32_t)strtoul(digits, NULL, 10)
                                                             : 0;
}

/* Below the folder of the parent only what its iterations leave is meant. */
static int check_artifact(const struct submission *s, struct error *err) {
    const char *path = s->artifact;
    if (!path || *path == '/')
        return 0;
    bool current = strncmp(path, ITERATIONS "{iteration}/", strlen(ITERATIONS "{iteration}/")) == 0;
    if (!current && submission_artifact_iteration(path) == 0)
        return error_set(err, -EINVAL,
                         "'artifact' must be an absolute path, or one of the parent's: "
                         "iterations/{iteration}/artifacts/NAME");
    if (!s->parent)
        return error_set(err, -EINVAL, "'artifact' is one of the parent's: that needs a 'parent'");
    if (s->parent_gate && strcmp(s->parent_gate, "none") == 0)
        return error_set(err, -EINVAL,
                         "'artifact' is one of the parent's, which counts when that is done: leave "
                         "out 'parent_gate'");
    return 0;
}

static int check_together(const struct submission *s, struct error *err) {
    if (s->prompt && s->argv)
        return error_set(err, -EINVAL, "a task has a 'prompt' or an 'argv', not both");
    if (!s->prompt && !s->argv)
        return error_set(err, -EINVAL, "a task needs an 'argv', or a 'prompt' for its agent");
    if (s->prompt && s->stdin)
        return error_set(err, -EINVAL, "'stdin' goes with 'argv': an agent gets its prompt there");
    if (s->until && strcmp(s->until, "validate") == 0 && json_array_size(s->checks) == 0)
        return error_set(err, -EINVAL, "'until' is validate: that needs 'checks'");
    return check_artifact(s, err);
}

int submission_read(json_t *json, time_ms now, struct arena *arena, struct submission *ret,
                    struct error *err) {
    struct task_reading reading = { .source.now = now, .take = take, .ctx = ret };
    *ret = (struct submission){ .json = json };
    for (size_t i = 0; i < task_member_count; i++)
        if (is_number(&task_members[i]))
            *(int64_t *)field_of(ret, &task_members[i]) = SUBMISSION_NOT_GIVEN;
    if (!json_is_object(json))
        return error_set(err, -EINVAL, "a task must be an object");
    int r = task_members_read(json, &reading, &ret->changed, err);
    if (r == 0 && ret->slurm)
        r = submission_check_slurm(ret->slurm, err);
    if (r == 0 && ret->inside)
        r = child_check_inside(ret->inside, err);
    if (r < 0)
        return r;
    ret->dependencies = names_of(ret->depends_on, arena);
    ret->resource_names = names_of(ret->resources, arena);
    return check_together(ret, err);
}

/* --- what lists show ------------------------------------------------------------------------- */

#define TITLE_MADE 80 /* bytes of a title that nobody wrote */

/* A control is a blank. Returns how many bytes it has. */
static size_t add_character(char made[TITLE_MADE + 1], size_t *length, const char *at) {
    size_t size = utf8_length(at, strnlen(at, 4));
    if (size == 0 || utf8_is_control(at, size)) {
        made[(*length)++] = ' ';
        return size ? size : 1;
    }
    size_t room = TITLE_MADE - *length;
    memcpy(made + *length, at, size < room ? size : room);
    *length += size < room ? size : room;
    return size;
}

const char *submission_title(const struct submission *s, struct arena *arena) {
    if (s->title && *s->title)
        return s->title;
    char made[TITLE_MADE + 1] = "";
    size_t length = 0;
    const char *text = s->prompt;
    for (size_t word = 0; text || word < json_array_size(s->argv); word++) {
        const char *at = text ? text + strspn(text, " \t\r\n")
                              : json_string_value(json_array_get(s->argv, word));
        if (word > 0 && length < TITLE_MADE)
            made[length++] = ' ';
        for (size_t size; *at && length < TITLE_MADE && !(text && *at == '\n'); at += size)
            size = add_character(made, &length, at);
        if (text || length == TITLE_MADE)
            break;
    }
    if (length == TITLE_MADE) /* not in the middle of a character */
        while (length > 0 && ((unsigned char)made[length - 1] & 0xC0) == 0x80)
            length--;
    if (length > 0 && ((unsigned char)made[length - 1] & 0xC0) == 0xC0)
        length--;
    return arena_strndup(arena, made, length);
}
