/*
 * Memory in large pages: memory that fills up from its start takes a page fault for each 2 MiB of
 * it instead of each 4 KiB.
 */
#ifndef PT_BASE_LARGE_PAGES_H
#define PT_BASE_LARGE_PAGES_H

#include <stddef.h>

/*
 * Asks the kernel for large pages where they fit into the memory; smaller memory is left alone.
 * What is not touched stays unused, up to the next 2 MiB. A wish: it may have no effect.
 */
void pt_large_pages_ask(void *memory, size_t size);

#endif
