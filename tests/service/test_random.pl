#!/usr/bin/perl
# Random SELECTs on a table of the service give the rows that they give on an ordinary table with the
# same rows, in a database of each encoding. Prints TAP.
#
#     test_random.pl                on the small Table service of this folder, in both dialects, with
#                                   pages cut at random
#     test_random.pl command ...    on the emulator, which the command starts
#     N=1000 SEED=7 ...             more statements on each set of rows; other ones
#
# Variables as in test_sql.pl.
use strict;
use warnings;
use utf8;
use Encode qw(encode);
use FindBin;
use lib $FindBin::Bin;
use Play qw($SERVER $LIBRARY $SERVICE_LIBRARY);
use Test::More;

my $SEED = $ENV{SEED} // 1;
my $COUNT = $ENV{N} // 60;
my $SETS = 6;
my $FIRST_LARGE = 5;    # of the sets: from here on of so many pages that ranges are divided
my @ENCODINGS = ('UTF-16le', 'UTF-8', 'UTF-16be', 'UTF-8');
my $TIMEOUT = 100 + $COUNT;    # seconds, of a set of rows

srand $SEED;
binmode Test::More->builder->$_, ':utf8' for qw(output failure_output todo_output);

sub pick { return $_[ int rand @_ ] }

# --- Rows

my @CHARACTERS = ('a', 'b', '0', ' ', "'", 'é', "\x{d7ff}", "\x{e000}", "\x{fffd}", "\x{1f600}", "\x{10fffd}");

sub random_key { return join '', map { pick(@CHARACTERS) } 1 .. int rand 4 }

sub random_rows {
    my @partitions = map { random_key() } 1 .. 5;
    my %rows;
    for (1 .. 150) {
        my ($pk, $rk) = (pick(@partitions), random_key());
        $rows{$pk}{$rk} = {
            rand() < 0.8 ? (n => pick(-1, 0, 1, 2, 3, 2147483647)) : (),
            rand() < 0.8 ? (s => random_key()) : (),
        };
    }
    return \%rows;
}

# Keys of the kinds that people have, and odd ones between them; one partition is large.
sub random_rows_of_many_partitions {
    my @digits = ('0' .. '9', 'a' .. 'f');
    my @partitions = (
        (map { sprintf 'p%02d', $_ } 0 .. int rand 30),
        (map { join '', map { pick(@digits) } 1 .. 3 } 1 .. 12),
        (map { pick('', 'p0', 'q', 'é', "\x{4e00}", "\x{d7ff}") . random_key() . pick('', 0 .. 9) } 1 .. 20),
    );
    my $large = pick(@partitions);
    my %rows;
    for my $pk (@partitions) {
        for my $n (0 .. ($pk eq $large ? 60 : int rand 6)) {
            my $rk = rand() < 0.8 ? sprintf('%03d', $n) : random_key();
            $rows{$pk}{$rk} = { n => $n, rand() < 0.8 ? (s => random_key()) : () };
        }
    }
    return \%rows;
}

sub json_of {
    my ($pk, $rk, $row) = @_;
    my %texts = (PartitionKey => $pk, RowKey => $rk, defined $row->{s} ? (s => $row->{s}) : ());
    my @members = map { qq("$_":"$texts{$_}") } sort keys %texts;
    push @members, qq("n":$row->{n}) if defined $row->{n};
    return encode('utf8', '{' . join(',', @members) . '}');
}

sub load_rows {
    my ($service, $table, $rows) = @_;
    Play::ask($service, 'POST', '/Tables', {}, qq({"TableName":"$table"}));
    for my $pk (sort keys %$rows) {
        my @all = map { [ 'POST', "/$table", {}, json_of($pk, $_, $rows->{$pk}{$_}) ] }
          sort keys %{ $rows->{$pk} };
        while (my @some = splice @all, 0, 100) {
            my $reply = Play::ask_batch($service, @some);
            die $reply->{body} if $reply->{body} =~ /odata\.error/;
        }
    }
}

