#!/usr/bin/perl
# Kills a program that writes a local table and another one that follows its changes into a table of
# the service (examples/follow_to_service.c), again and again, the follower also while it copies all
# anew: in the end both tables are equal. ROUNDS (2; with LONG=1 40) says how often. Prints TAP.
# With a command as arguments, on the emulator that it starts.
# Variables as in test_sql.pl, and PT_EXAMPLES, the folder of the examples that are C programs.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play qw($ROOT $SERVER $LIBRARY $SERVICE_LIBRARY);
use Test::More;

my $TIMEOUT = 100;    # seconds, of a shell and of a follower
my $ROUNDS = $ENV{ROUNDS} // ($ENV{LONG} ? 40 : 2);
my $PROGRAM = ($ENV{PT_EXAMPLES} // "$ROOT/build/examples") . '/follow_to_service';
my $REQUESTS = 30;    # until both are killed
my $STATEMENTS = 5000;
my @EMULATOR = @ARGV;

# Both tables, also for entities that are only compared.
my $HEAD = <<'END';
.load ./ptable
.load ./ptable_service
.timeout 60000
SELECT pt_service_account('hr') IS NULL;
CREATE VIRTUAL TABLE Source USING ptable(N Int64, Note String, store='source.ptable', table=Task, sync=off);
CREATE VIRTUAL TABLE Copy USING pt_service(N Int64, Note String, account=hr, table=Task);
CREATE VIRTUAL TABLE Followed USING pt_service(Since String, account=hr);
END
my $DIFFERENCES = <<'END';
SELECT count(*) > 0 FROM Source;
SELECT count(*) FROM (SELECT PartitionKey, RowKey, Properties FROM Source EXCEPT SELECT PartitionKey, RowKey, Properties FROM Copy);
SELECT (SELECT count(*) FROM Source) - (SELECT count(*) FROM Copy);
SELECT pt_check('source.ptable');
END
my $EQUAL = "1\n0\n0\nok\n";

# What the shell prints, without the line about the account.
sub sql {
    my ($folder, $statements) = @_;
    write_script("$folder/script", $statements);
    system(Play::shell_command($folder, $TIMEOUT) . " <'$folder/script'");
    open(my $output, '<', "$folder/output") or die "$folder: $!";
    local $/;
    return <$output> =~ s/\A0\n//r;
}

sub write_script {
    my ($path, $statements) = @_;
    open(my $script, '>', $path) or die "$path: $!";
    print $script $HEAD, $statements;
    close $script;
}

# Statements that change some of 240 entities each, and delete and move others.
sub changes {
    my ($seed) = @_;
    srand $seed;
    my $statements = '';
    for (1 .. $STATEMENTS / 5) {
        my ($p, $r, $other) = map { int rand $_ } 6, 40, 40;
        my $key = "PartitionKey = 'p$p' AND RowKey = 'r$r'";
        $statements .= "INSERT OR REPLACE INTO Source(PartitionKey, RowKey, N, Note) VALUES ('p$p', 'r$r', random(), hex(randomblob(9)));\n"
          . "UPDATE Source SET N = N + 1 WHERE PartitionKey = 'p$p' AND RowKey > 'r$r';\n"
          . "DELETE FROM Source WHERE PartitionKey >= 'p$p' AND RowKey = 'r$other';\n"
          . "UPDATE OR REPLACE Source SET RowKey = 'r$other' WHERE $key;\n"
          . "BEGIN; DELETE FROM Source WHERE PartitionKey = 'p$p'; ROLLBACK;\n";
    }
    return $statements;
}

# Waits until something is so.
sub await {
    my ($is_so) = @_;
    for (1 .. $TIMEOUT * 100) {
        return if $is_so->();
        select undef, undef, undef, 0.01;
    }
    die "nothing happens\n";
}

# Begins a command of sh in a process group of its own.
sub begin {
    my ($command) = @_;
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        setpgrp;
        exec('sh', '-c', $command) or die;
    }
    return $pid;
}

