/*
 * Rules for whole statements.
 *
 * Left out because SQLite cannot do them on virtual tables: UPSERT (ON CONFLICT), RETURNING, and
 * triggers and indexes on the table itself. Left out because the answer is not defined: LIMIT
 * without a total order, the representative of values that are equal but not the same (1 and 1.0,
 * 'a' and 'A' under NOCASE), columns of a group that are neither grouped nor of its min() or max()
 * row, sums of reals whose order rounds, and statements that change keys or stop half-way over rows
 * whose order depends on the plan. Properties and Timestamp have no twin, and the texts of ETags
 * differ.
 *
 * Keys that equal a number, as a column or an expression of numeric affinity, appear without ORDER
 * BY, min() and max(): ordinary tables then take the key for a constant and give the rows in the
 * wrong order ('01', '1'). COLLATE NOCASE IN appears without joins, in which ordinary tables forget
 * the collation.
 */
#ifndef TESTS_RANDOM_STATEMENTS_H
#define TESTS_RANDOM_STATEMENTS_H

#include "random/grammar.h"

static const sql_rule query_rules[] = {
    {"table", FORMS("t1", "t1", "t2", "t3", "again")},
    {"keys", FORMS("@PartitionKey, @RowKey")},
    {"columns",
     FORMS("{keys}", "{keys}, @S, @I, @X, @V", "{keys}, @V", "{keys}, @EntityKey", "@RowKey",
           "@EntityKey", "@PartitionKey, @S", "@X, @S, {keys}", "count(*) OVER (), {keys}")},
    {"direction", FORMS("", "", "ASC", "DESC", "DESC")},
    {"total",
     FORMS("@PartitionKey {direction}, @RowKey {direction}", "@EntityKey {direction}",
           "@PartitionKey, @RowKey", "@PartitionKey DESC, @RowKey DESC",
           "@RowKey {direction}, @PartitionKey {direction}", "@RowKey, @EntityKey {direction}",
           "{value_column} {direction}, {keys}", "{column}, {column} {direction}, @EntityKey",
           "@PartitionKey COLLATE NOCASE, @PartitionKey DESC, @RowKey", "length(@RowKey), {keys}",
           "@PartitionKey, @S {direction}, @RowKey")},
    {"aggregate",
     FORMS("count(*)", "min(@RowKey)", "max(@RowKey)", "min(@PartitionKey)", "max(@PartitionKey)",
           "count(@S), min(@S)", "sum(@I)", "avg(@I), max(@I)", "count(DISTINCT @RowKey)",
           "count(DISTINCT @PartitionKey)", "min(@EntityKey), max(@EntityKey)", "max(@X)",
           "count(*) FILTER (WHERE {term})", "count(@V), total(@I)")},
    {"group", FORMS("@PartitionKey", "@PartitionKey", "@RowKey", "@S", "@I", "length(@RowKey)")},

    /* Queries with a total order. */
    {"ordered",
     FORMS("SELECT {columns a} FROM {table} a WHERE {where a} ORDER BY {total a} {limit}",
           "SELECT {columns a} FROM {table} a WHERE {where a} ORDER BY {total a} {limit}",
           "SELECT {columns a} FROM {table} a WHERE {where a} ORDER BY {total a} {limit}",
           "SELECT {columns a} FROM {table} a WHERE {point a} ORDER BY {total a} {limit}",
           "SELECT {columns a} FROM {table} a ORDER BY {total a} {limit}",
           "SELECT DISTINCT a.PartitionKey FROM {table} a WHERE {where a} "
           "ORDER BY a.PartitionKey {direction} {limit}",
           "SELECT DISTINCT a.PartitionKey FROM {table} a WHERE {bounds a} "
           "ORDER BY 1 {direction} {limit}",
           "SELECT DISTINCT a.RowKey FROM {table} a WHERE {where a} ORDER BY 1 {direction} {limit}",
           "SELECT DISTINCT a.PartitionKey, a.RowKey FROM {table} a WHERE {where a} "
           "ORDER BY 1 {direction}, 2 {direction} {limit}",
           "SELECT a.PartitionKey, {aggregate a} FROM {table} a WHERE {where a} "
           "GROUP BY a.PartitionKey ORDER BY a.PartitionKey {direction} {limit}",
           "SELECT {columns a}, b.S, b.RowKey FROM {table} a JOIN {table} b "
           "ON b.PartitionKey = a.PartitionKey AND b.RowKey = a.RowKey WHERE {where a} "
           "ORDER BY {total a} {limit}",
           "SELECT a.id, b.PartitionKey, b.RowKey FROM n a LEFT JOIN {table} b "
           "ON b.PartitionKey = a.k AND {bounds b} ORDER BY a.id, b.EntityKey {limit}",
           "SELECT * FROM (SELECT {keys a}, a.S FROM {table} a WHERE {where a} "
           "ORDER BY {total a} LIMIT 9) ORDER BY 1 {direction}, 2 {direction}",
           "SELECT PartitionKey, RowKey FROM t1 a WHERE {term a} UNION ALL SELECT RowKey, "
           "PartitionKey FROM t2 b WHERE {term b} ORDER BY 1, 2 {limit}",
           "SELECT PartitionKey, RowKey FROM {table} a WHERE {term a} INTERSECT SELECT "
           "PartitionKey, RowKey FROM {table} b WHERE {term b} ORDER BY 1 DESC, 2 {limit}")},

    /* Queries whose rows may come in any order. */
    {"join",
     FORMS("b.PartitionKey = a.PartitionKey", "b.RowKey = a.RowKey",
           "b.PartitionKey = a.RowKey AND b.RowKey = a.PartitionKey", "b.EntityKey = a.EntityKey",
           "b.RowKey = a.S", "b.PartitionKey = a.PartitionKey AND b.RowKey > a.RowKey",
           "b.PartitionKey = a.S AND b.RowKey {compare} a.RowKey",
           "b.PartitionKey = a.PartitionKey AND (b.RowKey = a.S OR b.RowKey = {key})",
           "b.RowKey = a.I", "b.EntityKey > a.EntityKey AND b.PartitionKey = {key}", "b.S = a.S",
           "b.I >= a.I AND b.S = a.S")},
    {"join_text",
     FORMS("a.RowKey = n.k", "a.PartitionKey = n.k", "a.RowKey = n.z",
           "a.PartitionKey = n.z AND a.RowKey > n.k", "a.RowKey = CAST(n.i AS TEXT)",
           "a.PartitionKey = n.k AND a.RowKey >= n.i", "a.RowKey IN (n.k, n.i)",
           "a.PartitionKey = n.k AND a.RowKey BETWEEN n.k AND {key}", "a.I = n.i",
           "a.S >= n.k AND a.I = n.i", "a.V = n.z", "a.I < n.r AND a.S = n.k",
           "pt_starts_with(a.RowKey, n.k)", "a.PartitionKey IS n.z", "a.RowKey GLOB n.k")},
    {"join_n",
     FORMS("{join_text}", "{join_text}", "{join_text}", "a.RowKey = n.i", "a.PartitionKey = n.i",
           "a.RowKey = n.r", "a.PartitionKey = n.k AND a.RowKey = n.i",
           "a.PartitionKey = n.i AND a.RowKey = n.i")},
    {"unordered",
     FORMS(
         "SELECT {columns a} FROM {table} a WHERE {where a}",
         "SELECT {columns a} FROM {table} a WHERE {where a}",
         "SELECT {columns a} FROM {table} a WHERE {point a}",
         "SELECT {aggregate a} FROM {table} a WHERE {where a}",
         "SELECT {aggregate a}, {aggregate a} FROM {table} a",
         "SELECT {group a}, {aggregate a} FROM {table} a WHERE {where a} GROUP BY 1",
         "SELECT {group a}, {group a}, {aggregate a} FROM {table} a WHERE {term a} GROUP BY 1, 2",
         "SELECT {columns a} FROM {table} a WHERE {number a} AND {where a}",
         "SELECT {columns a} FROM {table} a WHERE {key_column a} COLLATE NOCASE IN ({key}, {key})",
         "SELECT {columns a} FROM {table} a WHERE {number a} AND {number a}",
         "SELECT a.PartitionKey, max(a.RowKey), a.S, a.V FROM {table} a WHERE {where a} "
         "GROUP BY a.PartitionKey",
         "SELECT a.PartitionKey, min(a.RowKey), a.X, a.S FROM {table} a GROUP BY 1",
         "SELECT max(a.EntityKey), a.S, a.X FROM {table} a WHERE {where a}",
         "SELECT a.PartitionKey, count(*) FROM {table} a GROUP BY 1 HAVING count(*) > {small}",
         "SELECT DISTINCT {key_column a} FROM {table} a WHERE {where a}",
         "SELECT DISTINCT a.PartitionKey FROM {table} a",
         "SELECT DISTINCT a.PartitionKey FROM {table} a WHERE hex(a.EntityKey) > hex({key})",
         "SELECT DISTINCT a.PartitionKey FROM {table} a WHERE {entity a}",
         "SELECT DISTINCT a.PartitionKey FROM {table} a WHERE EXISTS (SELECT 1 FROM n WHERE "
         "length(a.EntityKey) = n.i AND a.PartitionKey >= n.k)",
         "SELECT DISTINCT a.PartitionKey FROM n RIGHT JOIN {table} a ON {join_text} WHERE n.k IS "
         "NULL",
         "SELECT DISTINCT a.PartitionKey FROM n FULL JOIN {table} a ON a.PartitionKey {compare} "
         "n.k "
         "WHERE n.k IS NULL OR n.id > {small}",
         "SELECT DISTINCT a.PartitionKey, a.S FROM {table} a WHERE {term a}",
         "SELECT {columns a}, b.RowKey, b.V FROM {table} a JOIN {table} b ON {join} "
         "WHERE {term a} AND {term b}",
         "SELECT {keys a}, {keys b} FROM {table} a LEFT JOIN {table} b ON {join} AND {bounds b} "
         "WHERE {term a}",
         "SELECT {keys a} FROM {table} a LEFT JOIN {table} b ON {join} WHERE b.RowKey IS NULL",
         "SELECT {columns a}, n.id FROM {table} a JOIN n ON {join_n} WHERE {term a}",
         "SELECT {columns a}, n.id FROM {table} a CROSS JOIN n ON {join_n} WHERE {term a}",
         "SELECT {columns a}, n.id FROM n CROSS JOIN {table} a ON {join_n} WHERE {term a}",
         "SELECT n.id, {columns a} FROM n LEFT JOIN {table} a ON {join_n} AND {bounds a}",
         "SELECT n.id, {columns a} FROM n RIGHT JOIN {table} a ON {join_n} WHERE {term a}",
         "SELECT n.id, {keys a} FROM n FULL JOIN {table} a ON {join_n} AND {bounds a}",
         "SELECT {keys a}, {keys b} FROM {table} a RIGHT JOIN {table} b ON {join} WHERE {term b}",
         "SELECT {keys a}, {keys b} FROM {table} a FULL JOIN {table} b ON {join} WHERE {where b}",
         "SELECT PartitionKey, RowKey, a.S, b.I FROM {table} a JOIN {table} b "
         "USING (PartitionKey, RowKey) WHERE {term a} AND {term b}",
         "SELECT DISTINCT a.PartitionKey FROM {table} a JOIN n ON {join_n} WHERE {term a}",
         "SELECT DISTINCT a.PartitionKey FROM {table} a LEFT JOIN n ON n.k = a.RowKey WHERE {term "
         "a} "
         "AND n.k IS NULL",
         "WITH w(p, r) AS (VALUES ({?literal_key}, {?bound}), ({?bound}, {key})) SELECT "
         "{columns a}, w.r FROM w CROSS JOIN {table} a ON a.PartitionKey = w.p AND "
         "a.RowKey {compare} w.r",
         "SELECT n.id, (SELECT count(*) FROM {table} a WHERE {join_n}) FROM n",
         "SELECT n.id, (SELECT max(a.RowKey) FROM {table} a WHERE {join_text} AND {term a}) FROM "
         "n",
         "SELECT n.id FROM n WHERE EXISTS (SELECT 1 FROM {table} a WHERE {join_n} AND {term a})",
         "SELECT n.id FROM n WHERE n.k NOT IN (SELECT a.RowKey FROM {table} a WHERE {term a})",
         "SELECT PartitionKey FROM {table} a WHERE {term a} UNION SELECT RowKey FROM {table} b "
         "WHERE {term b}",
         "SELECT PartitionKey, RowKey FROM {table} a WHERE {term a} EXCEPT SELECT PartitionKey, "
         "RowKey FROM {table} b WHERE {term b}",
         "WITH c(p, r) AS (SELECT {keys a} FROM {table} a WHERE {where a}) SELECT p, count(*) "
         "FROM c GROUP BY p",
         "WITH c AS MATERIALIZED (SELECT {keys b} FROM {table} b WHERE {term b}) SELECT "
         "{columns a} FROM c JOIN {table} a ON a.PartitionKey = c.RowKey WHERE {term a}",
         "WITH RECURSIVE walk(p) AS (VALUES ({key}) UNION SELECT a.RowKey FROM walk JOIN {table} "
         "a ON a.PartitionKey = walk.p) SELECT p FROM walk",
         "SELECT (SELECT count(*) FROM {table} a WHERE {where a}), "
         "(SELECT min(b.RowKey) FROM {table} b WHERE {where b})",
         "SELECT {keys a}, row_number() OVER (PARTITION BY a.PartitionKey ORDER BY a.RowKey) "
         "FROM {table} a WHERE {where a}")},

    /* Everything there is. */
    {"everything",
     FORMS("SELECT 1, PartitionKey, RowKey, EntityKey, S, I, D, B, X, V FROM t1 UNION ALL "
           "SELECT 2, PartitionKey, RowKey, EntityKey, S, I, D, B, X, V FROM t2 UNION ALL "
           "SELECT 3, PartitionKey, RowKey, EntityKey, S, I, D, B, X, V FROM t3 UNION ALL "
           "SELECT 4, PartitionKey, RowKey, EntityKey, S, I, V, NULL, X, V FROM again UNION ALL "
           "SELECT 5, k, z, NULL, r, i, NULL, NULL, NULL, NULL FROM n UNION ALL "
           "SELECT 6, PartitionKey, RowKey, NULL, NULL, id, NULL, NULL, NULL, NULL FROM seen")},
    {NULL, NULL},
};

