#!/usr/bin/perl
# amalgamate.pl FOLDER: puts the files of ext/ together into FOLDER/ptable.c and FOLDER/ptable_service.c,
# and copies their headers. The files follow one another in the order of the folders in ext/README.md;
# a header stands before the first file that includes it. Headers of the system come first.
use strict;
use warnings;

my $folder = shift or die "amalgamate.pl: name the folder for the result\n";
my $ext = 'ext';

sub lines_of {
    my ($path) = @_;
    open my $file, '<', $path or die "amalgamate.pl: $path: $!\n";
    return <$file>;
}

# The folders, from the lowest to the highest.
my @folders = map { m{^- \*\*`(\S+)/`\*\*} ? $1 : () } lines_of("$ext/README.md");
my %text;
for my $path (glob("$ext/*.[ch]"), map { glob("$ext/$_/*.[ch]") } @folders) {
    $text{$path =~ s{^$ext/}{}r} = [lines_of($path)];
}
my $version = join('', @{$text{'base/version.h'}}) =~ /PT_VERSION "(.*)"/ ? $1 : die 'no version';

# The source files of a library, in order: those whose names match, and those that define a name that
# these use. Without that choice the library for the Table service would contain half a store.
sub sources_of {
    my ($entry, $all) = @_;
    my @order = ((map { my $in = $_; grep { m{^\Q$in\E/[^/]*\.c$} } sort keys %text } @folders), $entry);
    my %definer;
    for my $path (@order) {
        for (@{$text{$path}}) {
            $definer{$1} = $path if /^(?!static |typedef |extern |#)[a-z].*?\b(pt_\w+)(?:\(| =|\[|;)/;
        }
    }
    my @wanted = grep { $_ eq $entry || m{$all} } @order;
    my %taken;
    while (defined(my $path = shift @wanted)) {
        next if $taken{$path}++;
        push @wanted, grep { defined } map { $definer{$_} } map { /\b(pt_\w+)/g } @{$text{$path}};
    }
    return grep { $taken{$_} } @order;
}

# True in a line that only some builds see; the guard around a header does not count.
sub next_depth {
    my ($line, $depth) = @_;
    return $depth + ($line =~ /^#if/ ? 1 : $line =~ /^#endif/ ? -1 : 0);
}

# A file's own lines as pairs [kind, line]: 'own' includes, 'system' headers, 'text'. A header of the
# system after a #define stays where it is, because the macro is for it.
sub parts_of {
    my ($path) = @_;
    my $depth = $path =~ /\.h$/ ? -1 : 0;
    my $macro = 0;
    my @parts;
    for (@{$text{$path}}) {
        $depth = next_depth($_, $depth);
        $macro ||= /^#define \w+$/ && !/_H$/;
        push @parts, [/^#include "(.*)"/ ? ('own', $1) : !$depth && !$macro && /^#include </ ? ('system', $_) : ('text', $_)];
    }
    return @parts;
}

# Appends a file to the result, after the headers that it includes. A source that ptable.c has as well
# is left out of a program that links both.
sub add {
    my ($path, $own, $result) = @_;
    return if $result->{seen}{$path}++;
    my @parts = parts_of($path);
    add($_->[1], $own, $result) for grep { $_->[0] eq 'own' } @parts;
    my @text = map { $_->[1] } grep { $_->[0] eq 'text' } @parts;
    $result->{system}{$_->[1]} = 1 for grep { $_->[0] eq 'system' } @parts;
    @text = ("#ifndef PTABLE_LINKED\n", @text, "#endif\n") if $path =~ /\.c$/ && $path !~ $own;
    push @{$result->{lines}}, "\n/* ---- $path ---- */\n", @text;
}

sub write_file {
    my ($path, @lines) = @_;
    open my $file, '>', $path or die "amalgamate.pl: $path: $!\n";
    print $file @lines;
    close $file or die "amalgamate.pl: $path: $!\n";
}

sub text_about {
    my ($name, $libraries, $beside) = @_;
    return <<"END";
/*
 * $name $version: all of its source in one file, made by `make amalgamation`. Not to be edited.
 *
 *     cc -O2 -fPIC -shared -Wl,-z,nodelete -o $name.so $name.c $libraries
 *     cc -O2 -DSQLITE_CORE -c $name.c    to link it into a program: $name.h says how$beside
 */
END
}

# Writes the two files of a library. `own` matches the sources that no other library has. The names
# are hidden, because the program or another library may have the same ones.
sub amalgamate {
    my ($name, $own, $libraries, $beside) = @_;
    my %result = (seen => {}, system => {}, lines => []);
    add($_, $own, \%result) for sources_of("$name.c", $own);
    write_file("$folder/$name.c", text_about($name, $libraries, $beside),
        "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n\n", sort(keys %{$result{system}}),
        "\n#pragma GCC visibility push(hidden)\n", @{$result{lines}}, "\n#pragma GCC visibility pop\n");
    write_file("$folder/$name.h", @{$text{"$name.h"}});
}

my $beside = <<'END' =~ s/\n\z//r;

 *     cc -O2 -DSQLITE_CORE -DPTABLE_LINKED -c ptable_service.c    if the program links ptable.c, too
END
amalgamate('ptable', qr{^(?!service/)}, '-llmdb -luuid -lpthread -lm', '');
amalgamate('ptable_service', qr{^(service/|ptable_service\.)}, '-lcurl -lnettle -luuid -lpthread -lm', $beside);
