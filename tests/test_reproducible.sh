#!/bin/sh
# Builds all packages once more, from nothing but the source archive in the folder PT_PACKAGES and in a folder
# of another name, and compares them with those that are there: they must have the same bytes. Prints TAP.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

packages=${PT_PACKAGES:-$root/build/dist}
version=$(sed -n 's/^#define PT_VERSION "\(.*\)"/\1/p' "$root/ext/base/version.h")
source=$work/a-folder-with-another-name
again=$work/again
mkdir "$source"
tar -C "$source" -xzf "$packages/ptable-$version.tar.gz"

# All but the source archive, which git makes.
packages_in() {
    (cd "$1" && find . -type f ! -name "ptable-$version.tar.gz" | sort)
}

sums() {
    (cd "$1" && packages_in . | xargs sha256sum)
}

same_text "all packages are built from the archive" "" \
    "$(PT_SYSROOT=$root/build/arm64/sysroot "$source/ptable-$version/.packaging/build.sh" "$again" \
        amalgamation deb wheel npm sqlpkg 2>&1 >"$work/none")"
same_text "the same files" "$(packages_in "$packages")" "$(packages_in "$again")"
same_text "the same bytes" "$(sums "$packages")" "$(sums "$again")"
echo "1..$number"
test "$failures" -eq 0
