#!/usr/bin/perl
# Runs the scripts sql/NN-topic.sql in the stock sqlite3 shell with ptable_service, and compares what
# it prints with sql/NN-topic.out. UPDATE=1 rewrites those (then read the diff). Prints TAP.
#
#     test_sql.pl                   on the small Table service of this folder, in both dialects, the
#                                   second with pages cut at random; LONG=1: the first, too
#     test_sql.pl command ...       on the emulator, which the command starts
#
# All scripts of a run use one service, with the entities of sql/data, which they only read. Scripts
# from 50 on use the server's faults and log; they run once, in the service's dialect. Scripts from 90
# on take seconds, because they wait for retries: only LONG=1 (make test-long) runs them. In a script's
# folder are ./ptable.so, ./ptable_service.so and ./command, which gives the server a command or prints
# its log; the environment has the account `hr`. Variables: PT_LIBRARY, PT_SERVICE_LIBRARY, PT_SERVER, PT_SHELL.
use strict;
use warnings;
use File::Temp;
use FindBin;
use lib $FindBin::Bin;
use Play qw($SERVER $LIBRARY $SERVICE_LIBRARY);
use Test::More;

my $FIRST_WITH_FAULTS = 50;
my $FIRST_WITH_PAUSES = 90;
my $TIMEOUT = 60;    # seconds, of a script
my $SEEDS = $ENV{LONG} ? 3 : 0;

sub scripts {
    my @all = sort glob "$FindBin::Bin/sql/[0-9][0-9]-*.sql";
    return map { { path => $_, name => m{([^/]*)\.sql$}, number => m{/(\d\d)-[^/]*$} } } @all;
}

sub slurp {
    my ($path) = @_;
    open(my $file, '<', $path) or return "there is no $path\n";
    local $/;
    return <$file> // '';
}

# Hides what differs from run to run, and the emulator's own name for AuthenticationFailed.
sub normalized {
    my ($text, $folder) = @_;
    $text =~ s/\Q$folder\E/<folder>/g;
    $text =~ s/127\.0\.0\.1:\d+/<host>/g;
    $text =~ s/after \d+ milliseconds/after <n> milliseconds/g;
    $text =~ s/request [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/request <id>/g;
    $text =~ s/\(AuthorizationFailure\)/(AuthenticationFailed)/g;
    return $text;
}

sub run_script {
    my ($service, $script) = @_;
    my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
    system(Play::shell_command($folder, $TIMEOUT) . " <'$script->{path}'");
    my $ended = $? >> 8;
    my $output = normalized(slurp("$folder/output"), $folder);
    return $ended > 1 ? "$output(the shell ended with $ended)\n" : $output;
}

sub write_file {
    my ($path, $text) = @_;
    open(my $file, '>', $path) or die "$path: $!";
    print $file $text;
    close $file;
}

# Another version of SQLite prints something else: $PT_DIFFERENCES/service-NN-topic.diff says what.
sub test_difference {
    my ($found, $expected, $recorded, $title) = @_;
    my $output = File::Temp->new;
    write_file("$output", $found);
    my $difference = qx(diff '$expected' '$output');
    if ($ENV{UPDATE}) {
        $difference eq '' ? unlink $recorded : write_file($recorded, $difference);
    }
    is($difference, -e $recorded ? slurp($recorded) : '', $title);
}

sub test_scripts {
    my ($title, $service, @scripts) = @_;
    for my $script (@scripts) {
        my $expected = $script->{path} =~ s/\.sql$/.out/r;
        my $recorded = ($ENV{PT_DIFFERENCES} // '') . "/service-$script->{name}.diff";
        my $found = run_script($service, $script);
        if ($ENV{PT_DIFFERENCES} && ($ENV{UPDATE} || -e $recorded)) {
            test_difference($found, $expected, $recorded, "$title: $script->{name}");
            next;
        }
        write_file($expected, $found) if $ENV{UPDATE} && $title eq 'azure';
        is($found, slurp($expected), "$title: $script->{name}");
    }
}

# A statement that waits for a reply ends when it is interrupted.
sub test_interrupt {
    my ($service) = @_;
    my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
    Play::command($service, 'forget');
    Play::command($service, 'fault delay 1 600000');
    my $pid = open(my $input, '|-', Play::shell_command($folder, $TIMEOUT)) // die "the shell: $!";
    print $input ".load ./ptable_service\nSELECT pt_service_account('hr') IS NULL;\n",
      "CREATE VIRTUAL TABLE Many USING pt_service(account=hr);\nSELECT count(*) FROM Many;\n";
    $input->flush;
    until (Play::log_of($service) == 1) { select undef, undef, undef, 0.01 }
    kill 'INT', $pid;    # timeout, which hands it on to the shell
    close $input;
    my $output = slurp("$folder/output");
    like($output, qr/^0\n[^\n]*line 4: [^\n]*interrupted/, 'an interrupt ends a read');
}

sub cut_pages {
    my ($service, $seed) = @_;
    Play::command($service, "pages $seed");
    Play::command($service, 'rows ' . (1 + $seed * 50));
}

sub load {
    my ($service) = @_;
    for my $answer (Play::play($service, Play::read_list("$FindBin::Bin/sql/data"))) {
        die "sql/data: $answer->[0]: $answer->[1]"
          if $answer->[1] !~ /^20[1-4]\n/ || $answer->[1] =~ /odata\.error/;
    }
}

my @emulator = @ARGV;
my @all = grep { $ENV{LONG} || $_->{number} < $FIRST_WITH_PAUSES } scripts();
my @reading = grep { $_->{number} < $FIRST_WITH_FAULTS } @all;
if (!-e $SERVICE_LIBRARY) {
    plan skip_all => 'ptable_service.so is not built';
}
if (@emulator) {
    my $service = Play::start(@emulator);
    load($service);
    test_scripts('emulator', $service, @reading);
    is(Play::stop($service), 0, 'the emulator has ended well');
}
else {
    for my $dialect (qw(azure azurite)) {
        my $service = Play::start_server($SERVER, '--dialect', $dialect);
        load($service);
        cut_pages($service, 1) if $dialect eq 'azurite';
        test_scripts($dialect, $service, $dialect eq 'azure' ? @all : @reading);
        test_interrupt($service) if $dialect eq 'azure';
        Play::command($service, 'forget');
        for my $seed ($dialect eq 'azure' ? (1 .. $SEEDS) : ()) {
            cut_pages($service, $seed);
            test_scripts("pages $seed", $service, @reading);
        }
        is(Play::stop($service), 0, "$dialect: the server has ended well");
    }
}
done_testing;
