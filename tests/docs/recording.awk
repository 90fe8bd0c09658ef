# recording.awk: draws an animated SVG of the frames that recording.sh has written: "frame SECONDS", then the lines of a screen with
# their escape sequences. Each frame is a group that is visible for its time; without animation only the last one is visible.

function escaped(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}

# Colors of 30 to 37 and 90 to 97, as class names c0 to c7; bold and dim.
function style(codes,    n, part, i) {
    n = split(codes, part, ";")
    if (n == 0)
        color = bold = dim = ""
    for (i = 1; i <= n; i++) {
        if (part[i] == "" || part[i] == 0)
            color = bold = dim = ""
        else if (part[i] == 1)
            bold = " b"
        else if (part[i] == 2)
            dim = " d"
        else if (part[i] == 22)
            bold = dim = ""
        else if (part[i] == 39)
            color = ""
        else if (part[i] >= 30 && part[i] <= 37 || part[i] >= 90 && part[i] <= 97)
            color = " c" (part[i] % 10)
    }
}

function spans(line,    out, text, class) {
    while (line != "") {
        text = match(line, /\033\[[0-9;]*m/) ? substr(line, 1, RSTART - 1) : line
        if (text != "") {
            class = substr(color bold dim, 2)
            out = out (class == "" ? escaped(text) : "<tspan class=\"" class "\">" escaped(text) "</tspan>")
        }
        if (!RSTART)
            break
        style(substr(line, RSTART + 2, RLENGTH - 3))
        line = substr(line, RSTART + RLENGTH)
    }
    return out
}

/^frame [0-9.]+$/ {
    count++
    lasts[count] = $2
    total += $2
    row = 0
    next
}

{
    row++
    text = spans($0)
    bare = text
    gsub(/<[^>]*>/, "", bare)
    if (bare ~ /[^ ]/) {
        if (text ~ /^\$ /)
            text = "<tspan class=\"p\">$</tspan>" substr(text, 2)
        body[count] = body[count] "<text x=\"14\" y=\"" 44 + row * 18 "\">" text "</text>\n"
        if (row > rows)
            rows = row
    }
}

END {
    height = 62 + rows * 18
    print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"860\" height=\"%d\" viewBox=\"0 0 860 %d\">\n", height, height
    print "<title>A terminal: an agent does a task in its own worktree, and two tasks wait for the reset of a rate limit</title>"
    print "<style>"
    print "text{font:13.6px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3;white-space:pre}"
    print ".b{font-weight:700}.d{fill:#9198a1}.p{fill:#7ee787;font-weight:700}"
    print ".c1{fill:#ff7b72}.c2{fill:#7ee787}.c3{fill:#e3b341}.c4{fill:#79c0ff}.c5{fill:#d2a8ff}.c6{fill:#76e3ea}"
    print ".f{visibility:hidden}.last{visibility:visible}"
    print "@media (prefers-reduced-motion:no-preference){"
    print ".last{visibility:hidden}"
    for (i = 1; i <= count; i++) {
        from = at * 100 / total
        at += lasts[i]
        printf "@keyframes k%d{0%%{visibility:%s}", i, i == 1 ? "visible" : "hidden"
        if (i > 1)
            printf "%.2f%%{visibility:visible}", from
        if (i < count)
            printf "%.2f%%{visibility:hidden}", at * 100 / total
        print "}"
        printf "#f%d{animation:k%d %.1fs step-end infinite}\n", i, i, total
    }
    print "}"
    print "</style>"
    printf "<rect width=\"860\" height=\"%d\" rx=\"8\" fill=\"#0d1117\"/>\n", height
    print "<circle cx=\"20\" cy=\"18\" r=\"6\" fill=\"#ff5f57\"/><circle cx=\"40\" cy=\"18\" r=\"6\" fill=\"#febc2e\"/><circle cx=\"60\" cy=\"18\" r=\"6\" fill=\"#28c840\"/>"
    for (i = 1; i <= count; i++)
        printf "<g class=\"f%s\" id=\"f%d\">\n%s</g>\n", i == count ? " last" : "", i, body[i]
    print "</svg>"
}
