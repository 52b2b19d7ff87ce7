// better-sqlite3, which binds every number as REAL, and every BigInt as INTEGER.
'use strict';
const Database = require('better-sqlite3');

function check(name, expected, actual) {
    const [a, b] = [JSON.stringify(expected), JSON.stringify(actual)];
    console.log(a === b ? `ok - ${name}` : `not ok - ${name}\n# expected: ${a}\n# actual:   ${b}`);
}

const db = new Database(process.env.DATABASE);
db.loadExtension(process.env.PTABLE);

const rows = (sql, ...parameters) => db.prepare(sql).raw().all(...parameters);
const value = (sql, ...parameters) => db.prepare(sql).pluck().get(...parameters);
const run = (sql, ...parameters) => db.prepare(sql).run(...parameters).changes;

// What an error says, or null.
function refusal(act) {
    try {
        act();
        return null;
    } catch (error) {
        return `${error.code} ${error.message}`;
    }
}

function numbersAreIntegers() {
    check('a number is REAL', 'real', value('SELECT typeof(?)', 1));
    check('pt_pad', '000042', value('SELECT pt_pad(?, ?)', 42, 6));
    check('pt_compound_key', '7_0', value('SELECT pt_compound_key(?, ?)', 7, -0));
    check('pt_key_part', 'b', value('SELECT pt_key_part(?, ?)', 'a_b', 2));
    check('pt_hash_bucket', true, value('SELECT pt_hash_bucket(?, ?)', 7, 16) === value("SELECT pt_hash_bucket('7', 16)"));
    const fraction = refusal(() => value('SELECT pt_pad(?, ?)', 1.5, 6));
    check('a fraction is refused', true, fraction.includes('pt_pad: 1.5 is not an integer of 64 bits; give'));
}

function propertiesAreFound() {
    run('CREATE VIRTUAL TABLE N USING ptable(F Boolean, I Int32, L Int64, index(I))');
    run("INSERT INTO N VALUES ('p', ?, ?, ?, ?)", String(1), 1, 5, Number.MAX_SAFE_INTEGER);
    run("INSERT INTO N VALUES ('p', ?, ?, ?, ?)", String(2), 0, 6, 7n);
    check('what is written', [['1', 1, 5, Number.MAX_SAFE_INTEGER], ['2', 0, 6, 7]], rows('SELECT RowKey, F, I, L FROM N'));
    check('is found', [['1']], rows('SELECT RowKey FROM N WHERE F = ? AND I IN (?, ?)', 1, 5, 7));
    check('and by OR', [['1'], ['2']], rows('SELECT RowKey FROM N WHERE I = ? OR L = ? ORDER BY RowKey', 5, 7));
}

function numbersAreNoKeys() {
    const refused = refusal(() => run("INSERT INTO N(PartitionKey, RowKey) VALUES ('p', ?)", 3));
    check('a number as a key is refused', true, refused.startsWith('SQLITE_MISMATCH') && refused.includes('String(n)'));
    run("INSERT INTO N(PartitionKey, RowKey) VALUES ('p', ?)", String(3));
    run("INSERT INTO N(PartitionKey, RowKey) VALUES ('p', ?)", 4n);
    check('a text is found in every way', [1, 1, 3, 1], ['RowKey = ?', "RowKey IN (?, 'x')", 'RowKey <> ?', 'RowKey = ? OR F = 9']
        .map((condition) => value(`SELECT count(*) FROM N WHERE ${condition}`, String(3))));
    check('so is a BigInt', 1, value("SELECT count(*) FROM N WHERE RowKey IN (?, 'x')", 4n));
}

function queuesAndIndexes() {
    run('CREATE VIRTUAL TABLE Q USING pt_queue()');
    run("INSERT INTO Q(Body, TimeToLive) VALUES ('a', ?), ('b', ?)", 60, -1);
    check('messages', [['a'], ['b']], rows("SELECT Body FROM pt_queue_get('Q', ?, ?)", 2, 30));
    check('an index', 1, run("INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('N', 'L', ?)", 1));
    run("UPDATE pt_tables SET Expires = 'Due' WHERE TableName = 'N'");
    check('a number of entities', 0, value("SELECT pt_purge('N', ?)", 5));
}

numbersAreIntegers();
propertiesAreFound();
numbersAreNoKeys();
queuesAndIndexes();
db.close();
