#include "store/dictionary.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/assert.h"
#include "base/sqlite.h"

enum {
    ID_CHUNK = 256,
    NAME_CHUNKS = (PT_NAME_IDS_MAX + 1) / ID_CHUNK,
    SHAPE_CHUNKS = (PT_SHAPE_IDS_MAX + 1) / ID_CHUNK,
    NAME_SIZE_MAX = 255, /* longer names get no id */
    FIRST_BUCKETS = 64,
};

/* A name or a shape. */
typedef struct id_entry {
    struct id_entry *next; /* in its bucket */
    uint32_t hash;         /* of the bytes */
    uint16_t id;           /* 0: none, or withdrawn */
    pt_slice bytes;        /* a name's text, with a NUL after it; a shape's description */
    pt_shape *shape;       /* NULL for a name */
} id_entry;

typedef struct id_chunk {
    _Atomic(id_entry *) entries[ID_CHUNK];
} id_chunk;

/*
 * All names, or all shapes: by id, and by content in a hash table. The array of chunks never moves,
 * and a chunk is allocated when its first id is needed. So an id can be looked up without a lock
 * while another thread adds one. An entry whose id was withdrawn can still be found by content.
 */
typedef struct id_table {
    _Atomic(id_chunk *) *chunks; /* (ids_max + 1) / ID_CHUNK of them */
    unsigned ids_max;
    uint16_t committed; /* highest committed id */
    uint16_t assigned;  /* highest id in use, >= committed */
    id_entry **buckets;
    unsigned bucket_count; /* a power of two, or 0 */
    unsigned entry_count;
} id_table;

struct pt_dictionary {
    pthread_mutex_t mutex;
    atomic_uint epoch;
    id_table names;
    id_table shapes;
    pt_arena arena;
    pt_buffer description; /* of the shape that is being looked up */
    _Atomic(id_chunk *) name_chunks[NAME_CHUNKS];
    _Atomic(id_chunk *) shape_chunks[SHAPE_CHUNKS];
};

/* --- Entries by id --- */

/* The entry of an id, or NULL. */
static inline id_entry *entry_of_id(const id_table *table, uint16_t id)
{
    if (id > table->ids_max) {
        return NULL;
    }
    id_chunk *chunk = atomic_load_explicit(&table->chunks[id / ID_CHUNK], memory_order_acquire);
    if (chunk == NULL) {
        return NULL;
    }
    return atomic_load_explicit(&chunk->entries[id % ID_CHUNK], memory_order_acquire);
}

/* Allocates the chunk of the next id, which must not be above ids_max. False when out of memory. */
static bool reserve_next_id(id_table *table)
{
    _Atomic(id_chunk *) *slot = &table->chunks[(table->assigned + 1u) / ID_CHUNK];
    if (atomic_load_explicit(slot, memory_order_relaxed) != NULL) {
        return true;
    }
    id_chunk *chunk = sqlite3_malloc64(sizeof *chunk);
    if (chunk == NULL) {
        return false;
    }
    for (int i = 0; i < ID_CHUNK; i++) {
        atomic_init(&chunk->entries[i], NULL);
    }
    /* Publish the chunk only after its entries are set: readers take no lock. */
    atomic_store_explicit(slot, chunk, memory_order_release);
    return true;
}

static void set_entry_id(id_entry *entry, uint16_t id)
{
    entry->id = id;
    if (entry->shape != NULL) {
        entry->shape->id = id;
    }
}

static void set_entry_of_id(id_table *table, uint16_t id, id_entry *entry)
{
    id_chunk *chunk = atomic_load_explicit(&table->chunks[id / ID_CHUNK], memory_order_relaxed);
    atomic_store_explicit(&chunk->entries[id % ID_CHUNK], entry, memory_order_release);
}

/* Gives an entry the next id, which has been reserved. */
static void assign_next_id(id_table *table, id_entry *entry)
{
    table->assigned++;
    set_entry_id(entry, table->assigned);
    set_entry_of_id(table, table->assigned, entry);
}

/* Takes the ids that are not committed away from their entries. */
static void withdraw_ids(id_table *table)
{
    while (table->assigned > table->committed) {
        set_entry_id(entry_of_id(table, table->assigned), 0);
        set_entry_of_id(table, table->assigned, NULL);
        table->assigned--;
    }
}

/* --- Entries by content --- */

static uint32_t hash_of_entry(pt_slice bytes)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < bytes.size; i++) {
        hash = (hash ^ bytes.data[i]) * 16777619u;
    }
    return hash;
}

