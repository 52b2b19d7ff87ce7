#!/usr/bin/perl
# Conditions on properties: a table of the service to which they are sent gives the rows that it gives
# when only those on keys are sent, and that a ptable with the same entities gives. Values of all
# types, in columns of all types. Prints TAP.
#
#     test_conditions.pl                on the small Table service of this folder
#     test_conditions.pl command ...    on the emulator, which the command starts
#     N=1000 SEED=7 ...                 more statements on each set of entities; other ones
#
# Variables as in test_sql.pl.
use strict;
use warnings;
use utf8;
use Encode qw(encode);
use FindBin;
use MIME::Base64 qw(encode_base64);
use lib $FindBin::Bin;
use Play qw($SERVER $LIBRARY $SERVICE_LIBRARY);
use Test::More;

my $SEED = $ENV{SEED} // 1;
my $COUNT = $ENV{N} // 40;
my $TIMEOUT = 100 + $COUNT;    # seconds, of a set

# For each set: the database's encoding, and an option of the tables to which conditions are sent.
my @SETS = (
    [ 'UTF-8', '' ],
    [ 'UTF-16le', '' ],
    [ 'UTF-8', ", dialect=azurite" ],
    [ 'UTF-8', '' ],
);

srand $SEED;
binmode Test::More->builder->$_, ':utf8' for qw(output failure_output todo_output);

sub pick { return $_[ int rand @_ ] }

# --- Values: [type, JSON, SQL]

my @NUMBERS = (-1, 0, 1, 2, 3, 5, 10, 2147483647, -2147483648);
my @LONGS = (@NUMBERS, 2147483648, -2147483649, '9007199254740991', '9007199254740992',
    '9007199254740993', '-9007199254740993', '9223372036854775807', '-9223372036854775808');
my @REALS = ('-1.0', '-0.0', '0.0', '0.5', '1.0', '1.5', '2.5', '5.0', '2147483648.0', '9007199254740992.0',
    '1e-07', '1e+300', '-1e+300', '1.00001');
my @TEXTS = ('', 'a', 'A', 'b', 'ab', "it's", '5', '05', '5.0', ' 5', '1e1', '-', '!', ':', '10', 'Inf', 'NaN', 'true',
    '2026-01-01', '2026-01-01T00:00:00.0000000Z', "\x{e9}", "a\x{d7ff}", "a\x{e000}", "a\x{1f600}", "\x{fffd}",
    '0F8FAD5B-D9CB-469F-A165-70867728950E', '0f8fad5b-d9cb-469f-a165-70867728950e', 'x' x 402);
my @TIMES = ('1601-01-01T00:00:00.0000000Z', '2025-12-31T23:59:59.9999999Z', '2026-01-01T00:00:00.0000000Z',
    '2026-01-01T00:00:00.0000001Z', '2026-01-01T00:00:00.0009999Z', '2026-06-01T12:00:00.1234567Z',
    '9999-12-31T23:59:59.9999999Z');
my @GUIDS = ('00000000-0000-0000-0000-000000000000', '0f8fad5b-d9cb-469f-a165-70867728950e',
    'ffffffff-ffff-ffff-ffff-ffffffffffff');
my @BINARIES = ('', '00', '0001ff', '61');

