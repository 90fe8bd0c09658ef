/* adapter.c: speed and memory of the adapter that reads the output of an agent.
 *
 * The input is a generated log of Claude Code: mostly tool results, as in real ones, with the escapes of
 * source code, and small events between them. It is read in pieces like a growing log. Processor time is compared
 * with jq on the
 * same file in the same run. */
#include <fcntl.h>
#include <malloc.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "bench.h"

#define TURNS     6000
#define PIECE     (64 * 1024)
#define GOAL_MB_S 200

#define SESSION "\"session_id\":\"7b9f00a0-a08d-4a5e-ab3f-08735268bac6\""
#define USAGE                                                                                      \
    "\"usage\":{\"input_tokens\":12,\"cache_creation_input_tokens\":300,\"cache_read_input_"       \
    "tokens\":4000,"                                                                               \
    "\"output_tokens\":25,\"server_tool_use\":{\"web_search_requests\":0,\"web_fetch_requests\":"  \
    "0},"                                                                                          \
    "\"service_tier\":\"standard\",\"cache_creation\":{\"ephemeral_1h_input_tokens\":0}}"

static void write_turn(FILE *out, int turn) {
    fprintf(out,
            "{\"type\":\"assistant\",\"message\":{\"id\":\"msg_%d\",\"model\":\"claude-sonnet-5-"
            "5\",\"role\":\"assistant\","
            "\"type\":\"message\"," USAGE
            ",\"content\":[{\"type\":\"text\",\"text\":\"I look at file %d now, and "
            "then I run the tests.\"}]},\"parent_tool_use_id\":null," SESSION
            ",\"uuid\":\"%08d-11\"}\n",
            turn, turn, turn);
    fprintf(out,
            "{\"type\":\"assistant\",\"message\":{\"id\":\"msg_%d\",\"content\":[{\"type\":\"tool_"
            "use\",\"id\":"
            "\"toolu_%d\",\"name\":\"Bash\",\"input\":{\"command\":\"sed -n '1,%dp' src/parser.c | "
            "grep -n \\\"if\\\"\","
            "\"description\":\"read a part\"}}]," USAGE "},\"parent_tool_use_id\":null," SESSION
            "}\n",
            turn, turn, turn);
    fprintf(out,
            "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"tool_use_id\":"
            "\"toolu_%d\","
            "\"type\":\"tool_result\",\"content\":\"",
            turn);
    for (int line = 0; line < 20 + turn % 200; line++)
        fprintf(
            out,
            "%d\\tif (value->kind == %d && strcmp(name, \\\"key-%d\\\") == 0) { /* \\u00e9 */\\n",
            line, turn % 7, line);
    fprintf(out, "\",\"is_error\":false}]},\"parent_tool_use_id\":null," SESSION
                 ",\"tool_use_result\":{\"stdout\":\"\",\"interrupted\":false,\"lines\":[1,2,3,{"
                 "\"a\":null}]}}\n");
    for (int part = 0; part < 4; part++)
        fprintf(out,
                "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":%"
                "d,\"delta\":"
                "{\"type\":\"text_delta\",\"text\":\" word\"}}," SESSION "}\n",
                part);
}

static long write_run(FILE *out) {
    fprintf(out, "{\"type\":\"system\",\"subtype\":\"init\"," SESSION
                 ",\"model\":\"claude-sonnet-5-5\",\"claude_code_version\":\"2.1.325\"}\n");
    for (int turn = 0; turn < TURNS; turn++)
        write_turn(out, turn);
    fprintf(
        out,
        "{" SESSION ",\"total_cost_usd\":1.5," USAGE
        ",\"is_error\":false,\"subtype\":\"success\",\"result\":\"Done.\",\"type\":\"result\"}\n");
    return fflush(out) == 0 ? ftell(out) : 0;
}

struct reading {
    double seconds;
    size_t most; /* heap in use, relative to the beginning */
    bool is_ok;
};

static struct reading read_run(const char *path, const char *adapter) {
    static char piece[PIECE];
    struct reading reading = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t heap = mallinfo2().uordblks;
    double begin = bench_seconds();
    struct agent_reader *reader = agent_reader_new(agent_adapter_find(adapter));
    for (ssize_t size; (size = read(fd, piece, sizeof(piece))) > 0;)
        agent_reader_stdout(reader, piece, (size_t)size);
    reading.most = mallinfo2().uordblks - heap;
    struct agent_outcome outcome;
    agent_reader_end(reader, &(struct agent_end){ 0 }, &outcome);
    reading.seconds = bench_seconds() - begin;
    reading.is_ok = outcome.result == AGENT_OK && outcome.usage.in == 4312;
    agent_reader_free(reader);
    close(fd);
    return reading;
}

/* Processor seconds of `jq -c . FILE`; negative: jq is not installed. */
static double run_jq(char *path, long *ret_kb) {
    extern char **environ;
    char name[] = "jq", compact[] = "-c", all[] = ".";
    char *argv[] = { name, compact, all, path, NULL };
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1;
    struct rusage usage = { 0 };
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    int r = posix_spawnp(&pid, "jq", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (r != 0 || wait4(pid, &status, 0, &usage) < 0 || status != 0)
        return -1;
    *ret_kb = usage.ru_maxrss;
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6
           + (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
}

void bench_adapter(void) {
    char folder[] = "/tmp/sluice-bench-XXXXXX", path[64];
    if (!mkdtemp(folder))
        return;
    snprintf(path, sizeof(path), "%s/out.log", folder);
    FILE *out = fopen(path, "we");
    long size = out ? write_run(out) : 0;
    if (out)
        (void)fclose(out);
    struct reading best = read_run(path, "claude");
    for (int i = 0; i < 4; i++) {
        struct reading again = read_run(path, "claude");
        best.is_ok = best.is_ok && again.is_ok;
        best.most = again.most > best.most ? again.most : best.most;
        best.seconds = again.seconds < best.seconds ? again.seconds : best.seconds;
    }
    double mb = (double)size / 1e6, speed = mb / best.seconds;
    printf("\nAdapter: %.0f MB of stream-json, %d turns\n", mb, TURNS);
    printf("  %-28s %8.0f MB/s of processor time, %4zu kB of memory\n", "sluice, adapter claude",
           speed, best.most / 1024);
    long kb = 0;
    double jq = run_jq(path, &kb);
    if (jq > 0)
        printf("  %-28s %8.0f MB/s of processor time, %4ld kB of memory; sluice is %.0f times as "
               "fast\n",
               "jq -c . FILE >/dev/null", mb / jq, kb, speed / (mb / jq));
    else
        printf("  jq is not installed: nothing to stand beside\n");
    bench_goal(best.is_ok && speed >= GOAL_MB_S,
               "stream-json is read with %.0f MB/s per core (%d or more)", speed, GOAL_MB_S);
    bench_goal(best.most < 256 * 1024, "a reader has %zu kB, whatever it reads (under 256)",
               best.most / 1024);
    unlink(path);
    rmdir(folder);
}