static void push_entry(id_entry **buckets, unsigned bucket_count, id_entry *entry)
{
    id_entry **bucket = &buckets[entry->hash & (bucket_count - 1)];
    entry->next = *bucket;
    *bucket = entry;
}

/* Makes room in the buckets for one more entry. False when out of memory. */
static bool reserve_entry(id_table *table)
{
    if (table->entry_count < table->bucket_count) {
        return true;
    }
    unsigned count = table->bucket_count == 0 ? FIRST_BUCKETS : table->bucket_count * 2;
    id_entry **buckets = sqlite3_malloc64(count * sizeof(id_entry *));
    if (buckets == NULL) {
        return false;
    }
    memset(buckets, 0, count * sizeof(id_entry *));
    for (unsigned i = 0; i < table->bucket_count; i++) {
        while (table->buckets[i] != NULL) {
            id_entry *moved = table->buckets[i];
            table->buckets[i] = moved->next;
            push_entry(buckets, count, moved);
        }
    }
    sqlite3_free(table->buckets);
    table->buckets = buckets;
    table->bucket_count = count;
    return true;
}

/* Frees everything but the entries, which are in the dictionary's arena. */
static void free_id_table(id_table *table)
{
    for (unsigned i = 0; i < (table->ids_max + 1) / ID_CHUNK; i++) {
        sqlite3_free(atomic_load(&table->chunks[i]));
    }
    sqlite3_free(table->buckets);
}

/*
 * False if a name id in the shape's description has been withdrawn, and perhaps assigned to another
 * name, since the shape was made. The same description then means another shape.
 */
static bool names_are_current(const pt_dictionary *dictionary, const pt_shape *shape)
{
    for (unsigned i = 0; i < shape->count; i++) {
        const pt_property *property = &shape->properties[i];
        if (property->name_id == 0) {
            continue;
        }
        const id_entry *name = entry_of_id(&dictionary->names, property->name_id);
        if (name == NULL || name->bytes.data != property->name.data) {
            return false;
        }
    }
    return true;
}

static id_entry *find_entry(const pt_dictionary *dictionary, const id_table *table, pt_slice bytes,
                            uint32_t hash)
{
    if (table->bucket_count == 0) {
        return NULL;
    }
    id_entry *entry = table->buckets[hash & (table->bucket_count - 1)];
    while (entry != NULL &&
           (entry->hash != hash || !pt_slice_equal(entry->bytes, bytes) ||
            (entry->shape != NULL && !names_are_current(dictionary, entry->shape)))) {
        entry = entry->next;
    }
    return entry;
}

/* --- The dictionary --- */

pt_dictionary *pt_dictionary_new(void)
{
    pt_dictionary *dictionary = sqlite3_malloc64(sizeof *dictionary);
    if (dictionary == NULL) {
        return NULL;
    }
    memset(dictionary, 0, sizeof *dictionary);
    if (pthread_mutex_init(&dictionary->mutex, NULL) != 0) {
        sqlite3_free(dictionary);
        return NULL;
    }
    dictionary->names = (id_table){.chunks = dictionary->name_chunks, .ids_max = PT_NAME_IDS_MAX};
    dictionary->shapes =
        (id_table){.chunks = dictionary->shape_chunks, .ids_max = PT_SHAPE_IDS_MAX};
    return dictionary;
}

void pt_dictionary_free(pt_dictionary *dictionary)
{
    if (dictionary == NULL) {
        return;
    }
    free_id_table(&dictionary->names);
    free_id_table(&dictionary->shapes);
    pt_buffer_free(&dictionary->description);
    pt_arena_free(&dictionary->arena);
    pthread_mutex_destroy(&dictionary->mutex);
    sqlite3_free(dictionary);
}

static const pt_shape *look_up_shape(void *context, uint16_t shape_id)
{
    const pt_dictionary *dictionary = context;
    const id_entry *found = entry_of_id(&dictionary->shapes, shape_id);
    return found != NULL ? found->shape : NULL;
}

static bool look_up_name(void *context, uint16_t name_id, pt_slice *name)
{
    const pt_dictionary *dictionary = context;
    const id_entry *found = entry_of_id(&dictionary->names, name_id);
    if (found == NULL) {
        return false;
    }
    *name = found->bytes;
    return true;
}

pt_shape_source pt_dictionary_source(pt_dictionary *dictionary)
{
    return (pt_shape_source){.shape = look_up_shape, .name = look_up_name, .context = dictionary};
}

unsigned pt_dictionary_epoch(const pt_dictionary *dictionary)
{
    return atomic_load(&dictionary->epoch);
}

