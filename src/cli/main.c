/* main.c: the process of `sluice`. Everything else is in cmd_main, which tests can link. */
#include "cli/cmd.h"

int main(int argc, char **argv) {
    return cmd_main(argc, argv);
}
