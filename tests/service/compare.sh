#!/bin/sh
# Compares the small Table service of this folder with the emulator, which npm puts into
# build/conformance. Prints TAP. The server is PT_SERVER (build/tests/service/server).
set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
root=$here/../..
folder=$root/build/conformance

"$root/tests/conformance/fetch.sh" "$folder" >&2
cp "$here/emulator.mjs" "$folder"
exec "$here/compare.pl" "${PT_SERVER:-$root/build/tests/service/server}" node "$folder/emulator.mjs"
