/*
 * Damaged stores: the input changes bytes and pages of a small sound store, or cuts it short, and
 * pt_check reads it. It must end, and whatever it calls sound must be read as what was stored, by
 * an earlier commit perhaps.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/check_records.h"
#include "fuzz/fuzz.h"
#include "lmdb/engine.h"
#include "ptable.h"

enum { PAGE = 4096, CHANGES_MAX = 16, VERSIONS = 4 };

static char folder[] = "/tmp/ptable-damage-XXXXXX";
static char path[sizeof folder + 16];
static uint8_t *sound; /* the file's bytes */
static size_t sound_size;
static char *versions[VERSIONS]; /* all entities after each commit, as text */
static int version_count;

/* --- The sound store --- */

static sqlite3 *open_connection(void)
{
    sqlite3 *db = NULL;
    must_hold(sqlite3_open(":memory:", &db) == SQLITE_OK, "a database opens");
    must_hold(sqlite3_ptable_init(db, NULL, NULL) == SQLITE_OK, "the extension is there");
    return db;
}

static char *formatted(const char *format)
{
    char *sql = sqlite3_mprintf(format, path, path, path);
    must_hold(sql != NULL, "there is memory");
    return sql;
}

static void must_run(sqlite3 *db, const char *format)
{
    char *sql = formatted(format);
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        printf("# %s: %s\n", sql, message);
        must_hold(false, "a statement works");
    }
    sqlite3_free(sql);
}

