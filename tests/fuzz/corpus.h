/*
 * A corpus: inputs in one file of text, each in a line of its own, in which \xHH stands for a byte
 * that is not printable ASCII, and for the backslash.
 */
#ifndef TESTS_FUZZ_CORPUS_H
#define TESTS_FUZZ_CORPUS_H

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_MAX = 4096, INPUTS_MAX = 4096, LINE_MAX_SIZE = 4 * INPUT_MAX + 2 };

typedef struct corpus_input {
    uint8_t *data;
    size_t size;
} corpus_input;

typedef struct corpus {
    corpus_input inputs[INPUTS_MAX];
    size_t count;
    size_t bytes;
} corpus;

static inline void bail_out(const char *what, const char *name)
{
    printf("Bail out! %s: %s\n", name, what);
    exit(1);
}

static inline size_t write_line(const uint8_t *data, size_t size, char line[LINE_MAX_SIZE])
{
    size_t used = 0;
    for (size_t i = 0; i < size && i < INPUT_MAX; i++) {
        if (data[i] >= ' ' && data[i] <= '~' && data[i] != '\\') {
            line[used++] = (char)data[i];
        } else {
            static const char digits[] = "0123456789abcdef";
            const char escape[4] = {'\\', 'x', digits[data[i] >> 4], digits[data[i] & 15]};
            memcpy(line + used, escape, sizeof escape);
            used += sizeof escape;
        }
    }
    line[used++] = '\n';
    line[used] = 0;
    return used;
}

/* The bytes of a line take the place of its text; their number. */
static inline size_t read_line(char *line)
{
    size_t used = 0;
    for (const char *at = line; *at != 0 && *at != '\n';) {
        char digits[3] = "";
        if (at[0] == '\\' && at[1] == 'x') {
            memcpy(digits, at + 2, 2);
            line[used++] = (char)strtoul(digits, NULL, 16);
            at += 4;
        } else {
            line[used++] = *at++;
        }
    }
    return used;
}

static inline void corpus_add(corpus *all, const void *data, size_t size)
{
    if (all->count == INPUTS_MAX) {
        bail_out("too many inputs", "corpus");
    }
    uint8_t *copy = malloc(size != 0 ? size : 1);
    if (copy == NULL) {
        bail_out("out of memory", "corpus");
    }
    memcpy(copy, data, size);
    all->inputs[all->count++] = (corpus_input){.data = copy, .size = size};
    all->bytes += size;
}

static inline void corpus_read(corpus *all, const char *path)
{
    static char line[LINE_MAX_SIZE];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        bail_out("cannot be read", path);
    }
    while (fgets(line, sizeof line, file) != NULL) {
        size_t size = read_line(line);
        corpus_add(all, line, size);
    }
    fclose(file);
}

static inline void corpus_free(corpus *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->inputs[i].data);
    }
    free(all);
}

#endif
