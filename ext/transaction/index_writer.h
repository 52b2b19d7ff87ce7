/*
 * Keeps the indexes of a table, and its changes, in step with its entities. Around each change of
 * entities:
 *
 *     pt_index_writer_begin
 *     pt_index_writer_lose        for each entity that goes or is replaced, before that is written
 *     ... the entities are written ...
 *     pt_index_writer_gain        for the entity that was put
 *     pt_index_writer_remove      deletes the entries of lost entities
 *     pt_index_writer_find_conflict, until there is none
 *     pt_index_writer_put         puts the entries of the entity
 *
 * All within a row (transaction/session.h), which is discarded if anything fails.
 */
#ifndef PT_TRANSACTION_INDEX_WRITER_H
#define PT_TRANSACTION_INDEX_WRITER_H

#include "entity/record.h"
#include "transaction/change_log.h"
#include "transaction/index_directory.h"

/* An entry of an index for an entity. */
typedef struct pt_index_entry {
    unsigned index;  /* its number in the list */
    bool is_whole;   /* no value is missing: it is bound by uniqueness */
    bool stays;      /* it was there before the change */
    size_t key_at;   /* in the keys */
    size_t key_size; /* logical key */
    size_t parts;    /* bytes of the index's id and the parts: the beginning of the key */
    uint8_t types[PT_ENTRY_COLUMNS_MAX];
} pt_index_entry;

typedef struct pt_index_entries {
    pt_index_entry *entries;
    size_t count;
    size_t capacity;
    pt_buffer keys;
} pt_index_entries;

/* All zeros before its first use. */
typedef struct pt_index_writer {
    pt_index_list list;
    pt_session *session; /* of the change */
    pt_view *view;
    uint32_t table_id;
    pt_index_entries old;    /* entries of entities that go */
    pt_index_entries fresh;  /* of the entity that is put */
    bool replaces;           /* the entity that is put, or another that goes, had entries */
    pt_change_notes changes; /* if the table keeps its changes */
    size_t checked;          /* of the fresh entries: no other entity is in conflict with them */
    pt_buffer shape;
    pt_buffer large;
    pt_buffer bound;
    pt_buffer conflict; /* logical key of an entity */
    pt_scan scan;
} pt_index_writer;

void pt_index_writer_free(pt_index_writer *writer);

/* Loads the list of the table's indexes. Codes as pt_index_list_load and pt_session_read. */
int pt_index_writer_load(pt_index_writer *writer, pt_session *session, const char *table,
                         pt_error *error);

/* Begins a change. The list is loaded. */
void pt_index_writer_begin(pt_index_writer *writer, uint32_t table_id);
/* Gives back what a change has kept; after a failure too. */
void pt_index_writer_end(pt_index_writer *writer);

/* The entity of a logical key will go, if there is one. SQLITE_CORRUPT_VTAB: it is damaged, so its
 * entries are not known. */
int pt_index_writer_lose(pt_index_writer *writer, pt_slice key, pt_error *error);
/* The same for an entity whose record is open. */
int pt_index_writer_lose_record(pt_index_writer *writer, pt_slice key, pt_record *record,
                                pt_error *error);

/* What an entity was put from: the fields of all properties of its shape. */
typedef struct pt_put_entity {
    const pt_shape *shape; /* NULL: that is not known */
    const pt_field *fields;
    int64_t ticks;
} pt_put_entity;

/* The entity of a logical key has been put. `put` may be NULL: that is not known. */
int pt_index_writer_gain(pt_index_writer *writer, pt_slice key, const pt_put_entity *put,
                         pt_error *error);

/* Deletes the entries of entities lost so far, unless they stay. */
int pt_index_writer_remove(pt_index_writer *writer, pt_error *error);

/* Another entity that has the same values in a unique index. `key` is its logical key, valid until
 * the next call; `index` is NULL if there is none. */
int pt_index_writer_find_conflict(pt_index_writer *writer, const pt_index **index, pt_slice *key,
                                  pt_error *error);

/* SQLITE_CONSTRAINT_UNIQUE for a conflict with the entity of a logical key. */
int pt_index_writer_refuse(pt_index_writer *writer, const pt_index *index, pt_slice key,
                           pt_error *error);

/* Puts the entries of the entity. */
int pt_index_writer_put(pt_index_writer *writer, pt_error *error);

/* --- For building one index: transaction/index_builder.h --- */

/* Puts the entry of the entity that a scan is on. */
int pt_index_writer_add(pt_index_writer *writer, unsigned number, const pt_scan *scan,
                        pt_error *error);

/* SQLITE_CONSTRAINT_UNIQUE: the entry that a scan is on has the same values as the one before, and
 * so have their entities. `before` is empty at first. */
int pt_index_writer_check(pt_index_writer *writer, unsigned number, const pt_scan *scan,
                          pt_buffer *before, pt_error *error);

#endif
