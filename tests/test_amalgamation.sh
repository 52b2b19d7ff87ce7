#!/bin/sh
# Puts the source together with .packaging/amalgamate.pl and compiles it without a warning. With LONG=1
# it also builds from that alone: the loadable libraries, with which it runs the SQL tests, and a
# program that has both libraries linked into itself. Prints TAP. PT_COMPILE is the compiler with its
# options (cc).
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

folder=$work/amalgamation
compile=${PT_COMPILE:-cc -std=c11 -Wall -Wextra}
mkdir "$folder"

# In the folder of the amalgamation, so that nothing else of the project is found.
# shellcheck disable=SC2086 # PT_COMPILE is a list of words
compiled() {
    (cd "$folder" && $compile -Werror "$@" 2>&1)
}

has_service() {
    printf '#include <curl/curl.h>\n#include <nettle/hmac.h>\n' | compiled -E -x c - >"$work/none" 2>&1
}

# library name entry_point libraries...: its loadable form exports the entry point alone.
library() {
    name=$1 entry=$2
    shift 2
    same_text "$name.so is linked without a warning" "" "$(compiled -O2 -fPIC -shared -Wl,-z,defs \
        -Wl,-z,nodelete -o "$name.so" "$name.c" "$@")"
    same_text "$name.so exports its entry point alone" "$entry" \
        "$(nm -D --defined-only --format=posix "$folder/$name.so" | cut -d ' ' -f 1)"
}

same_text "the source is put together" "" "$(cd "$root" && .packaging/amalgamate.pl "$folder" 2>&1)"
same_text "the version is that of ext/base/version.h" \
    "$(sed -n 's/^#define PT_VERSION "\(.*\)"/ \* ptable \1:/p' "$root/ext/base/version.h")" \
    "$(sed -n '2s/:.*/:/p' "$folder/ptable.c")"
same_text "ptable.c has no warnings" "" "$(compiled -fsyntax-only ptable.c)"
if has_service; then
    same_text "ptable_service.c has no warnings" "" "$(compiled -fsyntax-only ptable_service.c)"
fi
if [ -n "${LONG:-}" ]; then
    library ptable sqlite3_ptable_init -llmdb -luuid -lpthread -lm
    same_text "the SQL tests" "" "$(PT_LIBRARY=$folder/ptable.so "$root/tests/run_sql.sh" 2>&1 |
        grep -v -e '^ok ' -e '^1\.\.[1-9]')"
    library ptable_service sqlite3_ptableservice_init -lcurl -lnettle -luuid -lpthread -lm
    same_text "both are linked into a program" "" "$(
        compiled -O2 -DSQLITE_CORE -c ptable.c &&
            compiled -O2 -DSQLITE_CORE -DPTABLE_LINKED -c ptable_service.c &&
            compiled -I. -o linked "$root/tests/packages/linked.c" ptable.o ptable_service.o -lsqlite3 -llmdb \
                -luuid -lcurl -lnettle -lpthread -lm)"
    same_text "the program knows ptable" "$(cat "$root/tests/packages/ten-lines.out")" \
        "$("$folder/linked" <"$root/tests/packages/ten-lines.sql" 2>&1)"
    same_text "the program knows ptable_service" "cloud" \
        "$(echo "SELECT pt_service_account('cloud', 'UseDevelopmentStorage=true') IS NULL;
                 SELECT Account FROM pt_service_accounts;" | "$folder/linked" 2>&1 | tail -1)"
    same_text "the service is linked alone" "" "$(
        compiled -O2 -DSQLITE_CORE -shared -fPIC -Wl,-z,defs -o alone.so ptable_service.c -lsqlite3 -lcurl \
            -lnettle -luuid -lpthread -lm)"
fi
echo "1..$number"
test "$failures" -eq 0
