#include "unit/transaction/two_sessions.h"

#include "fixtures/sealed.h"
#include "transaction/table_directory.h"

static int find(pt_session *user, const char *name, pt_table_id *table, pt_error *error)
{
    pt_view *view = NULL;
    int rc = pt_session_read(user, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_find(user, view, name, table, error);
    }
    pt_session_end_read(user);
    return rc;
}

static uint32_t found_id(pt_session *user, const char *name, pt_table_id *table)
{
    assert_ok(find(user, name, table, &error));
    assert_true(table->stamp.known);
    return table->id;
}

static void assert_absent(pt_session *user, const char *name, pt_table_id *table)
{
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(find(user, name, table, &error), SQLITE_NOTFOUND);
    assert_null(error.message);
    assert_false(table->stamp.known);
}

static void add(const char *name)
{
    uint64_t changes = pt_session_catalog_changes(session);
    assert_ok(pt_table_directory_add(session, name, PT_TABLE_OF_ENTITIES, &error));
    assert_true(pt_session_catalog_changes(session) != changes);
}

static void create(const char *name)
{
    begin(session);
    add(name);
    sync_now(session);
    pt_session_commit(session);
}

static void tables_get_ids_of_their_own(void **state)
{
    (void)state;
    pt_table_id logins = {0};
    pt_table_id orders = {0};
    assert_absent(session, "Logins", &logins);
    begin(session);
    add("Logins");
    add("Orders");
    uint32_t first = found_id(session, "Logins", &logins);
    uint32_t second = found_id(session, "Orders", &orders);
    assert_true(first != 0 && second != 0 && first != second);
    assert_absent(other, "Logins", &(pt_table_id){0});
    sync_now(session);
    pt_session_commit(session);
    assert_int_equal(found_id(session, "Logins", &logins), first);
    assert_int_equal(found_id(other, "Orders", &(pt_table_id){0}), second);
    create("Sales");
    uint32_t third = found_id(session, "Sales", &(pt_table_id){0});
    assert_true(third != first && third != second);
}

static void names_are_compared_without_case(void **state)
{
    (void)state;
    create("Logins[A-Z]@\xc3\x84");
    uint32_t id = found_id(session, "Logins[A-Z]@\xc3\x84", &(pt_table_id){0});
    assert_int_equal(found_id(session, "lOGINS[a-z]@\xc3\x84", &(pt_table_id){0}), id);
    assert_absent(session, "Logins{a-z}`\xc3\x84", &(pt_table_id){0});
    assert_absent(session, "Logins[A-Z]@\xc3\xa4", &(pt_table_id){0});
    assert_absent(session, "Logins", &(pt_table_id){0});
}

/* An entry of the catalogue with this content. */
static void store_content(const char *name, pt_slice content)
{
    pt_store *store = pt_session_store(session);
    test_key key = key_of(0, name);
    pt_slice record = sealed(key_slice(&key), content);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    assert_ok(engine->write_put(writer, key_slice(&key), record, &error));
    commit_write(writer);
    engine->unlock(store);
}

static void store_entry(const char *name, const char *content)
{
    store_content(name, pt_slice_text(content));
}

static void assert_entry(const char *name, const uint8_t *expected, size_t size)
{
    test_key key = key_of(0, name);
    pt_slice content;
    pt_snapshot *snapshot = begin_snapshot(pt_session_store(session));
    assert_true(pt_unseal(key_slice(&key), get_text(snapshot, 0, name), &content));
    assert_int_equal(content.size, size);
    assert_memory_equal(content.data, expected, size);
    engine->snapshot_free(snapshot);
}

static void the_record_is_the_documented_one(void **state)
{
    (void)state;
    create("LogIns");
    uint32_t id = found_id(session, "logins", &(pt_table_id){0});
    const uint8_t expected[] = {1, (uint8_t)id, 0, 0, 0, 'L', 'o', 'g', 'I', 'n', 's'};
    assert_entry("logins", expected, sizeof expected);
}

static void later_versions_may_append_to_the_record(void **state)
{
    (void)state;
    store_entry("logins", "\1\7\1\1\1Logins\1more");
    assert_int_equal(found_id(session, "Logins", &(pt_table_id){0}), 0x01010107);
}

