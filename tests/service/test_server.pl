#!/usr/bin/perl
# Tests the small Table service of this folder, with requests that this program writes itself, and
# with curl if it is there. The server is PT_SERVER (build/tests/service/server). replies.azure and
# replies.azurite have the replies to the list `requests`; UPDATE=1 rewrites them (then read the
# diff). compare.pl compares the second with the emulator.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Play qw($SERVER);
use Test::More;

sub start { return Play::start($SERVER, @_) }

sub stop_well {
    my ($service, $name) = @_;
    is(Play::stop($service), 0, "$name: the server ends when its input is closed");
}

sub reply_of { my $reply = Play::ask(@_); return defined $reply ? $reply->{status} : 'none' }

sub create { Play::ask($_[0], 'POST', '/Tables', {}, '{"TableName":"Facts"}') }

sub insert {
    my ($service, $pk, $rk) = @_;
    return reply_of($service, 'POST', '/Facts', { Prefer => 'return-no-content' },
        qq({"PartitionKey":"$pk","RowKey":"$rk"}));
}

sub has { reply_of($_[0], 'GET', "/Facts(PartitionKey='$_[1]',RowKey='$_[2]')") == 200 ? 1 : 0 }

# --- The list of requests

sub recorded {
    my ($path) = @_;
    open(my $file, '<', $path) or return {};
    my %replies;
    my $name;
    while (my $line = <$file>) {
        if ($line =~ /^= (.*)/) { $name = $1; $replies{$name} = '' }
        else { $replies{$name} .= $line }
    }
    return \%replies;
}

sub test_replies {
    my ($dialect) = @_;
    my $path = "$FindBin::Bin/replies.$dialect";
    my $service = start('--dialect', $dialect);
    my @answers = Play::play($service, Play::read_list("$FindBin::Bin/requests"));
    stop_well($service, $dialect);
    if ($ENV{UPDATE}) {
        open(my $file, '>', $path) or die "$path: $!";
        print $file "= $_->[0]\n$_->[1]" for @answers;
        close $file;
    }
    my $expected = recorded($path);
    is($_->[1], $expected->{ $_->[0] }, "$dialect: $_->[0]") for @answers;
}

