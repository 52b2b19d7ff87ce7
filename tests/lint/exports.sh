#!/bin/sh
# exports.sh ptable.so libptable.a entry_point: the first shows one symbol, the second only names that cannot
# clash with a program's own. Neither knows the switch for tests of ext/base/ways.h.
set -eu

shown=$(nm -D --defined-only --format=posix "$1" | cut -d ' ' -f 1)
if [ "$shown" != "$3" ]; then
    echo "$1: must export $3 and nothing else; it exports:" "$shown"
    exit 1
fi

foreign=$(nm --extern-only --defined-only --format=posix "$2" | sed -n 's/ [A-Z] .*//p' |
    grep -v -e '^pt_' -e "^$3\$" || true)
if [ -n "$foreign" ]; then
    echo "$2: functions shared between files must begin with pt_; these do not:" "$foreign"
    exit 1
fi
if grep -l PTABLE_WAYS "$1" "$2"; then
    echo "a released library must not know PTABLE_WAYS"
    exit 1
fi
echo "ok: ${1##*/} exports its entry point alone"
