// patience.mjs: how long a test waits for an event before it fails, as tests/harness/patience.h says it for C: a deadline
// ends a test that hangs, it never judges speed. scripts/run-tests sets SLUICE_TEST_PATIENCE, in seconds.
const seconds = Number.parseInt(process.env.SLUICE_TEST_PATIENCE ?? '', 10);

export const patience = (seconds > 0 && seconds < 86400 ? seconds : 300) * 1000; // ms
