/*
 * Rules for values and conditions: few keys, so that they meet, and all shapes of WHERE.
 */
#ifndef TESTS_RANDOM_VALUES_H
#define TESTS_RANDOM_VALUES_H

#include "random/grammar.h"

#define LONG_KEY                                                                                   \
    "'k234567890123456789012345678901234567890123456789012345678901234567890123456789012345678"    \
    "90123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"    \
    "89012345678901234567890'"

/* Longer than a key of LMDB, and the same so far as that goes: 600 characters and more. */
#define FIFTY "12345678901234567890123456789012345678901234567890"
#define LONGER_KEY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY

/* Keys that share beginnings, of such lengths that entities take one to four pieces in the store:
 * 4 bytes, both keys and a 00 fit into 510. */
static const sql_rule long_key_rules[] = {
    {"literal_key",
     FORMS("'a'", "''", "hex(zeroblob(126))", "hex(zeroblob(126)) || 'a'",
           "hex(zeroblob(126)) || 'b'", "hex(zeroblob(252)) || 'a'", "hex(zeroblob(253))",
           "hex(zeroblob(253)) || 'a'", "hex(zeroblob(253)) || 'é'", "hex(zeroblob(503)) || 'a'",
           "hex(zeroblob(504))", "hex(zeroblob(504)) || 'a'", "hex(zeroblob(768))",
           "'a' || hex(zeroblob(250)) || '😀'", "'b'", "'0'")},
    {NULL, NULL},
};

static const sql_rule value_rules[] = {
    /* Texts that read as numbers, differ in case, are prefixes of others, or have the first or the
     * last character of Unicode (U+0001, U+10FFFF) after a prefix. */
    {"plain_key", FORMS("'a'", "'b'", "'ab'", "''", "'a~'", "'B'", "'A'", "'é'", "'日本'", "'😀'",
                        "'1'", "'01'", "'10'", "' 1'", "'a_1'", "'1.0'", "'a'", "'b'", "'ab'",
                        "'1'", "'a😀'", "'a\001'", "'a\001b'", LONG_KEY, "'" LONGER_KEY "'",
                        "'" LONGER_KEY "0'", "'" LONGER_KEY LONGER_KEY "'")},
    {"literal_key",
     FORMS("{plain_key}", "{plain_key}", "{plain_key}", "{plain_key}", "{plain_key}", "{plain_key}",
           "{plain_key}", "{plain_key}", "{plain_key}", "'a\xf4\x8f\xbf\xbf'")},
    {"key", FORMS("{literal_key}", "{literal_key}", "{?literal_key}")},
    {"small", FORMS("0", "1", "2", "3", "5", "10", "-1")},
    {"integer", FORMS("{small}", "{small}", "{small}", "2147483647", "-2147483648")},
    {"real", FORMS("2.5", "0.25", "-7.75", "1000000.5")},
    {"blob", FORMS("x'61'", "x''", "x'00'", "x'616263'", "x'ff'", "zeroblob(40)")},
    {"words", FORMS("'x'", "'word'", "'日本語'", "'12 monkeys'",
                    "'a text that is longer than what fits into a small buffer, by far'")},
    {"string", FORMS("{words}", "{literal_key}", "''", "NULL", "12", "2.5", "char(97, 0, 98)",
                     "hex(zeroblob(1001))", "hex(zeroblob(2500)) || {literal_key}",
                     "printf('%020000d', {small})")},
    /* Not 1.0: a bound REAL that is an integer counts as that integer in some conditions on keys.
     */
    {"bound", FORMS("{literal_key}", "{literal_key}", "{integer}", "{real}", "{blob}", "NULL",
                    "1e300", "9007199254740993")},
    {"literal", FORMS("{bound}", "{bound}", "{bound}", "{bound}", "1.0", "10.0")},
    {"any", FORMS("{literal}", "{?bound}")},
    {"entity_key",
     FORMS("pt_entity_key({key}, {key})", "pt_entity_key({key}, {key})", "x''", "x'61'", "x'6100'",
           "x'610061'", "x'620062'", "x'ff'", "x'00'", "x'0000'", "'a'", "1", "NULL",
           "{?literal_entity_key}", "(SELECT max(EntityKey) FROM t1)")},
    {"literal_entity_key", FORMS("x'6100'", "x'610062'", "x'3100'",
                                 "pt_entity_key({literal_key}, {literal_key})", "{bound}")},
    {"limit", FORMS("", "", "", "LIMIT {small}", "LIMIT 7 OFFSET {small}", "LIMIT {?small}",
                    "LIMIT {?small} OFFSET {?small}")},
    {NULL, NULL},
};