static void damaged_records_are_reported(void **state)
{
    (void)state;
    const char *const records[] = {"", "\1\1\1\1", "\2\1\1\1\1Logins", "\1\377\377\377\377Logins"};
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        pt_table_id table = {0};
        store_entry("logins", records[i]);
        assert_fails(find(session, "Logins", &table, &error), SQLITE_CORRUPT_VTAB, "damaged");
        assert_false(table.stamp.known);
    }
    store_text(pt_session_store(session), 0, "logins", "\1\1\1\1\1Logins");
    assert_fails(find(session, "Logins", &(pt_table_id){0}, &error), SQLITE_CORRUPT_VTAB,
                 "damaged");
}

/* Makes a table with this id in the store. */
static void make_last_table(uint32_t id)
{
    pt_store *store = pt_session_store(session);
    pt_commit commit = {.sync = PT_SYNC_OFF, .next_table_id = id};
    lock_store(store);
    pt_writer *writer = begin_write(store);
    assert_ok(engine->write_commit(writer, &commit, &error));
    engine->unlock(store);
    create("Last");
    assert_int_equal(found_id(session, "Last", &(pt_table_id){0}), id);
}

static void ids_can_be_used_up(void **state)
{
    (void)state;
    make_last_table(0xFEFFFFFF);
    for (int i = 0; i < 2; i++) {
        begin(session);
        assert_fails(pt_table_directory_add(session, "More", PT_TABLE_OF_ENTITIES, &error),
                     SQLITE_FULL, "table ids");
        assert_false(pt_session_has_pending(session));
        sync_now(session);
        pt_session_commit(session);
    }
    found_id(other, "Last", &(pt_table_id){0});
}

static void looks_again_only_after_a_change(void **state)
{
    (void)state;
    pt_table_id table = {0};
    create("Logins");
    uint32_t id = found_id(session, "Logins", &table);
    fault_none();
    for (int i = 0; i < 3; i++) {
        commit_text(other, "a", "1");
        assert_int_equal(found_id(session, "Logins", &table), id);
    }
    assert_int_equal(fault_calls(FAULTY_GET), 0);
    create("Orders");
    assert_int_equal(found_id(session, "Logins", &table), id);
    assert_int_equal(fault_calls(FAULTY_GET), 1);
}

static void remove_table(const char *key_text)
{
    test_key key = key_of(0, key_text);
    assert_ok(pt_session_remove(session, key_slice(&key), &error));
    pt_session_note_catalog_change(session);
}

/* A cursor's view may be older, and show the same version of the catalogue. */
static void an_older_view_is_looked_at_again(void **state)
{
    (void)state;
    pt_table_id table = {0};
    pt_view *older = NULL;
    create("Logins");
    uint32_t id = found_id(session, "Logins", &table);
    assert_ok(pt_session_read(session, &older, &error));
    pt_session_cursor_opened(session);
    assert_true(pt_catalog_stamp_holds(&table.stamp, session, older));
    pt_view_retain(older);
    commit_text(session, "a", "1");
    assert_int_equal(found_id(session, "Logins", &table), id);
    assert_false(pt_catalog_stamp_holds(&table.stamp, session, older));
    pt_view_release(older);
    pt_session_cursor_closed(session);
}

static void others_notice_a_table_dropped_and_made_again(void **state)
{
    (void)state;
    pt_table_id table = {0};
    create("Logins");
    uint32_t id = found_id(other, "Logins", &table);
    begin(session);
    remove_table("logins");
    assert_int_equal(found_id(other, "Logins", &table), id);
    sync_now(session);
    pt_session_commit(session);
    assert_absent(other, "Logins", &table);
    create("LOGINS");
    assert_true(found_id(other, "Logins", &table) != id);
}

static void what_is_rolled_back_was_never_there(void **state)
{
    (void)state;
    pt_table_id table = {0};
    for (int synced = 0; synced < 2; synced++) {
        begin(session);
        add("Logins");
        found_id(session, "Logins", &table);
        if (synced) {
            sync_now(session);
            found_id(other, "Logins", &(pt_table_id){0});
        }
        pt_session_rollback(session);
        assert_absent(session, "Logins", &table);
        assert_absent(other, "Logins", &(pt_table_id){0});
    }
    begin(session);
    assert_int_equal(pt_session_savepoint(session, 0), SQLITE_OK);
    add("Logins");
    found_id(session, "Logins", &table);
    pt_session_rollback_to(session, 0);
    assert_absent(session, "Logins", &table);
    add("Logins");
    found_id(session, "Logins", &table);
}

