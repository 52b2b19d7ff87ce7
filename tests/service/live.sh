#!/bin/sh
# Asks a real account of the Table service what its documentation leaves open. By hand:
#
#     PTABLE_ACCOUNT_LIVE='AccountName=...;AccountKey=...' tests/service/live.sh
#
# It makes a table, fills it with some entities, asks, prints an answer for each question, and deletes
# the table. That costs about a hundred requests. Raw replies are fetched by curl with a signature that
# is valid for an hour. PT_LIBRARY and PT_SHELL as in other tests.
set -u
here=$(cd "$(dirname "$0")" && pwd -P)
library=$(realpath "${PT_LIBRARY:-$here/../../ptable.so}")
table=ptablelive$(date +%s)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
: "${PTABLE_ACCOUNT_LIVE:?set it to the connection string of the account}"

# Runs SQL with the table as Live, and the account as live.
sql() {
    cat >"$work/script" - <<END
.bail off
.load ${library%/*}/ptable_service
CREATE TEMP TABLE ready AS SELECT pt_service_account('live');
CREATE VIRTUAL TABLE Live USING pt_service(Age, Number Double, Name, account=live, table='$table');
$1
END
    ${PT_SHELL:-sqlite3} -batch -init /dev/null :memory: <"$work/script" 2>&1
}

# raw method path query [curl's options]: the reply with its headers. The signature is no argument,
# which others on this machine could see.
raw() {
    method=$1
    url=$endpoint/$2
    query=$3
    shift 3
    printf 'url = "%s?%s&%s"\n' "$url" "$query" "$token" |
        curl --silent --max-time 60 --include --request "$method" --config - \
            --header 'Accept: application/json;odata=minimalmetadata' \
            --header 'DataServiceVersion: 3.0' --header 'x-ms-version: 2019-02-02' "$@" |
        tr -d '\r'
}

row_keys() {
    grep -o '"RowKey":"[^"]*"' | sed 's/.*:"//; s/"$//' | tr '\n' ' '
}

# The RowKeys that a filter finds; the filter is encoded by curl.
found() {
    raw GET "$table()" "%24select=RowKey" --get --data-urlencode "\$filter=$1" | row_keys
}

answer() {
    printf '%s\n    %s\n' "$1" "$2"
}

endpoint=$(sql "SELECT Endpoint FROM pt_service_accounts;")
sql "INSERT INTO pt_service_tables(Account, TableName) VALUES('live', '$table');"
trap 'sql "DELETE FROM pt_service_tables WHERE Account = '"'live'"' AND TableName = '"'$table'"';"; rm -rf "$work"' EXIT
token=$(sql "SELECT pt_service_sas('live', '$table', 'raud', NULL, datetime('now', '+1 hour'));")

sql "BEGIN;
INSERT INTO Live(PartitionKey, RowKey, Properties) VALUES
  ('p', 'int32', '{\"Age\":40}'),
  ('p', 'int64', '{\"Age\":\"40\",\"Age@odata.type\":\"Edm.Int64\"}'),
  ('p', 'double', '{\"Age\":40.0,\"Age@odata.type\":\"Edm.Double\"}'),
  ('p', 'string', '{\"Age\":\"40\"}'),
  ('p', 'boolean', '{\"Age\":true}'),
  ('p', 'guid', '{\"Age\":\"40000000-0000-0000-0000-000000000000\",\"Age@odata.type\":\"Edm.Guid\"}'),
  ('p', 'nan', '{\"Number\":\"NaN\",\"Number@odata.type\":\"Edm.Double\"}'),
  ('p', 'none', '{}');
COMMIT;
BEGIN;
INSERT INTO Live(PartitionKey, RowKey) VALUES ('order', char(0xD7FF)), ('order', char(0xE000)),
  ('order', char(0xFFFD)), ('order', char(0x1F600));
COMMIT;"

answer 'Which server is it (the dialect)?' "$(raw GET "$table()" '%24top=1' | grep -i '^server:')"
answer 'Is the code of an error in a header, too (of a missing entity)?' \
    "$(raw GET "$table(PartitionKey='p',RowKey='missing')" '' | grep -i -e '^x-ms-error-code' -e 'odata.error')"
answer 'Keys in the order of UTF-16 units (U+1F600 before U+E000) or of code points (after U+FFFD)?' \
    "$(found "PartitionKey eq 'order'")"
answer 'Age eq 40 finds which types (expected: int32 int64 double)?' "$(found 'Age eq 40')"
answer 'Age eq 40L finds which types (expected: int64)?' "$(found 'Age eq 40L')"
answer "Age lt 40 finds which types (expected: those that are no numbers)?" "$(found 'Age lt 40')"
answer "Age ge '' finds which types (expected: string)?" "$(found "Age ge ''")"
answer 'IS NULL as not (Age eq 0 or Age ne 0) finds (expected: nan none)?' \
    "$(found "PartitionKey eq 'p' and not (Age eq 0 or Age ne 0)")"
answer 'A NaN is found by Number ne 0.0 and not (Number ge 0.0 or Number lt 0.0)?' \
    "$(found 'Number ne 0.0 and not (Number ge 0.0 or Number lt 0.0)')"
answer 'How many comparisons may a filter have (15 are documented)?' \
    "16: $(found "$(printf 'Age eq 40 or %.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)Age eq 40" | wc -w) found"
batch='--b
Content-Type: multipart/mixed; boundary=c

--c
Content-Type: application/http
Content-Transfer-Encoding: binary

DELETE '$endpoint/$table"(PartitionKey='p',RowKey='missing')"' HTTP/1.1
Accept: application/json;odata=minimalmetadata
If-Match: *


--c--
--b--
'
printf '%s' "$batch" | sed 's/$/\r/' >"$work/batch"
answer 'A raw batch of one operation that fails: the index before the message, and its headers?' \
    "$(raw POST "\$batch" '' --header 'Content-Type: multipart/mixed; boundary=b' \
        --data-binary "@$work/batch" | grep -v '^--')"

# The same account through a signature.
answer 'Batches with the signature of a table (INSERT and DELETE through it)?' \
    "$(sql "SELECT pt_service_account('signed', 'AccountName=x;TableEndpoint=$endpoint;SharedAccessSignature=$token') IS NULL;
CREATE VIRTUAL TABLE Signed USING pt_service(account=signed, table='$table');
INSERT INTO Signed(PartitionKey, RowKey) VALUES('q', '1');
DELETE FROM Signed WHERE PartitionKey = 'q' AND RowKey = '1';
SELECT 'deleted ' || changes();" | tail -n +2)"
answer 'Does a signature of a key range hide the other entities (expected: int32 int64)?' \
    "$(sql "SELECT pt_service_account('part', 'AccountName=x;TableEndpoint=$endpoint;SharedAccessSignature=' ||
  pt_service_sas('live', '$table', 'r', NULL, datetime('now', '+1 hour'), 'p', 'i', 'p', 'm')) IS NULL;
CREATE VIRTUAL TABLE Part USING pt_service(account=part, table='$table');
SELECT RowKey FROM Part;" | tail -n +2 | tr '\n' ' ')"
answer 'Is the name of the table compared without case?' \
    "$(raw GET "$(echo "$table" | tr '[:lower:]' '[:upper:]')()" '%24top=1' | head -1)"
answer 'What does the service answer to an empty PartitionKey in a batch?' \
    "$(sql "BEGIN; INSERT INTO Live(PartitionKey, RowKey) VALUES('', '1'), ('', '2'); COMMIT;
SELECT count(*) || ' there' FROM Live WHERE PartitionKey = '';")"
