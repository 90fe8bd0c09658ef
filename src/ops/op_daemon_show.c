/* op_daemon_show.c: which of the daemons of a store is this? A standby answers the same path itself (daemon/standby.c), so
 * a client may ask any of them. */
#include <unistd.h>

#include "executor/executor.h"
#include "ops/print.h"

static int run_show(struct op_call *call) {
    const struct engine *e = call->engine;
    const char *const *addresses = NULL;
    size_t count = config_words(engine_config(e), "daemon.addresses", NULL, &addresses);
    struct json_writer w;
    json_write_init(&w, &call->answer, false);
    json_write_object_begin(&w);
    print_bool(&w, "ok", true);
    print_text(&w, "role", "active");
    print_text(&w, "version", engine_version(e));
    print_int(&w, "pid", getpid());
    print_text(&w, "host", executor_host(engine_executor(call->engine)));
    print_int(&w, "since", engine_started_at(e));
    print_bool(&w, "standby", config_number(engine_config(e), "daemon.standby", NULL) != 0);
    json_write_key(&w, "addresses");
    json_write_array_begin(&w);
    for (size_t i = 0; i < count; i++)
        json_write_string(&w, addresses[i]);
    json_write_array_end(&w);
    json_write_object_end(&w);
    return 0;
}

const struct op op_daemon_show = {
    .name = "daemon.show",
    .method = "GET",
    .path = "/v1/daemon",
    .summary = "say which daemon answers, and whether it is the active one",
    .text =
        "Of several daemons of one store one is active. A standby answers this too, with `\"role\":"
        "\"standby\"`, since when, and who is active: "
        "`\"active\":{\"who\":\"host/4711\",\"addresses\":"
        "[\"unix:/…\"]}`. Everything else it answers with 503, the code `standby` and those "
        "addresses as `active`. `standby` here: whether this one would wait again if it lost the "
        "store. See "
        "[high-availability.md](high-availability.md).",
    .result =
        "{\"ok\":true,\"role\":\"active\",\"version\":\"0.1.0\",\"pid\":4711,\"host\":\"a\","
        "\"since\":1760000000000,\"standby\":true,\"addresses\":[\"unix:/home/ann/.local/share/"
        "sluice/sluice.sock\",\"https://b.example:7878\"]}",
    .right = OP_READ,
    .run = run_show,
};
