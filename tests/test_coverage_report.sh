#!/bin/sh
# Runs tests/coverage/report.pl on small sources. In these a comment `//= 3 0` has the counts of the
# branches of its line, as gcov has them: two for each condition. Prints TAP.
set -u
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/shell.sh"

# has file: makes a source, of the text in standard input.
has() {
    mkdir -p "$work/$(dirname "$1")"
    cat >"$work/$1"
}

# report entry ...: the exit code of the report with a list of these entries, and what it prints after
# the table of files. It takes the counts in the form that gcovr writes.
report() {
    { echo '# Reason.' && printf '%s\n' "$@"; } >"$work/list"
    (
        cd "$work" || exit
        # shellcheck disable=SC2016 # the $ are Perl's
        find ext -type f | LC_ALL=C sort | xargs perl -MJSON::PP -ne '
            push @{$lines{$ARGV}}, {line_number => $., branches => [map { {count => $_ + 0} } split " ", $1 // ""]}
              if m{(?://=(.*))?$};
            close ARGV if eof;
            END { print encode_json({files => [map { {file => $_, lines => $lines{$_}} } sort keys %lines]}) }' >counts
        "$root/tests/coverage/report.pl" list <counts >report
        ended=$?
        sed '1,/^$/d; /branches reached/d; /^$/d' report
        echo "ends with $ended"
    )
}

good='ends with 0'

# Enough branches that what the other files lack is less than 5 %.
printf 'int rest(int kind)\n{\n    switch (kind) { //=%s\n    }\n}\n' "$(seq -s ' ' -f ' %g' 400)" | has ext/rest.c

has ext/a/store.c <<'END'
static int check(store *self)
{
    if (self->size > MAX && //= 7 1 1 0
        !self->grows) {
        return FULL;
    }
    return SQLITE_OK;
}

int put(store *self)
{
    int rc = is_none(self) ? pt_error_nomem(error) : write(self, 1); //= 1 1
    if (rc != SQLITE_OK) { //= 0 8
        return rc;
    }
    return check(self);
}
END
set -- 'ext/a: self->grows' 'ext/a: write() != SQLITE_OK'
same_text "all that is unreached is listed" "$good" "$(report "$@")"
same_text "an empty list" "Not reached, and list does not say why:
ext/a: self->grows
    ext/a/store.c:4
ext/a: write() != SQLITE_OK
    ext/a/store.c:12
ends with 1" "$(report '# None.')"
same_text "how the list spells a condition" "$good" \
    "$(report 'ext/a: !self.grows' 'ext/a: write() == SQLITE_OK')"
same_text "an entry that is reached" "Reached or gone, but in list:
ext/a: self->size > MAX
    unreached: 0 of 1
ends with 1" "$(report "$@" 'ext/a: self->size > MAX')"
same_text "an entry that is gone" "Reached or gone, but in list:
ext/a: self->length > MAX
    unreached: 0 of 0
ends with 1" "$(report "$@" 'ext/a: self->length > MAX')"
same_text "an entry that stands for more places" "Reached or gone, but in list:
ext/a (2): self->grows
    unreached: 1 of 1
ends with 1" "$(report 'ext/a (2): self->grows' 'ext/a: write() != SQLITE_OK')"
same_text "an entry of another folder" "Not reached, and list does not say why:
ext/a: self->grows
    ext/a/store.c:4
Reached or gone, but in list:
ext/b: self->grows
    unreached: 0 of 0
ends with 1" "$(report 'ext/b: self->grows' 'ext/a: write() != SQLITE_OK')"
same_text "by chance, and reached" "$good" "$(report "$@" '~ ext/a: self->size > MAX')"
same_text "by chance, and not reached" "$good" "$(report '~ ext/a: self->grows' '~ ext/a: write() != SQLITE_OK')"
same_text "by chance, and gone" "Reached or gone, but in list:
~ ext/a: self->length > MAX
    unreached: 0 of 0
ends with 1" "$(report "$@" '~ ext/a: self->length > MAX')"
report "$@" "ext/a self->grows" 2>"$work/error" >"$work/output"
same_text "a line that is no entry" 'list:4: no entry: ext/a self->grows' "$(cat "$work/error")"

# The same, merged into one function in another file, with other line breaks, braces and an else.
rm "$work/ext/a/store.c"
has ext/a/other.c <<'END'
int put(store *store)
{
    store self = *store; /* if (self.grows) { */
    PT_TRY(write(self, //= 0 8
                 strlen("a ? b")));
    if (self.size < MIN) { //= 0 1
        return SQLITE_OK;
    } else if (
        self.size > MAX //= 7 1
        && (!self.grows)) { //= 1 0
        return FULL;
    } else {
        return SQLITE_OK;
    }
}
END
same_text "merged, moved and wrapped" "$good" "$(report "$@" '~ ext/a: self.size < MIN')"

# The same conditions once more.
has ext/a/more.c <<'END'
int put_more(store *self)
{
    int rc = start(self);
    rc =
        rc == SQLITE_OK ? write(self, 2) : pt_error(error); //= 4 4
    bool done = rc == SQLITE_OK && self->grows; //= 4 0 4 0
    return rc == SQLITE_OK ? SQLITE_OK : fail(self, done); //= 4 0
}
END
set -- "$@" '~ ext/a: self.size < MIN'
same_text "an entry excuses one place" "Not reached, and list does not say why:
ext/a (2): self->grows
    ext/a/more.c:6
    ext/a/other.c:10
ext/a (2): write() != SQLITE_OK
    ext/a/more.c:5
    ext/a/other.c:4
ends with 1" "$(report "$@")"
same_text "several places" "$good" \
    "$(report 'ext/a (2): self->grows' 'ext/a: write() != SQLITE_OK' '~ ext/a: write() != SQLITE_OK' '~ ext/a: self.size < MIN')"
sed -i "s/4 0 4 0/4 1 4 1/" "$work/ext/a/more.c"
same_text "an entry that stands for too many places" "Reached or gone, but in list:
ext/a (2): self->grows
    unreached: 1 of 2
ends with 1" "$(report 'ext/a (2): self->grows' 'ext/a (2): write() != SQLITE_OK' '~ ext/a: self.size < MIN')"
rm "$work/ext/a/more.c" "$work/ext/a/other.c"

# What C has: what tests values[i] is inlined twice, the compiler has joined the letters.
has ext/b/all.c <<'END'
GENERATE(tree) //= 1 0
static int all(int *values, int count)
{
    for (int i = count > 8 ? 8 : count; i < count; i++) { //= 3 3 8 0
        while (!(values[i] == 1 || values[i] == 2)) { //= 1 1 1 1 1 1 0 1
            values[i] = is_even(values[i] ? '"' : '\'') ? 1 : 2; //= 2 1 0 3
        }
    }
    do {
        count -= values[0] > 0;
    } while (count > 0); //= 1 1
    bool done = count == 0 ||
#if defined A && defined B
                count == 1 || //= 1 1 1 1 1 0
#endif
                count == ';';
    bool letter = *values >= 'a' && *values <= 'z'; //= 3 0
    switch (count) { //= 1 0 1
    case 1:
        return find((const int[]){1, letter ? 2 : 3}, count == 2 || letter); //= 2 2 0 1 1 1
    }
    MACRO(values); //= 1 0
    return count < 3 ? (letter ? 1 : 2) : (count ? 3 : 4); //= 1 1 0 1 1 1
}
END
same_text "each kind of condition" "Not reached, and list does not say why:
ext/b: GENERATE(tree)
    ext/b/all.c:1
ext/b: MACRO(values)
    ext/b/all.c:22
ext/b: count
    ext/b/all.c:18
ext/b: count == ';'
    ext/b/all.c:16
ext/b: count == 2
    ext/b/all.c:20
ext/b: i < count
    ext/b/all.c:4
ext/b: is_even(values[i] ? '\"' : '\\'')
    ext/b/all.c:6
ext/b: letter
    ext/b/all.c:23
ext/b: *values >= 'a' && *values <= 'z'
    ext/b/all.c:17
ext/b: values[i] == 2
    ext/b/all.c:5
ends with 1" "$(report '# None.')"
rm "$work/ext/b/all.c"

echo "/* a comment */ //= 1 1" | has ext/b/all.c
report "# None." 2>"$work/error" >"$work/output"
same_text "branches that belong to no statement" "ext/b/all.c has branches outside its statements" "$(cat "$work/error")"
rm "$work/ext/b/all.c"

has ext/c/few.c <<'END'
int few(int kind)
{
    switch (kind) { //= 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
    }
}
END
same_text "95.0 % are enough" "$good" "$(report 'ext/c: kind')"
printf 'int more(int some)\n{\n    return some ? 1 : 2; //= 0 0\n}\n' | has ext/c/more.c
same_text "less is too little" "ends with 1" "$(report 'ext/c: kind' 'ext/c: some')"
rm -r "$work/ext"
echo "int none;" | has ext/none.c
same_text "no branches" "ends with 1" "$(report '# None.')"
echo "1..$number"
test "$failures" -eq 0
