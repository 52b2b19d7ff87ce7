/*
 * What a queue answers to requests: handing out, giving back, poison; and that it does all or
 * nothing.
 */
#include "fixtures/queue_requests.h"

#include <time.h>

#include "unit/queue/queue_database.h"

/* --- Handing out --- */

static void messages_come_in_order_and_are_hidden(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body) VALUES ('a'), ('b'), ('c'), ('d')");
    run(db, "INSERT INTO jobs(Body, VisibilityTimeout) VALUES ('later', 60)");
    assert_gets(db, "jobs", "1", "a ");
    assert_gets(db, "jobs", "'2'", "b c ");
    assert_gets(db, "jobs", "9223372036854775807", "d ");
    assert_gets(db, "jobs", "32", "");
    assert_number(db, 4, "SELECT sum(DequeueCount) FROM jobs");
    assert_number(db, 0, "SELECT count(*) FROM jobs WHERE TimeNextVisible <= pt_datetime()");
    assert_number(db, 5, "SELECT Entities FROM pt_tables");
}

static void a_message_is_what_was_inserted(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body, TimeToLive) VALUES (CAST('b' || char(0) || 'c' AS TEXT), 100), "
            "(x'0001', NULL), ('', NULL), (x'', NULL), (hex(zeroblob(40000)), NULL), "
            "(randomblob(40001), NULL)");
    run(db, "CREATE TEMP TABLE before AS SELECT * FROM jobs");
    pt_queue_request request = get_messages(db, "jobs", "10", "30");
    assert_int_equal(request.message_count, 6);
    run(db, "CREATE TEMP TABLE given(id, receipt, body, inserted, expires, next_visible, count)");
    for (size_t i = 0; i < request.message_count; i++) {
        const pt_queue_message *message = &request.messages[i];
        sqlite3_stmt *insert;
        assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO given VALUES(?, ?, ?, ?, ?, ?, ?)", -1,
                                            &insert, NULL),
                         SQLITE_OK);
        sqlite3_bind_text(insert, 1, message->id, -1, NULL);
        sqlite3_bind_text(insert, 2, message->receipt, -1, NULL);
        if (message->body_is_text) {
            assert_int_equal(message->body.data[message->body.size], 0);
            sqlite3_bind_text(insert, 3, (const char *)message->body.data, (int)message->body.size,
                              NULL);
        } else {
            sqlite3_bind_blob(insert, 3, message->body.data, (int)message->body.size, NULL);
        }
        sqlite3_bind_int64(insert, 4, message->inserted);
        sqlite3_bind_int64(insert, 5, message->expires);
        sqlite3_bind_int64(insert, 6, message->next_visible);
        sqlite3_bind_int64(insert, 7, message->dequeue_count);
        assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
        sqlite3_finalize(insert);
    }
    end_request(&request);
    assert_number(db, 6,
                  "SELECT count(*) FROM given JOIN before ON id = MessageId WHERE given.body = "
                  "before.Body AND typeof(given.body) = typeof(before.Body) AND pt_datetime("
                  "inserted) = InsertionTime AND before.DequeueCount = 0 AND count = 1");
    assert_number(
        db, 6,
        "SELECT count(*) FROM given JOIN jobs ON id = MessageId AND receipt = PopReceipt "
        "WHERE given.body = jobs.Body AND pt_datetime(next_visible) = TimeNextVisible AND "
        "pt_datetime(expires) = coalesce(ExpirationTime, '9999-12-31T23:59:59.9999999Z') "
        "AND count = DequeueCount");
    assert_number(db, 1, "SELECT count(ExpirationTime) FROM jobs");
    assert_number(db, 1, "SELECT count(DISTINCT TimeNextVisible) FROM jobs");
    assert_number(db, 1, "SELECT min(TimeNextVisible > pt_datetime()) FROM jobs");
}

