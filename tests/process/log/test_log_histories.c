/*
 * Processes append to lists and read them, and die while they do: at random moments, and between
 * the two steps of a COMMIT, when the commit is in the log and not published. What they leave is
 * found by the others, who go on. The history must be strictly serializable. Of the transaction
 * that a process died in nobody knows whether it is there; but then it is there wholly, and it
 * stays.
 *
 * Each process has a limit of its own for the log, some have none.
 *
 * N: how many processes are started; SEED.
 */
#include <sys/mman.h>

#include "faults/killing.h"
#include "faults/saboteur.h"
#include "fixtures/log_chain.h"
#include "process/concurrency/appender.h"
#include "process/concurrency/history_check.h"

enum {
    CREW = 6,
    MANY_UNKNOWN = 300, /* of them some are there, and some are not */
    DEFAULT_LIVES = 60, /* processes in a round */
    ROUND_LIVES = 150,
    LIFE_LENGTH = 60, /* transactions */
    LIFE_BYTES = 1 << 23,
    PAUSE_NS = 30000000,
    DIES_ONCE_IN = 30,  /* COMMITs */
    KILLED_ONCE_IN = 3, /* pauses */
};

/* What a process does, in memory that survives it. */
typedef struct life {
    appender self;
    bool ended; /* by itself */
    size_t used;
    max_align_t memory[];
} life;

static uint8_t *region;

static life *life_of(int number)
{
    return (life *)(void *)(region + (size_t)number * LIFE_BYTES);
}

/* --- The processes --- */

static life *own_life;

static void *remember(void *old, size_t bytes)
{
    size_t before = 0;
    size_t taken = sizeof(max_align_t) + (bytes + 15) / 16 * 16;
    if (sizeof(life) + own_life->used + taken > LIFE_BYTES) {
        abort();
    }
    uint8_t *block = (uint8_t *)own_life->memory + own_life->used;
    own_life->used += taken;
    memcpy(block, &bytes, sizeof bytes);
    if (old != NULL) {
        memcpy(&before, (uint8_t *)old - sizeof(max_align_t), sizeof before);
        memcpy(block + sizeof(max_align_t), old, before < bytes ? before : bytes);
    }
    return block + sizeof(max_align_t);
}

static void die(void)
{
    raise(SIGKILL);
}

/* After the stores have logged their parts, and before they publish them. */
static void perhaps_die(appender *self)
{
    if (throw_dice(self, DIES_ONCE_IN) == 0) {
        sqlite3_create_module(self->db, "saboteur", &saboteur_module, NULL);
        saboteur_watch = die;
        code_of(self->db, "CREATE VIRTUAL TABLE temp.s USING saboteur;"
                          "INSERT INTO temp.s VALUES(1)");
    }
}

static void live(const char *folder, int number, int among, int generation, uint64_t random)
{
    static const int limits[] = {0, 1, 3, 20, 1000000, 1000000};
    int limit = limits[random / 7 % (sizeof limits / sizeof limits[0])];
    own_life = life_of(number);
    history_realloc = remember;
    own_life->self.number = number;
    own_life->self.among = among;
    own_life->self.first_generation = generation;
    own_life->self.random = (random + 1) * 0x9E3779B97F4A7C15u;
    own_life->self.before_commit = perhaps_die;
    if (limit == 0) {
        use_no_log();
    } else {
        use_log(limit);
    }
    run_appender(&own_life->self, folder, LIFE_LENGTH);
    own_life->ended = true;
}

static pid_t start_life(const char *folder, int number, int among)
{
    int generation = 0;
    uint64_t random = random_below(1000000);
    for (int i = 0; i < number; i++) {
        int newest = generation_of(&life_of(i)->self);
        generation = newest > generation ? newest : generation;
    }
    fflush(stdout);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        live(folder, number, among, generation, random);
        _exit(0);
    }
    return pid;
}

/* --- The crew --- */

typedef struct figures {
    int64_t transactions;
    int64_t committed;
    int64_t deaths;
    int64_t unknown;      /* transactions that a process died in */
    int64_t unknown_made; /* of these, in at least one store */
    int edges;
} figures;

