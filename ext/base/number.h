/*
 * Numbers as decimal text: exact, and the same in every locale.
 */
#ifndef PT_BASE_NUMBER_H
#define PT_BASE_NUMBER_H

#include "base/bytes.h"

enum { PT_DOUBLE_TEXT_SIZE = 32 };

/* Reads an optional sign and digits. False for anything else and beyond 64 bits. */
bool pt_integer_parse(pt_slice text, int64_t *integer);

/*
 * Reads an optional sign, digits with an optional point before, between or after them, and an
 * optional exponent, and rounds to the nearest double. False for anything else (blanks,
 * hexadecimal, NaN) and where the nearest double is infinite.
 */
bool pt_double_parse(pt_slice text, double *real);

/*
 * Writes a finite double with 15, 16 or 17 significant digits, the first that reading gives back
 * to the bit, always with a point: "0.1", "5.0", "-0.0", "1.0e+300". Ends with a NUL.
 */
void pt_double_format(double real, char text[PT_DOUBLE_TEXT_SIZE]);

/* The name of a double that has no digits: "NaN", "Infinity" or "-Infinity"; NULL for others. */
const char *pt_double_name(double real);

/* Reads one of these names, written exactly so. */
bool pt_double_parse_name(pt_slice text, double *real);

#endif
