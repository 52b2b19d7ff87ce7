#include "service/remote_conditions.h"

/* --- xBestIndex --- */

static int arguments_of_plan(unsigned bits)
{
    return __builtin_popcount(bits & PT_PLAN_TERMS);
}

/* True if a condition may be sent: the service can name the column, and compares it so. */
static bool may_be_sent(const void *context, int column, pt_plan_op op)
{
    const pt_remote_table *table = context;
    if (column == PT_TERM_TIME_COLUMN) {
        return op != PT_OP_OTHER;
    }
    const pt_column *declared = &table->config.base.columns[column];
    bool ordered = declared->type != PT_GUID && declared->type != PT_BINARY;
    return pt_condition_has_name(pt_slice_of(declared->name, declared->name_size)) &&
           (ordered || op == PT_OP_EQ);
}

static bool takes_none(const void *context, int column, pt_plan_op op)
{
    (void)context;
    (void)column;
    (void)op;
    return false;
}

/* Keys in a URL leave no place for conditions. */
unsigned pt_remote_conditions_plan(const pt_remote_table *table, const pt_plan *plan,
                                   sqlite3_index_info *info, pt_term_list *list)
{
    const pt_service_config *config = &table->config;
    bool filtered = (plan->bits & PT_PLAN_TERM(PT_TERM_FILTER)) != 0;
    bool sends = !config->push_keys && pt_remote_table_dialect(table) != PT_DIALECT_COSMOS &&
                 (filtered || !pt_plan_finds_points(plan->bits));
    const pt_term_rules rules = {
        .config = &config->base,
        .time_column = PT_COLUMN_FIRST + config->base.column_count + PT_REMOTE_TIMESTAMP,
        .takes = sends ? may_be_sent : takes_none,
        .context = table,
    };
    int before = arguments_of_plan(plan->bits);
    list->arguments = before;
    list->plan = "";
    list->begin = filtered ? " AND " : "; at the service: ";
    pt_terms_plan(&rules, info, list);
    return list->arguments > before ? PT_PLAN_CONDITIONS : 0;
}

/* --- xFilter --- */

static void write_term_of_table(pt_remote_conditions *conditions, const pt_remote_table *table,
                                const pt_term *term)
{
    bool time = term->column == PT_TERM_TIME_COLUMN;
    const pt_written_condition written = {
        .name = time ? "Timestamp" : table->config.base.columns[term->column].name,
        .comparison = &term->comparison,
        .plain = term->plain,
        .declared = time || table->config.declared_types,
        .always = time,
        .dialect = pt_remote_table_dialect(table),
    };
    pt_filter_parts_add(&conditions->parts, &written);
}

int pt_remote_conditions_set(pt_remote_conditions *conditions, const pt_remote_table *table,
                             unsigned plan_bits, const char *list, int *argc, sqlite3_value **argv,
                             pt_error *error)
{
    pt_filter_parts_clear(&conditions->parts);
    conditions->terms.count = 0;
    conditions->terms.never = false;
    if ((plan_bits & PT_PLAN_CONDITIONS) == 0) {
        return SQLITE_OK;
    }
    const pt_term_table compared = {&table->config.base, table->other_encoding};
    int rc = pt_terms_set(&conditions->terms, &compared, list, arguments_of_plan(plan_bits), argc,
                          argv, error);
    for (unsigned i = 0; rc == SQLITE_OK && i < conditions->terms.count; i++) {
        write_term_of_table(conditions, table, &conditions->terms.terms[i]);
    }
    return rc;
}

void pt_remote_conditions_free(pt_remote_conditions *conditions)
{
    pt_terms_free(&conditions->terms);
    pt_filter_parts_free(&conditions->parts);
}
