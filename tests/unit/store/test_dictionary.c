#include "fixtures/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "faults/failing_malloc.h"
#include "store/dictionary.h"

#define LONG_NAME                                                                                  \
    "0123456789012345678901234567890123456789012345678901234567890123456789"                       \
    "0123456789012345678901234567890123456789012345678901234567890123456789"

static pt_field field_of(const char *name, pt_type type)
{
    return (pt_field){.name = pt_slice_text(name), .value = {.type = type}};
}

static const pt_shape *shape_of(pt_dictionary *dictionary, pt_field *fields, unsigned count,
                                pt_buffer *scratch)
{
    const pt_shape *shape = NULL;
    assert_int_equal(pt_dictionary_shape(dictionary, fields, count, NULL, scratch, &shape),
                     SQLITE_OK);
    return shape;
}

static const pt_shape *one_field_shape(pt_dictionary *dictionary, const char *name, pt_type type)
{
    pt_buffer scratch = {0};
    pt_field field = field_of(name, type);
    return shape_of(dictionary, &field, 1, &scratch);
}

/* The id of a name, by way of a shape with that name. */
static uint16_t id_of(pt_dictionary *dictionary, const char *name)
{
    return one_field_shape(dictionary, name, PT_DATETIME)->properties[0].name_id;
}

static bool has_name(pt_dictionary *dictionary, uint16_t id, const char *expected)
{
    pt_slice name = {0};
    pt_shape_source source = pt_dictionary_source(dictionary);
    return source.name(source.context, id, &name) &&
           pt_slice_equal(name, pt_slice_text(expected)) && name.data[name.size] == 0;
}

static bool has_no_name(pt_dictionary *dictionary, uint16_t id)
{
    pt_slice name = {0};
    pt_shape_source source = pt_dictionary_source(dictionary);
    return !source.name(source.context, id, &name);
}

static const pt_shape *stored_shape(pt_dictionary *dictionary, uint16_t id)
{
    pt_shape_source source = pt_dictionary_source(dictionary);
    return source.shape(source.context, id);
}

static void assert_counts(pt_dictionary *dictionary, uint16_t committed_names,
                          uint16_t committed_shapes, uint16_t assigned_names,
                          uint16_t assigned_shapes)
{
    pt_dictionary_counts committed = pt_dictionary_committed(dictionary);
    pt_dictionary_counts assigned = pt_dictionary_assigned(dictionary);
    assert_int_equal(committed.names, committed_names);
    assert_int_equal(committed.shapes, committed_shapes);
    assert_int_equal(assigned.names, assigned_names);
    assert_int_equal(assigned.shapes, assigned_shapes);
}

/* --- Names --- */

static void names_get_ids_in_order(void **state)
{
    (void)state;
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = 0;
    char too_long[257];
    memset(too_long, 'n', 256);
    too_long[256] = 0;
    pt_dictionary *dictionary = pt_dictionary_new();
    assert_counts(dictionary, 0, 0, 0, 0);
    assert_int_equal(id_of(dictionary, "Age"), 1);
    assert_int_equal(id_of(dictionary, "age"), 2);
    assert_int_equal(id_of(dictionary, ""), 3);
    assert_int_equal(id_of(dictionary, longest), 4);
    assert_int_equal(id_of(dictionary, too_long), 0);
    assert_int_equal(id_of(dictionary, "Age"), 1);
    assert_counts(dictionary, 0, 0, 4, 5);
    assert_true(has_name(dictionary, 1, "Age"));
    assert_true(has_name(dictionary, 4, longest));
    assert_true(has_no_name(dictionary, 0));
    assert_true(has_no_name(dictionary, 5));
    assert_true(has_no_name(dictionary, 65535));
    assert_true(pt_slice_equal(pt_dictionary_name_bytes(dictionary, 2), pt_slice_text("age")));
    pt_dictionary_free(dictionary);
    pt_dictionary_free(NULL);
}

