/* What the shared libraries of this suite offer the programs. */
#ifndef EARLY_H
#define EARLY_H

/* Sums of what a library's constructor counted under its own locks. */
int early_count(void);
/* Counts once more, under the same locks, and returns the sum. */
int early_count_again(void);

#endif
