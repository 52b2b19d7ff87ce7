/*
 * The main function of a fuzzer that is not driven by libFuzzer: runs the inputs of its seeds and
 * its corpus, and then N inputs made of them at random from SEED. Prints the Test Anything
 * Protocol, one test for each input of the corpus; what an input breaks ends the program, with the
 * input as a line of a corpus.
 *
 *     fuzz_NAME                     replays tests/fuzz/seeds/NAME.txt, written by hand and what
 *                                   once broke something, and tests/fuzz/corpus/NAME.txt, found
 *                                   by libFuzzer
 *     fuzz_NAME unpack FOLDER       writes both as files
 *     fuzz_NAME pack FOLDER         prints the files as a corpus
 */
#ifndef TESTS_FUZZ_REPLAY_H
#define TESTS_FUZZ_REPLAY_H

#ifndef LIBFUZZER

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "fuzz/corpus.h"
#include "fuzz/fuzz.h"
#include "random/environment.h"

enum { DEFAULT_MUTATIONS = 300, DEFAULT_SEED = 1, INPUT_SECONDS = 60 };

static corpus_input running;

static inline void tell_running(int number)
{
    static char line[LINE_MAX_SIZE];
    static const char text[] = "# ended by this input, as a line of the corpus:\n# ";
    size_t size = write_line(running.data, running.size, line);
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0 || write(STDOUT_FILENO, line, size) < 0) {
        _exit(1);
    }
    signal(number, SIG_DFL);
    raise(number);
}

/* Sanitizers then end the process by a signal too. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "abort_on_error=1";
}

static inline void run_input(const uint8_t *data, size_t size)
{
    running = (corpus_input){.data = malloc(size != 0 ? size : 1), .size = size};
    if (running.data == NULL) {
        bail_out("out of memory", "replay");
    }
    memcpy(running.data, data, size);
    alarm(INPUT_SECONDS);
    LLVMFuzzerTestOneInput(running.data, size);
    alarm(0);
    free(running.data);
}

/* --- Inputs made of others --- */

static inline unsigned below(unsigned short random[3], unsigned limit)
{
    return (unsigned)nrand48(random) % limit;
}

static inline size_t change_bytes(uint8_t *data, size_t size, unsigned short random[3])
{
    size_t at = below(random, (unsigned)size + 1);
    switch (below(random, 4)) {
    case 0:
        memmove(data + at + 1, data + at, size - at);
        data[at] = (uint8_t)below(random, 256);
        return size + 1;
    case 1:
        if (at < size) {
            memmove(data + at, data + at + 1, size - at - 1);
            return size - 1;
        }
        return size;
    default:
        if (at < size) {
            data[at] = (uint8_t)(below(random, 2) == 0 ? below(random, 256)
                                                       : data[at] ^ 1u << below(random, 8));
        }
        return size;
    }
}

/* The beginning of one input and the end of another, and then a few bytes changed. */
static inline void run_mixture(const corpus *all, unsigned short random[3])
{
    enum { CHANGES = 4 };
    static uint8_t data[2 * INPUT_MAX + CHANGES];
    const corpus_input *first = &all->inputs[below(random, (unsigned)all->count)];
    const corpus_input *second = &all->inputs[below(random, (unsigned)all->count)];
    bool whole = below(random, 2) == 0;
    size_t begun = whole ? first->size : below(random, (unsigned)first->size + 1);
    size_t from = whole ? second->size : below(random, (unsigned)second->size + 1);
    memcpy(data, first->data, begun);
    memcpy(data + begun, second->data + from, second->size - from);
    size_t size = begun + second->size - from;
    for (unsigned changes = below(random, CHANGES); changes > 0; changes--) {
        size = change_bytes(data, size, random);
    }
    run_input(data, size < INPUT_MAX ? size : INPUT_MAX);
}

static inline void replay(const char *name, const corpus *all)
{
    uint64_t mutations = number_from_environment("N", DEFAULT_MUTATIONS);
    uint64_t seed = number_from_environment("SEED", DEFAULT_SEED);
    unsigned short random[3] = {(unsigned short)seed, (unsigned short)(seed >> 16),
                                (unsigned short)(seed >> 32)};
    printf("1..%zu\n", all->count + 1);
    for (size_t i = 0; i < all->count; i++) {
        run_input(all->inputs[i].data, all->inputs[i].size);
        printf("ok %zu - input %zu\n", i + 1, i + 1);
        fflush(stdout);
    }
    for (uint64_t i = 0; i < mutations && all->count > 0; i++) {
        run_mixture(all, random);
    }
    printf("ok %zu - inputs made of them\n", all->count + 1);
    printf("# %s: %zu inputs kept, %zu bytes; N=%llu inputs made of them, SEED=%llu\n", name,
           all->count, all->bytes, (unsigned long long)mutations, (unsigned long long)seed);
}

/* --- The corpus as files, which libFuzzer wants --- */

static inline void unpack(const corpus *all, const char *folder)
{
    for (size_t i = 0; i < all->count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/corpus-%04zu", folder, i + 1);
        FILE *file = fopen(path, "w");
        if (file == NULL ||
            fwrite(all->inputs[i].data, 1, all->inputs[i].size, file) != all->inputs[i].size ||
            fclose(file) != 0) {
            bail_out("cannot be written", path);
        }
    }
}

static inline int compare_lines(const void *a, const void *b)
{
    const char *const *first = a;
    const char *const *second = b;
    size_t sizes[] = {strlen(*first), strlen(*second)};
    return sizes[0] != sizes[1] ? (sizes[0] > sizes[1]) - (sizes[0] < sizes[1])
                                : strcmp(*first, *second);
}

static inline char *line_of_file(const char *folder, const char *name)
{
    static uint8_t data[INPUT_MAX];
    static char line[LINE_MAX_SIZE];
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        bail_out("cannot be read", path);
    }
    write_line(data, fread(data, 1, sizeof data, file), line);
    fclose(file);
    return strdup(line);
}

static inline void pack(const char *folder)
{
    static char *lines[INPUTS_MAX];
    size_t count = 0;
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        bail_out("cannot be read", folder);
    }
    for (struct dirent *entry = readdir(directory); entry != NULL && count < INPUTS_MAX;
         entry = readdir(directory)) {
        if (entry->d_name[0] != '.') {
            lines[count++] = line_of_file(folder, entry->d_name);
        }
    }
    closedir(directory);
    qsort(lines, count, sizeof lines[0], compare_lines);
    for (size_t i = 0; i < count; i++) {
        fputs(lines[i], stdout);
        free(lines[i]);
    }
}

static inline void read_inputs(corpus *all, const char *kind, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "tests/fuzz/%s/%s.txt", kind, name);
    corpus_read(all, path);
}

int main(int argc, char **argv)
{
    static const char prefix[] = "fuzz_";
    const char *name = strrchr(argv[0], '/');
    name = strstr(name != NULL ? name : argv[0], prefix);
    corpus *all = calloc(1, sizeof *all);
    if (name == NULL || all == NULL) {
        bail_out("its name must begin with fuzz_", argv[0]);
    }
    name += sizeof prefix - 1;
    if (argc == 3 && strcmp(argv[1], "pack") == 0) {
        pack(argv[2]);
        free(all);
        return 0;
    }
    read_inputs(all, "seeds", name);
    read_inputs(all, "corpus", name);
    if (argc == 3 && strcmp(argv[1], "unpack") == 0) {
        unpack(all, argv[2]);
    } else {
        static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
        for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
            signal(signals[i], tell_running);
        }
        replay(name, all);
    }
    corpus_free(all);
    return 0;
}

#endif
#endif