static void replace_ended(const char *folder, pid_t crew[CREW], int *started, int lives)
{
    for (int i = 0; i < CREW; i++) {
        int status;
        if (crew[i] != 0 && waitpid(crew[i], &status, WNOHANG) == crew[i]) {
            assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
                                            : WEXITSTATUS(status) == 0);
            crew[i] = 0;
        }
        if (crew[i] == 0 && *started < lives) {
            crew[i] = start_life(folder, (*started)++, lives);
        }
    }
}

static bool is_any_left(const pid_t crew[CREW])
{
    for (int i = 0; i < CREW; i++) {
        if (crew[i] != 0) {
            return true;
        }
    }
    return false;
}

static void run_crew(const char *folder, int lives)
{
    pid_t crew[CREW] = {0};
    int started = 0;
    do {
        replace_ended(folder, crew, &started, lives);
        uint32_t victim = random_below(CREW * KILLED_ONCE_IN);
        nanosleep(&(struct timespec){.tv_nsec = random_below(PAUSE_NS)}, NULL);
        if (victim < CREW && crew[victim] != 0) {
            kill(crew[victim], SIGKILL);
        }
    } while (is_any_left(crew));
}

/* --- What became of the transactions that processes died in --- */

typedef struct finals {
    history h; /* one transaction: all lists */
    int *keys; /* by number: the list that holds it, or -1 */
    int limit;
} finals;

static void read_finals(const char *folder, int lives, finals *last)
{
    int generations = 0;
    appender *self = need(calloc(1, sizeof *self));
    self->db = open_database(folder, "wal.db");
    self->explicitly = true;
    self->random = 1;
    for (int i = 0; i < lives; i++) {
        int generation = generation_of(&life_of(i)->self) + 1;
        generations = generation > generations ? generation : generations;
    }
    begin_noted(self);
    run(self->db, "BEGIN");
    for (int key = 0; key < generations * SLOTS; key++) {
        assert_int_equal(read_list(self, key), SQLITE_OK);
    }
    run(self->db, "COMMIT");
    end_noted(self, true);
    close_database(self->db);
    last->h = self->h;
    free(self);
}

static void index_numbers(finals *last)
{
    const history *h = &last->h;
    for (int i = 0; i < h->number_count; i++) {
        last->limit = h->numbers[i] >= last->limit ? h->numbers[i] + 1 : last->limit;
    }
    last->keys = need(malloc(((size_t)last->limit + 1) * sizeof *last->keys));
    memset(last->keys, 0xff, ((size_t)last->limit + 1) * sizeof *last->keys);
    for (int i = 0; i < h->event_count; i++) {
        const event *e = &h->events[i];
        for (int n = 0; n < e->length; n++) {
            last->keys[h->numbers[e->first + n]] = e->key;
        }
    }
}

static int key_of_number(const finals *last, int number)
{
    return number < last->limit ? last->keys[number] : -1;
}

/* The process died within its last transaction, or before it could note the end. */
static bool is_unknown(const life *of)
{
    const history *h = &of->self.h;
    return !of->ended && h->transaction_count > 0 &&
           !h->transactions[h->transaction_count - 1].committed;
}

/* A statement outside of BEGIN was committed, and the process died before it could note that. */
static void note_what_was_made(life *of, const finals *last)
{
    appender *self = &of->self;
    const transaction *t = &self->h.transactions[self->h.transaction_count - 1];
    int number = next_number(self);
    int key = key_of_number(last, number);
    bool noted = t->count > 0 && self->h.events[t->first + t->count - 1].kind == EVENT_APPEND &&
                 self->h.events[t->first + t->count - 1].value == number;
    if (key >= 0 && !self->explicitly && !noted) {
        own_life = of;
        history_realloc = remember;
        note_append(&self->h, key, number);
        history_realloc = realloc;
    }
}

/* True if something of the transaction is in a final list of the store. */
static bool was_made(const history *h, const transaction *t, const finals *last,
                     bool (*belongs)(int key))
{
    for (int i = t->first; i < t->first + t->count; i++) {
        const event *e = &h->events[i];
        if (e->kind == EVENT_APPEND && belongs(e->key) && key_of_number(last, e->value) >= 0) {
            return true;
        }
    }
    return false;
}

