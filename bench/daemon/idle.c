/* idle.c: the cost of an idle daemon. */
#include <stdio.h>
#include <stdlib.h>

#include "daemon_bench.h"

#define SECONDS_OF_SILENCE 10

static void wait_for_shim(struct rig *rig, pid_t *ret_shim) {
    long long deadline = rig_now_us() + 10000000;
    while ((*ret_shim = bench_child(rig->daemon, "sluice-shim")) == 0 && rig_now_us() < deadline)
        rig_pause(5);
}

void bench_idle(void) {
    struct rig rig;
    char id[40];
    struct error err = { 0 };
    printf("at rest\n");
    bench_open(&rig, NULL);
    bench_pause(&rig, false);
    (void)bench_bulk(&rig, 200);
    rig_wait_drained(&rig);
    struct client *client = rig_client(&rig);
    json_t *task = json_pack("{s:[s,s],s:s}", "argv", "/bin/sleep", "100", "cwd", "/");
    if (rig_submit(client, task, id, &err) != 200)
        exit(1);
    client_close(client);
    pid_t shim = 0;
    wait_for_shim(&rig, &shim);
    rig_pause(35000); /* the store does its maintenance after half a minute without writes */
    long before = bench_wakeups(rig.daemon), shim_before = bench_wakeups(shim);
    rig_pause(SECONDS_OF_SILENCE * 1000);
    long woke = bench_wakeups(rig.daemon) - before, shim_woke = bench_wakeups(shim) - shim_before;
    long shim_kb = bench_resident_kb(shim);
    bench_say("daemon %ld kB, shim %ld kB", bench_resident_kb(rig.daemon), shim_kb);
    bench_goal(woke == 0 && shim > 0 && shim_woke == 0,
               "the daemon wakes %ld times in %d s, the shim of a run %ld times", woke,
               SECONDS_OF_SILENCE, shim_woke);
    bench_goal(shim > 0 && shim_kb <= 1024, "a shim is %ld kB resident (at most 1,024)", shim_kb);
    client = rig_client(&rig);
    (void)client_call(client, "POST", "/v1/tasks/cancel",
                      json_pack("{s:[s],s:b}", "tasks", id, "now", 1), NULL, &err);
    client_close(client);
    rig_wait_drained(&rig);
    rig_close(&rig);
}
