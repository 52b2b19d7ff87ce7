/*
 * Rules for the catalogue: dropping and making tables, deleting partitions, and counting what is in
 * them. An ordinary
 * table is dropped and made, too. Where a statement names one that is gone, its twin fails when it
 * is prepared, and the ptable only when it is used. Bytes of pt_tables count the pieces of large
 * values with their keys, those of pt_partitions without.
 */
#ifndef TESTS_RANDOM_CATALOG_H
#define TESTS_RANDOM_CATALOG_H

#include "random/grammar.h"
#include "random/twins.h"

#define IN_OTHER_STORE "Store = '" OTHER_STORE "' AND TableName = 'T3'"

#define DROP_IN_DEFAULT(name)                                                                      \
    "DELETE FROM pt_tables WHERE TableName = '" name "'¦DROP TABLE IF EXISTS " name
#define MAKE_IN_DEFAULT(name)                                                                      \
    "INSERT OR IGNORE INTO pt_tables(TableName) VALUES ('" name "')¦" ORDINARY_TABLE(name)
#define REMAKE_IN_DEFAULT(name)                                                                    \
    "DELETE FROM pt_tables WHERE TableName = '" name "'; INSERT INTO pt_tables(TableName) "        \
    "VALUES ('" name "'); INSERT INTO pt_indexes(TableName, Columns) VALUES ('" name               \
    "', 'V, S'), ('" name "', 'I')¦DROP TABLE IF EXISTS " name ";" ORDINARY_TABLE(name)

static const sql_rule catalog_rules[] = {
    {"drop_table", FORMS(DROP_IN_DEFAULT("t1"), DROP_IN_DEFAULT("t2"),
                         "DELETE FROM pt_tables WHERE " IN_OTHER_STORE "¦DROP TABLE IF EXISTS t3",
                         "DELETE FROM pt_tables¦DROP TABLE IF EXISTS t1; DROP TABLE IF EXISTS t2")},
    {"make_table",
     FORMS(MAKE_IN_DEFAULT("t1"), MAKE_IN_DEFAULT("t2"),
           "INSERT OR IGNORE INTO pt_tables(Store, TableName) VALUES ('" OTHER_STORE "', 't3')"
           "¦" ORDINARY_TABLE("t3"))},
    {"remake_table", FORMS(REMAKE_IN_DEFAULT("t1"), REMAKE_IN_DEFAULT("t2"))},

    {"partitions_of", FORMS("pt_partitions('t1')¦t1", "pt_partitions('again')¦t1",
                            "pt_partitions('t2')¦t2", "pt_partitions('" OTHER_STORE "', 't3')¦t3")},
    {"properties_of", FORMS("pt_properties('t1')¦t1", "pt_properties('t3')¦t3")},
    {"partition_bounds", FORMS("a.PartitionKey {compare} {key}", "a.PartitionKey IN ({key}, {key})",
                               "a.PartitionKey BETWEEN {key} AND {key}", "1")},
    {"table_name", FORMS("TableName = 't1'¦t1", "TableName = 'T2'¦t2", IN_OTHER_STORE "¦t3",
                         "argument1 = 'again'¦t1")},
    {"delete_partitions",
     FORMS("DELETE FROM pt_partitions AS a WHERE {table_name} AND {partition_bounds}¦"
           "DELETE FROM {table_name} AS a WHERE {partition_bounds}",
           "DELETE FROM pt_partitions AS a WHERE {table_name} AND ({partition_bounds} OR "
           "{partition_bounds})¦"
           "DELETE FROM {table_name} AS a WHERE {partition_bounds} OR {partition_bounds}",
           "DELETE FROM pt_partitions WHERE TableName = 't1' AND Entities < {small}¦"
           "DELETE FROM t1 WHERE PartitionKey IN (SELECT PartitionKey FROM t1 GROUP BY 1 "
           "HAVING count(*) < {small})")},
    {"counts",
     FORMS("SELECT Entities FROM pt_tables WHERE TableName = 'T1'¦SELECT count(*) FROM t1",
           "SELECT Entities FROM pt_tables WHERE TableName = 't2'¦SELECT count(*) FROM t2",
           "SELECT Entities FROM pt_tables WHERE " IN_OTHER_STORE "¦SELECT count(*) FROM t3",
           "SELECT TableName, Entities FROM pt_tables¦"
           "SELECT 't1', count(*) FROM t1 UNION ALL SELECT 't2', count(*) FROM t2",
           "SELECT a.PartitionKey, Entities, pt_entity_key(a.PartitionKey, FirstRowKey), "
           "pt_entity_key(a.PartitionKey, LastRowKey) FROM {partitions_of} a WHERE "
           "{partition_bounds}¦"
           "SELECT a.PartitionKey, count(*), min(EntityKey), max(EntityKey) FROM {partitions_of} a "
           "WHERE {partition_bounds} GROUP BY 1",
           "SELECT Name, sum(Entities) FROM {properties_of} GROUP BY 1¦"
           "SELECT * FROM (WITH a AS (SELECT * FROM {properties_of}) SELECT 'S', count(S) AS c "
           "FROM a UNION SELECT 'I', count(I) FROM a UNION SELECT 'D', count(D) FROM a UNION "
           "SELECT 'B', count(B) FROM a UNION SELECT 'X', count(X) FROM a UNION "
           "SELECT 'V', count(V) FROM a) WHERE c > 0",
           "SELECT TableName, Bytes, (SELECT coalesce(sum(p.Bytes), 0) FROM "
           "pt_partitions(t.TableName) p) AS b FROM pt_tables t WHERE Bytes NOT BETWEEN b AND b * "
           "1.05¦SELECT 1 WHERE 0")},
    {NULL, NULL},
};

#endif
