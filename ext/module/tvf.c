#include "module/tvf.h"

#include <limits.h>

#include "module/companion.h"
#include "module/constraints.h"
#include "module/module.h"
#include "module/registration.h"
#include "query/plan.h"

typedef struct tvf_table {
    pt_follower follower; /* first */
    const pt_tvf *tvf;
    bool other_text_order;  /* text in the database is UTF-16, which sorts differently */
    sqlite3_int64 shared[]; /* tvf->shared_size bytes */
} tvf_table;

static tvf_table *tvf_table_of(sqlite3_vtab *vtab)
{
    return (tvf_table *)vtab;
}

static pt_tvf_cursor *tvf_cursor_of(sqlite3_vtab_cursor *cursor)
{
    return (pt_tvf_cursor *)cursor;
}

static const pt_tvf *tvf_of(const pt_tvf_cursor *cursor)
{
    return tvf_table_of(cursor->base.pVtab)->tvf;
}

static int tvf_fail(sqlite3_vtab *vtab, pt_error *error)
{
    return pt_module_fail(&vtab->zErrMsg, tvf_table_of(vtab)->tvf->name, error);
}

/* --- The table --- */

static int tvf_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                       sqlite3_vtab **vtab, char **message)
{
    (void)argc;
    (void)argv;
    const pt_module_registration *registered = context;
    const pt_tvf *tvf = registered->description;
    int rc = sqlite3_declare_vtab(db, tvf->declaration);
    if (rc != SQLITE_OK) {
        *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
        return rc;
    }
    if (tvf->opens_stores || tvf->writes) {
        sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    }
    bool utf8 = true;
    if (tvf->key_column >= 0 && pt_module_is_utf8(db, "main", &utf8) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    pt_error error = PT_ERROR_NONE;
    if (tvf->writes && pt_companion_ensure(registered->connection, &error) != SQLITE_OK) {
        return pt_module_fail(message, tvf->name, &error);
    }
    tvf_table *table = sqlite3_malloc64(sizeof *table + tvf->shared_size);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    memset(table, 0, sizeof *table + tvf->shared_size);
    table->follower.connection = registered->connection;
    table->tvf = tvf;
    table->other_text_order = !utf8;
    *vtab = &table->follower.base;
    return SQLITE_OK;
}

static int tvf_disconnect(sqlite3_vtab *vtab)
{
    sqlite3_free(tvf_table_of(vtab));
    return SQLITE_OK;
}

/* --- xBestIndex --- */

/* Above the bits of the arguments in idxNum lies the plan or its number. */
enum { PLAN_SHIFT = PT_TVF_ARGUMENTS_MAX, PLAN_MASK = INT_MAX >> PLAN_SHIFT };

/* A call without its arguments fails in xFilter, not here: another loop order, or another arm of an
 * OR, may give them. The cost makes SQLite choose any other plan first. */
#define COST_ARGUMENTS_MISSING 1e12
#define COST_WITHOUT_KEYS 1000

static bool has_needed_arguments(const pt_tvf *tvf, unsigned given)
{
    unsigned needed = (1u << tvf->least_arguments) - 1;
    return (given & needed) == needed || (given & 1u << PT_TVF_TABLE_NAME) != 0;
}

static bool is_argument(const pt_tvf *tvf, int column)
{
    return column >= tvf->first_argument && column < tvf->first_argument + tvf->most_arguments;
}

static bool has_arguments(const pt_tvf *tvf, const sqlite3_index_info *info)
{
    for (int i = 0; i < info->nConstraint; i++) {
        if (pt_constraint_comparison(info->aConstraint[i].op) == PT_OP_EQ &&
            is_argument(tvf, info->aConstraint[i].iColumn)) {
            return true;
        }
    }
    return false;
}

/* The number of the argument that a constraint gives, or -1. `by_columns`: Store and TableName are
 * arguments. */
static int argument_of(const pt_tvf *tvf, sqlite3_index_info *info, int i, bool by_columns)
{
    int column = info->aConstraint[i].iColumn;
    if (pt_constraint_comparison(info->aConstraint[i].op) != PT_OP_EQ) {
        return -1;
    }
    if (is_argument(tvf, column)) {
        return column - tvf->first_argument;
    }
    if (!by_columns || column > 1) {
        return -1;
    }
    const char *collation = sqlite3_vtab_collation(info, i);
    bool finds = sqlite3_stricmp(collation, "BINARY") == 0 ||
                 (column == 1 && sqlite3_stricmp(collation, "NOCASE") == 0);
    return finds ? PT_TVF_STORE + column : -1;
}

/* Has SQLite pass the arguments to xFilter. *given has a bit for each, *count is their number.
 * SQLITE_CONSTRAINT if an argument's value is not known yet in this loop order of a join. */
static int use_arguments(const pt_tvf *tvf, sqlite3_index_info *info, unsigned *given, int *count)
{
    int index[PT_TVF_ARGUMENTS_MAX];
    unsigned unknown = 0;
    bool by_columns = tvf->takes_columns && !has_arguments(tvf, info);
    *given = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        int argument = argument_of(tvf, info, i, by_columns);
        if (argument < 0) {
            continue;
        }
        unsigned bit = 1u << argument;
        if (!info->aConstraint[i].usable) {
            unknown |= bit;
        } else if ((*given & bit) == 0) {
            *given |= bit;
            index[argument] = i;
        }
    }
    *count = 0;
    for (int i = 0; i < PT_TVF_ARGUMENTS_MAX; i++) {
        if ((*given & 1u << i) != 0) {
            info->aConstraintUsage[index[i]].argvIndex = ++*count;
            info->aConstraintUsage[index[i]].omit = i < PT_TVF_STORE;
        }
    }
    return (unknown & ~*given) == 0 ? SQLITE_OK : SQLITE_CONSTRAINT;
}

