/*
 * Requests to a queue as the functions pt_queue_get and pt_queue_update send them, with arguments
 * that are SQL expressions.
 */
#ifndef QUEUE_REQUESTS_H
#define QUEUE_REQUESTS_H

#include "../process/database.h"
#include "queue/request.h"

static inline sqlite3_value *evaluate(sqlite3 *db, const char *expression)
{
    if (expression == NULL) {
        return NULL;
    }
    char *sql = sqlite3_mprintf("SELECT %s", expression);
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    sqlite3_value *value = sqlite3_value_dup(sqlite3_column_value(statement, 0));
    assert_non_null(value);
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return value;
}

/* The extended code. */
static inline int send_request(sqlite3 *db, const char *queue, pt_queue_request *request)
{
    char *sql = sqlite3_mprintf("INSERT INTO \"%w\"(Request) VALUES (?1)", queue);
    sqlite3_stmt *statement = NULL;
    int rc = sql != NULL ? sqlite3_prepare_v2(db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_pointer(statement, 1, request, PT_QUEUE_REQUEST_TYPE, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    int end = sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : end != SQLITE_OK ? end : rc;
}

static inline pt_queue_request get_request(sqlite3 *db, const char *count, const char *seconds)
{
    return (pt_queue_request){
        .kind = PT_QUEUE_GET, .count = evaluate(db, count), .visibility = evaluate(db, seconds)};
}

static inline pt_queue_request update_request(sqlite3 *db, const pt_queue_message *message,
                                              const char *seconds, const char *body)
{
    char *id = sqlite3_mprintf("%Q", message->id);
    char *receipt = sqlite3_mprintf("%Q", message->receipt);
    pt_queue_request request = {.kind = PT_QUEUE_UPDATE,
                                .id = evaluate(db, id),
                                .receipt = evaluate(db, receipt),
                                .visibility = evaluate(db, seconds),
                                .body = evaluate(db, body)};
    sqlite3_free(id);
    sqlite3_free(receipt);
    return request;
}

static inline void end_request(pt_queue_request *request)
{
    pt_queue_request_clear(request);
    sqlite3_value_free(request->count);
    sqlite3_value_free(request->visibility);
    sqlite3_value_free(request->id);
    sqlite3_value_free(request->receipt);
    sqlite3_value_free(request->body);
}

/* Gets messages; the caller ends the request. */
static inline pt_queue_request get_messages(sqlite3 *db, const char *queue, const char *count,
                                            const char *seconds)
{
    pt_queue_request request = get_request(db, count, seconds);
    int rc = send_request(db, queue, &request);
    if (rc != SQLITE_OK) {
        fail_msg("%s", sqlite3_errmsg(db));
    }
    return request;
}

static inline void assert_body(const pt_queue_message *message, const char *text)
{
    assert_true(message->body_is_text);
    assert_int_equal(message->body.size, strlen(text));
    assert_string_equal((const char *)message->body.data, text);
}

/* Gets at most so many messages for a minute, and lets them be; their bodies, with a blank behind
 * each. */
static inline void assert_gets(sqlite3 *db, const char *queue, const char *count,
                               const char *bodies)
{
    char seen[200] = "";
    pt_queue_request request = get_messages(db, queue, count, "60");
    for (size_t i = 0; i < request.message_count; i++) {
        size_t used = strlen(seen);
        snprintf(seen + used, sizeof seen - used, "%s ",
                 (const char *)request.messages[i].body.data);
    }
    end_request(&request);
    assert_string_equal(seen, bodies);
}

/* A request to get that is refused. */
static inline void assert_get_fails(sqlite3 *db, const char *queue, const char *count,
                                    const char *seconds, int code, const char *text)
{
    pt_queue_request request = get_request(db, count, seconds);
    assert_int_equal(send_request(db, queue, &request), code);
    assert_non_null(strstr(sqlite3_errmsg(db), text));
    end_request(&request);
}

#endif
