#!/usr/bin/perl
# command.pl [word ...]: gives the server at port PT_PORT a command, or prints its log: the requests
# that it got. For scripts that run in the sqlite3 shell.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Play;

my $service = { port => $ENV{PT_PORT} };
if (@ARGV) {
    Play::command_by_http($service, "@ARGV") or die "not a command: @ARGV\n";
}
else {
    print "$_\n" for Play::log_of($service);
}
