#!/bin/bash
# four_ways.sh PROGRAM TESTDATA -- a file reads the same as a path, through a pipe, in gzip, and in gzip through a pipe.
set -u
program=$1; cd "$2" || exit 2
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
status=0
# What may differ: the name, the size as given, whether it was gzip.
plain() { sed -E -e 's/"file":"[^"]*"/"file":"F"/g; s/"size_bytes":[0-9]+/"size_bytes":N/g; s/"gzip":(true|false)/"gzip":G/g'; }
for file in good_*.pickle odd_*.pickle real/dcgan.pickle.gz real/device_oom.pickle.gz; do
    case $file in *.gz) gzip -dc "$file" >"$T/f.pickle" ;; *) cp "$file" "$T/f.pickle" ;; esac
    gzip -nc "$T/f.pickle" >"$T/f.pickle.gz"
    for what in "info --json" "report --json" "export --table events"; do
        "$program" $what "$T/f.pickle" 2>&1 | plain >"$T/path"
        cat "$T/f.pickle" | "$program" $what - 2>&1 | plain >"$T/pipe"
        "$program" $what "$T/f.pickle.gz" 2>&1 | plain >"$T/gzip"
        cat "$T/f.pickle.gz" | "$program" $what - 2>&1 | plain >"$T/gzip_pipe"
        [ -s "$T/path" ] || case $file,$what in *"export"*) ;; *) echo "$file: $what printed nothing"; status=1 ;; esac
        for way in pipe gzip gzip_pipe; do
            sed -i "s|$T/f.pickle.gz|F|g; s|$T/f.pickle|F|g; s|memsnap: -:|memsnap: F:|g; s|standard input|F|g" "$T/path" "$T/$way"
            cmp -s "$T/path" "$T/$way" || { echo "$file: $what reads differently: $way"; diff "$T/path" "$T/$way" | head -5 | cut -c1-300; status=1; }
        done
    done
done
exit $status
