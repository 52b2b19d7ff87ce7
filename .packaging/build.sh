#!/bin/sh
# Builds packages from the last commit, or from an unpacked archive, and from nothing else around it:
#
#     .packaging/build.sh FOLDER archive amalgamation deb ...
#
# The results are in FOLDER. Two runs make the same bytes: every time in them is that of the commit, and
# no file's mode is from this process.
set -eu
umask 022
export LC_ALL=C.UTF-8 TZ=UTC
unset MAKEFLAGS MFLAGS CFLAGS CPPFLAGS LDFLAGS # those of a make that has started this

root=$(cd "$(dirname "$0")/.." && pwd -P)
mkdir -p "$1"
results=$(cd "$1" && pwd -P)
shift
version=$(sed -n 's/^#define PT_VERSION "\(.*\)"/\1/p' "$root/ext/base/version.h")
name=ptable-$version
source=$results/source/$name

# The archive has no folder build/, and where git made it no file that is not committed. A checkout that
# git does not read, because it is missing or the folder is somebody else's, is not packed as it is.
make_archive() {
    if [ -e "$root/.git" ]; then
        git -C "$root" archive --format=tar --prefix="$name/" HEAD
    else
        tar -C "$root" --exclude=./build --sort=name --owner=0 --group=0 --numeric-owner \
            --transform="s|^\.|$name|" -c .
    fi >"$results/$name.tar" || {
        rm "$results/$name.tar"
        exit 1
    }
    gzip -nf "$results/$name.tar"
}

unpack() {
    rm -rf "$results/source"
    mkdir "$results/source"
    tar -C "$results/source" --no-same-permissions -xzf "$results/$name.tar.gz"
    if ! grep -qxF "#define PT_VERSION \"$version\"" "$source/ext/base/version.h"; then
        echo "build.sh: the last commit is not version $version: commit ext/base/version.h first" >&2
        exit 1
    fi
    SOURCE_DATE_EPOCH=$(stat --format=%Y "$source/Makefile")
    export SOURCE_DATE_EPOCH
}

# pack FOLDER NAME WHAT: packs what the folder has into an archive in the results.
pack() {
    tar -C "$1" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        --mode=u=rwX,go=rX --transform="s|^\./\(.\)|\1|" -c "$3" | gzip -n >"$results/$2.tar.gz"
}

build_archive() {
    : # unpack needed it already
}

build_amalgamation() {
    folder=$results/source/ptable-amalgamation-$version
    mkdir "$folder"
    (cd "$source" && .packaging/amalgamate.pl "$folder")
    pack "$results/source" "${folder##*/}" "${folder##*/}"
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

# libraries ARCHITECTURE: ptable.so and the libraries that it needs, with their licences, as programs that
# come without Debian's packages want them: each finds the others in its own folder. What is for arm64 is
# compiled on other machines, too, with the packages in PT_SYSROOT (build/arm64/sysroot). Its variables
# are its own: it is a shell of its own.
libraries() (
    folder=$results/source/libraries/$1
    if [ -e "$folder" ]; then
        exit
    fi
    compiler=cc
    base=
    if [ "$1" != "$(uname -m)" ]; then
        base=${PT_SYSROOT:-$root/build/arm64/sysroot}
        "$root/.packaging/sysroot.sh" "$base"
        compiler="$1-linux-gnu-gcc --sysroot=$base"
    fi
    mkdir -p "$folder/licenses"
    # shellcheck disable=SC2016 # $ORIGIN is for the loader
    make -s -j"$(nproc)" -C "$source" BUILD="build/$1" OUT="build/$1" CC="$compiler" LTO=-flto=auto \
        CFLAGS="-O2 -ffile-prefix-map=$source=." LDFLAGS='-Wl,-rpath,'\''$$ORIGIN'\'' -Wl,-z,relro,-z,now -s' \
        loadable >&2
    cp "$source/build/$1/ptable.so" "$folder"
    for needed in liblmdb.so.0 libuuid.so.1; do
        cp -L "$base/usr/lib/$1-linux-gnu/$needed" "$folder"
    done
    # Code of the headers of the last two is in ptable.so.
    for package in liblmdb0 libuuid1 libxxhash-dev libbsd-dev; do
        cp "$base/usr/share/doc/$package/copyright" "$folder/licenses/${package%%[01-]*}.txt"
    done
    chmod 644 "$folder"/*.so*
    check_glibc "$folder"
)

# What is promised to users: glibc 2.34 or newer.
check_glibc() {
    newest=$(objdump -T "$1"/*.so* | sed -n 's/.*(\?GLIBC_\([0-9.]*\))\?.*/\1/p' | sort -V | tail -n 1)
    if [ -z "$newest" ] || [ "$(printf '%s\n2.34\n' "$newest" | sort -V | tail -n 1)" != 2.34 ]; then
        echo "build.sh: $1 needs glibc ${newest:-(unknown)}; the packages promise 2.34" >&2
        exit 1
    fi
}

build_wheel() {
    for architecture in x86_64 aarch64; do
        libraries "$architecture"
        /usr/bin/python3 "$source/.packaging/python/build_wheel.py" "$version" "$architecture" \
            "$results/source/libraries/$architecture" "$results"
    done
}

build_npm() {
    package=$results/source/npm
    cp -R "$source/.packaging/npm" "$package"
    sed -i "s/@VERSION@/$version/" "$package/package.json"
    for machine in x64/x86_64 arm64/aarch64; do
        libraries "${machine#*/}"
        cp -R "$results/source/libraries/${machine#*/}" "$package/linux-${machine%/*}"
    done
    (cd "$package" && npm pack --silent --pack-destination "$results" >/dev/null)
}

# The program sqlpkg makes no folders: all files are in one. Here it finds the archives beside the list.
build_sqlpkg() {
    cp "$source/.packaging/sqlpkg.json" "$results/sqlpkg.json"
    for machine in amd64/x86_64 arm64/aarch64; do
        libraries "${machine#*/}"
        flat=$results/source/sqlpkg-${machine%/*}
        mkdir "$flat"
        find "$results/source/libraries/${machine#*/}" -type f -exec cp {} "$flat" \;
        pack "$flat" "ptable-$version-linux-${machine%/*}" .
        sum=$(sha256sum <"$results/ptable-$version-linux-${machine%/*}.tar.gz")
        sed -i "s/@${machine%/*}@/${sum%% *}/" "$results/sqlpkg.json"
    done
    sed -i "s/@VERSION@/$version/" "$results/sqlpkg.json"
}

make_archive
unpack
for kind in "$@"; do
    "build_$kind"
done
rm -r "$results/source"