static void the_next_to_get_it_takes_the_receipt_away(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body) VALUES ('a')");
    pt_queue_request first = get_messages(db, "jobs", "1", "0.0000001");
    pt_queue_request second = get_messages(db, "jobs", "1", "30.5");
    assert_int_equal(second.message_count, 1);
    assert_string_equal(first.messages[0].id, second.messages[0].id);
    assert_string_not_equal(first.messages[0].receipt, second.messages[0].receipt);
    assert_int_equal(second.messages[0].dequeue_count, 2);
    fails(db, SQLITE_CONSTRAINT_VTAB, "DELETE FROM jobs WHERE MessageId = %Q AND PopReceipt = %Q",
          first.messages[0].id, first.messages[0].receipt);
    says(db, "PopReceiptMismatch");
    run(db, "DELETE FROM jobs WHERE MessageId = %Q AND PopReceipt = %Q", second.messages[0].id,
        second.messages[0].receipt);
    assert_number(db, 0, "SELECT Entities FROM pt_tables");
    end_request(&first);
    end_request(&second);
}

static void what_is_not_given_is_one_message_and_half_a_minute(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body) VALUES ('a'), ('b')");
    pt_queue_request request = get_messages(db, "jobs", NULL, NULL);
    assert_int_equal(request.message_count, 1);
    assert_number(db, 1,
                  "SELECT abs(pt_ticks(max(TimeNextVisible)) - pt_ticks() - 300000000)"
                  " < 100000000 FROM jobs");
    end_request(&request);
}

static void what_has_expired_is_removed_on_the_way(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body, TimeToLive) VALUES ('a', 1e-7), ('b', -1), "
            "(hex(zeroblob(5000)), 1e-7), ('d', 1e-7), ('e', -1), ('f', 1e-7)");
    assert_number(db, 6, "SELECT Entities FROM pt_tables");
    assert_number(db, 2, "SELECT count(*) FROM jobs");
    assert_gets(db, "jobs", "1", "b ");
    assert_number(db, 5, "SELECT Entities FROM pt_tables");
    assert_gets(db, "jobs", "5", "e ");
    assert_number(db, 2, "SELECT Entities FROM pt_tables");
    assert_gets(db, "jobs", "5", "");
}

static void what_is_hidden_for_longer_than_it_lives_is_removed(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body, TimeToLive, VisibilityTimeout) VALUES ('new', 1, 9e18)");
    run(db, "INSERT INTO jobs(Body, TimeToLive) VALUES ('held', 1), ('kept', 1)");
    assert_number(db, 2, "SELECT count(*) FROM pt_queue_get('jobs', 2, 9e18)");
    run(db, "UPDATE jobs SET VisibilityTimeout = 9e18 WHERE (MessageId, PopReceipt) IN (SELECT "
            "MessageId, PopReceipt FROM jobs WHERE Body = 'kept')");
    assert_number(db, 3, "SELECT Entities FROM pt_tables");
    sqlite3_sleep(1100);
    assert_gets(db, "jobs", "1", "");
    assert_number(db, 0, "SELECT Entities FROM pt_tables");
}

static void nobody_holds_a_message_that_has_expired(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body) VALUES ('a')");
    run(db, "INSERT INTO jobs(Body, TimeToLive) VALUES ('b', 0.05)");
    pt_queue_request request = get_messages(db, "jobs", "2", "60");
    const pt_queue_message *last = &request.messages[request.message_count - 1];
    while (number(db, "SELECT count(*) FROM jobs") == 2) {
    }
    pt_queue_request late = update_request(db, last, "1", NULL);
    assert_int_equal(send_request(db, "jobs", &late), SQLITE_CONSTRAINT_VTAB);
    says(db, "has expired");
    fails(db, SQLITE_CONSTRAINT_VTAB, "DELETE FROM jobs WHERE MessageId = %Q AND PopReceipt = %Q",
          last->id, last->receipt);
    end_request(&late);
    end_request(&request);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *count;
        const char *seconds;
        int code;
        const char *text;
    } refused[] = {
        {"0", "30", SQLITE_CONSTRAINT_VTAB, "number of messages 0 is out of range"},
        {"-1", "30", SQLITE_CONSTRAINT_VTAB, "number of messages -1"},
        {"1.5", "30", SQLITE_MISMATCH, "number of messages is 1.5; give an integer"},
        {"NULL", "30", SQLITE_MISMATCH, "number of messages is NULL"},
        {"'many'", "30", SQLITE_MISMATCH, "number of messages is 'many'"},
        {"1", "0", SQLITE_CONSTRAINT_VTAB, "VisibilityTimeout 0 is out of range"},
        {"1", "-1", SQLITE_CONSTRAINT_VTAB, "VisibilityTimeout -1"},
        {"1", "1e-8", SQLITE_CONSTRAINT_VTAB, "0.0000001 at least"},
        {"1", "-9e999", SQLITE_CONSTRAINT_VTAB, "VisibilityTimeout -Inf"},
        {"1", "NULL", SQLITE_MISMATCH, "VisibilityTimeout is NULL"},
        {"1", "'NaN'", SQLITE_MISMATCH, "VisibilityTimeout is 'NaN'"},
        {"1", "''", SQLITE_MISMATCH, "VisibilityTimeout is ''"},
        {"1", "x'31'", SQLITE_MISMATCH, "VisibilityTimeout is a BLOB"},
    };
    run(db, "INSERT INTO jobs(Body) VALUES ('a')");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_get_fails(db, "jobs", refused[i].count, refused[i].seconds, refused[i].code,
                         refused[i].text);
    }
    assert_number(db, 0, "SELECT DequeueCount FROM jobs");
    assert_gets(db, "jobs", "1", "a ");
}

