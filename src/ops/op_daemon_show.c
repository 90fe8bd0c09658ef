/* op_daemon_show.c: which of the daemons of a store is this? A standby answers the same path itself (daemon/standby.c), so
 * a client may ask any of them. */
#include <unistd.h>

#include "executor/executor.h"
#include "ops/print.h"

static int run_show(struct op_call *call) {
    const struct engine *e = call->engine;
    const char *const *addresses = NULL;
    size_t count = config_words(engine_config(e), "daemon.addresses", NULL, &addresses);
    struct json_writer w = op_begin(call);
    print_bool(&w, "ok", true);
    print_text(&w, "role", "active");
    print_text(&w, "version", engine_version(e));
    print_int(&w, "pid", getpid());
    print_text(&w, "host", executor_host(engine_executor(call->engine)));
    print_int(&w, "since", engine_started_at(e));
    print_bool(&w, "standby", config_number(engine_config(e), "daemon.standby", NULL) != 0);
    print_list(&w, "addresses");
    for (size_t i = 0; i < count; i++)
        json_write_string(&w, addresses[i]);
    json_write_array_end(&w);
    return op_end(&w);
}

/* clang-format off */
static const struct shape active_daemon_shape = { "ActiveDaemon", "the active daemon", .members = SHAPE_ROWS(
    { "who", T_TEXT | T_NULL, "host and process", "host/4711" },
    { "addresses", T_TEXT | T_LIST, "where it can be reached", "https://b.example:7878" }) };
/* clang-format on */

const struct op op_daemon_show = {
    OP("daemon.show", "GET", "/v1/daemon",
       "say which daemon answers, and whether it is the active one"),
    .text = "Of several daemons of one store one is active. A standby answers this too. Everything "
            "else it answers with 503, the code `standby` and the addresses of the active one as "
            "`active`. See [high-availability.md](high-availability.md).",
    .answers = ANSWERS(
        { "ok", T_BOOL, "it works" }, { "role", T_TEXT, "`active` or `standby`", "active" },
        { "version", T_TEXT, "its version", "0.1.0" }, { "pid", T_INT, "its process" },
        { "host", T_TEXT, "its host", "a" }, { "since", T_TIME, "since when it is in this role" },
        { "standby", T_BOOL | T_MAYBE,
          "of the active one: it would wait again if it lost the store" },
        { "addresses", T_TEXT | T_LIST | T_MAYBE, "of the active one: where it can be reached",
          "https://b.example:7878" },
        { "active", T_OBJECT | T_MAYBE, "of a standby: the active one", &active_daemon_shape },
        { "problem", T_TEXT | T_NULL | T_MAYBE, "of a standby: why it cannot use the store" }),
    .right = OP_READ,
    .run = run_show,
};
