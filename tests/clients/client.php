<?php
// A client of run.sh in PHP, with SQLite3. PDO of PHP before 8.4 loads no extensions.
$db = null;
$abandoned = null;

function open_database(string $path, int $milliseconds): SQLite3
{
    $opened = new SQLite3($path);
    $opened->enableExceptions(true);
    $opened->busyTimeout($milliseconds);
    $opened->loadExtension(basename(getenv('PTABLE')));
    return $opened;
}

function shown(SQLite3Result $result, int $column, mixed $value): string
{
    return match ($result->columnType($column)) {
        SQLITE3_INTEGER => "integer:$value",
        SQLITE3_FLOAT => "real:$value",
        SQLITE3_TEXT => "text:$value",
        SQLITE3_BLOB => 'blob:' . bin2hex($value ?? ''),
        default => 'null',
    };
}

function query(SQLite3 $db, string $sql): string
{
    $result = $db->query($sql);
    $rows = [];
    while ($result->numColumns() > 0 && ($row = $result->fetchArray(SQLITE3_NUM))) {
        $rows[] = implode('|', array_map(fn($i) => shown($result, $i, $row[$i]), array_keys($row)));
    }
    return implode(';', $rows);
}

function insert(SQLite3 $db, string $table): void
{
    $types = [SQLITE3_TEXT, SQLITE3_TEXT, SQLITE3_TEXT, SQLITE3_INTEGER, SQLITE3_FLOAT, SQLITE3_BLOB, SQLITE3_NULL];
    $rows = [['p', '1', "it's \"ünï\" €𝄞", PHP_INT_MAX, 0.1, "\0\xff'", null],
             ['p', '2', '', PHP_INT_MIN, -2.5, "\0", null]];
    $db->exec('BEGIN');
    $statement = $db->prepare("INSERT INTO $table VALUES(?,?,?,?,?,?,?)");
    foreach ($rows as $row) {
        foreach ($row as $i => $value) {
            $statement->bindValue($i + 1, $value, $types[$i]);
        }
        $statement->execute()->finalize();
    }
    $db->exec('COMMIT');
}

function repeat(SQLite3 $db, string $name, int $count): void
{
    for ($i = 0; $i < $count; $i++) {
        $db->exec("BEGIN IMMEDIATE; INSERT INTO Item(PartitionKey, RowKey) VALUES('$name', '$i'); UPDATE Counter SET N = N + 1; COMMIT");
    }
}

function abandon(string $sql): string
{
    global $db, $abandoned;
    $abandoned = $db->query($sql);
    return shown($abandoned, 0, $abandoned->fetchArray(SQLITE3_NUM)[0]);
}

function perform(string $command, string $rest): string
{
    global $db, $abandoned;
    switch ($command) {
        case 'open':
            $at = strrpos($rest, ' ');
            $db = open_database(substr($rest, 0, $at), (int)substr($rest, $at + 1));
            return '';
        case 'run':
            $db->exec($rest);
            return '';
        case 'query':
            return query($db, $rest);
        case 'insert':
            insert($db, $rest);
            return '';
        case 'repeat':
            repeat($db, ...explode(' ', $rest));
            return '';
        case 'abandon':
            return abandon($rest);
        case 'close':
            $db->close();
            return '';
        case 'forget':
            $abandoned = null;
            $db = null;
            gc_collect_cycles();
            return '';
        case 'leave':
            echo "ok \n";
            exit(0);
    }
    exit(2);
}

while (($line = fgets(STDIN)) !== false) {
    [$command, $rest] = explode(' ', rtrim($line, "\n"), 2) + [1 => ''];
    try {
        $answer = perform($command, $rest);
        echo "ok $answer\n";
    } catch (Exception $error) {
        echo 'error ', $db->lastErrorCode() & 255, ' ', $error->getMessage(), "\n";
    }
}
