#!/bin/sh
# fetch.sh folder: puts the emulator of the Table service, its SDK and the scripts that use them into
# the folder. What npm has put there before is used again.
set -eu
folder=$1
here=$(dirname "$0")

mkdir -p "$folder"
cp "$here"/*.mjs "$here/package.json" "$folder"
if cmp -s "$here/package-lock.json" "$folder/fetched-lock.json"; then
    exit 0
fi
cp "$here/package-lock.json" "$folder"
(cd "$folder" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error) || {
    echo "npm cannot fetch the emulator of the Table service and its SDK; is its registry reachable?" >&2
    echo "    'make test' uses recorded operations and replies, without them" >&2
    exit 1
}
cp "$here/package-lock.json" "$folder/fetched-lock.json"
