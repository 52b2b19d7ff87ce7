/*
 * Numbers as decimal text: read and written exactly, and in every locale alike.
 */
#ifndef PT_BASE_NUMBER_H
#define PT_BASE_NUMBER_H

#include "base/bytes.h"

enum { PT_DOUBLE_TEXT_SIZE = 32, PT_INTEGER_TEXT_SIZE = 21 };

/* Reads an optional sign and digits. Returns false for other texts and beyond 64 bits. */
bool pt_integer_parse(pt_slice text, int64_t *integer);

/* Writes an integer and a NUL. Returns how many characters. */
size_t pt_integer_format(int64_t integer, char text[PT_INTEGER_TEXT_SIZE]);

/*
 * Reads an optional sign, digits with an optional point before, between or after them, and an
 * optional exponent, and rounds to the nearest double. Returns false for other texts (blanks,
 * hexadecimal, NaN) and if the nearest double is infinite.
 */
bool pt_double_parse(pt_slice text, double *real);

/*
 * The same, but returns false if a digit of the text is lost: the double, written with as many
 * digits, must give the text's number back. Zeros at the end do not count as digits, except in a
 * text without point and exponent: an integer is read exactly or not at all.
 */
bool pt_double_parse_lossless(pt_slice text, double *real);

/*
 * Writes a finite double and a NUL. It takes 15, 16 or 17 significant digits, the fewest that are
 * read back as the same double, and always writes a point: "0.1", "5.0", "-0.0", "1.0e+300".
 */
void pt_double_format(double real, char text[PT_DOUBLE_TEXT_SIZE]);

/* Returns "NaN", "Infinity" or "-Infinity"; NULL for a finite double. */
const char *pt_double_name(double real);

/* Reads one of these names, in exactly this case. */
bool pt_double_parse_name(pt_slice text, double *real);

#endif