sub test_error_forms {
    my %bodies = (json => qr/^\{"odata\.error"/, xml => qr/<code>TableNotFound</, header => qr/^$/);
    for my $form (sort keys %bodies) {
        my $service = start('--errors', $form);
        my $reply = Play::ask($service, 'GET', '/Missing()');
        like($reply->{body}, $bodies{$form}, "an error as $form");
        is($reply->{headers}{'x-ms-error-code'}, $form eq 'header' ? 'TableNotFound' : undef,
            "the code of an error as $form in a header");
        stop_well($service, $form);
    }
}

sub test_access {
    my $service = start('--account', 'other', '--key', 'c2VjcmV0');
    is(reply_of($service, 'GET', '/Tables'), 403, 'the account of another service is refused');
    local $Play::ACCOUNT = 'other';
    local $Play::KEY = 'c2VjcmV0';
    is(reply_of($service, 'GET', '/Tables'), 200, 'its own is not');
    is(reply_of($service, 'GET', '/Tables?sv=2019-02-02&sig=x', { Authorization => '' }), 200,
        'a shared access signature has to be there only');
    is(reply_of($service, 'GET', '/Tables', { Authorization => 'Bearer x' }), 200,
        'and so has a token');
    stop_well($service, 'access');
}

# --- HTTP

sub read_all { my ($socket) = @_; local $/; return scalar readline($socket) }

sub test_connections {
    my $service = start();
    create($service);
    my $socket = Play::connect_to($service);
    my $request = Play::write_request($service, 'GET', '/Tables', {}, '');
    print $socket $request, $request;
    is(Play::read_reply($socket)->{status}, 200, 'the first of two requests sent at once');
    is(Play::read_reply($socket)->{status}, 200, 'the second of them');
    for my $byte (split //, $request) { syswrite $socket, $byte }
    is(Play::read_reply($socket)->{status}, 200, 'a request that comes byte by byte');

    my $body = '{"PartitionKey":"p","RowKey":"chunks"}';
    my $head = Play::write_request($service, 'POST', '/Facts',
        { 'Transfer-Encoding' => 'chunked', 'Content-Type' => 'application/json' }, '');
    print $socket $head, sprintf("%x\r\n%s\r\n", 5, substr $body, 0, 5),
      sprintf("%X\r\n%s\r\n", length($body) - 5, substr $body, 5), "0\r\n\r\n";
    is(Play::read_reply($socket)->{status}, 201, 'a body in chunks');

    print $socket Play::write_request($service, 'POST', '/Facts',
        { Expect => '100-continue', 'Content-Length' => length $body,
          'Content-Type' => 'application/json' }, '');
    is(Play::read_line($socket), 'HTTP/1.1 100 Continue', 'a body that is waited for');
    Play::read_line($socket);
    print $socket $body;
    is(Play::read_reply($socket)->{status}, 409, 'the request with that body');

    print $socket Play::write_request($service, 'GET', '/Tables', { Connection => 'close' }, '');
    like(read_all($socket), qr/^HTTP.*Connection: close/s, 'a connection is closed on demand');
    my $bad = Play::connect_to($service);
    print $bad "GET\r\n\r\n";
    like(read_all($bad), qr/^HTTP\/1\.1 400 /, 'a request that is none');
    stop_well($service, 'connections');
}

sub test_malformed_batches {
    my $service = start();
    create($service);
    my $batch = Play::write_batch($service,
        [ 'POST', '/Facts', {}, '{"PartitionKey":"p","RowKey":"1"}' ],
        [ 'POST', '/Facts', {}, '{"PartitionKey":"p","RowKey":"2"}' ]);
    my %wrong = (
        'without an absolute address' => $batch =~ s{http://[^/]*}{}r,
        'cut' => substr($batch, 0, length($batch) - 40),
        'without CRLF' => $batch =~ s/\r//gr,
        'without a type of the part' => $batch =~ s{Content-Type: application/http\r\n}{}r,
        'without an operation' => $batch =~ s/(?<=changeset_1\r\n\r\n).*(?=--changeset_1--)//sr,
        'with two change sets' => $batch =~ s/(?=--batch_1--)/($batch =~ s{--batch_1--\r\n}{}r)/er,
    );
    my $type = { 'Content-Type' => 'multipart/mixed; boundary=batch_1' };
    for my $name (sort keys %wrong) {
        my $reply = Play::ask($service, 'POST', '/$batch', $type, $wrong{$name});
        is($reply->{status}, 400, "a batch $name");
        is(has($service, 'p', '1'), 0, "nothing of the batch $name is there");
    }
    is(reply_of($service, 'POST', '/$batch', $type, $batch), 202, 'the batch is well-formed itself');
    is(has($service, 'p', '2'), 1, 'and is there');
    stop_well($service, 'malformed batches');
}

# --- Pages

# Reads all pages; answers the keys, and counts the forms of continuation.
sub read_pages {
    my ($service, $query, $forms) = @_;
    my @keys;
    my $last;
    for my $page (1 .. 10_000) {
        my $next = defined $last ? '&' . Play::next_of($last) : '';
        my $reply = Play::ask($service, 'GET', "/Facts()?\$select=PartitionKey,RowKey$query$next");
        my @found = $reply->{body} =~ /"PartitionKey":"([^"]*)","RowKey":"([^"]*)"/g;
        push @keys, "$found[0]/$found[1]" and splice @found, 0, 2 while @found;
        my ($partition, $row) =
          map { $reply->{headers}{"x-ms-continuation-next$_"} } qw(partitionkey rowkey);
        return @keys if !defined $partition && !defined $row;
        $forms->{'both keys'}++ if defined $row && $row ne '' && $partition ne '';
        $forms->{'PartitionKey only'}++ if !defined $row;
        $forms->{'an empty PartitionKey'}++ if $partition eq '';
        $forms->{'an empty RowKey'}++ if defined $row && $row eq '';
        $forms->{'no entity'}++ if $reply->{body} =~ /"value":\[\]/;
        $last = $reply;
    }
    return 'endless';
}

my @UNITS = ('', '0', 'a', "\xed\x9f\xbf", "\xf0\x9f\x98\x80", "\xee\x80\x80");

sub test_pages {
    my $service = start();
    my %forms;
    create($service);
    my @expected;
    for my $pk (@UNITS) {
        push @expected, map { "$pk/$_" } @UNITS;
        insert($service, $pk, $_) for reverse @UNITS;
    }
    is_deeply([ read_pages($service, '', \%forms) ], \@expected, 'keys come in the order of UTF-16');
    is_deeply(\%forms, {}, 'without a seed they come in one page');
    for my $seed (1 .. 40) {
        Play::command($service, "pages $seed");
        Play::command($service, 'rows ' . (1 + $seed % 7));
        my @found = read_pages($service, '', \%forms);
        is_deeply(\@found, \@expected, "pages cut at random: $seed") or diag("@found");
    }
    for my $form ('both keys', 'PartitionKey only', 'an empty PartitionKey', 'an empty RowKey',
        'no entity')
    {
        cmp_ok($forms{$form} // 0, '>', 10, "pages continue with $form");
    }
    Play::command($service, 'pages 0');
    Play::command($service, 'rows 1');
    my $first = Play::ask($service, 'GET', '/Facts()');
    is(reply_of($service, 'GET', '/Facts()?NextRowKey='), 400,
        'an empty token that is not sent back is missed');
    is(reply_of($service, 'GET', '/Facts()?' . Play::next_of($first)), 200, 'it has to be there');
    my $filter = join '%20or%20', ('i%20eq%201') x 16;
    is(reply_of($service, 'GET', "/Facts()?\$filter=$filter"), 400, 'sixteen comparisons');
    is(reply_of($service, 'GET', '/Facts()?$filter=' . ($filter =~ s/%20or%20.*?(?=%20or)//r)), 200,
        'fifteen comparisons');
    stop_well($service, 'pages');
}

# --- Faults

sub test_faults {
    my $service = start();
    create($service);
    # What is answered, and whether the entity is there.
    my @cases = (
        [ 'drop 1', 'none', 0 ], [ 'lose 1', 'none', 1 ], [ 'cut 1', 'none', 1 ],
        [ 'delay 1 1', 204, 1 ], [ 'close 1', 204, 1 ], [ 'busy 1', 503, 0 ],
        [ 'throttle 1', 429, 0 ], [ 'page 1', 200, 0 ], [ 'redirect 1', 302, 0 ],
    );
    for my $case (@cases) {
        my ($fault, $status, $there) = @$case;
        my $rk = $fault =~ s/ .*//r;
        Play::command($service, "fault $fault");
        is(insert($service, 'fault', $rk), $status, "$fault: the reply");
        is(has($service, 'fault', $rk), $there, "$fault: what was done");
    }
    Play::command($service, 'fault busy 2+ 7');
    is(insert($service, 'fault', 'one'), 204, 'a fault from the second request on');
    for my $request (2, 3) {
        my $reply = Play::ask($service, 'GET', '/Facts()');
        is("$reply->{status} $reply->{headers}{'retry-after'}", '503 7', "it meets request $request");
    }
    Play::command($service, 'forget');
    is(insert($service, 'fault', 'two'), 204, 'it is forgotten');
    my @log = Play::log_of($service);
    is_deeply(\@log, ["POST /$Play::ACCOUNT/Facts"], 'the log has the requests since then');
    my $control = Play::connect_to($service);
    print $control "POST /-/ HTTP/1.1\r\nContent-Length: 12\r\n\r\nfault drop 1";
    is(Play::read_reply($control)->{status}, 200, 'a command by HTTP');
    is(insert($service, 'fault', 'three'), 'none', 'it holds');
    print $control "POST /-/ HTTP/1.1\r\nContent-Length: 12\r\n\r\nfault drap 1";
    is(Play::read_reply($control)->{status}, 400, 'a command that is none');
    stop_well($service, 'faults');
}

sub test_faults_of_connections {
    my $service = start();
    create($service);
    my $socket = Play::connect_to($service);
    Play::command($service, 'fault close 1');
    print $socket Play::write_request($service, 'GET', '/Tables', {}, '');
    my $reply = Play::read_reply($socket);
    is($reply->{headers}{connection}, 'keep-alive', 'a reply promises to keep the connection');
    is(read_all($socket), undef, 'which is closed all the same');

    Play::command($service, 'fault spoil 1');
    like(Play::ask($service, 'GET', '/Tables')->{body}, qr/^\{"odata\.metadata":.*[^}]$/,
        'a reply is complete and its JSON is not');

    # While one reply waits, other connections are served.
    my $slow = Play::connect_to($service);
    Play::command($service, 'fault delay 1 600000');
    print $slow Play::write_request($service, 'GET', '/Tables', {}, '');
    is(reply_of($service, 'GET', '/Tables'), 200, 'a delay does not hold others up');
    close $slow;

    Play::command($service, 'fault throttle 1');
    my $batch = Play::ask_batch($service,
        [ 'POST', '/Facts', {}, '{"PartitionKey":"p","RowKey":"throttled"}' ]);
    is($batch->{status}, 202, 'a batch that is throttled is accepted');
    like($batch->{body}, qr{HTTP/1\.1 429 .*"TooManyRequests"}s, 'the refusal is in its part');
    is(has($service, 'p', 'throttled'), 0, 'and nothing is done');
    stop_well($service, 'faults of connections');
}

# --- Another client

sub curl {
    my ($service, @arguments) = @_;
    my $address = "http://127.0.0.1:$service->{port}/$Play::ACCOUNT";
    my $sas = 'sv=2019-02-02&sig=x';
    s/ADDRESS/$address/, s/SAS/$sas/ for @arguments;
    open(my $output, '-|', 'curl', '-sS', '--max-time', 60, '--noproxy', '*',
        '-w', '\n%{http_code} %{num_connects}', @arguments) or die "curl: $!";
    local $/;
    my @parts = (<$output> // '') =~ /^(.*)\n(\d+ \d+)$/s;
    return @parts;
}

sub test_curl {
    my $service = start('--command', 'rows 3');
    my @json = ('-H', 'Accept: application/json;odata=minimalmetadata', '-H',
        'Content-Type: application/json');
    my $long = 'x' x 30_000;
    my (undef, $made) = curl($service, @json, '-d', '{"TableName":"Facts"}', 'ADDRESS/Tables?SAS');
    is($made, '201 1', 'curl creates a table');
    (undef, my $inserted) = curl($service, @json, '-H', 'Expect: 100-continue', '-d',
        qq({"PartitionKey":"p","RowKey":"1","s":"$long"}), 'ADDRESS/Facts?SAS');
    is($inserted, '201 1', 'curl inserts, waiting for leave to send');
    (undef, my $merged) = curl($service, @json, '-X', 'MERGE', '-H', 'Transfer-Encoding: chunked',
        '-d', '{"a":1}', q{ADDRESS/Facts(PartitionKey='p',RowKey='1')?SAS});
    is($merged, '204 1', 'curl merges, in chunks');
    my ($body, $both) = curl($service, @json, 'ADDRESS/Tables?SAS', 'ADDRESS/Facts()?$select=a&SAS');
    like($body, qr/"a":1/, 'curl reads what it wrote');
    is($both, '200 0', 'on a connection that was kept');
    stop_well($service, 'curl');
}

test_replies($_) for qw(azure azurite);
test_error_forms();
test_access();
test_connections();
test_malformed_batches();
test_pages();
test_faults();
test_faults_of_connections();
SKIP: {
    skip 'there is no curl', 1 if system('curl --version >/dev/null 2>&1') != 0;
    test_curl();
}
done_testing;
