# kit.sh: tests a document: runs the commands of its fenced blocks, in their order, as a reader would type them.
# Source it with `. "$(dirname "$0")/kit.sh"`. CONTRIBUTING.md describes how documents are tested.
#
#   document PATH              sets the document, relative to the root of the repository
#   before TEXT FUNCTION       calls the function before each command that begins with TEXT
#   after TEXT FUNCTION        calls the function after each such command
#   instead TEXT FUNCTION      calls the function with the file of a block whose first line begins with TEXT, instead of
#                              running the block
#   state_of SYSTEM PATH       copies the small example of a system's state (tests/fixtures/import) to PATH
#   repository PATH            creates a git repository in PATH
#   play                       runs all blocks; each command is one result, named by document and line
#   printed TEXT               prints the output of the command that begins with TEXT
#   says_that TEXT WORDS       asserts that this output contains WORDS
#   prompted WORDS 'what'      asserts that an agent got a prompt with WORDS
#   started AGENT              prints the number of runs of the agent
#   are STATE ID...            asserts that each of these tasks is in this state
#   agents_can_log             lets agents write their log from the sandbox; if the document creates the configuration, call
#                              it after 'sluice init'
#   start_over                 resets the system to empty
#   drained                    waits until nothing waits or runs
#   played                     the last line: asserts that each agent was started as docs/guide/agents.md says, and in a sandbox; that
#                              commands in the text exist; that the document has the commands of `before`, `after` and
#                              exempt.txt
#
# Kinds of blocks: `sh`: each command must succeed. `console`: `$ ` begins a command, and its output follows; only a command
# before `echo $?` may fail. `yaml`: settings are set, tasks become drafts, a formula is written to the path in its first line.
# Settings of which the first line is a comment with a path are of another machine: they are checked, and not set. `json`: must be
# valid. `python`: is run. `sql`: must be in exempt.txt. `text`: no commands. exempt.txt lists the blocks and commands that are not run.
#
# A listener of the daemon gets a free port: `127.0.0.1:7878` in a command is port 0 when it is set, and that of the listener otherwise.
# Commands run in $HOME/work, with a new $HOME, and with the programs of the build and fake agents (`agent` in this folder) in
# PATH. `cd`, exported variables and `$?` carry over from command to command; other variables do not.
# shellcheck shell=sh disable=SC1091,SC2016,SC2034,SC2153,SC2154 # lib.sh sets tmp, root, code; the tests use the others

. "$(dirname "$0")/../cli/lib.sh"
. "$root/tests/cli/daemon.sh"
# As on a reader's machine: everything is in the default folders of $HOME.
unset SLUICE_HOME
home=$HOME/.local/share/sluice
exempt=$root/tests/docs/exempt.txt
newline='
'
tab=$(printf '\t')
status=0 # of the last command: $? of the next one

# Both may be below /tmp, and a sandbox has its own /tmp.
programs=$(dirname "$(readlink -f "$SLUICE")")
sources=$(dirname "$(dirname "$(dirname "$(readlink -f "$root/tests/docs/agent")")")")
bin=$tmp/bin
log=$tmp/agents
mkdir -p "$bin" "$log" "$tmp/blocks" "$tmp/steps" "$HOME/work" "$HOME/src"
: >"$log/argv"
: >"$tmp/hooks"
: >"$tmp/used"
: >"$tmp/steps.list"
: >"$tmp/environment"
echo "$HOME/work" >"$tmp/directory"
ln -s "$SLUICE" "$(dirname "$SLUICE")/sluiced" "$bin"
for name in claude codex gemini opencode copilot; do
    ln -s "$sources/tests/docs/agent" "$bin/$name"
done
# A fake manager of user services, so that documents can install the service.
FAKE=$tmp/systemd
XDG_RUNTIME_DIR=$tmp/runtime # as after a login
mkdir "$FAKE"
mkdir -m 700 "$XDG_RUNTIME_DIR"
echo 252 >"$FAKE/version"
ln -s "$root/tests/cli/fakes/systemctl" "$root/tests/cli/fakes/loginctl" "$bin"
PATH=$bin:$PATH
export FAKE PATH XDG_RUNTIME_DIR
git config --global user.name reader
git config --global user.email reader@localhost
git config --global init.defaultBranch main

