#!/bin/sh
# Checks that includes in ext/ point downwards only. Every file belongs to a layer, by the name
# before its dot; a new file must be entered below. Prints what is wrong, or one line.
set -eu
cd "$(dirname "$0")/../../ext"

unknown=9
layer_of() {
    case $1 in
    bytes | buffer | seal | check_report | error | arena | large_pages | bag | edm | ticks | number | base64 | excerpt | word) echo 0 ;;
    key | shape | shape_fields | entity | record_value | odata | value_text | sqlite | version) echo 0 ;;
    engine | interruption | dictionary | id_table | lmdb_*) echo 1 ;;
    pending | pending_batches | memtable | memtable_* | key_sort | savepoints | batch) echo 2 ;;
    connection | session | view | scan | last_key | main_lock | table_directory | table_names) echo 2 ;;
    check | check_tables | check_large) echo 2 ;;
    table_counts | large_value | large_fields | batch_rules) echo 2 ;;
    json_functions) echo 4 ;;
    config | config_text | declaration | column_map | azure_limits) echo 3 ;;
    plan | key_condition | ranges | range_terms | range_walk) echo 3 ;;
    filter | filter_* | value | json_*) echo 3 ;;
    table | table_module | table_transaction | module | follower | companion | whole_rollback) echo 4 ;;
    planner | cursor | row | columns | row_filter | match_function) echo 4 ;;
    write | write_mode | insert | update | entity_writer | entity_rules | entity_patch) echo 4 ;;
    catalog | catalog_* | tvf | tvf_* | store_path | schema_search) echo 4 ;;
    queue | queue_*) echo 4 ;;
    admin | admin_*) echo 4 ;;
    functions | *_functions | function_arguments) echo 4 ;;
    ptable) echo 5 ;;
    *) echo $unknown ;;
    esac
}

# One line "file included" for each #include "...", both without their endings.
includes() {
    sed -n 's/^#include "\(.*\)\.h".*/\1/p' "$1" | sed "s|^|${1%.[ch]} |"
}

unknown_files() {
    for file in *.[ch]; do
        if [ "$(layer_of "${file%.[ch]}")" = $unknown ]; then
            echo "ext/$file: has no layer; enter it in tests/lint/includes.sh"
        fi
    done
}

upward_includes() {
    for file in *.[ch]; do
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
    for file in *.h; do
        includes "$file"
    done | tsort 2>&1 >/dev/null | sed 's/^tsort: -: /ext: circle: /'
}

foreign_includes() {
    # shellcheck disable=SC2010 # the names are plain
    ls | grep -v '^lmdb_' | xargs grep -Hn '^#include <lmdb\.h>' |
        sed 's|^|ext/|; s|$| (only ext/lmdb_* may)|' || true
}

module_types() {
    for file in *.[ch]; do
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
