#include "queue/plan.h"

#include "base/ticks.h"
#include "module/constraints.h"
#include "queue/columns.h"
#include "value/value.h"

/*
 * A row that is found by its PopReceipt has a longer MessageKey than under other plans, and SQLite
 * removes duplicates between the arms of an OR by that key. So the arms must not mix plans. All
 * plans except the one by PopReceipt therefore cost as much as a full scan, which makes SQLite scan
 * instead of combining arms, unless all arms use a PopReceipt.
 */
#define SCAN_COST 1e5
#define SCAN_ROWS 10000
#define HELD_COST 10.0

/* --- Which terms to use --- */

/* The index of the constraint for each use, or -1. */
typedef struct queue_terms {
    int id;
    int receipt;
    int key;
    int equal;
    int low;
    int high;
} queue_terms;

static bool is_lower_bound(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
}

/* Notes a usable comparison. */
static void note_term(queue_terms *found, int column, unsigned char op, int i)
{
    bool equal = pt_constraint_comparison(op) == PT_OP_EQ;
    if (column == PT_QUEUE_MESSAGE_ID && equal) {
        found->id = i;
    } else if (column == PT_QUEUE_POP_RECEIPT && equal) {
        found->receipt = i;
    } else if (column == PT_QUEUE_MESSAGE_KEY && equal) {
        found->key = i;
    } else if (column == PT_QUEUE_TIME_NEXT_VISIBLE && equal) {
        found->equal = i;
    } else if (column == PT_QUEUE_TIME_NEXT_VISIBLE && is_lower_bound(op)) {
        found->low = i;
    } else if (column == PT_QUEUE_TIME_NEXT_VISIBLE) {
        found->high = i;
    }
}

/* Under another collation, other texts are equal or in another order. */
static const char *own_collation(int column)
{
    return column == PT_QUEUE_TIME_NEXT_VISIBLE ? PT_TICKS_COLLATION : "BINARY";
}

static queue_terms find_terms(sqlite3_index_info *info)
{
    queue_terms found = {-1, -1, -1, -1, -1, -1};
    for (int i = 0; i < info->nConstraint; i++) {
        unsigned char op = info->aConstraint[i].op;
        /* LIMIT and OFFSET come as constraints without a column. */
        bool compares = pt_constraint_comparison(op) != PT_OP_OTHER;
        if (!compares || !info->aConstraint[i].usable) {
            continue;
        }
        int column = pt_queue_same_column(info->aConstraint[i].iColumn);
        if (sqlite3_stricmp(sqlite3_vtab_collation(info, i), own_collation(column)) == 0) {
            note_term(&found, column, op, i);
        }
    }
    return found;
}

/* Passes the constraint to xFilter. SQLite checks it again, because omit is not set. */
static void use_term(sqlite3_index_info *info, int term, int *arguments)
{
    info->aConstraintUsage[term].argvIndex = ++*arguments;
}

static unsigned use_bounds(sqlite3_index_info *info, const queue_terms *found, int *arguments)
{
    unsigned plan = 0;
    if (found->equal >= 0) {
        use_term(info, found->equal, arguments);
        return PT_QUEUE_PLAN_EQUAL;
    }
    if (found->low >= 0) {
        use_term(info, found->low, arguments);
        bool open = info->aConstraint[found->low].op == SQLITE_INDEX_CONSTRAINT_GT;
        plan |= PT_QUEUE_PLAN_LOW | (open ? PT_QUEUE_PLAN_LOW_OPEN : 0U);
    }
    if (found->high >= 0) {
        use_term(info, found->high, arguments);
        bool open = info->aConstraint[found->high].op == SQLITE_INDEX_CONSTRAINT_LT;
        plan |= PT_QUEUE_PLAN_HIGH | (open ? PT_QUEUE_PLAN_HIGH_OPEN : 0U);
    }
    return plan;
}

static unsigned use_terms(sqlite3_index_info *info, const queue_terms *found)
{
    int arguments = 0;
    if (found->id >= 0 && found->receipt >= 0) {
        use_term(info, found->id, &arguments);
        use_term(info, found->receipt, &arguments);
        return PT_QUEUE_PLAN_HELD;
    }
    if (found->key >= 0) {
        use_term(info, found->key, &arguments);
        return PT_QUEUE_PLAN_KEY;
    }
    return use_bounds(info, found, &arguments);
}

/* --- ORDER BY --- */

/* True if ORDER BY is MessageKey, TimeNextVisible, or TimeNextVisible, MessageId, in one direction.
 */
