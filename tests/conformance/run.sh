#!/bin/sh
# run.sh replay folder: runs random operations of the Table service on its emulator and on ptables;
# both must give the same answers. `replay` is the built program; packages and corpora go to `folder`.
#
#     SEEDS='1 2 3'   one run of operations each (1 to 11)
#     N=5000          operations of a run
#     RECORD=1        afterwards, rewrites tests/conformance/corpus.jsonl
#     SERVICE=1       through ptable_service instead of on ptables: on the emulator, and on the small
#                     Table service of tests/service
set -eu

replay=$1
folder=$2
here=$(dirname "$0")
N=${N:-5000}
SEEDS=${SEEDS:-1 2 3 4 5 6 7 8 9 10 11}

# The corpus uses one seed and few keys, so that its answers are short.
RECORDED_SEED=9
RECORDED_N=1200

# record corpus seed count [small]
record() {
    corpus=$1
    shift
    node "$folder/generate.mjs" "$@" >"$corpus.operations"
    node "$folder/record.mjs" <"$corpus.operations" >"$corpus"
}

"$here/fetch.sh" "$folder"
if [ "${RECORD:-}" = 1 ]; then
    record "$folder/recorded.jsonl" $RECORDED_SEED $RECORDED_N small
    cp "$folder/recorded.jsonl" "$here/corpus.jsonl"
fi

set --
for seed in $SEEDS; do
    record "$folder/$seed.jsonl" "$seed" "$N"
    set -- "$@" "$folder/$seed.jsonl"
    echo "seed $seed: $N operations performed on the emulator"
done
if [ "${SERVICE:-}" != 1 ]; then
    "$replay" "$@"
    exit
fi
export PT_REPLAY="$replay" CORPORA="$*"
cp "$here/../service/emulator.mjs" "$folder"
echo "on the small Table service:"
"$here/../service/test_conformance.pl"
echo "on the emulator:"
"$here/../service/test_conformance.pl" node "$folder/emulator.mjs"
