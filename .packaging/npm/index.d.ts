/** The path of the extension for this machine. Throws if there is none. */
export declare function getLoadablePath(): string;

/** A connection to a database: better-sqlite3's Database, node:sqlite's DatabaseSync, sqlite3's Database. */
interface Db {
  loadExtension(file: string): unknown;
}

/** Loads the extension into a connection. */
export declare function load(db: Db): void;
