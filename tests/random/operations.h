/*
 * Rules for the operations of the Table service: INSERT with WriteMode and IfMatch, and changes
 * under the condition that an ETag is still the one that was seen. Tags are remembered in the table
 * `seen`. The ordinary database gets the rows of an operation by a query (twin_operation.h).
 */
#ifndef TESTS_RANDOM_OPERATIONS_H
#define TESTS_RANDOM_OPERATIONS_H

#include "random/grammar.h"

static const sql_rule operation_rules[] = {
    {"mode", FORMS("'insert'", "'replace'", "'replace'", "'merge'", "'merge'", "'Merge'", "NULL")},
    {"any_mode", FORMS("{mode}", "{mode}", "{mode}", "{mode}", "{mode}", "{mode}", "'upsert'", "''",
                       "5", "x'696e73657274'")},
    {"tag", FORMS("'*'",
                  "(SELECT ETag FROM {target} b WHERE b.PartitionKey = {key} AND "
                  "b.RowKey = {key})",
                  "(SELECT tag FROM seen WHERE id = {small})",
                  "(SELECT tag FROM seen WHERE id = {small})", "NULL")},
    {"any_tag", FORMS("{tag}", "{tag}", "{tag}", "{tag}", "'W/\"x\"'", "'W/\"datetime''2026-'",
                      "'\"x\"'", "'**'", "''", "7", "x'2a'")},
    {"operation_row",
     FORMS("({new_key}, {new_key}, {string}, {whole}, {double}, {boolean}, {bytes}, {free}, "
           "{any_mode}, {any_tag})",
           "({key}, {key}, {string}, {whole}, NULL, NULL, {bytes}, {free}, {mode}, NULL)",
           "({key}, {key}, NULL, NULL, NULL, NULL, NULL, NULL, 'delete', {any_tag})",
           "({key}, {key}, NULL, NULL, NULL, NULL, NULL, NULL, 'delete', NULL)",
           "({key}, {key}, {string}, {whole}, NULL, NULL, NULL, NULL, 'delete', NULL)",
           "({key}, {key}, NULL, 'many', NULL, NULL, NULL, NULL, {mode}, {tag})",
           "(NULL, {key}, {string}, NULL, NULL, NULL, NULL, NULL, {mode}, {tag})",
           "({key}, {blob}, {string}, NULL, NULL, NULL, NULL, NULL, {mode}, NULL)")},
    /* Those that are there, with the tags that they have. */
    {"operation_rows",
     FORMS("VALUES {operation_row}", "VALUES {operation_row}, {operation_row}",
           "VALUES {operation_row}, {operation_row}, {operation_row}, {operation_row}",
           "SELECT PartitionKey, RowKey, {string}, NULL, NULL, {boolean}, {bytes}, {free}, "
           "{mode}, ETag FROM {target} a WHERE {where a} ORDER BY EntityKey LIMIT 3",
           "SELECT PartitionKey, RowKey, {string}, {whole}, {double}, NULL, NULL, {free}, 'merge', "
           "ETag FROM {target} a WHERE {bounds a} ORDER BY EntityKey LIMIT 20",
           "SELECT PartitionKey, RowKey, {string}, NULL, NULL, {boolean}, {bytes}, NULL, {mode}, "
           "(SELECT ETag FROM {target} b WHERE {bounds b} ORDER BY EntityKey DESC LIMIT 1) FROM "
           "{target} a WHERE {bounds a} ORDER BY EntityKey LIMIT 20",
           "SELECT PartitionKey, RowKey, S, I, D, B, X, V, 'replace', '*' FROM {target} a "
           "WHERE {bounds a} ORDER BY EntityKey DESC LIMIT 20",
           "SELECT RowKey, PartitionKey, S, I, NULL, NULL, NULL, V, {mode}, NULL FROM {target} a "
           "WHERE {where a} ORDER BY EntityKey LIMIT 20",
           "SELECT PartitionKey, RowKey, NULL, NULL, NULL, NULL, NULL, NULL, 'delete', ETag FROM "
           "{target} a WHERE {bounds a} ORDER BY EntityKey LIMIT 2",
           "SELECT PartitionKey, RowKey, {string}, NULL, NULL, NULL, {bytes}, NULL, {mode}, tag "
           "FROM seen ORDER BY id LIMIT {small}",
           "SELECT PartitionKey, RowKey, {string}, NULL, NULL, NULL, NULL, NULL, 'merge', tag "
           "FROM seen WHERE id = {small} LIMIT 9",
           "SELECT PartitionKey, RowKey, NULL, NULL, NULL, NULL, NULL, NULL, 'delete', tag "
           "FROM seen WHERE id >= {small} ORDER BY id DESC LIMIT 2")},
    {"operation",
     FORMS("INSERT {or} INTO {target}(PartitionKey, RowKey, S, I, D, B, X, V, WriteMode, IfMatch) "
           "{operation_rows}¦SELECT '{or}', '{target}', * FROM ({operation_rows})")},

    {"see", FORMS("INSERT OR REPLACE INTO seen SELECT {small}, PartitionKey, RowKey, ETag FROM "
                  "{target} a WHERE {where a} ORDER BY EntityKey LIMIT 1",
                  "INSERT OR REPLACE INTO seen SELECT {small}, PartitionKey, RowKey, ETag FROM "
                  "{target} a WHERE {bounds a} ORDER BY EntityKey DESC LIMIT 1")},
    {"tagged",
     FORMS("@ETag = (SELECT tag FROM seen WHERE id = {small})", "@ETag IN (SELECT tag FROM seen)",
           "@ETag = (SELECT max(b.ETag) FROM {table} b WHERE b.PartitionKey = {key} "
           "AND b.RowKey = {key})")},
    {"tagged_change",
     FORMS("UPDATE {or} {target} AS a SET {sets a} WHERE {tagged a}",
           "UPDATE {target} AS a SET {sets a} WHERE {literal_point a} AND {tagged a}",
           "DELETE FROM {target} AS a WHERE {tagged a} AND {where a}",
           "DELETE FROM {target} AS a WHERE {literal_point a} AND {tagged a}")},
    {"tagged_query",
     FORMS("SELECT {keys a} FROM {table} a WHERE {tagged a}",
           "SELECT n.id, n.PartitionKey, n.RowKey, {keys a} FROM seen n LEFT JOIN {table} a ON "
           "a.ETag = n.tag",
           "SELECT n.id, a.ETag = n.tag FROM seen n JOIN {table} a ON a.PartitionKey = "
           "n.PartitionKey AND a.RowKey = n.RowKey")},
    {NULL, NULL},
};

#endif