static void all_name_ids_can_be_used(void **state)
{
    (void)state;
    char name[16];
    pt_dictionary *dictionary = pt_dictionary_new();
    for (unsigned i = 1; i < PT_NAME_IDS_MAX; i++) {
        snprintf(name, sizeof name, "p%u", i);
        assert_int_equal(pt_dictionary_load_name(dictionary, (uint16_t)i, pt_slice_text(name)),
                         SQLITE_OK);
    }
    assert_int_equal(id_of(dictionary, "p65535"), 65535);
    assert_int_equal(id_of(dictionary, "p40000"), 40000);
    assert_true(has_name(dictionary, 65535, "p65535"));
    const pt_shape *shape = one_field_shape(dictionary, "one more", PT_INT32);
    assert_int_equal(shape->id, 3); /* the shape has an id, the name lies in it */
    assert_int_equal(shape->properties[0].name_id, 0);
    assert_true(pt_slice_equal(shape->properties[0].name, pt_slice_text("one more")));
    assert_ptr_equal(one_field_shape(dictionary, "one more", PT_INT32), shape);
    pt_dictionary_free(dictionary);
}

/* --- Shapes --- */

static void shapes_order_fields_by_name_id(void **state)
{
    (void)state;
    static const uint8_t expected[] = {
        4, 0,            /* properties */
        1, 0, PT_INT32,  /* Age */
        2, 0, PT_STRING, /* Name */
        0, 0, PT_BINARY, /* 256 times a */
        0, 0, PT_GUID,   /* 256 times b */
        0, 1,            /* size of the first inline name, which follows */
    };
    char long_a[257];
    char long_b[257];
    memset(long_a, 'a', 256);
    memset(long_b, 'b', 256);
    long_a[256] = 0;
    long_b[256] = 0;
    pt_buffer scratch = {0};
    pt_dictionary *dictionary = pt_dictionary_new();
    assert_int_equal(pt_dictionary_load_name(dictionary, 1, pt_slice_text("Age")), SQLITE_OK);
    pt_field fields[] = {field_of(long_b, PT_GUID), field_of("Name", PT_STRING),
                         field_of(long_a, PT_BINARY), field_of("Age", PT_INT32)};
    fields[1].value.bytes = pt_slice_text("kept with its field");
    const pt_shape *shape = shape_of(dictionary, fields, 4, &scratch);
    assert_int_equal(shape->id, 1);
    assert_int_equal(shape->description.size, sizeof expected + 256 + 2 + 256);
    assert_memory_equal(shape->description.data, expected, sizeof expected);
    assert_true(pt_slice_equal(pt_dictionary_shape_bytes(dictionary, 1), shape->description));
    assert_int_equal(fields[0].name_id, 1);
    assert_int_equal(fields[1].name_id, 2);
    assert_true(pt_slice_equal(fields[1].value.bytes, pt_slice_text("kept with its field")));
    assert_true(pt_slice_equal(fields[2].name, pt_slice_text(long_a)));
    assert_int_equal(fields[3].name_id, 0);
    assert_ptr_equal(stored_shape(dictionary, 1), shape);
    assert_null(stored_shape(dictionary, 0));
    assert_null(stored_shape(dictionary, 2));
    assert_null(stored_shape(dictionary, 65535));
    pt_field other_order[] = {fields[3], fields[1], fields[0], fields[2]};
    assert_ptr_equal(shape_of(dictionary, other_order, 4, &scratch), shape);
    assert_true(pt_slice_equal(other_order[1].name, pt_slice_text("Name")));
    other_order[1].value.type = PT_DATETIME;
    assert_ptr_not_equal(shape_of(dictionary, other_order, 4, &scratch), shape);
    assert_counts(dictionary, 1, 0, 2, 2);
    assert_null(scratch.data);
    pt_dictionary_free(dictionary);
}

static void entity_without_properties_has_a_shape(void **state)
{
    (void)state;
    pt_buffer scratch = {0};
    pt_dictionary *dictionary = pt_dictionary_new();
    const pt_shape *shape = shape_of(dictionary, NULL, 0, &scratch);
    assert_int_equal(shape->id, 1);
    assert_int_equal(shape->count, 0);
    assert_ptr_equal(shape_of(dictionary, NULL, 0, &scratch), shape);
    pt_dictionary_free(dictionary);
}

static void names_may_not_occur_twice(void **state)
{
    (void)state;
    char long_name[300];
    memset(long_name, 'a', 299);
    long_name[299] = 0;
    pt_buffer scratch = {0};
    const pt_shape *shape;
    pt_dictionary *dictionary = pt_dictionary_new();
    pt_field fields[] = {field_of("A", PT_INT32), field_of("B", PT_INT32), field_of("A", PT_GUID)};
    assert_int_equal(pt_dictionary_shape(dictionary, fields, 3, NULL, &scratch, &shape),
                     SQLITE_CONSTRAINT);
    pt_field inline_fields[] = {field_of(long_name, PT_INT32), field_of(long_name, PT_INT32)};
    assert_int_equal(pt_dictionary_shape(dictionary, inline_fields, 2, NULL, &scratch, &shape),
                     SQLITE_CONSTRAINT);
    assert_int_equal(pt_dictionary_assigned(dictionary).shapes, 0);
    pt_dictionary_free(dictionary);
}

