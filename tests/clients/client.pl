#!/usr/bin/perl
# A client of run.sh in Perl, with DBI.
use strict;
use warnings;
use B ();
use DBI qw(:sql_types);

$| = 1;
my ($db, $abandoned);

sub connect_to {
    my ($path, $milliseconds) = @_;
    my $opened = DBI->connect("dbi:SQLite:dbname=$path", '', '',
        { RaiseError => 1, PrintError => 0, sqlite_see_if_its_a_number => 0 });
    $opened->sqlite_busy_timeout($milliseconds);
    $opened->sqlite_enable_load_extension(1);
    $opened->sqlite_load_extension($ENV{PTABLE});
    return $opened;
}

sub query {
    my ($sql) = @_;
    my $statement = $db->prepare($sql);
    $statement->execute;
    return '' unless $statement->{NUM_OF_FIELDS};
    my @rows;
    while (my $row = $statement->fetchrow_arrayref) {
        push @rows, join '|', map { shown($_) } @$row;
    }
    return join ';', @rows;
}

# What the driver has made of a value: an integer, a floating number or a string.
sub shown {
    my ($value) = @_;
    return 'null' unless defined $value;
    my $flags = B::svref_2object(\$value)->FLAGS;
    return "integer:$value" if $flags & B::SVf_IOK() && !($flags & B::SVf_POK());
    return "real:$value" if $flags & B::SVf_NOK() && !($flags & B::SVf_POK());
    return $value =~ /[\0-\x1f]/ ? 'blob:' . unpack('H*', $value) : "text:$value";
}

sub insert {
    my ($table) = @_;
    my $statement = $db->prepare("INSERT INTO $table VALUES(?,?,?,?,?,?,?)");
    my @rows = (
        ['p', '1', "it's \"ünï\" €𝄞", 9223372036854775807, 0.1, "\0\xff'", undef],
        ['p', '2', '', -9223372036854775807 - 1, -2.5, "\0", undef]);
    $db->begin_work;
    for my $row (@rows) {
        my $place = 0;
        for my $type (SQL_VARCHAR, SQL_VARCHAR, SQL_VARCHAR, SQL_BIGINT, SQL_DOUBLE, SQL_BLOB, SQL_VARCHAR) {
            $statement->bind_param($place + 1, $row->[$place], $type);
            $place++;
        }
        $statement->execute;
    }
    $db->commit;
    return '';
}

sub repeat {
    my ($name, $count) = @_;
    for my $i (0 .. $count - 1) {
        $db->do('BEGIN IMMEDIATE');
        $db->do('INSERT INTO Item(PartitionKey, RowKey) VALUES(?, ?)', undef, $name, $i);
        $db->do('UPDATE Counter SET N = N + 1');
        $db->do('COMMIT');
    }
    return '';
}

sub perform {
    my ($command, $rest) = @_;
    if ($command eq 'open') {
        $db = connect_to($rest =~ /^(.*) (\d+)$/);
        return '';
    }
    return query($rest) if $command eq 'query' || $command eq 'run';
    return insert($rest) if $command eq 'insert';
    return repeat(split / /, $rest) if $command eq 'repeat';
    if ($command eq 'abandon') {
        $abandoned = $db->prepare($rest);
        $abandoned->execute;
        return shown($abandoned->fetchrow_arrayref->[0]);
    }
    if ($command eq 'close') {
        local $SIG{__WARN__} = sub { }; # it warns of statements that are still active
        $db->disconnect;
        return '';
    }
    if ($command eq 'forget') {
        undef $abandoned;
        undef $db;
        return '';
    }
    if ($command eq 'leave') {
        print "ok \n";
        exit 0;
    }
    die "no command $command\n";
}

while (my $line = <STDIN>) {
    chomp $line;
    my ($command, $rest) = split / /, $line, 2;
    my $answer = eval { perform($command, $rest) };
    if (defined $answer) {
        print "ok $answer\n";
    }
    else {
        my $text = DBI->errstr // $@;
        my $code = DBI->err // 0;
        print 'error ', $code & 0xff, ' ', $text =~ s/\n.*//sr, "\n";
    }
}
