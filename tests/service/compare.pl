#!/usr/bin/perl
# compare.pl server command ...: plays the requests of this folder on the server and on the emulator,
# which the command starts, and compares their replies. Prints TAP. The file `differences` has those
# that are to differ.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play;
use Test::More;

sub read_differences {
    my ($path) = @_;
    open(my $file, '<', $path) or die "$path: $!";
    return map { /^([^:#]+): (.*)/ ? ($1 => $2) : () } <$file>;
}

# Messages are for people: of an error's JSON or XML the index before the message counts.
sub without_messages {
    my ($reply) = @_;
    $reply =~ s/("value":")(\d+:)?[^"\[]*"/$1 . ($2 \/\/ '') . '"'/ge;
    $reply =~ s{(<Message>).*(</Message>)}{$1$2}s;
    return $reply;
}

my ($server, @emulator) = @ARGV;
my @list = Play::read_list("$FindBin::Bin/requests");
my %differences = read_differences("$FindBin::Bin/differences");
my @replies;
for my $command ([ $server, '--dialect', 'azurite' ], \@emulator) {
    my $service = Play::start(@$command);
    push @replies, { map { $_->[0] => without_messages($_->[1]) } Play::play($service, @list) };
    is(Play::stop($service), 0, "$command->[0] has ended well");
}

for my $request (@list) {
    my $name = $request->{name};
    my $reason = delete $differences{$name};
    if (defined $reason) {
        isnt($replies[0]{$name}, $replies[1]{$name}, "$name: differs, since $reason");
    }
    else {
        is($replies[0]{$name}, $replies[1]{$name}, $name);
    }
}
is_deeply(\%differences, {}, 'differences names requests that there are');
done_testing;