static bool is_own_order(const sqlite3_index_info *info)
{
    static const int own[] = {PT_QUEUE_TIME_NEXT_VISIBLE, PT_QUEUE_MESSAGE_ID};
    if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == PT_QUEUE_MESSAGE_KEY) {
        return true;
    }
    for (int i = 0; i < info->nOrderBy; i++) {
        if (i >= (int)(sizeof own / sizeof *own) ||
            pt_queue_same_column(info->aOrderBy[i].iColumn) != own[i] ||
            info->aOrderBy[i].desc != info->aOrderBy[0].desc) {
            return false;
        }
    }
    return info->nOrderBy > 0;
}

/* --- xBestIndex --- */

/* The plan in words, from sqlite3_malloc. NULL when out of memory. */
static char *describe_plan(unsigned plan)
{
    const char *order = (plan & PT_QUEUE_PLAN_DESCENDING) != 0 ? ", descending" : "";
    if ((plan & PT_QUEUE_PLAN_HELD) != 0) {
        return sqlite3_mprintf("message held: MessageId=? AND PopReceipt=?");
    }
    if ((plan & PT_QUEUE_PLAN_KEY) != 0) {
        return sqlite3_mprintf("message: MessageKey=?");
    }
    if ((plan & PT_QUEUE_PLAN_EQUAL) != 0) {
        return sqlite3_mprintf("messages: TimeNextVisible=?%s", order);
    }
    if ((plan & (PT_QUEUE_PLAN_LOW | PT_QUEUE_PLAN_HIGH)) == 0) {
        return sqlite3_mprintf("all messages%s", order);
    }
    bool low = (plan & PT_QUEUE_PLAN_LOW) != 0;
    bool high = (plan & PT_QUEUE_PLAN_HIGH) != 0;
    const char *above = (plan & PT_QUEUE_PLAN_LOW_OPEN) != 0 ? ">?" : ">=?";
    const char *below = (plan & PT_QUEUE_PLAN_HIGH_OPEN) != 0 ? "<?" : "<=?";
    return sqlite3_mprintf("messages: %s%s%s%s%s%s", low ? "TimeNextVisible" : "", low ? above : "",
                           low && high ? " AND " : "", high ? "TimeNextVisible" : "",
                           high ? below : "", order);
}

int pt_queue_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    queue_terms found = find_terms(info);
    unsigned plan = use_terms(info, &found);
    bool one = (plan & (PT_QUEUE_PLAN_HELD | PT_QUEUE_PLAN_KEY)) != 0;
    bool held = (plan & PT_QUEUE_PLAN_HELD) != 0;
    info->orderByConsumed = one || is_own_order(info);
    if (!one && info->orderByConsumed && info->aOrderBy[0].desc) {
        plan |= PT_QUEUE_PLAN_DESCENDING;
    }
    info->idxNum = (int)plan;
    info->idxStr = describe_plan(plan);
    info->needToFreeIdxStr = 1;
    info->estimatedCost = held ? HELD_COST : SCAN_COST;
    info->estimatedRows = held ? 1 : SCAN_ROWS;
    info->idxFlags = one ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    return info->idxStr != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* --- Bounds --- */

/* The first ticks above a bound; with `equal`, the first that are not below it. `otherwise` if the
 * argument sets no bound. */
static int64_t bound_of(sqlite3_value *argument, bool equal, int64_t otherwise)
{
    if (sqlite3_value_type(argument) != SQLITE_TEXT) {
        return otherwise;
    }
    pt_slice text;
    if (!pt_queue_text(argument, &text)) {
        return otherwise;
    }
    int64_t place = pt_ticks_place(text);
    if (place < 0) {
        return 0;
    }
    return equal || place > PT_TICKS_MAX ? place : place + 1;
}

bool pt_queue_bounds_set(unsigned plan, sqlite3_value **argv, pt_queue_bounds *bounds)
{
    *bounds = (pt_queue_bounds){.low = 0, .high = PT_TICKS_MAX + 1};
    int argument = 0;
    bool equal = (plan & PT_QUEUE_PLAN_EQUAL) != 0;
    if (equal || (plan & PT_QUEUE_PLAN_LOW) != 0) {
        if (sqlite3_value_type(argv[argument]) == SQLITE_NULL) {
            return false;
        }
        bounds->low = bound_of(argv[argument], (plan & PT_QUEUE_PLAN_LOW_OPEN) == 0, 0);
        argument += equal ? 0 : 1;
    }
    if (equal || (plan & PT_QUEUE_PLAN_HIGH) != 0) {
        if (sqlite3_value_type(argv[argument]) == SQLITE_NULL) {
            return false;
        }
        bounds->high =
            bound_of(argv[argument], (plan & PT_QUEUE_PLAN_HIGH_OPEN) != 0, PT_TICKS_MAX + 1);
    }
    return bounds->low < bounds->high;
}
