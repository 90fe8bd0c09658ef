#!/bin/sh
# The recipes of contrib/github and contrib/gitlab, with fake gh and glab programs: exit codes, summaries and feedback; and
# ci-green as a check of a task whose branch is in a real git remote.
# shellcheck disable=SC1091,SC2016,SC2034,SC2154 # kit.sh sets home and tmp; $ is for inner shells
. "$(dirname "$0")/kit.sh"
. "$here/repository.sh"

mkdir bin
cat >bin/gh <<'END'
#!/bin/sh
# A fake gh: `pr checks` and `pr view` print what the files say. The exit code is the first line of the file.
echo "gh $*" >>"$FAKE/calls"
case "$1 $2 $*" in
*'reviews,comments'*) file=reviews ;;
'pr checks '*) file=checks ;;
'pr view '*) file=view ;;
*) echo "unknown command $*" >&2 && exit 1 ;;
esac
sed 1d "$FAKE/$file"
exit "$(head -n 1 "$FAKE/$file")"
END
cat >bin/glab <<'END'
#!/bin/sh
# A fake glab, in the same way.
echo "glab $*" >>"$FAKE/calls"
case "$1 $2 $*" in
*--comments*) file=reviews ;;
'ci status '*) file=checks ;;
'mr view '*) file=view ;;
*) echo "unknown command $*" >&2 && exit 1 ;;
esac
sed 1d "$FAKE/$file"
exit "$(head -n 1 "$FAKE/$file")"
END
chmod +x bin/gh bin/glab
FAKE=$tmp/fake
PATH=$tmp/bin:$PATH
export FAKE PATH
mkdir fake
fake() { # FILE CODE LINES...
    file=$1
    shift
    printf '%s\n' "$@" >"fake/$file.new"
    mv "fake/$file.new" "fake/$file"
}
tab=$(printf '\t')
last() {
    tail -n 1 out
}

# --- gh ------------------------------------------------------------------------------------------------

ci=$root/contrib/github/ci-green
fake checks 0 "pass${tab}build${tab}https://ci/1" "skipping${tab}docs${tab}https://ci/2"
run "$ci" 12
exits 0 'ci-green: all passed is yes'
rule 'with a summary' [ "$(last)" = '2 passed' ]
rule 'the pull request is passed on' grep -q '^gh pr checks 12 --json bucket,name,link' fake/calls
fake checks 8 "pass${tab}build${tab}https://ci/1" "pending${tab}test${tab}https://ci/2"
run "$ci"
exits 75 'a pending check is not yet'
rule 'with the numbers' [ "$(last)" = '1 pending, 1 passed' ]
fake checks 1 "fail${tab}unit tests${tab}https://ci/3" "pending${tab}test${tab}https://ci/2" "cancel${tab}lint${tab}https://ci/4"
run "$ci"
exits 1 'a failed check is no, even while others are pending'
prints 'unit tests: https://ci/3
lint: https://ci/4
2 failed, 1 pending, 0 passed' 'the failed ones are listed with their links'
fake checks 1 "no checks reported on the 'x' branch"
run "$ci"
exits 75 'no checks yet is not yet'
fake checks 1 'no pull requests found for branch "x"'
run "$ci"
exits 1 'no pull request is no'
fake checks 4 'To get started with GitHub CLI, please run:  gh auth login'
run "$ci"
exits 75 'a login that is missing is not yet'
rule 'with what gh says' grep -q 'gh auth login' out

merged=$root/contrib/github/pr-merged
fake view 0 "MERGED${tab}APPROVED${tab}2027-01-31T18:30:00Z"
run "$merged" 12
exits 0 'pr-merged: merged is yes'
prints 'merged at 2027-01-31T18:30:00Z' 'with the time'
fake view 0 "OPEN${tab}REVIEW_REQUIRED${tab}"
run "$merged"
exits 75 'open is not yet'
prints 'open; review: REVIEW_REQUIRED' 'with the state of the review'
fake view 0 "OPEN${tab}CHANGES_REQUESTED${tab}"
fake reviews 0 'ada: rename this function'
run "$merged"
exits 1 'requested changes are no'
prints 'ada: rename this function
changes were requested' 'with the reviews'
fake view 0 "CLOSED${tab}${tab}"
run "$merged"
exits 1 'closed is no'
fake view 1 'error connecting to api.github.com'
run "$merged"
exits 75 'no network is not yet'

