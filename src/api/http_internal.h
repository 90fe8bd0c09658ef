/* http_internal.h: the two halves of the parser. Private to api/. */
#pragma once

#include "api/http_parser.h"

/* To HTTP_BROKEN. `problem` must be a text constant. */
void http_parser_break(struct http_parser *parser, int status, const char *problem);

/* The head is complete in `parser->head`: fills the request, or breaks the parser. */
void http_head_parse(struct http_parser *parser);
