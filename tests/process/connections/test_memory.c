/*
 * How much memory a large transaction takes. Runs when N, the number of entities, is given.
 */
#include <sys/resource.h>

#include "fixtures/child.h"

enum {
    ENTITY_SIZE = 130, /* keys and values */
    FACTOR = 3,        /* the transaction may take so many times its data */
    VALUE_SIZE = 94,
};

typedef struct usage {
    int64_t before; /* largest resident sizes, in KiB */
    int64_t after;
    int64_t entities;
} usage;

static int64_t peak_kib(void)
{
    struct rusage self;
    return getrusage(RUSAGE_SELF, &self) == 0 ? self.ru_maxrss : -1;
}

/* Keys of 18 bytes each; 1000000007 is prime, so a multiple of the number is a random order. */
#define LOAD                                                                                       \
    "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %lld)"               \
    "INSERT INTO t SELECT printf('partition %%08d', i / 1000), printf('row key %%010d', i),"       \
    " printf('%%.*c', %d, 'v') FROM (SELECT %s AS i FROM n)"

/* load path entities order: one transaction in this process. */
static int load(char **arguments)
{
    usage used = {0};
    int64_t entities = strtoll(arguments[1], NULL, 10);
    bool ordered = strcmp(arguments[2], "ordered") == 0;
    sqlite3 *db = try_open(arguments[0]);
    if (db == NULL || code_of(db, "CREATE VIRTUAL TABLE t USING ptable(V String, sync='off')")) {
        return 1;
    }
    used.before = peak_kib();
    int code =
        code_of(db, LOAD, entities, VALUE_SIZE, ordered ? "k" : "k * 387420489 % 1000000007");
    used.after = peak_kib();
    used.entities = first_number(db, "SELECT count(*) FROM t", -1);
    if (code != SQLITE_OK) {
        fprintf(stderr, "%s\n", sqlite3_errmsg(db));
    }
    write_all(STDOUT_FILENO, &used, sizeof used);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

static void check_load(const char *folder, const char *order)
{
    int64_t entities = setting("N", 0);
    if (entities == 0) {
        skip();
    }
    char path[PATH_SIZE];
    char count[24];
    path_in(folder, "main.db", path);
    snprintf(count, sizeof count, "%lld", (long long)entities);
    const char *const arguments[] = {path, count, order, NULL};
    child loader = start_child("load", arguments);
    usage used;
    assert_true(read_all(loader.from, &used, sizeof used));
    stop_child(&loader);
    int64_t data_kib = entities * ENTITY_SIZE / 1024;
    printf("# %lld entities of %d bytes, %s: %lld MiB of memory, %.2f times the data\n",
           (long long)entities, ENTITY_SIZE, order, (long long)(used.after - used.before) / 1024,
           (double)(used.after - used.before) / (double)data_kib);
    assert_int_equal(used.entities, entities);
    assert_true(used.after - used.before < FACTOR * data_kib);
}

static void a_load_in_key_order_takes_little_memory(void **state)
{
    check_load(*state, "ordered");
}

static void a_load_in_random_order_takes_little_memory(void **state)
{
    check_load(*state, "random");
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        return load(argv + 2);
    }
    const struct CMUnitTest tests[] = {
        folder_test(a_load_in_key_order_takes_little_memory),
        folder_test(a_load_in_random_order_takes_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
