#include "service/remote_write.h"

#include "entity/azure_limits.h"
#include "entity/key.h"
#include "module/module.h"
#include "service/delivery.h"
#include "service/entity_text.h"
#include "service/remote_transaction.h"
#include "table/arguments.h"
#include "value/json_write.h"

enum { ETAG_MAX = 1000 };

#define ANY_ETAG "*"

/* One row of a statement. */
typedef struct remote_write {
    pt_remote_table *table;
    sqlite3_value **keys;     /* the new ones */
    sqlite3_value **declared; /* values of the declared columns */
    sqlite3_value **tail;     /* by PT_REMOTE_..., then the row ids */
    bool all_given;           /* an UPDATE that does not say which columns SET names */
    pt_bag *bag;
    pt_error *error;
} remote_write;

static const pt_config *config_of(const remote_write *w)
{
    return &w->table->config.base;
}

static pt_remote_target target_of(const remote_write *w)
{
    const pt_service_config *config = &w->table->config;
    return (pt_remote_target){.service = w->table->service,
                              .account = config->account,
                              .table = config->base.table,
                              .timeout = config->timeout,
                              .retries = config->retries};
}

static bool replaces(const remote_write *w)
{
    return sqlite3_vtab_on_conflict(w->table->service->db) == SQLITE_REPLACE;
}

/* --- An operation --- */

/* What the service would refuse by its rules is refused here, where the row is known. */
static int check_remote_entity(remote_write *w, const pt_remote_operation *operation)
{
    uint64_t bytes = 0;
    int rc =
        pt_limits_check_keys(operation->partition, operation->row, PT_LIMITS_OF_SERVICE, w->error);
    if (rc != SQLITE_OK || operation->mode == PT_WRITE_DELETE) {
        return rc;
    }
    for (unsigned i = 0; rc == SQLITE_OK && i < w->bag->count; i++) {
        rc = pt_limits_check_property(&w->bag->fields[i], &bytes, PT_LIMITS_OF_SERVICE, w->error);
    }
    return rc == SQLITE_OK
               ? pt_limits_check_entity_size(operation->partition, operation->row, w->bag->count,
                                             bytes, PT_LIMITS_OF_SERVICE, w->error)
               : rc;
}

/* Adds an operation, with the entity in the bag unless it is a delete. */
static int add_operation(remote_write *w, pt_remote_operation *operation)
{
    int rc = check_remote_entity(w, operation);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (operation->mode != PT_WRITE_DELETE) {
        pt_buffer *body = &w->table->body;
        pt_buffer_clear(body);
        pt_entity_text_append(body, operation->partition, operation->row, w->bag);
        operation->body = pt_buffer_slice(body);
        if (body->failed) {
            return pt_error_nomem(w->error);
        }
    }
    return pt_remote_transaction_add(w->table, operation, w->error);
}

/* Reads one entity, as a request of the statement. */
static int read_one(remote_write *w, const pt_remote_operation *operation, pt_page *page,
                    const pt_page_entity **found)
{
    pt_budget budget;
    const pt_remote_target target = target_of(w);
    int rc = pt_remote_table_budget(w->table, &budget, w->error);
    if (rc == SQLITE_OK) {
        rc = pt_budget_spend(&budget, PT_REQUEST_LOOK, w->error);
    }
    return rc == SQLITE_OK ? pt_remote_read(&target, operation->partition, operation->row, page,
                                            found, w->error)
                           : rc;
}

/* --- INSERT --- */

static int read_keys(remote_write *w, pt_remote_operation *operation)
{
    int rc = pt_key_from_sql(w->keys[0], "PartitionKey", &operation->partition, w->error);
    return rc == SQLITE_OK ? pt_key_from_sql(w->keys[1], "RowKey", &operation->row, w->error) : rc;
}

static int refuse_set_column(remote_write *w, const char *name)
{
    return pt_error_set(w->error, SQLITE_CONSTRAINT_VTAB,
                        "%s cannot be given, the service sets it; leave the column out", name);
}

