/* catalog_main.c: prints the table for src/mcp (op_docs.c). A build tool, not installed. */
#include <stdio.h>

#include "base/strbuf.h"
#include "ops/op.h"

int main(void) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    op_print_catalog(&out);
    bool written = fwrite(out.text, 1, out.length, stdout) == out.length;
    return written && fflush(stdout) == 0 ? 0 : 1;
}
