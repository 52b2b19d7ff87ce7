// node-sqlite3, the package sqlite3 of npm. It has no integers beyond 2^53 and binds most numbers as
// REAL.
'use strict';
const sqlite3 = require('sqlite3');

function check(name, expected, actual) {
    const [a, b] = [JSON.stringify(expected), JSON.stringify(actual)];
    console.log(a === b ? `ok - ${name}` : `not ok - ${name}\n# expected: ${a}\n# actual:   ${b}`);
}

const db = new sqlite3.Database(process.env.DATABASE);

// Calls a method of the database that ends with a callback; gives [its error, its rows, its `this`].
function call(method, ...given) {
    return new Promise((resolve) => {
        db[method](...given, function done(error, rows) {
            resolve([error, rows, this]);
        });
    });
}

async function rows(sql, ...parameters) {
    const [error, found] = await call('all', sql, parameters);
    if (error) {
        throw error;
    }
    return found;
}

async function etags() {
    return Object.fromEntries((await rows('SELECT rowid AS id, ETag FROM Employee')).map((r) => [r.id, r.ETag]));
}

async function changeOneRow() {
    const before = await etags();
    const [error, , done] = await call('run', 'UPDATE Employee SET FirstName = ? WHERE _rowid_ = ?', ['Jane', 'Sales/000223']);
    const after = await etags();
    check('UPDATE', [null, 1], [error, done.changes]);
    check('UPDATE changes one row', ['Sales/000223'], Object.keys(after).filter((key) => after[key] !== before[key]));
}

async function writeAndRead() {
    await rows('CREATE VIRTUAL TABLE J USING ptable(T String, L Int64, D Double, B Binary, F Boolean)');
    const insert = 'INSERT INTO J VALUES(?, ?, ?, ?, ?, ?, ?)';
    for (const key of ['1', 5, String(2 ** 40)]) {
        await rows(insert, 'p', key, 'é𝄞', 2 ** 53, 0.5, Buffer.from([0, 255]), true);
    }
    const value = { T: 'é𝄞', L: 2 ** 53, D: 0.5, B: Buffer.from([0, 255]), F: 1 };
    check('types come back', [{ PartitionKey: 'p', RowKey: '1', ...value }], await rows("SELECT * FROM J WHERE RowKey = '1'"));
    check('keys that are numbers', ['1', '1099511627776', '5'], (await rows('SELECT RowKey FROM J')).map((r) => r.RowKey));
    check('are found as numbers', 1, (await rows('SELECT T FROM J WHERE PartitionKey = ? AND RowKey = ?', 'p', 2 ** 40)).length);
    const [refused] = await call('run', insert, ['p', 2 ** 41, null, null, null, null, null]);
    check('a key that is bound as REAL is refused', [20, true], [refused.errno, refused.message.includes('String(n)')]);
    const [error] = await call('run', insert, ['p', '1', null, null, null, null, null]);
    check('an entity that exists', [19, true], [error.errno, error.message.endsWith('(EntityAlreadyExists)')]);
}

async function main() {
    const [error] = await call('loadExtension', process.env.PTABLE);
    check('the extension is loaded', null, error);
    await changeOneRow();
    await writeAndRead();
    check('it closes', null, (await call('close'))[0]);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