static int refuse_columns_of_service(remote_write *w)
{
    static const struct {
        int tail;
        const char *name;
    } columns[] = {{PT_REMOTE_TIMESTAMP, "Timestamp"},
                   {PT_REMOTE_ETAG, "ETag"},
                   {PT_REMOTE_ENTITY_KEY, "EntityKey"},
                   {PT_REMOTE_ENTITY_VERSION, "EntityVersion"}};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        if (sqlite3_value_type(w->tail[columns[i].tail]) != SQLITE_NULL) {
            return refuse_set_column(w, columns[i].name);
        }
    }
    for (int i = 0; i < config_of(w)->row_id_count; i++) {
        if (sqlite3_value_type(w->tail[PT_REMOTE_COUNT + i]) != SQLITE_NULL) {
            return refuse_set_column(w, config_of(w)->row_ids[i]);
        }
    }
    return SQLITE_OK;
}

/* The ETag becomes a line of a request: nothing but printable ASCII may be in it. */
static int check_etag(remote_write *w, pt_slice etag)
{
    bool valid = etag.size <= ETAG_MAX;
    for (size_t i = 0; valid && i < etag.size; i++) {
        valid = etag.data[i] >= 0x20 && etag.data[i] < 0x7F;
    }
    return valid ? SQLITE_OK
                 : pt_error_set(w->error, SQLITE_CONSTRAINT_VTAB,
                                "IfMatch is not the text of an ETag; give '*' or the column ETag "
                                "of the entity (InvalidInput)");
}

