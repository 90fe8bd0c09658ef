/* json_escape.c: see json_escape.h. */
#include "base/json_escape.h"

#include <string.h>

size_t json_escape(unsigned char c, char out[JSON_ESCAPE_MAX]) {
    static const char hex[] = "0123456789abcdef";
    static const char letters[] = {
        ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
        ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
    };
    if (c < sizeof(letters) && letters[c]) {
        memcpy(out, (const char[]){ '\\', letters[c] }, 2);
        return 2;
    }
    if (c >= 0x20 && c != 0x7f)
        return 0;
    memcpy(out, (const char[]){ '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] }, JSON_ESCAPE_MAX);
    return JSON_ESCAPE_MAX;
}
