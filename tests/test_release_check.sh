#!/bin/sh
# Runs tests/release_check.sh with a make that only pretends: a row passes if its tests have run and have
# passed. Prints TAP.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

mkdir "$work/tests" "$work/bin"
cp "$root/tests/release_check.sh" "$work/tests"
cat >"$work/bin/make" <<'END'
#!/bin/sh
case $1 in
run-test-wheel) echo "Result: PASS" ;;
run-test-deb) echo "Result: NOTESTS" ;;
*) exit 2 ;;
esac
END
chmod +x "$work/bin/make"

# row name: its line in the table, without blanks, and the exit code.
row() {
    PATH=$work/bin:$PATH ROWS=$1 "$work/tests/release_check.sh" >"$work/table" 2>&1
    echo "$? $(tail -n 1 "$work/table" | tr -d ' ' | cut -d '|' -f 2,3)"
}

same_text "a row that passes" "0 wheel|passed" "$(row wheel)"
same_text "a row that fails" "1 npm|FAILED" "$(row npm)"
same_text "a row whose tests were skipped" "1 deb|notrun" "$(row deb)"
same_text "a row that there is not" "2" "$(row other | cut -d ' ' -f 1)"
echo "1..$number"
test "$failures" -eq 0
