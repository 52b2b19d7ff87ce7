#include "bench/settings.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THOUSAND = 1000 };

double settings_number(const char *name, double otherwise)
{
    const char *given = getenv(name);
    if (given == NULL || given[0] == 0) {
        return otherwise;
    }
    char *end;
    double number = strtod(given, &end);
    if (*end != 0 || !(number > 0)) {
        fail("%s='%s' is not a number above 0", name, given);
    }
    return number;
}

static uint32_t thousands(const char *name, uint32_t most)
{
    double number = settings_number(name, 1) * THOUSAND;
    if (number > most) {
        fail("%s is at most %u", name, most / THOUSAND);
    }
    return number < 1 ? 1 : (uint32_t)number;
}

const char *settings_pragmas(void)
{
    const char *given = getenv("PRAGMAS");
    return given != NULL ? given : "";
}

static char made_folder[PATH_SIZE];
static pid_t maker;

/* Not by a forked worker that fails. */
static void remove_made_folder(void)
{
    if (getpid() == maker) {
        folder_remove(made_folder);
    }
}

void settings_read(bench_settings *settings)
{
    const char *folder = getenv("DIR");
    *settings = (bench_settings){
        .extent = {thousands("PARTITIONS", PARTITIONS_MAX), thousands("SCALE", ROWS_MAX)},
        .pattern = getenv("BENCH"),
        .pragmas = settings_pragmas(),
    };
    path_join(settings->folder, folder != NULL ? folder : "build/bench", "data-XXXXXX");
    if (mkdtemp(settings->folder) == NULL) {
        fail("no folder can be made like %s: %s; set DIR", settings->folder, strerror(errno));
    }
    memcpy(made_folder, settings->folder, sizeof made_folder);
    maker = getpid();
    atexit(remove_made_folder);
}

bool settings_wants(const bench_settings *settings, const char *name)
{
    return settings->pattern == NULL || fnmatch(settings->pattern, name, 0) == 0;
}
