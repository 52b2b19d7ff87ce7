#!/bin/sh
# Builds all packages once more, each by itself, from nothing but the source archive in the folder
# PT_PACKAGES, in a folder of another name and with another umask, and compares them with those that are
# there, which were built together: they must have the same bytes. Holds the script that builds them against checkouts that it must refuse. Prints TAP.
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

# checkout NAME: a folder with what the script reads first.
checkout() {
    mkdir -p "$work/$1/ext/base" "$work/$1/.packaging"
    cp "$root/.packaging/build.sh" "$work/$1/.packaging"
    cp "$root/ext/base/version.h" "$work/$1/ext/base"
    : >"$work/$1/Makefile"
}

# archive NAME: what the script says, and what it leaves, if it makes the archive of a checkout.
archive() {
    "$work/$1/.packaging/build.sh" "$work/$1/build" archive >"$work/said" 2>&1 && echo "made:" || echo "refused:"
    ls "$work/$1/build"
    grep '^build.sh' "$work/said"
}

checkout unpacked
same_text "a folder without git" "made:
ptable-$version.tar.gz" "$(archive unpacked)"
checkout unreadable
echo "not one of git" >"$work/unreadable/.git"
same_text "a checkout that git does not read is not packed as it is" "refused:" "$(archive unreadable)"
if command -v git >"$work/none"; then
    checkout changed
    git -C "$work/changed" init --quiet
    git -C "$work/changed" add .
    git -C "$work/changed" -c user.name=test -c user.email=test@example.com commit --quiet --message=test
    same_text "a commit of the version" "made:
ptable-$version.tar.gz" "$(archive changed)"
    rm -r "$work/changed/build"
    sed -i 's/^#define PT_VERSION .*/#define PT_VERSION "99.0.0"/' "$work/changed/ext/base/version.h"
    same_text "a version that is not committed" "refused:
build.sh: the last commit is not version 99.0.0: commit ext/base/version.h first" \
        "$(archive changed | grep -v tar.gz | grep -vx source)"
fi

for kind in amalgamation deb wheel npm sqlpkg; do
    same_text "$kind is built from the archive, alone" "" \
        "$(umask 077 && PT_SYSROOT=$root/build/arm64/sysroot \
            "$source/ptable-$version/.packaging/build.sh" "$again" "$kind" 2>&1 >"$work/none")"
done
same_text "the same files" "$(packages_in "$packages")" "$(packages_in "$again")"
same_text "the same bytes" "$(sums "$packages")" "$(sums "$again")"
echo "1..$number"
test "$failures" -eq 0
