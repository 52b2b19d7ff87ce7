#!/bin/sh
# report.sh PROGRAM: runs walk and prints, for each of its statements, the modules of ext/ that it
# passes in their order, with how often one function entered is in another file than the one before.
# base and entity are left out: their functions are the words that all others speak in.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$folder/steps"
grep '^0x' "$folder/steps" | sort -u >"$folder/addresses"
addr2line -e "$1" <"$folder/addresses" | sed 's|.*/ext/|ext/|; s|\.[ch]:.*||' >"$folder/modules"

paste -d ' ' "$folder/addresses" "$folder/modules" | awk '
    FILENAME == "-" {
        module[$1] = $2
        next
    }
    function report() {
        if (statement != "") {
            printf "%s\n%d modules, %d changes of file, %d function entries\n%s\n\n", statement,
                modules, changes, entries, passed
        }
        modules = changes = entries = 0
        passed = before = ""
        split("", seen)
    }
    /^#/ {
        report()
        statement = substr($0, 3)
        next
    }
    module[$1] ~ /^ext\// && module[$1] !~ /^ext\/(base|entity)\// {
        here = substr(module[$1], 5)
        entries++
        changes += before != "" && here != before
        before = here
        if (!(here in seen)) {
            seen[here] = 1
            modules++
            passed = passed " " here
        }
    }
    END {
        report()
    }
    ' - "$folder/steps"
