/*
 * Rules for Filter: a filter of the Table service, and the same condition in SQL. Its logic has two
 * values, in which SQL's NULL is false; and a property of another type than the constant's counts
 * as less than it.
 *
 * The ordinary database has the functions twin_text(text), the bytes of UTF-8, in whose order a
 * filter compares texts whatever the database's encoding; and twin_less(value), less than any other
 * value, but NULL for NULL.
 */
#ifndef TESTS_RANDOM_FILTERS_H
#define TESTS_RANDOM_FILTERS_H

#include "random/grammar.h"

/* A key as a constant inside the SQL text of a filter. */
#define FILTER_KEY "''' || {literal_key} || '''"

static const sql_rule filter_rules[] = {
    {"op", FORMS("eq¦=", "ne¦<>", "gt¦>", "ge¦>=", "lt¦<", "le¦<=")},
    {"filter_column", FORMS("PartitionKey¦@PartitionKey", "RowKey¦@RowKey")},
    {"filter_key", FORMS("{filter_column} {op} " FILTER_KEY "¦twin_text({filter_column}) {op} "
                         "twin_text({literal_key})",
                         "{filter_column} {op} " FILTER_KEY "¦twin_text({filter_column}) {op} "
                         "twin_text({literal_key})",
                         FILTER_KEY " {op} {filter_column}¦twin_text({literal_key}) {op} "
                                    "twin_text({filter_column})",
                         "{filter_column} eq " FILTER_KEY "¦{filter_column} = {literal_key}",
                         "PartitionKey eq " FILTER_KEY "¦@PartitionKey = {literal_key}",
                         "{filter_column} {op} {small}¦twin_less({filter_column}) {op} {small}")},
    /* V in the types that the constant is comparable with. */
    {"v_int32", FORMS("V¦iif(typeof(@V) IN ('integer', 'real'), @V, twin_less(@V))")},
    {"v_int64", FORMS("V¦iif(typeof(@V) = 'real' OR typeof(@V) = 'integer' AND @V NOT BETWEEN "
                      "-2147483648 AND 2147483647, @V, twin_less(@V))")},
    {"v_double", FORMS("V¦iif(typeof(@V) = 'real', @V, twin_less(@V))")},
    {"v_string", FORMS("V¦iif(typeof(@V) = 'text', twin_text(@V), twin_less(@V))")},
    {"v_binary", FORMS("V¦iif(typeof(@V) = 'blob', @V, twin_less(@V))")},
    {"boolean_constant", FORMS("true¦1", "false¦0")},
    {"filter_blob", FORMS("X''61''¦x'61'", "binary''''¦x''", "X''616263''¦x'616263'",
                          "X''00''¦x'00'", "binary''fF''¦x'ff'")},
    {"filter_condition",
     FORMS("I {op} {integer}¦@I {op} {integer}", "{filter_key}", "{filter_key}", "{filter_key}",
           "{integer} {op} I¦{integer} {op} @I", "I {op} {small}L¦twin_less(@I) {op} {small}",
           "I {op} {real}¦twin_less(@I) {op} {real}",
           "I {op} " FILTER_KEY "¦twin_less(@I) {op} twin_text({literal_key})",
           "S {op} " FILTER_KEY "¦twin_text(@S) {op} twin_text({literal_key})",
           FILTER_KEY " {op} S¦twin_text({literal_key}) {op} twin_text(@S)",
           "S {op} {small}¦twin_less(@S) {op} {small}", "D {op} {real}¦@D {op} {real}",
           "D {op} {integer}¦@D {op} {integer}",
           "9007199254740993L {op} D¦9007199254740992.0 {op} @D", "B¦@B = 1",
           "B {op} {boolean_constant}¦@B {op} {boolean_constant}",
           "{boolean_constant} {op} B¦{boolean_constant} {op} @B",
           "B {op} {small}¦twin_less(@B) {op} {small}",
           "X {op} {filter_blob}¦@X {op} {filter_blob}",
           "{filter_blob} {op} X¦{filter_blob} {op} @X",
           "X {op} " FILTER_KEY "¦twin_less(@X) {op} twin_text({literal_key})",
           "{v_int32} {op} {integer}", "{integer} {op} {v_int32}",
           "{v_int64} {op} {small}L¦{v_int64} {op} {small}",
           "{v_int64} {op} 9007199254740993L¦{v_int64} {op} "
           "iif(typeof(@V) = 'real', 9007199254740992.0, 9007199254740993)",
           "{v_double} {op} {real}",
           "{v_string} {op} " FILTER_KEY "¦{v_string} {op} twin_text({literal_key})",
           "{v_binary} {op} {filter_blob}", "V¦0", "Missing {op} {small}¦NULL {op} {small}",
           "J ne {small}¦NULL <> {small}", "Timestamp gt datetime''2020-01-01T00:00:00Z''¦1",
           "{boolean_constant}")},
    {"filter_leaf", FORMS("{filter_condition}¦coalesce({filter_condition}, 0)")},
    {"filter", FORMS("{filter_leaf}", "{filter_leaf}", "not {filter_leaf}¦NOT {filter_leaf}",
                     "{filter_leaf} and {filter_leaf}", "{filter_leaf} or {filter_leaf}",
                     "{filter_key} and {filter_key}", "{filter_key} and {filter_leaf}",
                     "PartitionKey eq " FILTER_KEY " and {filter_key} and {filter_key}"
                     "¦@PartitionKey = {literal_key} and {filter_key} and {filter_key}",
                     "{filter_key} and {filter_key} or {filter_key} and {filter_key}",
                     "not ({filter})", "{filter} and {filter}", "{filter} or {filter}",
                     "({filter}) and ({filter})", "not ({filter}) and {filter_leaf}")},
    {"filter_text", FORMS("'{filter}'¦({filter})", "'{filter}'¦({filter})", "'{filter}'¦({filter})",
                          "'{filter}'¦({filter})", "' '¦1")},
    {"filtered",
     FORMS("@Filter MATCH {filter_text}¦{filter_text}", "@Filter MATCH {filter_text}¦{filter_text}",
           "@Filter MATCH {?filter_text}¦{filter_text}")},
    /* The filter as an argument of the table; an alias must follow. */
    {"filtered_table",
     FORMS("{table}({filter_text})¦(SELECT * FROM {table} x WHERE {filter_text x})")},

    {"filtered_ordered",
     FORMS("SELECT {columns a} FROM {table} a WHERE {filtered a} ORDER BY {total a} {limit}",
           "SELECT {columns a} FROM {table} a WHERE {filtered a} AND {bounds a} "
           "ORDER BY {total a} {limit}",
           "SELECT {columns a} FROM {table} a WHERE ({where a}) AND {filtered a} "
           "ORDER BY {total a} {limit}",
           "SELECT DISTINCT a.PartitionKey FROM {table} a WHERE {filtered a} "
           "ORDER BY 1 {direction} {limit}",
           "SELECT {columns a} FROM {table} a WHERE {filtered_anywhere a} "
           "ORDER BY {total a} {limit}",
           "SELECT {columns a} FROM {filtered_table} a ORDER BY {total a} {limit}")},
    {"filtered_anywhere",
     FORMS("{filtered} OR ({where})", "NOT ({filtered})", "NOT ({filtered}) AND ({where})",
           "({filtered} OR {filtered}) AND {bounds}", "{filtered} OR {filtered} OR ({where})",
           "iif({where}, {filtered}, NOT ({filtered}))")},
    {"filtered_unordered",
     FORMS("SELECT {columns a} FROM {table} a WHERE {filtered_anywhere a}",
           "SELECT {columns a} FROM {table} a WHERE {filtered a}",
           "SELECT {columns a} FROM {table} a WHERE {filtered a} AND ({where a})",
           "SELECT {columns a} FROM {filtered_table} a WHERE {where a}",
           "SELECT {aggregate a}, {aggregate a} FROM {table} a WHERE {filtered a}",
           "SELECT {group a}, {aggregate a} FROM {table} a WHERE {filtered a} GROUP BY 1",
           "SELECT DISTINCT {key_column a} FROM {table} a WHERE {filtered a} AND {bounds a}",
           "SELECT n.id, {keys a} FROM n JOIN {table} a ON {join_text} AND {filtered a}",
           "SELECT n.id, {keys a} FROM n LEFT JOIN {table} a ON a.PartitionKey = n.k AND "
           "{filtered a}",
           "SELECT {keys a}, {keys b} FROM {table} a JOIN {table} b ON {join} WHERE {filtered a} "
           "AND {filtered b}",
           "SELECT n.id, (SELECT count(*) FROM {filtered_table} a WHERE a.RowKey >= n.k) FROM n",
           "SELECT n.id FROM n WHERE n.k IN (SELECT a.RowKey FROM {table} a WHERE {filtered a})",
           "SELECT {columns a} FROM {table} a WHERE {filtered a} OR "
           "a.PartitionKey = {key} AND {bounds a}")},
    {"filtered_change",
     FORMS("UPDATE {or} {target} AS a SET {sets a} WHERE {filtered a} AND ({where a})",
           "UPDATE {or} {target} AS a SET {sets a} WHERE ({point a}) AND {filtered a}",
           "UPDATE {target} AS a SET {sets a} WHERE {filtered a}",
           "DELETE FROM {target} AS a WHERE {filtered a} AND ({where a})",
           "DELETE FROM {target} AS a WHERE {literal_point a} AND {filtered a}")},
    {NULL, NULL},
};

#endif
