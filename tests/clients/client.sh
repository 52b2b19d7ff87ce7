#!/bin/sh
# A client that is the sqlite3 shell: translates requests for the shell, and answers with the shell's
# output up to a mark that it is told to print. It shows values without types.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkfifo "$folder/in" "$folder/out"
stdbuf -oL sqlite3 -batch <"$folder/in" >"$folder/out" 2>&1 &
exec 3>"$folder/in" 4<"$folder/out"

# Sends lines and joins the answer's.
ask() {
    printf '%s\n.print ---\n' "$1" >&3
    answer=
    while IFS= read -r line <&4 && [ "$line" != --- ]; do
        answer="$answer${answer:+;}$line"
    done
}

reply() {
    case $answer in
    *rror*': '*)
        text=${answer#*: }
        code=${text##*\(}
        echo "error ${code%)*} ${text% \(*}"
        ;;
    *) echo "ok $answer" ;;
    esac
}

while IFS= read -r request; do
    rest=${request#* }
    case ${request%% *} in
    open)
        ask ".open ${rest% *}
.timeout ${rest##* }
.load $PTABLE"
        ;;
    run | query) ask "$rest;" ;;
    insert)
        ask "BEGIN; INSERT INTO $rest VALUES
  ('p', '1', 'it''s \"ünï\" €𝄞', 9223372036854775807, 0.1, x'00ff27', NULL),
  ('p', '2', '', -9223372036854775808, -2.5, x'00', NULL); COMMIT;"
        ;;
    repeat)
        ask "$(i=0
        while [ $i -lt "${rest#* }" ]; do
            echo "BEGIN IMMEDIATE; INSERT INTO Item(PartitionKey, RowKey) VALUES('${rest% *}', '$i');"
            echo 'UPDATE Counter SET N = N + 1; COMMIT;'
            i=$((i + 1))
        done)"
        ;;
    close) ask '.open :memory:' ;;
    forget) answer= ;;
    leave)
        echo 'ok '
        exit 0
        ;;
    esac
    reply
done
