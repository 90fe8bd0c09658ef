# torture.sh: the environment of the programs in tests/torture.
# shellcheck shell=sh
PROOF_BUILD=$(cd "$PROOF_BUILD" && pwd)
SLUICED=$PROOF_BUILD/sluiced
SLUICE=$PROOF_BUILD/sluice
SIDE_AGENT=$PROOF_BUILD/tests/torture/side_agent
LOOP_AGENT=$PROOF_BUILD/tests/torture/loop_agent
TREE_AGENT=$PROOF_BUILD/tests/torture/tree_agent
HISTORY_CHECKER=$PWD/tests/history/check.py
SLUICE_TEST_PATIENCE=${SLUICE_TEST_PATIENCE:-600}
export SLUICED SLUICE SIDE_AGENT LOOP_AGENT TREE_AGENT HISTORY_CHECKER SLUICE_TEST_PATIENCE
