#!/usr/bin/perl
# Servers with good and bad certificates (openssl s_server): the library sends a request only to one
# whose certificate it can trust, and says otherwise what to do. Prints TAP. Variables as in
# test_sql.pl.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use lib $FindBin::Bin;
use Play qw($LIBRARY $SERVICE_LIBRARY);
use Test::More;

my $TIMEOUT = 20;    # seconds
my $FOLDER = tempdir(CLEANUP => 1);
my @EVER = ('20200101000000Z', '20991231000000Z');
my $HERE = 'IP:127.0.0.1,DNS:localhost';
delete @ENV{qw(CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR)};    # for the program curl, and for us

sub write_file {
    my ($name, $text) = @_;
    open(my $file, '>', "$FOLDER/$name") or die "$name: $!";
    print $file $text;
    close $file;
}

sub openssl {
    my (@arguments) = @_;
    system("cd '$FOLDER' && openssl @arguments >log 2>&1") == 0 or die "openssl @arguments fails\n";
}

# --- Certificates

sub make_authority {
    my ($name) = @_;
    openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30",
        "-keyout $name.key -out $name.pem -subj '/CN=$name'");
}

# Lets the authority say that a server with this key has these names, for some time.
sub make_certificate {
    my ($name, $authority, $names, $from, $to) = @_;
    write_file("$name.names", "subjectAltName=$names\n");
    openssl("req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes",
        "-keyout $name.key -out $name.request -subj '/CN=$name'");
    openssl("ca -batch -notext -config authority -cert $authority.pem -keyfile $authority.key",
        "-startdate $from -enddate $to -extfile $name.names -in $name.request -out $name.pem");
}

sub make_certificates {
    write_file('authority', join "\n", '[ca]', 'default_ca=one', '[one]', 'database=list',
        'new_certs_dir=.', 'default_md=sha256', 'policy=name', 'unique_subject=no', 'rand_serial=yes',
        '[name]', 'commonName=supplied', '');
    write_file('list', '');
    make_authority($_) for qw(ours others);
    make_certificate('good', 'ours', $HERE, @EVER);
    make_certificate('expired', 'ours', $HERE, '20200101000000Z', '20200102000000Z');
    make_certificate('early', 'ours', $HERE, '20980101000000Z', '20991231000000Z');
    make_certificate('elsewhere', 'ours', 'DNS:other.example', @EVER);
    make_certificate('stranger', 'others', $HERE, @EVER);
}

# --- Servers

# A server that answers GET /hr/Tables.
sub start_tls {
    my ($certificate, @options) = @_;
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        chdir $FOLDER;
        open(STDIN, '<', '/dev/null') and open(STDOUT, '>>', 'server') and open(STDERR, '>>', 'server');
        exec(qw(openssl s_server -accept 127.0.0.1:0 -HTTP -cert), "$certificate.pem", '-key',
            "$certificate.key", @options)
          or die;
    }
    for (1 .. 500) {
        return { pid => $pid, port => $1 } if server_output() =~ /^ACCEPT.*:(\d+)$/m;
        select undef, undef, undef, 0.01;
    }
    die "openssl s_server does not start\n";
}

sub server_output {
    open(my $output, '<', "$FOLDER/server") or return '';
    local $/;
    return <$output> // '';
}

# Answers what it has printed: a line for each request, beside others.
sub stop_tls {
    my ($server) = @_;
    kill 'TERM', $server->{pid};
    waitpid $server->{pid}, 0;
    my $output = server_output();
    unlink "$FOLDER/server";
    return $output;
}

# What the shell prints for a statement.
sub answer {
    my ($host, $server, $sql) = @_;
    my $folder = Play::folder_for({ port => $server->{port}, input => \*STDIN }, $LIBRARY, $SERVICE_LIBRARY);
    open(my $script, '>', "$folder/script") or die "$folder: $!";
    print $script ".load ./ptable_service\n.headers off\n"
      . "SELECT pt_service_account('hr', 'AccountName=hr;BearerToken=c2VjcmV0;"
      . "TableEndpoint=https://$host:$server->{port}/hr') IS NULL;\n"
      . "CREATE VIRTUAL TABLE Employee USING pt_service(account=hr, retries=0);\n"
      . "$sql;\n"
      . "SELECT 'retries ' || json_extract(pt_service_requests(), '\$.retries');\n";
    close $script;
    system(Play::shell_command($folder, $TIMEOUT) . " <'$folder/script'");
    open(my $output, '<', "$folder/output") or die "$folder: $!";
    local $/;
    return <$output>;
}

# --- Tests

