/*
 * Tests with one session on a fresh store.
 */
#ifndef TESTS_UNIT_TRANSACTION_ONE_SESSION_H
#define TESTS_UNIT_TRANSACTION_ONE_SESSION_H

#include "fixtures/session_fixture.h"

static test_host host;
static pt_session *session;

static int setup(void **state)
{
    (void)state;
    session_fresh_store();
    host = (test_host){0};
    session = open_session(&host);
    fault_none();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fault_none();
    pt_session_free(session);
    return session_check_memory();
}

#endif
