/* tree_agent: the command of a run that works in its folder and records which folder it was.
 *
 * tree_agent FILE MILLISECONDS HOW: appends "begin TASK ATTEMPT TIME FOLDER" to FILE, works, appends "end
 * TASK ATTEMPT TIME", each with one write. Letters of HOW: w writes the number of the attempt to the file work-TASK;
 * s adds a line to `shared`, as other tasks do; c commits its changes itself; f fails its first
 * attempt. Exit code 90 and above: a bug in the test, not in Sluice. */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int append(const char *path, const char *line, size_t size) {
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    int r = fd >= 0 && write(fd, line, size) == (ssize_t)size ? 0 : -1;
    if (fd >= 0)
        close(fd);
    return r;
}

static int note(const char *path, const char *what, const char *task, const char *attempt,
                const char *folder) {
    char line[PATH_MAX + 200];
    int size =
        snprintf(line, sizeof(line), "%s %s %s %lld %s\n", what, task, attempt, now_us(), folder);
    return append(path, line, (size_t)size);
}

int main(int argc, char **argv) {
    const char *task = getenv("SLUICE_TASK"), *attempt = getenv("SLUICE_ATTEMPT");
    char folder[PATH_MAX], name[80], line[80];
    if (argc != 4 || !task || !attempt || !getcwd(folder, sizeof(folder)))
        return 99;
    const char *how = argv[3];
    if (note(argv[1], "begin", task, attempt, folder) < 0)
        return 98;
    (void)poll(NULL, 0, atoi(argv[2])); /* simulated work */
    snprintf(name, sizeof(name), "work-%s", task);
    int size = snprintf(line, sizeof(line), "%s %s\n", task, attempt);
    if ((strchr(how, 'w') && append(name, line, (size_t)size) < 0)
        || (strchr(how, 's') && append("shared", line, (size_t)size) < 0))
        return 97;
    if (strchr(how, 'c') && system("git add --all && git commit -q -m 'by the agent'") != 0)
        return 96;
    if (note(argv[1], "end", task, attempt, "-") < 0)
        return 95;
    return strchr(how, 'f') && strcmp(attempt, "1") == 0;
}
