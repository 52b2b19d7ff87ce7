/*
 * What stands above every report: versions, machine, data and date.
 */
#ifndef TESTS_BENCH_MACHINE_H
#define TESTS_BENCH_MACHINE_H

#include "bench/settings.h"

void machine_print(const bench_settings *settings);

#endif
