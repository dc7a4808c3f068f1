/* Tasks that take turns at every atomic access. Only in build/tsan/explore. */
#ifndef STRESS_EXPLORE_H
#define STRESS_EXPLORE_H

void explore_point(void);
void explore_yield(void);

#endif
