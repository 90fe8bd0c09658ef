/* arguments.c: which words does sluiced understand? */
#include "daemon/arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/number.h"

const char arguments_usage[] =
    "usage: sluiced [--home DIR] [--ready-fd N] [--web-dir DIR]\n"
    "       sluiced [--home DIR] --check | --doctor | --restore FILE\n"
    "       sluiced [--home DIR] --store-copy FROM TO | --store-show STORE | --store-migrate URL\n"
    "       sluiced --api markdown|openapi|members|typescript | --version\n"
    "\n"
    "The daemon of Sluice; `sluice up` starts it. Runs in the foreground until SIGTERM or SIGINT; "
    "what it\n"
    "started goes on, and the next daemon finds it again. SIGHUP reads the configuration again.\n"
    "\n"
    "  --home DIR       as SLUICE_HOME=DIR: configuration, store, runs and socket are there\n"
    "  --ready-fd N     writes `ready`, or why not, to this descriptor\n"
    "  --web-dir DIR    serves the dashboard's files from there, and not those built in\n"
    "  --check          looks at the store, says what is in it, and ends; changes nothing\n"
    "  --doctor         the same and what the kernel can do, as JSON\n"
    "  --restore FILE   puts a backup in the place of the store, and ends\n"
    "  --store-copy FROM TO\n"
    "                   copies a whole store into an empty one, as `sluice store copy` tells\n"
    "  --store-show STORE\n"
    "                   counts what is in a store, as JSON; changes nothing\n"
    "  --store-migrate URL\n"
    "                   makes the tables of a store, or those of an older version new, and ends\n"
    "  --api FORMAT     prints the description of the HTTP interface\n"
    "  --version\n"
    "\n"
    "Exit codes: 0 stopped when asked, 1 failed, 2 wrong call, 4 another daemon has this home or "
    "its\n"
    "store, 75 start it again (the store did not say whether the last commit is on disk).\n";

static bool take_flag(const char *word, struct arguments *a) {
    const struct {
        const char *word;
        bool *flag;
    } flags[] = { { "--help", &a->help },
                  { "-h", &a->help },
                  { "--version", &a->version },
                  { "--check", &a->check },
                  { "--doctor", &a->doctor } };
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (strcmp(word, flags[i].word) == 0)
            return *flags[i].flag = true;
    return strcmp(word, "--foreground") == 0; /* it always is */
}

static int take_value(const char *word, const char *value, struct arguments *a) {
    int64_t number = 0;
    if (strcmp(word, "--home") == 0)
        setenv("SLUICE_HOME", value, 1);
    else if (strcmp(word, "--restore") == 0)
        a->restore = value;
    else if (strcmp(word, "--api") == 0)
        a->api = value;
    else if (strcmp(word, "--web-dir") == 0)
        a->web_dir = value;
    else if (strcmp(word, "--store-show") == 0)
        a->show = value;
    else if (strcmp(word, "--store-migrate") == 0)
        a->migrate = value;
    else if (strcmp(word, "--ready-fd") != 0 || number_parse_int(value, &number, NULL) < 0
             || number < 0 || number >= 1024)
        return -EINVAL;
    else
        a->ready_fd = (int)number;
    return 0;
}

/* How many words it has taken; <0: none. */
static int take_argument(int argc, char **argv, int i, struct arguments *a) {
    if (take_flag(argv[i], a))
        return 1;
    if (strcmp(argv[i], "--store-copy") == 0 && i + 2 < argc) {
        a->copy_from = argv[i + 1];
        a->copy_to = argv[i + 2];
        return 3;
    }
    if (i + 1 == argc || take_value(argv[i], argv[i + 1], a) < 0)
        return -EINVAL;
    return 2;
}

int arguments_read(int argc, char **argv, struct arguments *ret_arguments) {
    struct arguments a = { .ready_fd = -1 };
    for (int i = 1, taken; i < argc; i += taken) {
        taken = take_argument(argc, argv, i, &a);
        if (taken < 0)
            return i;
    }
    *ret_arguments = a;
    return 0;
}