static const sql_rule condition_rules[] = {
    {"key_column", FORMS("@PartitionKey", "@RowKey")},
    {"value_column", FORMS("@S", "@I", "@X", "@V")},
    {"column", FORMS("{key_column}", "{value_column}", "@EntityKey")},
    {"compare", FORMS("=", "<", "<=", ">", ">=")},
    /* For a GLOB that is U+10FFFF at its end SQLite finds nothing in tables of UTF-16. */
    {"pattern", FORMS("'a*'", "'*'", "'a'", "''", "'a%'", "'A%'", "'a_%'", "'%b'", "'日*'",
                      "'[ab]*'", "'1*'", "'1%'", "'B%'", "{?plain_key}", "NULL")},
    {"bounds",
     FORMS("{key_column} {compare} {key}", "@PartitionKey {compare} {key}",
           "@RowKey {compare} {key}", "{key} {compare} {key_column}",
           "{key_column} BETWEEN {key} AND {key}", "pt_starts_with({key_column}, {key})")},
    {"list",
     FORMS("{key_column} IN ({key}, {key}, {key})", "{key_column} IN ({key}, {any}, {any})",
           "{key_column} IN ({key})", "{key_column} IN ()", "{key_column} IN (SELECT k FROM n)",
           "{key_column} IN (SELECT i FROM n)", "{key_column} IN (SELECT z FROM n)",
           "{key_column} IN (SELECT RowKey FROM {table} b WHERE {simple b})",
           "{key_column} NOT IN ({key}, {any})", "{key_column} NOT IN (SELECT k FROM n)",
           "{key_column} IN (@S, {key})")},
    /* A bare SELECT of its own keys would be read from the index that an ordinary DELETE changes.
     */
    {"rows", FORMS("(@PartitionKey, @RowKey) {compare} ({key}, {key})",
                   "(@PartitionKey, @RowKey) {compare} ({key}, {any})",
                   "(@RowKey, @PartitionKey) {compare} ({key}, {key})",
                   "(@PartitionKey, @I) {compare} ({key}, {small})",
                   "(@PartitionKey, @RowKey) IN (VALUES ({key}, {key}), ({key}, {key}))",
                   "(@PartitionKey, @RowKey) IN (SELECT RowKey, PartitionKey FROM {table} b WHERE "
                   "{simple b})",
                   "(@PartitionKey, @RowKey) BETWEEN ({key}, {key}) AND ({key}, {key})")},
    {"entity",
     FORMS("@EntityKey {compare} {entity_key}", "@EntityKey {compare} {entity_key}",
           "@EntityKey IN ({entity_key}, {entity_key})",
           "@EntityKey BETWEEN {entity_key} AND {entity_key}", "@EntityKey IS {entity_key}",
           "@EntityKey <> {entity_key}", "@EntityKey NOT IN ({entity_key}, {entity_key})",
           "@EntityKey IN (SELECT EntityKey FROM {table} b WHERE {simple b})",
           "@EntityKey > {entity_key} AND @EntityKey <= {entity_key}")},
    {"odd",
     FORMS("{key_column} {compare} {any}", "{key_column} IS {any}", "{key_column} IS NOT {any}",
           "{key_column} IS NULL", "{key_column} IS NOT NULL", "{key_column} <> {any}",
           "{key_column} BETWEEN {any} AND {any}", "{key_column} NOT BETWEEN {key} AND {key}",
           "{key_column} GLOB {pattern}", "{key_column} LIKE {pattern}",
           "{key_column} NOT GLOB {pattern}", "{key_column} LIKE 'A\\_%' ESCAPE '\\'",
           "pt_starts_with({key_column}, {any})", "NOT pt_starts_with({key_column}, {key})",
           "pt_starts_with({key_column}, {key}) = 0", "{key_column} COLLATE NOCASE {compare} {key}",
           "{key_column} {compare} {key} COLLATE NOCASE", "{key_column} = {key} COLLATE RTRIM",
           "{key_column} {compare} @S", "{key_column} {compare} @V", "+{key_column} = {key}",
           "@PartitionKey {compare} @RowKey", "{key_column} < @I",
           "{key_column} >= CAST({small} + 0 AS INTEGER)", "{key_column} > CAST({small} AS REAL)",
           "CAST({key_column} AS INTEGER) = {any}", "{key_column} = (SELECT min(k) FROM n)",
           "{key_column} <= (SELECT i FROM n WHERE id = {small})",
           "{key_column} {compare} (SELECT max(RowKey) FROM {table} b WHERE {simple b})",
           "{key_column} = lower({key})", "length({key_column}) < {small}")},
    /* A key that equals a number: '1', '01' and '1.0' all equal 1. */
    {"number", FORMS("{key_column} = @I", "{key_column} = CAST({small} + 0 AS INTEGER)",
                     "{key_column} = CAST({small} AS REAL)",
                     "{key_column} = (SELECT i FROM n WHERE id = {small})")},
    {"other",
     FORMS("{value_column} {compare} {any}", "{value_column} IS {any}", "{value_column} IS NULL",
           "{value_column} IS NOT NULL", "@I > {small}", "@I IN ({small}, {small})", "@I = @V",
           "@S LIKE {pattern}", "@S COLLATE NOCASE = {key}", "@S < @V", "@X >= {blob}",
           "{value_column} IN ({any}, {any}, {any})", "{value_column} BETWEEN {any} AND {any}",
           "@S GLOB {pattern}", "@S IN (SELECT k FROM n)", "@I IN (SELECT i FROM n)",
           "@I BETWEEN {small} AND {real}", "@S = {key} AND @I < {small}",
           "{any} {compare} {value_column}")},
    {"deep",
     FORMS("{bounds}", "EXISTS (SELECT 1 FROM {table} b WHERE b.RowKey = {key_column})",
           "EXISTS (SELECT 1 FROM {table} b WHERE b.PartitionKey = @PartitionKey AND {simple b})",
           "NOT EXISTS (SELECT 1 FROM n WHERE n.k = {key_column})",
           "EXISTS (SELECT 1 FROM n WHERE {key_column} = n.i)",
           "(SELECT count(*) FROM {table} b WHERE b.PartitionKey = @RowKey) > {small}",
           "NOT ({where})", "{small}", "NULL",
           "CASE WHEN {where} THEN 1 ELSE {key_column} = {key} END")},
    {"point",
     FORMS("@PartitionKey = {key} AND @RowKey = {key}", "@PartitionKey = {key} AND {bounds}",
           "@PartitionKey = {key} AND @RowKey IN ({key}, {key}, {key})",
           "@PartitionKey IN ({key}, {key}) AND {bounds}",
           "@PartitionKey IN ({key}, {key}) AND @RowKey IN ({key}, {key}, {any})",
           "@PartitionKey = {key} AND {odd}", "@RowKey = {key} AND {odd}")},
    {"simple", FORMS("{bounds}", "{list}", "{point}", "{odd}", "{other}", "{bounds} AND {other}")},
    /* Terms for which no index is used. */
    {"unindexed", FORMS("@B {compare} {boolean}", "@B IS NOT NULL", "+({other})", "+({other})")},
    /* Terms whose rows come in key order whatever the plan. */
    {"in_order",
     FORMS("{bounds}", "{bounds} AND {bounds}", "@PartitionKey = {key}", "{unindexed}",
           "@PartitionKey IN ({key}, {key}) AND {bounds}", "{bounds} AND {bounds} AND {bounds}")},
    {"term", FORMS("{bounds}", "{bounds}", "{bounds}", "{list}", "{rows}", "{entity}", "{odd}",
                   "{odd}", "{odd}", "{other}", "{deep}", "{point}", "{point}")},
    {"where", FORMS("{term}", "{term}", "{term} AND {term}", "{term} AND {term} AND {term}",
                    "{bounds} AND {bounds} AND {bounds} AND {bounds}", "({where}) OR ({where})",
                    "{term} AND ({where} OR {term})", "{point}", "{point} OR {point}",
                    "{key_column} = {key} OR {key_column} = {key}", "({entity}) AND ({bounds})")},
    {NULL, NULL},
};

#endif
