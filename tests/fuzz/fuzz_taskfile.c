/* fuzz_taskfile.c: arbitrary bytes as a task file.
 *
 * Beyond not crashing: an error has a message with the file name; an accepted file is an object that can
 * be sent, each of its tasks has a line number, and messages of the daemon can be mapped to a line. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "taskfile/taskfile.h"

#define NAME "fuzz.yaml"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const struct taskfile *file, size_t index) {
    struct error err = { 0 };
    assert(taskfile_line(file, index) > 0);
    (void)error_set(&err, -1, "'depends_on' is wrong");
    assert(taskfile_locate(file, index, &err) == -1);
    assert(strncmp(err.text, NAME ":", strlen(NAME ":")) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct taskfile *file = NULL;
    struct error err = { 0 };
    int r = taskfile_read_text(NAME, "/srv", (const char *)data, size, &file, &err);
    if (r < 0) {
        assert(!file && err.code == r);
        assert(strncmp(err.text, NAME ":", strlen(NAME ":")) == 0);
        return 0;
    }
    assert(taskfile_count(file) > 0);
    for (size_t i = 0; i < taskfile_count(file); i++)
        look_at(file, i);
    json_t *body = taskfile_body(file);
    assert(json_array_size(json_object_get(body, "tasks")) == taskfile_count(file));
    char *text = json_dumps(body, JSON_COMPACT);
    assert(text);
    free(text);
    json_decref(body);
    taskfile_free(file);
    return 0;
}
