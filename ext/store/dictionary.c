#include "store/dictionary.h"

#include <pthread.h>

#include "base/sqlite.h"
#include "entity/shape.h"

enum {
    NAME_CHUNKS = (PT_NAME_IDS_MAX + 1) / PT_ID_CHUNK,
    SHAPE_CHUNKS = (PT_SHAPE_IDS_MAX + 1) / PT_ID_CHUNK,
    NAME_SIZE_MAX = 255, /* longer names are not entered */
};

struct pt_dictionary {
    pthread_mutex_t mutex;
    atomic_uint epoch;
    pt_id_table names;
    pt_id_table shapes;
    pt_arena arena;
    pt_buffer description; /* of the shape that is looked for */
    _Atomic(pt_id_chunk *) name_chunks[NAME_CHUNKS];
    _Atomic(pt_id_chunk *) shape_chunks[SHAPE_CHUNKS];
};

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
    dictionary->names =
        (pt_id_table){.chunks = dictionary->name_chunks, .ids_max = PT_NAME_IDS_MAX};
    dictionary->shapes =
        (pt_id_table){.chunks = dictionary->shape_chunks, .ids_max = PT_SHAPE_IDS_MAX};
    return dictionary;
}

void pt_dictionary_free(pt_dictionary *dictionary)
{
    if (dictionary == NULL) {
        return;
    }
    pt_id_table_free(&dictionary->names);
    pt_id_table_free(&dictionary->shapes);
    pt_buffer_free(&dictionary->description);
    pt_arena_free(&dictionary->arena);
    pthread_mutex_destroy(&dictionary->mutex);
    sqlite3_free(dictionary);
}

static const pt_shape *look_up_shape(void *context, uint16_t shape_id)
{
    const pt_dictionary *dictionary = context;
    const pt_id_entry *found = pt_id_table_get(&dictionary->shapes, shape_id);
    return found != NULL ? found->shape : NULL;
}

