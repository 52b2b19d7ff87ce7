/*
 * Words that are written in any case.
 */
#ifndef PT_BASE_WORD_H
#define PT_BASE_WORD_H

#include "base/bytes.h"
#include "base/sqlite.h"

/* Whether the text is the word but for the case of ASCII letters. */
static inline bool pt_is_word(pt_slice text, const char *word)
{
    return text.size == strlen(word) &&
           sqlite3_strnicmp((const char *)text.data, word, (int)text.size) == 0;
}

#endif
