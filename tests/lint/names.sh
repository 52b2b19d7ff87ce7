#!/bin/sh
# Checks that a file-scope name of ext/ (function, variable, type, macro, enumerator) is defined in
# one file only, whatever its linkage, so that the files can be put together into one. Prints the
# names that several files define, or one line.
set -eu
cd "$(dirname "$0")/../.."

wrong=$(
    ctags -x --language-force=C --kinds-C=defgstuv --_xformat='%N %F %C' -R ext |
        grep -vE '^__anon|typedef (struct|union|enum) (\w+) \2;$' | cut -d ' ' -f 1,2 | sort -u |
        awk '
            {
                files[$1] = files[$1] " " $2
                count[$1]++
            }
            END {
                for (name in count) {
                    if (count[name] > 1) {
                        print name ":" files[name]
                    }
                }
            }' | sort
)
if [ -n "$wrong" ]; then
    echo "$wrong"
    exit 1
fi
echo "ok: a name is defined in one file"
