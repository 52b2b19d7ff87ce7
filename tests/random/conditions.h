/*
 * Rules for conditions on the columns of table m, whose entities have properties of other types,
 * too. `swapped` is the same table, with numbers in columns of texts. It appears without joins:
 * there SQLite 3.40 lets the order of the conditions decide if such a number is compared as a text.
 *
 * The second side goes by other ways. A condition is hidden in a CASE, so that SQLite keeps it to
 * itself and still compares with the same affinities and collations. And it reads the table
 * `plain`, which has the same entities (condition_tables.h). Of 5 and 5.0 max() gives the one that
 * is read first, so 0.0 is added.
 */
#ifndef TESTS_RANDOM_CONDITIONS_H
#define TESTS_RANDOM_CONDITIONS_H

#include "random/grammar.h"

static const sql_rule condition_value_rules[] = {
    {"number", FORMS("5", "0", "1", "-5", "10", "2026", "2147483647", "9007199254740993", "5.0",
                     "2.5", "-0.0", "9007199254740992.0", "9e999", "-9e999", "0.1",
                     "-9223372036854775808", "9223372036854775807", "9223372036854775808.0")},
    {"text", FORMS("'a'", "'A'", "''", "'ab'", "'b'", "'é'", "'日本'", "'5'", "'05'", "' 5'",
                   "'5.0'", "'10'", "'09'", "'00123'", "'00124'", "'Inf'", "'NaN'", "'12 monkeys'",
                   "char(97, 0, 98)", "'9007199254740993'", "'!'")},
    {"time",
     FORMS("'2026-01-01'", "'2026'", "'2026-01-01T00:00:00.0000000Z'", "'2026-01-01 01:00+01:00'",
           "'2026-01'", "'1970-01-01'", "'x'", "''", "'2026-01-01T00:00:00.0000001Z'",
           "'2026-01-01 00:00:00.00000010'", "'0001'", "'2025-12-31T23:59:59.9999999Z'",
           "'9999-12-31T23:59:59.9999999Z'", "'2026-02-30'", "'now'")},
    {"guid",
     FORMS("'0f8fad5b-d9cb-469f-a165-70867728950e'", "'0F8FAD5B-D9CB-469F-A165-70867728950E'",
           "char(123) || '0f8fad5b-d9cb-469f-a165-70867728950e' || char(125)", "'0f8f'",
           "'7c9e6679-7425-40de-944b-e07fc1f90ae7'")},
    {"blob", FORMS("x'61'", "x''", "x'ff'", "x'35'")},
    {"literal",
     FORMS("{number}", "{number}", "{text}", "{text}", "{time}", "{guid}", "{blob}", "NULL")},
    {"other", FORMS("{literal}", "{literal}", "{?literal}", "{?literal}", "CAST({literal} AS TEXT)",
                    "CAST({literal} AS NUMERIC)", "(SELECT {n_column} FROM n WHERE id = {id})",
                    "+{literal}", "lower({text})")},
    {"m", FORMS("m¦plain")},
    {"id", FORMS("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12")},
    {"n_column", FORMS("t", "i", "r", "u", "b", "z", "d", "c")},
    {"m_column", FORMS("@S", "@S", "@I", "@I", "@L", "@D", "@B", "@T", "@G", "@X", "@V")},
    {"table", FORMS("{m}", "{m}", "{m}", "swapped¦plain_swapped")},
    {"compare", FORMS("=", "=", "<", "<=", ">", ">=")},
    {"pattern", FORMS("'a*'", "'5*'", "'I*'", "'0*'", "'a%'", "'A%'", "'0F8%'", "'2026%'", "'*'",
                      "'é*'", "{?text}")},
    {"list", FORMS("({other}, {other}, {other})", "({literal}, {literal})", "({other})", "()",
                   "(SELECT {n_column} FROM n)", "(SELECT {n_column} FROM n WHERE id < {id})",
                   "(SELECT {m_column b} FROM {m} b)",
                   "(WITH RECURSIVE c(x) AS (VALUES (0) UNION ALL SELECT x + 1 FROM c WHERE x < "
                   "300) SELECT x FROM c)")},
    {NULL, NULL},
};

/* For entities whose properties have the types of their columns. */
static const sql_rule unmixed_rules[] = {
    {"table", FORMS("{m}")},
    {NULL, NULL},
};

