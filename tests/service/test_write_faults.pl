#!/usr/bin/perl
# Each request of a statement that writes meets each fault in turn. Afterwards all of the statement is
# done or nothing. A statement that succeeds has done all, once; one that fails without saying that the
# change may have been applied has done nothing. Prints TAP. With LONG=1 (make test-long) all of the
# cases, also with retries, which wait; else a part of them. Variables as in test_sql.pl.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play qw($SERVER $LIBRARY $SERVICE_LIBRARY);
use Test::More;

my $TIMEOUT = 100;    # seconds, of all statements

my @KINDS = qw(drop lose cut close delay busy throttle spoil page redirect);

# Fewer where a request is sent again, which waits about a second.
my @REPEATED = ('drop 1', 'lose 1', 'cut 1', 'throttle 1', 'lose 1; ./command fault drop 2',
    'drop 1; ./command fault lose 3');

# Before each one there are the entities old=1 and gone=2. P is the case's own partition.
my %STATEMENTS = (
    insert => ["INSERT INTO T(PartitionKey, RowKey, n) VALUES (P, 'new', 5);", 'gone=2,new=5,old=1'],
    replace => ["INSERT OR REPLACE INTO T(PartitionKey, RowKey, n) VALUES (P, 'old', 5);", 'gone=2,old=5'],
    update => ["UPDATE T SET n = n + 1 WHERE PartitionKey = P AND RowKey = 'old';", 'gone=2,old=2'],
    remove => ["UPDATE T SET n = NULL WHERE PartitionKey = P AND RowKey = 'old';", 'gone=2,old=-'],
    delete => ["DELETE FROM T WHERE PartitionKey = P AND RowKey = 'gone';", 'old=1'],
    several => ["INSERT INTO T(PartitionKey, RowKey, n) VALUES (P, 'a', 7), (P, 'b', 8);", 'a=7,b=8,gone=2,old=1'],
    batch => [
        "BEGIN; UPDATE T SET n = n + 1 WHERE PartitionKey = P AND RowKey = 'old'; DELETE FROM T WHERE "
          . "PartitionKey = P AND RowKey = 'gone'; INSERT INTO T(PartitionKey, RowKey, n) VALUES (P, 'new', 5); "
          . "COMMIT;\nROLLBACK;", 'new=5,old=2'
    ],
);
# COMMIT, the third request, is given again after SQLITE_BUSY.
$STATEMENTS{again} = [$STATEMENTS{batch}[0] =~ s/COMMIT;\n/COMMIT;\nCOMMIT;\n/r, $STATEMENTS{batch}[1]];
my $BEFORE = 'gone=2,old=1';

# What the shell prints for each case: [output of the statement, state afterwards].
sub outcomes {
    my ($service, $retries, @cases) = @_;
    my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
    open(my $script, '>', "$folder/script") or die "$folder: $!";
    print $script ".load ./ptable_service\nSELECT pt_service_account('hr') IS NULL;\n",
      "CREATE VIRTUAL TABLE T USING pt_service(n Int32, account=hr, table='Written', retries=$retries);\n";
    for my $case (@cases) {
        my $sql = $STATEMENTS{ $case->{name} }[0] =~ s/\bP\b/'$case->{partition}'/gr;
        print $script "INSERT INTO T(PartitionKey, RowKey, n) VALUES ('$case->{partition}', 'old', 1), ",
          "('$case->{partition}', 'gone', 2);\n.shell ./command forget; ./command fault $case->{faults}\n",
          "SELECT 'mark';\n$sql\n.shell ./command forget\nSELECT 'state';\nSELECT group_concat(RowKey || '=' || ifnull(n, '-'), ',') ",
          "FROM T WHERE PartitionKey = '$case->{partition}';\n";
    }
    close $script;
    system(Play::shell_command($folder, $TIMEOUT) . " <'$folder/script'");
    open(my $output, '<', "$folder/output") or die "$folder: $!";
    local $/;
    my (undef, @found) = split /^mark\n/m, <$output>, -1;
    return map { [split /^state\n/m] } @found;
}

sub judge {
    my ($case, $said, $state) = @_;
    my $after = $STATEMENTS{ $case->{name} }[1];
    $said =~ s/^[^\n]*cannot (?:rollback|commit)[^\n]*\n//mg;
    $said =~ s/^[^\n]*\(5\)\n// if $case->{name} eq 'again' && $state eq "$after\n";
    chomp $state;
    return 'done' if $said eq '' && $state eq $after;
    return 'unknown' if $said =~ /may have been applied/ && ($state eq $after || $state eq $BEFORE);
    return 'failed' if $said =~ /error/ && $said !~ /may have been applied/ && $state eq $BEFORE;
    return "wrong: '$said', $state";
}

