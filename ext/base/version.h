/*
 * The product's version, as semantic versioning has it.
 */
#ifndef PT_BASE_VERSION_H
#define PT_BASE_VERSION_H

#define PT_VERSION "0.1.0"

#endif
