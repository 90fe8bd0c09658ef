# blocks.awk: the fenced blocks of a Markdown file.
#
#   awk -v into=DIRECTORY -f blocks.awk FILE
#
# Prints "LINE KIND" for each block and writes its text to DIRECTORY/LINE. LINE is the line of the opening fence, so the
# text begins in line LINE + 1. A block without a kind, with an unknown kind, or without an end is an error: "LINE: message" on
# standard error, exit code 1.

BEGIN {
    kinds["sh"] = kinds["console"] = kinds["yaml"] = kinds["json"] = kinds["python"] = kinds["sql"] = kinds["text"] = 1
}

function fail(line, message) {
    print line ": " message >"/dev/stderr"
    failed = 1
}

function fence_of(text) {
    return match(text, /^ *(```+|~~~+)/) ? substr(text, 1, RLENGTH) : ""
}

# Inside a block: the closing fence has the same character, at least as often, and nothing after it.
inside {
    fence = fence_of($0)
    if (fence != "" && $0 ~ /[`~] *$/ && index(strip(fence), mark) == 1 && strip($0) == strip(fence)) {
        inside = 0
        close(file)
        next
    }
    text = $0
    for (i = 0; i < indent && substr(text, 1, 1) == " "; i++)
        text = substr(text, 2)
    print text >file
    next
}

function strip(text) {
    gsub(/^ +| +$/, "", text)
    return text
}

fence_of($0) != "" {
    fence = fence_of($0)
    mark = strip(fence)
    indent = length(fence) - length(mark)
    kind = strip(substr($0, length(fence) + 1))
    inside = 1
    opened = NR
    file = into "/" NR
    printf "" >file
    if (kind == "")
        fail(NR, "the block has no kind: write ```sh, ```console, ```yaml, ```json, ```python, ```sql or ```text")
    else if (!(kind in kinds))
        fail(NR, "unknown kind of block '" kind "': use sh, console, yaml, json, python, sql or text")
    else
        print NR, kind
}

END {
    if (inside)
        fail(opened, "the block has no end")
    exit failed
}