static void too_many_fields_are_refused(void **state)
{
    (void)state;
    enum { MANY = 65536 };
    pt_buffer scratch = {0};
    const pt_shape *shape = NULL;
    pt_field *fields = calloc(MANY, sizeof *fields);
    char(*names)[8] = calloc(MANY, sizeof *names);
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "%u", i * 7919 % MANY);
        fields[i] = field_of(names[i], PT_BOOLEAN);
    }
    pt_dictionary *dictionary = pt_dictionary_new();
    assert_int_equal(pt_dictionary_shape(dictionary, fields, MANY, NULL, &scratch, &shape),
                     SQLITE_TOOBIG);
    shape = shape_of(dictionary, fields, MANY - 1, &scratch);
    assert_int_equal(shape->count, MANY - 1);
    pt_dictionary_free(dictionary);
    free(fields);
    free(names);
}

/* Fields without ids, as columns give them. Names that only begin alike are other names. */
static void hint_is_taken_by_names(void **state)
{
    (void)state;
    pt_buffer scratch = {0};
    pt_dictionary *dictionary = pt_dictionary_new();
    pt_field fields[] = {field_of("Age", PT_INT32), field_of("Name", PT_STRING)};
    const pt_shape *hint = shape_of(dictionary, fields, 2, &scratch);
    const pt_shape *shape = NULL;
    pt_field same[] = {field_of("Age", PT_INT32), field_of("Name", PT_STRING)};
    assert_int_equal(pt_dictionary_shape(dictionary, same, 2, hint, &scratch, &shape), SQLITE_OK);
    assert_ptr_equal(shape, hint);
    assert_int_equal(same[0].name_id, fields[0].name_id);
    assert_int_equal(same[1].name_id, fields[1].name_id);
    static const char *const others[] = {"Ages", "Ag", "age", ""};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        pt_field other[] = {field_of(others[i], PT_INT32), field_of("Name", PT_STRING)};
        assert_int_equal(pt_dictionary_shape(dictionary, other, 2, hint, &scratch, &shape),
                         SQLITE_OK);
        assert_ptr_not_equal(shape, hint);
        assert_true(shape->id != 0 && shape->count == 2);
    }
    pt_field twice[] = {field_of("Age", PT_INT32), field_of("Age", PT_STRING)};
    assert_int_equal(pt_dictionary_shape(dictionary, twice, 2, hint, &scratch, &shape),
                     SQLITE_CONSTRAINT);
    pt_dictionary_free(dictionary);
}

static void hint_is_taken_only_if_it_fits(void **state)
{
    (void)state;
    pt_buffer scratch = {0};
    pt_dictionary *dictionary = pt_dictionary_new();
    pt_field fields[] = {field_of("A", PT_INT32), field_of("B", PT_STRING)};
    const pt_shape *hint = shape_of(dictionary, fields, 2, &scratch);
    const pt_shape *shape = NULL;
    pt_field nameless = {.name_id = fields[0].name_id, .value = {.type = PT_INT32}};
    pt_field by_id[] = {nameless, fields[1]}; /* with a fitting hint names are not looked at */
    assert_int_equal(pt_dictionary_shape(dictionary, by_id, 2, hint, &scratch, &shape), SQLITE_OK);
    assert_ptr_equal(shape, hint);
    assert_int_equal(pt_dictionary_shape(dictionary, fields, 1, hint, &scratch, &shape), SQLITE_OK);
    assert_ptr_not_equal(shape, hint);
    fields[1].value.type = PT_GUID;
    assert_int_equal(pt_dictionary_shape(dictionary, fields, 2, hint, &scratch, &shape), SQLITE_OK);
    assert_ptr_not_equal(shape, hint);
    pt_field swapped[] = {field_of("B", PT_STRING), field_of("A", PT_INT32)};
    assert_int_equal(pt_dictionary_shape(dictionary, swapped, 2, hint, &scratch, &shape),
                     SQLITE_OK);
    assert_ptr_equal(shape, hint);
    assert_int_equal(swapped[0].name_id, 1);
    pt_dictionary_free(dictionary);
}

