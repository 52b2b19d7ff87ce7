#!/usr/bin/perl
# Several processes write to the service at the same time, and a process is killed while it loads.
# Prints TAP. Variables as in test_sql.pl.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play qw($SERVER $LIBRARY $SERVICE_LIBRARY);
use Test::More;

my $TIMEOUT = 100;    # seconds, of a shell
my $WRITERS = 3;
my $UPDATES = 100;    # of each
my $ROWS = 20000;     # of the load
my $GROUP = 100;

my $HEAD = <<'END';
.load ./ptable_service
SELECT pt_service_account('hr') IS NULL;
CREATE VIRTUAL TABLE Counter USING pt_service(n Int32, account=hr);
CREATE VIRTUAL TABLE Loaded USING pt_service(n Int32, account=hr, batch=split);
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
        setpgrp;
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

# Each UPDATE reads the count and writes it by its ETag: it succeeds only if nobody came between.
sub test_counting {
    my ($service) = @_;
    my $update = "UPDATE Counter SET n = n + 1 WHERE PartitionKey = 'a' AND RowKey = '1';\n";
    my $none = "ptable: Counter: the entity with PartitionKey 'a', RowKey '1' has changed";
    run_shell($service, "INSERT INTO Counter(PartitionKey, RowKey, n) VALUES ('a', '1', 0);\n");
    my @shells = map { [begin_shell($service, $update x $UPDATES)] } 1 .. $WRITERS;
    my @outputs = map { end_shell(@$_) } @shells;
    my $refused = grep { /\Q$none\E/ } map { split /\n/ } @outputs;
    my $lines = () = join('', @outputs) =~ /\n/g;
    is($lines, $refused, 'each UPDATE counts, or says that another one came between');
    my $expected = $WRITERS * $UPDATES - $refused;
    is(run_shell($service, "SELECT n FROM Counter;\n"), "$expected\n", "$expected of them are counted");
}

sub test_killed_load {
    my ($service) = @_;
    my $load =
      'INSERT OR REPLACE INTO Loaded(PartitionKey, RowKey, n) WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL '
      . "SELECT i + 1 FROM c WHERE i < $ROWS - 1) SELECT 'p' || (i % 5), printf('%05d', i), i FROM c;\n";
    Play::command($service, 'forget');
    my ($pid, $folder) = begin_shell($service, $load);
    until (Play::log_of($service) > 20) { select undef, undef, undef, 0.005 }
    kill 'KILL', -$pid;
    end_shell($pid, $folder);
    my $count = run_shell($service, "SELECT count(*) FROM Loaded;\n");
    cmp_ok($count, '>', 0, 'a load that is killed has begun');
    cmp_ok($count, '<', $ROWS, 'and has not ended');
    is($count % $GROUP, 0, 'its groups are whole');
    is(run_shell($service, $load . "SELECT count(*), sum(n) FROM Loaded;\n"),
        "$ROWS|" . ($ROWS * ($ROWS - 1) / 2) . "\n", 'run again, it loads all');
}

if (!-e $SERVICE_LIBRARY) {
    plan skip_all => 'ptable_service.so is not built';
}
my $service = Play::start_server($SERVER);
run_shell($service, "INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Counter'), ('hr', 'Loaded');\n");
test_counting($service);
test_killed_load($service);
is(Play::stop($service), 0, 'the server has ended well');
done_testing;
