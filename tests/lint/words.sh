#!/bin/sh
# Checks that the project speaks of itself only: no folders of one machine, no numbers of a tracker,
# no notes about unfinished work. Prints the lines that do, or one line.
set -eu
cd "$(dirname "$0")/../.."

places='/work/|/home/[a-z]|/root/|/Users/'
numbers='\<(issue|ticket|pull request)s? *#?[0-9]'
unfinished='\<(TODO|FIXME|HACK)\>'

found=$(find Makefile README.md .ci .packaging .clang-format .clang-tidy .gitignore ext sql tests examples \
    -type f ! -name words.sh -exec grep -nHIEi "$places|$numbers|$unfinished" {} + 2>/dev/null) ||
    true
if [ -n "$found" ]; then
    echo "$found"
    exit 1
fi
echo "ok: nothing speaks of the workshop"