static void azure_limits_are_kept(void **state)
{
    (void)state;
    run(db, "CREATE VIRTUAL TABLE azure USING pt_queue(limits=azure, sync=off)");
    run(db, "INSERT INTO azure(Body) VALUES ('a')");
    assert_get_fails(db, "azure", "33", "30", SQLITE_CONSTRAINT_VTAB, "1 to 32");
    assert_get_fails(db, "azure", "32", "0.5", SQLITE_CONSTRAINT_VTAB, "1 to 604800");
    assert_get_fails(db, "azure", "32", "604801", SQLITE_CONSTRAINT_VTAB, "1 to 604800");
    pt_queue_request request = get_messages(db, "azure", "32", "604800");
    assert_int_equal(request.message_count, 1);
    pt_queue_request late = update_request(db, &request.messages[0], "604801", NULL);
    assert_int_equal(send_request(db, "azure", &late), SQLITE_CONSTRAINT_VTAB);
    pt_queue_request large = update_request(db, &request.messages[0], "0", "zeroblob(65537)");
    assert_int_equal(send_request(db, "azure", &large), SQLITE_CONSTRAINT_VTAB);
    says(db, "RequestBodyTooLarge");
    end_request(&late);
    end_request(&large);
    end_request(&request);
}

static void azure_hides_no_message_for_longer_than_it_lives(void **state)
{
    (void)state;
    run(db, "CREATE VIRTUAL TABLE azure USING pt_queue(limits=azure, sync=off)");
    run(db, "INSERT INTO azure(Body, TimeToLive) VALUES ('a', 100)");
    pt_queue_request request = get_messages(db, "azure", "1", "604800");
    pt_queue_request late = update_request(db, &request.messages[0], "101", NULL);
    assert_int_equal(send_request(db, "azure", &late), SQLITE_CONSTRAINT_VTAB);
    says(db, "what is left of the message's TimeToLive (OutOfRangeQueryParameterValue)");
    pt_queue_request early = update_request(db, &request.messages[0], "99", NULL);
    assert_int_equal(send_request(db, "azure", &early), SQLITE_OK);
    end_request(&early);
    end_request(&late);
    end_request(&request);
}

static void far_times_end_with_the_calendar(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body, TimeToLive) VALUES ('a', 1e300), ('b', 9223372036854775807)");
    pt_queue_request request = get_messages(db, "jobs", "2", "9e999");
    assert_int_equal(request.message_count, 2);
    assert_number(db, 2,
                  "SELECT count(*) FROM jobs WHERE TimeNextVisible = "
                  "'9999-12-31T23:59:59.9999999Z' AND ExpirationTime IS NULL");
    run(db, "DELETE FROM jobs WHERE MessageId = %Q AND PopReceipt = %Q", request.messages[1].id,
        request.messages[1].receipt);
    end_request(&request);
    assert_number(db, 1, "SELECT count(*) FROM jobs");
}

/* --- Giving back --- */