sub follower {
    my ($folder, $seconds) = @_;
    return "cd '$folder' && exec timeout --foreground --kill-after=5 $TIMEOUT '$PROGRAM' source.ptable Task $seconds >>followed 2>&1";
}

# Once, to the end: what it prints is an error.
sub follow {
    my ($folder) = @_;
    unlink "$folder/followed";
    system('sh', '-c', follower($folder, ''));
    open(my $said, '<', "$folder/followed") or die "$folder: $!";
    local $/;
    return ($? >> 8) . ' ' . (<$said> // '');
}

# Tells what the follower has done so far: how many requests it has sent or, as the emulator has no log,
# the last Timestamp that it has written.
sub progress_of {
    my ($service, $folder) = @_;
    return @EMULATOR ? sql($folder, "SELECT Since FROM Followed;\n") : scalar Play::log_of($service);
}

sub kill_both {
    my ($service, $folder, $round) = @_;
    unlink "$folder/begun";
    Play::command($service, 'forget');
    my $before = @EMULATOR ? progress_of($service, $folder) : '';
    write_script("$folder/changes", ".shell touch begun\n" . changes($round));
    my $writer = begin(Play::shell_command($folder, $TIMEOUT) . " <'$folder/changes'");
    my $follower = begin(follower($folder, '0.001'));
    await(sub {
        return if !-e "$folder/begun";
        my $now = progress_of($service, $folder);
        return @EMULATOR ? $now ne $before : $now > $REQUESTS;
    });
    select undef, undef, undef, 0.03 * ($round % 5);
    my @victims = $round % 2 ? ($writer, $follower) : ($follower, $writer);
    for my $pid (@victims) {
        kill 'KILL', -$pid;
        waitpid($pid, 0);
    }
    sleep 1 if @EMULATOR;    # a request may be on its way
}

# The deletions are forgotten, so that the next follower copies anew.
sub forget {
    my ($folder) = @_;
    return sql($folder, "DELETE FROM Source WHERE RowKey = (SELECT max(RowKey) FROM Source);\n"
          . "SELECT pt_forget_deleted('Source', '2999-01-01') > 0;\n");
}

if (!-e $SERVICE_LIBRARY) {
    plan skip_all => 'ptable_service.so is not built';
}
my $service = @EMULATOR ? Play::start(@EMULATOR) : Play::start_server($SERVER, '--command', 'rows 100');
my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
$ENV{PTABLE_ACCOUNT_CLOUD} = $ENV{PTABLE_ACCOUNT_HR};
sql($folder, "INSERT INTO Source(PartitionKey, RowKey, N) VALUES ('p1', 'r1', 1), ('p2', 'r2', NULL);\n");
is(follow($folder), '0 ', 'the first copy');
is(sql($folder, $DIFFERENCES), $EQUAL, 'it is equal');
Play::command($service, 'forget');
is(follow($folder), '0 ', 'nothing has changed');
is(scalar(grep { !/^GET/ } split /\n/, `'$folder/command'`), 0, 'and nothing is written') if !@EMULATOR;
for my $round (1 .. $ROUNDS) {
    kill_both($service, $folder, $round);
    if ($round % 4 == 2) {
        is(forget($folder), "1\n", 'deletions are forgotten');
        kill_both($service, $folder, $round + 1000);
    }
    is(follow($folder), '0 ', "round $round: the follower goes on");
    is(sql($folder, $DIFFERENCES), $EQUAL, "round $round: both tables are equal");
}
is(sql($folder, "DELETE FROM Source;\nSELECT pt_forget_deleted('Source', '2999-01-01') > 0;\n"), "1\n", 'the table is empty');
is(follow($folder), '0 ', 'the last copy');
is(sql($folder, "SELECT count(*) FROM Copy;\nSELECT Since >= Horizon FROM Followed, pt_tables WHERE TableName = 'Task';\n"),
    "0\n1\n", 'so is the other one');
is(Play::stop($service), 0, 'the server has ended well');
done_testing;
