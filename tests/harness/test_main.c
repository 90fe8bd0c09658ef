/* test_main.c: `main` of a test program that has none of its own. */
#include "harness/test.h"

int main(int argc, char **argv) {
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return tests_run();
}
