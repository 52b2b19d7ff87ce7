#include "fixtures/cmocka.h"

#include <stdio.h>

#include "base/sqlite.h"
#include "entity/key.h"
#include "queue/message.h"

#define ID "01a1ff20-c1a2-71e5-816f-a201ba7d23a7"
#define RECEIPT "c86658ca-b200-4a26-b032-6b2c8a3ed221"
#define TICKS "0639308784992341940"

static pt_slice text(const char *bytes)
{
    return pt_slice_text(bytes);
}

static void ids_tell_the_time_and_are_in_its_order(void **state)
{
    (void)state;
    /* 2026-11-21T08:43:22.5484454Z, by another way: 1795250602548.4454 ms since 1970. */
    const int64_t ticks = PT_TICKS_UNIX_EPOCH + INT64_C(17952506025484454);
    char last[PT_MESSAGE_ID_SIZE + 1] = "";
    char id[PT_MESSAGE_ID_SIZE + 1];
    pt_message_make_id(ticks, id);
    unsigned long long milliseconds = 0;
    unsigned fraction = 0;
    unsigned rest = 0;
    char joined[13];
    snprintf(joined, sizeof joined, "%.8s%.4s", id, id + 9);
    assert_int_equal(sscanf(joined, "%12llx", &milliseconds), 1);
    assert_int_equal(milliseconds, 1795250602548ULL);
    assert_int_equal(sscanf(id + 14, "7%3x-%1x", &fraction, &rest), 2);
    assert_int_equal(rest >> 2, 2);
    assert_int_equal(fraction << 2 | (rest & 3), 4454);
    for (int64_t later = ticks; later < ticks + 25000; later += later % 7 + 1) {
        pt_message_make_id(later, id);
        assert_true(strcmp(id, last) > 0);
        memcpy(last, id, sizeof last);
    }
}

static void ids_and_receipts_are_no_twice_the_same(void **state)
{
    (void)state;
    char one[PT_MESSAGE_ID_SIZE + 1];
    char other[PT_MESSAGE_ID_SIZE + 1];
    pt_message_make_id(PT_TICKS_MAX, one);
    pt_message_make_id(PT_TICKS_MAX, other);
    assert_string_not_equal(one, other);
    pt_message_make_id(0, one); /* before 1970 */
    assert_memory_equal(one, "00000000-0000-7000-8", 20);
    pt_message message = {.next_visible = 5};
    pt_message_make_receipt(&message);
    uint8_t receipt[PT_GUID_SIZE];
    memcpy(receipt, message.receipt, sizeof receipt);
    pt_message_make_receipt(&message);
    assert_memory_not_equal(receipt, message.receipt, sizeof receipt);
}

static void keys_and_receipts_are_the_documented_ones(void **state)
{
    (void)state;
    pt_message message = {.next_visible = INT64_C(639308784992341940)};
    memcpy(message.id, ID, sizeof ID);
    assert_true(pt_guid_parse(text(RECEIPT), message.receipt));
    char receipt[PT_MESSAGE_RECEIPT_SIZE + 1];
    char row_key[PT_MESSAGE_ROW_KEY_SIZE + 1];
    pt_message_format_receipt(&message, receipt);
    pt_message_format_row_key(&message, row_key);
    assert_string_equal(receipt, TICKS "-" RECEIPT);
    assert_string_equal(row_key, TICKS "_" ID);
    pt_buffer key = {0};
    assert_true(pt_message_make_key(&message, 7, &key));
    static const char logical[] = "\7\0" TICKS "_" ID;
    assert_int_equal(key.size, sizeof logical - 1);
    assert_memory_equal(key.data, logical, key.size);
    pt_buffer_free(&key);
}

static void receipts_are_taken_apart(void **state)
{
    (void)state;
    pt_message message = {.next_visible = 1};
    uint8_t guid[PT_GUID_SIZE];
    assert_true(pt_guid_parse(text(RECEIPT), guid));
    assert_true(pt_message_parse_receipt(text(ID), text(TICKS "-" RECEIPT), &message));
    assert_string_equal(message.id, ID);
    assert_int_equal(message.next_visible, INT64_C(639308784992341940));
    assert_memory_equal(message.receipt, guid, sizeof guid);
    assert_true(pt_message_parse_receipt(text(ID), text("3155378975999999999-" RECEIPT), &message));
    assert_int_equal(message.next_visible, PT_TICKS_MAX);
}

static void other_texts_are_no_receipts(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        const char *receipt;
    } wrong[] = {
        {"", TICKS "-" RECEIPT},
        {"01A1ff20-c1a2-71e5-816f-a201ba7d23a7", TICKS "-" RECEIPT},
        {"{01a1ff20-c1a2-71e5-816f-a201ba7d23a}", TICKS "-" RECEIPT},
        {ID " ", TICKS "-" RECEIPT},
        {ID, ""},
        {ID, RECEIPT},
        {ID, TICKS "_" RECEIPT},
        {ID, "639308784992341940-" RECEIPT},
        {ID, "3155378976000000000-" RECEIPT},
        {ID, "9999999999999999999-" RECEIPT},
        {ID, "-639308784992341940-" RECEIPT},
        {ID, TICKS "-C86658ca-b200-4a26-b032-6b2c8a3ed221"},
        {ID, TICKS "-" RECEIPT "0"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        pt_message message;
        assert_false(pt_message_parse_receipt(text(wrong[i].id), text(wrong[i].receipt), &message));
    }
}

static void a_message_lives_until_it_expires(void **state)
{
    (void)state;
    pt_message message = {.expires = 100};
    assert_true(pt_message_is_alive(&message, 99));
    assert_false(pt_message_is_alive(&message, 100));
    message.expires = PT_TICKS_MAX;
    assert_true(pt_message_is_alive(&message, PT_TICKS_MAX));
}

static void assert_field(const pt_bag *bag, unsigned i, const char *name, pt_type type)
{
    assert_true(pt_slice_equal(bag->fields[i].name, text(name)));
    assert_int_equal(bag->fields[i].value.type, type);
}

static void the_entity_has_the_documented_properties(void **state)
{
    (void)state;
    pt_message message = {.inserted = 3,
                          .expires = 9,
                          .dequeue_count = 5,
                          .body = {.type = PT_BINARY, .bytes = text("x")}};
    pt_bag bag = {0};
    for (int i = 0; i < 2; i++) {
        assert_true(pt_message_fill_bag(&message, &bag));
        assert_int_equal(bag.count, i == 0 ? 5 : 4);
        assert_field(&bag, 0, "Body", PT_BINARY);
        assert_field(&bag, 1, "InsertionTime", PT_DATETIME);
        assert_field(&bag, 2, "DequeueCount", PT_INT64);
        assert_field(&bag, 3, "Receipt", PT_GUID);
        assert_int_equal(bag.fields[1].value.integer, 3);
        assert_int_equal(bag.fields[2].value.integer, 5);
        if (i == 0) {
            assert_field(&bag, 4, "ExpirationTime", PT_DATETIME);
            assert_int_equal(bag.fields[4].value.integer, 9);
        }
        message.expires = PT_TICKS_MAX;
    }
    pt_bag_free(&bag);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_tell_the_time_and_are_in_its_order),
        cmocka_unit_test(ids_and_receipts_are_no_twice_the_same),
        cmocka_unit_test(keys_and_receipts_are_the_documented_ones),
        cmocka_unit_test(receipts_are_taken_apart),
        cmocka_unit_test(other_texts_are_no_receipts),
        cmocka_unit_test(a_message_lives_until_it_expires),
        cmocka_unit_test(the_entity_has_the_documented_properties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
