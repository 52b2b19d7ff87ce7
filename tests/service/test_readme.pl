#!/usr/bin/perl
# Runs the SQL about tables of the service in the READMEs: the blocks marked SQL, on the small Table
# service of this folder. Each page's blocks run in one session of the stock sqlite3 shell, after what a
# reader of the page has by then: ptable and its table Employee, and the connection string in a file. No
# block may print an error, and a table that was moved is on the service, and the same as before. Prints
# TAP. Variables as in test_sql.pl.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play qw($ROOT $SERVER $LIBRARY $SERVICE_LIBRARY);
use Test::More;

my $TIMEOUT = 60;    # seconds

my $BEFORE = <<'END';
.load ./ptable
CREATE VIRTUAL TABLE Employee USING ptable(FirstName String, Age Int32);
END
my $ROWS = <<'END';
INSERT INTO Employee(PartitionKey, RowKey, FirstName, Age)
  VALUES ('Sales', '000223', 'Jun', 34), ('Sales', '000312', 'Ken', 23), ('Marketing', '000150', 'Don', 46);
END
# The second page copies what the first one has moved to the service.
my @PAGES = (['README.md', $ROWS, 'cloud', 'Cloud'], ['sql/README.md', '', 'hr', 'CloudEmployee']);

sub slurp {
    my ($path) = @_;
    open(my $file, '<', $path) or die "$path: $!";
    local $/;
    return <$file>;
}

sub blocks_of {
    my ($page) = @_;
    return slurp("$ROOT/$page") =~ /^```SQL\n(.*?)^```$/gms;
}

# What both tables have, and how many entities are alike.
sub comparison {
    my ($remote) = @_;
    return ".print compared\nSELECT count(*) FROM Employee;\nSELECT count(*) FROM $remote;\n"
      . "SELECT count(*) FROM Employee AS l JOIN $remote AS r ON r.PartitionKey = l.PartitionKey "
      . "AND r.RowKey = l.RowKey AND r.Age = l.Age;\n";
}

sub test_page {
    my ($service, $page, $rows, $account, $remote) = @_;
    my @blocks = blocks_of($page);
    cmp_ok(scalar @blocks, '>', 0, "$page: there are blocks");
    my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
    open(my $connection, '>', "$folder/$account.connection") or die "$folder: $!";
    print $connection Play::account_of($service);
    close $connection;
    open(my $script, '>', "$folder/script") or die "$folder: $!";
    print $script $BEFORE, $rows, @blocks, comparison($remote);
    close $script;
    system(Play::shell_command($folder, $TIMEOUT) . " <'$folder/script'");
    my $output = slurp("$folder/output");
    unlike($output, qr/error/i, "$page: no error");
    my ($local, $there, $alike) = $output =~ /^compared\n(\d+)\n(\d+)\n(\d+)\n\z/m;
    cmp_ok($alike // 0, '>=', 3, "$page: the entities are there");
    is_deeply([$local, $there], [$alike, $alike], "$page: both tables have the same");
}

if (!-e $SERVICE_LIBRARY) {
    plan skip_all => 'ptable_service.so is not built';
}
my $service = Play::start_server($SERVER);
test_page($service, @$_) for @PAGES;
is(Play::stop($service), 0, 'the server has ended well');
done_testing();