static bool look_up_name(void *context, uint16_t name_id, pt_slice *name)
{
    const pt_dictionary *dictionary = context;
    const pt_id_entry *found = pt_id_table_get(&dictionary->names, name_id);
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

/* --- Names --- */

static pt_id_entry *find_name(const pt_dictionary *dictionary, pt_slice name, uint32_t hash)
{
    const pt_id_table *names = &dictionary->names;
    pt_id_entry *found = pt_id_table_bucket(names, hash);
    while (found != NULL && (found->hash != hash || !pt_slice_equal(found->bytes, name))) {
        found = found->next;
    }
    return found;
}

/* A name without id, found or made. NULL: out of memory. */
static pt_id_entry *enter_name(pt_dictionary *dictionary, pt_slice name, uint32_t hash)
{
    if (!pt_id_table_make_room(&dictionary->names)) {
        return NULL;
    }
    pt_id_entry *created = pt_arena_alloc(&dictionary->arena, sizeof *created);
    if (created == NULL) {
        return NULL;
    }
    pt_slice text = pt_arena_copy(&dictionary->arena, name);
    if (text.data == NULL) {
        pt_arena_give_back(&dictionary->arena, created);
        return NULL;
    }
    *created = (pt_id_entry){.hash = hash, .bytes = text};
    pt_id_table_insert(&dictionary->names, created);
    return created;
}

/* The name's entry with an id; *found is NULL if the dictionary does not take it. */
static int assign_name(pt_dictionary *dictionary, pt_slice name, pt_id_entry **found)
{
    *found = NULL;
    if (name.size > NAME_SIZE_MAX) {
        return SQLITE_OK;
    }
    uint32_t hash = pt_id_table_hash(name);
    pt_id_entry *present = find_name(dictionary, name, hash);
    if (present != NULL && present->id != 0) {
        *found = present;
        return SQLITE_OK;
    }
    if (dictionary->names.assigned == PT_NAME_IDS_MAX) {
        return SQLITE_OK;
    }
    if (present == NULL) {
        present = enter_name(dictionary, name, hash);
    }
    if (present == NULL || !pt_id_table_reserve(&dictionary->names)) {
        return SQLITE_NOMEM;
    }
    pt_id_table_give_next(&dictionary->names, present);
    *found = present;
    return SQLITE_OK;
}

/* --- Shapes --- */

/*
 * A shape holds the texts of its names. Ids may have been withdrawn and given to other names since
 * it was made; then the same description means something else.
 */
static bool names_are_current(const pt_dictionary *dictionary, const pt_shape *shape)
{
    for (unsigned i = 0; i < shape->count; i++) {
        const pt_property *property = &shape->properties[i];
        if (property->name_id == 0) {
            continue;
        }
        const pt_id_entry *name = pt_id_table_get(&dictionary->names, property->name_id);
        if (name == NULL || name->bytes.data != property->name.data) {
            return false;
        }
    }
    return true;
}

static pt_id_entry *find_shape(const pt_dictionary *dictionary, pt_slice description, uint32_t hash)
{
    const pt_id_table *shapes = &dictionary->shapes;
    pt_id_entry *found = pt_id_table_bucket(shapes, hash);
    while (found != NULL && (found->hash != hash || !pt_slice_equal(found->bytes, description) ||
                             !names_are_current(dictionary, found->shape))) {
        found = found->next;
    }
    return found;
}

/* A shape without id. SQLITE_NOMEM, SQLITE_CORRUPT_VTAB if the description is malformed. */
static int enter_shape(pt_dictionary *dictionary, pt_slice description, uint32_t hash,
                       pt_id_entry **entered)
{
    size_t size = pt_shape_memory(description);
    if (size == 0) {
        return SQLITE_CORRUPT_VTAB;
    }
    if (!pt_id_table_make_room(&dictionary->shapes)) {
        return SQLITE_NOMEM;
    }
    pt_id_entry *created = pt_arena_alloc(&dictionary->arena, sizeof *created);
    if (created == NULL) {
        return SQLITE_NOMEM;
    }
    void *memory = pt_arena_alloc(&dictionary->arena, size);
    if (memory == NULL) {
        pt_arena_give_back(&dictionary->arena, created);
        return SQLITE_NOMEM;
    }
    pt_shape *shape = pt_shape_parse(description, look_up_name, dictionary, memory);
    if (shape == NULL) {
        pt_arena_give_back(&dictionary->arena, created);
        return SQLITE_CORRUPT_VTAB;
    }
    *created = (pt_id_entry){.hash = hash, .bytes = shape->description, .shape = shape};
    pt_id_table_insert(&dictionary->shapes, created);
    *entered = created;
    return SQLITE_OK;
}

static int shape_in_scratch(pt_dictionary *dictionary, pt_slice description, pt_buffer *scratch,
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

static int assign_shape(pt_dictionary *dictionary, pt_slice description, pt_buffer *scratch,
                        const pt_shape **shape)
{
    uint32_t hash = pt_id_table_hash(description);
    pt_id_entry *found = find_shape(dictionary, description, hash);
    if (found == NULL || found->id == 0) {
        if (dictionary->shapes.assigned == PT_SHAPE_IDS_MAX) {
            return shape_in_scratch(dictionary, description, scratch, shape);
        }
        if (!pt_id_table_reserve(&dictionary->shapes)) {
            return SQLITE_NOMEM;
        }
        int rc = found != NULL ? SQLITE_OK : enter_shape(dictionary, description, hash, &found);
        if (rc != SQLITE_OK) {
            return rc;
        }
        pt_id_table_give_next(&dictionary->shapes, found);
    }
    *shape = found->shape;
    return SQLITE_OK;
}

static int assign_name_ids(pt_dictionary *dictionary, pt_field *fields, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (fields[i].name.size > UINT16_MAX) {
            return SQLITE_TOOBIG;
        }
        pt_id_entry *name;
        int rc = assign_name(dictionary, fields[i].name, &name);
        if (rc != SQLITE_OK) {
            return rc;
        }
        fields[i].name_id = name != NULL ? name->id : 0;
    }
    return SQLITE_OK;
}

static int find_or_assign_shape(pt_dictionary *dictionary, pt_field *fields, unsigned count,
                                pt_buffer *scratch, const pt_shape **shape)
{
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
    return assign_shape(dictionary, pt_buffer_slice(&dictionary->description), scratch, shape);
}

int pt_dictionary_shape(pt_dictionary *dictionary, pt_field *fields, unsigned count,
                        const pt_shape *hint, pt_buffer *scratch, const pt_shape **shape)
{
    uint64_t data_size;
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
    return pt_id_table_get(&dictionary->names, id)->bytes;
}

pt_slice pt_dictionary_shape_bytes(pt_dictionary *dictionary, uint16_t id)
{
    return pt_id_table_get(&dictionary->shapes, id)->bytes;
}

/*
 * Settles the cases that names and shapes have in common. True: `*rc` is the answer. False: the id
 * is the next one, and its entry has to be found or made.
 */
static bool is_loaded(pt_id_table *table, uint16_t id, pt_slice bytes, int *rc)
{
    *rc = SQLITE_OK;
    if (id <= table->committed) {
        return true;
    }
    if (id != table->committed + 1u) {
        *rc = SQLITE_CORRUPT_VTAB;
        return true;
    }
    if (id > table->assigned) {
        return false;
    }
    /* Assigned here, and stored since: its commit is about to be reported. */
    if (pt_slice_equal(pt_id_table_get(table, id)->bytes, bytes)) {
        table->committed = id;
    } else {
        *rc = SQLITE_CORRUPT_VTAB;
    }
    return true;
}

static int enter_stored_name(pt_dictionary *dictionary, pt_slice name)
{
    pt_id_table *names = &dictionary->names;
    if (name.size > NAME_SIZE_MAX) {
        return SQLITE_CORRUPT_VTAB;
    }
    uint32_t hash = pt_id_table_hash(name);
    pt_id_entry *found = find_name(dictionary, name, hash);
    if (found != NULL && found->id != 0) {
        return SQLITE_CORRUPT_VTAB;
    }
    if (found == NULL) {
        found = enter_name(dictionary, name, hash);
    }
    if (found == NULL || !pt_id_table_reserve(names)) {
        return SQLITE_NOMEM;
    }
    pt_id_table_give_next(names, found);
    names->committed = names->assigned;
    return SQLITE_OK;
}

int pt_dictionary_load_name(pt_dictionary *dictionary, uint16_t id, pt_slice name)
{
    int rc;
    pthread_mutex_lock(&dictionary->mutex);
    if (!is_loaded(&dictionary->names, id, name, &rc)) {
        rc = enter_stored_name(dictionary, name);
    }
    pthread_mutex_unlock(&dictionary->mutex);
    return rc;
}

static int enter_stored_shape(pt_dictionary *dictionary, pt_slice description)
{
    pt_id_table *shapes = &dictionary->shapes;
    uint32_t hash = pt_id_table_hash(description);
    pt_id_entry *found = find_shape(dictionary, description, hash);
    if (found != NULL && found->id != 0) {
        return SQLITE_CORRUPT_VTAB;
    }
    if (!pt_id_table_reserve(shapes)) {
        return SQLITE_NOMEM;
    }
    int rc = found != NULL ? SQLITE_OK : enter_shape(dictionary, description, hash, &found);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_id_table_give_next(shapes, found);
    shapes->committed = shapes->assigned;
    return SQLITE_OK;
}

int pt_dictionary_load_shape(pt_dictionary *dictionary, uint16_t id, pt_slice description)
{
    int rc;
    pthread_mutex_lock(&dictionary->mutex);
    if (id > PT_SHAPE_IDS_MAX) {
        rc = SQLITE_CORRUPT_VTAB;
    } else if (!is_loaded(&dictionary->shapes, id, description, &rc)) {
        rc = enter_stored_shape(dictionary, description);
    }
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
        pt_id_table_withdraw(&dictionary->names);
        pt_id_table_withdraw(&dictionary->shapes);
        atomic_fetch_add(&dictionary->epoch, 1);
    }
    pthread_mutex_unlock(&dictionary->mutex);
}

