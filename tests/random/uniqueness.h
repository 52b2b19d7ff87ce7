/*
 * Rules for tables with indexes that come and go, of which some are unique. Where several rows may
 * be in conflict with each other, statements change one row, or all rows to the same values: the
 * order in which rows are changed is not the same on ordinary tables. (INSERT takes its rows in
 * order.)
 *
 * t1 and t2 have the indexes that pt_indexes makes and drops. Those of t3 are declared: unique(S)
 * and index(D, I), and `timed` declares t1 with V as a DateTime.
 */
#ifndef TESTS_RANDOM_UNIQUENESS_H
#define TESTS_RANDOM_UNIQUENESS_H

#include "random/grammar.h"
#include "random/twins.h"

#define MAKE_INDEX(table, name, ptable_columns, columns)                                           \
    "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('" table "', '" ptable_columns   \
    "', {is_unique})¦CREATE {is_unique} INDEX " table "_" name " ON " table "(" columns ")"
#define DROP_INDEX(table, name, ptable_columns)                                                    \
    "DELETE FROM pt_indexes WHERE TableName = '" table "' AND IndexName = '" ptable_columns        \
    "'¦DROP INDEX IF EXISTS " table "_" name
#define MAKE_AGAIN(table)                                                                          \
    "DELETE FROM pt_tables WHERE TableName = '" table "'; INSERT INTO pt_tables(TableName) "       \
    "VALUES ('" table "'); INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('" table   \
    "', 'I', 1)¦DROP TABLE IF EXISTS " table                                                       \
    ";" ORDINARY_TABLE(table) "CREATE UNIQUE INDEX " table "_i ON " table "(I)"

