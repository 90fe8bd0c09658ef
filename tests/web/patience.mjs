// patience.mjs: the timeout of waits, like tests/harness/patience.h for C: it ends a test that hangs, and never measures
// speed. scripts/run-tests sets SLUICE_TEST_PATIENCE, in seconds.
const seconds = Number.parseInt(process.env.SLUICE_TEST_PATIENCE ?? '', 10);

export const patience = (seconds > 0 && seconds < 86400 ? seconds : 300) * 1000; // ms
