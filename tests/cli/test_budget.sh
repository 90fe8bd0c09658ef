#!/bin/sh
# sluice budget: shows and changes the budget of a task.
# shellcheck disable=SC2016,SC2154 # lib.sh and daemon.sh set home, id, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

run sluice pause
run sluice project add web
add --project web --tokens 100000 --run-usd 2.5 -- true
run sluice budget web-1
exits 0 'show: exit code'
prints 'web-1 ready; a run that exceeds its budget continues to its end
  OF            UNIT     USED     BUDGET  NOTE
  run           tokens      -  unlimited  -
  run           usd         -      $2.50  -
  task          tokens      0    100,000  -
  task          usd     $0.00  unlimited  -
  project       tokens      0  unlimited  -
  project       usd     $0.00  unlimited  -
  all projects  tokens      0  unlimited  -
  all projects  usd     $0.00  unlimited  -' 'show'
run sluice budget web-1 --usd 5 --run-tokens 2000 --on-budget stop
exits 0 'change: exit code'
prints 'web-1 budget changed: ready' 'change'
run sluice budget web-1
has 'is stopped' 'the way to stop'
has '$5.00' 'the money'
has '2,000' 'the tokens of a run'
has '100,000' 'what was not given stays'
run sluice budget --json web-1
exits 0 'JSON: exit code'
has '"on_budget":"stop"' 'JSON'
run sluice budget web-1 --tokens unlimited
run sluice show web-1
has 'task $0.00 of $5.00' 'show has the limits'
run sluice budget web-1 --tokens 0
prints 'web-1 budget changed: held:budget' 'nothing left: it is held'
run sluice why web-1
has 'it has used 0 of 0 tokens; raise it with `sluice budget web-1 --tokens N`' 'and why says what to do'

# Bad input: one error message, and no change.
usage='usage: sluice budget ID [--tokens N] [--usd X] [--run-tokens N] [--run-usd X] [--on-budget HOW] [--booked-tokens N] [--booked-usd X] [--attempt N]'
for given in lots '' 1.5 -; do
    run sluice budget web-1 --tokens "$given"
    exits 2 "--tokens '$given': exit code"
    says "sluice: option '--tokens': expected a whole number or unlimited, got '$given'
$usage" "--tokens '$given'"
done
for given in '$' 1,5 1e3 0.0000001; do
    run sluice budget web-1 --run-usd "$given"
    exits 2 "--run-usd '$given': exit code"
    says "sluice: option '--run-usd': expected dollars like 2.50 or unlimited, got '$given'
$usage" "--run-usd '$given'"
done
run sluice budget web-1 --tokens=-5
exits 2 'less than nothing: exit code'
run sluice budget web-1 --on-budget explode
exits 2 'an unknown way: exit code'
says "sluice: parameter 'on_budget' is 'explode'; expected hold or stop" 'an unknown way'
run sluice budget
exits 2 'no task: exit code'
says "sluice: 'budget' needs 1 argument
$usage" 'no task'
run sluice budget ''
exits 2 'an empty id: exit code'
run sluice budget nope-99
exits 1 'an unknown task: exit code'
says "sluice: there is no task 'nope-99'" 'an unknown task'
run sluice add --project web --usd 1.2.3 -- true
exits 2 'add with a bad amount: exit code'

# Usage that a run has booked.
run sluice resume
add --project web -- sh -c "SLUICE_HOME= '$SLUICE' report --tokens 1000 --cost 2"
ends "$id"
run sluice budget "$id" --booked-tokens 100 --booked-usd 0.5
prints "$id attempt 1 corrected" 'corrected'
run sluice budget "$id"
grep -qE '^ *task +tokens +100 ' out && grep -qE '^ *task +usd +\$0\.50 ' out
report $? 'and it counts'
run sluice budget --json "$id" --booked-usd 0.25 --attempt 1
has '"attempt":1' 'as JSON'
run sluice budget "$id" --booked-tokens many
exits 2 'no number: exit code'
run sluice budget "$id" --booked-usd unlimited
exits 2 'unlimited is no cost: exit code'
run sluice budget "$id" --attempt 1
exits 2 'an attempt alone: exit code'
run sluice budget "$id" --booked-usd 1 --usd 2
exits 2 'a correction and a change: exit code'
run sluice budget "$id" --booked-usd 1 --attempt 9
exits 1 'an attempt that there is not: exit code'
says "sluice: task '$id' has no attempt 9" 'an attempt that there is not'
finish
