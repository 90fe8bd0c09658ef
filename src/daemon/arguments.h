/* arguments.h: what sluiced was called with. */
#pragma once

#include <stdbool.h>

struct arguments {
    const char *restore, *api, *web_dir, *copy_from, *copy_to, *show, *migrate;
    int ready_fd;
    bool check, doctor, version, help;
};

extern const char arguments_usage[];
/* 0, or which of argv is wrong. --home has its effect at once, as SLUICE_HOME. */
int arguments_read(int argc, char **argv, struct arguments *ret_arguments);