static int read_insert_request(remote_write *w, pt_remote_operation *operation)
{
    const pt_config *config = config_of(w);
    const pt_given_request given = {.mode = w->tail[PT_REMOTE_WRITE_MODE],
                                    .if_match = w->tail[PT_REMOTE_IF_MATCH],
                                    .or_replace = replaces(w),
                                    .columns = config->columns,
                                    .column_count = config->column_count,
                                    .declared = w->declared,
                                    .properties = w->tail[PT_REMOTE_PROPERTIES]};
    pt_write_request request = {0};
    int rc = pt_write_request_read(&given, &request, w->error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    operation->mode = request.mode;
    operation->may_lack = request.mode == PT_WRITE_DELETE && !request.must_exist;
    if (request.must_exist || request.mode == PT_WRITE_DELETE) {
        operation->etag = request.etag.data != NULL ? request.etag : pt_slice_text(ANY_ETAG);
    }
    return check_etag(w, operation->etag);
}

/* True if an operation on the entity waits to be done; of a version of it, if `etag` is given. */
static bool is_written_already(const remote_write *w, const pt_remote_operation *operation,
                               pt_slice etag)
{
    return w->table->split != NULL
               ? pt_split_holds(w->table->split, operation->partition, operation->row, etag)
               : pt_remote_transaction_holds(w->table, operation, etag);
}

/* With OR IGNORE, an entity that is there is an error of its row, which SQLite skips. */
static int look_for_entity(remote_write *w, const pt_remote_operation *operation)
{
    pt_page page = {0};
    const pt_page_entity *found = NULL;
    int rc = check_remote_entity(w, operation);
    bool written = rc == SQLITE_OK && is_written_already(w, operation, (pt_slice){0});
    if (rc == SQLITE_OK && !written) {
        rc = read_one(w, operation, &page, &found);
    }
    pt_page_free(&page);
    return rc == SQLITE_OK && (found != NULL || written)
               ? pt_error_set(w->error, SQLITE_CONSTRAINT_PRIMARYKEY, "the entity exists")
               : rc;
}

static int insert_remote_row(remote_write *w)
{
    pt_remote_operation operation = {.mode = PT_WRITE_INSERT};
    const pt_config *config = config_of(w);
    int rc = refuse_columns_of_service(w);
    if (rc == SQLITE_OK) {
        rc = read_insert_request(w, &operation);
    }
    if (rc == SQLITE_OK) {
        rc = read_keys(w, &operation);
    }
    if (rc == SQLITE_OK) {
        rc = pt_bag_from_properties(w->bag, w->tail[PT_REMOTE_PROPERTIES], w->error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_bag_set_columns(w->bag, config->columns, config->column_count, w->declared,
                                w->error);
    }
    if (rc == SQLITE_OK && operation.mode == PT_WRITE_INSERT &&
        sqlite3_vtab_on_conflict(w->table->service->db) == SQLITE_IGNORE) {
        rc = look_for_entity(w, &operation);
    }
    return rc == SQLITE_OK ? add_operation(w, &operation) : rc;
}

/* --- DELETE --- */

/* EntityVersion: PartitionKey 00 RowKey 00 ETag. */
static int read_version(remote_write *w, sqlite3_value *version, pt_remote_operation *operation)
{
    pt_slice bytes = {0};
    pt_slice rest;
    if (pt_value_argument_blob(version, &bytes) != SQLITE_OK) {
        return pt_error_nomem(w->error);
    }
    if (bytes.data == NULL || !pt_key_split(bytes, &operation->partition, &rest) ||
        !pt_key_split(rest, &operation->row, &operation->etag)) {
        return pt_error_set(w->error, SQLITE_CONSTRAINT_VTAB,
                            "EntityVersion is not that of an entity; leave the column out of SET");
    }
    if (operation->etag.size == 0) { /* the service always sends one: the entity is our own */
        operation->etag = pt_slice_text(ANY_ETAG);
    }
    operation->quiet = true;
    return check_etag(w, operation->etag);
}

static int delete_remote_row(remote_write *w, sqlite3_value *version)
{
    pt_remote_operation operation = {.mode = PT_WRITE_DELETE};
    int rc = read_version(w, version, &operation);
    return rc == SQLITE_OK ? add_operation(w, &operation) : rc;
}

/* --- UPDATE --- */

static int refuse_update_column(remote_write *w, const char *column)
{
    return pt_error_set(w->error, SQLITE_CONSTRAINT_VTAB,
                        "%s cannot be changed, the service sets it; leave it out of SET", column);
}

/* In UPDATE ... FROM, SQLite 3.40 passes all columns, with the values that they had. */
static int check_update_columns(remote_write *w)
{
    if (sqlite3_value_type(w->tail[PT_REMOTE_WRITE_MODE]) != SQLITE_NULL ||
        sqlite3_value_type(w->tail[PT_REMOTE_IF_MATCH]) != SQLITE_NULL) {
        return pt_error_set(w->error, SQLITE_CONSTRAINT_VTAB,
                            "WriteMode and IfMatch can be given in INSERT only; leave them out of "
                            "SET, and compare the ETag in WHERE if it matters (InvalidInput)");
    }
    if (w->all_given) {
        return SQLITE_OK;
    }
    if (!sqlite3_value_nochange(w->tail[PT_REMOTE_TIMESTAMP])) {
        return refuse_update_column(w, "Timestamp");
    }
    if (!sqlite3_value_nochange(w->tail[PT_REMOTE_ETAG])) {
        return refuse_update_column(w, "ETag");
    }
    for (int i = 0; i < config_of(w)->row_id_count; i++) {
        if (!sqlite3_value_nochange(w->tail[PT_REMOTE_COUNT + i])) {
            return refuse_update_column(w, config_of(w)->row_ids[i]);
        }
    }
    return SQLITE_OK;
}

static bool is_changed_blob(sqlite3_value *given, pt_slice old)
{
    if (sqlite3_value_nochange(given)) {
        return false;
    }
    pt_slice bytes = pt_slice_of(sqlite3_value_blob(given), (size_t)sqlite3_value_bytes(given));
    return sqlite3_value_type(given) != SQLITE_BLOB || !pt_slice_equal(bytes, old);
}

/* EntityKey and EntityVersion may be given as they are. EntityVersion begins with the EntityKey. */
static int check_entity_columns(remote_write *w, sqlite3_value *version,
                                const pt_remote_operation *old)
{
    const uint8_t *bytes = sqlite3_value_blob(version);
    size_t size = (size_t)sqlite3_value_bytes(version);
    if (is_changed_blob(w->tail[PT_REMOTE_ENTITY_KEY],
                        pt_slice_of(bytes, old->partition.size + 1 + old->row.size))) {
        return refuse_update_column(w, "EntityKey");
    }
    return is_changed_blob(w->tail[PT_REMOTE_ENTITY_VERSION], pt_slice_of(bytes, size))
               ? refuse_update_column(w, "EntityVersion")
               : SQLITE_OK;
}

/* The keys after the update; *moved = true if one differs. */
static int read_new_keys(remote_write *w, const pt_remote_operation *old, pt_remote_operation *put,
                         bool *moved)
{
    int rc = SQLITE_OK;
    put->partition = old->partition;
    put->row = old->row;
    if (!sqlite3_value_nochange(w->keys[0])) {
        rc = pt_key_from_sql(w->keys[0], "PartitionKey", &put->partition, w->error);
    }
    if (rc == SQLITE_OK && !sqlite3_value_nochange(w->keys[1])) {
        rc = pt_key_from_sql(w->keys[1], "RowKey", &put->row, w->error);
    }
    *moved = rc == SQLITE_OK && (!pt_slice_equal(old->partition, put->partition) ||
                                 !pt_slice_equal(old->row, put->row));
    return rc;
}

/* True if SET makes a column NULL: no merge can remove a property. */
static bool removes_property(const remote_write *w)
{
    for (int i = 0; i < config_of(w)->column_count; i++) {
        if (!sqlite3_value_nochange(w->declared[i]) &&
            sqlite3_value_type(w->declared[i]) == SQLITE_NULL) {
            return true;
        }
    }
    return false;
}

/* Lays the columns that SET names over the bag. A value that the entity has already (`page`, or
 * NULL) keeps its type. */
static int set_changed_columns(remote_write *w, const pt_page *page)
{
    for (int i = 0; i < config_of(w)->column_count; i++) {
        const pt_column *column = &config_of(w)->columns[i];
        sqlite3_value *given = w->declared[i];
        pt_value nothing = {.type = PT_NONE};
        size_t hint = 0;
        pt_field field;
        if (sqlite3_value_nochange(given)) {
            continue;
        }
        const pt_value *old =
            page != NULL ? pt_page_find(page, &page->entities[0],
                                        pt_slice_of(column->name, column->name_size), &hint)
                         : NULL;
        if (page != NULL && pt_value_equals_sql(old != NULL ? old : &nothing, given)) {
            continue;
        }
        int rc = pt_field_from_sql(column, given, &field, w->error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        if (!pt_bag_set(w->bag, &field)) {
            return pt_error_nomem(w->error);
        }
    }
    return SQLITE_OK;
}

/* Fills the bag with the properties of the entity in the page. */
static int take_properties(remote_write *w, const pt_page *page)
{
    const pt_page_entity *entity = &page->entities[0];
    pt_bag_clear(w->bag);
    for (size_t i = 0; i < entity->count; i++) {
        if (!pt_bag_append(w->bag, &page->fields[entity->first + i])) {
            return pt_error_nomem(w->error);
        }
    }
    return SQLITE_OK;
}

/* True if the value given for Properties is what reading it returned. */
static int is_old_properties(remote_write *w, sqlite3_value *given, bool *same)
{
    pt_buffer text = {0};
    pt_json_begin(&text);
    for (unsigned i = 0; i < w->bag->count; i++) {
        pt_json_add(&text, w->bag->fields[i].name, &w->bag->fields[i].value);
    }
    pt_json_end(&text);
    *same =
        !text.failed &&
        pt_value_equals_sql(&(pt_value){.type = PT_STRING, .bytes = pt_buffer_slice(&text)}, given);
    int rc = text.failed ? pt_error_nomem(w->error) : SQLITE_OK;
    pt_buffer_free(&text);
    return rc;
}

/* The whole entity after the update, made of the one in the page. */
static int make_whole_entity(remote_write *w, const pt_page *page)
{
    sqlite3_value *properties = w->tail[PT_REMOTE_PROPERTIES];
    int rc = take_properties(w, page);
    bool same = true;
    if (rc == SQLITE_OK && !sqlite3_value_nochange(properties)) {
        rc = is_old_properties(w, properties, &same);
    }
    if (rc == SQLITE_OK && !same) {
        rc = pt_bag_from_properties(w->bag, properties, w->error);
    }
    return rc == SQLITE_OK ? set_changed_columns(w, page) : rc;
}

static int refuse_changed_entity(remote_write *w, const pt_remote_operation *old)
{
    char keys[PT_KEYS_TEXT_SIZE];
    pt_keys_describe((pt_keys){.partition = old->partition, .row = old->row}, keys);
    pt_error_set(w->error, SQLITE_BUSY_SNAPSHOT,
                 "the entity with %s has changed since the statement read it; run the transaction "
                 "again (UpdateConditionNotSatisfied)",
                 keys);
    return pt_error_naming(w->error, PT_NAMES_KEYS);
}

static int put_whole_entity(remote_write *w, pt_remote_operation *old, pt_remote_operation *put,
                            bool moved)
{
    pt_page page = {0};
    const pt_page_entity *found = NULL;
    int rc = pt_remote_transaction_check_first(w->table, old, w->error);
    if (rc == SQLITE_OK) {
        rc = read_one(w, old, &page, &found);
    }
    if (rc == SQLITE_OK && (found == NULL || !pt_slice_equal(found->etag, old->etag))) {
        rc = refuse_changed_entity(w, old);
    }
    if (rc == SQLITE_OK) {
        rc = make_whole_entity(w, &page);
    }
    if (rc == SQLITE_OK && moved && pt_remote_transaction_splits(w->table)) {
        rc = pt_error_set(w->error, SQLITE_CONSTRAINT_VTAB,
                          "a key is changed by two operations, which batch=split would tear apart; "
                          "change it between BEGIN and COMMIT");
    } else if (rc == SQLITE_OK && moved) {
        put->mode = replaces(w) ? PT_WRITE_REPLACE : PT_WRITE_INSERT;
        rc = add_operation(w, put);
        if (rc == SQLITE_OK) {
            old->mode = PT_WRITE_DELETE;
            rc = add_operation(w, old);
            if (rc != SQLITE_OK) { /* all or nothing */
                pt_remote_operations *list = &w->table->service->pending.operations;
                pt_remote_operations_cut(list, list->count - 1);
            }
        }
    } else if (rc == SQLITE_OK) {
        put->mode = PT_WRITE_REPLACE;
        put->etag = old->etag;
        put->quiet = true;
        rc = add_operation(w, put);
    }
    pt_page_free(&page);
    return rc;
}

/* True if this statement has updated the entity already: UPDATE ... FROM may find a row several
 * times, and must update it once. The operation of the first time asks for this version. The row of
 * an entity that an earlier statement of the transaction has written has no ETag (read_version). */
static bool is_updated_already(const remote_write *w, const pt_remote_operation *old)
{
    return !pt_slice_equal(old->etag, pt_slice_text(ANY_ETAG)) &&
           is_written_already(w, old, old->etag);
}

static int update_remote_row(remote_write *w, sqlite3_value *version)
{
    pt_remote_operation old = {0};
    pt_remote_operation put = {0};
    bool moved = false;
    int rc = check_update_columns(w);
    if (rc == SQLITE_OK) {
        rc = read_version(w, version, &old);
    }
    if (rc == SQLITE_OK) {
        rc = check_entity_columns(w, version, &old);
    }
    if (rc == SQLITE_OK && is_updated_already(w, &old)) {
        return SQLITE_OK;
    }
    if (rc == SQLITE_OK) {
        rc = read_new_keys(w, &old, &put, &moved);
    }
    sqlite3_value *properties = w->tail[PT_REMOTE_PROPERTIES];
    bool replaced = !sqlite3_value_nochange(properties);
    if (rc != SQLITE_OK || w->all_given || moved || (!replaced && removes_property(w))) {
        return rc == SQLITE_OK ? put_whole_entity(w, &old, &put, moved) : rc;
    }
    put.mode = replaced ? PT_WRITE_REPLACE : PT_WRITE_MERGE;
    put.etag = old.etag;
    put.quiet = true;
    pt_bag_clear(w->bag);
    rc = replaced ? pt_bag_from_properties(w->bag, properties, w->error) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = set_changed_columns(w, NULL);
    }
    return rc == SQLITE_OK ? add_operation(w, &put) : rc;
}

/* --- xUpdate --- */

enum { KEYS_TEXT_SIZE = 2 * PT_DESCRIPTION_SIZE + 32 };

/* Puts the keys of the row in front of a message that does not name them. */
static void name_remote_row(int argc, sqlite3_value **argv, pt_error *error)
{
    char row[KEYS_TEXT_SIZE];
    char *text = error->message;
    if (text == NULL || (error->names & PT_NAMES_KEYS) != 0) {
        return;
    }
    if (argc > 1 && sqlite3_value_type(argv[0]) == SQLITE_NULL) {
        char partition[PT_DESCRIPTION_SIZE];
        char key[PT_DESCRIPTION_SIZE];
        pt_value_describe(argv[2 + PT_COLUMN_PARTITION_KEY], partition);
        pt_value_describe(argv[2 + PT_COLUMN_ROW_KEY], key);
        sqlite3_snprintf(sizeof row, row, "PartitionKey %s, RowKey %s", partition, key);
    } else {
        pt_keys keys = {{0}, {0}};
        pt_slice rest = {0};
        pt_slice etag;
        pt_slice bytes =
            pt_slice_of(sqlite3_value_blob(argv[0]), (size_t)sqlite3_value_bytes(argv[0]));
        if (pt_key_split(bytes, &keys.partition, &rest)) {
            pt_key_split(rest, &keys.row, &etag);
        }
        pt_keys_describe(keys, row);
    }
    error->message = NULL;
    pt_error_set(error, error->rc, "%s: %s", row, text);
    sqlite3_free(text);
}

/* If an UPDATE gives all columns, the value is the filter in its WHERE. */
static int refuse_written_filter(remote_write *w)
{
    if (w->all_given || sqlite3_value_type(w->tail[PT_REMOTE_FILTER]) == SQLITE_NULL) {
        return SQLITE_OK;
    }
    return pt_error_set(w->error, SQLITE_CONSTRAINT_VTAB,
                        "Filter cannot be written, it is there for WHERE Filter MATCH '...'; leave "
                        "the column out");
}

static int write_remote_row(remote_write *w, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    if (argc == 1) {
        return delete_remote_row(w, argv[0]);
    }
    w->keys = argv + 2;
    w->declared = w->keys + PT_COLUMN_FIRST;
    w->tail = w->declared + config_of(w)->column_count;
    bool inserts = sqlite3_value_type(argv[0]) == SQLITE_NULL;
    w->all_given = !inserts && !sqlite3_value_nochange(w->tail[PT_REMOTE_ENTITY_KEY]);
    int rc = refuse_written_filter(w);
    if (rc != SQLITE_OK || !inserts) {
        return rc == SQLITE_OK ? update_remote_row(w, argv[0]) : rc;
    }
    *rowid = sqlite3_last_insert_rowid(w->table->service->db);
    return insert_remote_row(w);
}

/* All or nothing: SQLite opens no savepoint around a single row. */
int pt_remote_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    pt_error error = PT_ERROR_NONE;
    remote_write w = {.table = pt_remote_table_of(vtab), .error = &error};
    w.bag = &w.table->bag;
    w.table->joining = false;
    int rc = write_remote_row(&w, argc, argv, rowid);
    if (rc == SQLITE_OK) {
        return SQLITE_OK;
    }
    if (!pt_module_ignores(w.table->service->db, &error)) {
        name_remote_row(argc, argv, &error);
    }
    pt_remote_transaction_stop(w.table, &error);
    bool updates = argc > 1 && sqlite3_value_type(argv[0]) != SQLITE_NULL;
    if (updates && !pt_module_keeps_rows(w.table->service->db, error.rc)) {
        pt_remote_transaction_undo_statement(w.table);
    }
    return pt_module_fail_write(w.table->service->db, &vtab->zErrMsg, w.table->config.base.sql_name,
                                &error);
}
