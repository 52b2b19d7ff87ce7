/*
 * The words of constraints, which the columns of a ptable do not take, and what to do instead.
 */
#ifndef PT_TABLE_CONSTRAINT_WORDS_H
#define PT_TABLE_CONSTRAINT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pt_constraint_words {
    const char *word;  /* its first word */
    const char *shown; /* in messages */
    bool of_table;     /* also a table constraint, which stands where a column name does */
    const char *advice;
} pt_constraint_words;

/* The constraint that begins with a word, in any case, or NULL. */
const pt_constraint_words *pt_constraint_of_word(const char *word, size_t length);

/* The first constraint among the words after a column's name, or NULL. */
const pt_constraint_words *pt_constraint_find(const char *text);

#endif
