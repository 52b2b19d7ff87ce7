# Plays requests to a Table service on this machine, and tells its replies in a canonical form: used
# by test_server.pl and compare.pl, which say more.
package Play;
use strict;
use warnings;
use Cwd qw(abs_path);
use Digest::SHA qw(hmac_sha256_base64);
use Exporter qw(import);
use File::Temp qw(tempdir);
use FindBin;
use IO::Socket::INET;
use MIME::Base64 qw(decode_base64);
use POSIX qw(strftime);

# What is tested: the project's folder, the server and the libraries.
our @EXPORT_OK = qw($ROOT $SERVER $LIBRARY $SERVICE_LIBRARY);
our $ROOT = abs_path("$FindBin::Bin/../..");
our $SERVER = $ENV{PT_SERVER} // "$ROOT/build/tests/service/server";
our $LIBRARY = abs_path($ENV{PT_LIBRARY} // "$ROOT/ptable.so");
our $SERVICE_LIBRARY = $ENV{PT_SERVICE_LIBRARY} // $LIBRARY =~ s/ptable\.so$/ptable_service.so/r;

our $ACCOUNT = 'devstoreaccount1';
our $KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
my $TIMEOUT = 60;    # seconds

# --- A service as a child process: it prints its port, and ends when its input is closed.

sub start {
    my (@command) = @_;
    pipe(my $read_in, my $write_in) or die "pipe: $!";
    pipe(my $read_out, my $write_out) or die "pipe: $!";
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open(STDIN, '<&', $read_in) or die;
        open(STDOUT, '>&', $write_out) or die;
        close $_ for $read_in, $write_in, $read_out, $write_out;
        exec(@command) or die "$command[0]: $!";
    }
    close $read_in;
    close $write_out;
    my $port = <$read_out>;
    die "$command[0] does not start\n" if !defined $port || $port !~ /^(\d+)$/;
    $write_in->autoflush(1);
    return { pid => $pid, input => $write_in, output => $read_out, port => $1 };
}

# Answers with which status it ended.
sub stop {
    my ($service) = @_;
    close $service->{input};
    waitpid($service->{pid}, 0);
    return $?;
}

sub command {
    my ($service, $line) = @_;
    print { $service->{input} } "$line\n";
}

# --- The sqlite3 shell

sub account_of {
    my ($service) = @_;
    return "AccountName=$ACCOUNT;AccountKey=$KEY;"
      . "TableEndpoint=http://127.0.0.1:$service->{port}/$ACCOUNT";
}

# The small Table service of this folder, with a log.
sub start_server {
    my ($server, @options) = @_;
    my $log = tempdir(CLEANUP => 1) . '/log';
    my $service = start($server, '--log', $log, @options);
    $service->{log} = $log;
    return $service;
}

