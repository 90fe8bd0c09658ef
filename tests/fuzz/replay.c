/* replay.c: runs a fuzz target over the files of its corpus, without libFuzzer.
 *
 * Inputs that once broke a parser stay in tests/fuzz/corpus and are tested with every test run. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
    struct stat st;
    FILE *file = fopen(path, "rbe");
    if (!file || fstat(fileno(file), &st) < 0) {
        fprintf(stderr, "cannot open '%s': %s\n", path, strerror(errno));
        if (file)
            (void)fclose(file);
        return 1;
    }
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size + 1); /* exact size: ASan detects a read past the end */
    int failed = !data || fread(data, 1, size, file) != size;
    (void)fclose(file);
    if (!failed) {
        uint8_t *exact = realloc(data, size ? size : 1);
        data = exact ? exact : data;
        fprintf(stderr, "%s\n", path); /* the last line names the file that broke it */
        (void)LLVMFuzzerTestOneInput(data, size);
    }
    free(data);
    return failed;
}

static int is_file(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static int replay_folder(const char *folder) {
    struct dirent **entries;
    int count = scandir(folder, &entries, is_file, alphasort);
    if (count < 0) {
        fprintf(stderr, "cannot read the folder '%s': %s\n", folder, strerror(errno));
        return 1;
    }
    int failed = count == 0;
    for (int i = 0; i < count; i++) {
        char path[4096];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        failed |= replay_file(path);
        free(entries[i]);
    }
    free(entries);
    printf("%d files\n", count);
    return failed;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fputs("usage: fuzz_NAME FOLDER\n", stderr);
        return 2;
    }
    return replay_folder(argv[1]);
}
