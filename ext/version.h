/*
 * The product's version, as semantic versioning has it.
 */
#ifndef PT_VERSION_H
#define PT_VERSION_H

#define PT_VERSION "0.1.0"

#endif