sub quoted { return "'" . $_[0] =~ s/'/''/gr . "'" }
sub annotated { return qq("<name>\@odata.type":"Edm.$_[0]","<name>":"$_[1]") }

sub base64_of {
    my $text = encode_base64(pack("H*", $_[0]), "");
    return $text;
}

# Members of JSON; <name> stands for the property's name.
my %JSON_OF = (
    Int32 => sub { '"<name>":' . pick(@NUMBERS) },
    Int64 => sub { annotated('Int64', pick(@LONGS)) },
    Double => sub { annotated('Double', pick(@REALS, 'NaN', 'Infinity', '-Infinity')) },
    Boolean => sub { '"<name>":' . pick('true', 'false') },
    String => sub { '"<name>":"' . pick(@TEXTS) . '"' },
    DateTime => sub { annotated('DateTime', pick(@TIMES)) },
    Guid => sub { annotated('Guid', pick(@GUIDS)) },
    Binary => sub { annotated('Binary', base64_of(pick(@BINARIES))) },
);
my @TYPES = sort keys %JSON_OF;
my %COLUMNS = (I => 'Int32', L => 'Int64', D => 'Double', B => 'Boolean', S => 'String', T => 'DateTime',
    G => 'Guid', X => 'Binary', U => '');
my @NAMES = sort keys %COLUMNS;

my %SQL_OF = (
    Int32 => sub { pick(@NUMBERS) },
    Int64 => sub { pick(@LONGS) },
    Double => sub { pick(@REALS, '9e999', '-9e999', 30.5, -0.25) },
    Boolean => sub { pick('TRUE', 'FALSE') },
    String => sub { quoted(pick(@TEXTS)) },
    DateTime => sub { quoted(pick(@TIMES, '2026', '2026-01', '2026-01-01 01:00+01:00', 'now', '1500-01-01')) },
    Guid => sub { quoted(pick(map { ($_, uc) } @GUIDS)) },
    Binary => sub { "x'" . pick(@BINARIES) . "'" },
);

# A value to compare a column with, most often one of its own type. No text beside a Boolean, which
# is refused.
sub value_for {
    my ($name) = @_;
    my $own = $COLUMNS{$name};
    my $type = $own ne '' && rand() < 0.7 ? $own : pick(@TYPES);
    $type = pick(qw(Int32 Double Boolean)) if $name eq 'B';
    return rand() < 0.04 ? 'NULL' : $SQL_OF{$type}->();
}

# --- Entities

sub random_entity {
    my ($pk, $rk, $is_typed) = @_;
    my @members = (qq("PartitionKey":"$pk"), qq("RowKey":"$rk"));
    for my $name (@NAMES) {
        next if rand() < 0.2;
        my $own = $COLUMNS{$name};
        my $type = $own ne '' && ($is_typed || rand() < 0.7) ? $own : pick(@TYPES);
        push @members, $JSON_OF{$type}->() =~ s/<name>/$name/gr;
    }
    return encode('utf8', '{' . join(',', @members) . '}');
}

sub load_entities {
    my ($service, $table, $is_typed) = @_;
    Play::ask($service, 'POST', '/Tables', {}, qq({"TableName":"$table"}));
    for my $pk (qw(p q r)) {
        my @all = map { [ 'POST', "/$table", {}, random_entity($pk, sprintf('%02d', $_), $is_typed) ] } 1 .. 60;
        my $reply = Play::ask_batch($service, @all);
        die $reply->{body} if $reply->{body} =~ /odata\.error/;
    }
}

# --- Statements

sub condition {
    my $name = pick(@NAMES);
    my $column = "t.$name";
    my $value = sub { value_for($name) };
    my $kind = int rand 20;
    return "$column = " . $value->() if $kind < 4;
    return "$column " . pick('<', '<=', '>', '>=') . ' ' . $value->() if $kind < 10;
    return "$column BETWEEN " . $value->() . ' AND ' . $value->() if $kind == 10;
    return "$column IN (" . join(', ', map { $value->() } 0 .. int rand 8) . ')' if $kind < 13;
    return "$column IS " . pick('NULL', 'NULL', 'NOT NULL', $value->()) if $kind < 15;
    return $value->() . ' ' . pick('<', '=', '>') . " $column" if $kind == 15;
    return "t.Timestamp " . pick('<', '>') . " '2026-01-01'" if $kind == 16;
    return "t.S " . pick('LIKE', 'GLOB') . ' ' . pick("'a%'", "'5*'", "'A*'") if $kind == 17;
    return 't.S ' . pick('=', '<') . " 'A' COLLATE NOCASE" if $kind == 18;
    return "$column IN (SELECT " . ($name eq 'B' ? 'i' : pick(qw(i t n))) . ' FROM vals'
      . ($name eq 'B' ? " WHERE typeof(i) <> 'text')" : ')');
}

sub conditions {
    my ($depth) = @_;
    my @parts = map { condition() } 1 .. pick(1, 1, 2, 2, 3, 5);
    push @parts, pick("t.PartitionKey = 'q'", "t.PartitionKey >= 'q'", "t.RowKey > '30'", "t.PartitionKey IN ('p', 'r')")
      if rand() < 0.3;
    push @parts, 'NOT (' . conditions($depth + 1) . ')' if $depth < 2 && rand() < 0.1;
    push @parts, '(' . conditions($depth + 1) . ' OR ' . conditions($depth + 1) . ')' if $depth < 2 && rand() < 0.15;
    return join ' AND ', @parts;
}

sub join_condition {
    my $name = pick(grep { $_ ne 'B' } @NAMES);
    return "t.$name " . pick('=', '=', '<', '<=', '>', '>=') . ' v.' . pick(qw(i t n));
}

# A join with a ptable, whose columns may have values of other types: beside the Int32 column I the
# text '5' of a String may be compared as a number.
sub join_with_mixed_types {
    my @names = grep { $_ ne 'B' } @NAMES;
    my $own = 't.' . (rand() < 0.5 ? pick(qw(S S U)) : pick(@names));
    my $other = pick(qw(I L D U), @names);
    my $rows = "SELECT $other AS other FROM Local_Mixed WHERE typeof($other) = 'text'"
      . (rand() < 0.7 ? " AND length($other) < 4 AND $other GLOB '*[0-9]*'" : '')
      . ' ORDER BY PartitionKey, RowKey LIMIT 10';
    return "SELECT t.RowKey FROM ($rows) AS v CROSS JOIN %T AS t ON t.PartitionKey = 'p' AND $own "
      . pick('=', '=', '=', '<', '<=', '>', '>=') . ' v.other';
}

sub random_statement {
    my $kind = int rand 11;
    return join_with_mixed_types() if $kind == 10;
    my $keys = 't.PartitionKey, t.RowKey';
    return "SELECT $keys FROM %T AS t WHERE " . conditions(0) if $kind < 6;
    return 'SELECT count(*), min(t.RowKey), max(t.I) FROM %T AS t WHERE ' . conditions(0) if $kind == 6;
    my $on = "t.PartitionKey = 'p' AND " . join ' AND ', map { join_condition() } 1 .. pick(1, 1, 2);
    return "SELECT v.rowid, $keys FROM vals AS v JOIN %T AS t ON $on" if $kind == 7;
    return "SELECT v.rowid, $keys FROM vals AS v LEFT JOIN %T AS t ON $on AND " . condition() if $kind == 8;
    return "SELECT v.rowid, $keys FROM %T AS t " . pick('LEFT', 'RIGHT') . ' JOIN vals AS v ON '
      . join_condition() . ' AND ' . condition() . ' WHERE ' . pick('1', condition());
}

# A parameter instead of the first literal: lines of the shell and the statement.
sub with_parameter {
    my ($sql) = @_;
    return ('', $sql) if rand() < 0.7 || $sql !~ s/((?:<|<=|=|>|>=) )(-?[0-9.e+]+|'(?:[^'\n]|'')*')(?= AND|$)/$1?1/;
    my $value = $2;
    return ($value =~ /"/ ? '' : qq(INSERT OR REPLACE INTO sqlite_parameters VALUES ('?1', $value);\n), $sql);
}

# --- Comparing

my $VALUES = join ', ', map { "($_)" } (
    "5, '5', 5", "1.5, '1.5', '5'", "'a', 'a', 'a'", "'!', '!', '!'", "'-', '-', '-'", 'NULL, NULL, NULL',
    "9007199254740993, '9007199254740993', 9007199254740993", "0, '05', 0.5", "'2026-01-01', '2026-01-01', '2026'",
    "x'61', x'61', x'00'", "'0F8FAD5B-D9CB-469F-A165-70867728950E', 'NaN', 'Inf'", "-1, '', ' 5'",
);

sub write_script {
    my ($script, $set, @statements) = @_;
    my $declared = join ', ', map { "$_ $COLUMNS{$_}" } @NAMES;
    my $reading = 'PartitionKey, RowKey, Properties';
    my ($encoding, $option) = @$set;
    print $script "PRAGMA encoding = '$encoding';\n.load ./ptable\n.load ./ptable_service\n",
      "SELECT pt_service_account('hr') IS NULL;\n.parameter init\n",
      "CREATE TABLE vals(i INTEGER, t TEXT, n);\nINSERT INTO vals VALUES $VALUES;\n";
    for my $table (qw(Mixed Typed)) {
        my $types = $table eq 'Typed' ? ', types=declared' : '';
        my $common = "$declared, account=hr, table=$table";
        print $script "CREATE VIRTUAL TABLE $table USING pt_service($common$types$option);\n",
          "CREATE VIRTUAL TABLE Keys_$table USING pt_service($common, push=keys);\n",
          "CREATE VIRTUAL TABLE Local_$table USING ptable($declared);\n",
          "INSERT INTO Local_$table($reading) SELECT $reading FROM Keys_$table;\n";
    }
    print $script ".mode quote\n";
    for my $statement (@statements) {
        for my $name (map { ($_, "Keys_$_", "Local_$_") } qw(Mixed Typed)) {
            print $script "SELECT 'mark';\n", $statement->{before}, $statement->{sql} =~ s/%T/$name/gr, ";\n";
        }
    }
}

sub run_statements {
    my ($service, $set, @statements) = @_;
    my $folder = Play::folder_for($service, $LIBRARY, $SERVICE_LIBRARY);
    open(my $script, '>:utf8', "$folder/script") or die $!;
    write_script($script, $set, @statements);
    close $script;
    system(Play::shell_command($folder, $TIMEOUT) . " <'$folder/script'");
    open(my $output, '<:utf8', "$folder/output") or die $!;
    local $/;
    my ($begin, @answers) = split /^'mark'\n/m, <$output>, -1;
    is($begin, "0\n", 'the tables are made') or BAIL_OUT($begin);
    return map { join "\n", sort split /\n/, s/near line \d+: ptable: \w+:/near line: ptable:/r } @answers;
}

sub test_set {
    my ($service, $title, $set) = @_;
    my @statements = map {
        my ($before, $sql) = with_parameter(random_statement());
        { before => $before, sql => $sql }
    } 1 .. $COUNT;
    my @answers = run_statements($service, $set, @statements);
    is(scalar @answers, 6 * $COUNT, "$title: all tables answer every statement");
    my $same = 0;
    my $empty = 0;
    for my $statement (@statements) {
        for my $table (qw(Mixed Typed)) {
            my ($sent, $keys, $local) = map { $_ // 'none' } splice @answers, 0, 3;
            my $sql = $statement->{before} . ($statement->{sql} =~ s/%T/$table/r);
            $empty++ if $keys eq '';
            if ($sent eq $keys && $local eq $keys) { $same++ }
            else { is($sent, $keys, "sent, and not: $sql"); is($local, $keys, "a ptable: $sql") }
        }
    }
    is($same, 2 * $COUNT, "$title: the answers are the same (SEED=$SEED)");
    cmp_ok($empty, '<', 1.6 * $COUNT, "$title: enough of them have rows");
}

# Tells from the log how many requests had a condition on a property.
sub count_sent {
    my ($service) = @_;
    return scalar grep { /%20(?:[A-Z]|not%20%28)/ && /%20[BDGILSTUX]%20|%28[BDGILSTUX]%20/ } Play::log_of($service);
}

if (!-e $SERVICE_LIBRARY) {
    plan skip_all => 'ptable_service.so is not built';
}
for my $i (0 .. $#SETS) {
    my $service = @ARGV ? Play::start(@ARGV) : Play::start_server($SERVER);
    load_entities($service, 'Mixed', 0);
    load_entities($service, 'Typed', 1);
    Play::command($service, "pages $i") if !@ARGV && $i > 1;
    test_set($service, "set $i", $SETS[$i]);
    cmp_ok(count_sent($service), '>', $COUNT / 2, "set $i: enough conditions are sent") if !@ARGV;
    is(Play::stop($service), 0, "set $i: the service has ended well");
}
done_testing;
