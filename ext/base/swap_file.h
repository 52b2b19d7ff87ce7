/*
 * Memory that may leave the machine's memory: a file without a name, mapped. Its pages can be put
 * aside; the kernel writes them to the disk if it needs their place, and brings them back when they
 * are touched.
 *
 * The file's blocks are allocated before they are mapped. So a disk that is full later cannot make
 * a page unwritable, which would end the process. Only ext4 and XFS are known to keep that promise;
 * elsewhere no memory is given, nor if the disk has so little room that the caller might lack it.
 *
 * fork(): a child gets a private copy of the memory, and no more of it.
 */
#ifndef PT_BASE_SWAP_FILE_H
#define PT_BASE_SWAP_FILE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pt_swap_piece {
    void *memory;
    size_t size;
} pt_swap_piece;

/* All zeros, apart from `beside`: no memory has been taken. It is in a list while the file is open:
 * it must not be moved in memory then. */
typedef struct pt_swap_file {
    const char *beside; /* the file is made in the folder of this path (absolute); NULL: nowhere */
    int fd;             /* if is_open */
    bool is_open;
    bool unfit; /* there can be no such file, or a parent process made it */
    pt_swap_piece *pieces;
    size_t count;
    size_t capacity;
    size_t size; /* of all pieces, and of the file */
    int problem; /* the errno of a failed write of pages, as far as pt_swap_check knows; or 0 */
    struct pt_swap_file *next;
    struct pt_swap_file **link;
} pt_swap_file;

/* Returns a piece of at least `size` bytes, aligned for pages, and puts the pieces before it aside.
 * NULL if there is none to be had: use other memory. */
void *pt_swap_take(pt_swap_file *swap, size_t size);

/* Gives the newest piece back. */
void pt_swap_give_back(pt_swap_file *swap);

/* Puts all pages aside. They stay valid. */
void pt_swap_put_aside(const pt_swap_file *swap);

/* Returns 0, or the errno of a failed write of pages: then what was read from the memory may not be
 * what was written to it, and stays so. */
int pt_swap_check(pt_swap_file *swap);

/* Gives all pieces back and closes the file. Keeps `beside`. */
void pt_swap_close(pt_swap_file *swap);

#endif
