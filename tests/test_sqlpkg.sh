#!/bin/sh
# Tries the package for sqlpkg in the folder PT_PACKAGES as sqlpkg does: finds the archive for this machine
# in sqlpkg.json, compares its checksum, unpacks it into one folder, and loads it. Prints TAP.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

packages=${PT_PACKAGES:-$root/build/dist}
version=$(sed -n 's/^#define PT_VERSION "\(.*\)"/\1/p' "$root/ext/base/version.h")
folder=$work/package
mkdir "$folder"

# list PATH: what sqlpkg.json says.
list() {
    sqlite3 -batch :memory: "SELECT json_extract(readfile('$packages/sqlpkg.json'), '$1')"
}

shell() {
    (cd "$folder" && env -i sqlite3 -batch :memory: '.load ./ptable' "$@" 2>&1)
}

machine="linux-$(dpkg --print-architecture)"
archive=$(list "\$.assets.files.$machine")
same_text "the list names an archive that is there" "yes" "$(test -f "$packages/$archive" && echo yes)"
same_text "the checksum" "$(list "\$.assets.checksums.\"$archive\"")" \
    "sha256-$(sha256sum <"$packages/$archive" | cut -d ' ' -f 1)"
tar -C "$folder" -xzf "$packages/$archive"
same_text "no file is in a folder" "libbsd.txt
liblmdb.so.0
liblmdb.txt
libuuid.so.1
libuuid.txt
libxxhash.txt
ptable.so" "$(cd "$folder" && find . -type f | sed 's|^\./||' | LC_ALL=C sort)"
same_text "the versions are the same" "$version $version" "$(list '$.version') $(shell 'SELECT pt_version()')"
same_text "ten lines of SQL" "$(cat "$root/tests/packages/ten-lines.out")" \
    "$(shell ".read $root/tests/packages/ten-lines.sql")"
same_text "all names exist that the list says" "" "$(sqlite3 -batch :memory: ".load $folder/ptable" "
    SELECT value FROM json_each(readfile('$packages/sqlpkg.json'), '\$.symbols')
    EXCEPT SELECT name FROM pragma_module_list EXCEPT SELECT name FROM pragma_function_list" 2>&1)"
same_text "the library of the package is the one that is used" "$folder/liblmdb.so.0" \
    "$(ldd "$folder/ptable.so" | sed -n 's/.*=> \(.*liblmdb[^ ]*\).*/\1/p')"
echo "1..$number"
test "$failures" -eq 0
