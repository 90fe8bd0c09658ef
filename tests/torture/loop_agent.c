/* loop_agent: the command of a run that writes to the diary, and succeeds from a given attempt or iteration on.
 *
 * loop_agent DIARY MILLISECONDS GOOD HOW [MARK [CHILDREN]]: appends one line when it starts and one
 * when it ends, as side_agent does. HOW defines what GOOD counts and what success is:
 *
 *   exit    exit code 0 from attempt GOOD on, 1 before
 *   done    the DONE marker from iteration GOOD on; exit code 0
 *   check   the file MARK from iteration GOOD on; exit code 0
 *   angry   the DONE marker from iteration GOOD on; exit code 1 before
 *
 * GOOD 0: never succeeds. On success it writes CHILDREN tasks to its spawn file. A capital first
 * letter (Exit) leaves behind a background process in its own session that never exits. */
#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value ? value : "0";
}

static bool note(int fd, const char *what, int code) {
    char line[256];
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int length = snprintf(line, sizeof(line), "%s %s %s %d %d %lld\n", what,
                          variable("SLUICE_TASK"), variable("SLUICE_ATTEMPT"), (int)getpid(), code,
                          (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000);
    return write(fd, line, (size_t)length) == length;
}

static bool make(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 && close(fd) == 0;
}

/* Each child runs once and succeeds. */
static bool spawn_children(char **argv, int count) {
    FILE *file = count > 0 ? fopen(variable("SLUICE_SPAWN"), "we") : NULL;
    if (!file)
        return count == 0;
    (void)fputs("[", file);
    for (int i = 0; i < count; i++)
        (void)fprintf(file,
                      "%s{\"argv\": [\"%s\", \"%s\", \"%d\", \"1\", \"exit\"], \"cwd\": \"/\","
                      " \"until\": \"exit\", \"parallelizable\": true}\n",
                      i ? "," : "", argv[0], argv[1], i);
    return fputs("]", file) >= 0 && fclose(file) == 0;
}

static void leave_one_behind(void) {
    if (fork() != 0)
        return;
    (void)setsid();
    if (fork() != 0)
        _exit(0);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    signal(SIGTERM, SIG_IGN);
    for (;;)
        pause();
}

int main(int argc, char **argv) {
    if (argc < 5)
        return 99;
    int good = atoi(argv[3]);
    char how = (char)tolower((unsigned char)argv[4][0]);
    int time = atoi(variable(how == 'e' ? "SLUICE_ATTEMPT" : "SLUICE_ITERATION"));
    bool is_good = good > 0 && time >= good;
    int code = !is_good && (how == 'e' || how == 'a');
    int fd = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || !note(fd, "start", code))
        return 98;
    if (isupper((unsigned char)argv[4][0]))
        leave_one_behind();
    (void)poll(NULL, 0, atoi(argv[2])); /* simulated work */
    if (is_good && how != 'e' && !make(how == 'c' && argc > 5 ? argv[5] : variable("SLUICE_DONE")))
        return 97;
    if (is_good && !spawn_children(argv, argc > 6 ? atoi(argv[6]) : 0))
        return 95;
    return note(fd, "end", code) ? code : 96;
}