/* --- Assigning ids --- */

/* SQLITE_CORRUPT_VTAB if the name is too long to have an id. */
static int fill_name(pt_dictionary *dictionary, pt_slice name, id_entry *entry)
{
    if (name.size > NAME_SIZE_MAX) {
        return SQLITE_CORRUPT_VTAB;
    }
    entry->bytes = pt_arena_copy(&dictionary->arena, name);
    return entry->bytes.data != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* SQLITE_CORRUPT_VTAB if the description is malformed. */
static int fill_shape(pt_dictionary *dictionary, pt_slice description, id_entry *entry)
{
    size_t size = pt_shape_memory(description);
    if (size == 0) {
        return SQLITE_CORRUPT_VTAB;
    }
    void *memory = pt_arena_alloc(&dictionary->arena, size);
    if (memory == NULL) {
        return SQLITE_NOMEM;
    }
    entry->shape = pt_shape_parse(description, look_up_name, dictionary, memory);
    if (entry->shape == NULL) {
        return SQLITE_CORRUPT_VTAB;
    }
    entry->bytes = entry->shape->description;
    return SQLITE_OK;
}

/* Makes an entry without an id. */
static int make_entry(pt_dictionary *dictionary, id_table *table, pt_slice bytes, uint32_t hash,
                      id_entry **made)
{
    if (!reserve_entry(table)) {
        return SQLITE_NOMEM;
    }
    id_entry *entry = pt_arena_alloc(&dictionary->arena, sizeof *entry);
    if (entry == NULL) {
        return SQLITE_NOMEM;
    }
    *entry = (id_entry){.hash = hash};
    int rc = table == &dictionary->names ? fill_name(dictionary, bytes, entry)
                                         : fill_shape(dictionary, bytes, entry);
    if (rc != SQLITE_OK) {
        pt_arena_give_back(&dictionary->arena, entry);
        return rc;
    }
    push_entry(table->buckets, table->bucket_count, entry);
    table->entry_count++;
    *made = entry;
    return SQLITE_OK;
}

/* Finds or makes the entry of these bytes and gives it an id if it has none. *entry is NULL if no
 * id is left. */
static int assign_id(pt_dictionary *dictionary, id_table *table, pt_slice bytes, id_entry **entry)
{
    uint32_t hash = hash_of_entry(bytes);
    id_entry *found = find_entry(dictionary, table, bytes, hash);
    if (found == NULL || found->id == 0) {
        if (table->assigned == table->ids_max) {
            *entry = NULL;
            return SQLITE_OK;
        }
        if (!reserve_next_id(table)) {
            return SQLITE_NOMEM;
        }
        int rc = found != NULL ? SQLITE_OK : make_entry(dictionary, table, bytes, hash, &found);
        if (rc != SQLITE_OK) {
            return rc;
        }
        assign_next_id(table, found);
    }
    *entry = found;
    return SQLITE_OK;
}

static int assign_name_ids(pt_dictionary *dictionary, pt_field *fields, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pt_slice name = fields[i].name;
        if (name.size > UINT16_MAX) {
            return SQLITE_TOOBIG;
        }
        id_entry *entry = NULL;
        int rc = name.size <= NAME_SIZE_MAX
                     ? assign_id(dictionary, &dictionary->names, name, &entry)
                     : SQLITE_OK;
        if (rc != SQLITE_OK) {
            return rc;
        }
        fields[i].name_id = entry != NULL ? entry->id : 0;
    }
    return SQLITE_OK;
}

static int build_in_scratch(pt_dictionary *dictionary, pt_slice description, pt_buffer *scratch,
                            const pt_shape **shape)
{
    pt_buffer_clear(scratch);
    void *memory = pt_buffer_extend(scratch, pt_shape_memory(description));
    if (memory == NULL) {
        return SQLITE_NOMEM;
    }
    *shape = pt_shape_parse(description, look_up_name, dictionary, memory);
    return SQLITE_OK;
}

static int find_or_assign_shape(pt_dictionary *dictionary, pt_field *fields, unsigned count,
                                pt_buffer *scratch, const pt_shape **shape)
{
    /* The names come first: a description consists of their ids. */
    int rc = assign_name_ids(dictionary, fields, count);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!pt_shape_order_fields(fields, count)) {
        return SQLITE_CONSTRAINT;
    }
    pt_shape_describe(fields, count, &dictionary->description);
    if (dictionary->description.failed) {
        return SQLITE_NOMEM;
    }
    pt_slice description = pt_buffer_slice(&dictionary->description);
    id_entry *entry;
    rc = assign_id(dictionary, &dictionary->shapes, description, &entry);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (entry == NULL) {
        return build_in_scratch(dictionary, description, scratch, shape);
    }
    *shape = entry->shape;
    return SQLITE_OK;
}