static void a_withdrawn_drop_brings_the_table_back(void **state)
{
    (void)state;
    pt_table_id table = {0};
    create("Logins");
    uint32_t id = found_id(session, "Logins", &table);
    for (int synced = 0; synced < 2; synced++) {
        begin(session);
        remove_table("logins");
        assert_absent(session, "Logins", &table);
        if (synced) {
            sync_now(session);
        }
        pt_session_rollback(session);
        assert_int_equal(found_id(session, "Logins", &table), id);
    }
}

static void long_names_are_refused(void **state)
{
    (void)state;
    char name[PT_TABLE_NAME_MAX + 2];
    memset(name, 'N', sizeof name);
    name[PT_TABLE_NAME_MAX + 1] = 0;
    begin(session);
    assert_fails(pt_table_directory_add(session, name, PT_TABLE_OF_ENTITIES, &error), SQLITE_TOOBIG,
                 "501 bytes");
    assert_fails(find(session, name, &(pt_table_id){0}, &error), SQLITE_TOOBIG, "at most 500");
    assert_false(pt_session_has_pending(session));
    name[PT_TABLE_NAME_MAX] = 0;
    add(name);
    sync_now(session);
    pt_session_commit(session);
    found_id(other, name, &(pt_table_id){0});
}

static int create_and_find(pt_table_id *table, pt_error *error)
{
    int rc = pt_session_begin(session, error);
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_add(session, "Logins", PT_TABLE_OF_ENTITIES, error);
    }
    return rc == SQLITE_OK ? find(session, "LOGINS", table, error) : rc;
}

static void out_of_memory_adds_nothing(void **state)
{
    (void)state;
    for (int n = 0;; n++) {
        pt_error error = PT_ERROR_NONE;
        pt_table_id table = {0};
        failing_malloc_arm(n, false);
        int rc = create_and_find(&table, &error);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(table.stamp.known, !hit);
        pt_session_rollback(session);
        assert_absent(session, "Logins", &table);
        if (!hit) {
            assert_true(n >= 3);
            break;
        }
    }
}

/* --- Dropping --- */

static pt_view *view_of(pt_session *user)
{
    pt_view *view = NULL;
    assert_ok(pt_session_read(user, &view, &error));
    return view;
}

static int drop(const char *name, pt_error *error)
{
    return pt_table_directory_remove(session, view_of(session), name, error);
}

static void assert_garbage_of(uint32_t id, bool there, size_t size)
{
    test_key key = garbage_key(id);
    bool found = !there;
    pt_slice record = {0};
    pt_snapshot *snapshot = begin_snapshot(pt_session_store(session));
    assert_ok(engine->get(snapshot, key_slice(&key), &found, &record, &error));
    assert_int_equal(found, there);
    if (there) {
        assert_true(pt_unseal(key_slice(&key), record, &record));
        assert_true(record.size == size && record.data[0] == 1);
    }
    engine->snapshot_free(snapshot);
}

static void assert_garbage(uint32_t id, bool there)
{
    assert_garbage_of(id, there, 1);
}

static void a_dropped_table_is_garbage(void **state)
{
    (void)state;
    pt_table_id table = {0};
    create("Logins");
    uint32_t id = found_id(session, "Logins", &table);
    begin(session);
    uint64_t changes = pt_session_catalog_changes(session);
    assert_ok(drop("LOGINS", &error));
    assert_true(pt_session_catalog_changes(session) != changes);
    assert_absent(session, "Logins", &table);
    found_id(other, "Logins", &(pt_table_id){0});
    assert_garbage(id, false);
    sync_now(session);
    pt_session_commit(session);
    assert_absent(other, "Logins", &(pt_table_id){0});
    assert_garbage(id, true);
}

static void what_is_not_there_cannot_be_dropped(void **state)
{
    (void)state;
    pt_error error = PT_ERROR_NONE;
    begin(session);
    assert_int_equal(drop("Logins", &error), SQLITE_NOTFOUND);
    assert_null(error.message);
    assert_false(pt_session_has_pending(session));
}

