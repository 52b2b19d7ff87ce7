#!/bin/sh
# Checks the order of the folders in ext/: a file includes files of its own folder and of those
# above it in the list below, and siblings never include each other. LMDB's header is for ext/lmdb
# only, and the types of virtual tables begin with module. Prints what is wrong, or one line.
set -eu
cd "$(dirname "$0")/../../ext"

# From the lowest to the highest; names on one line are siblings. `.` is the entry point.
order='base
entity
value
store
query
functions
lmdb/file
lmdb/page
lmdb/log
lmdb
transaction
module
table
queue catalog service
.'

# One line "file folder included folder-of-it" for each #include "..." of ours.
includes() {
    grep -rHo --include='*.[ch]' '^#include "[^"]*"' . | awk -F'[:"]' '
        function folder(path) {
            return path ~ /\// ? substr(path, 1, match(path, /\/[^\/]*$/) - 1) : "."
        }
        {
            file = substr($1, 3)
            print file, folder(file), $3, folder($3)
        }'
}

wrong_order() {
    includes | awk -v order="$order" '
        BEGIN {
            levels = split(order, line, "\n")
            for (i = 1; i <= levels; i++) {
                siblings = split(line[i], name, " ")
                for (j = 1; j <= siblings; j++) {
                    level[name[j]] = i
                }
            }
        }
        !($2 in level) {
            print "ext/" $1 ": its folder has no place in the order of folders"
        }
        !($4 in level) {
            print "ext/" $1 ": includes " $3 ", whose folder has no place in the order of folders"
        }
        $2 in level && $4 in level && $2 != $4 && level[$4] >= level[$2] {
            print "ext/" $1 ": " $2 " must not include " $3
        }'
}

foreign_includes() {
    grep -rHn --include='*.[ch]' '^#include <lmdb\.h>' . | grep -v '^\./lmdb/' |
        sed 's|^\./|ext/|; s|$| (only ext/lmdb may)|' || true
}

# sqlite3_vtab_in_first and sqlite3_vtab_in_next read a list's values: query/ranges may call them.
module_types() {
    below=$(echo "$order" | sed '/^module$/,$d')
    # shellcheck disable=SC2086 # a list of folders
    grep -rHnE --include='*.[ch]' 'sqlite3_(vtab|module|index_info)' $below |
        grep -vE '^query/ranges\.c:.*sqlite3_vtab_in_(first|next)\(' |
        sed 's|^|ext/|; s|$| (only from module on)|' || true
}

wrong=$(wrong_order; foreign_includes; module_types)
if [ -n "$wrong" ]; then
    echo "$wrong"
    exit 1
fi
echo "ok: includes point downwards"
