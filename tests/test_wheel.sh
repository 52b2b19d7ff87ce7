#!/bin/sh
# Tries the wheels in the folder PT_PACKAGES with Debian's Python: installs the one for this machine into a
# fresh environment, without network and compiler, loads the extension in the ways that Python has, and
# uninstalls it. Prints TAP.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

packages=${PT_PACKAGES:-$root/build/dist}
version=$(sed -n 's/^#define PT_VERSION "\(.*\)"/\1/p' "$root/ext/base/version.h")
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
python=$work/python/bin/python3

pip() {
    (cd "$work" && "$python" -m pip --quiet "$@" 2>&1)
}

# In a folder from which no module can come.
python() {
    (cd "$work" && "$python" "$@" 2>&1)
}

files() {
    (cd "$work/python" && find . | sort)
}

path_of_extension() {
    python -c 'import ptable_sqlite; print(ptable_sqlite.loadable_path())'
}

# machine ARCHITECTURE: for which machine the libraries in a wheel are. pip must take it there.
machine() {
    mkdir "$work/$1"
    pip download --dest "$work/$1" --no-index --find-links "$packages" --no-deps --only-binary :all: \
        --platform "manylinux_2_34_$1" ptable_sqlite
    python -m zipfile -e "$work/$1/ptable_sqlite-$version-py3-none-manylinux_2_34_$1.whl" "$work/$1"
    readelf -h "$work/$1"/ptable_sqlite/*.so* | sed -n 's/ *Machine: *//p' | sort | uniq -c | sed 's/^ *//'
}

same_text "a fresh environment" "" "$(/usr/bin/python3 -m venv --system-site-packages "$work/python" 2>&1)"
files >"$work/before"
same_text "pip installs the wheel" "" "$(pip install --no-index --find-links "$packages" ptable_sqlite)"
same_text "the versions are the same" "$version $version" "$(python -c '
import sqlite3, ptable_sqlite
connection = sqlite3.connect(":memory:")
connection.enable_load_extension(True)
ptable_sqlite.load(connection)
print(ptable_sqlite.__version__, connection.execute("SELECT pt_version()").fetchone()[0])')"
for binding in sqlite3 apsw; do
    same_text "ten lines of SQL with $binding, and libraries of the package alone" \
        "$(cat "$root/tests/packages/ten-lines.out")
ptable.so True
liblmdb.so.0 True" "$(python "$root/tests/packages/try_wheel.py" "$binding" "$root/tests/packages/ten-lines.sql")"
done
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n '/^```python/,/^```$/p' "$root/.packaging/python/README.md" | grep -v '^```' >"$work/readme.py"
same_text "the page's example prints a row, and keeps it for other programs" "[('Ann',)]
Ann" "$(python readme.py)
$(cd "$work" && sqlite3 -batch demo.db ".load '$(path_of_extension)'" 'SELECT Name FROM Employee' 2>&1)"
same_text "a Python whose SQLite loads no extensions" "NotImplementedError" "$(python -c '
import ptable_sqlite
ptable_sqlite.load(object())' | sed -n '$s/:.*//p')"
same_text "sqlite-utils --load-extension" "$version" \
    "$(cd "$work" && sqlite-utils query :memory: 'SELECT pt_version()' --raw \
        --load-extension "$(path_of_extension)" 2>&1)"
same_text "pip uninstalls it" "" "$(pip uninstall --yes ptable_sqlite)"
files >"$work/after"
same_text "nothing is left" "" "$(diff "$work/before" "$work/after")"
same_text "the wheel for x86_64" "3 Advanced Micro Devices X86-64" "$(machine x86_64)"
same_text "the wheel for aarch64" "3 AArch64" "$(machine aarch64)"
echo "1..$number"
test "$failures" -eq 0