/* It has no id to be known by; the shape is found all the same. */
static void hint_with_a_long_name_is_no_help(void **state)
{
    (void)state;
    char long_name[300];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    pt_buffer scratch = {0};
    pt_dictionary *dictionary = pt_dictionary_new();
    pt_field fields[] = {field_of("A", PT_INT32), field_of(long_name, PT_INT32)};
    const pt_shape *hint = shape_of(dictionary, fields, 2, &scratch);
    const pt_shape *shape = NULL;
    assert_true(hint->id != 0 && hint->properties[1].name_id == 0);
    pt_field same[] = {field_of("A", PT_INT32), field_of(long_name, PT_INT32)};
    assert_int_equal(pt_dictionary_shape(dictionary, same, 2, hint, &scratch, &shape), SQLITE_OK);
    assert_ptr_equal(shape, hint);
    pt_field other[] = {field_of("A", PT_INT32), field_of("B", PT_INT32)};
    assert_int_equal(pt_dictionary_shape(dictionary, other, 2, hint, &scratch, &shape), SQLITE_OK);
    assert_ptr_not_equal(shape, hint);
    pt_dictionary_free(dictionary);
}

static void without_shape_ids_shapes_go_into_scratch(void **state)
{
    (void)state;
    char name[16];
    pt_buffer scratch = {0};
    pt_dictionary *dictionary = pt_dictionary_new();
    for (unsigned i = 1; i <= PT_SHAPE_IDS_MAX; i++) {
        snprintf(name, sizeof name, "p%u", i);
        assert_int_equal(one_field_shape(dictionary, name, PT_DOUBLE)->id, i);
    }
    pt_field field = field_of("p9", PT_STRING);
    const pt_shape *shape = NULL;
    failing_malloc_arm(0, false);
    assert_int_equal(pt_dictionary_shape(dictionary, &field, 1, NULL, &scratch, &shape),
                     SQLITE_NOMEM);
    assert_true(failing_malloc_disarm());
    pt_buffer_free(&scratch);
    shape = shape_of(dictionary, &field, 1, &scratch);
    assert_int_equal(shape->id, 0);
    assert_ptr_equal(shape, scratch.data);
    assert_int_equal(shape->properties[0].name_id, 9);
    assert_true(pt_slice_equal(shape->properties[0].name, pt_slice_text("p9")));
    assert_int_equal(one_field_shape(dictionary, "p9", PT_DOUBLE)->id, 9);
    const pt_shape *again = NULL; /* a shape without id is no hint */
    assert_int_equal(pt_dictionary_shape(dictionary, &field, 1, shape, &scratch, &again),
                     SQLITE_OK);
    assert_int_equal(again->id, 0);
    assert_int_equal(pt_dictionary_load_shape(dictionary, PT_SHAPE_IDS_MAX + 1, shape->description),
                     SQLITE_CORRUPT_VTAB);
    pt_buffer_free(&scratch);
    pt_dictionary_free(dictionary);
}

/* --- Commit and withdrawal --- */

static void withdrawn_ids_are_given_out_again(void **state)
{
    (void)state;
    pt_dictionary *dictionary = pt_dictionary_new();
    unsigned epoch = pt_dictionary_epoch(dictionary);
    pt_dictionary_withdraw(dictionary);
    assert_int_equal(pt_dictionary_epoch(dictionary), epoch);
    const pt_shape *kept = one_field_shape(dictionary, "kept", PT_INT32);
    assert_true(has_name(dictionary, 1, "kept"));
    pt_dictionary_commit(dictionary);
    assert_counts(dictionary, 1, 1, 1, 1);
    const pt_shape *lost = one_field_shape(dictionary, "lost", PT_INT32);
    const pt_shape *second = one_field_shape(dictionary, "kept", PT_GUID);
    assert_int_equal(lost->id, 2);
    assert_int_equal(second->id, 3);
    pt_dictionary_withdraw(dictionary);
    assert_int_not_equal(pt_dictionary_epoch(dictionary), epoch);
    assert_counts(dictionary, 1, 1, 1, 1);
    assert_true(has_no_name(dictionary, 2));
    assert_null(stored_shape(dictionary, 2));
    assert_int_equal(kept->id, 1);
    assert_int_equal(lost->id, 0);
    /* Objects come back with new ids. */
    assert_ptr_equal(one_field_shape(dictionary, "kept", PT_GUID), second);
    assert_int_equal(second->id, 2);
    /* The name id means another name now, so the old shape must not. */
    const pt_shape *other = one_field_shape(dictionary, "other", PT_INT32);
    assert_ptr_not_equal(other, lost);
    assert_true(pt_slice_equal(other->description, lost->description));
    assert_true(pt_slice_equal(other->properties[0].name, pt_slice_text("other")));
    pt_dictionary_withdraw(dictionary);
    assert_ptr_equal(one_field_shape(dictionary, "lost", PT_INT32), lost);
    assert_true(has_name(dictionary, 2, "lost"));
    pt_dictionary_free(dictionary);
}

