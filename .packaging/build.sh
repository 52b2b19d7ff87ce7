#!/bin/sh
# Builds packages from the last commit, or from an unpacked archive, and from nothing else around it:
#
#     .packaging/build.sh FOLDER archive amalgamation deb ...
#
# The results are in FOLDER. Two runs make the same bytes: every time in them is that of the commit.
set -eu
export LC_ALL=C.UTF-8 TZ=UTC

root=$(cd "$(dirname "$0")/.." && pwd -P)
mkdir -p "$1"
results=$(cd "$1" && pwd -P)
shift
version=$(sed -n 's/^#define PT_VERSION "\(.*\)"/\1/p' "$root/ext/base/version.h")
name=ptable-$version
source=$results/source/$name

# The archive has no folder build/, and where git made it no file that is not committed.
make_archive() {
    if git -C "$root" rev-parse --verify --quiet HEAD >/dev/null 2>&1; then
        git -C "$root" archive --format=tar --prefix="$name/" HEAD
    else
        tar -C "$root" --exclude=./build --sort=name --owner=0 --group=0 --numeric-owner \
            --transform="s|^\.|$name|" -c .
    fi | gzip -n >"$results/$name.tar.gz"
}

unpack() {
    rm -rf "$results/source"
    mkdir "$results/source"
    tar -C "$results/source" -xzf "$results/$name.tar.gz"
    SOURCE_DATE_EPOCH=$(stat --format=%Y "$source/Makefile")
    export SOURCE_DATE_EPOCH
}

# Packs a folder of the results: pack FOLDER
pack() {
    tar -C "$results" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        -c "$1" | gzip -n >"$results/$1.tar.gz"
    rm -r "${results:?}/$1"
}

build_archive() {
    : # unpack needed it already
}

build_amalgamation() {
    mkdir -p "$results/ptable-amalgamation-$version"
    (cd "$source" && .packaging/amalgamate.pl "$results/ptable-amalgamation-$version")
    pack "ptable-amalgamation-$version"
}

build_deb() {
    cp -R "$source/.packaging/debian" "$source/debian"
    cat >"$source/debian/changelog" <<END
ptable ($version) unstable; urgency=medium

  * Version $version; ext/README.md says what has changed.

 -- $(sed -n 's/^Maintainer: //p' "$source/debian/control")  $(date -R -d "@$SOURCE_DATE_EPOCH")
END
    (cd "$source" && dpkg-buildpackage --no-sign >"$results/deb.log" 2>&1) || {
        tail -n 30 "$results/deb.log" >&2
        exit 1
    }
    rm "$results/deb.log"
    mv "$results"/source/*.deb "$results"/source/*.dsc "$results"/source/*.tar.xz "$results"
}

make_archive
unpack
for kind in "$@"; do
    "build_$kind"
done
rm -r "$results/source"
