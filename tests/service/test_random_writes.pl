#!/usr/bin/perl
# Random writes, statements outside transactions and transactions with savepoints that read what they
# have written, do the same on a table of the service and on a ptable with the service's rules: the same
# entities, the same error codes. Prints TAP. N statements and N / 4 transactions from seed SEED on. With a command as arguments, on the emulator that it starts.
# Variables as in test_sql.pl.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play qw($SERVER $LIBRARY $SERVICE_LIBRARY);
use Test::More;

my $TIMEOUT = 600;    # seconds, of a shell
my $N = $ENV{N} // 600;
my $SEED = $ENV{SEED} // 1;

sub pick { return $_[ int rand @_ ] }
sub key { return "'" . pick(1 .. 6) . "'" }
sub number { return int rand 10 }
sub text { return pick('NULL', "''", "'x'", "'Zoë \"\\'", "'''q'''") }
sub where { return pick("PartitionKey = 'p' AND RowKey = " . key(), "n > " . number(), "PartitionKey = 'p' AND RowKey > " . key(), "s IS NULL") }
sub json { return pick("'{\"x\":1.5}'", "'{\"n\":7}'", "'{\"x\":\"t\",\"y\":true}'", "'{}'") }
sub rows { return join ', ', map { "('p', " . key() . ', ' . number() . ', ' . text() . ')' } 1 .. pick(1, 1, 2, 3) }

# A statement on the table T.
sub statement {
    my $into = 'INTO T(PartitionKey, RowKey, n, s';
    return pick(
        sub { 'INSERT ' . pick('', 'OR REPLACE ', 'OR IGNORE ', 'OR REPLACE ') . "$into) VALUES " . rows() },
        sub { "INSERT $into, WriteMode) VALUES ('p', " . key() . ', ' . number() . ', ' . text() . ', ' . pick("'merge'", "'replace'", "'insert'") . ')' },
        sub { "INSERT $into, WriteMode, IfMatch) VALUES ('p', " . key() . ', ' . number() . ', ' . text() . ', ' . pick("'merge'", "'replace'") . ", '*')" },
        sub { "INSERT $into, WriteMode, IfMatch) SELECT PartitionKey, RowKey, " . number() . ', ' . text() . ", 'merge', " . pick('ETag', "'W/\"old\"'") . ' FROM T WHERE ' . where() },
        sub { 'INSERT INTO T(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ' . "('p', " . key() . ", 'delete', " . pick("'*'", 'NULL') . ')' },
        sub { "INSERT INTO T(PartitionKey, RowKey, n, Properties) VALUES ('p', " . key() . ', ' . pick(number(), 'NULL') . ', ' . json() . ')' },
        sub { 'UPDATE T SET ' . pick('n = n + 1', 'n = NULL', 's = ' . text(), 'n = ' . number() . ', s = ' . text(), 'Properties = ' . json(), 'Properties = ' . json() . ', n = 3') . ' WHERE ' . where() },
        sub { 'UPDATE ' . pick('', 'OR REPLACE ') . 'T SET RowKey = ' . key() . " WHERE PartitionKey = 'p' AND RowKey = " . key() },
        sub { 'UPDATE T SET n = v.column1 FROM (VALUES (' . number() . ')) AS v WHERE ' . where() },
        sub { 'DELETE FROM T WHERE ' . where() },
        sub { "INSERT INTO T(PartitionKey, RowKey, n) VALUES ('p', " . key() . ', ' . pick("'bad'", 3000000000) . ')' },
        sub { "INSERT INTO T(PartitionKey, RowKey) VALUES ('p', " . pick('NULL', "'a/b'", "x'00'") . ')' },
    )->();
}

my $STATE = "SELECT group_concat(RowKey || ':' || ifnull(n, '-') || ':' || typeof(n) || ':' || ifnull(s, '-') || ':' || "
  . "ifnull(Properties ->> 'x', '-') || ':' || ifnull(Properties ->> 'y', '-'), ' ') FROM T;";

# A transaction. None of its statements fails for an entity that exists or is missing: on the service
# only COMMIT would.
my $fresh = 0;

