/* secrets.c: variables of the run that are in no file.
 *
 * They come through a descriptor and stay in the memory of the shim, which no other process of the user can read.
 * What the command or a check has printed of them is replaced in the logs, before the end of the run is on
 * record: from then on they are not on the disk. While the command runs they may be; the daemon replaces them in
 * what it shows. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/redact.h"
#include "os/redact_file.h"
#include "shim/shim.h"

#define WINDOW_BYTES ((size_t)64 << 10) /* of a log, looked at in one piece */

static char block[RUN_SECRETS_BYTES];          /* NAME=VALUE, each with a NUL behind it */
static char json_forms[2 * RUN_SECRETS_BYTES]; /* of those values that JSON writes in another way */
static struct redact_value values[2 * RUN_SECRETS_MAX];
static struct redact_index index_of_values;
static char space[REDACT_FILE_SPACE(WINDOW_BYTES)];

/* --- the environment ------------------------------------------------------------------------- */

static ssize_t read_block(void) {
    size_t size = 0;
    ssize_t got;
    do {
        got = pread(FD_SECRETS, block + size, sizeof(block) - size, (off_t)size);
        size += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && size < sizeof(block)) || (got < 0 && errno == EINTR));
    (void)close(FD_SECRETS);
    return got < 0 ? -1 : (ssize_t)size;
}

static bool put_variable(struct shim *s, const char *pair, size_t name) {
    size_t at = 0;
    while (s->words.env[at] && strncmp(s->words.env[at], pair, name + 1) != 0)
        at++;
    if (at == RUN_ENV_MAX)
        return false;
    if (!s->words.env[at])
        s->words.env[at + 1] = NULL;
    s->words.env[at] = pair;
    return true;
}

static void know_value(size_t *count, const char *pair, size_t name, size_t *forms) {
    const char *value = pair + name + 1;
    size_t size = strlen(value);
    values[(*count)++] = (struct redact_value){ pair, name, value, size, 0 };
    size_t room = sizeof(json_forms) - *forms;
    size_t form = redact_json_form(value, size, json_forms + *forms,
                                   room < REDACT_FILE_LONGEST ? room : REDACT_FILE_LONGEST);
    if (form > 0)
        values[(*count)++] = (struct redact_value){ pair, name, json_forms + *forms, form, 0 };
    *forms += form;
}

/* Is this the name that comes next in the list of the spec? */
static bool take_name(const char **names, const char *pair, size_t name) {
    if (strncmp(*names, pair, name) != 0 || ((*names)[name] != ' ' && (*names)[name] != '\0'))
        return false;
    *names += name + ((*names)[name] == ' ');
    return true;
}

/* Exactly those variables that the spec names. */
static bool take_block(struct shim *s, size_t size) {
    const char *names = s->spec.secret_names;
    size_t count = 0, forms = 0, taken = 0;
    for (size_t at = 0; at < size; taken++) {
        const char *pair = block + at;
        size_t length = strnlen(pair, size - at);
        size_t name = length < size - at ? strcspn(pair, "=") : 0;
        if (name == 0 || name == length || taken == RUN_SECRETS_MAX
            || !take_name(&names, pair, name) || !put_variable(s, pair, name))
            return false;
        know_value(&count, pair, name, &forms);
        at += length + 1;
    }
    redact_index_init(&index_of_values, values, count, NULL);
    return *names == '\0';
}

int secrets_take(struct shim *s, struct error *err) {
    if (!s->spec.secret_names)
        return 0;
    ssize_t size = read_block();
    if (size < 0 || !take_block(s, (size_t)size))
        return error_set(err, -ENODATA, "the secrets of this run did not reach its shim");
    return 0;
}

/* --- the logs -------------------------------------------------------------------------------- */

/* The command may have put another file in the place of its log, a link to one that is not its own for
 * instance: nothing is written into a file that the shim has not made. */
void secrets_cover(const struct shim_log *log) {
    struct stat made, found;
    if (index_of_values.longest == 0)
        return;
    int fd = openat(FD_FOLDER, log->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && fstat(log->fd, &made) == 0 && fstat(fd, &found) == 0
        && made.st_dev == found.st_dev && made.st_ino == found.st_ino)
        (void)redact_file(&index_of_values, fd, space, sizeof(space));
    if (fd >= 0)
        (void)close(fd);
}
