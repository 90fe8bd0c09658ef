/* odd_file.c: replaces a file with a hostile one, for shell tests.
 *
 *   odd_file KIND PATH     KIND: a name of odd_file.h; exit status 77 if this user cannot create it
 *   odd_file lease PATH    holds a write lease on the file until its standard input ends */
#include "odd_file.h"

#include <signal.h>

static int hold_lease(const char *path) {
    char byte;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    (void)signal(SIGIO, SIG_IGN);
    if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
        perror(path);
        return 1;
    }
    (void)puts("held");
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "lease") == 0)
        return hold_lease(argv[2]);
    for (int kind = 0; argc == 3 && kind < ODD_FILES; kind++) {
        if (strcmp(argv[1], odd_file_names[kind]) != 0)
            continue;
        int r = odd_file_make((enum odd_file)kind, argv[2]);
        if (r < 0)
            (void)fprintf(stderr, "odd_file: %s: %s\n", argv[2], strerror(-r));
        return r == -EPERM ? 77 : r < 0 ? 1 : 0;
    }
    (void)fputs("usage: odd_file KIND PATH\n", stderr);
    return 2;
}
