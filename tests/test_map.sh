#!/bin/sh
# Checks that every file, folder and function named in ext/README.md exists: `folder/file.c`,
# `folder/`, and `folder/file.c:function`, which that file must define. Paths start in ext/ or, if
# they begin with sql/ or tests/, in the top folder. Prints TAP.
set -u
cd "$(dirname "$0")/.." || exit 1
map=${1:-ext/README.md}

names() {
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    grep -o '`[a-z_]*\(/[a-z0-9_.-]*\)*\(:[a-z_0-9]*\)\{0,1\}`' "$map" | tr -d '`' | grep '[/.]' | sort -u
}

# A definition begins in the first column with a type, and its name is followed by a parenthesis.
is_there() {
    file=${1%%:*}
    function=${1#"$file"}
    case $file in
    sql/* | tests/*) ;;
    *) file=ext/$file ;;
    esac
    [ -e "$file" ] || return 1
    [ -z "$function" ] || grep -q "^\(__attribute__(([a-z]*)) \)*[a-z][a-z_0-9 *]*[ *]${function#:}(" "$file"
}

count=$(names | wc -l)
if [ "$count" -lt 50 ]; then
    echo "1..1"
    echo "not ok 1 - $map names files and functions ($count)"
    exit 1
fi
echo "1..$count"
number=0
failures=0
for name in $(names); do
    number=$((number + 1))
    if is_there "$name"; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        failures=$((failures + 1))
    fi
done
test "$failures" -eq 0
