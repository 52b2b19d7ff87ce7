/*
 * A connection with the library for the Table service, and an account `hr` at the canned server.
 */
#ifndef TESTS_UNIT_SERVICE_REMOTE_DATABASE_H
#define TESTS_UNIT_SERVICE_REMOTE_DATABASE_H

#include "unit/service/canned_server.h"

#include <sqlite3.h>

#include "ptable_service.h"

#define REMOTE_KEY                                                                                 \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
#define NO_MORE ""
#define TOKEN(partition, row)                                                                      \
    "x-ms-continuation-NextPartitionKey: " partition "\r\nx-ms-continuation-NextRowKey: " row "\r" \
    "\n"

static sqlite3 *db;

/* Hides the number of a request, which is random, behind "client request". */
static inline void hide_request(char *text)
{
    static const char before[] = "client request ";
    enum { GUID = 36 };
    char *number = strstr(text, before);
    if (number != NULL) {
        number += strlen(before);
        assert_true(strlen(number) >= GUID && strspn(number, "0123456789abcdef-") == GUID);
        memcpy(number, "<id>", 4);
        memmove(number + 4, number + GUID, strlen(number + GUID) + 1);
    }
}

/* Runs SQL and compares all values of all rows, with blanks between values and newlines between
 * rows, or the error. */
static inline void expect_sql(const char *sql, const char *expected)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *value = (const char *)sqlite3_column_text(statement, i);
            sqlite3_str_appendf(text, "%s%s", i > 0 ? " " : "", value != NULL ? value : "NULL");
        }
        sqlite3_str_appendall(text, "\n");
        rc = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    if (rc != SQLITE_OK && rc != SQLITE_DONE) {
        sqlite3_str_appendf(text, "%d: %s", sqlite3_extended_errcode(db), sqlite3_errmsg(db));
    }
    char *found = sqlite3_str_finish(text);
    if (found != NULL) {
        hide_request(found);
    }
    assert_string_equal(found != NULL ? found : "", expected);
    sqlite3_free(found);
}

/* Compares the sentence of a plan of one step. */
static inline void expect_plan(const char *sql, const char *sentence)
{
    sqlite3_stmt *statement = NULL;
    char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
    assert_int_equal(sqlite3_prepare_v2(db, explain, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 3), sentence);
    sqlite3_finalize(statement);
    sqlite3_free(explain);
}

static inline void register_account(const char *credential)
{
    char *sql = sqlite3_mprintf("SELECT pt_service_account('hr', 'AccountName=hr;%s;TableEndpoint="
                                "http://127.0.0.1:%d/hr')",
                                credential, canned.port);
    char *endpoint = sqlite3_mprintf("http://127.0.0.1:%d/hr\n", canned.port);
    expect_sql(sql, endpoint);
    sqlite3_free(sql);
    sqlite3_free(endpoint);
}

static inline void open_remote(canned_answer *answer)
{
    canned_start(answer);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    assert_int_equal(sqlite3_ptableservice_init(db, NULL, NULL), SQLITE_OK);
    register_account("AccountKey=" REMOTE_KEY);
}

static inline void close_remote(void)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    canned_end();
}

static inline int leave_no_memory(void **state)
{
    (void)state;
    return sqlite3_memory_used() == 0 ? 0 : -1;
}

/* A page whose entities have these keys; each has the property Age. */
static inline char *page_of(const char *headers, const char *const *keys)
{
    char *body = canned_format("{\"odata.metadata\":\"m\",\"value\":[");
    for (int i = 0; keys[i] != NULL; i += 2) {
        char *longer = canned_format("%s%s{\"odata.etag\":\"W/\\\"e\\\"\",\"PartitionKey\":\"%s\","
                                     "\"RowKey\":\"%s\",\"Timestamp\":"
                                     "\"2026-11-21T09:35:44.9238194Z\",\"Name\":\"n-%s\","
                                     "\"Age\":%d}",
                                     body, i > 0 ? "," : "", keys[i], keys[i + 1], keys[i + 1], i);
        free(body);
        body = longer;
    }
    char *whole = canned_format("%s]}", body);
    char *reply = canned_reply(200, headers, whole);
    free(body);
    free(whole);
    return reply;
}

#define PAGE(headers, ...) page_of(headers, (const char *const[]){__VA_ARGS__, NULL})
#define EMPTY_PAGE(headers) page_of(headers, (const char *const[]){NULL})

#endif
