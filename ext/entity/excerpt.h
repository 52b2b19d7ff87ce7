/*
 * The beginning of a text, short enough for an error message.
 */
#ifndef PT_ENTITY_EXCERPT_H
#define PT_ENTITY_EXCERPT_H

#include "base/bytes.h"

enum { PT_EXCERPT_CHARACTERS = 40, PT_EXCERPT_SIZE = 4 * PT_EXCERPT_CHARACTERS + 4 };

/*
 * Writes at most PT_EXCERPT_CHARACTERS characters and a NUL. Ends before a U+0000 and never inside
 * a UTF-8 character; "..." shows that something was left out, '?' stands for what is not UTF-8.
 */
void pt_excerpt(pt_slice text, char excerpt[PT_EXCERPT_SIZE]);

#endif
