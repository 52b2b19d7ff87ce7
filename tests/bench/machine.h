/*
 * What stands above every report: versions, machine, data and date.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include "bench/settings.h"

void machine_print(const bench_settings *settings);

#endif
