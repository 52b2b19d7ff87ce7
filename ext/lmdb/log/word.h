/*
 * The word: how far the log of a store is published. All processes that use the log share it, in
 * the file beside the store whose name has "-word" appended.
 *
 * It is one number, so that it changes at once: the low 24 bits of the version of LMDB's tree that
 * the records follow, a seal, and where the last published record ends. The seal tells a word that
 * another program has overwritten from one about another version. It has a file of its own: in the
 * log's, each flush of a record would have to write its page, too.
 *
 * The word is worth nothing after all processes have ended: then the log itself tells.
 */
#ifndef PT_LMDB_LOG_WORD_H
#define PT_LMDB_LOG_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    PT_LOG_END_BITS = 24,
    PT_LOG_LIFE_AT = 40, /* first bit; the seal is in between */
    PT_LOG_LIFE_MASK = 0xFFFFFF,
    PT_LOG_END_MAX = (1 << PT_LOG_END_BITS) - 1,
};

/* The shared page. */
typedef struct pt_log_word {
    uint8_t magic[8];
    _Atomic uint64_t log_id;    /* of the log that it is about */
    _Atomic uint64_t published; /* the word itself */
    _Atomic uint32_t pending;   /* process that may have written a record that is not published */
    atomic_bool failed;         /* the log can no longer be written */
    uint64_t inode;             /* number of its own file: a copy would not change with it */
} pt_log_word;

/* A lock would be one of each process, and the word would not change at once. */
_Static_assert(sizeof(uint64_t) == sizeof(long long) && ATOMIC_LLONG_LOCK_FREE == 2 &&
                   ATOMIC_BOOL_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
               "processes share atomic integers that need no lock");

typedef enum pt_log_word_use { PT_WORD_READ, PT_WORD_WRITE, PT_WORD_MAKE } pt_log_word_use;

/*
 * Maps the word of the store at `path`. PT_WORD_MAKE makes it if there is none, with the
 * permissions of the store's open file `store`. Returns 0 or errno: ENOENT; EEXIST or EMLINK if the
 * file is something else; EIDRM if it is a copy of the word, which PT_WORD_MAKE overwrites; ENOSPC,
 * as memory for which the disk has no room must not be written.
 */
int pt_log_word_map(const char *path, pt_log_word_use use, int store, pt_log_word **word);
void pt_log_word_unmap(pt_log_word *word); /* NULL is allowed */

/* Removes its file if there is one, about the log of this id, or about any if `id` is 0. False when
 * out of memory. */
bool pt_log_word_remove(const char *path, uint64_t id);

static inline uint64_t pt_log_word_of(uint64_t version, uint32_t end)
{
    uint64_t life = version & PT_LOG_LIFE_MASK;
    uint64_t seal = ((life << PT_LOG_END_BITS | end) + 1) * UINT64_C(0x9E3779B97F4A7C15) >> 48;
    return life << PT_LOG_LIFE_AT | seal << PT_LOG_END_BITS | end;
}

/* False for what is no word. */
static inline bool pt_log_word_is_sealed(uint64_t word)
{
    return word == pt_log_word_of(word >> PT_LOG_LIFE_AT, (uint32_t)word & PT_LOG_END_MAX);
}

static inline bool pt_log_word_is_of(uint64_t word, uint64_t version)
{
    return word >> PT_LOG_LIFE_AT == (version & PT_LOG_LIFE_MASK);
}

/* Where the published records end in a log that follows this version; 0 if the word is about
 * another one. */
static inline uint32_t pt_log_word_end(uint64_t word, uint64_t version)
{
    return pt_log_word_is_of(word, version) ? (uint32_t)word & PT_LOG_END_MAX : 0;
}

#endif
