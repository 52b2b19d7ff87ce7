/*
 * Conditions on properties in the service's words, for $filter.
 *
 * The service must answer at least the entities for which the condition may be true as SQLite
 * compares (query/comparison.h). SQLite checks each of them again, so more may come. For the
 * service
 *
 *     - a property of another type than the constant is less than it; an Int32 constant is also
 *       compared with Int64 and Double, an Int64 constant with Double,
 *     - a NaN is neither less than, equal to nor greater than a number, only different,
 *     - of a property that the entity lacks, nothing is true but `not`.
 *
 * So `Age > 30` becomes (Age ne 30 and not (Age le 30) or Age lt -2147483648): a NaN, which is a
 * text for SQLite, and all properties of other types come, too. If every property has the declared
 * type, Age gt 30 is enough.
 *
 * The emulator compares as JavaScript does. An Int64, DateTime, Guid or Binary is a text for it; a
 * text beside a number is read as a number, or is neither less nor greater; times have milliseconds
 * only. What is written for it also holds on Azure.
 */
#ifndef PT_SERVICE_CONDITION_TEXT_H
#define PT_SERVICE_CONDITION_TEXT_H

#include "base/buffer.h"
#include "query/comparison.h"
#include "service/dialect.h"

/* A condition to write. */
typedef struct pt_written_condition {
    const char *name; /* of the property */
    const pt_comparison *comparison;
    bool plain;    /* as in pt_term */
    bool declared; /* every property has the column's type */
    bool always;   /* every entity has the property */
    pt_dialect dialect;
} pt_written_condition;

/* True if $filter can name a property so. */
bool pt_condition_has_name(pt_slice name);

/* Appends the condition. Returns the number of its comparisons; 0: nothing can be asked for that
 * loses no entity, and nothing is appended. */
int pt_condition_append(pt_buffer *filter, const pt_written_condition *condition);

#endif
