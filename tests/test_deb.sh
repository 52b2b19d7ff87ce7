#!/bin/sh
# Tries the Debian packages in the folder PT_PACKAGES as somebody would who has nothing else: in a fresh
# Debian without a compiler, installs them, loads the extensions, runs SQL, and removes them without a
# trace. Needs root and mmdebstrap. Prints TAP.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

packages=${PT_PACKAGES:-$root/build/dist}
version=$(sed -n 's/^#define PT_VERSION "\(.*\)"/\1/p' "$root/ext/base/version.h")
architecture=$(dpkg --print-architecture)
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
debian=$work/debian

if [ "$(id -u)" -ne 0 ]; then
    echo "1..0 # SKIP only root can make a fresh Debian"
    exit 0
fi

package() {
    echo "$packages/$1_${version}_$architecture.deb"
}

# inside command: in the fresh Debian; no variable of this process is there.
inside() {
    chroot "$debian" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive timeout --kill-after=5 300 sh -c "$1" 2>&1
}

# What lies on the disk, but for the package manager's own notes and caches.
files() {
    inside "find / -xdev \( -path /proc -o -path /sys -o -path /tmp -o -path /var/cache -o \
        -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/log \) -prune -o -print | sort"
}

# The links from the installed documents to files that are not there, and how many documents there are.
broken_links() {
    documents=$debian/usr/share/doc/libsqlite3-mod-ptable
    find "$documents" -name '*.md' | sort >"$work/pages"
    while read -r page; do
        grep -o '](\([^)#]*\)' "$page" | sed 's/^](//' | sort -u | while read -r link; do
            [ -e "${page%/*}/$link" ] || echo "${page#"$documents/"}: $link"
        done
    done <"$work/pages"
    echo "$(wc -l <"$work/pages") pages"
}

same_text "lintian has no remarks, and ends well" "0" "$(lintian --allow-root --fail-on error,warning \
    "$(package libsqlite3-mod-ptable)" "$(package libsqlite3-mod-ptable-service)" \
    "$(package libsqlite3-mod-ptable-dev)" "$packages/ptable_$version.dsc" >"$work/lintian" 2>&1
    echo $?; grep '^[EW]:' "$work/lintian")"
same_text "a fresh Debian" "" "$(mmdebstrap --quiet --variant=minbase --include=sqlite3,ca-certificates "$suite" \
    "$debian" 2>&1)"
cp /etc/resolv.conf "$debian/etc/"
mkdir "$debian/tmp/try"
cp "$(package libsqlite3-mod-ptable)" "$(package libsqlite3-mod-ptable-service)" \
    "$root/tests/packages/ten-lines.sql" "$debian/tmp/try/"
same_text "has no compiler" "" "$(inside 'command -v cc gcc clang')"
inside 'apt-get --quiet update' >"$work/update"
files >"$work/before"

same_text "apt installs the packages" "" \
    "$(inside 'apt-get --quiet install --yes /tmp/try/*.deb' >"$work/install" || cat "$work/install")"
same_text "the version is that of the package" "$version|$version" \
    "$(inside "sqlite3 -batch :memory: '.load ptable' 'SELECT pt_version()'")|$(
        inside "sqlite3 -batch :memory: '.load ptable_service' 'SELECT pt_version()'")"
same_text "ten lines of SQL, on a database in memory" "$(cat "$root/tests/packages/ten-lines.out")" \
    "$(inside "sqlite3 -batch :memory: '.load ptable' '.read /tmp/try/ten-lines.sql'")"
same_text "a database in a file keeps its rows" "3" \
    "$(inside "cd /tmp/try && sqlite3 -batch a.db '.load ptable' '.read ten-lines.sql' >/tmp/try/out &&
        sqlite3 -batch a.db '.load ptable' 'SELECT count(*) FROM Employee'")"
same_text "the library for the Table service" "here" \
    "$(inside "sqlite3 -batch :memory: '.load ptable_service' \"SELECT pt_service_account('here', 'UseDevelopmentStorage=true')\" \
        'SELECT Account FROM pt_service_accounts'" | tail -n 1)"
same_text "an example that comes with the package" "$(cat "$root/examples/06-compound-key.out")" \
    "$(inside '/usr/share/doc/libsqlite3-mod-ptable/examples/run.sh 06')"

same_text "links of the documents lead to files" "6 pages" "$(broken_links)"

same_text "apt removes the packages" "" \
    "$(inside 'apt-get --quiet purge --yes --auto-remove libsqlite3-mod-ptable libsqlite3-mod-ptable-service' \
        >"$work/remove" || cat "$work/remove")"
files >"$work/after"
same_text "nothing is left" "/usr/bin/sqlite3" \
    "$(grep -x /usr/bin/sqlite3 "$work/after"; diff "$work/before" "$work/after")"
same_text "the extension is gone" "no" \
    "$(inside "sqlite3 -batch :memory: '.load ptable'" >"$work/none" && echo yes || echo no)"

# The package for C programs, unpacked here, where a compiler is.
dpkg -x "$(package libsqlite3-mod-ptable-dev)" "$work/dev"
dev_flags=$(PKG_CONFIG_PATH=$(echo "$work"/dev/usr/lib/*/pkgconfig) \
    pkg-config --define-variable=prefix="$work/dev/usr" --cflags --libs ptable_service ptable)
# shellcheck disable=SC2086 # lists of words
same_text "a program is linked with the package for programs" "" \
    "$(${PT_COMPILE:-cc} -o "$work/linked" "$root/tests/packages/linked.c" $dev_flags 2>&1)"
same_text "and knows ptable" "$(cat "$root/tests/packages/ten-lines.out")" \
    "$("$work/linked" <"$root/tests/packages/ten-lines.sql" 2>&1)"
echo "1..$number"
test "$failures" -eq 0
