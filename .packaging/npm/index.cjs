'use strict';

const { join } = require('node:path');
const { arch, platform } = require('node:process');

const machines = ['linux-x64', 'linux-arm64'];

/** The path of the extension for this machine. */
function getLoadablePath() {
  const machine = `${platform}-${arch}`;
  if (!machines.includes(machine)) {
    throw new Error(`ptable-sqlite is not for ${machine}, only for ${machines.join(' and ')}`);
  }
  return join(__dirname, machine, 'ptable.so');
}

/** Loads the extension into a connection of better-sqlite3, node:sqlite or sqlite3. */
function load(db) {
  db.loadExtension(getLoadablePath());
}

module.exports = { getLoadablePath, load };
