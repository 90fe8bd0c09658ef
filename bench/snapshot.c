/* snapshot.c: a million tasks from a snapshot file to the first plan, with the real command. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define TASKS 1000000

static long write_snapshot(FILE *out) {
    static const char *const kinds[] = { "plan", "spec", "phase", "ralph" };
    fprintf(out,
            "{\"now\": 1700000000000, \"config\": {\"limits\": {\"runs\": 50}}, \"projects\": [");
    for (int p = 0; p < 100; p++)
        fprintf(out, "%s{\"id\": \"team-%02d\", \"weight\": %d}", p ? ", " : "", p, 1 + p % 5);
    fprintf(out, "],\n \"tasks\": [\n");
    for (int i = 0; i < TASKS; i++) {
        fprintf(
            out,
            "  {\"id\": \"team-%02d-%d\", \"project\": \"team-%02d\", \"kind\": \"%s\", \"state\": "
            "\"ready\", \"priority\": %d, \"parent\": null, \"depends_on\": [",
            i % 100, i, i % 100, kinds[i % 4], 100 + i % 3);
        if (i % 10 == 9)
            fprintf(out, "\"team-%02d-%d\"", (i - 9) % 100, i - 9);
        fprintf(out,
                "], \"created_at\": %lld, \"iteration\": 1, \"workspace\": null, \"serial\": null, "
                "\"parallelizable\": true, \"not_before\": 0, \"artifact_present\": true, "
                "\"agent\": null}%s\n",
                1700000000000LL - (i % 5000000), i + 1 < TASKS ? "," : "");
    }
    fprintf(out, "]}\n");
    return fflush(out) == 0 ? ftell(out) : 0;
}

static int run(char *const argv[], const char *output, struct rusage *ret_usage) {
    extern char **environ;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0)
        return -1;
    wait4(pid, &status, 0, ret_usage);
    posix_spawn_file_actions_destroy(&actions);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void bench_snapshot(const char *sluice) {
    char folder[] = "/tmp/sluice-bench-XXXXXX";
    char input[64], output[64];
    if (!mkdtemp(folder))
        return;
    snprintf(input, sizeof(input), "%s/queue.json", folder);
    snprintf(output, sizeof(output), "%s/plan.json", folder);
    FILE *out = fopen(input, "we");
    long size = out ? write_snapshot(out) : 0;
    if (out)
        (void)fclose(out);
    char *argv[] = { strdup(sluice), strdup("plan"), strdup("--json"), input, NULL };
    struct rusage usage = { 0 };
    double begin = bench_wall_seconds();
    int code = run(argv, output, &usage);
    double seconds = bench_wall_seconds() - begin;
    printf("\nSnapshot: %d tasks, %ld MB, read, planned and printed in %.2f s with %ld MB\n", TASKS,
           size / 1000000, seconds, usage.ru_maxrss / 1024);
    bench_goal(code == 0 && seconds < 5, "the plan of 1 M tasks is printed in %.2f s (under 5)",
               seconds);
    bench_goal(code == 0 && usage.ru_maxrss < 427 * 1024, "it takes %ld MB (under 427)",
               usage.ru_maxrss / 1024);
    unlink(input);
    unlink(output);
    rmdir(folder);
    for (int i = 0; i < 3; i++)
        free(argv[i]);
}