static void an_update_gives_the_message_with_its_new_receipt(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body) VALUES ('a')");
    pt_queue_request got = get_messages(db, "jobs", "1", "30");
    pt_queue_request kept = update_request(db, &got.messages[0], "60", NULL);
    assert_int_equal(send_request(db, "jobs", &kept), SQLITE_OK);
    assert_int_equal(kept.message_count, 1);
    const pt_queue_message *message = &kept.messages[0];
    assert_body(message, "a");
    assert_int_equal(message->dequeue_count, 1);
    assert_true(message->next_visible > got.messages[0].next_visible);
    assert_string_not_equal(message->receipt, got.messages[0].receipt);
    assert_int_equal(send_request(db, "jobs", &got), SQLITE_OK); /* nothing is visible */
    assert_int_equal(got.message_count, 1);
    pt_queue_request stale = update_request(db, &got.messages[0], "60", NULL);
    assert_int_equal(send_request(db, "jobs", &stale), SQLITE_CONSTRAINT_VTAB);
    says(db, "PopReceiptMismatch");
    pt_queue_request changed = update_request(db, message, "0", "'changed'");
    assert_int_equal(send_request(db, "jobs", &changed), SQLITE_OK);
    assert_body(&changed.messages[0], "changed");
    assert_gets(db, "jobs", "1", "changed ");
    end_request(&got);
    end_request(&kept);
    end_request(&stale);
    end_request(&changed);
}

static void wrong_updates_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        const char *receipt;
        const char *seconds;
        const char *body;
        int code;
        const char *text;
    } refused[] = {
        {"NULL", "PopReceipt", "1", NULL, SQLITE_CONSTRAINT_VTAB, "MessageId is NULL"},
        {"MessageId", "NULL", "1", NULL, SQLITE_CONSTRAINT_VTAB, "PopReceipt is NULL"},
        {"MessageId", "MessageId", "1", NULL, SQLITE_CONSTRAINT_VTAB, "PopReceiptMismatch"},
        {"5", "x'00'", "1", NULL, SQLITE_CONSTRAINT_VTAB, "message '5' is no longer held"},
        {"MessageId", "PopReceipt", "NULL", NULL, SQLITE_MISMATCH, "VisibilityTimeout is NULL"},
        {"MessageId", "PopReceipt", "-1", NULL, SQLITE_CONSTRAINT_VTAB, "VisibilityTimeout -1"},
        {"MessageId", "PopReceipt", "1", "NULL", SQLITE_CONSTRAINT_NOTNULL, "Body is NULL"},
        {"MessageId", "PopReceipt", "1", "5", SQLITE_MISMATCH, "Body is the number 5"},
    };
    run(db, "INSERT INTO jobs(Body) VALUES ('a')");
    run(db, "CREATE TEMP TABLE before AS SELECT *, PopReceipt FROM jobs");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char id[60];
        char receipt[60];
        snprintf(id, sizeof id, "(SELECT %s FROM before)", refused[i].id);
        snprintf(receipt, sizeof receipt, "(SELECT %s FROM before)", refused[i].receipt);
        pt_queue_request request = {.kind = PT_QUEUE_UPDATE,
                                    .id = evaluate(db, id),
                                    .receipt = evaluate(db, receipt),
                                    .visibility = evaluate(db, refused[i].seconds),
                                    .body = evaluate(db, refused[i].body)};
        assert_int_equal(send_request(db, "jobs", &request), refused[i].code);
        says(db, refused[i].text);
        end_request(&request);
    }
    assert_number(db, 1,
                  "SELECT count(*) FROM (SELECT *, PopReceipt FROM jobs INTERSECT SELECT * "
                  "FROM before)");
}

static void large_bodies_come_and_go(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body) VALUES (zeroblob(5000))");
    pt_queue_request got = get_messages(db, "jobs", "1", "30");
    pt_queue_request kept = update_request(db, &got.messages[0], "60", NULL);
    assert_int_equal(send_request(db, "jobs", &kept), SQLITE_OK);
    assert_int_equal(kept.messages[0].body.size, 5000);
    assert_false(kept.messages[0].body_is_text);
    pt_queue_request larger = update_request(db, &kept.messages[0], "60", "zeroblob(20000)");
    assert_int_equal(send_request(db, "jobs", &larger), SQLITE_OK);
    assert_number(db, 20000, "SELECT length(Body) FROM jobs");
    pt_queue_request small = update_request(db, &larger.messages[0], "60", "'small'");
    assert_int_equal(send_request(db, "jobs", &small), SQLITE_OK);
    assert_number(db, 1, "SELECT Bytes < 400 FROM pt_tables");
    end_request(&got);
    end_request(&kept);
    end_request(&larger);
    end_request(&small);
}