document() {
    page=$1
    awk -v into="$tmp/blocks" -f "$root/tests/docs/blocks.awk" "$root/$page" >"$tmp/blocks.list" 2>"$tmp/err"
    code=$?
    : >"$tmp/out"
    report $code "$page: each block has a kind"
}

# Replaces the folders in the examples, which are those of another machine.
state_of() { # SYSTEM PATH
    rm -rf "$tmp/examples"
    mkdir -p "$tmp/examples" "$(dirname "$2")"
    cp -R "$root/tests/fixtures/import/prepare" "$root/tests/fixtures/import/$1" "$tmp/examples"
    grep -rlIE --devices=skip '/(home|Users)/ines' "$tmp/examples" >"$tmp/files"
    while IFS= read -r file; do
        sed -E -i "s,/(home|Users)/ines,$HOME,g" "$file"
    done <"$tmp/files"
    SQLITE=${SLUICE_TEST_SQL:-$(dirname "$SLUICE")/tests/harness/run_sql} "$tmp/examples/prepare" "$1" small "$2" ||
        { echo "Bail out! cannot prepare $1" && exit 1; }
}

repository() { # PATH
    git init -q "$1" && git -C "$1" commit -q --allow-empty -m first
}

# Where bubblewrap works, agents run in a sandbox. The fake agents also need to read recordings and write a log.
agents_can_log() {
    "$SLUICE" config set "tasks.sandbox_read=$bin $programs $sources" "tasks.sandbox_write=$log" >/dev/null
}

# For a section of a document that begins with an empty system.
start_over() {
    stop_daemon
    rm -rf "$home" "$HOME/.config/sluice"
    agents_can_log
}

# --- exemptions and hooks ----------------------------------------------------------------------

# is_exempt block|command TEXT: TEXT is the complete first line. Lines of the list: document :: block or command :: line :: reason.
is_exempt() {
    grep -v '^#' "$exempt" | what="$page :: $1 :: $2 :: " awk 'index($0, ENVIRON["what"]) == 1 { found = 1 } END { exit !found }' ||
        return 1
    printf '%s\n' "exempt$tab$1$tab$2" >>"$tmp/used"
}

hook() { # KIND TEXT FUNCTION
    printf '%s\n' "$1$tab$2$tab$3" >>"$tmp/hooks"
}

before() { hook before "$1" "$2"; }
after() { hook after "$1" "$2"; }
instead() { hook instead "$1" "$2"; }

# Prints the functions of a kind for a command.
hooks_of() { # KIND COMMAND
    command=$2 awk -F '\t' -v kind="$1" -v used="$tmp/used" \
        '$1 == kind && index(ENVIRON["command"], $2) == 1 { print $3; print >>used }' "$tmp/hooks"
}

call_hooks() { # KIND COMMAND
    for function in $(hooks_of "$1" "$2"); do
        "$function" || report 1 "$page:$begin: $1 '$2': $function"
    done
}

# --- commands -----------------------------------------------------------------------------------

# The URL of the TCP listener.
listener() {
    "$SLUICE" status --json | sed -n 's|.*"http":{"url":"http://\([^"]*\)".*|\1|p'
}

with_port() { # COMMAND
    case $1 in
    *127.0.0.1:[0-9]*) ;;
    *) printf '%s' "$1" && return ;;
    esac
    case $1 in
    *listen=*) to=127.0.0.1:0 ;;
    *) to=$(listener) ;;
    esac
    printf '%s' "$1" | sed "s/127\.0\.0\.1:[0-9]*/$to/g"
}

# Writes the script of one command: restores the directory and the variables of the last command, then runs this one.
write_script() { # COMMAND
    {
        cat "$tmp/environment"
        printf 'cd "%s" || exit 1\n' "$(cat "$tmp/directory")"
        printf '(exit %d)\n%s\n' "$status" "$(with_port "$1")"
        printf 'set -- $?\npwd >"%s"\nexport -p >"%s"\nexit "$1"\n' "$tmp/directory" "$tmp/environment"
    } >"$tmp/script"
}