# --- glab ----------------------------------------------------------------------------------------------

ci=$root/contrib/gitlab/ci-green
fake checks 0 "(success) • 00m 12s${tab}test${tab}unit" 'https://gitlab/p/1' 'SHA: 1234' 'Pipeline state: success'
run "$ci" feature
exits 0 'gitlab: a pipeline that passed is yes'
rule 'the branch is passed on' grep -q '^glab ci status --branch feature' fake/calls
fake checks 0 "(running) • 00m 12s${tab}test${tab}unit" 'Pipeline state: running'
run "$ci"
exits 75 'a running one is not yet'
fake checks 1 "(failed) • 00m 12s${tab}test${tab}unit" "(success) • 00m 2s${tab}test${tab}lint" 'https://gitlab/p/1' \
    'Pipeline state: failed'
run "$ci"
exits 1 'a failed one is no'
prints "(failed) • 00m 12s${tab}test${tab}unit
https://gitlab/p/1
pipeline: failed" 'with the failed jobs'
fake checks 1 'No pipelines running or available on branch: feature'
run "$ci"
exits 75 'no pipeline yet is not yet'

merged=$root/contrib/gitlab/pr-merged
fake view 0 '{"id":1,"title":"say \"state\":\"closed\"","state":"merged","merged_at":"2027-01-31T18:30:00Z","author":{"state":"active"}}'
run "$merged" 3
exits 0 'gitlab: merged is yes'
prints 'merged at 2027-01-31T18:30:00Z' 'with the time'
fake view 0 '{"state": "opened", "detailed_merge_status": "not_approved", "blocking_discussions_resolved": true}'
run "$merged"
exits 75 'open is not yet'
prints 'open; not_approved' 'with the status'
fake view 0 '{"state":"opened","blocking_discussions_resolved":false}'
fake reviews 0 'ada commented: rename this'
run "$merged"
exits 1 'open threads are no'
prints 'ada commented: rename this
threads are not resolved' 'with the threads'
fake view 0 '{"state":"closed"}'
run "$merged"
exits 1 'closed is no'

# --- a task whose CI is red once ---------------------------------------------------------------------------

git init -q --bare remote.git
repository repo
git -C repo remote add origin "$tmp/remote.git"
git -C repo push -q origin main
cat >worker <<'END'
#!/bin/sh
# An agent: commits, pushes its branch, which starts CI, and keeps its feedback.
cp "${SLUICE_FEEDBACK:-/dev/null}" "$1/feedback.$SLUICE_ITERATION"
echo "iteration $SLUICE_ITERATION" >>work
git add work && git commit -q -m "iteration $SLUICE_ITERATION" && git push -q origin "HEAD:refs/heads/feature" || exit 1
printf '8\npending\ttest\thttps://ci/%s\n' "$SLUICE_ITERATION" >"$FAKE/checks.run"
mv "$FAKE/checks.run" "$FAKE/checks"
END
chmod +x worker
config "probes: {max_every_s: 1}
tasks: {env: [PATH, HOME, FAKE, GIT_CONFIG_SYSTEM]}
retry: {unfinished: {max: 5, delay_s: 0, cap_s: 0}}
agents:
  worker: {command: [$tmp/worker, $tmp], prompt: stdin}
projects:
  web: {path: $tmp/repo, workspace_mode: worktree, merge: local}"
start
pushed() { # COUNT: commits of the branch in the remote
    [ "$(git -C remote.git rev-list --count main..feature 2>/dev/null)" = "$1" ]
}
is_held() {
    [ "$(value "$1" hold)" = check ]
}
printf '%s\n' 'tasks:' '  - id: fix' '    project: web' '    agent: worker' '    prompt: Fix it.' '    until: validate' \
    "    checks: [{run: $root/contrib/github/ci-green feature, every: 1s, pending_timeout: 1h}]" >fix.yaml
run sluice add -f fix.yaml --json
fix=$(field id)
soon is_held "$fix"
rule 'a task waits for the CI of what it has pushed' pushed 1
fake checks 1 "fail${tab}unit tests${tab}https://ci/1"
rule 'when CI fails, the next iteration repairs it' soon pushed 2
rule 'and was given the failed check and its link' grep -q 'unit tests: https://ci/1' feedback.2
soon is_held "$fix"
fake checks 0 "pass${tab}unit tests${tab}https://ci/2"
rule 'when CI is green, it is done' becomes "$fix" 'done'
finish