sub change {
    my $into = 'INTO T(PartitionKey, RowKey, n, s';
    my $values = sub { "('p', " . ($_[0] // key()) . ', ' . number() . ', ' . text() . ')' };
    return pick(
        sub { "INSERT OR REPLACE $into) VALUES " . join ', ', map { $values->() } 1 .. pick(1, 2, 3) },
        sub { "INSERT OR IGNORE $into) VALUES " . join ', ', map { $values->() } 1 .. pick(1, 2) },
        sub { "INSERT $into) VALUES " . join ', ', map { $values->("'f" . $fresh++ % 50 . "-" . $fresh . "'") } 1 .. pick(1, 2) },
        sub { "INSERT $into, WriteMode) VALUES ('p', " . key() . ', ' . number() . ', ' . text() . ", 'merge')" },
        sub { "INSERT INTO T(PartitionKey, RowKey, WriteMode) VALUES ('p', 'missing" . $fresh++ . "', 'delete')" },
        sub { "INSERT INTO T(PartitionKey, RowKey, n) VALUES ('p', 'g" . $fresh++ . "', 1), ('p', " . key() . ", 'bad')" },
        sub { "INSERT OR REPLACE $into) VALUES " . $values->() . ";\nINSERT OR REPLACE INTO T(PartitionKey, RowKey) VALUES ('q', '1')" },
        sub { 'UPDATE T SET ' . pick('n = n + 1', 'n = NULL', 's = ' . text(), 'Properties = ' . json(), 'Properties = ' . json() . ', n = 3') . ' WHERE ' . where() },
        sub { 'UPDATE OR REPLACE T SET RowKey = ' . key() . " WHERE PartitionKey = 'p' AND RowKey = " . key() },
        sub { 'UPDATE T SET n = v.column1 FROM (VALUES (' . number() . ')) AS v WHERE ' . where() },
        sub { 'DELETE FROM T WHERE ' . where() },
    )->();
}

sub question {
    return pick(
        sub { "SELECT RowKey, n, s FROM T WHERE PartitionKey = 'p' AND RowKey = " . key() },
        sub { "SELECT RowKey, n FROM T WHERE PartitionKey = 'p' AND RowKey IN (" . join(', ', map { key() } 1 .. 3) . ')' },
        sub { "SELECT RowKey, n FROM T WHERE PartitionKey = 'p' AND RowKey BETWEEN " . key() . ' AND ' . key() . ' ORDER BY RowKey' . pick('', ' DESC', ' LIMIT 2') },
        sub { "SELECT RowKey, s FROM T WHERE " . where() . " ORDER BY RowKey" },
        sub { "SELECT count(*), sum(n), min(RowKey), max(RowKey) FROM T WHERE RowKey > " . key() },
        sub { "SELECT a.RowKey, b.n FROM T AS a JOIN T AS b ON b.PartitionKey = a.PartitionKey AND b.RowKey = a.RowKey WHERE a.PartitionKey = 'p' AND a.n > " . number() },
        sub { $STATE =~ s/;$//r },
    )->();
}

sub transaction {
    my @lines = ('BEGIN');
    my @savepoints;
    for (1 .. pick(3 .. 9)) {
        my $kind = pick(qw(change change question savepoint));
        if ($kind ne 'savepoint') { push @lines, $kind eq 'change' ? change() : question() }
        elsif (@savepoints && rand() < 0.3) { push @lines, 'RELEASE s' . pop @savepoints }
        elsif (@savepoints && rand() < 0.6) {
            my $place = int rand @savepoints;
            push @lines, "ROLLBACK TO s$savepoints[$place]";
            $#savepoints = $place;
        }
        else { push @savepoints, scalar @savepoints; push @lines, "SAVEPOINT s$savepoints[-1]" }
    }
    return join ";\n", @lines, question(), rand() < 0.2 ? 'ROLLBACK' : 'COMMIT';
}

# What the shell prints for each step on one of both tables.
sub outcomes {
    my ($service, $declaration, @steps) = @_;
    my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
    open(my $script, '>', "$folder/script") or die "$folder: $!";
    print $script ".load ./ptable\n.load ./ptable_service\nSELECT pt_service_account('hr') IS NULL;\n$declaration\n",
      map { "SELECT 'mark';\n$_;\n$STATE\n" } @steps;
    close $script;
    system(Play::shell_command($folder, $TIMEOUT) . " <'$folder/script'");
    open(my $output, '<', "$folder/output") or die "$folder: $!";
    local $/;
    my (undef, @found) = split /^mark\n/m, <$output>, -1;
    return @found;
}

# Of an error the service's code counts, and SQLite's code.
sub canonical {
    my ($text) = @_;
    $text =~ s/^(?:Runtime|Parse) error[^\n]*?((?: \(\w+\))+)$/error$1/mg;
    return $text;
}

if (!-e $SERVICE_LIBRARY) {
    plan skip_all => 'ptable_service.so is not built';
}
my $service = @ARGV ? Play::start(@ARGV) : Play::start_server($SERVER);
srand $SEED;
my @steps = map { $_ % 5 == 0 ? transaction() : statement() } 1 .. $N + $N / 4;
my @local = outcomes($service, "CREATE VIRTUAL TABLE T USING ptable(n Int32, s String, table='T01', batch='azure', limits='azure');", @steps);
my @remote = outcomes($service,
    "INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'T01');\n"
      . "CREATE VIRTUAL TABLE T USING pt_service(n Int32, s String, account=hr, table='T01');", @steps);
is(scalar @local, scalar @steps, 'all steps on the ptable');
is(scalar @remote, scalar @steps, 'all steps on the service');
my $different = 0;
for my $i (0 .. $#steps) {
    my ($expected, $found) = map { canonical($_->[$i] // '') } \@local, \@remote;
    # Of rows that break two rules, the service's table finds the batch's rule first.
    $expected =~ s/EntityAlreadyExists|ResourceNotFound/InvalidDuplicateRow/ if $found =~ /InvalidDuplicateRow/;
    next if $expected eq $found;
    fail("step $i of seed $SEED: $steps[$i]");
    diag("$remote[$i] instead of $local[$i]");
    last if ++$different == 3;
}
is($different, 0, 'each step does the same on both');
my $errors = grep { /error/ } @local;
cmp_ok($errors, '<', @steps / 2, "$errors of " . @steps . ' steps are refused');
is(Play::stop($service), 0, 'the service has ended well');
done_testing;
