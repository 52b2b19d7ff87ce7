#!/usr/bin/perl
# report.pl LIST: reports the branches of ext/ that the tests have reached, from what gcovr --json writes.
# LIST (tests/coverage/unreached) has the conditions with a branch that no test reaches, under the reason,
# which begins with `#`. The report prints any other such condition, and any entry that no longer holds, and
# then fails; it also fails below 95 %. With /dev/null as LIST it prints all of them with their lines.
#
# An entry is `folder: condition`, so that it holds wherever in its folder the code moves. It stands for one
# place, `folder (3): condition` for three; after `~ ` tests may reach it by chance. A condition is what if,
# while, for or switch tests, or what stands before a ?; of && and || each operand is one. The name leaves out
# a `!` and parentheses around it. If a variable alone is tested, the call that has given it its value is
# named instead, without arguments: `rc != SQLITE_OK` is named after what has failed, as is PT_TRY().
use strict;
use warnings;
use JSON::PP;

my $LEAST = 95;    # percent of the branches

my %ENDS_OPERAND = map { $_ => 1 }
  split ' ', '; { } , ? : && || = += -= *= /= %= &= |= ^= <<= >>= return case else do';
my %TESTS = map { $_ => 1 } qw(if while for switch PT_TRY);
my $QUOTED = qr/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/;

# The text of a file, with blanks for comments and for what the preprocessor reads.
sub source_of {
    my ($file) = @_;
    open(my $in, '<', $file) or die "$file: $!\n";
    local $/;
    my $source = <$in>;
    $source =~ s{($QUOTED)|/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:\\\n|[^\n])*}{$1 // $& =~ s/[^\n]/ /gr}gemsx;
    return $source;
}

# The tokens of a source. A parenthesis or bracket is one token, with those inside it.
sub tokens_of {
    my ($source) = @_;
    my ($line, $counted, @open) = (1, 0, []);
    while ($source =~ /\G\s*($QUOTED|\w+|->|&&|\|\||(?:<<|>>|[-+*\/%&|^<>=!])=|\S)/g) {
        my ($text, $from, $to) = ($1, $-[1], $+[1]);
        $line += substr($source, $counted, $from - $counted) =~ tr/\n//;
        $counted = $from;
        if ($text =~ /^[)\]]$/) {
            pop @open;
            @{$open[-1][-1]}{'to', 'last_line'} = ($to, $line);
            next;
        }
        push @{$open[-1]}, {text => $text, from => $from, to => $to, line => $line, last_line => $line,
            in_first_column => $from == 0 || substr($source, $from - 1, 1) eq "\n"};
        if ($text =~ /^[(\[]$/) {
            push @open, $open[-1][-1]{inside} = [];
        }
    }
    return $open[0];
}

# Statements begin in a line of their own.
sub statements_of {
    my ($tokens) = @_;
    my ($ended, $last_line, @statements) = (1, 0);
    for my $token (@$tokens) {
        push @statements, [] if $token->{line} > $last_line && ($ended || $token->{in_first_column});
        push @{$statements[-1]}, $token;
        $ended = $token->{text} =~ /^[;{}]$/;
        $last_line = $token->{last_line};
    }
    return @statements;
}

sub span {
    my ($tested_by, @tokens) = @_;
    return {from => $tokens[0]{from}, to => $tokens[-1]{to}, tested_by => $tested_by};
}

# The conditions among tokens, in the order in which they are tested. $tested_by is the word before the
# parenthesis around them, if it tests what is in it.
sub conditions_of {
    my ($tokens, $tested_by) = @_;
    my ($before, $part, @operand, @found) = ('', 0);
    for my $token (@$tokens, {text => ';'}) {
        if (!$ENDS_OPERAND{$token->{text}}) {
            push @operand, $token;
            next;
        }
        my $is_tested = @operand > 0 && ($before =~ /^(?:&&|\|\|)$/ || $token->{text} =~ /^(?:&&|\|\||\?)$/
            || ($tested_by eq 'for' ? $part == 1 : $tested_by ne ''));
        my @bare = @operand;
        shift @bare while @bare > 1 && $bare[0]{text} eq '!';
        if ($is_tested && @bare == 1 && $bare[0]{text} eq '(') {
            push @found, conditions_of($bare[0]{inside}, 'if');
        } else {
            my $word = '';
            for my $part_of_it (@operand) {
                my $inside = $part_of_it->{inside};
                my $tests = $TESTS{$word} && $inside ? $word : '';
                push @found, conditions_of($inside, $tests eq 'PT_TRY' ? '' : $tests) if $inside;
                push @found, span($tests, @$inside) if $tests eq 'PT_TRY';
                $word = $part_of_it->{text};
            }
            push @found, span($tested_by, @bare) if $is_tested;
        }
        @operand = ();
        $before = $token->{text};
        $part++ if $before eq ';';
    }
    return @found;
}

