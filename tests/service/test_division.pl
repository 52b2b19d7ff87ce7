#!/usr/bin/perl
# A table of many full pages is read in several places at once: each entity once, whatever its keys.
# Prints TAP.
#
#     test_division.pl              on the small Table service of this folder
#     test_division.pl command ...  on the emulator, which the command starts
#
# Variables as in test_sql.pl. On the small service only with LONG=1: test_random.pl has small pages there.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play qw($SERVER $LIBRARY $SERVICE_LIBRARY);
use Test::More;

my $TIMEOUT = 200;    # seconds

if (!-e $SERVICE_LIBRARY || (!@ARGV && !$ENV{LONG})) {
    plan skip_all => @ARGV ? 'ptable_service.so is not built' : 'takes seconds; LONG=1 runs it';
}

# A large partition, many small ones, random ones, and some with characters that SQLite and the
# service order differently.
my $SQL = <<'END';
.load ./ptable_service
SELECT pt_service_account('hr') IS NULL;
INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'Many');
CREATE VIRTUAL TABLE Many USING pt_service(n Int32, account=hr, batch=split);
CREATE TABLE twin(p, r, n);
INSERT INTO twin
  WITH RECURSIVE i(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM i WHERE n < 8999)
  SELECT CASE WHEN n < 4500 THEN 'large' WHEN n < 6000 THEN printf('p%03d', n / 17)
           WHEN n < 7000 THEN lower(hex(randomblob(3)))
           ELSE char(97 + abs(random() % 26), CASE n % 4 WHEN 0 THEN 0xd7ff WHEN 1 THEN 0xe000
             WHEN 2 THEN 0x1f600 ELSE 39 END) || (n % 10) END,
         printf('%05d', n), n FROM i;
INSERT INTO Many(PartitionKey, RowKey, n) SELECT p, r, n FROM twin ORDER BY p, r;
CREATE TABLE before AS SELECT pt_service_requests() ->> '$.requests' AS n;
SELECT 'all', count(*), count(DISTINCT PartitionKey || '/' || RowKey), sum(n) FROM Many;
SELECT 'requests', (pt_service_requests() ->> '$.requests') - n BETWEEN 9 AND 13 FROM before;
SELECT 'partition', count(*), count(DISTINCT RowKey) FROM Many WHERE PartitionKey = 'large';
SELECT 'condition', count(*) FROM Many WHERE n >= 500;
SELECT 'more', count(*) FROM (SELECT PartitionKey, RowKey, n FROM Many EXCEPT SELECT * FROM twin);
SELECT 'less', count(*) FROM (SELECT * FROM twin EXCEPT SELECT PartitionKey, RowKey, n FROM Many);
END

my $service = Play::start(@ARGV ? @ARGV : $SERVER);
my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
open(my $input, '|-', Play::shell_command($folder, $TIMEOUT)) // die "the shell: $!";
print $input $SQL;
close $input;
open(my $output, '<', "$folder/output") or die "$folder: $!";
local $/;
is(<$output>, "0\nall|9000|9000|40495500\nrequests|1\npartition|4500|4500\ncondition|8500\nmore|0\nless|0\n",
    'each entity comes once');
is(Play::stop($service), 0, 'the service has ended well');
done_testing;