static pt_plan_column tvf_plan_column(const void *tvf, int column)
{
    return column == ((const pt_tvf *)tvf)->key_column ? PT_PLAN_PK : PT_PLAN_OTHER;
}

static pt_plan_constraint tvf_constraint(const void *tvf, sqlite3_index_info *info, int i)
{
    pt_plan_constraint constraint = {.op = pt_constraint_comparison(info->aConstraint[i].op),
                                     .usable = info->aConstraint[i].usable != 0};
    pt_plan_column column = tvf_plan_column(tvf, info->aConstraint[i].iColumn);
    if (column == PT_PLAN_PK && constraint.op != PT_OP_OTHER && constraint.usable) {
        constraint.column = column;
        pt_constraint_describe_key(info, i, &constraint);
    }
    return constraint;
}

/* Plans conditions and ORDER BY on the key column. */
static int plan_keys(const tvf_table *table, sqlite3_index_info *info, int arguments)
{
    static const pt_constraint_reader reader = {tvf_plan_column, tvf_constraint};
    pt_plan_use *uses;
    pt_plan_query query = {.other_text_order = table->other_text_order};
    void *arrays = pt_constraints_read(&reader, table->tvf, info, &query, &uses);
    if (arrays == NULL) {
        return SQLITE_NOMEM;
    }
    pt_plan plan;
    pt_plan_make(&query, &plan, uses);
    pt_constraints_apply(info, uses, arguments);
    sqlite3_free(arrays);
    info->idxNum |= (int)(plan.bits << PLAN_SHIFT);
    return pt_constraints_return_plan(info, &plan);
}

/* SQLite takes one argument more for the primary key. Nobody else compares it, since it is good for
 * nothing. */
static bool has_extra_argument(const pt_tvf *tvf, const sqlite3_index_info *info)
{
    for (int i = 0; tvf->update != NULL && i < info->nConstraint; i++) {
        if (info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
            info->aConstraint[i].iColumn == tvf->first_argument + tvf->most_arguments) {
            return true;
        }
    }
    return false;
}

static int refuse_extra_argument(sqlite3_vtab *vtab)
{
    pt_error error = PT_ERROR_NONE;
    const pt_tvf *tvf = tvf_table_of(vtab)->tvf;
    pt_error_set(&error, SQLITE_ERROR,
                 "there are too many arguments, or LIMIT in a DELETE, which is not possible here; "
                 "write %s",
                 tvf->usage);
    return tvf_fail(vtab, &error);
}

