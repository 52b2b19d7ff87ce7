#!/usr/bin/perl
# Several processes want the same at the service, while requests and replies get lost: locks that an
# INSERT takes, counters that an UPDATE raises by their ETag, jobs that a DELETE claims. Nobody is told
# to have won what another one has, and who is told to have failed has changed nothing, unless the error
# says that nobody knows. Prints TAP. N=rounds (1), each with other requests lost. Variables as in
# test_sql.pl.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play qw($SERVER $LIBRARY $SERVICE_LIBRARY);
use Test::More;

my $TIMEOUT = 100;    # seconds, of a shell
my $ROUNDS = $ENV{N} // 1;
my $WORKERS = 3;
my $ITEMS = 60;       # of each kind
my $FAULTS = 30;
my $DISTANCE = 29;    # requests from one fault to the next

my $HEAD = <<'END';
.load ./ptable_service
SELECT pt_service_account('hr') IS NULL;
CREATE VIRTUAL TABLE Held USING pt_service(owner Int32, account=hr);
CREATE VIRTUAL TABLE Counter USING pt_service(n Int32, account=hr);
CREATE VIRTUAL TABLE Job USING pt_service(account=hr);
END

# Begins a shell with these statements. Returns its process and folder.
sub begin_shell {
    my ($service, $sql) = @_;
    my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
    open(my $script, '>', "$folder/script") or die "$folder: $!";
    print $script $HEAD, $sql;
    close $script;
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        exec('sh', '-c', Play::shell_command($folder, $TIMEOUT) . " <'$folder/script'") or die;
    }
    return ($pid, $folder);
}

# What it printed, without the line about the account.
sub end_shell {
    my ($pid, $folder) = @_;
    waitpid($pid, 0);
    open(my $output, '<', "$folder/output") or die "$folder: $!";
    local $/;
    return <$output> =~ s/\A0\n//r;
}

sub run_shell {
    return end_shell(begin_shell(@_));
}

# All workers want all items in the same order. Odd locks are taken without saying by whom.
sub statements_of {
    my ($worker) = @_;
    my $sql = '';
    for my $i (1 .. $ITEMS) {
        my $owner = $i % 2 ? 'NULL' : $worker;
        $sql .= "SELECT 'lock $i';\nINSERT INTO Held(PartitionKey, RowKey, owner) VALUES ('p', '$i', $owner);\n"
          . "SELECT 'count $i';\nUPDATE Counter SET n = n + 1 WHERE PartitionKey = 'p' AND RowKey = '$i';\n"
          . "SELECT 'job $i';\nDELETE FROM Job WHERE PartitionKey = 'p' AND RowKey = '$i';\n"
          . "SELECT changes();\n";
    }
    return $sql . "SELECT 'end';\n";
}

# How each statement ended: {"lock 1"} is 'won', 'failed' or 'unknown'. A DELETE that finds no job has
# failed.
sub ends_of {
    my ($output) = @_;
    my %ends;
    while ($output =~ /^(lock|count|job) (\d+)\n(.*?)(?=^(?:lock|count|job|end)\b)/msg) {
        my ($kind, $item, $said) = ($1, $2, $3);
        my $error = $said =~ /error/;
        $ends{"$kind $item"} =
          $said =~ /may have been applied/ ? 'unknown' : $error || $said eq "0\n" ? 'failed' : 'won';
    }
    return \%ends;
}

# What is wrong with an item: how its statements ended, and what is there afterwards.
sub fault_of {
    my ($kind, $ends, $there) = @_;
    my $won = grep { $_ eq 'won' } @$ends;
    my $unknown = grep { $_ eq 'unknown' } @$ends;
    if ($kind eq 'count') {
        return $there >= $won && $there <= $won + $unknown ? '' : "$won won, $unknown unknown, counted $there";
    }
    my $taken = $kind eq 'lock' ? defined $there : !defined $there;
    return "$won have won" if $won > 1;
    return 'won, and not done' if $won == 1 && !$taken;
    return 'done, and all have failed' if $taken && $won + $unknown == 0;
    return '' if $kind eq 'job' || !$taken || $there eq '';
    return $ends->[$there - 1] eq 'failed' ? "the owner $there has failed" : '';
}

sub play_round {
    my ($service, $round) = @_;
    my $numbers = join ', ', map { "('p', '$_', 0)" } 1 .. $ITEMS;
    run_shell($service, "DELETE FROM Held WHERE PartitionKey = 'p';\nDELETE FROM Job WHERE PartitionKey = 'p';\n"
          . "INSERT OR REPLACE INTO Counter(PartitionKey, RowKey, n) VALUES $numbers;\n"
          . "INSERT INTO Job(PartitionKey, RowKey) SELECT PartitionKey, RowKey FROM Counter;\n");
    for my $i (0 .. $FAULTS - 1) {
        my $kind = $i % 3 == 2 ? 'lose' : 'drop';
        Play::command($service, "fault $kind " . (5 + $round % $DISTANCE + $i * $DISTANCE));
    }
    my @shells = map { [begin_shell($service, statements_of($_))] } 1 .. $WORKERS;
    my @ends = map { ends_of(end_shell(@$_)) } @shells;
    Play::command($service, 'forget');
    my %there;
    my $state = run_shell($service, "SELECT 'lock ' || RowKey, owner FROM Held;\nSELECT 'count ' || RowKey, n FROM Counter;\n"
          . "SELECT 'job ' || RowKey, '' FROM Job;\n");
    $there{$1} = $2 while $state =~ /^(\w+ \d+)\|(.*)$/mg;
    my %count = (won => 0, failed => 0, unknown => 0);
    my $wrong = 0;
    for my $item (map { ("lock $_", "count $_", "job $_") } 1 .. $ITEMS) {
        my @of_item = map { $_->{$item} // 'missing' } @ends;
        $count{$_}++ for @of_item;
        my $fault = $count{missing} ? 'a statement is missing' : fault_of($item =~ /(\w+)/, \@of_item, $there{$item});
        diag("round $round, $item: $fault") if $fault ne '';
        $wrong += $fault ne '';
    }
    is($wrong, 0, "round $round: " . join ', ', map { "$count{$_} $_" } sort keys %count);
    return $count{unknown};
}

if (!-e $SERVICE_LIBRARY) {
    plan skip_all => 'ptable_service.so is not built';
}
my $service = Play::start_server($SERVER);
run_shell($service, "INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Held'), ('hr', 'Counter'), ('hr', 'Job');\n");
my $unknown = 0;
$unknown += play_round($service, $_) for 1 .. $ROUNDS;
cmp_ok($unknown, '>', 0, 'some outcomes are not known');
is(Play::stop($service), 0, 'the server has ended well');
done_testing;