static const sql_rule condition_shape_rules[] = {
    {"condition",
     FORMS("{m_column} {compare} {other}", "{m_column} {compare} {other}",
           "{other} {compare} {m_column}", "{m_column} BETWEEN {other} AND {other}",
           "{m_column} IN {list}", "{m_column} IN {list}", "{m_column} IS {other}",
           "{m_column} IS NULL", "{m_column} IS NOT NULL", "{m_column} <> {other}",
           "{m_column} IS NOT {other}", "{m_column} NOT IN {list}",
           "{m_column} NOT BETWEEN {other} AND {other}", "{m_column} GLOB {pattern}",
           "{m_column} LIKE {pattern}", "{m_column} COLLATE NOCASE {compare} {other}",
           "{m_column} {compare} {other} COLLATE NOCASE",
           "{m_column} COLLATE PT_DATETIME {compare} {other}",
           "{m_column} COLLATE BINARY {compare} {other}", "{m_column} COLLATE RTRIM IN {list}",
           "{m_column} {compare} {m_column}",
           "({m_column}, {m_column}) {compare} ({other}, {other})",
           "({m_column}, {m_column}) IN (VALUES ({other}, {other}), ({other}, {other}))",
           "({m_column}, {m_column}) IN (SELECT {n_column}, {n_column} FROM n)",
           "({m_column}, @PartitionKey) IN (SELECT {n_column}, 'p1' FROM n)", "@B", "NOT @B",
           "likely({m_column} {compare} {other})", "({condition} OR {condition})",
           "{m_column} = {other} OR {m_column} = {other}")},
    /* Beside a table with the alias w. */
    {"joined", FORMS("{m_column} {compare} w.{n_column}", "{m_column} {compare} w.{n_column}",
                     "w.{n_column} {compare} {m_column}", "{m_column} IS w.{n_column}",
                     "{m_column} IN (w.{n_column}, {other})",
                     "{m_column} BETWEEN w.{n_column} AND w.{n_column}", "{condition}",
                     "{m_column} = CAST(w.{n_column} AS TEXT)", "@S GLOB w.t")},
    {"hidden", FORMS("({condition})¦CASE WHEN {condition} THEN 1 END")},
    {"hidden_join", FORMS("({joined})¦CASE WHEN {joined} THEN 1 END")},
    {"hidden_pair",
     FORMS("(b.S {compare} {m_column a})¦CASE WHEN b.S {compare} {m_column a} THEN 1 "
           "END",
           "({m_column b} {compare} {m_column a})¦CASE WHEN {m_column b} {compare} "
           "{m_column a} THEN 1 END",
           "({condition a})¦CASE WHEN {condition a} THEN 1 END",
           "({condition b})¦CASE WHEN {condition b} THEN 1 END")},
    {"pattern_of_key", FORMS("'k1*'", "'k*'", "'*'", "'k[12]?'", "'k10'", "''", "'p*'", "'K*'",
                             "'2026-*'", "'1*'", "NULL", "1", "x'6b'", "'k1' || '*'",
                             "{?key_pattern}", "char(107, 0, 42)", "CAST(x'6bff2a' AS TEXT)")},
    {"key_pattern", FORMS("'k2*'", "'k'", "'*1'", "'1*'", "'12*'", "NULL", "12")},
    {"globs",
     FORMS("(@RowKey GLOB {pattern_of_key})¦CASE WHEN @RowKey GLOB {pattern_of_key} THEN 1 END",
           "(@PartitionKey GLOB {pattern_of_key})¦CASE WHEN @PartitionKey GLOB {pattern_of_key} "
           "THEN 1 END")},
    /* The tables have other Timestamps, in the same order. */
    {"stamp", FORMS("(SELECT z.Timestamp FROM {m} z WHERE z.RowKey = 'k{id}1')",
                    "(SELECT z.Timestamp FROM {m} z WHERE z.RowKey = 'k2{id}')",
                    "(SELECT max(z.Timestamp) FROM {m} z)", "{?time}", "{time}", "'2126'")},
    {"stamped", FORMS("@Timestamp {compare} {stamp}", "@Timestamp {compare} {stamp}",
                      "@Timestamp BETWEEN {stamp} AND {stamp}",
                      "@Timestamp IN (SELECT z.Timestamp FROM {m} z WHERE z.RowKey < 'k2')",
                      "{stamp} {compare} @Timestamp", "@Timestamp IS {stamp}")},
    {"key", FORMS("@PartitionKey = 'p1'", "{stamped}", "@PartitionKey = 'p1' AND {stamped}",
                  "@PartitionKey IN ('p0', 'p2')", "@RowKey >= 'k20'", "@RowKey = 'k2{id}'",
                  "@RowKey = 'k1{id}' AND @PartitionKey > 'p0'",
                  "@PartitionKey = 'p1' AND @RowKey = 'k11'", "@RowKey IN ('k10', 'k20', 'k30')",
                  "@PartitionKey = 'p1' AND @RowKey < 'k30'",
                  "@EntityKey > pt_entity_key('p0', '')", "@Filter MATCH 'I gt 3 or S lt ''b'''",
                  "@Filter MATCH 'T ge datetime''2026-01-01T00:00:00Z'' or not (B eq true)'",
                  "@Filter MATCH 'PartitionKey eq ''p1'' and L gt 3L'", "{globs}",
                  "@PartitionKey = 'p1' AND {globs}", "{globs} AND {globs}",
                  "{globs} AND @RowKey < 'k3'", "1")},
    {"where", FORMS("{hidden}", "{hidden}", "{hidden} AND {hidden}", "{key} AND {hidden}",
                    "{key} AND {hidden} AND {hidden}", "{hidden} AND {hidden} AND {hidden}",
                    "({key} AND {hidden}) OR ({hidden})")},
    {"direction", FORMS("", "DESC")},
    {"three", FORMS("count(*), count(a.RowKey), count(b.RowKey), total(w.id), min(a.EntityKey), "
                    "max(b.EntityKey)")},
    {"pair", FORMS("a.PartitionKey, a.RowKey, b.PartitionKey, b.RowKey")},
    {"select",
     FORMS(
         "SELECT a.PartitionKey, a.RowKey FROM {table} a WHERE {where a}",
         "SELECT a.PartitionKey, a.RowKey FROM {table} a WHERE {where a}",
         "SELECT a.PartitionKey, a.RowKey, {m_column a} FROM {table} a WHERE {where a}",
         "SELECT count(*), max({m_column a}) + 0.0 FROM {table} a WHERE {where a}",
         "SELECT DISTINCT a.PartitionKey FROM {table} a WHERE {where a}",
         "SELECT count(*) FROM {table} a WHERE {key a}", "SELECT count(*) FROM {table} a",
         "SELECT a.PartitionKey, a.RowKey FROM {m} a WHERE {key a} ORDER BY 1 {direction}, 2 "
         "{direction} LIMIT {id} OFFSET {id}",
         "SELECT a.EntityKey, {m_column a} FROM {m} a WHERE {where a} ORDER BY 1 {direction} LIMIT "
         "{id} OFFSET {id}",
         "SELECT a.PartitionKey, {m_column a}, {m_column a}, {m_column a} FROM {table} a WHERE "
         "{key a}",
         "SELECT a.EntityKey, {m_column a} FROM {m} a WHERE {where a} ORDER BY a.Timestamp "
         "{direction} LIMIT {id} OFFSET {id}",
         "SELECT a.RowKey FROM {m} a WHERE {key a} ORDER BY a.Timestamp {direction} LIMIT {id}",
         "SELECT a.EntityKey, {m_column a} FROM {m} a WHERE {where a} ORDER BY {m_column a}, "
         "a.PartitionKey, a.RowKey LIMIT {id} OFFSET {id}",
         "SELECT a.EntityKey FROM {m} a WHERE {where a} ORDER BY {m_column a} DESC, "
         "a.PartitionKey DESC, a.RowKey DESC LIMIT {id}",
         "SELECT a.EntityKey FROM {m} a WHERE {where a} AND {m_column a} > {other} ORDER BY "
         "{m_column a}, a.Timestamp LIMIT {id}",
         "SELECT min(a.EntityKey), count(*) FROM {m} a WHERE {where a} GROUP BY a.T",
         "SELECT a.RowKey, row_number() OVER (ORDER BY a.T, a.EntityKey) FROM {m} a WHERE {where "
         "a}",
         "SELECT w.id, a.RowKey FROM n w JOIN {m} a ON {hidden_join a}",
         "SELECT w.id, a.RowKey FROM n w CROSS JOIN {m} a ON {hidden_join a} AND {hidden a}",
         "SELECT w.id, a.RowKey FROM n w LEFT JOIN {m} a ON {hidden_join a} WHERE {hidden a}",
         "SELECT w.id, a.RowKey FROM n w LEFT JOIN {m} a ON {hidden_join a} AND {hidden a}",
         "SELECT w.id, a.RowKey FROM {m} a LEFT JOIN n w ON {hidden_join a}",
         "SELECT w.id, a.RowKey FROM {m} a LEFT JOIN n w ON {hidden_join a} AND {hidden a} "
         "WHERE {hidden a}",
         "SELECT w.id, a.RowKey FROM n w RIGHT JOIN {m} a ON {hidden_join a} AND {hidden a}",
         "SELECT w.id, a.RowKey FROM {m} a LEFT JOIN n w ON {globs a} AND {hidden_join a}",
         "SELECT w.id, a.RowKey FROM n w LEFT JOIN {m} a ON {globs a} AND {hidden_join a}",
         "SELECT w.id, a.RowKey FROM {m} a FULL JOIN n w ON {globs a} AND {hidden_join a} "
         "WHERE {globs a} OR w.id > {id}",
         "SELECT DISTINCT a.PartitionKey FROM n w RIGHT JOIN {m} a ON a.PartitionKey = 'p' || w.id "
         "AND w.id < {id} WHERE w.id IS NULL",
         "SELECT w.id, a.RowKey FROM {m} a RIGHT JOIN n w ON {hidden_join a} AND {hidden a}",
         "SELECT w.id, a.RowKey FROM {m} a FULL JOIN n w ON {hidden_join a} AND {hidden a} "
         "WHERE {hidden a}",
         "SELECT {pair} FROM {m} a JOIN {m} b ON {hidden_pair} AND {hidden_pair}",
         "SELECT {pair} FROM {m} a LEFT JOIN {m} b ON {hidden_pair} AND {hidden_pair} "
         "WHERE {hidden a}",
         "SELECT {pair} FROM {m} a RIGHT JOIN {m} b ON {hidden_pair} AND {hidden_pair}",
         "SELECT {three} FROM {m} a LEFT JOIN n w ON {hidden_join a} LEFT JOIN {m} b ON "
         "{hidden_pair} AND b.RowKey < 'k12' AND {hidden b} WHERE {hidden a}",
         "SELECT {three} FROM n w LEFT JOIN {m} a ON {hidden_join a} JOIN {m} b ON {hidden_pair} "
         "AND b.RowKey < 'k12' WHERE {hidden b}",
         "SELECT {three} FROM {m} a RIGHT JOIN n w ON {hidden_join a} LEFT JOIN {m} b ON b.RowKey "
         "= "
         "a.RowKey AND {hidden b} AND {globs a}",
         "SELECT {three} FROM n w LEFT JOIN {m} a ON {hidden_join a} RIGHT JOIN {m} b ON b.RowKey "
         "= "
         "a.RowKey AND {hidden b} WHERE b.RowKey < 'k3'",
         "SELECT w.id, (SELECT count(*) FROM {m} a WHERE {hidden_join a} AND {hidden a}) "
         "FROM n w",
         "SELECT w.id FROM n w WHERE EXISTS (SELECT 1 FROM {m} a WHERE {hidden_join a})",
         "SELECT a.RowKey FROM {table} a WHERE {where a} UNION ALL SELECT b.RowKey FROM {m} b "
         "WHERE "
         "{where b}")},
    {"change",
     FORMS("UPDATE {m} AS a SET S = 'changed', V = a.I WHERE {where a}",
           "UPDATE {m} AS a SET I = 7 WHERE {key a} AND {hidden a}",
           "UPDATE {m} AS a SET T = '2026-03-01', D = a.L WHERE {where a}",
           "UPDATE {m} AS a SET RowKey = a.RowKey || 'x' WHERE {where a}",
           "INSERT INTO {m}(PartitionKey, RowKey, I, V) SELECT a.PartitionKey, a.RowKey || 'i', 7, "
           "a.S FROM {m} a WHERE {where a}",
           "DELETE FROM {m} AS a WHERE {where a}", "DELETE FROM {m} AS a WHERE {key a}")},
    /* Which row of n is taken depends on the plan. */
    {"vague_change", FORMS("UPDATE {m} AS a SET S = w.t FROM n w WHERE {hidden_join a} AND "
                           "{hidden a}")},
    {"partitions_gone",
     FORMS("DELETE FROM pt_partitions AS a WHERE TableName = 'm' AND {partitions}¦"
           "DELETE FROM plain AS a WHERE {partitions}")},
    {"partitions", FORMS("a.PartitionKey = 'p1'", "a.PartitionKey IN ('p0', 'p2', 'x')",
                         "a.PartitionKey > 'p0'", "1")},
    {NULL, NULL},
};

#endif
