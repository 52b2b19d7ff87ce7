#!/bin/sh
# build_newest.sh folder: the newest SQLite there is as source, built there as libsqlite3.so.0 and a
# shell, with the options of the SQLite that is installed. Done once; NEWEST_SQLITE and NEWEST_SHELL
# are the npm packages that hold the sources:
#
#     NEWEST_SQLITE   has deps/sqlite3/sqlite3.c
#     NEWEST_SHELL    has deps/sqlite-autoconf-*.tar.gz, of which only shell.c is taken
set -eu

library=${NEWEST_SQLITE:-better-sqlite3@13.2.0}
shell=${NEWEST_SHELL:-sqlite3@6.0.1}
mkdir -p "$1"
cd "$1"
made_of="$library $shell $(sqlite3 --version)"
if [ "$(cat made_of 2>/dev/null)" = "$made_of" ]; then
    exit 0
fi

# unpack package folder
unpack() {
    rm -rf "$2"
    mkdir "$2"
    tar -xzf "$(npm pack --silent "$1")" -C "$2" --strip-components=1
}

# The options that say what SQLite can do and how it behaves; not those that only describe a build.
options() {
    sqlite3 :memory: 'PRAGMA compile_options' |
        grep -E '^(ENABLE|OMIT|LIKE|TEMP|USE)_|^(SECURE_DELETE|SOUNDEX|THREADSAFE)|^MAX_(VARIABLE|SCHEMA)' |
        sed 's/^/-DSQLITE_/'
}

unpack "$library" library
unpack "$shell" shell
tar -xzf shell/deps/sqlite-autoconf-*.tar.gz -C shell --strip-components=1

# The shell may be of another version than the library; USE_SYSTEM_SQLITE tells it so.
# shellcheck disable=SC2046 # a list of options
${CC:-cc} -O2 -fPIC -shared -Wl,-soname,libsqlite3.so.0 $(options) -o libsqlite3.so.0 \
    library/deps/sqlite3/sqlite3.c -lpthread -ldl -lm
# shellcheck disable=SC2046
${CC:-cc} -O1 -DUSE_SYSTEM_SQLITE=1 $(options) -Ilibrary/deps/sqlite3 -o sqlite3 shell/shell.c \
    -L. -l:libsqlite3.so.0 -lpthread -ldl -lm
rm -rf library shell ./*.tgz
echo "$made_of" >made_of
