#!/bin/sh
# Checks that no file in ext/ has more than 700 lines, no function more than 60, and README.md no more
# than 220. Prints what is too long, or one line.
set -eu
cd "$(dirname "$0")/../.."

wrong=$(
    find ext -name '*.[ch]' -exec wc -l {} + |
        awk '$2 != "total" && $1 > 700 { print $2 ": " $1 " lines; at most 700" }'
    wc -l README.md | awk '$1 > 220 { print $2 ": " $1 " lines; at most 220" }'
    ctags -x --language-force=C --kinds-C=f --_xformat='%F %N %n %e' -R ext |
        awk '$4 - $3 + 1 > 60 { print $1 ": " $2 "() has " $4 - $3 + 1 " lines; at most 60" }'
)
if [ -n "$wrong" ]; then
    echo "$wrong"
    exit 1
fi
echo "ok: files and functions are short"
