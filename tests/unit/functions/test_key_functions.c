#include "fixtures/cmocka.h"

#include "functions/key_functions.h"
#include "unit/functions/function_fixture.h"

static sqlite3 *open_with_functions(void)
{
    static const struct {
        const char *name;
        sql_function function;
    } functions[] = {
        {"pt_starts_with", pt_function_starts_with},
        {"pt_prefix_end", pt_function_prefix_end},
        {"pt_compound_key", pt_function_compound_key},
        {"pt_compound_key_sep", pt_function_compound_key_sep},
        {"pt_key_part", pt_function_key_part},
        {"pt_pad", pt_function_pad},
        {"pt_hash_bucket", pt_function_hash_bucket},
        {"pt_entity_key", pt_function_entity_key},
    };
    sqlite3 *db = fixture_open();
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        fixture_register(db, functions[i].name, functions[i].function);
    }
    return db;
}

/* The vectors were made by an implementation in another language; the bucket is theirs modulo n. */
static void hash_bucket_is_xxh64(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t hash;
    } vectors[] = {
        {"", UINT64_C(0xef46db3751d8e999)},
        {"a", UINT64_C(0xd24ec4f1a98c6e5b)},
        {"abc", UINT64_C(0x44bc2cf5ad770999)},
        {"foo", UINT64_C(0x33bf00a859c4ba3f)},
        {"foobar", UINT64_C(0xa2aa05ed9085aaf9)},
        {"Zürich", UINT64_C(0x85f1debcbb1a8279)},
        {"Nobody inspects the spammish repetition", UINT64_C(0xfbcea83c8a378bf1)},
    };
    static const int buckets[] = {1, 2, 7, 1000, 65536, 99991, INT32_MAX};
    sqlite3 *db = open_with_functions();
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        for (size_t k = 0; k < sizeof buckets / sizeof buckets[0]; k++) {
            char *call = sqlite3_mprintf("pt_hash_bucket(%Q, %d)", vectors[i].text, buckets[k]);
            char *bucket = sqlite3_mprintf("%llu", vectors[i].hash % (uint64_t)buckets[k]);
            fixture_expect(db, call, bucket);
            sqlite3_free(call);
            sqlite3_free(bucket);
        }
    }
    fixture_expect(db, "pt_hash_bucket('a' || char(0), 1000) = pt_hash_bucket('a', 1000)", "0");
    fixture_close(db);
}

/* Ids whose bytes come in pairs are spread, too, also over a power of two. */
static void hash_buckets_are_even(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db,
                   "count(*) || ' ' || (min(c) > 420) FROM (WITH RECURSIVE n(i) AS (SELECT 10 UNION"
                   " ALL SELECT i + 1 FROM n WHERE i < 1009) SELECT count(*) AS c FROM n"
                   " GROUP BY pt_hash_bucket(i || '_' || i, 2))",
                   "2 1");
    fixture_close(db);
}

static void texts_may_contain_nul(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db, "pt_starts_with('a' || char(0) || 'b', 'a' || char(0))", "1");
    fixture_expect(db, "pt_starts_with('a' || char(0) || 'b', 'a' || char(0) || 'c')", "0");
    fixture_expect(db, "pt_starts_with('a', 'a' || char(0))", "0");
    fixture_expect(db, "hex(pt_compound_key('a' || char(0), 'b'))", "61005F62");
    fixture_expect(db, "hex(pt_key_part('a' || char(0) || '_' || char(0), 1))", "6100");
    fixture_expect(db, "hex(pt_key_part('a' || char(0) || '_' || char(0), -1))", "00");
    fixture_close(db);
}

static void wide_databases_give_the_same(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_make_wide(db, "Zürich");
    fixture_expect(db, "pt_starts_with(x, 'Zü') FROM t", "1");
    fixture_expect(db, "pt_hash_bucket(x, 1000) FROM t", "233");
    fixture_expect(db, "pt_prefix_end(x) FROM t", "Zürici");
    fixture_expect(db, "hex(pt_entity_key(x, 7)) FROM t", "5AC3BC726963680037");
    fixture_expect(db, "pt_key_part(pt_compound_key(x, 'é'), 2) FROM t", "é");
    fixture_close(db);
}

/* All texts of length 0 to 3 over {a, b}, by number. */
static const char *small_text(int number, char text[4])
{
    int length = 0;
    for (int rest = number; rest > 0; rest = (rest - 1) / 2) {
        text[length++] = (rest - 1) % 2 == 0 ? 'a' : 'b';
    }
    text[length] = '\0';
    return text;
}

enum { SMALL_TEXTS = 15 };

/* How a text splits from left to right, as "part/part/.../". */
static void split(const char *text, const char *separator, char parts[64])
{
    *parts = '\0';
    const char *found;
    while ((found = strstr(text, separator)) != NULL) {
        strncat(parts, text, (size_t)(found - text));
        strcat(parts, "/");
        text = found + strlen(separator);
    }
    strcat(parts, text);
    strcat(parts, "/");
}

/*
 * With separators over the same letters as the parts, most joins are ambiguous. Refused are exactly
 * those that would not come apart again.
 */
