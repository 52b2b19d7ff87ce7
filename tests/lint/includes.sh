#!/bin/sh
# Checks that includes in ext/ point downwards only. Every file belongs to a layer, by its
# folder; a new folder must be entered below. Prints what is wrong, or one line.
set -eu
cd "$(dirname "$0")/../../ext"

unknown=9
layer_of() {
    case $1 in
    entity/azure_limits) echo 3 ;;
    value/value_text | store/check_report) echo 0 ;;
    base/* | entity/*) echo 0 ;;
    store/* | lmdb/*) echo 1 ;;
    transaction/* | catalog/check | catalog/check_*) echo 2 ;;
    query/* | value/*) echo 3 ;;
    table/config | table/declaration | table/column_map) echo 3 ;;
    functions/* | module/* | table/* | queue/* | catalog/*) echo 4 ;;
    ptable) echo 5 ;;
    *) echo $unknown ;;
    esac
}

# One line "file included" for each #include "...", both without their endings.
includes() {
    sed -n 's/^#include "\(.*\)\.h".*/\1/p' "$1" | sed "s|^|${1%.[ch]} |"
}

files() {
    find . -name '*.[ch]' | sed 's|^\./||' | sort
}

unknown_files() {
    for file in $(files); do
        if [ "$(layer_of "${file%.[ch]}")" = $unknown ]; then
            echo "ext/$file: has no layer; enter it in tests/lint/includes.sh"
        fi
    done
}

upward_includes() {
    for file in $(files); do
        own=$(layer_of "${file%.[ch]}")
        includes "$file" | while read -r _ included; do
            other=$(layer_of "$included")
            if [ "$other" -gt "$own" ]; then
                echo "ext/$file: layer $own includes $included.h, layer $other"
            fi
        done
    done
}

# Headers that need each other.
circles() {
    for file in $(files | grep '\.h$'); do
        includes "$file"
    done | tsort 2>&1 >/dev/null | sed 's/^tsort: -: /ext: circle: /'
}

foreign_includes() {
    files | grep -v '^lmdb/' | xargs grep -Hn '^#include <lmdb\.h>' |
        sed 's|^|ext/|; s|$| (only ext/lmdb may)|' || true
}

module_types() {
    for file in $(files); do
        if [ "$(layer_of "${file%.[ch]}")" -lt 3 ]; then
            grep -HnE 'sqlite3_(vtab|module|index_info)' "$file" |
                sed 's|^|ext/|; s|$| (only from layer 3 on)|' || true
        fi
    done
}

wrong=$(unknown_files; upward_includes; circles; foreign_includes; module_types)
if [ -n "$wrong" ]; then
    echo "$wrong"
    exit 1
fi
echo "ok: includes point downwards"
