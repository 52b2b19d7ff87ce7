/*
 * Tests with two sessions of one process on one store.
 */
#ifndef TESTS_UNIT_TRANSACTION_TWO_SESSIONS_H
#define TESTS_UNIT_TRANSACTION_TWO_SESSIONS_H

#include "fixtures/session_fixture.h"

static test_host host, other_host;
static pt_session *session, *other;

static int setup(void **state)
{
    (void)state;
    session_fresh_store();
    host = other_host = (test_host){0};
    session = open_session(&host);
    other = open_session(&other_host);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pt_session_free(session);
    pt_session_free(other);
    return session_check_memory();
}

#endif
