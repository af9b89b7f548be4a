#!/bin/bash
# run.sh [--bless] PROGRAM CASE... -- runs CASE/cmd in testdata/ and compares what it says and how it ends.
#
# cmd is a shell script that calls `memsnap`; $T is an empty folder of its own. CASE/stdout, stderr and
# exit hold what is expected. --bless writes them: read the difference before you commit it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bless=
if [ "${1-}" = --bless ]; then bless=1; shift; fi
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1"); shift
[ -x "$program" ] || { echo "no program at $program" >&2; exit 2; }
[ $# -gt 0 ] || set -- $(cd "$here" && ls -d */ | tr -d /)
unset NO_COLOR
export LC_ALL=C TERM=dumb COLUMNS=100 TZ=UTC
memsnap() { "$program" "$@"; }
status=0
for case in "$@"; do
    dir=$here/$case
    T=$(mktemp -d)
    out=$(mktemp -d)
    (cd "$here/../../testdata" && export T && . "$dir/cmd") >"$out/stdout" 2>"$out/stderr" </dev/null
    echo $? >"$out/exit"
    # The temporary folder has another name each time.
    sed -i "s|$T|TMP|g" "$out/stdout" "$out/stderr"
    for part in stdout stderr exit; do
        if [ -n "$bless" ]; then
            cmp -s "$out/$part" "$dir/$part" || { cp "$out/$part" "$dir/$part"; echo "blessed $case/$part"; }
        elif ! diff -u "$dir/$part" "$out/$part"; then
            status=1
            echo "$case: $part differs. If the new one is right: tests/golden/run.sh --bless build/cli/memsnap $case"
        fi
    done
    rm -rf "$T" "$out"
done
exit $status
