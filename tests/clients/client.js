// A client of test_clients.sh in JavaScript, with better-sqlite3. While a statement of a connection is
// being read, better-sqlite3 refuses all others, so there is nothing to abandon.
'use strict';
const Database = require('better-sqlite3');
const readline = require('readline');

// better-sqlite3 names SQLite's codes and does not tell their numbers.
const NUMBERS = { BUSY: 5, CONSTRAINT: 19, MISMATCH: 20 };
let db;

function open(path, milliseconds) {
    db = new Database(path, { timeout: Number(milliseconds) });
    db.defaultSafeIntegers(true); // integers are BigInts, which keep 64 bits
    db.loadExtension(process.env.PTABLE);
}

function shown(value) {
    if (value === null) {
        return 'null';
    }
    if (Buffer.isBuffer(value)) {
        return 'blob:' + value.toString('hex');
    }
    const types = { bigint: 'integer', number: 'real', string: 'text' };
    return types[typeof value] + ':' + value;
}

function query(sql) {
    const statement = db.prepare(sql);
    if (!statement.reader) {
        statement.run();
        return '';
    }
    return statement.raw().all().map((row) => row.map(shown).join('|')).join(';');
}

function insert(table) {
    const statement = db.prepare(`INSERT INTO ${table} VALUES(?,?,?,?,?,?,?)`);
    const rows = [
        ['p', '1', 'it\'s "ünï" €𝄞', 2n ** 63n - 1n, 0.1, Buffer.from([0, 0xff, 0x27]), null],
        ['p', '2', '', -(2n ** 63n), -2.5, Buffer.from([0]), null],
    ];
    db.transaction(() => rows.forEach((row) => statement.run(row)))();
}

function repeat(name, count) {
    const item = db.prepare('INSERT INTO Item(PartitionKey, RowKey) VALUES(?, ?)');
    const counter = db.prepare('UPDATE Counter SET N = N + 1');
    const once = db.transaction((i) => {
        item.run(name, String(i));
        counter.run();
    });
    for (let i = 0; i < Number(count); i++) {
        once.immediate(i);
    }
}

function perform(command, rest) {
    const blank = rest.lastIndexOf(' ');
    const last = [rest.slice(0, blank), rest.slice(blank + 1)];
    switch (command) {
    case 'open':
        return open(...last);
    case 'run':
    case 'query':
        return query(rest);
    case 'insert':
        return insert(rest);
    case 'repeat':
        return repeat(...last);
    case 'leave':
        console.log('ok');
        return process.exit(0);
    default:
        throw new Error('there is no request ' + command);
    }
}

function primaryCode(error) {
    const name = Object.keys(NUMBERS).find((known) => error.code.startsWith('SQLITE_' + known));
    return NUMBERS[name] || error.code;
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const blank = line.indexOf(' ');
    const command = blank < 0 ? line : line.slice(0, blank);
    try {
        console.log('ok', perform(command, blank < 0 ? '' : line.slice(blank + 1)) || '');
    } catch (error) {
        if (!(error instanceof Database.SqliteError)) {
            throw error;
        }
        console.log('error', primaryCode(error), error.message);
    }
});
