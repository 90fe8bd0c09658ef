# shown.awk: compares the output of a command with the output in a document.
#
#   awk -f shown.awk SHOWN OUTPUT
#
# Compares line by line. `…` in a line matches any text; a line with only `…` or `...` matches any number of lines. Prints the
# differences; exit code 1 if there are any.

NR == FNR { shown[++wanted] = $0; next }
{ output[++got] = $0 }

function matches(pattern, text,    at, piece) {
    if ((at = index(pattern, "…")) == 0)
        return pattern == text
    piece = substr(pattern, 1, at - 1)
    if (substr(text, 1, length(piece)) != piece)
        return 0
    pattern = substr(pattern, at + length("…"))
    for (at = length(piece) + 1; at <= length(text) + 1; at++)
        if (matches(pattern, substr(text, at)))
            return 1
    return 0
}

# Returns 1 if the rest matches from these lines on. Records the furthest line that matched.
function from(i, j) {
    if (i > best)
        best = i
    if (i > wanted)
        return j > got
    if (shown[i] == "…" || shown[i] == "...")
        return from(i + 1, j) || (j <= got && from(i, j + 1))
    return j <= got && matches(shown[i], output[j]) && from(i + 1, j + 1)
}

END {
    if (from(1, 1))
        exit 0
    if (best <= wanted)
        print "shown:   " shown[best]
    for (i = 1; i <= got; i++)
        print "printed: " output[i]
    exit 1
}
