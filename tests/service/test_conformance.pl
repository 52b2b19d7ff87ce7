#!/usr/bin/perl
# Performs corpora of operations on tables of the service through ptable_service; the outcomes must be
# those of a ptable, but for the differences that tests/conformance/replay.c names. Prints TAP.
#
#     test_conformance.pl                on the small Table service of this folder
#     test_conformance.pl command ...    on the emulator, which the command starts
#     CORPORA='a.jsonl b.jsonl' ...      others than the recorded one, which is for the small service
#
# Variables as in test_sql.pl, and PT_REPLAY, the program.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play qw($ROOT $SERVER $SERVICE_LIBRARY);

my $REPLAY = $ENV{PT_REPLAY} // "$ROOT/build/tests/conformance/replay";
my @CORPORA = split ' ', $ENV{CORPORA} // "$ROOT/tests/conformance/corpus.jsonl";
$ENV{PT_SERVICE_LIBRARY} = $SERVICE_LIBRARY;
$ENV{CMOCKA_MESSAGE_OUTPUT} = 'TAP';
$ENV{no_proxy} = '*';

if (!-e $ENV{PT_SERVICE_LIBRARY}) {
    print "1..0 # SKIP ptable_service.so is not built\n";
    exit 0;
}
my @emulator = @ARGV;
my $service = @emulator ? Play::start(@emulator) : Play::start_server($SERVER);
$ENV{PTABLE_ACCOUNT_HR} = Play::account_of($service);
my $failed = system($REPLAY, '--service', @emulator ? 'azurite' : 'azure', @CORPORA);
exit(Play::stop($service) != 0 || $failed != 0 ? 1 : 0);