static void a_body_that_the_connection_cannot_take_stays(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body) VALUES ('a'), (zeroblob(50000))");
    int limit = sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 10000);
    assert_get_fails(db, "jobs", "2", "30", SQLITE_TOOBIG, "50000 bytes");
    fails(db, SQLITE_TOOBIG, "SELECT Body FROM jobs");
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, limit);
    assert_number(db, 0, "SELECT max(DequeueCount) FROM jobs");
}

/* --- Poison --- */

/* Lets all messages be visible at once. */
static void give_back(const char *queue)
{
    run(db,
        "UPDATE %w SET VisibilityTimeout = 0 WHERE (MessageId, PopReceipt) IN (SELECT "
        "MessageId, PopReceipt FROM %w)",
        queue, queue);
}

static void poison_is_moved_and_keeps_what_it_is(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body, TimeToLive) VALUES ('bad', 1000), (hex(zeroblob(4000)), NULL)");
    run(db, "CREATE TEMP TABLE before AS SELECT * FROM jobs");
    for (int i = 0; i < 5; i++) {
        pt_queue_request request = get_messages(db, "jobs", "2", "60");
        assert_int_equal(request.message_count, 2);
        end_request(&request);
        give_back("jobs");
    }
    run(db, "INSERT INTO jobs(Body) VALUES ('good')");
    assert_number(db, 1, "SELECT count(*) FROM pt_tables");
    assert_gets(db, "jobs", "3", "good ");
    assert_number(db, 1, "SELECT count(*) FROM jobs");
    run(db, "CREATE VIRTUAL TABLE poison USING pt_queue(table='JOBS-Poison', sync=off)");
    assert_number(db, 2,
                  "SELECT count(*) FROM poison JOIN before USING (MessageId, Body, InsertionTime) "
                  "WHERE poison.DequeueCount = 5 AND poison.ExpirationTime IS NULL AND "
                  "poison.TimeNextVisible <= pt_datetime()");
    for (int i = 0; i < 3; i++) {
        pt_queue_request request = get_messages(db, "poison", "5", "60");
        assert_int_equal(request.message_count, 2);
        assert_int_equal(request.messages[1].dequeue_count, 6 + i);
        end_request(&request);
        give_back("poison");
    }
    assert_number(db, 2, "SELECT count(*) FROM pt_tables");
}

static void poison_is_counted_as_the_option_says(void **state)
{
    (void)state;
    run(db, "CREATE VIRTUAL TABLE once USING pt_queue(table=jobs, max_dequeue_count=1)");
    run(db, "CREATE VIRTUAL TABLE always USING pt_queue(table=jobs, max_dequeue_count=0)");
    run(db, "INSERT INTO jobs(Body) VALUES ('a')");
    for (int i = 0; i < 9; i++) {
        assert_gets(db, "always", "1", "a ");
        give_back("jobs");
    }
    assert_number(db, 9, "SELECT DequeueCount FROM jobs");
    assert_gets(db, "once", "1", "");
    assert_number(db, 1, "SELECT Entities FROM pt_tables WHERE TableName = 'jobs-poison'");
}

static void a_poison_queue_is_taken_back_with_its_transaction(void **state)
{
    (void)state;
    run(db, "CREATE VIRTUAL TABLE once USING pt_queue(table=jobs, max_dequeue_count=1, sync=off)");
    run(db, "INSERT INTO jobs(Body) VALUES ('a')");
    assert_gets(db, "once", "1", "a ");
    give_back("jobs");
    run(db, "BEGIN");
    run(db, "INSERT INTO once(Body) VALUES ('b')");
    for (int i = 0; i < 2; i++) {
        run(db, "SAVEPOINT s");
        assert_gets(db, "once", "2", "b ");
        assert_number(db, 1, "SELECT Entities FROM pt_tables WHERE TableName = 'jobs-poison'");
        run(db, "ROLLBACK TO s");
        assert_number(db, 0, "SELECT count(*) FROM pt_tables WHERE TableName = 'jobs-poison'");
        assert_number(db, 2, "SELECT count(*) FROM jobs");
    }
    assert_gets(db, "once", "2", "b ");
    run(db, "COMMIT");
    assert_number(db, 1, "SELECT Entities FROM pt_tables WHERE TableName = 'jobs-poison'");
    assert_number(db, 1, "SELECT Entities FROM pt_tables WHERE TableName = 'jobs'");
}

