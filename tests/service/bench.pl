#!/usr/bin/perl
# Measures ptable_service beside @azure/data-tables, in one run and on the same server: the small Table
# service of this folder, which gives its replies without looking (service/canned.h), at once or after
# 20 ms. Prints a table with what is wanted at least.
#
#     bench.pl folder         the folder has the packages that npm has put there
#     RUNS=3                  of each measurement; the shortest counts
#
# Variables as in test_sql.pl.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use List::Util qw(min);
use Play qw($SERVER $LIBRARY $SERVICE_LIBRARY);

my $RUNS = $ENV{RUNS} // 3;
my ($ENTITIES, $GETS, $STREAMED, $DELAY) = (100_000, 2_000, 20_000, 20);
my $TIMEOUT = 600;    # seconds, of a shell
my $folder = $ARGV[0] // die "usage: bench.pl folder\n";

my $COLUMNS = 'Name String, Number Int32, Part Double, Note String, account=hr';
my $KEYS = "printf('p%03d', n / 1000) AS p, printf('%08d', n) AS r";

# The rows from 0 on, as bench.mjs makes them.
sub rows_sql {
    my ($count) = @_;
    return "WITH RECURSIVE i(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM i WHERE n + 1 < $count)"
      . " SELECT $KEYS, 'some text ' || n, n, n / 3.0, 'another text' FROM i";
}

my $server = Play::start($SERVER);
my $place = Play::folder_for($server, $LIBRARY, $SERVICE_LIBRARY);

# Runs statements, and answers how many seconds the last one took.
sub sql_seconds {
    my (@statements) = @_;
    open(my $input, '|-', Play::shell_command($place, $TIMEOUT)) // die "the shell: $!";
    print $input ".bail on\n.load ./ptable_service\nSELECT pt_service_account('hr') IS NULL;\n",
      map { ";\n$_" } @statements[0 .. $#statements - 1];
    print $input ";\n.timer on\n$statements[-1];\n";
    close $input;
    open(my $output, '<', "$place/output") or die "$place: $!";
    my @lines = <$output>;
    my ($seconds) = ($lines[-1] // '') =~ /^Run Time: real ([0-9.]+)/;
    return $seconds // die "the shell: @lines";
}

sub sdk_seconds {
    my ($task, $count) = @_;
    my $endpoint = "http://127.0.0.1:$server->{port}/$Play::ACCOUNT";
    my $seconds = qx(node '$folder/bench.mjs' '$endpoint' $task $count);
    die "node: $task\n" if $? != 0;
    return $seconds;
}

sub delay {
    my ($milliseconds) = @_;
    Play::command($server, 'forget');
    Play::command($server, "fault delay 1+ $milliseconds") if $milliseconds != 0;
}

# The shortest of some runs of each of two sides, which alternate.
sub compare {
    my ($name, $wanted, $milliseconds, $count, $here, $there) = @_;
    my (@here, @there);
    delay(0);
    $here->();    # the server keeps its replies
    delay($milliseconds);
    for (1 .. $RUNS) {
        push @here, $here->();
        push @there, $there->();
    }
    my ($mine, $other) = (min(@here), min(@there));
    my $times = $other / $mine;
    printf "| %-52s | %9.0f | %9.0f | %5.1f | %5.1f | %-5s |\n", $name, $count / $mine,
      $count / $other, $times, $wanted, $times < $wanted ? 'BELOW' : '';
}

sub many { return "CREATE VIRTUAL TABLE Many USING pt_service($COLUMNS" . $_[0] . ')' }

my $into = 'INSERT INTO Many(PartitionKey, RowKey, Name, Number, Part, Note)';

sub insert_seconds {
    my ($count, $parallel) = @_;
    return sql_seconds(many(", batch=split, parallel=$parallel"),
        'CREATE TEMP TABLE here AS ' . rows_sql($count), "$into SELECT * FROM here");
}

$| = 1;
sql_seconds("INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Many')",
    many(', batch=split'), "$into " . rows_sql($ENTITIES));
Play::command($server, 'canned 1');

printf "| %-52s | %9s | %9s | %5s | %5s | %-5s |\n|%s\n", 'a second', 'here', 'other', 'times',
  'least', '', '---|' x 6;
compare("gets, one after the other", 8, 0, $GETS,
    sub {
        sql_seconds(many(''), 'CREATE TEMP TABLE keys AS ' . rows_sql($GETS),
            'SELECT count(Name), sum(Number) FROM keys CROSS JOIN Many ON PartitionKey = p AND RowKey = r');
    },
    sub { sdk_seconds('get', $GETS) });
compare('entities inserted in batches, one after the other', 15, 0, $ENTITIES,
    sub { insert_seconds($ENTITIES, 1) },
    sub { sdk_seconds('insert', $ENTITIES) });
compare("entities scanned, $DELAY ms a request", 2.5, $DELAY, $ENTITIES,
    sub { sql_seconds(many(''), 'SELECT count(Name), sum(Number), sum(Part), sum(length(Note)) FROM Many') },
    sub { sdk_seconds('scan', $ENTITIES) });
compare("INSERT ... SELECT, 8 streams (other: 1), $DELAY ms", 4, $DELAY, $STREAMED,
    sub { insert_seconds($STREAMED, 8) },
    sub { insert_seconds($STREAMED, 1) });
print "other: \@azure/data-tables, or where it is said, one stream\n";
Play::stop($server);
