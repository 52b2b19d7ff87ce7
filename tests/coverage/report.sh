#!/bin/sh -e
# report.sh FOLDER: reports the branches of ext/ that the tests have reached, from the counts that a
# build with --coverage left in FOLDER. Branches that no test reaches are listed with the reason in
# tests/coverage/unreached. The report prints any other unreached branch, and any entry there that no
# longer holds, and then fails; it also fails below 95 %.
#
# A line of `unreached` is `file function: the source line`, under the reason, which begins with `#`;
# `~ ` before it means that it may be reached by chance.
root=$(CDPATH='' cd "$(dirname "$0")/../.." && pwd)
cd "$root"
least=95

report=$(mktemp)
trap 'rm -f "$report"' EXIT
gcovr --root . --filter ext/ --branches "$1" >"$report"

awk -v least="$least" '
    function trimmed(line) {
        gsub(/^[ \t]+|[ \t]+$/, "", line)
        return line
    }
    FILENAME == "tests/coverage/unreached" {
        if (length($0) > 0 && $0 !~ /^#/) {
            lucky = sub(/^~ /, "")
            excused[$0] = lucky
        }
        next
    }
    /^ext\// && NF >= 4 {
        print
        split($5, numbers, ",")
        for (i in numbers) {
            missing[numbers[i]] = 1
        }
        number = 0
        while ((getline line < $1) > 0) {
            if (line ~ /^[a-z].*\(/) {
                name = line
                sub(/\(.*/, "", name)
                sub(/.*[ *]/, "", name)
            }
            if (++number in missing) {
                entry = $1 " " name ": " trimmed(line)
                if (entry in excused) {
                    excused[entry]++
                } else {
                    surprises = surprises entry "\n"
                }
            }
        }
        close($1)
        split("", missing)
    }
    /^TOTAL/ {
        branches = $2
        taken = $3
    }
    END {
        for (entry in excused) {
            if (excused[entry] == 0) {
                stale = stale entry "\n"
            }
        }
        if (surprises != "") {
            printf "\nNot reached, and tests/coverage/unreached does not say why:\n%s", surprises
        }
        if (stale != "") {
            printf "\nReached or gone, but in tests/coverage/unreached:\n%s", stale
        }
        printf "\n%d of %d branches reached: %.1f %%\n", taken, branches, 100 * taken / branches
        exit surprises != "" || stale != "" || 100 * taken < least * branches
    }
' tests/coverage/unreached "$report"
