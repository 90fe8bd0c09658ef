/* own_server.c: starts a server and stops it with the program.
 *
 * An atexit handler stops it if the program exits. If a signal ends the program (a test that takes too long), the signal
 * handler executes the script that stops the server, because few functions are safe in a handler.
 */
#include "own_server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/scratch.h"

static const char *script;
static char folder[SCRATCH_PATH], place[SCRATCH_PATH + 8], url[256], remove_all[512];
static pid_t owner;

static void remove_server(void) {
    if (getpid() == owner) /* child processes of the test do not stop it */
        (void)!system(remove_all);
}

static void is_ended(int signal) {
    (void)signal;
    if (getpid() == owner)
        execl("/bin/sh", "sh", "-c", remove_all, (char *)NULL);
    _exit(130);
}

const char *own_server_start(void) {
    char command[512];
    script = getenv("POSTGRES_SERVER");
    if (!script) {
        (void)fprintf(stderr, "POSTGRES_SERVER is not set: run it by `make test-postgres`\n");
        exit(2);
    }
    scratch_make(folder, "own");
    owner = getpid();
    (void)snprintf(place, sizeof(place), "%s/server", folder);
    (void)snprintf(remove_all, sizeof(remove_all), "'%s' kill '%s'; rm -rf '%s'", script, place,
                   folder);
    (void)snprintf(command, sizeof(command), "'%s' start '%s'", script, place);
    (void)atexit(remove_server);
    signal(SIGTERM, is_ended);
    signal(SIGINT, is_ended);
    FILE *pipe = popen(command, "re");
    bool has_url = pipe && fgets(url, sizeof(url), pipe);
    if (!pipe || pclose(pipe) != 0 || !has_url)
        exit(1);
    url[strcspn(url, "\n")] = '\0';
    return url;
}

pid_t own_server_begin(const char *verb, const char *then, int milliseconds) {
    char command[512];
    if (then)
        (void)snprintf(command, sizeof(command), "'%s' %s '%s' && '%s' %s '%s' >/dev/null", script,
                       verb, place, script, then, place);
    else
        (void)snprintf(command, sizeof(command), "'%s' %s '%s' >/dev/null", script, verb, place);
    pid_t pid = fork();
    if (pid == 0) {
        (void)poll(NULL, 0, milliseconds);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return pid;
}

int own_server_do(const char *verb) {
    int status = -1;
    pid_t pid = own_server_begin(verb, NULL, 0);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}
