/*
 * A limit for all memory of a process, pages of files that it reads included: a control group made
 * for it inside another one, where the user may make groups. Both kinds of them will do: version 2,
 * where the parent must give its children the controller "memory", and version 1's "memory".
 */
#ifndef CONTROL_GROUP_H
#define CONTROL_GROUP_H

#include "support.h"

/* Makes a group in `parent`, which exit() removes; once in a program. Ends the program if that is
 * not possible. */
void control_group_make(const char *parent, uint64_t bytes, char path[PATH_SIZE]);

/* This process goes into it. */
void control_group_join(const char *path);

#endif