static int tvf_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    tvf_table *table = tvf_table_of(vtab);
    const pt_tvf *tvf = table->tvf;
    unsigned given;
    int arguments;
    if (has_extra_argument(tvf, info)) {
        return refuse_extra_argument(vtab);
    }
    int rc = use_arguments(tvf, info, &given, &arguments);
    if (rc != SQLITE_OK) {
        return rc;
    }
    info->idxNum = (int)given;
    info->idxStr = (char *)tvf->sentence;
    info->estimatedCost = tvf->cost != 0 ? tvf->cost : COST_WITHOUT_KEYS;
    info->estimatedRows = tvf->rows != 0 ? tvf->rows : info->estimatedRows;
    if (tvf->number != NULL) {
        info->idxNum |= (int)((tvf->number(table->follower.connection, table->shared) & PLAN_MASK)
                              << PLAN_SHIFT);
    }
    if (!has_needed_arguments(tvf, given)) {
        info->estimatedCost = COST_ARGUMENTS_MISSING;
        return SQLITE_OK;
    }
    return tvf->key_column >= 0 ? plan_keys(table, info, arguments) : SQLITE_OK;
}

/* --- The cursor --- */

static int tvf_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    tvf_table *table = tvf_table_of(vtab);
    pt_tvf_cursor *cursor = sqlite3_malloc64(table->tvf->cursor_size);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    memset(cursor, 0, table->tvf->cursor_size);
    cursor->connection = table->follower.connection;
    cursor->shared = table->shared;
    if (table->tvf->opened != NULL) {
        table->tvf->opened(cursor);
    }
    *out = &cursor->base;
    return SQLITE_OK;
}

static void tvf_end(pt_tvf_cursor *cursor)
{
    tvf_of(cursor)->end(cursor);
    for (int i = 0; i < PT_TVF_ARGUMENTS_MAX; i++) {
        sqlite3_value_free(cursor->arguments[i]);
        cursor->arguments[i] = NULL;
    }
    cursor->eof = true;
}

static int tvf_close(sqlite3_vtab_cursor *cursor)
{
    tvf_end(tvf_cursor_of(cursor));
    if (tvf_of(tvf_cursor_of(cursor))->closed != NULL) {
        tvf_of(tvf_cursor_of(cursor))->closed(tvf_cursor_of(cursor));
    }
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* Copies the arguments, which the hidden columns return, and counts them. *complete = false if one
 * is NULL and that means no rows. (A column that is a text does not equal a BLOB either.) */
static int take_arguments(pt_tvf_cursor *cursor, unsigned given, sqlite3_value **argv, int *count,
                          bool *complete, pt_error *error)
{
    const pt_tvf *tvf = tvf_of(cursor);
    if (!has_needed_arguments(tvf, given)) {
        return pt_error_set(error, SQLITE_ERROR, "an argument is missing; write %s", tvf->usage);
    }
    *count = 0;
    *complete = true;
    for (int i = 0; i < PT_TVF_ARGUMENTS_MAX; i++) {
        if ((given & 1u << i) == 0) {
            continue;
        }
        cursor->arguments[i] = sqlite3_value_dup(argv[(*count)++]);
        if (cursor->arguments[i] == NULL) {
            return pt_error_nomem(error);
        }
        int type = sqlite3_value_type(cursor->arguments[i]);
        bool is_nothing = type == SQLITE_NULL || (type == SQLITE_BLOB && i >= PT_TVF_STORE);
        *complete = *complete && (tvf->takes_null || !is_nothing);
    }
    return SQLITE_OK;
}

static int tvf_filter(sqlite3_vtab_cursor *base, int index_number, const char *sentence, int argc,
                      sqlite3_value **argv)
{
    (void)sentence;
    pt_tvf_cursor *cursor = tvf_cursor_of(base);
    const pt_tvf *tvf = tvf_of(cursor);
    pt_error error = PT_ERROR_NONE;
    int arguments = 0;
    bool complete = false;
    tvf_end(cursor);
    pt_connection_notice_detach(cursor->connection);
    int rc = take_arguments(cursor, (unsigned)index_number, argv, &arguments, &complete, &error);
    if (rc == SQLITE_OK && complete) {
        const pt_tvf_keys keys = {.plan = (unsigned)index_number >> PLAN_SHIFT,
                                  .argc = argc - arguments,
                                  .argv = argv + arguments};
        cursor->eof = false;
        cursor->row = 1;
        rc = tvf->begin(cursor, &keys, &error);
        rc = rc == SQLITE_OK && !cursor->eof ? tvf->next(cursor, &error) : rc;
    }
    return rc == SQLITE_OK ? rc : tvf_fail(base->pVtab, &error);
}

static int tvf_next(sqlite3_vtab_cursor *base)
{
    pt_tvf_cursor *cursor = tvf_cursor_of(base);
    pt_error error = PT_ERROR_NONE;
    cursor->row++;
    int rc = tvf_of(cursor)->next(cursor, &error);
    return rc == SQLITE_OK ? rc : tvf_fail(base->pVtab, &error);
}

static int tvf_eof(sqlite3_vtab_cursor *cursor)
{
    return tvf_cursor_of(cursor)->eof;
}

static int tvf_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
    pt_tvf_cursor *cursor = tvf_cursor_of(base);
    const pt_tvf *tvf = tvf_of(cursor);
    if (is_argument(tvf, index)) {
        const sqlite3_value *argument = cursor->arguments[index - tvf->first_argument];
        if (argument != NULL) {
            sqlite3_result_value(context, (sqlite3_value *)argument);
        }
        return SQLITE_OK;
    }
    pt_error error = PT_ERROR_NONE;
    int rc = tvf->load != NULL ? tvf->load(cursor, index, &error) : SQLITE_OK;
    if (rc != SQLITE_OK) {
        return tvf_fail(base->pVtab, &error);
    }
    tvf->column(cursor, context, index);
    return SQLITE_OK;
}