my $UNTRUSTED = qr/account 'hr': the certificate of https:\S+ is not trusted: .+; check the endpoint and this machine's clock, or (.*)/;
my $LIST = "SELECT 'table ' || TableName FROM pt_service_tables";
my $WRITE = "INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '1')";

sub is_trusted {
    my ($title, $host, $certificate) = @_;
    my $server = start_tls($certificate);
    like(answer($host, $server, $LIST), qr/^table Employee$/m, $title);
    like(stop_tls($server), qr{FILE:hr/Tables}, "a request is sent: $title");
}

# The advice names the variable that has an effect.
sub advice {
    my $variable = $ENV{CURL_CA_BUNDLE} ? 'CURL_CA_BUNDLE' : 'SSL_CERT_FILE';
    return $ENV{$variable}
      ? "add the certificate of its authority to the file in the environment variable $variable"
      : "name a file with the certificate of its authority in the environment variable $variable";
}

# The request, which has the token, is not sent; nor is it tried again.
sub is_refused {
    my ($title, $host, $certificate) = @_;
    my $server = start_tls($certificate);
    my $answer = answer($host, $server, "$LIST;\n$WRITE");
    my @refusals = $answer =~ /$UNTRUSTED/g;
    is(scalar(grep { index($_, advice()) == 0 } @refusals), 2, $title) or diag($answer);
    unlike($answer, qr/may have been/, "a change is certainly not done: $title");
    unlike(stop_tls($server), qr/FILE/, "nothing is sent: $title");
    like($answer, qr/^retries 0$/m, "one attempt: $title");
    unlike($answer, qr/c2VjcmV0/, "no secret is shown: $title");
}

if (!-e $SERVICE_LIBRARY || system('openssl version >/dev/null 2>&1') != 0) {
    plan skip_all => 'ptable_service.so is not built, or there is no openssl';
}
make_certificates();
mkdir "$FOLDER/hr";
write_file('hr/Tables', "HTTP/1.1 200 OK\r\n\r\n" . '{"value":[{"TableName":"Employee"}]}');

is_refused('an authority that is not known', '127.0.0.1', 'good');
for my $variable (qw(SSL_CERT_FILE CURL_CA_BUNDLE)) {
    local $ENV{$variable} = "$FOLDER/ours.pem";
    is_trusted("the authority in $variable", '127.0.0.1', 'good');
}
{
    local $ENV{SSL_CERT_FILE} = "$FOLDER/ours.pem";
    local $ENV{CURL_CA_BUNDLE} = "$FOLDER/others.pem";
    is_refused('SSL_CERT_FILE has no effect beside CURL_CA_BUNDLE', '127.0.0.1', 'good');
    local $ENV{SSL_CERT_FILE} = "$FOLDER/others.pem";
    local $ENV{CURL_CA_BUNDLE} = "$FOLDER/ours.pem";
    is_trusted('CURL_CA_BUNDLE beside SSL_CERT_FILE', '127.0.0.1', 'good');
}
{
    openssl('rehash .');
    local $ENV{SSL_CERT_DIR} = $FOLDER;
    is_trusted('the authority in SSL_CERT_DIR', '127.0.0.1', 'good');
    local $ENV{SSL_CERT_FILE} = "$FOLDER/others.pem";
    is_trusted('the authority in SSL_CERT_DIR, beside a file', '127.0.0.1', 'good');
    local $ENV{CURL_CA_BUNDLE} = "$FOLDER/others.pem";
    unlink glob "$FOLDER/*.[0-9]";
    is_refused('SSL_CERT_DIR has no effect beside CURL_CA_BUNDLE', '127.0.0.1', 'good');
}
$ENV{SSL_CERT_FILE} = "$FOLDER/ours.pem";
is_trusted('another name of the server', 'localhost', 'good');
is_refused('another authority', '127.0.0.1', 'stranger');
is_refused('a certificate that has ended', '127.0.0.1', 'expired');
is_refused('a certificate that begins later', '127.0.0.1', 'early');
is_refused('a certificate of another server', '127.0.0.1', 'elsewhere');
is_refused('a certificate of another name', 'localhost', 'elsewhere');
{
    my $server = start_tls('good', qw(-tls1_1 -cipher DEFAULT@SECLEVEL=0));
    my $answer = answer('127.0.0.1', $server, 'SELECT * FROM Employee');
    like($answer, qr/account 'hr': no connection to https:/, 'an old version of TLS');
    unlike(stop_tls($server), qr/FILE/, 'nothing is sent: an old version of TLS');
}
{
    local $ENV{SSL_CERT_FILE} = "$FOLDER/missing.pem";
    is_refused('no file of authorities', '127.0.0.1', 'good');
    local $ENV{CURL_CA_BUNDLE} = '';
    is_refused('an empty variable', '127.0.0.1', 'good');
}
done_testing;
