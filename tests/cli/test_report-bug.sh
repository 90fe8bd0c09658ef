#!/bin/sh
# sluice report-bug: writes a support bundle, and no secret is in it.
# shellcheck disable=SC1091,SC2154 # lib.sh and daemon.sh set here, home, root and tmp
. "$(dirname "$0")/lib.sh"
. "$here/daemon.sh"

# A secret in every place that the bundle is made from. `status` and `restore` are words of the manual.
ANTHROPIC_API_KEY=plant-in-environment-4711
MY_PASSWORD='restore the status'
export ANTHROPIC_API_KEY MY_PASSWORD
printf 'TOKEN=plant-in-env-file-4711\n' >"$tmp/secrets.env"
printf 'plant-in-secret-file-4711\n' >"$tmp/webhook.secret"
chmod 600 "$tmp/secrets.env" "$tmp/webhook.secret"
config "agents:
  mine:
    command: [sh, -c, 'echo plant-in-output-4711; echo plant-in-errors-4711 >&2; exit 3', '{prompt}']
    prompt: argument
    env: [GH_TOKEN=plant-in-config-4711]
    env_file: $tmp/secrets.env
notify:
  webhook: http://127.0.0.1:9/plant-in-url-4711?token=plant-in-query-4711
  secret_file: $tmp/webhook.secret
retry: {failed: {max: 0}}"
start
run sluice token add plant-name --scope read
token=$(sed -n 's/.*\(slt_[A-Za-z0-9_-]*\|[A-Za-z0-9_-]\{24,\}\).*/\1/p' out | head -n 1)
rule 'a token was made' [ -n "$token" ]
run sluice add --agent mine --title plant-in-title-4711 plant-in-prompt-4711
id=$(cut -d ' ' -f 1 out)
becomes "$id" failed
run sluice add --hold --env SECRET=plant-in-task-4711 -- curl "https://ann:plant-in-command-4711@example.org"

run sluice report-bug --output bug.tar
exits 0 'report-bug: exit code'
has "wrote $tmp/bug.tar" 'it names the file'
has 'Nothing was sent' 'and says that nothing was sent'
rule 'only its owner can read it' [ "$(stat -c %a bug.tar)" = 600 ]
mkdir bundle
rule 'it is a tar archive' tar -xf bug.tar -C bundle --strip-components 1
for file in README.txt machine.txt doctor.json config.json status.json events.json daemon.log; do
    rule "$file is in it, and listed" grep -q "$file" bundle/README.txt
    rule "$file is not empty" [ -s "bundle/$file" ]
done
for secret in plant-in 4711-none 'restore the status' "$token" "$tmp"; do
    rule "no '$secret' is in it" not grep -rqF -e "$secret" bundle bug.tar
done
rule 'not even a part of one' not grep -rqiE 'plant|gh_token|example\.org' bundle
rule 'but what a developer needs: the version' grep -q '^sluice  *[0-9]' bundle/machine.txt
rule 'but what a developer needs: settings' grep -q 'retry.failed.max' bundle/config.json
rule 'but what a developer needs: states' grep -q '"failed"' bundle/status.json
rule 'but what a developer needs: events' grep -q 'task.added' bundle/events.json
rule 'but what a developer needs: messages of the daemon' grep -q ' info ready (pid ' bundle/daemon.log

run sluice report-bug --output bug.tar
exits 4 'an existing file: exit code'
says "sluice: '$tmp/bug.tar' already exists; choose another file with --output" 'an existing file is not overwritten'
run sluice down
run sluice report-bug --json --output down.tar
exits 0 'without a daemon: exit code'
has "\"file\":\"$tmp/down.tar\"" 'without a daemon: the file'
rule 'and none was started' not grep -q 'started the daemon' err
config 'limits: {rnus: plant-in-mistake-4711}'
run sluice report-bug --output mistake.tar
exits 0 'an invalid configuration: exit code'
rule 'an invalid configuration: its message is in it' grep -aq 'unknown key' mistake.tar
rule 'an invalid configuration: no secret' not grep -aq plant mistake.tar
run sluice report-bug --output "$tmp/missing/bug.tar"
exits 1 'a folder that does not exist: exit code'
run sluice report-bug now
exits 2 'an argument'
finish
