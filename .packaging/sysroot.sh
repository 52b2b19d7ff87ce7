#!/bin/sh
# sysroot.sh FOLDER: unpacks the packages of Debian for arm64 that compiling and testing need into FOLDER,
# unless they are there. Nothing is installed on this machine.
set -eu

if [ -e "$1/complete" ]; then
    exit 0
fi
rm -rf "$1"
mkdir -p "$(dirname "$1")"
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mmdebstrap --quiet --architecture=arm64 --variant=extract --include=libc6-dev,libgcc-12-dev,libsqlite3-dev \
    --include=liblmdb-dev,uuid-dev,libbsd-dev,libxxhash-dev,libcurl4-gnutls-dev,nettle-dev,libcmocka-dev \
    --include=sqlite3,libstdc++6 "$suite" "$1"
touch "$1/complete"
