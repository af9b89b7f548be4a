# layers.awk -- fails on an include that goes upward: base <- format <- model <- analysis inside lib/,
# and lib/replay/, render/, cli/ see <memsnap/*.h> and their own files only. Run from the top of the tree.
BEGIN {
    n = split("base format model analysis", order); for (i = 1; i <= n; i++) level[order[i]] = i
    # Public headers stand on the level of what implements them; those not named are analysis.
    public["base.h"] = public["text.h"] = 1; public["snapshot.h"] = 3
}
FNR == 1 {
    split(FILENAME, part, "/"); top = part[1]
    mine = top == "lib" ? level[part[2]] : 0   # lib/include, lib/replay and what is outside lib/: 0
    if (top == "lib" && part[2] != "include" && part[2] != "replay" && !mine) { print FILENAME ": lib/" part[2] " has no layer"; bad = 1 }
}
/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    match($0, /["<][^">]*[">]/); quote = substr($0, RSTART, 1); name = substr($0, RSTART + 1, RLENGTH - 2)
    up = 0
    if (quote == "<") {
        if (name ~ /^memsnap\//) {
            header = substr(name, 9)
            if (top == "lib" && mine) up = (header in public ? public[header] : 4) > mine || header == "replay.h"
        }
    } else if (top == "lib" && mine) {
        split(name, to, "/")
        if (!(to[1] in level)) { print FILENAME ":" FNR ": \"" name "\" does not name its layer"; bad = 1; next }
        up = level[to[1]] > mine
    } else if (name ~ /\//) up = 1   # reaching into another folder
    if (up) { print FILENAME ":" FNR ": " name " is above or inside another layer"; bad = 1 }
}
END { exit bad }