/* --- Loading --- */

static int load_name(pt_dictionary *dictionary, uint16_t id, const char *name)
{
    return pt_dictionary_load_name(dictionary, id, pt_slice_text(name));
}

static void stored_entries_are_loaded_in_order(void **state)
{
    (void)state;
    static const uint8_t description[] = {2, 0, 1, 0, PT_INT32, 2, 0, PT_STRING};
    static const uint8_t unknown_name[] = {1, 0, 9, 0, PT_INT32};
    static const uint8_t unknown_type[] = {1, 0, 1, 0, 99};
    pt_slice whole = pt_slice_of(description, sizeof description);
    pt_dictionary *dictionary = pt_dictionary_new();
    assert_int_equal(load_name(dictionary, 2, "B"), SQLITE_CORRUPT_VTAB);
    assert_int_equal(load_name(dictionary, 1, "A"), SQLITE_OK);
    assert_int_equal(pt_dictionary_load_shape(dictionary, 1, whole), SQLITE_CORRUPT_VTAB);
    assert_int_equal(load_name(dictionary, 2, "B"), SQLITE_OK);
    assert_int_equal(load_name(dictionary, 1, "passed over"), SQLITE_OK);
    assert_int_equal(load_name(dictionary, 3, "B"), SQLITE_CORRUPT_VTAB);
    assert_int_equal(load_name(dictionary, 4, "D"), SQLITE_CORRUPT_VTAB);
    assert_int_equal(pt_dictionary_load_shape(dictionary, 2, whole), SQLITE_CORRUPT_VTAB);
    for (size_t size = 0; size < sizeof description; size++) {
        assert_int_equal(pt_dictionary_load_shape(dictionary, 1, pt_slice_of(description, size)),
                         SQLITE_CORRUPT_VTAB);
    }
    assert_int_equal(
        pt_dictionary_load_shape(dictionary, 1, pt_slice_of(unknown_name, sizeof unknown_name)),
        SQLITE_CORRUPT_VTAB);
    assert_int_equal(
        pt_dictionary_load_shape(dictionary, 1, pt_slice_of(unknown_type, sizeof unknown_type)),
        SQLITE_CORRUPT_VTAB);
    assert_int_equal(pt_dictionary_load_shape(dictionary, 1, whole), SQLITE_OK);
    assert_int_equal(pt_dictionary_load_shape(dictionary, 1, whole), SQLITE_OK);
    assert_int_equal(pt_dictionary_load_shape(dictionary, 2, whole), SQLITE_CORRUPT_VTAB);
    assert_counts(dictionary, 2, 1, 2, 1);
    pt_buffer scratch = {0};
    pt_field fields[] = {field_of("B", PT_STRING), field_of("A", PT_INT32)};
    assert_ptr_equal(shape_of(dictionary, fields, 2, &scratch), stored_shape(dictionary, 1));
    assert_int_equal(id_of(dictionary, "C"), 3);
    pt_dictionary_free(dictionary);
}

/* Another thread may see a commit in the store before the session reports it here. */
static void assigned_entries_may_be_loaded(void **state)
{
    (void)state;
    pt_dictionary *dictionary = pt_dictionary_new();
    const pt_shape *shape = one_field_shape(dictionary, "A", PT_INT32);
    assert_int_equal(id_of(dictionary, "B"), 2);
    assert_int_equal(load_name(dictionary, 1, "A"), SQLITE_OK);
    assert_int_equal(load_name(dictionary, 2, "X"), SQLITE_CORRUPT_VTAB);
    assert_int_equal(load_name(dictionary, 2, "B"), SQLITE_OK);
    assert_int_equal(pt_dictionary_load_shape(dictionary, 1, shape->description), SQLITE_OK);
    assert_counts(dictionary, 2, 1, 2, 2);
    pt_dictionary_commit(dictionary);
    assert_counts(dictionary, 2, 2, 2, 2);
    pt_dictionary_withdraw(dictionary);
    assert_true(has_name(dictionary, 2, "B"));
    assert_int_equal(shape->id, 1);
    pt_dictionary_free(dictionary);
}