static const sql_rule change_rules[] = {
    {"target", FORMS("t1", "t1", "t2", "t3")},
    /* SQLite does not see that INSERT ... SELECT reads, as `again`, the table that it writes. */
    {"table", FORMS("{target}")},
    {"or", FORMS("", "", "OR REPLACE", "OR REPLACE", "OR IGNORE", "OR IGNORE", "OR FAIL",
                 "OR ROLLBACK", "OR ABORT")},
    {"boolean", FORMS("0", "1", "NULL", "TRUE")},
    {"double", FORMS("{real}", "{real}", "{small}", "NULL", "1e999")},
    {"bytes", FORMS("{blob}", "{blob}", "NULL", "{?blob}", "zeroblob(2001)", "zeroblob(6000)",
                    "CAST(printf('%018000d', {small}) AS BLOB)")},
    {"free", FORMS("{words}", "{integer}", "{real}", "{blob}", "NULL", "9007199254740993",
                   "-5000000000", "{?words}", "{?integer}", "printf('%03000d', {small})")},
    {"whole", FORMS("{integer}", "NULL", "'7'", "3.0", "{?small}")},
    {"new_key", FORMS("{key}", "{key}", "{key}", "{key}", "{key}", "{key}", "{small}")},
    {"values",
     FORMS("({new_key}, {new_key}, {string}, {whole}, {double}, {boolean}, {bytes}, {free})")},
    /* Rows that no table takes: without a key, or with a value of the wrong type. */
    {"bad_values",
     FORMS("(NULL, {key}, {string}, {whole}, {double}, {boolean}, {bytes}, {free})",
           "({key}, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
           "({key}, {key}, {string}, 'many', {double}, {boolean}, {bytes}, {free})",
           "({key}, {key}, {string}, 2.5, {double}, {boolean}, {bytes}, {free})",
           "({key}, {key}, x'00', {whole}, {double}, {boolean}, {bytes}, {free})",
           "({key}, {key}, {string}, {whole}, 'much', {boolean}, {bytes}, {free})",
           "({key}, {key}, {string}, {whole}, {double}, {boolean}, 'text', {free})",
           "({blob}, {key}, {string}, {whole}, {double}, {boolean}, {bytes}, {free})")},
    {"rows_of_values",
     FORMS("{values}", "{values}", "{values}, {values}", "{values}, {values}, {values}, {values}",
           "{values}, {values}, {bad_values}, {values}", "{bad_values}")},
    {"all_columns", FORMS("(PartitionKey, RowKey, S, I, D, B, X, V)")},
    {"insert",
     FORMS("INSERT {or} INTO {target} {all_columns} VALUES {rows_of_values}",
           "INSERT {or} INTO {target} {all_columns} VALUES {rows_of_values}",
           "INSERT {or} INTO {target} {all_columns} VALUES {values}, {values}, {values}, {values}, "
           "{values}",
           "REPLACE INTO {target} {all_columns} VALUES {values}, {values}, {values}",
           "INSERT {or} INTO {target}(V, RowKey, PartitionKey) VALUES ({free}, {key}, {new_key})",
           "INSERT {or} INTO {target}(RowKey, PartitionKey) VALUES ({key}, {key}), ({key}, {key})",
           "INSERT {or} INTO {target}(PartitionKey, S) VALUES ({key}, {string})",
           "INSERT {or} INTO {target} {all_columns} SELECT RowKey, PartitionKey, S, I, D, B, X, V "
           "FROM {target} a WHERE {where a} ORDER BY PartitionKey, RowKey LIMIT 20",
           "INSERT {or} INTO {target} {all_columns} SELECT PartitionKey, {key}, S, I, D, B, X, V "
           "FROM {target} a WHERE {where a} ORDER BY RowKey, PartitionKey LIMIT 20",
           "INSERT {or} INTO {target} {all_columns} SELECT * FROM (SELECT PartitionKey, RowKey, S, "
           "I, D, B, X, V FROM {target} a WHERE {where a} ORDER BY EntityKey DESC LIMIT 20)",
           "INSERT {or} INTO {target}(PartitionKey, RowKey, S, V) SELECT k, {key}, z, r "
           "FROM n WHERE typeof(z) <> 'blob' ORDER BY id LIMIT {small}",
           "INSERT {or} INTO {target}(PartitionKey, RowKey, X) SELECT k, {key}, "
           "nullif(z, '') FROM n ORDER BY id DESC LIMIT {small}")},

    {"set",
     FORMS("S = {string}", "I = {whole}", "D = {double}", "B = {boolean}", "X = {bytes}",
           "V = {free}", "S = @RowKey", "S = @PartitionKey || substr(@S, 1, 4)",
           "I = coalesce(@I, 0) % 100 + 1", "D = @I", "V = @S || 'x'", "X = CAST(@S AS BLOB)",
           "B = @I > 2", "V = @X", "S = NULL", "V = (SELECT count(*) FROM {table} b)", "X = @V",
           "S = @V", "I = 'many'", "S = @S")},
    {"sets", FORMS("{set}", "{set}", "{set}, V = @V", "{set}, PartitionKey = @PartitionKey",
                   "I = @I, {set}")},
    {"update",
     FORMS("UPDATE {or} {target} AS a SET {sets a} WHERE {where a}",
           "UPDATE {or} {target} AS a SET {sets a} WHERE {where a}",
           "UPDATE {or} {target} AS a SET {sets a} WHERE {point a}",
           "UPDATE {or} {target} AS a SET {sets a} WHERE {literal_point a}",
           "UPDATE {target} AS a SET {sets a}",
           "UPDATE {target} AS a SET {sets a} WHERE {number a}",
           "UPDATE {or} {target} AS a SET S = n.k, I = n.id FROM n WHERE a.RowKey = n.k AND "
           "{term a}",
           "UPDATE {or} {target} AS a SET I = b.I, X = b.X FROM again b WHERE b.PartitionKey = "
           "a.PartitionKey AND b.RowKey = a.RowKey AND {term b}",
           "UPDATE {target} AS a SET V = n.r, X = NULL FROM n WHERE n.k = a.PartitionKey",
           "UPDATE {target} AS a SET I = iif(n.id > {small}, 'many', n.id), S = NULL FROM n WHERE "
           "n.k = a.RowKey AND {term a}",
           "UPDATE OR ABORT {target} AS a SET V = n.k, X = iif(n.id > {small}, 'text', NULL) FROM "
           "n WHERE n.k = a.RowKey",
           "UPDATE {or} {target} AS a SET S = b.S, V = b.V, X = b.X FROM {table} b WHERE "
           "b.PartitionKey = a.PartitionKey AND b.RowKey = a.RowKey AND {term b}",
           "UPDATE {target} AS a SET {sets a} WHERE {where a} ORDER BY PartitionKey, RowKey "
           "LIMIT {small}",
           "UPDATE {or} n SET i = {small} WHERE id <= {small}",
           "UPDATE n SET z = {literal}, r = {real} WHERE id = {small}")},

    /*
     * Changes of keys. Several rows move only where they are visited in key order, and replace each
     * other only where nothing else is set: SQLite works the new values for a virtual table out
     * before it moves the first row.
     */
    {"or_keep", FORMS("", "OR IGNORE", "OR FAIL", "OR ROLLBACK", "OR ABORT")},
    {"literal_point", FORMS("@PartitionKey = {key} AND @RowKey = {key}")},
    {"move_one",
     FORMS("UPDATE {or} {target} AS a SET PartitionKey = {new_key} WHERE {literal_point a}",
           "UPDATE {or} {target} AS a SET RowKey = {new_key}, {set a} WHERE {literal_point a}",
           "UPDATE {or} {target} AS a SET PartitionKey = RowKey, RowKey = PartitionKey WHERE "
           "{literal_point a}",
           "UPDATE {target} AS a SET PartitionKey = 'moved', {set a} WHERE {literal_point a}",
           "UPDATE {or} {target} AS a SET RowKey = NULL WHERE {literal_point a}",
           "UPDATE {or} {target} AS a SET RowKey = {blob} WHERE {literal_point a}")},
    {"move_many",
     FORMS("UPDATE {or} {target} AS a SET RowKey = {key} WHERE {in_order a}",
           "UPDATE {or_keep} {target} AS a SET PartitionKey = {key}, {set a} WHERE {in_order a}",
           "UPDATE {or} {target} AS a SET RowKey = substr(RowKey || 'a', 1, 3) WHERE {in_order a}",
           "UPDATE {or} {target} AS a SET PartitionKey = RowKey, RowKey = PartitionKey WHERE "
           "{in_order a}")},

    {"delete",
     FORMS("DELETE FROM {target} AS a WHERE {where a} AND {term a}",
           "DELETE FROM {target} AS a WHERE {where a}", "DELETE FROM {target} AS a WHERE {point a}",
           "DELETE FROM {target} AS a WHERE {literal_point a}",
           "DELETE FROM {target} AS a WHERE {literal_point a}",
           "DELETE FROM {target} AS a WHERE {bounds a} AND {bounds a}",
           "DELETE FROM {target} AS a WHERE {where a} ORDER BY PartitionKey, RowKey LIMIT {small}",
           "DELETE FROM {target} AS a WHERE {where a} ORDER BY EntityKey DESC LIMIT {small}",
           "DELETE FROM {target} WHERE 0")},
    {"clear", FORMS("DELETE FROM {target}", "DELETE FROM {target} AS a WHERE {term a}")},

    {"begin", FORMS("BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE")},
    {"commit", FORMS("COMMIT", "END")},
    {"rollback", FORMS("ROLLBACK")},
    {NULL, NULL},
};

#endif