# A new folder with the extensions, and ./command, which gives the server a command or, without
# arguments, prints its log; and the environment for a shell there, in which `hr` is the service's
# account. ./command waits until the server has obeyed.
sub folder_for {
    my ($service, $library, $service_library) = @_;
    local $service->{log} = $service->{log} // '/dev/null';
    my $folder = tempdir(CLEANUP => 1);
    symlink $library, "$folder/ptable.so";
    symlink $service_library, "$folder/ptable_service.so";
    open(my $command, '>', "$folder/command") or die "$folder: $!";
    my $input = "/proc/$$/fd/" . fileno($service->{input});
    print $command <<"END";
#!/bin/sh
if [ \$# -eq 0 ]; then
    exec cat '$service->{log}'
fi
printf '%s\\nmark %s\\n' "\$*" \$\$ >$input
mark=
until [ "\$mark" = \$\$ ]; do
    { read -r mark <'$service->{log}.mark' || sleep 0.01; } 2>/dev/null
done
END
    close $command;
    chmod 0755, "$folder/command";
    @ENV{qw(PTABLE_ACCOUNT_HR LC_ALL TZ HOME no_proxy)} =
      (account_of($service), 'C.UTF-8', 'UTC', $folder, '*');
    return $folder;
}

# The command of a shell in that folder, for sh. The sanitizers' libraries (PT_PRELOAD) are for the
# shell only. The time-out is that of an idle machine, so a busy one has ten times as long: run_program.pl
# knows better when to stop a test.
sub shell_command {
    my ($folder, $timeout) = @_;
    my $shell = $ENV{PT_SHELL} // 'sqlite3';
    my $seconds = 10 * $timeout;
    my $preload = $ENV{PT_PRELOAD} // '';
    return "cd '$folder' && exec timeout --foreground --kill-after=5 $seconds "
      . "env LD_PRELOAD='$preload' $shell -batch -init /dev/null :memory: >output 2>&1";
}

# --- HTTP

sub connect_to {
    my ($service) = @_;
    return IO::Socket::INET->new(PeerAddr => "127.0.0.1:$service->{port}", Timeout => $TIMEOUT)
      // die "connecting: $!";
}

sub signature {
    my ($date, $path) = @_;
    my $signature = hmac_sha256_base64("$date\n/$ACCOUNT$path", decode_base64($KEY));
    return $signature . '=' x (-length($signature) % 4);
}

# The request as it is sent. The path begins behind the account. A header without value is left out.
sub write_request {
    my ($service, $method, $path, $headers, $body) = @_;
    my $date = $headers->{'x-ms-date'} // strftime('%a, %d %b %Y %H:%M:%S GMT', gmtime);
    my $target = "/$ACCOUNT$path";
    my ($signed) = $target =~ /^([^?]*)/;
    my %all = (
        Host => "127.0.0.1:$service->{port}",
        Accept => 'application/json;odata=minimalmetadata',
        DataServiceVersion => '3.0',
        'x-ms-version' => '2019-02-02',
        'x-ms-date' => $date,
        Authorization => "SharedKeyLite $ACCOUNT:" . signature($date, $signed),
        length $body ? ('Content-Type' => 'application/json', 'Content-Length' => length $body) : (),
        %$headers,
    );
    my @lines = map { "$_: $all{$_}\r\n" } grep { $all{$_} ne '' } sort keys %all;
    return "$method $target HTTP/1.1\r\n" . join('', @lines) . "\r\n" . $body;
}

# Reads a reply: {status, headers (names in lower case), body}, or undef if the connection ends
# before it has come as a whole.
sub read_reply {
    my ($socket) = @_;
    local $SIG{ALRM} = sub { die "no reply\n" };
    alarm $TIMEOUT;
    my $reply = eval { read_whole($socket) };
    alarm 0;
    die $@ if $@ eq "no reply\n";
    return $reply;
}

sub read_line {
    my ($socket) = @_;
    my $line = readline($socket);
    die "cut\n" if !defined $line || $line !~ s/\r\n\z//;
    return $line;
}

sub read_bytes {
    my ($socket, $size) = @_;
    my $bytes = '';
    while (length $bytes < $size) {
        read($socket, $bytes, $size - length $bytes, length $bytes) or die "cut\n";
    }
    return $bytes;
}

sub read_whole {
    my ($socket) = @_;
    my $status;
    ($status) = read_line($socket) =~ m{^HTTP/1\.1 (\d+) } or die "no HTTP\n";
    my %headers;
    while ((my $line = read_line($socket)) ne '') {
        my ($name, $value) = $line =~ /^([^:\s]+):\s*(.*?)\s*\z/ or die "no header: $line\n";
        $headers{ lc $name } = $value;
    }
    my $body = '';
    if (($headers{'transfer-encoding'} // '') eq 'chunked') {
        while ((my $size = hex read_line($socket)) != 0) {
            $body .= read_bytes($socket, $size);
            read_line($socket);
        }
        read_line($socket);
    }
    elsif ($headers{'content-length'}) {
        $body = read_bytes($socket, $headers{'content-length'});
    }
    return { status => $status, headers => \%headers, body => $body };
}

# A request on a connection of its own.
sub ask {
    my ($service, $method, $path, $headers, $body) = @_;
    my $socket = connect_to($service);
    local $SIG{PIPE} = 'IGNORE';
    print $socket write_request($service, $method, $path,
        { Connection => 'close', %{ $headers // {} } }, $body // '');
    return read_reply($socket);
}

# What the server's log has, one request a line.
sub log_of {
    my ($service) = @_;
    my $socket = connect_to($service);
    print $socket "GET /-/ HTTP/1.1\r\nConnection: close\r\n\r\n";
    return split /\n/, read_reply($socket)->{body};
}

# --- Batches

# Each operation is [method, path, headers, body].
sub write_batch {
    my ($service, @operations) = @_;
    my $parts = join '', map {
        my ($method, $path, $headers, $body) = @$_;
        my %all = (
            length $body ? ('Content-Type' => 'application/json') : (),
            Accept => 'application/json;odata=minimalmetadata',
            DataServiceVersion => '3.0',
            Prefer => 'return-no-content',
            %$headers,
        );
        "--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
          . "$method http://127.0.0.1:$service->{port}/$ACCOUNT$path HTTP/1.1\r\n"
          . join('', map { "$_: $all{$_}\r\n" } grep { $all{$_} ne '' } sort keys %all)
          . "\r\n$body\r\n";
    } @operations;
    return "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n$parts"
      . "--changeset_1--\r\n--batch_1--\r\n";
}

sub ask_batch {
    my ($service, @operations) = @_;
    return ask($service, 'POST', '/$batch',
        { 'Content-Type' => 'multipart/mixed; boundary=batch_1' },
        write_batch($service, @operations));
}

# The status and JSON of each operation, found as a client finds them.
sub batch_statuses {
    my ($body) = @_;
    my @found;
    while ($body =~ m{HTTP/1\.1 (\d+)[^\r\n]*\r\n(.*?)(?=--changesetresponse|\z)}gs) {
        my ($status, $rest) = ($1, $2);
        my $etag = $rest =~ /^etag:/mi ? 'ETag' : '';
        my ($json) = $rest =~ /(\{.*\})/s;
        push @found, join ' ', $status, grep { $_ ne '' } $etag, canonical_json($json // '');
    }
    return @found;
}

# --- The canonical form: JSON with its members in order, numbers as written, times hidden.

my $STRING = qr/"(?:[^"\\]|\\.)*"/;
my %ESCAPES = (b => '0008', f => '000c', n => '000a', r => '000d', t => '0009');

sub canonical_json {
    my ($text) = @_;
    my $canonical = eval { canonical_value(\$text) } // return $text;
    return $canonical;
}

sub canonical_value {
    my ($text) = @_;
    if ($$text =~ /\G\s*($STRING)/gc) {
        return canonical_string($1);
    }
    if ($$text =~ /\G\s*\{/gc) {
        my %members;
        while ($$text =~ /\G\s*,?\s*($STRING)\s*:/gc) {
            my $name = canonical_string($1);
            $members{$name} = canonical_value($text);
        }
        $$text =~ /\G\s*\}/gc or die 'object';
        return '{' . join(',', map { "$_:$members{$_}" } sort keys %members) . '}';
    }
    if ($$text =~ /\G\s*\[/gc) {
        my @elements;
        while ($$text !~ /\G\s*\]/gc) {
            $$text =~ /\G\s*,/gc;
            push @elements, canonical_value($text);
        }
        return '[' . join(",\n  ", @elements) . ']';
    }
    $$text =~ /\G\s*([-+0-9.eE]+|true|false|null)/gc or die 'value';
    return $1;
}

sub canonical_string {
    my ($string) = @_;
    $string =~ s/\\([bfnrt])/\\u$ESCAPES{$1}/g;
    $string =~ s{\\/}{/}g;
    return $string;
}

# Hides what differs from run to run.
sub without_times {
    my ($text) = @_;
    $text =~ s/datetime'20[0-9T.%A:Z-]*'/datetime'<time>'/g;
    $text =~ s/"Timestamp":"20[^"]*"/"Timestamp":"<time>"/g;
    $text =~ s/(\\u000a|\n)RequestId:[0-9a-f-]+/$1RequestId:<id>/g;
    $text =~ s/Time:20[0-9T.:Z-]*/Time:<time>/g;
    $text =~ s/127\.0\.0\.1:\d+/<host>/g;
    $text =~ s/(.)\1{39,}/"<$1*" . length($&) . '>'/ge;
    return $text;
}

sub canonical_reply {
    my ($reply) = @_;
    return "no reply\n" if !defined $reply;
    my $headers = $reply->{headers};
    my @lines = ($reply->{status});
    for my $name ('content-type', 'etag', 'preference-applied', 'x-ms-error-code', 'retry-after',
        map { "x-ms-continuation-$_" } qw(nextpartitionkey nextrowkey nexttablename))
    {
        next if !defined $headers->{$name} || ($reply->{status} == 204 && $name eq 'content-type');
        push @lines, "$name: $headers->{$name}";
    }
    if ($reply->{status} == 202) {
        push @lines, map { "  $_" } batch_statuses($reply->{body});
    }
    elsif ($reply->{body} =~ /^\s*\{/) {
        push @lines, canonical_json($reply->{body});
    }
    elsif ($reply->{body} ne '') {
        push @lines, $reply->{body};
    }
    return without_times(join("\n", @lines)) . "\n";
}

# --- Lists of requests: tests/service/requests says how they are written.

sub read_list {
    my ($path) = @_;
    open(my $file, '<', $path) or die "$path: $!";
    my @list;
    while (my $line = <$file>) {
        chomp $line;
        if ($line =~ /^= (.*)/) {
            push @list, { name => $1, lines => [] };
        }
        elsif ($line !~ /^#/ && $line ne '') {
            die "$path: a line before the first request\n" if !@list;
            push @{ $list[-1]{lines} }, $line;
        }
    }
    return @list;
}

# "METHOD path | Header: value | ..."
sub parse_line {
    my ($line) = @_;
    my ($first, @headers) = split / \| /, $line;
    my ($method, $path) = $first =~ m{^([A-Z]+) (/.*)$} or die "not a request: $line\n";
    return ($method, $path, { map { /^([^:]+):\s*(.*)/ or die "not a header: $_\n"; ($1, $2) } @headers });
}

# Fills in <x*3> (xxx), <etag of NAME> (the ETag of that request's reply), <next> (the query that
# continues the reply before).
sub fill_in {
    my ($line, $replies, $last) = @_;
    $line =~ s/<([^<>*]+)\*(\d+)>/$1 x $2/ge;
    $line =~ s/<etag of ([^<>]+)>/$replies->{$1}{headers}{etag} \/\/ die "$1 has no ETag\n"/ge;
    $line =~ s/<next>/next_of($last)/ge;
    return $line;
}

sub escaped {
    my ($text) = @_;
    $text =~ s/([^A-Za-z0-9._~-])/sprintf '%%%02X', ord $1/ge;
    return $text;
}

# Each header that came, empty ones too.
sub next_of {
    my ($reply) = @_;
    my %names = (NextPartitionKey => 1, NextRowKey => 1, NextTableName => 1);
    return join '&', map { "$_=" . escaped($reply->{headers}{ 'x-ms-continuation-' . lc $_ }) }
      grep { defined $reply->{headers}{ 'x-ms-continuation-' . lc $_ } } sort keys %names;
}

sub repeated {
    my (@lines) = @_;
    my @all;
    while (defined(my $line = shift @lines)) {
        my $count = $line =~ s/^<times (\d+)> // ? $1 : 1;
        my @operation = ($line, @lines && $lines[0] =~ /^\{/ ? shift @lines : ());
        for my $n (0 .. $count - 1) {
            push @all, map { s/<n>/$n/gr } @operation;
        }
    }
    return @all;
}

sub play_one {
    my ($service, $request, $replies, $last) = @_;
    my @lines = map { fill_in($_, $replies, $last) } @{ $request->{lines} };
    if ($lines[0] ne 'BATCH') {
        my ($method, $path, $headers) = parse_line(shift @lines);
        return ask($service, $method, $path, $headers, join "\n", @lines);
    }
    shift @lines;
    my @operations;
    for my $line (repeated(@lines)) {
        if ($line =~ /^\{/) {
            $operations[-1][3] = $line;
        }
        else {
            push @operations, [ parse_line($line), '' ];
        }
    }
    return ask_batch($service, @operations);
}

# Plays a list in order. Answers [name, canonical reply] for each request.
sub play {
    my ($service, @list) = @_;
    my %replies;
    my $last;
    my @answers;
    for my $request (@list) {
        $last = $replies{ $request->{name} } = play_one($service, $request, \%replies, $last);
        push @answers, [ $request->{name}, canonical_reply($last) ];
    }
    return @answers;
}

1;