static void withdrawn_objects_are_loaded_with_the_stored_id(void **state)
{
    (void)state;
    pt_dictionary *dictionary = pt_dictionary_new();
    assert_int_equal(id_of(dictionary, "A"), 1);
    const pt_shape *shape = one_field_shape(dictionary, "B", PT_INT32);
    pt_dictionary_withdraw(dictionary);
    assert_int_equal(load_name(dictionary, 1, "X"), SQLITE_OK);
    assert_int_equal(load_name(dictionary, 2, "B"), SQLITE_OK);
    assert_int_equal(pt_dictionary_load_shape(dictionary, 1, shape->description), SQLITE_OK);
    assert_ptr_equal(stored_shape(dictionary, 1), shape);
    assert_int_equal(shape->id, 1);
    pt_dictionary_free(dictionary);
}

/* --- Against a model --- */

enum { MODEL_NAMES = 40 };

typedef struct model {
    int ids[MODEL_NAMES]; /* of each name; 0: none */
    int committed;
    int assigned;
} model;

static void random_sessions_agree_with_a_model(void **state)
{
    (void)state;
    model expected = {0};
    char name[16];
    uint64_t seed = 5;
    pt_dictionary *dictionary = pt_dictionary_new();
    for (int step = 0; step < 3000; step++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        unsigned choice = (unsigned)(seed >> 33) % 30;
        unsigned number = (unsigned)(seed >> 40) % MODEL_NAMES;
        if (choice == 0 && expected.assigned > expected.committed) {
            pt_dictionary_commit(dictionary);
            expected.committed = expected.assigned;
        } else if (choice <= 5) {
            pt_dictionary_withdraw(dictionary);
            for (int i = 0; i < MODEL_NAMES; i++) {
                if (expected.ids[i] > expected.committed) {
                    expected.ids[i] = 0;
                }
            }
            expected.assigned = expected.committed;
        } else {
            if (expected.ids[number] == 0) {
                expected.ids[number] = ++expected.assigned;
            }
            snprintf(name, sizeof name, "name %u", number);
            const pt_shape *shape = one_field_shape(dictionary, name, PT_DATETIME);
            assert_int_equal(shape->properties[0].name_id, expected.ids[number]);
            assert_true(pt_slice_equal(shape->properties[0].name, pt_slice_text(name)));
            assert_true(has_name(dictionary, (uint16_t)expected.ids[number], name));
            assert_ptr_equal(stored_shape(dictionary, shape->id), shape);
        }
        assert_int_equal(pt_dictionary_committed(dictionary).names, expected.committed);
        assert_int_equal(pt_dictionary_assigned(dictionary).names, expected.assigned);
    }
    pt_dictionary_free(dictionary);
}

/* --- Threads --- */

typedef struct shared_dictionary {
    pt_dictionary *dictionary;
    atomic_bool over;
} shared_dictionary;

static void *look_names_up(void *context)
{
    shared_dictionary *shared = context;
    intptr_t wrong = 0;
    while (!atomic_load(&shared->over)) {
        unsigned count = pt_dictionary_committed(shared->dictionary).names;
        for (unsigned id = 1; id <= count; id++) {
            char expected[16];
            snprintf(expected, sizeof expected, "p%u", id);
            const pt_shape *shape = stored_shape(shared->dictionary, (uint16_t)id);
            wrong += !has_name(shared->dictionary, (uint16_t)id, expected) || shape == NULL ||
                     !pt_slice_equal(shape->properties[0].name, pt_slice_text(expected));
        }
    }
    return (void *)wrong;
}

static void readers_need_no_lock(void **state)
{
    (void)state;
    shared_dictionary shared = {.dictionary = pt_dictionary_new()};
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, look_names_up, &shared), 0);
    for (unsigned i = 1; i <= 600; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        one_field_shape(shared.dictionary, "to be withdrawn", PT_INT32);
        pt_dictionary_withdraw(shared.dictionary);
        one_field_shape(shared.dictionary, name, PT_INT32);
        pt_dictionary_commit(shared.dictionary);
    }
    atomic_store(&shared.over, true);
    void *wrong;
    pthread_join(reader, &wrong);
    assert_null(wrong);
    pt_dictionary_free(shared.dictionary);
}

