/*
 * Errors of the service: codes with their status and message, written as JSON, as XML or in a
 * header only.
 */
#ifndef TESTS_SERVICE_REFUSAL_H
#define TESTS_SERVICE_REFUSAL_H

#include "service/service.h"

/* Makes the reply an error. */
void refuse(const service *served, const request *asked, reply *given, const char *code);

/* Makes the reply an error with a status and message that are not the code's own. */
void refuse_with(const service *served, const request *asked, reply *given, int status,
                 const char *code, const char *message);

/* An error without any code or body. */
void refuse_bare(reply *given, int status);

/* Makes the reply of the last error of the database: its message ends with the service's code. */
void refuse_as_sql_says(const service *served, const request *asked, reply *given);

/* Puts the index of an operation before the message of the last refusal, written once more. */
void refuse_operation(const service *served, const request *asked, reply *given, int index);

#endif
