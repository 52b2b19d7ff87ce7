#include "bench/statistics.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

summary summarize(double *numbers, unsigned count)
{
    qsort(numbers, count, sizeof *numbers, compare);
    return (summary){
        .median = (numbers[(count - 1) / 2] + numbers[count / 2]) / 2,
        .least = numbers[0],
        .most = numbers[count - 1],
    };
}