/* The history as far as one store tells what became of unknown transactions. */
static void join_lives(int lives, const finals *last, bool (*belongs)(int key), history *all,
                       figures *sum)
{
    for (int i = 0; i < lives; i++) {
        appender *self = &life_of(i)->self;
        history *h = &self->h;
        if (is_unknown(life_of(i))) {
            transaction *t = &h->transactions[h->transaction_count - 1];
            note_what_was_made(life_of(i), last);
            bool made = was_made(h, t, last, belongs);
            t->end = INT64_MAX;
            t->committed = made;
            join_history(all, h);
            t->committed = false; /* the other store may say something else */
            sum->unknown++;
            sum->unknown_made += made;
        } else {
            join_history(all, h);
        }
    }
    join_history(all, &last->h);
}

static void check_store(int lives, const finals *last, bool (*belongs)(int key), figures *sum)
{
    history all = {0};
    join_lives(lives, last, belongs, &all, sum);
    finding found = check_history(&all, belongs, &sum->edges);
    if (found.anomaly != NULL) {
        fail_msg("SEED=%lld: %s: %s", (long long)setting("SEED", 1), found.anomaly, found.text);
    }
    free_history(&all);
}

static void count_lives(int lives, figures *sum)
{
    for (int i = 0; i < lives; i++) {
        const life *of = life_of(i);
        if (of->self.bad_code != 0) {
            fail_msg("SEED=%lld: %d: %s", (long long)setting("SEED", 1), of->self.bad_code,
                     of->self.message);
        }
        sum->deaths += !of->ended;
        sum->transactions += of->self.h.transaction_count;
        for (int t = 0; t < of->self.h.transaction_count; t++) {
            sum->committed += of->self.h.transactions[t].committed;
        }
    }
}

/* --- The test --- */

static void make_hosts(const char *folder)
{
    const char *const names[] = {"journal.db", "wal.db"};
    for (int i = 0; i < 2; i++) {
        sqlite3 *db = open_database(folder, names[i]);
        run(db, "PRAGMA journal_mode = %s", i == 0 ? "delete" : "wal");
        assert_int_equal(declare_lists(db, folder), SQLITE_OK);
        close_database(db);
    }
}

/* Closed by the last process, each store is one file, and sound. */
static void check_files(const char *folder)
{
    static const char *const names[] = {"one.ptable", "two.ptable"};
    sqlite3 *db = open_database("", ":memory:");
    for (int i = 0; i < 2; i++) {
        char path[PATH_SIZE];
        path_in(folder, names[i], path);
        assert_number(db, 1, "SELECT pt_check(%Q) = 'ok'", path);
    }
    close_database(db);
    for (int i = 0; i < 2; i++) {
        char path[PATH_SIZE];
        path_in(folder, names[i], path);
        log_chain closed = log_chain_of(path);
        if (!closed.readable || closed.log_id != 0 || closed.has_file) {
            log_chain_fail_at(__FILE__, __LINE__, &closed, "closed, it is not one file");
        }
    }
}

static void one_round(int lives, figures *sum)
{
    void *folder;
    finals last = {0};
    size_t size = (size_t)lives * LIFE_BYTES;
    assert_int_equal(make_folder(&folder), 0);
    use_no_log();
    make_hosts(folder);
    region =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(region, MAP_FAILED);
    run_crew(folder, lives);
    count_lives(lives, sum);
    read_finals(folder, lives, &last);
    index_numbers(&last);
    check_store(lives, &last, is_in_first_store, sum);
    check_store(lives, &last, is_in_second_store, sum);
    check_files(folder);
    free(last.keys);
    free_history(&last.h);
    munmap(region, size);
    assert_int_equal(remove_folder(&folder), 0);
}

static void the_dead_leave_whole_transactions(void **state)
{
    (void)state;
    figures sum = {0};
    seed = (uint32_t)setting("SEED", 1);
    for (int64_t left = setting("N", DEFAULT_LIVES); left > 0; left -= ROUND_LIVES) {
        one_round((int)(left < ROUND_LIVES ? left : ROUND_LIVES), &sum);
    }
    printf(
        "# seed %lld: %lld transactions, %lld committed, %lld processes killed; of %lld parts of "
        "transactions that they died in %lld were there; a graph of %d edges\n",
        (long long)setting("SEED", 1), (long long)sum.transactions, (long long)sum.committed,
        (long long)sum.deaths, (long long)sum.unknown, (long long)sum.unknown_made, sum.edges);
    if (sum.unknown >= MANY_UNKNOWN) {
        assert_true(sum.unknown_made > 0 && sum.unknown > sum.unknown_made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_dead_leave_whole_transactions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
