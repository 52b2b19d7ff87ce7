#!/bin/sh
# build_newest.sh folder: builds the newest SQLite that is available as source, in the folder, as
# libsqlite3.so.0, with the options of the installed SQLite; and bridge.so, which the installed shell
# preloads to work with it. Done once. NEWEST_SQLITE is the npm package that has the source, as
# deps/sqlite3/sqlite3.c.
set -eu

package=${NEWEST_SQLITE:-better-sqlite3@13.2.0}
bridge=$(cd "$(dirname "$0")" && pwd)/newest/bridge.c
mkdir -p "$1"
cd "$1"
made_of="$package $(sqlite3 --version) $(cksum <"$bridge")"
if [ "$(cat made_of 2>/dev/null)" = "$made_of" ]; then
    exit 0
fi

# The options that change SQLite's features and behaviour; not those that only describe a build.
options() {
    sqlite3 :memory: 'PRAGMA compile_options' |
        grep -E '^(ENABLE|OMIT|LIKE|TEMP|USE)_|^(SECURE_DELETE|SOUNDEX|THREADSAFE)|^MAX_(VARIABLE|SCHEMA)' |
        sed 's/^/-DSQLITE_/'
}

rm -rf source
mkdir source
tar -xzf "$(npm pack --silent "$package")" -C source --strip-components=1
# shellcheck disable=SC2046,SC2086 # a list of options; CC may have arguments
${CC:-cc} -O2 -fPIC -shared -Wl,-soname,libsqlite3.so.0 $(options) -o libsqlite3.so.0 \
    source/deps/sqlite3/sqlite3.c -lpthread -ldl -lm
# shellcheck disable=SC2086
${CC:-cc} -O2 -fPIC -shared -DSOURCE_ID="\"$(sqlite3 :memory: 'SELECT sqlite_source_id()')\"" \
    -o bridge.so "$bridge" -ldl
rm -rf source ./*.tgz
echo "$made_of" >made_of
