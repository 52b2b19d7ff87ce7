/*
 * The version of ptable: major, minor and patch number (semantic versioning).
 */
#ifndef PT_BASE_VERSION_H
#define PT_BASE_VERSION_H

#define PT_VERSION "0.1.0"

#endif
