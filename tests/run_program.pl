#!/usr/bin/perl
# run_program.pl program [argument ...]: runs a test program for prove. Corrects cmocka's output: a skipped
# test is not a failure, and a group needs no result of its own. Stops a program that hangs, and says so.
#
# TIMEOUT is the limit in seconds, 0 is none; without it PT_PROGRAM_TIMEOUT (120), which the Makefile sets. If
# more processes want to run than there are processors, the limit is that many times as long: a slow
# machine makes no test fail.
use strict;
use warnings;

my $LIMIT = $ENV{TIMEOUT} // $ENV{PT_PROGRAM_TIMEOUT} // 120;
my $PAUSE = 5;    # seconds between SIGTERM and SIGKILL

sub slurp {
    my ($path) = @_;
    open(my $file, '<', $path) or return '';
    local $/;
    return <$file> // '';
}

# The processes that run or want to, for each processor: the mean of the last minute.
sub load {
    my ($load) = split ' ', slurp('/proc/loadavg');
    my $processors = () = slurp('/proc/cpuinfo') =~ /^processor\b/mg;
    return (($load || 0), ($load || 0) / ($processors || 1));
}

# The program has a process group of its own, so that its children end with it.
sub start {
    my ($output, @command) = @_;
    my $program = fork() // die "run_program: fork: $!\n";
    if ($program == 0) {
        setpgrp(0, 0);
        open(STDOUT, '>&', $output) or die "run_program: $!\n";
        { no warnings 'exec'; exec { $command[0] } @command }
        die "run_program: $command[0]: $!\n";
    }
    return $program;
}

# Prints the output without the lines that prove would misread.
sub print_output {
    my ($output) = @_;
    seek($output, 0, 0);
    while (my $line = <$output>) {
        next if $line =~ /^# ok - /;
        $line =~ s/^not ok (\d* # SKIP)/ok $1/;
        print $line;
    }
}

die "run_program: no program\n" if !@ARGV;
open(my $output, '+>', undef) or die "run_program: no temporary file: $!\n";
my $program = start($output, @ARGV);
my $stopped;

sub stop {
    my ($signal, $note) = @_;
    $stopped = $note;
    kill($signal, -$program);
}

$SIG{$_} = sub { kill('KILL', -$program); exit 1 } for qw(HUP INT TERM);
$SIG{ALRM} = sub {
    my $seconds = time - $^T;
    my ($load, $share) = load();
    if ($stopped) {
        kill('KILL', -$program);
    } elsif ($share > 1 && $seconds < $LIMIT * $share) {
        alarm($PAUSE);
    } else {
        my $reason = $share > 1
            ? sprintf('the machine is busy (load %.1f): run it again with TIMEOUT=%d', $load, 4 * $seconds)
            : sprintf('the machine is not busy (load %.1f), so it hangs, or needs a longer TIMEOUT=', $load);
        stop('TERM', "stopped after $seconds s; $reason");
        alarm($PAUSE);
    }
};
alarm($LIMIT);
1 while waitpid($program, 0) != $program && $!{EINTR};
my $status = $?;
alarm(0);

print_output($output);
print "# $ARGV[-1]: $stopped\n" if $stopped;
exit($stopped ? 124 : $status & 127 ? 128 + ($status & 127) : $status >> 8);