# Runs it; sets $status, and writes the files out and err (`console`: everything to out). A command that follows output must
# end by itself: a `before` hook does what it waits for.
execute() { # KIND COMMAND
    write_script "$2"
    : >"$tmp/err"
    case $1 in
    console) timeout -k 10 "$patience" sh -u "$tmp/script" >"$tmp/out" 2>&1 </dev/null ;;
    *) timeout -k 10 "$patience" sh -u "$tmp/script" >"$tmp/out" 2>"$tmp/err" </dev/null ;;
    esac
    status=$?
    code=$status
    count=$(($(wc -l <"$tmp/steps.list") + 1))
    cat "$tmp/out" "$tmp/err" >"$tmp/steps/$count"
    printf '%s\n' "$count $(printf '%s\n' "$2" | head -n 1)" >>"$tmp/steps.list"
}

# step KIND COMMAND: one command of a document, from line $begin on.
step() {
    line=$(printf '%s\n' "$2" | head -n 1)
    ! is_exempt command "$line" || return 0
    call_hooks before "$2"
    execute "$1" "$2"
    case $1 in
    sh)
        rule "$page:$begin: $line" [ "$status" = 0 ]
        ;;
    console)
        [ "$status" = 0 ] || [ "$tolerant" = 1 ]
        report $? "$page:$begin: $line"
        ;;
    esac
    call_hooks after "$2"
}

# Whether a command is complete: no continuation, no open quote or clause, no open here-document.
is_complete() { # COMMAND
    case $1 in
    *\\"$newline") return 1 ;;
    esac
    sh -n -c "$1" 2>/dev/null || return 1
    word=$(printf '%s' "$1" | sed -n "s/.*<<-\{0,1\} *['\"]\{0,1\}\([A-Za-z_]*\).*/\1/p" | head -n 1)
    [ -z "$word" ] || [ "$(printf '%s' "$1" | tail -n 1)" = "$word" ]
}

is_blank() { # COMMAND: blank lines and comments
    [ -z "$(printf '%s' "$1" | sed '/^[[:space:]]*\(#.*\)\{0,1\}$/d')" ]
}

play_sh() { # LINE FILE
    at=$1
    command=
    while IFS= read -r text <&4; do
        at=$((at + 1))
        [ -n "$command" ] || begin=$at
        command=$command$text$newline
        if is_blank "$command"; then
            command=
        elif is_complete "$command"; then
            step sh "${command%"$newline"}"
            command=
        fi
    done 4<"$2"
    [ -z "$command" ] || report 1 "$page:$begin: the command has no end"
}

# The same with `$ ` before commands, `> ` before continuation lines, and the output after each command.
play_console() { # LINE FILE
    at=$1
    command=
    : >"$tmp/want"
    while IFS= read -r text <&4; do
        at=$((at + 1))
        case $text in
        "\$ "*)
            [ -z "$command" ] || play_shown "${text#"\$ "}"
            command=${text#"\$ "}
            begin=$at
            : >"$tmp/want"
            ;;
        "> "*) command=$command$newline${text#"> "} ;;
        *) printf '%s\n' "$text" >>"$tmp/want" ;;
        esac
    done 4<"$2"
    if [ -n "$command" ]; then play_shown ''; else report 1 "$page:$1: a console has a line that begins with '\$ '"; fi
}

play_shown() { # NEXT
    tolerant=0
    [ "$1" != 'echo $?' ] || tolerant=1
    step console "$command"
    normal <"$tmp/want" >"$tmp/want.normal"
    normal <"$tmp/out" >"$tmp/out.normal"
    awk -f "$root/tests/docs/shown.awk" "$tmp/want.normal" "$tmp/out.normal" >"$tmp/diff"
    report $? "$page:$begin: prints what is shown"
}

# Masks what differs from run to run: times, durations, dates, ports, process ids.
normal() {
    sed -E -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}/DATE/g' -e 's/[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?/TIME/g' \
        -e 's/127\.0\.0\.1:[0-9]+/127.0.0.1:PORT/g' -e 's/pid [0-9]+/pid PID/g' \
        -e 's/\b[0-9]+(\.[0-9]+)? (ms|s|min|h|d)\b/SPAN/g'
}

