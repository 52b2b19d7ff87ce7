#!/bin/sh
# circles.sh OBJECTS: checks that no modules of ext/ need each other, neither by what the two files
# of a module (x.c and x.h) include, nor by the functions and variables that its object in the
# folder OBJECTS names. Prints the circles, or one line.
set -eu
cd "$(dirname "$0")/../.."
objects=$1

# One line "module needed" for each #include "...".
includes() {
    grep -rHo --include='*.[ch]' '^#include "[^"]*"' ext |
        sed 's|^ext/||; s|\.[ch]:#include "| |; s|\.h"$||'
}

# One line "module needed" for each symbol that an object takes from another.
uses() {
    find "$objects" -name '*.o' | while read -r object; do
        module=${object#"$objects"/}
        nm --format=posix "$object" | sed "s|^|${module%.o} |"
    done | awk '
        $3 == "U" {
            user[++count] = $1
            wanted[count] = $2
        }
        $3 ~ /^[A-TV-Z]$/ {
            owner[$2] = $1
        }
        END {
            for (i = 1; i <= count; i++) {
                if (wanted[i] in owner) {
                    print user[i], owner[wanted[i]]
                }
            }
        }'
}

circles() {
    awk '$1 != $2' | sort -u | tsort 2>&1 >/dev/null |
        sed 's/^tsort: .*input contains a loop:$/a circle:/; s|^tsort: |    ext/|'
}

by_includes=$(includes | circles)
by_use=$(uses | circles)
if [ -n "$by_includes$by_use" ]; then
    printf 'by includes:\n%s\nby use:\n%s\n' "$by_includes" "$by_use"
    exit 1
fi
echo "ok: no modules need each other"
