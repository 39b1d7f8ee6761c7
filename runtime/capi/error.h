#include <stddef.h>

/* pte_keep_error makes the n bytes at text what pte_last_error gives in this thread. */
__attribute__((visibility("hidden"))) void pte_keep_error(const char *text, size_t n);
