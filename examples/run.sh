#!/bin/sh
# Runs examples in SQL, from any folder, in the source or installed:
#
#     examples/run.sh 06 15-starts-with        or no name: all of them, each under its name
#
# Each runs in a temporary folder that is removed, where ptable.so, sql/ and build/ are as the scripts
# expect. The extension is $PTABLE, else the one that was built or installed with these examples.
set -eu

examples=$(cd "$(dirname "$0")" && pwd -P)
for library in "${PTABLE:-}" "$examples/../ptable.so" "$examples/../../../lib/ptable.so" \
    /usr/lib/*/ptable.so; do
    [ -z "$library" ] || [ ! -r "$library" ] || break
done
if [ ! -r "$library" ]; then
    echo "run.sh: there is no ptable.so; build it with make, or give its path in PTABLE" >&2
    exit 1
fi
library=$(cd "$(dirname "$library")" && pwd -P)/$(basename "$library")

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

run() {
    [ "$titles" = no ] || echo "### $(basename "$1" .sql)"
    rm -rf "$folder/run"
    mkdir -p "$folder/run/build"
    ln -s "$library" "$folder/run/ptable.so"
    ln -s "$examples/../sql" "$folder/run/sql"
    # 1 is the shell's status after an SQL error; many examples show errors.
    # shellcheck disable=SC2086 # PT_SHELL is a list of words
    (cd "$folder/run" && ${PT_SHELL:-sqlite3} -batch -init /dev/null :memory: <"$1") || [ $? -eq 1 ]
}

titles=yes
[ $# -ne 1 ] || titles=no
[ $# -gt 0 ] || set -- ''
for name in "$@"; do
    found=
    for script in "$examples/${name%.sql}"*.sql; do
        case $script in
        */demo-*) ;;
        *)
            [ ! -e "$script" ] || found=yes
            [ ! -e "$script" ] || run "$script"
            ;;
        esac
    done
    if [ -z "$found" ]; then
        echo "run.sh: there is no example $name in $examples" >&2
        exit 1
    fi
done
