/* op_daemon_show.c: which of the daemons of a store is this? A standby answers the same path itself (daemon/standby.c), so
 * a client may ask any of them. */
#include <unistd.h>

#include "executor/executor.h"
#include "ops/print.h"

/* clang-format off */
static const struct shape active_daemon_shape = { "ActiveDaemon", "the active daemon", .members = SHAPE_ROWS(
    { "who", T_TEXT | T_NULL, "host and process", "host/4711" },
    { "addresses", T_TEXT | T_LIST, "where it can be reached", "https://b.example:7878" }) };

#define ANSWER(X) \
    X(print_bool, "ok", T_BOOL, "it works", NULL, true) \
    X(print_text, "role", T_TEXT, "`active` or `standby`", "active", "active") \
    X(print_text, "version", T_TEXT, "its version", "0.1.0", engine_version(e)) \
    X(print_int, "pid", T_INT, "its process", NULL, getpid()) \
    X(print_text, "host", T_TEXT, "its host", "a", executor_host(engine_executor(call->engine))) \
    X(print_int, "since", T_TIME, "since when it is in this role", NULL, engine_started_at(e)) \
    X(print_bool, "standby", T_BOOL | T_MAYBE, "of the active one: it would wait again if it lost the store", NULL, config_number(engine_config(e), "daemon.standby", NULL) != 0)
static const struct shape answer_shape = { .members = SHAPE_ROWS(
    ANSWER(SHAPE_ROW)
    { "addresses", T_TEXT | T_LIST | T_MAYBE, "of the active one: where it can be reached",
          "https://b.example:7878" },
    { "active", T_OBJECT | T_MAYBE, "of a standby: the active one", &active_daemon_shape },
    { "problem", T_TEXT | T_NULL | T_MAYBE, "of a standby: why it cannot use the store" }) };
/* clang-format on */

static int run_show(struct op_call *call) {
    const struct engine *e = call->engine;
    const char *const *addresses = NULL;
    size_t count = config_words(engine_config(e), "daemon.addresses", NULL, &addresses);
    struct json_writer w = op_begin(call);
    ANSWER(SHAPE_PRINT_TO)
    print_list(&w, "addresses");
    for (size_t i = 0; i < count; i++)
        json_write_string(&w, addresses[i]);
    json_write_array_end(&w);
    return op_end(&w);
}

const struct op op_daemon_show = {
    OP("daemon.show", "GET", "/v1/daemon",
       "say which daemon answers, and whether it is the active one"),
    .text = "Of several daemons of one store one is active. A standby answers this too. Everything "
            "else it answers with 503, the code `standby` and the addresses of the active one as "
            "`active`. See [high-availability.md](high-availability.md).",
    .answers = &answer_shape,
    .right = OP_READ,
    .run = run_show,
};