static void dropped_and_made_again_it_is_another(void **state)
{
    (void)state;
    create("Logins");
    uint32_t id = found_id(session, "Logins", &(pt_table_id){0});
    begin(session);
    assert_int_equal(pt_session_savepoint(session, 0), SQLITE_OK);
    assert_ok(drop("Logins", &error));
    add("logins");
    assert_true(found_id(session, "Logins", &(pt_table_id){0}) != id);
    assert_ok(drop("Logins", &error));
    assert_absent(session, "Logins", &(pt_table_id){0});
    pt_session_rollback_to(session, 0);
    assert_int_equal(found_id(session, "Logins", &(pt_table_id){0}), id);
    assert_ok(drop("Logins", &error));
    add("LogIns");
    sync_now(session);
    pt_session_commit(session);
    assert_garbage(id, true);
    assert_true(found_id(other, "Logins", &(pt_table_id){0}) != id);
}

static void out_of_memory_drops_all_or_nothing(void **state)
{
    (void)state;
    create("Logins");
    for (int n = 0;; n++) {
        pt_error error = PT_ERROR_NONE;
        renew_session(&session, &host);
        begin(session);
        pt_view *view = view_of(session);
        failing_malloc_arm(n, false);
        int rc = pt_table_directory_remove(session, view, "Logins", &error);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(pt_session_has_pending(session), !hit);
        pt_session_rollback(session);
        if (!hit) {
            assert_true(n >= 2);
            break;
        }
    }
    found_id(session, "Logins", &(pt_table_id){0});
}

/* --- Properties --- */

static pt_table_properties properties_of(pt_session *user, const char *name)
{
    pt_table_entry entry = {0};
    assert_ok(pt_table_directory_read(view_of(user), name, &entry, &error));
    return entry.properties;
}

static void set_properties(const char *name, const pt_table_properties *properties)
{
    begin(session);
    assert_ok(
        pt_table_directory_set_properties(session, view_of(session), name, properties, &error));
    sync_now(session);
    pt_session_commit(session);
}

static void properties_are_part_of_the_record(void **state)
{
    (void)state;
    pt_table_id table = {0};
    create("Logins");
    uint32_t id = found_id(session, "logins", &table);
    assert_false(table.indexed);
    const pt_table_properties given = {.changes_id = 0x0A0B,
                                       .deletions_id = 0x0A0C,
                                       .horizon = 0x0102030405060708,
                                       .expires = pt_slice_text("Due")};
    set_properties("LOGINS", &given);
    const uint8_t expected[] = {1, (uint8_t)id, 0,    0, 0, 'L',  'o',  'g', 'i', 'n', 's', 0,
                                3, 0x0B,        0x0A, 0, 0, 0x0C, 0x0A, 0,   0,   8,   7,   6,
                                5, 4,           3,    2, 1, 3,    0,    'D', 'u', 'e'};
    assert_entry("logins", expected, sizeof expected);
    pt_table_properties found = properties_of(other, "Logins");
    assert_int_equal(found.changes_id, given.changes_id);
    assert_int_equal(found.deletions_id, given.deletions_id);
    assert_int_equal(found.horizon, given.horizon);
    assert_true(pt_slice_equal(found.expires, given.expires));
    pt_session_end_read(other);
    assert_int_equal(found_id(session, "logins", &table), id);
    assert_true(table.indexed);
    /* Without any, the record is that of a table that never had any. */
    set_properties("Logins", &(pt_table_properties){.horizon = 0});
    assert_entry("logins", expected, 11);
    assert_int_equal(found_id(session, "logins", &table), id);
    assert_false(table.indexed);
}

static void changes_that_are_switched_off_are_garbage(void **state)
{
    (void)state;
    pt_table_properties both = {.changes_id = 7, .deletions_id = 8};
    create("Logins");
    uint32_t id = found_id(session, "logins", &(pt_table_id){0});
    set_properties("Logins", &both);
    both.expires = pt_slice_text("Due");
    set_properties("Logins", &both);
    assert_garbage_of(7, false, 2);
    set_properties("Logins", &(pt_table_properties){.expires = pt_slice_text("Due")});
    assert_garbage_of(7, true, 2);
    assert_garbage_of(8, true, 2);
    set_properties("Logins", &(pt_table_properties){.changes_id = 9, .deletions_id = 10});
    begin(session);
    assert_ok(drop("Logins", &error));
    sync_now(session);
    pt_session_commit(session);
    assert_garbage_of(9, true, 2);
    assert_garbage_of(10, true, 2);
    assert_garbage(id, true);
}

