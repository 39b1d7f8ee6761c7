#include "error.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pte.h"

/* The texts lie behind a key, not in a _Thread_local array: Go links its libraries with static TLS, of which a process
 * that loads one later has little. */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void) { (void)pthread_key_create(&key, free); }

void pte_keep_error(const char *text, size_t n) {
  char *copy = malloc(n + 1);
  pthread_once(&once, make_key);
  if (copy != NULL) {
    memcpy(copy, text, n);
    copy[n] = 0;
  }
  free(pthread_getspecific(key));
  (void)pthread_setspecific(key, copy);
}

const char *pte_last_error(void) {
  pthread_once(&once, make_key);
  const char *text = pthread_getspecific(key);
  return text != NULL ? text : "";
}
