#include "functions/id_functions.h"

#include <stdatomic.h>
#include <uuid/uuid.h>

#include "base/ticks.h"
#include "entity/edm.h"

enum { MILLISECOND_TICKS = 10000, FRACTION_BITS = 12, UUID_VERSION_7 = 0x70 };

static void result_uuid(sqlite3_context *context, const uuid_t uuid)
{
    char text[UUID_STR_LEN];
    uuid_unparse_lower(uuid, text);
    sqlite3_result_text(context, text, PT_GUID_TEXT_SIZE, SQLITE_TRANSIENT);
}

void pt_function_guid(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    uuid_t uuid;
    uuid_generate_random(uuid);
    result_uuid(context, uuid);
}

/* Milliseconds since 1970 and their fraction, as one number of 60 bits. */
static uint64_t uuid_stamp_now(void)
{
    int64_t ticks = pt_ticks_now() - PT_TICKS_UNIX_EPOCH;
    uint64_t elapsed = ticks > 0 ? (uint64_t)ticks : 0;
    uint64_t fraction = (elapsed % MILLISECOND_TICKS << FRACTION_BITS) / MILLISECOND_TICKS;
    return elapsed / MILLISECOND_TICKS << FRACTION_BITS | fraction;
}

static uint64_t next_uuid_stamp(void)
{
    static _Atomic uint64_t last;
    uint64_t now = uuid_stamp_now();
    uint64_t previous = atomic_load(&last);
    uint64_t next;
    do {
        next = now > previous ? now : previous + 1;
    } while (!atomic_compare_exchange_weak(&last, &previous, next));
    return next;
}

void pt_function_uuid7(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    uuid_t uuid;
    uuid_generate_random(uuid); /* sets the variant bits */
    uint64_t stamp = next_uuid_stamp();
    pt_put_be32(uuid, (uint32_t)(stamp >> 28));
    uuid[4] = (uint8_t)(stamp >> 20);
    uuid[5] = (uint8_t)(stamp >> 12);
    uuid[6] = (uint8_t)(UUID_VERSION_7 | (stamp >> 8 & 0x0F));
    uuid[7] = (uint8_t)stamp;
    result_uuid(context, uuid);
}