static void properties_of_no_table_cannot_be_set(void **state)
{
    (void)state;
    const pt_table_properties given = {.changes_id = 7, .deletions_id = 8};
    pt_error error = PT_ERROR_NONE;
    begin(session);
    assert_int_equal(
        pt_table_directory_set_properties(session, view_of(session), "Logins", &given, &error),
        SQLITE_NOTFOUND);
    assert_false(pt_session_has_pending(session));
}

static void damaged_properties_are_reported(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[24];
        size_t size;
    } wrong[] = {{{0, 4}, 2},                          /* no such property */
                 {{0, 1, 7, 0, 0, 0, 8, 0, 0, 0}, 10}, /* no horizon */
                 {{0, 1, 0, 0, 0, 0, 8, 0, 0, 0}, 18}, /* no id of changes */
                 {{0, 1, 7, 0, 0, 0, 0, 0, 0, 0}, 18}, /* nor of deletions */
                 {{0, 1, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80}, 18},
                 {{0, 1, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F}, 18},
                 {{0, 2, 1}, 3},    /* half a size */
                 {{0, 2, 0, 0}, 4}, /* no name */
                 {{0, 2, 3, 0, 'D', 'u'}, 6}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint8_t content[64] = "\1\1\0\0\0Logins";
        memcpy(content + 11, wrong[i].bytes, wrong[i].size);
        store_content("logins", pt_slice_of(content, 11 + wrong[i].size));
        assert_fails(find(session, "Logins", &(pt_table_id){0}, &error), SQLITE_CORRUPT_VTAB,
                     "damaged");
    }
    uint8_t more[] = "\1\1\0\0\0Logins\0\2\3\0Duemore";
    store_content("logins", pt_slice_of(more, sizeof more));
    found_id(session, "Logins", &(pt_table_id){0});
}

static void out_of_memory_sets_all_or_no_properties(void **state)
{
    (void)state;
    create("Logins");
    set_properties("Logins", &(pt_table_properties){.changes_id = 7, .deletions_id = 8});
    for (int n = 0;; n++) {
        pt_error error = PT_ERROR_NONE;
        renew_session(&session, &host);
        begin(session);
        pt_view *view = view_of(session);
        failing_malloc_arm(n, false);
        int rc = pt_table_directory_set_properties(session, view, "Logins",
                                                   &(pt_table_properties){.horizon = 0}, &error);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(pt_session_has_pending(session), !hit);
        pt_session_rollback(session);
        if (!hit) {
            assert_true(n >= 2);
            break;
        }
    }
    assert_int_equal(properties_of(session, "Logins").changes_id, 7);
}

/* --- All tables --- */

/* The names that a walk finds, each followed by a blank. */
static void assert_walk(pt_session *user, const char *from, const char *expected)
{
    char names[200] = "";
    pt_table_walk walk = {0};
    pt_table_entry entry;
    bool found = true;
    assert_ok(pt_table_walk_open(&walk, view_of(user), pt_slice_text(from), &error));
    while (found) {
        assert_ok(pt_table_walk_next(&walk, &entry, &found, &error));
        size_t size = strlen(names);
        if (found) {
            snprintf(names + size, sizeof names - size, "%.*s ", (int)entry.name.size,
                     (const char *)entry.name.data);
            assert_int_equal(found_id(user, "Orders", &(pt_table_id){0}) == entry.id,
                             pt_slice_equal(entry.name, pt_slice_text("Orders")));
        }
    }
    assert_string_equal(names, expected);
    pt_table_walk_close(&walk);
    pt_session_end_read(user);
}

static void a_walk_shows_what_the_view_shows(void **state)
{
    (void)state;
    create("Orders");
    create("logins");
    create("Sales");
    assert_walk(session, "", "logins Orders Sales ");
    assert_walk(session, "M", "Orders Sales ");
    assert_walk(session, "ORDERS", "Orders Sales ");
    assert_walk(session, "t", "");
    begin(session);
    assert_ok(drop("sales", &error));
    add("Archive");
    assert_walk(session, "", "Archive logins Orders ");
    assert_walk(other, "", "logins Orders Sales ");
}

static int interrupt(void *context)
{
    (void)context;
    return 1;
}