# Prints settings, tasks (a list, or a list under `tasks`) or formula (`steps`).
yaml_kind() { # FILE
    awk '
        /^ *(#|$)/ { next }
        !seen++ && /^- / || after && /^ *- / || /^tasks: *\[/ { kind = "tasks" }
        /^steps:/ { kind = "formula" }
        { after = /^tasks: *$/ }
        END { print kind ? kind : "settings" }' "$1"
}

play_yaml() { # LINE FILE
    begin=$1
    "play_$(yaml_kind "$2")" "$2"
}

# Adds the settings to the file as a reader would; an existing key is replaced.
play_settings() { # FILE
    cp "$1" "$tmp/block.yaml"
    run sluice config show --file "$tmp/block.yaml"
    if sed -n 1p "$1" | grep -q '^# [^ ]*\.yaml'; then
        exits 0 "$page:$begin: settings are valid"
        return
    fi
    sed -n 's/ *[^ ]*block\.yaml:[0-9]*$//p' "$tmp/out" >"$tmp/settings"
    [ "$code" != 0 ] || [ -s "$tmp/settings" ] || code=1
    report "$code" "$page:$begin: settings"
    [ "$code" = 0 ] || return
    set --
    while read -r key value <&5; do
        set -- "$@" "$key=$value"
    done 5<"$tmp/settings"
    run sluice config set "$@"
    exits 0 "$page:$begin: are accepted"
}

# As drafts, because the commands of the tasks do not exist here.
play_tasks() { # FILE
    cp "$1" "$HOME/work/tasks.yaml"
    run sluice add --draft --file "$HOME/work/tasks.yaml"
    exits 0 "$page:$begin: tasks"
}

# Its first line is a comment with its name: "# formulas/release.yaml".
play_formula() { # FILE
    name=$(sed -n '1s/^# *//p' "$1")
    mkdir -p "$HOME/.config/sluice/formulas"
    cp "$1" "$HOME/.config/sluice/${name:-formulas/unnamed.yaml}"
    run sluice formula check "$(basename "${name:-unnamed}" .yaml)"
    exits 0 "$page:$begin: formula"
}

play_text() { # LINE FILE
    : >"$tmp/out"
    grep -nE '^ *(\$ |sluice |sudo |make |git )' "$2" >"$tmp/out"
    rule "$page:$1: text has no commands" [ ! -s "$tmp/out" ]
}

play_python() { # LINE FILE
    run python3 "$2"
    exits 0 "$page:$1: is run by Python"
}

play_sql() { # LINE FILE
    report 1 "$page:$1: is in exempt.txt"
}

play_json() { # LINE FILE
    run python3 -m json.tool "$2"
    exits 0 "$page:$1: is JSON"
}

play() {
    while read -r opened kind <&3; do
        block=$tmp/blocks/$opened
        top=$(head -n 1 "$block")
        ! is_exempt block "$top" || continue
        own=$(hooks_of instead "$top")
        if [ -n "$own" ]; then
            rule "$page:$opened: $own" "$own" "$block"
        else
            "play_$kind" "$opened" "$block"
        fi
    done 3<"$tmp/blocks.list"
}

# --- checks after the last command -------------------------------------------------------------

printed() {
    found=$(text=$1 awk '{ at = $1; sub(/^[0-9]* /, "") } index($0, ENVIRON["text"]) == 1 { print at; exit }' "$tmp/steps.list")
    cat "$tmp/steps/${found:?no command begins with $1}"
}

says_that() {
    printed "$1" >"$tmp/out"
    has "$2" "$page: '$1' prints '$2'"
}

prompted() {
    : >"$tmp/err"
    cat "$log"/*.prompt >"$tmp/out" 2>/dev/null
    has "$1" "$2"
}

started() {
    awk -v name="$1" '$2 == name { n++ } END { print n + 0 }' "$log/argv"
}

task_count() { # STATE
    "$SLUICE" list --all --ids --limit 1000 --state "$1" | wc -l
}

nothing_waits() {
    [ -z "$("$SLUICE" list --ids --state waiting,ready,starting,running --limit 1)" ]
}

drained() {
    soon nothing_waits
    code=$?
    "$SLUICE" list --all >"$tmp/out" 2>"$tmp/err"
    report $code "$page: nothing waits or runs any more"
}

# are STATE ID...: each of these tasks is in this state.
are() {
    wanted=$1
    shift
    for id; do
        "$SLUICE" show "$id" >"$tmp/out" 2>"$tmp/err"
        rule "$page: $id is $wanted" in_state "$id" "$wanted"
    done
}

# A run that is started with other arguments than those of its adapter has no limits, sessions or tokens.
check_adapters() {
    sed -n 's/^| `\([a-z]*\)` | `\([a-z]* [^`]*\)` |.*/\1 \2/p' "$root/docs/guide/agents.md" >"$tmp/adapters"
    awk '
        NR == FNR { name = $1; sub(/^[a-z]* /, ""); if (!(name in wanted)) wanted[name] = $0; next } # later: at a terminal
        { sub(/^[^ ]* /, "") }
        !($1 in wanted) || index($0 " ", wanted[$1] " ") != 1 { print; failed = 1 }
        END { exit failed }' "$tmp/adapters" "$log/argv" >"$tmp/out"
    code=$?
    [ -s "$tmp/adapters" ] && [ $code = 0 ]
    report $? "$page: each agent is started through its adapter"
}

check_sandbox() {
    cat "$log"/*.sandbox 2>/dev/null | sort -u >"$tmp/out"
    if [ -s "$tmp/out" ]; then
        "$SLUICE" up >/dev/null 2>&1
        "$SLUICE" status --json | first auto | cmp -s - "$tmp/out"
        report $? "$page: each agent is in a sandbox, where that is possible"
    fi
}

# Prints the errors of a command in the text: "sluice list --parent ID". Checks only commands, options and settings.
check_command() {
    case $1 in
    'sluice config set '*=...* | 'sluice config set KEY=VALUE' | 'sluice config set') return ;;
    'sluice config set '*)
        : >"$tmp/scratch.yaml"
        printf '%s\n' "${1#sluice config set }" | { xargs "$SLUICE" config set --file "$tmp/scratch.yaml" >/dev/null; } 2>&1
        return
        ;;
    esac
    # shellcheck disable=SC2086 # words
    set -- $1
    { "$SLUICE" "$2" "${3-}" --help || "$SLUICE" "$2" --help; } >"$tmp/help" 2>/dev/null || echo "there is no 'sluice $2'"
    for word; do
        case $word in
        -- | '…') break ;;
        --*) grep -qE -e "(^|[^a-z-])$word([^a-z-]|\$)" "$tmp/help" || echo "'sluice $2' has no '$word'" ;;
        esac
    done
}

check_text() {
    awk '/^ *(```|~~~)/ { inside = !inside } !inside' "$root/$page" | grep -oE '`sluice [^`]*`' | tr -d '`' | sort -u >"$tmp/commands"
    while IFS= read -r text <&4; do
        check_command "$text" | while IFS= read -r wrong; do printf '%s: %s\n' "$text" "$wrong"; done
    done 4<"$tmp/commands" >"$tmp/out"
    rule "$page: the commands in the text exist" [ ! -s "$tmp/out" ]
}

# Prints unused hooks and exemptions: the document has changed. An exemption is for one command or block.
check_used() {
    {
        cat "$tmp/hooks"
        awk -F ' :: ' -v page="$page" '!/^#/ && $1 == page { print "exempt\t" $2 "\t" $3 }' "$exempt"
    } | grep -vxFf "$tmp/used" >"$tmp/out"
    grep '^exempt' "$tmp/used" | sort | uniq -d >>"$tmp/out"
    rule "$page: has the commands that the test and exempt.txt name, and those of exempt.txt once" [ ! -s "$tmp/out" ]
}

played() {
    check_adapters
    check_sandbox
    check_text
    check_used
    finish
}