/* All entities in words, from sqlite3_malloc; NULL if they cannot be read. */
static char *contents(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    char *text = NULL;
    if (sqlite3_prepare_v2(db,
                           "SELECT group_concat(n || hex(EntityKey) || Properties || ETag) FROM ("
                           "SELECT 't' n, EntityKey, Properties, ETag FROM t UNION ALL "
                           "SELECT 'w' n, EntityKey, Properties, ETag FROM w)",
                           -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        text = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    return text;
}

static void keep_version(sqlite3 *db)
{
    versions[version_count] = contents(db);
    must_hold(versions[version_count++] != NULL, "a sound store is read");
}

/* Entities of several kinds: with few and many properties, long keys, a large value, a table that
 * is gone. */
static void write_store(void)
{
    sqlite3 *db = open_connection();
    must_run(db, "CREATE VIRTUAL TABLE t USING ptable(S, I Int32, sync=off, store=%Q);"
                 "CREATE VIRTUAL TABLE w USING ptable(S, sync=off, store=%Q);"
                 "CREATE VIRTUAL TABLE gone USING ptable(S, sync=off, store=%Q);");
    must_run(db, "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 60)"
                 "INSERT INTO t(PartitionKey, RowKey, S, I) "
                 "SELECT 'p' || i / 20, printf('%%05d', i), hex(zeroblob(i)), i FROM c;"
                 "INSERT INTO gone SELECT PartitionKey, RowKey, S FROM t;");
    keep_version(db);
    must_run(db, "INSERT INTO w SELECT PartitionKey, RowKey || hex(zeroblob(400)), I FROM t "
                 "WHERE I > 50;"
                 "DELETE FROM pt_tables WHERE Store = %Q AND TableName = 'gone';");
    keep_version(db);
    must_run(db, "UPDATE t SET S = zeroblob(20000) WHERE I = 7");
    keep_version(db);
    must_run(db, "INSERT INTO w(PartitionKey, RowKey, Properties) "
                 "VALUES ('', '', '{\"a\":1,\"b\":\"x\",\"c\":2.5,\"d\":true}')");
    keep_version(db);
    must_hold(sqlite3_close(db) == SQLITE_OK, "nothing is left open");
}

static void read_sound_file(void)
{
    int file = open(path, O_RDONLY);
    struct stat status;
    must_hold(file >= 0 && fstat(file, &status) == 0, "the file is there");
    sound_size = (size_t)status.st_size;
    sound = malloc(sound_size);
    must_hold(read(file, sound, sound_size) == (ssize_t)sound_size, "the file is read");
    close(file);
}

static void leave_folder(void)
{
    DIR *directory = opendir(folder);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (entry->d_name[0] != '.') {
            unlinkat(dirfd(directory), entry->d_name, 0);
        }
    }
    closedir(directory);
    rmdir(folder);
    free(sound);
    for (int i = 0; i < version_count; i++) {
        sqlite3_free(versions[i]);
    }
}

static void make_store_once(void)
{
    if (sound == NULL) {
        must_hold(mkdtemp(folder) != NULL, "there is a folder");
        snprintf(path, sizeof path, "%s/s.ptable", folder);
        atexit(leave_folder);
        write_store();
        read_sound_file();
    }
}

/* --- Damage --- */

static void set_bytes(fuzz_input *input, uint8_t *file, size_t size)
{
    size_t at = take_below(input, (unsigned)(size / PAGE)) * PAGE + take_below(input, PAGE);
    pt_slice bytes = take_bytes(input, 1 + take_below(input, 8));
    for (size_t i = 0; i < bytes.size && at + i < size; i++) {
        file[at + i] = bytes.data[i];
    }
}

/* Changes the file's bytes; the size it then has. */
static size_t damage(fuzz_input *input, uint8_t *file, size_t size)
{
    unsigned pages = (unsigned)(size / PAGE);
    for (int i = 0; i < CHANGES_MAX && input->left != 0; i++) {
        unsigned choice = take_below(input, 16);
        if (choice == 0) {
            memset(file + take_below(input, pages) * PAGE, take_byte(input), PAGE);
        } else if (choice == 1) {
            size_t from = take_below(input, pages);
            memmove(file + take_below(input, pages) * PAGE, file + from * PAGE, PAGE);
        } else if (choice == 2) {
            size = take_below(input, (unsigned)size);
            pages = (unsigned)(size / PAGE);
        } else if (choice == 3) {
            size_t at = take_below(input, pages) * PAGE + take_below(input, PAGE);
            file[at] ^= (uint8_t)(1u << take_below(input, 8));
        } else {
            set_bytes(input, file, size);
        }
        if (pages == 0) {
            break;
        }
    }
    return size;
}

static void write_file(const uint8_t *bytes, size_t size)
{
    int file = open(path, O_WRONLY | O_TRUNC);
    must_hold(file >= 0 && write(file, bytes, size) == (ssize_t)size && close(file) == 0,
              "the file is written");
}

/* --- Reading --- */

static bool is_called_sound(void)
{
    char *text = NULL;
    pt_error error = PT_ERROR_NONE;
    int rc = pt_check_store(&pt_lmdb_engine, path, NULL, NULL, &text, &error);
    must_hold(rc == SQLITE_OK || error.message != NULL, "what is wrong is said");
    must_hold(rc != SQLITE_OK || (text != NULL && *text != 0), "a check says something");
    bool ok = rc == SQLITE_OK && strcmp(text, "ok") == 0;
    sqlite3_free(text);
    pt_error_clear(&error);
    return ok;
}

static bool is_a_version(const char *text)
{
    for (int i = 0; text != NULL && i < version_count; i++) {
        if (strcmp(text, versions[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void check_contents(void)
{
    sqlite3 *db = open_connection();
    must_run(db, "CREATE VIRTUAL TABLE t USING ptable(S, I Int32, sync=off, readonly=1, store=%Q);"
                 "CREATE VIRTUAL TABLE w USING ptable(S, sync=off, readonly=1, store=%Q);");
    char *text = contents(db);
    must_hold(is_a_version(text), "a store that is called sound holds what was stored");
    sqlite3_free(text);
    sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_store_once();
    fuzz_input input = fuzz_input_of(data, size);
    uint8_t *file = exact_copy(pt_slice_of(sound, sound_size));
    size_t file_size = damage(&input, file, sound_size);
    bool changed = file_size != sound_size || memcmp(file, sound, sound_size) != 0;
    write_file(file, file_size);
    bool called_sound = is_called_sound();
    must_hold(called_sound || changed, "a sound store is called so");
    if (called_sound) {
        check_contents();
    }
    free(file);
    return 0;
}
