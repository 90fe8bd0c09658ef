# player.sh: fake agents that do what a test says. Source it after kit.sh.
#
#   player_agents                 prints the section `agents` of the configuration: claude, with sessions, and plain, without
#   adding ARGUMENTS OF ADD...    adds a held task, so that the test can say what its attempts do; sets id
#   plays ATTEMPT SCRIPT          appends to what this attempt of the task does
#   released                      lets the task start
#
# An attempt logs its arguments to plays/RUN.argv and its prompt to plays/RUN.prompt.
# shellcheck shell=sh disable=SC2154 # kit.sh sets tmp

mkdir "$tmp/bin" "$tmp/plays"
cat >"$tmp/bin/claude" <<'END'
#!/bin/sh
run=$PLAYS/$SLUICE_RUN
printf '%s\n' "$*" >"$run.argv"
cat >"$run.prompt"
session=none
while [ $# -gt 1 ]; do
    case $1 in
    --session-id | --resume) session=$2 ;;
    esac
    shift
done
printf '{"type":"system","subtype":"init","session_id":"%s","model":"stub-model","claude_code_version":"2.1.325"}\n' "$session"
[ ! -e "$run.do" ] || . "$run.do"
printf '{"type":"result","subtype":"success","is_error":false,"session_id":"%s","result":"over","permission_denials":[],"terminal_reason":"completed","total_cost_usd":0.1,"usage":{"input_tokens":12,"output_tokens":25}}\n' "$session"
END
chmod +x "$tmp/bin/claude"
PLAYS=$tmp/plays
PATH=$tmp/bin:$PATH
export PATH PLAYS

player_agents() {
    cat <<END
agents:
  claude: {env: ['PLAYS=$tmp/plays', 'SLUICE_BIN=$SLUICE'], linger_s: 0.2}
  plain: {adapter: plain, command: ['sh', '-c', 'run=\$PLAYS/\$SLUICE_RUN; cat >\$run.prompt; [ ! -e \$run.do ] || . \$run.do; echo over'], env: ['PLAYS=$tmp/plays', 'SLUICE_BIN=$SLUICE']}
END
}

adding() {
    add --hold "$@"
}

plays() {
    printf '%s\n' "$2" >>"$tmp/plays/$id.$1.do"
}

released() {
    "$SLUICE" release "$id" >/dev/null
}
