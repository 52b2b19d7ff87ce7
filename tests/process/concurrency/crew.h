/*
 * A crew: several processes that do jobs on one store, all at once, while the test watches. A job
 * is a number of rounds; a round that others disturb is done again, as programs do it.
 *
 * The program has a table `jobs` and its main begins with:
 *     if (is_member(argc, argv)) return be_member(argv, jobs, JOBS);
 */
#ifndef TESTS_PROCESS_CONCURRENCY_CREW_H
#define TESTS_PROCESS_CONCURRENCY_CREW_H

#include <poll.h>

#include "fixtures/child.h"

enum { CREW_MAX = 4, CREW_PATIENCE_MS = 60000 };

/* What a member has met with. */
typedef struct tally {
    int done;
    int exists;     /* EntityAlreadyExists (409) */
    int missing;    /* ResourceNotFound (404) */
    int changed;    /* UpdateConditionNotSatisfied (412) */
    int code;       /* any other failure */
    char text[300]; /* and its message */
} tally;

typedef struct member {
    sqlite3 *db;
    int number; /* 0, 1, ... in the crew */
    tally sum;
} member;

typedef struct job {
    const char *name;
    const char *tables; /* that it declares */
    void (*work)(member *);
} job;

/* --- In the member --- */

static inline void note_failure(member *self, int code)
{
    const char *text = sqlite3_errmsg(self->db);
    if (code == SQLITE_CONSTRAINT_PRIMARYKEY) {
        self->sum.exists++;
    } else if (code == SQLITE_CONSTRAINT_CHECK) {
        self->sum.missing++;
    } else if (strstr(text, "(UpdateConditionNotSatisfied)") != NULL) {
        self->sum.changed++;
    } else if (self->sum.code == 0) {
        self->sum.code = code;
        snprintf(self->sum.text, sizeof self->sum.text, "%s", text);
    }
}

/* Runs SQL, of which nothing remains if it fails, and returns the extended code. */
static inline int perform(member *self, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int code = execute(self->db, format, arguments);
    va_end(arguments);
    if (code != SQLITE_OK) {
        note_failure(self, code);
        if (!sqlite3_get_autocommit(self->db)) {
            code_of(self->db, "ROLLBACK");
        }
    }
    return code;
}

/* True if it is worth trying once more. */
static inline bool in_order(const member *self)
{
    return self->sum.code == 0;
}

/* True if the test has asked for the end. */
static inline bool asked_to_stop(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) != 0;
}

static inline bool is_member(int argc, char **argv)
{
    return argc == 5 && strcmp(argv[1], "member") == 0;
}

/* Says that it is ready, begins at a sign, and tells how it was. Arguments: main database, job and
   number. */
static inline int be_member(char **argv, const job *jobs, int job_count)
{
    member self = {.db = try_open(argv[2]), .number = atoi(argv[4])};
    char sign;
    for (int i = 0; self.db != NULL && i < job_count; i++) {
        if (strcmp(jobs[i].name, argv[3]) == 0) {
            perform(&self, "PRAGMA busy_timeout = %d; %s", CREW_PATIENCE_MS, jobs[i].tables);
            write_all(STDOUT_FILENO, &self.sum, sizeof self.sum);
            read_all(STDIN_FILENO, &sign, 1);
            jobs[i].work(&self);
            write_all(STDOUT_FILENO, &self.sum, sizeof self.sum);
            return sqlite3_close(self.db) == SQLITE_OK ? 0 : 1;
        }
    }
    return 1;
}

/* --- In the test --- */

typedef struct crew {
    child members[CREW_MAX];
    bool ended[CREW_MAX];
    int count;
    int first; /* the number of the first one */
    tally sum; /* of those that have ended */
} crew;

static inline tally hear(const child *from)
{
    tally heard;
    assert_true(read_all(from->from, &heard, sizeof heard));
    if (heard.code != 0) {
        fail_msg("a failure in a crew: %d, %s", heard.code, heard.text);
    }
    return heard;
}

/* One more member, with a main database of its own: they meet in the store. */
static inline void hire(crew *all, const char *folder, const char *job_name)
{
    char name[20];
    char path[PATH_SIZE];
    char number[12];
    assert_true(all->count < CREW_MAX);
    snprintf(number, sizeof number, "%d", all->first + all->count);
    snprintf(name, sizeof name, "%s.db", number);
    path_in(folder, name, path);
    const char *const arguments[] = {path, job_name, number, NULL};
    all->members[all->count] = start_child("member", arguments);
    hear(&all->members[all->count]);
    all->count++;
}

static inline void hire_many(crew *all, int members, const char *folder, const char *job_name)
{
    for (int i = 0; i < members; i++) {
        hire(all, folder, job_name);
    }
}

/* All members that have been hired begin. */
static inline void begin_work(const crew *all)
{
    for (int i = 0; i < all->count; i++) {
        assert_true(write_all(all->members[i].to, "b", 1));
    }
}

static inline void hear_end(crew *all, int i)
{
    const tally last = hear(&all->members[i]);
    all->sum.done += last.done;
    all->sum.exists += last.exists;
    all->sum.missing += last.missing;
    all->sum.changed += last.changed;
    all->ended[i] = true;
}

/* True if all members have ended; does not wait. */
static inline bool have_ended(crew *all)
{
    int ended = 0;
    for (int i = 0; i < all->count; i++) {
        struct pollfd output = {.fd = all->members[i].from, .events = POLLIN};
        if (!all->ended[i] && poll(&output, 1, 0) != 0) {
            hear_end(all, i);
        }
        ended += all->ended[i];
    }
    return ended == all->count;
}

/* While the members work, and once after that: two statements of one transaction give the same
   number. */
static inline void watch(crew *all, sqlite3 *db, const char *one, const char *other)
{
    bool ended;
    do {
        ended = have_ended(all);
        run(db, "BEGIN");
        assert_int_equal(number(db, "%s", one), number(db, "%s", other));
        run(db, "COMMIT");
    } while (!ended);
}

/* Asks those that still work to stop, and waits for all. */
static inline void end_work(crew *all)
{
    for (int i = 0; i < all->count; i++) {
        if (!all->ended[i]) {
            assert_true(write_all(all->members[i].to, "e", 1));
            hear_end(all, i);
        }
        stop_child(&all->members[i]);
    }
}

#endif
