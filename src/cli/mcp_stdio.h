/* mcp_stdio.h: the MCP server on standard input and output, with the daemon behind it.
 *
 * One JSON-RPC message a line. Nothing else is written to stdout; what people should know goes to stderr.
 * Ends with CMD_OK when stdin ends, with CMD_FAILED when nobody reads stdout any more. A daemon that is not
 * there is started by the first tool that changes something, as by other commands; one that goes away while a
 * client waits is waited for. */
#pragma once

int mcp_stdio_run(void);