/* After as many steps of other walks as there are before a question. */
static void a_walk_can_be_interrupted(void **state)
{
    (void)state;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_progress_handler(db, 1, interrupt, NULL);
    pt_interruption interruption = {.db = db, .steps = 8191};
    pt_table_walk walk = {0};
    pt_table_entry entry;
    bool found;
    pt_view *view = view_of(session);
    view->interruption = &interruption;
    assert_ok(pt_table_walk_open(&walk, view, pt_slice_text(""), &error));
    assert_fails(pt_table_walk_next(&walk, &entry, &found, &error), SQLITE_INTERRUPT,
                 "interrupted");
    view->interruption = NULL;
    pt_table_walk_close(&walk);
    pt_session_end_read(session);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_walk_does_not_see_tables_made_later(void **state)
{
    (void)state;
    pt_table_walk walk = {0};
    pt_table_entry entry;
    bool found = false;
    create("a");
    begin(session);
    add("b");
    assert_ok(pt_table_walk_open(&walk, view_of(session), (pt_slice){0}, &error));
    for (int i = 0; i < 2; i++) {
        assert_ok(pt_table_walk_next(&walk, &entry, &found, &error));
        assert_true(found);
        add("c");
    }
    assert_ok(pt_table_walk_next(&walk, &entry, &found, &error));
    assert_false(found);
    assert_ok(pt_table_walk_next(&walk, &entry, &found, &error));
    assert_false(found);
    pt_table_walk_close(&walk);
}

static void a_damaged_entry_stops_a_walk(void **state)
{
    (void)state;
    pt_table_walk walk = {0};
    pt_table_entry entry;
    bool found = true;
    store_text(pt_session_store(session), 0, "logins", "\1\7");
    assert_ok(pt_table_walk_open(&walk, view_of(session), (pt_slice){0}, &error));
    assert_fails(pt_table_walk_next(&walk, &entry, &found, &error), SQLITE_CORRUPT_VTAB,
                 "'logins'");
    pt_table_walk_close(&walk);
}

static void assert_kind(const char *name, pt_table_kind expected)
{
    pt_table_id table = {0};
    pt_table_entry entry;
    found_id(session, name, &table);
    assert_int_equal(table.kind, expected);
    assert_ok(pt_table_directory_read(view_of(session), name, &entry, &error));
    assert_int_equal(entry.kind, expected);
}

static void tables_have_a_kind(void **state)
{
    (void)state;
    begin(session);
    add("Logins");
    assert_ok(pt_table_directory_add(session, "Jobs", PT_TABLE_OF_MESSAGES, &error));
    assert_kind("logins", PT_TABLE_OF_ENTITIES);
    assert_kind("jobs", PT_TABLE_OF_MESSAGES);
    sync_now(session);
    pt_session_commit(session);
    assert_kind("jobs", PT_TABLE_OF_MESSAGES);
    uint32_t id = found_id(session, "jobs", &(pt_table_id){0});
    const uint8_t expected[] = {1, (uint8_t)id, 0, 0, 0, 'J', 'o', 'b', 's', 1};
    assert_entry("jobs", expected, sizeof expected);
    store_entry("later", "\1\7\1\1\1Later\77more");
    assert_kind("later", (pt_table_kind)077);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(tables_get_ids_of_their_own),
        TEST(names_are_compared_without_case),
        TEST(the_record_is_the_documented_one),
        TEST(later_versions_may_append_to_the_record),
        TEST(tables_have_a_kind),
        TEST(damaged_records_are_reported),
        TEST(ids_can_be_used_up),
        TEST(looks_again_only_after_a_change),
        TEST(an_older_view_is_looked_at_again),
        TEST(others_notice_a_table_dropped_and_made_again),
        TEST(what_is_rolled_back_was_never_there),
        TEST(a_withdrawn_drop_brings_the_table_back),
        TEST(long_names_are_refused),
        TEST(out_of_memory_adds_nothing),
        TEST(a_dropped_table_is_garbage),
        TEST(what_is_not_there_cannot_be_dropped),
        TEST(dropped_and_made_again_it_is_another),
        TEST(out_of_memory_drops_all_or_nothing),
        TEST(properties_are_part_of_the_record),
        TEST(changes_that_are_switched_off_are_garbage),
        TEST(properties_of_no_table_cannot_be_set),
        TEST(damaged_properties_are_reported),
        TEST(out_of_memory_sets_all_or_no_properties),
        TEST(a_walk_shows_what_the_view_shows),
        TEST(a_walk_can_be_interrupted),
        TEST(a_walk_does_not_see_tables_made_later),
        TEST(a_damaged_entry_stops_a_walk),
    };
    return cmocka_run_group_tests(tests, session_group_setup, fixture_teardown);
}
