/* snapshot_file.c: opens, reads, and says what was wrong. */
#include "cli/snapshot_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/files.h"

int snapshot_file_read(const struct cmd_call *call, const char *path, struct snapshot **ret) {
    struct error err = { 0 };
    FILE *file;
    if (file_open(path, &file, &err) < 0)
        return cmd_error(&err);
    size_t count = 0;
    const char **overrides = xcalloc(call->given_count + 1, sizeof(*overrides));
    while ((overrides[count] = cmd_value_at(call, "set", count)))
        count++;
    struct snapshot_options options = { overrides, count };
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    int r = snapshot_read(file, name, &options, ret, &err);
    free(overrides);
    file_close(file);
    return r < 0 ? cmd_error(&err) : CMD_OK;
}