static int tvf_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
    *id = tvf_cursor_of(cursor)->row;
    return SQLITE_OK;
}

void pt_tvf_result_text(sqlite3_context *context, pt_slice text)
{
    sqlite3_result_text64(context, text.size != 0 ? (const char *)text.data : "", text.size,
                          SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* --- Writing --- */

static int tvf_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    (void)rowid;
    tvf_table *table = tvf_table_of(vtab);
    pt_error error = PT_ERROR_NONE;
    int rc = pt_follower_begin_update(&table->follower)
                 ? table->tvf->update(&table->follower, table->shared, argc, argv, &error)
                 : pt_session_refuse_rolled_back(&error);
    return rc == SQLITE_OK ? rc : tvf_fail(vtab, &error);
}

static int tvf_commit(sqlite3_vtab *vtab)
{
    tvf_table *table = tvf_table_of(vtab);
    table->tvf->over(table->shared);
    return pt_follower_commit(vtab);
}

static int tvf_rollback(sqlite3_vtab *vtab)
{
    tvf_table *table = tvf_table_of(vtab);
    table->tvf->over(table->shared);
    return pt_follower_rollback(vtab);
}

/* --- The modules --- */

#define TVF_METHODS                                                                                \
    .iVersion = 2, .xConnect = tvf_connect, .xBestIndex = tvf_best_index,                          \
    .xDisconnect = tvf_disconnect, .xOpen = tvf_open, .xClose = tvf_close, .xFilter = tvf_filter,  \
    .xNext = tvf_next, .xEof = tvf_eof, .xColumn = tvf_column, .xRowid = tvf_rowid

static const sqlite3_module tvf_module = {TVF_METHODS};

static const sqlite3_module tvf_writing_module = {
    TVF_METHODS,
    .xUpdate = tvf_update,
    .xBegin = pt_follower_begin,
    .xSync = pt_follower_sync,
    .xCommit = tvf_commit,
    .xRollback = tvf_rollback,
    .xSavepoint = pt_follower_savepoint,
    .xRelease = pt_follower_release,
    .xRollbackTo = pt_follower_rollback_to,
};

int pt_tvf_register(sqlite3 *db, pt_connection *connection, const pt_tvf *tvf)
{
    const sqlite3_module *module = tvf->update != NULL ? &tvf_writing_module : &tvf_module;
    return pt_module_register_shared(db, tvf->name, module, connection, tvf);
}
