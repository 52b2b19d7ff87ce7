#!/usr/bin/perl
# A timeline in Perl: writes posts, and shows the posts of a user in pages, the newest first.
#
#     timeline.pl STORE post USER TEXT ...      one post for each text
#     timeline.pl STORE page USER [TOKEN]       ten posts, and the token of the next page
#
# timeline.c says how it works. PTABLE names the extension; without it, it is ./ptable.
use strict;
use warnings;
use DBI;

use constant { PAGE => 10, PATIENCE_MS => 60_000 };

# Each process has its own main database, in memory; they share only the store.
sub open_store {
    my ($store) = @_;
    my $db = DBI->connect('dbi:SQLite:dbname=:memory:', '', '', { RaiseError => 1, PrintError => 0 });
    $db->sqlite_busy_timeout(PATIENCE_MS);
    $db->sqlite_enable_load_extension(1);
    $db->sqlite_load_extension($ENV{PTABLE} // './ptable');
    my $quoted = $db->quote($store);
    $db->do("CREATE VIRTUAL TABLE Post USING ptable(Number Int32, Text String, store=$quoted)");
    $db->do("CREATE VIRTUAL TABLE Profile USING ptable(Posts Int32, store=$quoted)");
    return $db;
}

# Writes the post and the new count, if the profile is still as it was read.
sub try_to_post {
    my ($db, $user, $text) = @_;
    my ($posts, $etag) = $db->selectrow_array(
        "SELECT Posts, ETag FROM Profile WHERE PartitionKey = ? AND RowKey = 'profile'",
        undef, $user);
    my $number = ($posts // 0) + 1;
    $db->begin_work;
    $db->do("INSERT OR ROLLBACK INTO Post(PartitionKey, RowKey, Number, Text)"
          . " VALUES(?1, pt_inverted_ticks() || '_' || pt_pad(CAST(?2 AS INT), 6), ?2, ?3)",
        undef, $user, $number, $text);
    $db->do("INSERT OR ROLLBACK INTO Profile(PartitionKey, RowKey, Posts, WriteMode, IfMatch)"
          . " VALUES(?1, 'profile', ?2, iif(?3 IS NULL, 'insert', 'merge'), ?3)",
        undef, $user, $number, $etag);
    $db->commit;
    return $number;
}

# True if someone else has posted since the profile was read.
sub came_too_late {
    my ($message) = @_;
    return $message =~ /\((?:UpdateConditionNotSatisfied|EntityAlreadyExists)\)/;
}

sub post {
    my ($db, $user, $text) = @_;
    while (1) {
        my $number = eval { try_to_post($db, $user, $text) };
        return $number if defined $number;
        die $@ unless came_too_late($@);
        $db->rollback unless $db->{AutoCommit};
    }
}

# The posts after the token, the RowKey of the last post, as [number, text, RowKey].
sub page {
    my ($db, $user, $token) = @_;
    return @{ $db->selectall_arrayref(
            'SELECT Number, Text, RowKey FROM Post WHERE PartitionKey = ? AND RowKey > ?'
          . ' ORDER BY RowKey LIMIT ' . PAGE,
            undef, $user, $token) };
}

my ($store, $command, $user, @rest) = @ARGV;
$command //= '';
if ($command eq 'post' && @rest) {
    my $db = open_store($store);
    print post($db, $user, $_), "\n" for @rest;
}
elsif ($command eq 'page' && defined $user && @rest <= 1) {
    my @posts = page(open_store($store), $user, $rest[0] // '');
    print "$_->[0] $_->[1]\n" for @posts;
    print "next: $posts[-1][2]\n" if @posts == PAGE;
}
else {
    die "usage: timeline.pl STORE post USER TEXT ... | page USER [TOKEN]\n";
}
