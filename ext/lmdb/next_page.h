/*
 * The one place that reads a private structure of LMDB in memory; LMDB's pages are those of its
 * file (lmdb/page/page.h). None of SQLite's is read, and none of either is ever written.
 *
 * Why: the disk is asked for room before LMDB writes a commit (lmdb/map.h), so it must be known
 * where that commit would end the file. LMDB has no function that tells how many pages a
 * transaction has taken from the end of the file: mdb_env_info knows the last page of the last
 * commit, and mdb_stat counts pages in use, wherever in the file they are.
 *
 * What is read: an MDB_txn begins with two pointers and the number of the next page. In another
 * version of LMDB the number may be elsewhere. So it is compared with what it must be whenever a
 * transaction begins, and if it differs, that transaction does with an estimate. A wrong number
 * could only misjudge a full disk.
 */
#ifndef PT_LMDB_NEXT_PAGE_H
#define PT_LMDB_NEXT_PAGE_H

#include <lmdb.h>
#include <stdbool.h>
#include <string.h>

/* The page after the last one of the file, if the write transaction were committed now. Only where
 * it is known. */
static inline size_t pt_lmdb_next_page(const MDB_txn *txn)
{
    size_t words[3];
    memcpy(words, (const void *)txn, sizeof words);
    return words[2];
}

/* Of a write transaction that has just begun: `expected` is the page after the last commit's last
 * one. */
static inline bool pt_lmdb_next_page_is_known(const MDB_txn *txn, size_t expected)
{
    return pt_lmdb_next_page(txn) == expected;
}

#endif