/* --- Id table --- */

enum { FIRST_BUCKETS = 64 };

bool pt_id_table_reserve(pt_id_table *table)
{
    _Atomic(pt_id_chunk *) *slot = &table->chunks[(table->assigned + 1u) / PT_ID_CHUNK];
    if (atomic_load_explicit(slot, memory_order_relaxed) != NULL) {
        return true;
    }
    pt_id_chunk *chunk = sqlite3_malloc64(sizeof *chunk);
    if (chunk == NULL) {
        return false;
    }
    for (int i = 0; i < PT_ID_CHUNK; i++) {
        atomic_init(&chunk->entries[i], NULL);
    }
    atomic_store_explicit(slot, chunk, memory_order_release);
    return true;
}

static void set_entry(pt_id_table *table, uint16_t id, pt_id_entry *entry)
{
    unsigned at = id / PT_ID_CHUNK;
    pt_id_chunk *chunk = atomic_load_explicit(&table->chunks[at], memory_order_relaxed);
    atomic_store_explicit(&chunk->entries[id % PT_ID_CHUNK], entry, memory_order_release);
}

static void set_id(pt_id_entry *entry, uint16_t id)
{
    entry->id = id;
    if (entry->shape != NULL) {
        entry->shape->id = id;
    }
}

void pt_id_table_give_next(pt_id_table *table, pt_id_entry *entry)
{
    table->assigned++;
    set_id(entry, table->assigned);
    set_entry(table, table->assigned, entry);
}