# Shares the counts of a statement's branches out among its conditions: two for each, or any number for that of
# a switch. A function that is inlined has them once for each copy. If the compiler has joined conditions or
# left some out, all of the statement's are one.
sub with_counts {
    my ($statement, $counts, @conditions) = @_;
    my $size = 2 * @conditions;
    if ($size == 0 || @$counts % $size != 0) {
        my @parts = @conditions ? @conditions : grep { $_->{text} !~ /^[;{}]$/ } @$statement;
        return {%{span('', @parts)}, unreached => scalar grep { $_ == 0 } @$counts};
    }
    $conditions[$_ % $size / 2]{unreached} = 1 for grep { $counts->[$_] == 0 } 0 .. $#$counts;
    return @conditions;
}

# What the list calls a condition, and its place in the source. The result of one call is in one place,
# however often it is tested.
sub name_of {
    my ($source, $condition) = @_;
    my ($from, $to) = @$condition{'from', 'to'};
    my $name = substr($source, $from, $to - $from) =~ s/\s+/ /gr =~ s/(?<=[(\[]) | (?=[)\]])//gr;
    $name .= ' != SQLITE_OK' if $condition->{tested_by} eq 'PT_TRY';
    my $place = $from;
    if ($name =~ /^(\w+)(?: [!=]= \w+)?$/) {
        my $function = rindex($source, "\n{", $from);
        my $before = substr($source, $function, $from - $function);
        if ($before =~ /.*\b$1\s=\s((?:[^;]*\?\s)?[^;]*?\b(?!pt_error)[a-z]\w*\()[^;]*;/s) {
            $place = $function + $-[1];
            my ($call) = $1 =~ /(\w+\()$/;
            $name =~ s/^\w+/$call)/;
        }
    }
    $name =~ s/^(\w+)\(.*\) [!=]= SQLITE_OK$/$1() != SQLITE_OK/;
    return ($name, $place);
}

# Equal for names that differ in blanks, between == and !=, or in how the same members are reached.
sub key_of {
    my ($folder, $name) = @_;
    return "$folder: " . $name =~ s/!=/==/r =~ s/->/./gr =~ s/^!|[*&](?=\w)//gr =~ s/\B | \B//gr;
}

# The list: for each key how many places are unreached, and how many more may be.
my ($list) = @ARGV;
my (%lines, %certain, %possible);
open(my $in, '<', $list) or die "$list: $!\n";
while (my $line = <$in>) {
    chomp $line;
    next if $line =~ /^(?:#|$)/;
    my ($by_chance, $folder, $places, $name) = $line =~ /^(~ )?(\S+?)(?: \((\d+)\))?: (.+)$/
      or die "$list:$.: no entry: $line\n";
    my $key = key_of($folder, $name);
    push @{$lines{$key}}, $line;
    $certain{$key} += $by_chance ? 0 : $places // 1;
    $possible{$key} += $places // 1;
}

# The counts: for each key the places, and those that are unreached.
my ($branches, $reached) = (0, 0);
my (%names, %places, %unreached);
local $/;
for my $counted (@{decode_json(<STDIN>)->{files}}) {
    my $file = $counted->{file};
    my ($folder) = $file =~ m{^(.*)/};
    my %counts = map { $_->{line_number} => [map { $_->{count} } @{$_->{branches}}] } @{$counted->{lines}};
    my ($branches_here, $reached_here) = (0, 0);
    my $source = source_of($file);
    for my $statement (statements_of(tokens_of($source))) {
        my @counts = map { @{$counts{$_} // []} } $statement->[0]{line} .. $statement->[-1]{last_line};
        next if @counts == 0;
        $branches_here += @counts;
        $reached_here += grep { $_ > 0 } @counts;
        for my $condition (with_counts($statement, \@counts, conditions_of($statement, ''))) {
            my ($name, $place) = name_of($source, $condition);
            my $key = key_of($folder, $name);
            my $line = 1 + (substr($source, 0, $place) =~ tr/\n//);
            $names{$key} //= [$folder, $name];
            $places{$key}{"$file $place"} = 1;
            $unreached{$key}{"$file $place"} = "$file:$line" if $condition->{unreached};
        }
    }
    die "$file has branches outside its statements\n" if $branches_here != map { @$_ } values %counts;
    printf "%-45s %5d of %5d\n", $file, $reached_here, $branches_here if $branches_here > 0;
    $branches += $branches_here;
    $reached += $reached_here;
}

my ($surprises, $stale) = ('', '');
for my $key (sort keys %unreached) {
    my @where = sort values %{$unreached{$key}};
    if (@where > ($possible{$key} // 0)) {
        my ($folder, $name) = @{$names{$key}};
        $surprises .= $folder . (@where > 1 ? sprintf ' (%d)', scalar @where : '') . ": $name\n";
        $surprises .= "    $_\n" for @where;
    }
}
for my $key (sort keys %lines) {
    my ($now, $all) = map { scalar keys %{$_->{$key} // {}} } \%unreached, \%places;
    if ($now < $certain{$key} || $all < $possible{$key}) {
        $stale .= "$_\n" for @{$lines{$key}};
        $stale .= "    unreached: $now of $all\n";
    }
}
print "\nNot reached, and $list does not say why:\n$surprises" if $surprises ne '';
print "\nReached or gone, but in $list:\n$stale" if $stale ne '';
printf "\n%d of %d branches reached: %.1f %%\n", $reached, $branches, $branches ? 100 * $reached / $branches : 0;
exit($surprises ne '' || $stale ne '' || 100 * $reached < $LEAST * $branches || $branches == 0);
