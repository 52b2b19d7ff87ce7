#!/usr/bin/perl
# Each request of a statement meets each fault in turn: the statement then gives the rows that it
# gives without, or fails. It never gives fewer. Prints TAP. Variables as in test_sql.pl. Without LONG=1
# (make test-long) only a part of the cases are tried.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play qw($SERVER $LIBRARY $SERVICE_LIBRARY);
use Test::More;

my $TIMEOUT = 100;    # seconds, of all statements
my $ROWS = 200;       # of a page

# After some the statement must fail: it would be no use to send the request again.
my %must_fail = (spoil => 1, page => 1, redirect => 1);
my @KINDS = ('drop', 'lose', 'cut', 'close', 'delay', 'busy', 'throttle', sort keys %must_fail);

my @STATEMENTS = (
    'SELECT count(*), sum(n), sum(m) FROM Many',
    "SELECT count(*), sum(n) FROM Many WHERE PartitionKey = 'b' AND RowKey > '02'",
    "SELECT count(*), sum(m) FROM Many WHERE PartitionKey IN ('a', 'b') AND RowKey IN ('00-1', '03-77', '11-99')",
    "SELECT sum((SELECT m FROM Many AS i WHERE i.PartitionKey = 'a' AND i.RowKey = o.RowKey)) FROM Many AS o WHERE PartitionKey = 'b' AND RowKey < '00-12'",
    'SELECT group_concat(TableName) FROM (SELECT TableName FROM pt_service_tables ORDER BY TableName)',
);

# What the shell prints for each statement of the list, which may have errors.
sub answers {
    my ($service, @statements) = @_;
    my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
    open(my $script, '>', "$folder/script") or die "$folder: $!";
    print $script ".load ./ptable_service\nSELECT pt_service_account('hr') IS NULL;\n",
      "CREATE VIRTUAL TABLE Many USING pt_service(n Int32, m Int32, account=hr, retries=0, parallel=4);\n",
      map { "SELECT 'mark';\n$_\n" } @statements;
    close $script;
    system(Play::shell_command($folder, $TIMEOUT) . " <'$folder/script'");
    open(my $output, '<', "$folder/output") or die "$folder: $!";
    local $/;
    my (undef, @answers) = split /^mark\n/m, <$output>, -1;
    return @answers;
}

sub test_statement {
    my ($service, $sql) = @_;
    my ($expected) = answers($service, "$sql;");
    Play::command($service, 'forget');
    answers($service, "$sql;");
    my $requests = Play::log_of($service);
    my @cases = map { my $kind = $_; map { "$kind $_" } 1 .. $requests } @KINDS;
    @cases = @cases[grep { $ENV{LONG} || ($_ + int($_ / $requests)) % 3 == 0 } 0 .. $#cases];
    my @found = answers($service, map { (".shell ./command forget; ./command fault $_", "$sql;") } @cases);
    is(scalar @found, 2 * @cases, "all answers: $sql");
    my ($right, $failed) = (0, 0);
    for my $case (@cases) {
        my (undef, $answer) = splice @found, 0, 2;
        my ($kind) = $case =~ /^(\w+)/;
        if ($answer =~ /\A[^\n]*error[^\n]*\n\z/) { $failed++ }
        elsif ($answer eq $expected && !$must_fail{$kind}) { $right++ }
        else { fail("$case: $sql"); diag("$answer instead of $expected") }
    }
    is($right + $failed, scalar @cases, "$right right, $failed failed: $sql");
    cmp_ok($right, '>', 0, 'some go well all the same');
}

if (!-e $SERVICE_LIBRARY) {
    plan skip_all => 'ptable_service.so is not built';
}
my $service = Play::start_server($SERVER, '--command', "rows $ROWS");
Play::play($service, Play::read_list("$FindBin::Bin/sql/data"));
test_statement($service, $_) for @STATEMENTS;
is(Play::stop($service), 0, 'the server has ended well');
done_testing;
