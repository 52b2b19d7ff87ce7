// try_npm.mjs better-sqlite3|sqlite3|node:sqlite FILE: runs the SQL of the file on a database in memory, with
// the extension from the package, and prints the rows as the sqlite3 shell does. Then it prints whether the
// process has loaded the extension and LMDB from the package alone.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import * as ptable from 'ptable-sqlite';

const [binding, script] = process.argv.slice(2);
const statements = readFileSync(script, 'utf8').split(';\n').filter((text) => text.trim() !== '');
const required = createRequire(import.meta.url)('ptable-sqlite');

function print(rows) {
  rows.forEach((row) => console.log(Object.values(row).map((value) => value ?? '').join('|')));
}

async function runBetterSqlite3() {
  const { default: Database } = await import('better-sqlite3');
  const db = new Database(':memory:');
  ptable.load(db);
  for (const text of statements) {
    const statement = db.prepare(text);
    print(statement.reader ? statement.all() : (statement.run(), []));
  }
}

async function runNodeSqlite() {
  const { DatabaseSync } = await import('node:sqlite');
  const db = new DatabaseSync(':memory:', { allowExtension: true });
  required.load(db);
  statements.forEach((text) => print(db.prepare(text).all()));
}

async function runSqlite3() {
  const { default: sqlite3 } = await import('sqlite3');
  const db = new sqlite3.Database(':memory:');
  ptable.load(db);
  for (const text of statements) {
    print(await new Promise((done, fail) => db.all(text, (error, rows) => (error ? fail(error) : done(rows)))));
  }
}

await { 'better-sqlite3': runBetterSqlite3, 'node:sqlite': runNodeSqlite, sqlite3: runSqlite3 }[binding]();

const maps = readFileSync('/proc/self/maps', 'utf8').split('\n');
for (const name of ['ptable.so', 'liblmdb.so.0']) {
  const paths = new Set(maps.filter((line) => line.includes(`/${name}`)).map((line) => line.slice(line.indexOf('/'))));
  console.log(name, paths.size === 1 && dirname([...paths][0]) === dirname(ptable.getLoadablePath()));
}