/* --- All or nothing --- */

static void a_get_that_fails_does_nothing(void **state)
{
    (void)state;
    run(db, "CREATE VIRTUAL TABLE once USING pt_queue(table=jobs, max_dequeue_count=1, sync=off)");
    run(db, "INSERT INTO jobs(Body) VALUES ('bad')");
    assert_gets(db, "once", "1", "bad ");
    run(db, "CREATE VIRTUAL TABLE entities USING ptable(table='jobs-poison', sync=off)");
    run(db, "BEGIN");
    run(db,
        "INSERT INTO jobs(Body, TimeToLive) VALUES ('expired', 1e-7), (hex(zeroblob(3000)), -1)");
    run(db, "INSERT INTO jobs(Body) VALUES ('pending')");
    run(db, "UPDATE jobs SET Body = 'really pending' WHERE (MessageId, PopReceipt) IN (SELECT "
            "MessageId, PopReceipt FROM jobs WHERE Body = 'pending')");
    give_back("jobs");
    run(db, "CREATE TEMP TABLE before AS SELECT *, PopReceipt FROM jobs");
    assert_number(db, 3, "SELECT count(*) FROM before");
    assert_get_fails(db, "once", "5", "60", SQLITE_ERROR, "USING ptable");
    assert_number(db, 0,
                  "SELECT count(*) FROM (SELECT *, PopReceipt FROM jobs EXCEPT SELECT * FROM "
                  "before)");
    assert_number(db, 4, "SELECT Entities FROM pt_tables WHERE TableName = 'jobs'");
    assert_number(db, 0, "SELECT Entities FROM pt_tables WHERE TableName = 'jobs-poison'");
    run(db, "COMMIT");
    assert_number(db, 0,
                  "SELECT count(*) FROM (SELECT *, PopReceipt FROM jobs EXCEPT SELECT * FROM "
                  "before)");
    run(db, "DELETE FROM pt_tables WHERE TableName = 'jobs-poison'");
    run(db, "BEGIN");
    pt_queue_request request = get_messages(db, "once", "5", "60");
    assert_int_equal(request.message_count, 2);
    end_request(&request);
    run(db, "ROLLBACK");
    assert_number(db, 0,
                  "SELECT count(*) FROM (SELECT *, PopReceipt FROM jobs EXCEPT SELECT * FROM "
                  "before)");
}

static void it_is_a_write_of_the_transaction(void **state)
{
    run(db, "PRAGMA journal_mode = wal; INSERT INTO jobs(Body) VALUES ('a'), ('b')");
    sqlite3 *other = open_database(*state, "main.db");
    run(db, "BEGIN");
    assert_gets(db, "jobs", "1", "a ");
    assert_number(other, 0, "SELECT sum(DequeueCount) FROM jobs");
    assert_get_fails(other, "jobs", "1", "30", SQLITE_BUSY, "");
    run(db, "ROLLBACK");
    run(other, "BEGIN");
    assert_number(other, 2, "SELECT count(*) FROM jobs");
    assert_gets(db, "jobs", "1", "a ");
    assert_get_fails(other, "jobs", "1", "30", SQLITE_BUSY_SNAPSHOT, "");
    run(other, "ROLLBACK");
    assert_gets(other, "jobs", "5", "b ");
    run(db, "PRAGMA query_only = 1");
    assert_get_fails(db, "jobs", "1", "30", SQLITE_READONLY, "");
    close_database(other);
}

