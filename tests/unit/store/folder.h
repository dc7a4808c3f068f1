/* A folder of a test's own, empty at its start and gone at its end. */
#ifndef TEST_STORE_FOLDER_H
#define TEST_STORE_FOLDER_H

#include <dirent.h>
#include <unistd.h>

#include "unit/base/unit.h"

static char folder[] = "/tmp/sluice-unit-XXXXXX";
static char path[64]; /* of the table in it */

static inline int open_folder(void **unused)
{
    (void)unused;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/table", folder);
    return 0;
}

/* How many files are in it; removed, if that is wanted. */
static inline int files_in_folder(bool remove_them)
{
    int count = 0;
    DIR *all = opendir(folder);
    assert_non_null(all);
    for (struct dirent *one = readdir(all); one; one = readdir(all)) {
        if (one->d_name[0] == '.')
            continue;
        count++;
        if (remove_them)
            unlinkat(dirfd(all), one->d_name, 0);
    }
    closedir(all);
    return count;
}

static inline int close_folder(void **unused)
{
    (void)unused;
    files_in_folder(true);
    return rmdir(folder);
}

#define IN_A_FOLDER(name) TEST_WITH(name, open_folder, close_folder)

#endif
