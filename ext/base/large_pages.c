#include "base/large_pages.h"

#include <stdint.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 2 << 20 };

void pt_large_pages_ask(void *memory, size_t size)
{
    uintptr_t before_first = ((uintptr_t)memory + LARGE_PAGE - 1) % LARGE_PAGE;
    size_t skipped = LARGE_PAGE - 1 - (size_t)before_first;
    if (size < skipped + LARGE_PAGE) {
        return;
    }
    size_t whole = (size - skipped) / LARGE_PAGE * LARGE_PAGE;
    madvise((char *)memory + skipped, whole, MADV_HUGEPAGE);
}
