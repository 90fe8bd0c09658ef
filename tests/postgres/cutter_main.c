/* cutter_main.c: the proxy as a program, for shell tests.
 *
 * usage: cutter URL     URL: postgresql://USER:PASSWORD@ADDRESS:PORT/…
 *
 * Prints the URL to use instead. Then each line of its input is a plan such as "after 3" (cutter.h lists them; "reset
 * after 3" resets the connection). It answers "set", prints the plan when it is done, and reads the next line. It exits
 * at the end of its input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cutter.h"

int main(int argc, char **argv) {
    char line[128], word[32];
    unsigned long nth;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: cutter URL\n");
        return 2;
    }
    struct cutter *cutter = cutter_new(argv[1]);
    (void)printf("%s\n", cutter_url(cutter));
    (void)fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        enum cut cut;
        bool reset = strncmp(line, "reset ", 6) == 0;
        if (sscanf(line + (reset ? 6 : 0), "%31s %lu", word, &nth) != 2 || !cut_parse(word, &cut)) {
            (void)fprintf(stderr, "cutter: no plan: %s", line);
            return 2;
        }
        cutter_set(cutter, cut, nth, reset);
        (void)printf("set\n");
        (void)fflush(stdout);
        (void)cutter_wait(cutter, -1);
        (void)printf("%s %lu\n", word, nth);
        (void)fflush(stdout);
    }
    cutter_free(cutter);
    return 0;
}
