#include "table/constraint_words.h"

#include "base/text.h"

static const pt_constraint_words constraints[] = {
    {"NOT", "NOT NULL", false, "leave it out: any entity may lack any property"},
    {"NULL", "NULL", false, "leave it out: any entity may lack any property"},
    {"DEFAULT", "DEFAULT", false, "leave it out: a property that is not given is absent (NULL)"},
    {"PRIMARY", "PRIMARY KEY", true, "leave it out: the key is always PartitionKey and RowKey"},
    {"UNIQUE", "UNIQUE", true, "leave it out: a ptable takes unique(...) as an argument"},
    {"CHECK", "CHECK", true, "leave it out: values are checked against the column's type only"},
    {"COLLATE", "COLLATE", false, "leave it out and write it in the query: columns are BINARY"},
    {"REFERENCES", "REFERENCES", false, "leave it out: virtual tables have no foreign keys"},
    {"FOREIGN", "FOREIGN KEY", true, "leave it out: virtual tables have no foreign keys"},
    {"GENERATED", "GENERATED", false,
     "leave it out and compute it in a view: virtual tables have no generated columns"},
    {"AS", "AS", false,
     "leave it out and compute it in a view: virtual tables have no generated columns"},
    {"CONSTRAINT", "CONSTRAINT", true, "leave it out: there is no constraint but the key"},
};

static size_t word_length(const char *text)
{
    size_t length = 0;
    while (pt_is_name_character((uint8_t)text[length])) {
        length++;
    }
    return length;
}

const pt_constraint_words *pt_constraint_of_word(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof constraints / sizeof *constraints; i++) {
        if (pt_is_word(pt_slice_of(word, length), constraints[i].word)) {
            return &constraints[i];
        }
    }
    return NULL;
}

const pt_constraint_words *pt_constraint_find(const char *text)
{
    while (*text != 0) {
        size_t length = word_length(text);
        const pt_constraint_words *found = pt_constraint_of_word(text, length);
        if (found != NULL) {
            return found;
        }
        text += length != 0 ? length : 1;
    }
    return NULL;
}
