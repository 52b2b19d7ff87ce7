#include "bench/machine.h"

#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/format.h"
#include "bench/sql_side.h"

enum { LINE_SIZE = 400, MIB = 1 << 20 };

static void print_versions(sql_session *session)
{
    char *versions = sql_text(
        session, "SELECT replace(replace(pt_debug(), char(10), '; '), 'libuuid: present; ', '')");
    char *options = sql_text(session, "SELECT group_concat(compile_options, ' ')"
                                      " FROM pragma_compile_options WHERE compile_options"
                                      " GLOB 'SECURE_DELETE*' OR compile_options GLOB 'THREAD*'"
                                      " OR compile_options GLOB 'DEFAULT_CACHE*'");
    bool is_whole = strstr(COMPILER_FLAGS, "-flto") != NULL;
    printf("%s; flags: %s%s\n", versions, COMPILER_FLAGS,
           is_whole ? "" : ", without LTO, which ptable.so has by default");
    printf("SQLite's options: %s", options);
    free(versions);
    free(options);
}

static void print_ordinary(sql_session *session)
{
    char *cache = sql_text(session, "PRAGMA cache_size");
    printf("; ordinary tables: WAL, cache_size %s\n", cache);
    free(cache);
}

static void print_processor(void)
{
    char line[LINE_SIZE];
    char name[LINE_SIZE] = "unknown processor";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(strchr(line, ':') + 2, "\n"),
                     strchr(line, ':') + 2);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    printf("%s, %ld cores, %ld MiB of memory", name, sysconf(_SC_NPROCESSORS_ONLN),
           sysconf(_SC_PHYS_PAGES) / (MIB / sysconf(_SC_PAGESIZE)));
}

static bool is_inside(const char *path, const char *folder)
{
    size_t size = strlen(folder);
    return strncmp(path, folder, size) == 0 &&
           (path[size] == '/' || path[size] == 0 || strcmp(folder, "/") == 0);
}

/* The file system of the longest mount point that the folder is inside. */
static void print_file_system(const char *folder)
{
    char path[PATH_SIZE];
    char type[LINE_SIZE] = "unknown file system";
    size_t longest = 0;
    FILE *mounts = setmntent("/proc/self/mounts", "r");
    require(realpath(folder, path) != NULL, "a folder of the benchmark is gone");
    for (struct mntent *mount; mounts != NULL && (mount = getmntent(mounts)) != NULL;) {
        if (is_inside(path, mount->mnt_dir) && strlen(mount->mnt_dir) >= longest) {
            longest = strlen(mount->mnt_dir);
            snprintf(type, sizeof type, "%s", mount->mnt_type);
        }
    }
    if (mounts != NULL) {
        endmntent(mounts);
    }
    printf(", %s\n", type);
}

static void print_data(const bench_settings *settings)
{
    char partitions[FORMAT_SIZE], rows[FORMAT_SIZE], count[FORMAT_SIZE], date[40];
    time_t time_now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime(&time_now));
    printf("%s entities = %s partitions x %s rows, 6 properties; %s\n",
           format_count(extent_count(settings->extent), count),
           format_count(settings->extent.partitions, partitions),
           format_count(settings->extent.rows, rows), date);
}

void machine_print(const bench_settings *settings)
{
    sql_session *session = sql_open_ordinary(
        &(side_opening){.folder = settings->folder, .durability = DURABLE}, ":memory:");
    print_versions(session);
    print_ordinary(session);
    sql_close(session);
    print_processor();
    print_file_system(settings->folder);
    print_data(settings);
    if (settings->pragmas[0] != 0) {
        printf("of ordinary tables and of hosts in WAL mode: %s\n", settings->pragmas);
    }
    fflush(stdout);
}
