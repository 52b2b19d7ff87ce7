#include "fixtures/cmocka.h"

#include "base/text.h"
#include "faults/failing_malloc.h"

/* RFC 4648 section 10, and its alphabet's last characters. */
static const struct {
    const char *bytes;
    const char *text;
} vectors[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xFB\xFF\xBF", "+/+/"},
};

static void published_vectors_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        pt_slice bytes = pt_slice_text(vectors[i].bytes);
        pt_slice text = pt_slice_text(vectors[i].text);
        pt_buffer buffer = {0};
        pt_base64_append(&buffer, bytes);
        assert_true(pt_slice_equal(pt_buffer_slice(&buffer), text));
        pt_buffer_free(&buffer);
        uint8_t decoded[16];
        size_t size = 99;
        assert_true(pt_base64_decode(text, decoded, &size));
        assert_true(pt_slice_equal(pt_slice_of(decoded, size), bytes));
    }
}

static void unused_bits_are_ignored(void **state)
{
    (void)state;
    uint8_t decoded[3];
    size_t size;
    assert_true(pt_base64_decode(pt_slice_text("Zv=="), decoded, &size));
    assert_true(pt_slice_equal(pt_slice_of(decoded, size), pt_slice_text("f")));
    assert_true(pt_base64_decode(pt_slice_text("Zm/="), decoded, &size));
    assert_true(pt_slice_equal(pt_slice_of(decoded, size), pt_slice_text("fo")));
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Z",    "Zg",    "Zg=",    "Zm8",      "Zm9vYg",   "=",          "==",
        "===",  "====",  "Z===",   "Zg==Zg==", "Zm8=Zm9v", "Zg= ",       " Zg=",
        "Zm 9", "Zm9\n", "Zm9v\n", "-_-_",     "Zm=v",     "\xC3\xA4Zg", "Zm9*",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint8_t decoded[16] = {7};
        size_t size = 99;
        if (pt_base64_decode(pt_slice_text(texts[i]), decoded, &size)) {
            fail_msg("accepted: %s", texts[i]);
        }
        assert_int_equal(size, 99);
        assert_int_equal(decoded[0], 7);
    }
    uint8_t decoded[3];
    size_t size;
    assert_false(pt_base64_decode(pt_slice_of("Zm9\0", 4), decoded, &size));
}

static void every_byte_survives_at_every_length_in_place(void **state)
{
    (void)state;
    uint8_t bytes[259];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 37 + 11);
    }
    for (size_t length = 0; length <= sizeof bytes; length++) {
        pt_buffer buffer = {0};
        pt_base64_append(&buffer, pt_slice_of(bytes, length));
        size_t size;
        assert_true(pt_base64_decode(pt_buffer_slice(&buffer), buffer.data, &size));
        assert_true(pt_slice_equal(pt_slice_of(buffer.data, size), pt_slice_of(bytes, length)));
        pt_buffer_free(&buffer);
    }
}

/* Two digits have 12 bits, and a byte takes 8 of them. */
static void sixteen_texts_decode_to_each_byte(void **state)
{
    (void)state;
    int accepted[256] = {0};
    for (int first = 0; first < 256; first++) {
        for (int second = 0; second < 256; second++) {
            uint8_t text[] = {(uint8_t)first, (uint8_t)second, '=', '='};
            uint8_t decoded[3];
            size_t size;
            if (pt_base64_decode(pt_slice_of(text, sizeof text), decoded, &size)) {
                assert_int_equal(size, 1);
                accepted[decoded[0]]++;
            }
        }
    }
    for (int byte = 0; byte < 256; byte++) {
        assert_int_equal(accepted[byte], 16);
    }
}

static void out_of_memory_is_sticky_in_the_buffer(void **state)
{
    (void)state;
    pt_buffer buffer = {0};
    failing_malloc_arm(0, true);
    pt_base64_append(&buffer, pt_slice_text("foo"));
    assert_true(failing_malloc_disarm());
    assert_true(buffer.failed);
    pt_buffer_free(&buffer);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors_agree),
        cmocka_unit_test(unused_bits_are_ignored),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(every_byte_survives_at_every_length_in_place),
        cmocka_unit_test(sixteen_texts_decode_to_each_byte),
        cmocka_unit_test(out_of_memory_is_sticky_in_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
