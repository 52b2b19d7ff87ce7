/*
 * Pages that a store's file lacks at its end.
 *
 * LMDB does not write a page that a transaction has taken and given back. If that is the last one,
 * the commit leaves a file that ends before it, until the file is made longer (lmdb_commit.c). A
 * process killed in between, or a power failure, leaves it so for good; nothing is missing, for a
 * free page is never read. A file that was truncated looks the same, but lacks pages in use.
 *
 * LMDB itself cannot be asked: to read a page behind the end of a file is fatal. So its list of
 * free pages is read from the file: a tree like the others, whose root is in the newer one of the
 * two root pages, with lists as values. In a root page (data version 1, 64 bits, little-endian):
 *
 *     20   4 bytes   data version
 *     80   8 bytes   number of the first page of the list of free pages; all bits set: none
 *    136   8 bytes   number of the last page
 *    144   8 bytes   number of the transaction
 *
 * Leaf pages and their entries are as in lmdb_leaf.h; an entry with flag 1 has the number of the
 * first overflow page as its value, which begins 16 bytes into that page. Branch pages have flag 1;
 * their entries are
 *
 *     0   4 bytes   number of the page below, its lower bits; the next 16 are at 4
 *     6   2 bytes   size of the key
 *
 * and a list is 8 bytes with its length, then as many numbers of pages, of 8 bytes each.
 */
#ifndef PT_LMDB_TAIL_H
#define PT_LMDB_TAIL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether all pages that the file lacks, up to the last one that the newest commit knows of, are
 * free. False also for what cannot be read, as when commits change it meanwhile.
 */
bool pt_lmdb_tail_is_free(int fd, size_t page_size);

#endif
