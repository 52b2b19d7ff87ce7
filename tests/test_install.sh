#!/bin/sh
# Installs into an empty folder, runs installed examples from another folder, and uninstalls. Prints
# TAP. Installs the library under test; nothing is compiled.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

prefix=$work/to/usr

make_target() {
    MAKEFLAGS='' make -s --no-print-directory -C "$root" -o all "$1" DESTDIR="$work/to" PREFIX=/usr \
        OUT="$(dirname "$library")" BUILD="$work" 2>&1
}

# Runs an installed example. PT_SHELL is a list of words, so the libraries are separated by colons.
preload=$(echo "${PT_PRELOAD:-}" | tr ' ' ':')
installed() {
    (cd / && LC_ALL=C.UTF-8 TZ=UTC PT_SHELL="env LD_PRELOAD=$preload sqlite3" \
        timeout --kill-after=5 60 "$prefix/share/ptable/examples/run.sh" "$@" 2>&1)
}

echo "1..9"
same_text "install prints nothing with -s" "" "$(make_target install)"
same_text "the documents are installed" "README.md
examples/README.md
ext/FORMAT.md
ext/README.md
sql/README.md
tests/README.md" "$(cd "$prefix/share/doc/ptable" && find . -type f | sed 's/^..//' | LC_ALL=C sort)"
same_text "all examples are installed" \
    "$(cd "$root/examples" && find . -type f | LC_ALL=C sort)" \
    "$(cd "$prefix/share/ptable/examples" && find . -type f | LC_ALL=C sort)"
same_text "an installed example runs from any folder" \
    "### 06-compound-key
$(cat "$root/examples/06-compound-key.out")
### 24-materialised-view
$(cat "$root/examples/24-materialised-view.out")" \
    "$(installed 06 24-materialised-view.sql)"
same_text "the programs may be run" "yes" \
    "$(test -x "$prefix/share/ptable/examples/timeline.py" && echo yes)"
same_text "an example that does not exist" \
    "run.sh: there is no example 77 in $prefix/share/ptable/examples" "$(installed 77)"
same_text "uninstall prints nothing with -s" "" "$(make_target uninstall)"
same_text "nothing is left" "" "$(find "$prefix" -type f -o -name '*ptable*')"
same_text "ptable.so needs nothing of the library for the Table service" "liblmdb" \
    "$(readelf -d "$library" | grep -o -e liblmdb -e libcurl -e libnettle -e libgnutls -e libssl)"
test "$failures" -eq 0