int pt_dictionary_shape(pt_dictionary *dictionary, pt_field *fields, unsigned count,
                        const pt_shape *hint, pt_buffer *scratch, const pt_shape **shape)
{
    uint64_t data_size;
    /* Most entities have the shape of the one before: then there is no mutex and no look-up. */
    if (hint != NULL && pt_shape_fits(hint, fields, count, &data_size)) {
        *shape = hint;
        return SQLITE_OK;
    }
    if (count > UINT16_MAX) {
        return SQLITE_TOOBIG;
    }
    pthread_mutex_lock(&dictionary->mutex);
    int rc = find_or_assign_shape(dictionary, fields, count, scratch, shape);
    pthread_mutex_unlock(&dictionary->mutex);
    return rc;
}

/* --- For the engine --- */

pt_dictionary_counts pt_dictionary_committed(pt_dictionary *dictionary)
{
    pthread_mutex_lock(&dictionary->mutex);
    pt_dictionary_counts counts = {.names = dictionary->names.committed,
                                   .shapes = dictionary->shapes.committed};
    pthread_mutex_unlock(&dictionary->mutex);
    return counts;
}

pt_dictionary_counts pt_dictionary_assigned(pt_dictionary *dictionary)
{
    pthread_mutex_lock(&dictionary->mutex);
    pt_dictionary_counts counts = {.names = dictionary->names.assigned,
                                   .shapes = dictionary->shapes.assigned};
    pthread_mutex_unlock(&dictionary->mutex);
    return counts;
}

pt_slice pt_dictionary_name_bytes(pt_dictionary *dictionary, uint16_t id)
{
    return entry_of_id(&dictionary->names, id)->bytes;
}

pt_slice pt_dictionary_shape_bytes(pt_dictionary *dictionary, uint16_t id)
{
    return entry_of_id(&dictionary->shapes, id)->bytes;
}

static int load_next_entry(pt_dictionary *dictionary, id_table *table, uint16_t id, pt_slice bytes)
{
    if (id <= table->committed) {
        return SQLITE_OK;
    }
    if (id > table->ids_max || id != table->committed + 1u) {
        return SQLITE_CORRUPT_VTAB;
    }
    if (id <= table->assigned) {
        /* Assigned in this process and stored since. The commit has not been reported yet. */
        if (!pt_slice_equal(entry_of_id(table, id)->bytes, bytes)) {
            return SQLITE_CORRUPT_VTAB;
        }
    } else {
        id_entry *entry;
        int rc = assign_id(dictionary, table, bytes, &entry);
        if (rc != SQLITE_OK) {
            return rc;
        }
        PT_ASSERT(entry != NULL);
        if (entry->id != id) {
            return SQLITE_CORRUPT_VTAB; /* the same bytes are stored under two ids */
        }
    }
    table->committed = id;
    return SQLITE_OK;
}

int pt_dictionary_load_name(pt_dictionary *dictionary, uint16_t id, pt_slice name)
{
    pthread_mutex_lock(&dictionary->mutex);
    int rc = load_next_entry(dictionary, &dictionary->names, id, name);
    pthread_mutex_unlock(&dictionary->mutex);
    return rc;
}

int pt_dictionary_load_shape(pt_dictionary *dictionary, uint16_t id, pt_slice description)
{
    pthread_mutex_lock(&dictionary->mutex);
    int rc = load_next_entry(dictionary, &dictionary->shapes, id, description);
    pthread_mutex_unlock(&dictionary->mutex);
    return rc;
}

void pt_dictionary_commit(pt_dictionary *dictionary)
{
    pthread_mutex_lock(&dictionary->mutex);
    dictionary->names.committed = dictionary->names.assigned;
    dictionary->shapes.committed = dictionary->shapes.assigned;
    pthread_mutex_unlock(&dictionary->mutex);
}

void pt_dictionary_withdraw(pt_dictionary *dictionary)
{
    pthread_mutex_lock(&dictionary->mutex);
    if (dictionary->names.assigned > dictionary->names.committed ||
        dictionary->shapes.assigned > dictionary->shapes.committed) {
        withdraw_ids(&dictionary->names);
        withdraw_ids(&dictionary->shapes);
        atomic_fetch_add(&dictionary->epoch, 1);
    }
    pthread_mutex_unlock(&dictionary->mutex);
}
