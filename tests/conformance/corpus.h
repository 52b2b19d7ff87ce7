/*
 * A corpus: operations of the Table service with what is to be expected of them, a JSON object each
 * line.
 *
 *     {"op":"merge","table":"Main","pk":"Sales","rk":"1","properties":{"i":5},"ifMatch":"current",
 *      "expect":{"status":412,"code":"UpdateConditionNotSatisfied"}}
 *
 * op           insert, upsertReplace, upsertMerge, replace, merge, delete; get, query; batch;
 *              createTable, deleteTable
 * properties   as the service's JSON: annotations in "name@odata.type", Int64 as text
 * ifMatch      "*"; "current": the ETag that the entity has, or had last; "stale": the one before
 *              that, or one that it never had; any other text as it is
 * filter, select, top    of a query, which reads all pages
 * operations   of a batch: the same without table
 * expect       status; the service's code of an error; in a batch the index of the operation that
 *              fails; the entities that a get or query gives, in their order
 * difference   why `expect` is not what the emulator answered: differences.mjs
 *
 * In a line, {{c*n}} stands for the character c, n times.
 */
#ifndef TESTS_CONFORMANCE_CORPUS_H
#define TESTS_CONFORMANCE_CORPUS_H

#include "fixtures/database.h"

#include "base/buffer.h"

typedef struct corpus {
    const char *path;
    FILE *file;
    char *line; /* as read */
    size_t capacity;
    pt_buffer operation; /* the line as JSON, with a NUL */
    int number;          /* of the line, from 1 on */
} corpus;

static inline void corpus_open(corpus *lines, const char *path)
{
    *lines = (corpus){.path = path, .file = fopen(path, "r")};
    if (lines->file == NULL) {
        fail_msg("%s cannot be read; run the tests from the root folder", path);
    }
}

static inline void corpus_close(corpus *lines)
{
    fclose(lines->file);
    free(lines->line);
    pt_buffer_free(&lines->operation);
}

static inline size_t character_size(const char *text)
{
    uint8_t lead = (uint8_t)text[0];
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* Writes what stands for {{c*n}}, given what follows the braces, and answers what follows that. */
static inline const char *expand_run(pt_buffer *json, const char *text)
{
    size_t size = character_size(text);
    assert_int_equal(text[size], '*');
    char *end;
    for (long left = strtol(text + size + 1, &end, 10); left > 0; left--) {
        pt_buffer_append(json, text, size);
    }
    assert_int_equal(strncmp(end, "}}", 2), 0);
    return end + 2;
}

/* False at the end. */
static inline bool corpus_next(corpus *lines)
{
    if (getline(&lines->line, &lines->capacity, lines->file) < 0) {
        return false;
    }
    lines->number++;
    pt_buffer_clear(&lines->operation);
    const char *rest = lines->line;
    for (const char *run; (run = strstr(rest, "{{")) != NULL;) {
        pt_buffer_append(&lines->operation, rest, (size_t)(run - rest));
        rest = expand_run(&lines->operation, run + 2);
    }
    pt_buffer_append(&lines->operation, rest, strlen(rest) + 1);
    assert_false(lines->operation.failed);
    return true;
}

static inline const char *corpus_operation(const corpus *lines)
{
    return (const char *)lines->operation.data;
}

#endif
