#!/bin/bash
# scores.sh PROGRAM SOURCE -- real snapshots against what their programs knew. Needs ../shared/ beside the source.
# One line a score: its name, then the command. All run, even after a failure; a failure prints what differs.
set -u
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") source=$(cd "$2" && pwd)
shared=$source/../shared
export MEMSNAP=$program PYTHONDONTWRITEBYTECODE=1
cd "$shared" || exit 2
failed=0
score() {
    local name=$1 out; shift
    if out=$("$@" 2>&1); then echo "score $name: $(tail -n 1 <<<"$out")"
    else echo "score $name FAILED: $(tail -n 1 <<<"$out")"; head -n 20 <<<"$out" | cut -c1-400 | sed 's/^/    /'; failed=1; fi
}
small=(corpus/training/*.pickle* corpus/settings/*.pickle* corpus/verdicts/*.pickle* corpus/extras/*.pickle*)

score parse python3 score/score_parse.py "${small[@]}" corpus/big/big.pickle.gz
score reports python3 "$source/tests/corpus/check_reports.py" "${small[@]}"
score check python3 "$source/tests/corpus/check_check.py" "$program" "${small[@]}" corpus/big/big.pickle.gz
score stats python3 score/score_stats.py corpus/training
score stats.settings python3 score/score_stats.py corpus/settings
score stats.verdicts python3 score/score_stats.py corpus/verdicts
score summary python3 "$source/tests/corpus/check_summary.py" "$program" corpus/training corpus/settings corpus/verdicts corpus/extras
score verdicts python3 score/score_verdicts.py corpus/verdicts
score simulate python3 "$source/tests/corpus/check_simulate.py" "$program" corpus/training corpus/settings corpus/verdicts corpus/extras
score categories python3 score/score_categories.py corpus/training
score leaks python3 score/score_leaks.py corpus/training
score settings python3 score/score_settings.py corpus/settings gpt_var frag
exit $failed