static void a_batch_has_no_room_for_it(void **state)
{
    (void)state;
    run(db, "CREATE VIRTUAL TABLE t USING ptable(batch=azure, sync=off)");
    run(db, "INSERT INTO jobs(Body) VALUES ('a')");
    run(db, "BEGIN");
    run(db, "INSERT INTO t VALUES ('p', 'r', NULL)");
    fails(db, SQLITE_CONSTRAINT_VTAB, "INSERT INTO jobs(Body) VALUES ('b')");
    assert_get_fails(db, "jobs", "1", "30", SQLITE_CONSTRAINT_VTAB, "batch='azure'");
    run(db, "COMMIT");
    assert_gets(db, "jobs", "2", "a ");
}

/* The search begins where the last one in the transaction has ended, unless that was taken back. */
static void what_comes_back_in_a_transaction_is_found(void **state)
{
    (void)state;
    run(db, "CREATE VIRTUAL TABLE same USING pt_queue(table=jobs, sync=off)");
    run(db, "INSERT INTO jobs(Body) VALUES ('a'), ('b'), ('c')");
    run(db, "BEGIN");
    assert_gets(db, "jobs", "1", "a ");
    run(db, "SAVEPOINT s");
    assert_gets(db, "jobs", "2", "b c ");
    run(db, "INSERT INTO same(Body) VALUES ('d')");
    assert_gets(db, "jobs", "1", "d ");
    run(db, "ROLLBACK TO s");
    assert_gets(db, "jobs", "1", "b ");
    run(db, "INSERT INTO same(Body) VALUES ('e')");
    assert_gets(db, "same", "1", "c ");
    give_back("jobs");
    assert_gets(db, "jobs", "9", "a b c e ");
    assert_gets(db, "jobs", "9", "");
    run(db, "ROLLBACK");
    run(db, "BEGIN");
    assert_gets(db, "jobs", "9", "a b c ");
    run(db, "DELETE FROM pt_tables");
    run(db, "DROP TABLE same; CREATE VIRTUAL TABLE same USING pt_queue(table=jobs, sync=off)");
    run(db, "INSERT INTO same(Body) VALUES ('new')");
    assert_gets(db, "jobs", "9", "new ");
    run(db, "COMMIT");
}

static clock_t time_to_get(int calls)
{
    clock_t begin = clock();
    for (int i = 0; i < calls; i++) {
        pt_queue_request request = get_messages(db, "jobs", "1", "60");
        assert_int_equal(request.message_count, 1);
        end_request(&request);
    }
    return clock() - begin;
}

static void many_gets_in_a_transaction_cost_no_more(void **state)
{
    (void)state;
    run(db, "INSERT INTO jobs(Body) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
            "WHERE i < 20000) SELECT 'x' FROM n");
    run(db, "BEGIN");
    clock_t first = time_to_get(200);
    pt_queue_request request = get_messages(db, "jobs", "19500", "60");
    end_request(&request);
    assert_true(time_to_get(200) < 4 * first + CLOCKS_PER_SEC / 20);
    run(db, "COMMIT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        queue_test(messages_come_in_order_and_are_hidden),
        queue_test(a_message_is_what_was_inserted),
        queue_test(the_next_to_get_it_takes_the_receipt_away),
        queue_test(what_is_not_given_is_one_message_and_half_a_minute),
        queue_test(what_has_expired_is_removed_on_the_way),
        queue_test(what_is_hidden_for_longer_than_it_lives_is_removed),
        queue_test(nobody_holds_a_message_that_has_expired),
        queue_test(wrong_arguments_are_refused),
        queue_test(azure_limits_are_kept),
        queue_test(azure_hides_no_message_for_longer_than_it_lives),
        queue_test(far_times_end_with_the_calendar),
        queue_test(an_update_gives_the_message_with_its_new_receipt),
        queue_test(wrong_updates_are_refused),
        queue_test(large_bodies_come_and_go),
        queue_test(a_body_that_the_connection_cannot_take_stays),
        queue_test(poison_is_moved_and_keeps_what_it_is),
        queue_test(poison_is_counted_as_the_option_says),
        queue_test(a_poison_queue_is_taken_back_with_its_transaction),
        queue_test(a_get_that_fails_does_nothing),
        queue_test(it_is_a_write_of_the_transaction),
        queue_test(a_batch_has_no_room_for_it),
        queue_test(what_comes_back_in_a_transaction_is_found),
        queue_test(many_gets_in_a_transaction_cost_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