sub test_cases {
    my ($service, $retries, @cases) = @_;
    my %count = (done => 0, unknown => 0, failed => 0);
    my @found = outcomes($service, $retries, @cases);
    is(scalar @found, scalar @cases, "retries $retries: all outcomes");
    for my $i (0 .. $#found) {
        my $verdict = judge($cases[$i], @{ $found[$i] });
        if (exists $count{$verdict}) { $count{$verdict}++ }
        else { fail("retries $retries: $cases[$i]{name}, $cases[$i]{faults}: $verdict") }
    }
    my $all = join ', ', map { "$count{$_} $_" } sort keys %count;
    cmp_ok($count{done}, '>', 0, "retries $retries: $all");
    return %count;
}

# A load in groups, with a fault at each of its requests: if it fails, it says how many operations are
# done, and not fewer are; more only if it says that nobody knows. Run again, it does the rest.
sub test_loads {
    my ($service) = @_;
    my @faults = map { my $kind = $_; map { "$kind $_" } 1 .. 3 } @KINDS;
    my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
    open(my $script, '>', "$folder/script") or die "$folder: $!";
    print $script ".load ./ptable_service\nSELECT pt_service_account('hr') IS NULL;\n",
      "CREATE VIRTUAL TABLE L USING pt_service(n Int32, account=hr, table='Written', retries=0, batch=split);\n";
    for my $i (0 .. $#faults) {
        my $load = 'INSERT OR REPLACE INTO L(PartitionKey, RowKey, n) WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL '
          . "SELECT i + 1 FROM c WHERE i < 249) SELECT 'load$i', i, i FROM c;";
        my $count = "SELECT count(*) FROM L WHERE PartitionKey = 'load$i';";
        print $script ".shell ./command forget; ./command fault $faults[$i]\nSELECT 'mark';\n$load\n",
          ".shell ./command forget\nSELECT 'state';\n$count\n$load\n$count\n";
    }
    close $script;
    system(Play::shell_command($folder, $TIMEOUT) . " <'$folder/script'");
    open(my $output, '<', "$folder/output") or die "$folder: $!";
    my (undef, @found) = split /^mark\n/m, do { local $/; <$output> }, -1;
    is(scalar @found, scalar @faults, 'all outcomes of loads');
    my $failed = 0;
    for my $i (0 .. $#found) {
        my ($said, $state) = split /^state\n/m, $found[$i];
        my ($told) = $said eq '' ? 250 : $said =~ /; (\d+) operations of the statement are done/ ? $1 : 0;
        my ($done, $again) = split /\n/, $state;
        my $unknown = $said =~ /may have been applied/;
        my $right = $again == 250 && ($unknown ? $done >= $told : $done == $told);
        fail("load, $faults[$i]: $said$state") if !$right;
        $failed += $said ne '';
    }
    cmp_ok($failed, '>', 5, "$failed loads have failed");
}

if (!-e $SERVICE_LIBRARY) {
    plan skip_all => 'ptable_service.so is not built';
}
my $service = Play::start_server($SERVER, '--command', 'rows 1000');
my $number = 0;
my @once = map { my $name = $_;
    map { my $kind = $_; map { { name => $name, faults => "$kind $_", partition => 'p' . $number++ } } $name eq "again" ? 3 : 1 .. 3 } @KINDS
} sort keys %STATEMENTS;
my @again = map { my $name = $_; map { { name => $name, faults => $_, partition => 'p' . $number++ } } @REPEATED }
  sort grep { $_ !~ /^(?:remove|several|again)$/ } keys %STATEMENTS;
if (!$ENV{LONG}) {
    @once = @once[grep { $_ % 3 == int($_ / 3) % 3 } 0 .. $#once];
}
my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
open(my $script, '>', "$folder/script") or die "$folder: $!";
print $script ".load ./ptable_service\nSELECT pt_service_account('hr') IS NULL;\n",
  "INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Written');\n";
close $script;
system(Play::shell_command($folder, $TIMEOUT) . " <'$folder/script'");
@again = grep { $_->{faults} eq 'lose 1' && $_->{name} =~ /^(?:insert|batch)$/ } @again if !$ENV{LONG};
my %once = test_cases($service, 0, @once);
cmp_ok($once{$_}, '>', 0, "some are $_") for qw(failed unknown);
test_cases($service, 1, @again);
test_loads($service);
is(Play::stop($service), 0, 'the server has ended well');
done_testing;
