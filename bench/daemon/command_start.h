/* command_start.h: the time from the start of a command to that of the job it submits.
 *
 * The job is `stamp FIFO`: it writes the time of its first instruction. */
#pragma once

/* Both exit on failure. `fifo` is open for reading and writing. */
double command_start_ms(int fifo, char **argv); /* from the start of `argv`, which is waited for */
double command_started_ms(int fifo, long long began_us); /* from `began_us` (rig_now_us) */
/* Starts a command without output and waits for its end. */
void command_run(char **argv);