static const sql_rule uniqueness_rules[] = {
    {"is_unique", FORMS("0¦", "1¦UNIQUE", "1¦UNIQUE")},
    {"make_index",
     FORMS(MAKE_INDEX("t1", "s", "S", "S"), MAKE_INDEX("t1", "i", "I", "I"),
           MAKE_INDEX("t1", "v", "V", "V"), MAKE_INDEX("t1", "vs", "V,S", "V, S"),
           MAKE_INDEX("t1", "pd", "PartitionKey,D", "PartitionKey, D"),
           MAKE_INDEX("t1", "x", "X", "X"), MAKE_INDEX("t1", "it", "I,Timestamp", "I, Version"),
           MAKE_INDEX("t1", "dbs", "D,B,S", "D, B, S"),
           MAKE_INDEX("t2", "s", "S,PartitionKey", "S, PartitionKey"),
           MAKE_INDEX("t2", "i", "I", "I"), MAKE_INDEX("t2", "rv", "RowKey,V", "RowKey, V"),
           MAKE_INDEX("t2", "r", "RowKey", "RowKey"), MAKE_INDEX("t2", "v", "V", "V"))},
    {"drop_index",
     FORMS(DROP_INDEX("t1", "s", "S"), DROP_INDEX("t1", "i", "I"), DROP_INDEX("t1", "v", "V"),
           DROP_INDEX("t1", "vs", "V,S"), DROP_INDEX("t1", "pd", "PartitionKey,D"),
           DROP_INDEX("t1", "x", "X"), DROP_INDEX("t1", "it", "I,Timestamp"),
           DROP_INDEX("t1", "dbs", "D,B,S"), DROP_INDEX("t2", "s", "S,PartitionKey"),
           DROP_INDEX("t2", "i", "I"), DROP_INDEX("t2", "r", "RowKey"),
           DROP_INDEX("t2", "rv", "RowKey,V"), DROP_INDEX("t2", "v", "V"))},
    {"make_again", FORMS(MAKE_AGAIN("t1"), MAKE_AGAIN("t2"))},
    {"list_indexes",
     FORMS("SELECT IsUnique, Entries FROM pt_indexes WHERE TableName = 't1' AND IndexName = 'S'¦"
           "SELECT \"unique\", (SELECT count(S) FROM t1) FROM pragma_index_list('t1') WHERE name = "
           "'t1_s'",
           "SELECT IsUnique, Entries FROM pt_indexes WHERE TableName = 't2' AND IndexName = "
           "'RowKey,V'¦"
           "SELECT \"unique\", (SELECT count(V) FROM t2) FROM pragma_index_list('t2') WHERE name = "
           "'t2_rv'",
           "SELECT count(*) FROM pt_indexes¦SELECT count(*) FROM sqlite_schema WHERE type = "
           "'index' AND sql IS NOT NULL AND tbl_name IN ('t1', 't2')")},

    /* Changes of one row, or of all to the same. */
    {"or_whole", FORMS("", "", "OR ABORT", "OR ROLLBACK")},
    {"set_same", FORMS("S = {string}", "I = {whole}", "D = {double}", "B = {boolean}",
                       "X = {bytes}", "V = {free}")},
    {"update_one",
     FORMS("UPDATE {or} {target} AS a SET {sets a} WHERE {literal_point a}",
           "UPDATE {or} {target} AS a SET {sets a}, {set a} WHERE {literal_point a}",
           "UPDATE {or} {target} AS a SET {sets a} WHERE {literal_point a} AND ({where a})",
           "UPDATE {or} {target} AS a SET I = n.i, V = n.z, S = n.k FROM n WHERE n.id = {small} "
           "AND {literal_point a}",
           "UPDATE {or} {target} AS a SET {sets a} WHERE EntityKey = (SELECT min(EntityKey) FROM "
           "{target} b WHERE {where b})",
           "UPDATE {or_whole} {target} AS a SET {set_same} WHERE {where a}",
           "UPDATE {or_whole} {target} AS a SET {set_same}, V = NULL WHERE {where a}",
           "UPDATE {or_whole} {target} AS a SET {set_same}, B = n.id % 2 FROM n WHERE n.k = "
           "a.RowKey",
           "UPDATE {or_whole} {target} AS a SET {set_same}, B = NULL FROM n WHERE n.k = "
           "a.PartitionKey AND n.id < 5",
           "UPDATE {or} {target} AS a SET S = NULL WHERE {where a}",
           "UPDATE {or} {target} AS a SET V = NULL, I = NULL, D = NULL WHERE {where a}")},
    /* Values of other types under the same name. */
    {"time", FORMS("'2026-01-01'¦'2026-01-01T00:00:00.0000000Z'",
                   "'2026-01-01 02:00+02:00'¦'2026-01-01T00:00:00.0000000Z'",
                   "'1970-01-01'¦'1970-01-01T00:00:00.0000000Z'", "NULL")},
    {"insert_other",
     FORMS("INSERT {or} INTO timed(PartitionKey, RowKey, V, S) VALUES ({key}, {key}, {time}, "
           "{string})¦INSERT {or} INTO t1(PartitionKey, RowKey, V, S) VALUES ({key}, {key}, "
           "{time}, {string})",
           "INSERT {or} INTO t1(PartitionKey, RowKey, V) VALUES ({key}, {key}, "
           "'2026-01-01T00:00:00.0000000Z')",
           "INSERT {or} INTO t1(PartitionKey, RowKey, Properties) VALUES ({key}, {key}, "
           "json_object('V' || char(64) || 'odata.type', 'Edm.Double', 'V', 5.0))¦INSERT {or} INTO "
           "t1(PartitionKey, "
           "RowKey, V) VALUES ({key}, {key}, 5.0)",
           "INSERT {or} INTO again(PartitionKey, RowKey, V, S) VALUES ({key}, {key}, {free}, "
           "{string}), ({key}, {key}, {free}, {string})¦INSERT {or} INTO t1(PartitionKey, RowKey, "
           "V, S) VALUES ({key}, {key}, {free}, {string}), ({key}, {key}, {free}, {string})",
           "INSERT {or} INTO t3(PartitionKey, RowKey, S, D, I) VALUES ({key}, {key}, {string}, "
           "{double}, {whole}), ({key}, {key}, {string}, {double}, {whole})",
           "UPDATE {or} timed AS a SET V = {time} WHERE {literal_point a}¦UPDATE {or} t1 AS a SET "
           "V = {time} WHERE {literal_point a}")},

    /* Queries that an index answers best. */
    {"whole_table", FORMS("t1", "t1", "t2", "t3")}, /* `again` has fewer columns */
    {"indexed", FORMS("@S", "@I", "@V", "@D", "@X")},
    {"by_index",
     FORMS("{indexed} = {any}", "{indexed} IN ({any}, {any}, {free})", "{indexed} > {any}",
           "{indexed} BETWEEN {any} AND {any}", "@S = {string}",
           "@V = {free} AND @S {compare} {any}", "@I {compare} {small} AND @PartitionKey = {key}",
           "@D < {real} AND @PartitionKey = {key}", "@S GLOB {pattern}",
           "pt_starts_with(@S, {key})", "@V >= {any} AND @I = {small}", "@X = {bytes}",
           "@V = '2026-01-01T00:00:00.0000000Z'")},
    {"by_indexes", FORMS("{by_index}", "{by_index}", "{by_index} AND {by_index}",
                         "{by_index} OR {by_index}", "{by_index} AND {term}")},
    {"index_join",
     FORMS("b.S = a.S", "b.I = a.I", "b.V = a.V AND b.S = a.S", "b.V = a.I", "b.D >= a.D",
           "b.I = n.i", "b.S = n.k", "b.V = n.z", "b.S = n.z", "b.I = n.k", "b.V = n.r",
           "b.D = n.r", "b.I < n.i AND {by_index b}", "b.V = n.i", "b.S > n.k AND b.V = n.z",
           "b.I = n.i AND {by_index a}", "b.V = a.V AND {by_index b}")},
    {"index_columns", FORMS("@S, @V", "{keys}", "@I", "@I, {keys}", "@D, @PartitionKey")},
    {"index_unordered",
     FORMS(
         "SELECT {keys a}, {index_columns a} FROM {whole_table} a WHERE {by_indexes a}",
         "SELECT {index_columns a} FROM {whole_table} a WHERE {by_indexes a}",
         "SELECT {aggregate a} FROM {whole_table} a WHERE {by_indexes a}",
         "SELECT DISTINCT a.S FROM {whole_table} a WHERE {by_indexes a}",
         "SELECT {keys a}, a.V FROM again a WHERE a.V {compare} {any}",
         "SELECT {keys a}, a.S FROM again a WHERE a.S {compare} {any} AND {term a}",
         "SELECT n.id, {keys a}, b.RowKey FROM n CROSS JOIN {whole_table} a CROSS JOIN "
         "{whole_table} b ON "
         "{index_join} WHERE a.RowKey = {key}",
         "SELECT n.id, {keys b} FROM n CROSS JOIN {whole_table} a LEFT JOIN {whole_table} b ON "
         "{index_join} "
         "AND {by_index b} WHERE {by_index a} AND n.id < {small}",
         "SELECT n.id, {keys a}, {keys b} FROM n JOIN {whole_table} a LEFT JOIN {whole_table} b ON "
         "{index_join} AND {by_index a} WHERE n.id < {small} AND a.RowKey > {key}",
         "SELECT n.id, {keys b} FROM n JOIN {whole_table} a RIGHT JOIN {whole_table} b ON "
         "{index_join} AND "
         "a.PartitionKey = {key} WHERE {by_index b}",
         "SELECT n.id, (SELECT count(*) FROM {whole_table} b JOIN {whole_table} a ON "
         "a.PartitionKey = {key} "
         "WHERE {index_join}) FROM n")},
    {"index_ordered",
     FORMS(
         "SELECT a.S FROM {whole_table} a WHERE a.S {compare} {any} ORDER BY 1 {direction} {limit}",
         "SELECT a.S FROM {whole_table} a WHERE a.S < 'b' ORDER BY a.S {direction} {limit}",
         "SELECT a.S, a.PartitionKey FROM {whole_table} a WHERE a.S > '' AND a.S < '1' ORDER BY "
         "a.S {direction}, a.PartitionKey {direction} {limit}",
         "SELECT a.I FROM {whole_table} a WHERE a.I {compare} {any} ORDER BY 1 {direction} "
         "{limit}",
         "SELECT a.D, a.I FROM {whole_table} a WHERE a.D {compare} {any} ORDER BY 1 {direction}, "
         "2 {direction} {limit}",
         "SELECT a.X FROM {whole_table} a WHERE a.X >= x'' ORDER BY a.X {direction} {limit}",
         "SELECT a.S, typeof(a.V) FROM {whole_table} a WHERE a.V {compare} {any} AND a.S > '' "
         "ORDER BY 1, 2 {limit}",

         "SELECT {keys a}, {index_columns a} FROM {whole_table} a WHERE {by_indexes a} ORDER BY "
         "{indexed a} {direction}, {keys a} {limit}",
         "SELECT {indexed a}, {keys a} FROM {whole_table} a WHERE {by_index a} ORDER BY a.V "
         "{direction}, "
         "a.S {direction}, {total a}",
         "SELECT {index_columns a} FROM {whole_table} a WHERE {by_indexes a} ORDER BY {total a}")},
    {NULL, NULL},
};

#endif