void pt_id_table_withdraw(pt_id_table *table)
{
    while (table->assigned > table->committed) {
        set_id(pt_id_table_get(table, table->assigned), 0);
        set_entry(table, table->assigned, NULL);
        table->assigned--;
    }
}

uint32_t pt_id_table_hash(pt_slice bytes)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < bytes.size; i++) {
        hash = (hash ^ bytes.data[i]) * 16777619u;
    }
    return hash;
}

pt_id_entry *pt_id_table_bucket(const pt_id_table *table, uint32_t hash)
{
    return table->bucket_count == 0 ? NULL : table->buckets[hash & (table->bucket_count - 1)];
}

static void push(pt_id_entry **buckets, unsigned bucket_count, pt_id_entry *entry)
{
    pt_id_entry **bucket = &buckets[entry->hash & (bucket_count - 1)];
    entry->next = *bucket;
    *bucket = entry;
}

bool pt_id_table_make_room(pt_id_table *table)
{
    if (table->entry_count < table->bucket_count) {
        return true;
    }
    unsigned count = table->bucket_count == 0 ? FIRST_BUCKETS : table->bucket_count * 2;
    pt_id_entry **buckets = sqlite3_malloc64(count * sizeof(pt_id_entry *));
    if (buckets == NULL) {
        return false;
    }
    memset(buckets, 0, count * sizeof(pt_id_entry *));
    for (unsigned i = 0; i < table->bucket_count; i++) {
        while (table->buckets[i] != NULL) {
            pt_id_entry *moved = table->buckets[i];
            table->buckets[i] = moved->next;
            push(buckets, count, moved);
        }
    }
    sqlite3_free(table->buckets);
    table->buckets = buckets;
    table->bucket_count = count;
    return true;
}

void pt_id_table_insert(pt_id_table *table, pt_id_entry *entry)
{
    push(table->buckets, table->bucket_count, entry);
    table->entry_count++;
}

void pt_id_table_free(pt_id_table *table)
{
    for (unsigned i = 0; i < (table->ids_max + 1) / PT_ID_CHUNK; i++) {
        sqlite3_free(atomic_load(&table->chunks[i]));
    }
    sqlite3_free(table->buckets);
}