static void compound_keys_come_apart_again(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    sqlite3_stmt *join = NULL;
    sqlite3_stmt *part = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT pt_compound_key_sep(?, ?, ?)", -1, &join, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT pt_key_part(?1, 1, ?2) || '/' || "
                                        "pt_key_part(?1, -1, ?2) || '/', pt_key_part(?1, 3, ?2)",
                                        -1, &part, NULL),
                     SQLITE_OK);
    int joined = 0;
    for (int n = 1; n < SMALL_TEXTS * SMALL_TEXTS * SMALL_TEXTS; n++) {
        char separator[4], first[4], second[4], key[16], wanted[64], parts[64];
        if (*small_text(n % SMALL_TEXTS, separator) == '\0') {
            continue;
        }
        small_text(n / SMALL_TEXTS % SMALL_TEXTS, first);
        small_text(n / SMALL_TEXTS / SMALL_TEXTS, second);
        sqlite3_snprintf(sizeof key, key, "%s%s%s", first, separator, second);
        sqlite3_snprintf(sizeof wanted, wanted, "%s/%s/", first, second);
        split(key, separator, parts);
        sqlite3_bind_text(join, 1, separator, -1, SQLITE_STATIC);
        sqlite3_bind_text(join, 2, first, -1, SQLITE_STATIC);
        sqlite3_bind_text(join, 3, second, -1, SQLITE_STATIC);
        if (strcmp(wanted, parts) == 0) {
            assert_int_equal(sqlite3_step(join), SQLITE_ROW);
            assert_string_equal(sqlite3_column_text(join, 0), key);
            sqlite3_bind_text(part, 1, key, -1, SQLITE_STATIC);
            sqlite3_bind_text(part, 2, separator, -1, SQLITE_STATIC);
            assert_int_equal(sqlite3_step(part), SQLITE_ROW);
            assert_string_equal(sqlite3_column_text(part, 0), wanted);
            assert_int_equal(sqlite3_column_type(part, 1), SQLITE_NULL);
            sqlite3_reset(part);
            joined++;
        } else {
            assert_int_equal(sqlite3_step(join), SQLITE_ERROR);
            assert_non_null(strstr(sqlite3_errmsg(db), " the separator '"));
        }
        sqlite3_reset(join);
    }
    assert_true(joined > 100);
    sqlite3_finalize(join);
    sqlite3_finalize(part);
    fixture_close(db);
}

static void empty_texts_are_texts(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db, "typeof(pt_compound_key('')) || hex(pt_compound_key(''))", "text");
    fixture_expect(db, "typeof(pt_key_part('', 1)) || hex(pt_key_part('', -1))", "text");
    fixture_expect(db, "pt_compound_key('', '')", "_");
    fixture_close(db);
}

static void too_long_is_too_big(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1000);
    assert_int_equal(sqlite3_exec(db,
                                  "SELECT pt_compound_key(hex(zeroblob(300)), hex(zeroblob(300)))",
                                  NULL, NULL, NULL),
                     SQLITE_TOOBIG);
    assert_int_equal(sqlite3_exec(db,
                                  "SELECT pt_entity_key(hex(zeroblob(300)), hex(zeroblob(300)))",
                                  NULL, NULL, NULL),
                     SQLITE_TOOBIG);
    fixture_close(db);
}

static void what_is_no_integer_is_refused(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db, "pt_pad(5, 'x')",
                   "pt_pad: 'x' is not an integer of 64 bits; give an INTEGER, a REAL without "
                   "fraction up to 9007199254740992, or a text of digits only");
    fixture_expect(db, "pt_pad(5, 2.5)",
                   "pt_pad: 2.5 is not an integer of 64 bits; give an INTEGER, a REAL without "
                   "fraction up to 9007199254740992, or a text of digits only");
    fixture_expect(db, "pt_hash_bucket('a', x'38')",
                   "pt_hash_bucket: a BLOB of size 1 is not an integer of 64 bits; give an "
                   "INTEGER, a REAL without fraction up to 9007199254740992, or a text of digits "
                   "only");
    fixture_close(db);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    static const char *const calls[][2] = {
        {"pt_starts_with(12345, 12)", "1"},
        {"pt_prefix_end('a' || 'b')", "ac"},
        {"pt_prefix_end('') IS NULL AND 'a' || 'b' = 'ab'", "1"},
        {"pt_compound_key('a' || 'b', 7)", "ab_7"},
        {"pt_compound_key_sep('-' || '-', 'a', 'b', 'c')", "a--b--c"},
        {"length(pt_compound_key(hex(zeroblob(999)), hex(zeroblob(999))))", "3997"},
        {"pt_key_part('a_' || 'b', 2)", "b"},
        {"pt_key_part('a-' || 'b', -2, '' || '-')", "a"},
        {"pt_pad('1' || '2', 40)", "0000000000000000000000000000000000000012"},
        {"pt_hash_bucket('foo' || 'bar', 1000)", "345"},
        {"hex(pt_entity_key('a' || 'b', 7))", "61620037"},
        {"pt_pad(100, 2)", "pt_pad: 100 has more than 2 digits; give a larger width"},
    };
    sqlite3 *db = open_with_functions();
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fixture_expect_without_memory(db, calls[i][0], calls[i][1], false);
        fixture_expect_without_memory(db, calls[i][0], calls[i][1], true);
    }
    fixture_close(db);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_bucket_is_xxh64),
        cmocka_unit_test(hash_buckets_are_even),
        cmocka_unit_test(texts_may_contain_nul),
        cmocka_unit_test(wide_databases_give_the_same),
        cmocka_unit_test(compound_keys_come_apart_again),
        cmocka_unit_test(empty_texts_are_texts),
        cmocka_unit_test(too_long_is_too_big),
        cmocka_unit_test(what_is_no_integer_is_refused),
        cmocka_unit_test(memory_may_run_out),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
