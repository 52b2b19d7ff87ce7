#!/bin/sh
# Runs the examples that are programs: a timeline in C, Python and Perl, a table read by two threads,
# and one that moves to a Table service and back. Prints TAP.
# The timelines work on one store, in some tests at the same time.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

store=$work/timeline.ptable
export PTABLE="$library"

timeline() {
    case $1 in
    c) program=$examples/timeline ;;
    py | pl) program=$root/examples/timeline.$1 ;;
    esac
    shift
    LC_ALL=C.UTF-8 LD_PRELOAD="${PT_PRELOAD:-}" timeout --kill-after=5 60 "$program" "$store" "$@" 2>&1
}

# All posts of a user from the newest on, in pages, in one language.
all_pages() {
    token=
    while true; do
        timeline "$1" page "$2" ${token:+"$token"} >"$work/page"
        grep -v '^next: ' "$work/page"
        token=$(sed -n 's/^next: //p' "$work/page")
        [ -n "$token" ] || break
    done
}

languages="c py pl"
echo "1..21"

# One after the other, each sees what the others have written.
for language in $languages; do
    timeline "$language" post ann "first in $language" "it's \"ünïcode\" in $language" >/dev/null
done
expected="6 it's \"ünïcode\" in pl
5 first in pl
4 it's \"ünïcode\" in py
3 first in py
2 it's \"ünïcode\" in c
1 first in c"
for language in $languages; do
    same_text "a page in $language" "$expected" "$(timeline "$language" page ann)"
    same_text "nobody's page in $language" "" "$(timeline "$language" page nobody)"
    timeline "$language" delete ann x >"$work/usage" && ended=0 || ended=$?
    same_text "what is no command of $language" "failed: usage: timeline" \
        "$([ "$ended" -ne 0 ] && echo failed): $(grep -o 'usage: timeline' "$work/usage")"
done

# Six at once: numbers without gaps, as many as were posted, in every language the same pages.
for language in $languages; do
    timeline "$language" post bob a b c d e f g h >"$work/bob.$language.1" &
    timeline "$language" post bob i j k l m n o p >"$work/bob.$language.2" &
done
wait
same_text "posts of six processes" "$(seq 48)" "$(sort -n "$work"/bob.*)"
for language in $languages; do
    all_pages "$language" bob >"$work/$language.pages"
done
same_text "the newest first, none twice" "$(seq 48 -1 1)" "$(cut -d ' ' -f 1 "$work/c.pages")"
same_text "the same pages in py" "$(cat "$work/c.pages")" "$(cat "$work/py.pages")"
same_text "the same pages in pl" "$(cat "$work/c.pages")" "$(cat "$work/pl.pages")"

# The profile agrees with the posts.
cat >"$work/count.sql" <<END
.load $library
CREATE VIRTUAL TABLE Post USING ptable(Number Int32, store='$store');
CREATE VIRTUAL TABLE Profile USING ptable(Posts Int32, store='$store');
SELECT PartitionKey, Posts, (SELECT count(*) FROM Post WHERE Post.PartitionKey = p.PartitionKey)
  FROM Profile AS p;
END
fresh_folder count
run_shell count :memory: "$work/count.sql" "$work/count.out"
same_text "profiles agree with posts" "ann|6|6
bob|48|48" "$(cat "$work/count.out")"

# The same with one thread and with two: the sum of 0 to 99, 50 times over.
"$examples/parallel_scan" "$work/readings.ptable" fill 5000
same_text "a table read by two threads" "1 thread: 5000 readings, sum 247500
2 threads: 2410 + 2590 readings, sum 247500" \
    "$("$examples/parallel_scan" "$work/readings.ptable" sum | sed 's/, [0-9.]* ms$//')"

# A table moves to the small Table service of the tests and back.
service_library=${library%.so}_service.so
if [ ! -e "$service_library" ]; then
    for number in 16 17 18 19 20 21; do
        echo "ok $number - cloud_copy.py # SKIP ptable_service.so is not built"
    done
    test "$failures" -eq 0
    exit
fi
export PTABLE_SERVICE="$service_library" no_proxy='*'
mkfifo "$work/input"
"${PT_SERVER:-$root/build/tests/service/server}" <"$work/input" >"$work/port" &
exec 9>"$work/input"
until [ -s "$work/port" ]; do sleep 0.05; done
key='Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
endpoint="http://127.0.0.1:$(cat "$work/port")/devstoreaccount1"
export PTABLE_ACCOUNT_CLOUD="AccountName=devstoreaccount1;AccountKey=$key;TableEndpoint=$endpoint"

cloud_copy() {
    LC_ALL=C.UTF-8 LD_PRELOAD="${PT_PRELOAD:-}" timeout --kill-after=5 60 \
        "$root/examples/cloud_copy.py" "$work/moved.ptable" "$@" 2>&1
}

cat >"$work/fill.sql" <<END
.load $library
CREATE VIRTUAL TABLE Reading USING ptable(Value Double, Taken DateTime, Note String, Count Int64,
    store='$work/moved.ptable');
INSERT INTO Reading(PartitionKey, RowKey, Value, Taken, Note, Count)
  WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
  SELECT 'p' || (i % 7), printf('%06d', i), i / 8.0, '2026-11-21T08:43:22.5484454Z',
    iif(i % 3, 'ünïcode ' || i, NULL), i * 3000000000000000 FROM n;
END
fresh_folder fill
run_shell fill :memory: "$work/fill.sql" "$work/fill.out"
same_text "a table moves to the service" "there: 2500 entities, 29 requests" \
    "$(cloud_copy Reading there)"
same_text "both tables are the same" "the same: 2500 entities" "$(cloud_copy Reading check)"
same_text "it is moved once more" "there: 2500 entities, 29 requests" "$(cloud_copy Reading there)"
same_text "it comes back under another name" "back: 2500 entities, 3 requests
the same: 2500 entities" "$(cloud_copy Reading back Second)"
cat >"$work/change.sql" <<END
.load $library
CREATE VIRTUAL TABLE Reading USING ptable(Value, store='$work/moved.ptable');
UPDATE Reading SET Value = 7 WHERE PartitionKey = 'p1' AND RowKey = '000008';
END
fresh_folder change
run_shell change :memory: "$work/change.sql" "$work/change.out"
same_text "a difference is found" "the same: 358 entities; not the same: ('p1', '000008')" \
    "$(cloud_copy Reading check)"
same_text "a table that the service lacks" "(TableNotFound)" \
    "$(cloud_copy Nowhere check | grep -o '(TableNotFound)$')"
exec 9>&-
wait
test "$failures" -eq 0