sub quoted { return defined $_[0] ? "'" . $_[0] =~ s/'/''/gr . "'" : 'NULL' }

sub twin_of {
    my ($rows) = @_;
    my @values;
    for my $pk (sort keys %$rows) {
        for my $rk (sort keys %{ $rows->{$pk} }) {
            my $row = $rows->{$pk}{$rk};
            push @values, '(' . join(',', quoted($pk), quoted($rk), $row->{n} // 'NULL', quoted($row->{s})) . ')';
        }
    }
    return "CREATE TABLE twin(PartitionKey TEXT, RowKey TEXT, n INTEGER, s TEXT);\n"
      . 'INSERT INTO twin VALUES ' . join(",\n", @values) . ";\n";
}

# --- Statements

my $rows;

sub some_partition { return quoted(rand() < 0.7 ? pick(sort keys %$rows) : random_key()) }

sub some_row_key {
    my $partition = $rows->{ pick(sort keys %$rows) };
    return quoted(rand() < 0.6 ? pick(sort keys %$partition) : random_key());
}

sub key_condition {
    my ($column, $value) = @_;
    my $kind = int rand 8;
    return "$column = " . $value->() if $kind < 2;
    return "$column " . pick('<', '<=', '>', '>=') . ' ' . $value->() if $kind < 5;
    return "$column BETWEEN " . $value->() . ' AND ' . $value->() if $kind == 5;
    return "$column IN (" . join(', ', map { $value->() } 0 .. int rand 4) . ')' if $kind == 6;
    return "pt_starts_with($column, " . $value->() . ')';
}

sub other_condition {
    return pick(
        'n ' . pick('=', '<>', '<', '<=', '>', '>=') . ' ' . pick(-1, 0, 1, 2.5, "'2'", 'NULL'),
        'n IS ' . pick('NULL', 'NOT NULL', '2'),
        's ' . pick('=', '<', '>=', '<>') . ' ' . quoted(random_key()),
        's LIKE ' . quoted('%' . pick('a', 'B', 'é') . '%'),
        "$_[0] = 's'",
    );
}

# A $filter and the same condition in SQL, as {filter|SQL}.
sub filter {
    my %operators = (eq => '=', ne => '<>', gt => '>', ge => '>=', lt => '<', le => '<=');
    my @comparisons = map {
        my $text = quoted(random_key());
        my $operator = pick('eq', 'ne');
        my $other = pick(keys %operators);
        my $number = pick(-1, 0, 1, 2);
        pick([ "n $other $number", "n $operators{$other} $number" ], [ "s $operator $text", "s $operators{$operator} $text" ])
    } 0 .. int rand 3;
    my $joint = pick(' and ', ' or ');
    my ($filter, $sql) = map { my $i = $_; join $joint, map { $_->[$i] } @comparisons } 0, 1;
    $filter =~ s/'/''/g;
    return "{Filter MATCH '$filter'|($sql)}";
}

sub conditions {
    my ($depth) = @_;
    my @parts;
    push @parts, filter() if $depth == 0 && rand() < 0.25;
    push @parts, key_condition('PartitionKey', \&some_partition) if rand() < 0.7;
    push @parts, key_condition('RowKey', \&some_row_key) if rand() < 0.6;
    push @parts, key_condition('RowKey', \&some_row_key) if rand() < 0.3;
    push @parts, other_condition('RowKey') if rand() < 0.3;
    push @parts, 'NOT (' . conditions($depth + 1) . ')' if $depth < 2 && rand() < 0.1;
    push @parts, '(' . conditions($depth + 1) . ' OR ' . conditions($depth + 1) . ')'
      if $depth < 2 && rand() < 0.2;
    return @parts ? join ' AND ', @parts : '1';
}

my @ORDERS = ('PartitionKey, RowKey', 'PartitionKey DESC, RowKey DESC', 'n, PartitionKey, RowKey');

# A SELECT with the table %T, often of the whole table if so asked for, and whether the order of its rows counts.
sub random_statement {
    my $where = $_[0] && rand() < 0.5 ? '1' : conditions(0);
    my $kind = int rand 10;
    return ("SELECT count(*), sum(n), min(RowKey), max(s) FROM %T WHERE $where", 1) if $kind == 0;
    return ("SELECT DISTINCT PartitionKey FROM %T WHERE $where", 0) if $kind == 1;
    return ('SELECT a.RowKey, b.RowKey FROM %T AS a JOIN %T AS b ON b.PartitionKey = a.PartitionKey'
          . " AND b.RowKey = a.s WHERE a.PartitionKey = ${\some_partition()}", 0) if $kind == 2;
    return ("SELECT RowKey, (SELECT count(*) FROM %T AS i WHERE i.PartitionKey = o.s) FROM %T AS o"
          . " WHERE PartitionKey = ${\some_partition()}", 0) if $kind == 3;
    my $columns = pick('PartitionKey, RowKey, n, s', 'RowKey', 'n', 's, PartitionKey');
    return ("SELECT $columns FROM %T WHERE $where", 0) if $kind < 6;
    my $order = pick(@ORDERS);
    my $limit = rand() < 0.6 ? ' LIMIT ' . int(rand 12) : '';
    $limit = ' LIMIT ' . pick(100, 1001, 5000) if rand() < 0.1;
    $limit .= ' OFFSET ' . int(rand 8) if $limit && rand() < 0.4;
    return ("SELECT $columns FROM %T WHERE $where ORDER BY $order$limit", 1);
}

# --- Comparing

# The rows of each statement, on both tables.
sub run_statements {
    my ($service, $table, $encoding, @statements) = @_;
    my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
    open(my $script, '>:utf8', "$folder/script") or die $!;
    print $script "PRAGMA encoding = '$encoding';\n.load ./ptable_service\nSELECT pt_service_account('hr') IS NULL;\n",
      "CREATE VIRTUAL TABLE Remote USING pt_service(n Int32, s String, account=hr, table='$table', parallel=${\pick(1, 2, 8, 20)});\n",
      twin_of($rows), ".mode quote\n";
    for my $statement (@statements) {
        for my $name (qw(Remote twin)) {
            my $condition = $name eq 'Remote' ? 1 : 2;
            my $sql = $statement->[0] =~ s/\{(.*?)\|(.*?)\}/$condition == 1 ? $1 : $2/egr;
            print $script "SELECT 'mark';\n", $sql =~ s/%T/$name/gr, ";\n";
        }
    }
    close $script;
    system(Play::shell_command($folder, $TIMEOUT) . " <'$folder/script'");
    open(my $output, '<:utf8', "$folder/output") or die $!;
    local $/;
    my (undef, @answers) = split /^'mark'\n/m, <$output>, -1;
    return @answers;
}

sub in_order { return join "\n", sort split /\n/, $_[0] }

if (!-e $SERVICE_LIBRARY) {
    plan skip_all => 'ptable_service.so is not built';
}
for my $set (1 .. $SETS) {
    my $dialect = $set % 3 == 0 ? 'azurite' : 'azure';
    my $service = Play::start(@ARGV ? @ARGV : ($SERVER, '--dialect', $dialect));
    my $is_large = $set >= $FIRST_LARGE;
    $rows = $is_large ? random_rows_of_many_partitions() : random_rows();
    load_rows($service, 'Random', $rows);
    if (!@ARGV) {
        Play::command($service, "pages $set");
        Play::command($service, 'rows ' . (1 + int rand($is_large ? 6 : 100)));
    }
    my $count = $is_large ? $COUNT / 3 : $COUNT;
    my @statements = map { [ random_statement($is_large) ] } 1 .. $count;
    my @answers = run_statements($service, 'Random', $ENCODINGS[$set % @ENCODINGS], @statements);
    is(scalar @answers, 2 * $count, "set $set: both tables answer every statement");
    my $same = 0;
    my $empty = 0;
    for my $statement (@statements) {
        my ($sql, $is_ordered) = @$statement;
        my ($remote, $twin) = map { $is_ordered ? $_ // 'none' : in_order($_ // 'none') } splice @answers, 0, 2;
        $empty++ if $twin eq '';
        if ($remote eq $twin) { $same++ }
        else { is($remote, $twin, $sql) }
    }
    is($same, $count, "set $set: the answers are the same (SEED=$SEED)");
    cmp_ok($empty, '<', 0.8 * $count, "set $set: enough of them have rows");
    is(Play::stop($service), 0, "set $set: the service has ended well");
}
done_testing;