static void stored_names_are_short(void **state)
{
    (void)state;
    pt_dictionary *dictionary = pt_dictionary_new();
    pt_slice name = pt_slice_text(LONG_NAME LONG_NAME);
    assert_int_equal(pt_dictionary_load_name(dictionary, 1, pt_slice_of(name.data, 256)),
                     SQLITE_CORRUPT_VTAB);
    assert_int_equal(pt_dictionary_load_name(dictionary, 1, pt_slice_of(name.data, 255)),
                     SQLITE_OK);
    pt_dictionary_free(dictionary);
}

/* The shape is known from before, but the name in it has gone. */
static void stored_shapes_have_stored_names(void **state)
{
    (void)state;
    pt_dictionary *dictionary = pt_dictionary_new();
    uint8_t description[100];
    pt_slice bytes = one_field_shape(dictionary, "Age", PT_INT32)->description;
    memcpy(description, bytes.data, bytes.size);
    bytes.data = description;
    pt_dictionary_withdraw(dictionary);
    assert_int_equal(pt_dictionary_load_shape(dictionary, 1, bytes), SQLITE_CORRUPT_VTAB);
    assert_int_equal(pt_dictionary_load_name(dictionary, 1, pt_slice_text("Age")), SQLITE_OK);
    assert_int_equal(pt_dictionary_load_shape(dictionary, 1, bytes), SQLITE_OK);
    pt_dictionary_free(dictionary);
}

/* --- Out of memory --- */

/* With names of several lengths, so that every kind of memory is asked for where none is left. */
static int fill_dictionary(pt_dictionary *dictionary)
{
    int rc = SQLITE_OK;
    pt_buffer scratch = {0};
    for (int i = 0; rc == SQLITE_OK && i < 300; i++) {
        char name[300];
        const pt_shape *shape;
        snprintf(name, sizeof name, "p%d%.*s", i, i < 290 ? i % 11 * 13 : 0, LONG_NAME);
        pt_field fields[] = {field_of(name, PT_INT32), field_of("common", PT_STRING)};
        rc = pt_dictionary_shape(dictionary, fields, 2, NULL, &scratch, &shape);
    }
    return rc;
}

static void failed_allocations_leave_it_usable(void **state)
{
    (void)state;
    for (int n = 0;; n++) {
        sqlite3_int64 used = sqlite3_memory_used();
        failing_malloc_arm(n, false);
        pt_dictionary *dictionary = pt_dictionary_new();
        int rc = dictionary == NULL ? SQLITE_NOMEM : fill_dictionary(dictionary);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        if (dictionary != NULL) {
            assert_int_equal(fill_dictionary(dictionary), SQLITE_OK);
            assert_counts(dictionary, 0, 0, 301, 300);
            assert_true(has_name(dictionary, 301, "p299"));
            pt_dictionary_free(dictionary);
        }
        assert_int_equal(sqlite3_memory_used(), used);
        if (!hit) {
            break;
        }
    }
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_get_ids_in_order),
        cmocka_unit_test(all_name_ids_can_be_used),
        cmocka_unit_test(shapes_order_fields_by_name_id),
        cmocka_unit_test(entity_without_properties_has_a_shape),
        cmocka_unit_test(names_may_not_occur_twice),
        cmocka_unit_test(too_many_fields_are_refused),
        cmocka_unit_test(hint_is_taken_by_names),
        cmocka_unit_test(hint_is_taken_only_if_it_fits),
        cmocka_unit_test(hint_with_a_long_name_is_no_help),
        cmocka_unit_test(without_shape_ids_shapes_go_into_scratch),
        cmocka_unit_test(withdrawn_ids_are_given_out_again),
        cmocka_unit_test(stored_entries_are_loaded_in_order),
        cmocka_unit_test(assigned_entries_may_be_loaded),
        cmocka_unit_test(withdrawn_objects_are_loaded_with_the_stored_id),
        cmocka_unit_test(random_sessions_agree_with_a_model),
        cmocka_unit_test(readers_need_no_lock),
        cmocka_unit_test(failed_allocations_leave_it_usable),
        cmocka_unit_test(stored_names_are_short),
        cmocka_unit_test(stored_shapes_have_stored_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
