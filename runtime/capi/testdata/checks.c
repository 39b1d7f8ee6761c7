/* checks calls every function of pte.h with digits.pte in the library and in a file, and with a program beside its data file:
 * what is right, what is refused, and from several threads. It prints "ok". */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pte.h"

static void fail(int line, const char *what) {
  fprintf(stderr, "line %d: %s: %s\n", line, what, pte_last_error());
  exit(1);
}

#define WANT(condition)                            \
  do {                                             \
    if (!(condition)) fail(__LINE__, #condition);  \
  } while (0)

static pte_value image(float *pixels) {
  pte_value v = {.kind = PTE_TENSOR, .dtype = PTE_FLOAT32, .data = pixels, .nbytes = 256, .rank = 4, .sizes = {1, 1, 8, 8}};
  return v;
}

static void check_metadata(pte_program program) {
  uint32_t count = 0;
  const char *name = NULL;
  pte_method_info method;
  pte_value_info info;
  WANT(pte_program_method_count(program, &count) == PTE_OK && count == 1);
  WANT(pte_program_method_name(program, 0, &name) == PTE_OK && strcmp(name, "forward") == 0);
  WANT(pte_program_method_name(program, 1, &name) == PTE_INVALID_ARGUMENT);
  WANT(pte_program_method_info(program, "forward", &method) == PTE_OK && method.inputs == 1 && method.outputs == 1);
  WANT(method.arena_bytes > 0);
  WANT(pte_program_input_info(program, "forward", 0, &info) == PTE_OK);
  WANT(info.kind == PTE_TENSOR && info.dtype == PTE_FLOAT32 && info.rank == 4 && info.sizes[3] == 8);
  WANT(info.dynamism == PTE_DYNAMIC_BOUND && info.sizes[0] == 100 && info.dim_order[3] == 3 && !(info.flags & PTE_WRITTEN));
  WANT(pte_program_output_info(program, "forward", 0, &info) == PTE_OK && info.rank == 2 && info.sizes[1] == 10);
  WANT(pte_program_output_info(program, "forward", 1, &info) == PTE_INVALID_ARGUMENT);
}

static void check_refused(pte_program program) {
  pte_program other;
  pte_instance instance;
  pte_method method;
  pte_value value;
  float pixels[64] = {0};
  pte_options options = {.max_memory = 1};
  memset(&value, 0xff, sizeof value); /* what a caller's memory may hold */
  WANT(pte_program_load(pixels, sizeof pixels, NULL, &other) == PTE_INVALID_PROGRAM && other.id == 0);
  WANT(pte_program_load_file("absent.pte", NULL, &other) == PTE_ACCESS_FAILED && strstr(pte_last_error(), "absent.pte"));
  WANT(pte_program_load_embedded("other", NULL, &other) == PTE_NOT_FOUND && strstr(pte_last_error(), "\"digits\""));
  WANT(pte_instance_create(program, &instance) == PTE_OK);
  WANT(pte_instance_method(instance, "backward", &method) == PTE_INVALID_ARGUMENT);
  WANT(pte_instance_method(instance, "forward", &method) == PTE_OK);
  WANT(pte_method_get_output(method, 0, &value) == PTE_INVALID_STATE);
  WANT(pte_method_run(method) == PTE_INVALID_ARGUMENT && strstr(pte_last_error(), "input 0 is not set"));
  value = image(pixels);
  value.sizes[3] = 9;
  value.nbytes = 288;
  WANT(pte_method_set_input(method, 0, &value) == PTE_OK && pte_method_run(method) == PTE_INVALID_ARGUMENT);
  pte_instance_destroy(instance);
  WANT(pte_method_run(method) == PTE_INVALID_ARGUMENT && strstr(pte_last_error(), "destroyed"));
  WANT(pte_program_load_embedded(NULL, &options, &other) != PTE_OK || pte_instance_create(other, &instance) != PTE_OK);
}

/* check_data loads the program of a folder whose constants are in weights.ptd. */
static void check_data(const char *folder) {
  char program_name[1024], data_name[1024];
  pte_data data, none;
  pte_program program;
  pte_instance instance;
  pte_method forward;
  pte_options options = {0};
  float zeros[64] = {0};
  snprintf(program_name, sizeof program_name, "%s/program.pte", folder);
  snprintf(data_name, sizeof data_name, "%s/weights.ptd", folder);
  WANT(pte_program_load_file(program_name, &options, &program) == PTE_NOT_FOUND && program.id == 0);
  WANT(pte_data_load(zeros, sizeof zeros, &none) == PTE_INVALID_EXTERNAL_DATA && none.id == 0);
  WANT(pte_data_load_file("absent.ptd", &none) == PTE_ACCESS_FAILED && strstr(pte_last_error(), "absent.ptd"));
  WANT(pte_data_load_file(data_name, &data) == PTE_OK);
  options.data = data;
  WANT(pte_program_load_file(program_name, &options, &program) == PTE_OK);
  WANT(pte_instance_create(program, &instance) == PTE_OK);
  pte_data_destroy(data); /* the instance has it still */
  pte_program_destroy(program);
  WANT(pte_program_load_file(program_name, &options, &program) == PTE_INVALID_ARGUMENT && strstr(pte_last_error(), "destroyed"));
  WANT(pte_instance_method(instance, "forward", &forward) == PTE_OK);
  pte_value in = {.kind = PTE_TENSOR, .dtype = PTE_FLOAT32, .data = zeros, .nbytes = 24, .rank = 2, .sizes = {2, 3}}, out;
  WANT(pte_method_set_input(forward, 0, &in) == PTE_OK && pte_method_run(forward) == PTE_OK);
  WANT(pte_method_get_output(forward, 0, &out) == PTE_OK && out.nbytes == 16);
  pte_instance_destroy(instance);
}

/* check_cache loads the program in the library with a weight cache in a folder: packing its weights, reading them, and where there
 * is another file. */
static void check_cache(const char *folder) {
  char path[1024];
  pte_program program, again;
  pte_instance instance;
  const char *message = NULL;
  FILE *file;
  pte_options options = {.weight_cache = path};
  snprintf(path, sizeof path, "%s/weights", folder);
  for (int load = 0; load < 2; load++) {
    WANT(pte_program_load_embedded(NULL, &options, &program) == PTE_OK && pte_instance_create(program, &instance) == PTE_OK);
    WANT(pte_program_weight_cache_error(program, &message) == PTE_OK && strcmp(message, "") == 0);
    WANT((file = fopen(path, "rb")) != NULL && fseek(file, 0, SEEK_END) == 0 && ftell(file) > 1000 && fclose(file) == 0);
    pte_instance_destroy(instance);
    pte_program_destroy(program);
  }
  WANT(pte_program_weight_cache_error(program, &message) == PTE_INVALID_ARGUMENT && strstr(pte_last_error(), "destroyed"));
  WANT((file = fopen(path, "wb")) != NULL && fputs("notes", file) >= 0 && fclose(file) == 0);
  WANT(pte_program_load_embedded(NULL, &options, &again) == PTE_OK);
  WANT(pte_program_weight_cache_error(again, NULL) == PTE_INVALID_ARGUMENT);
  WANT(pte_program_weight_cache_error(again, &message) == PTE_OK && strstr(message, path));
  pte_program_destroy(again);
}

static pte_program shared;

/* A user of the program in a thread of its own, with an error text of its own. */
static void *user(void *result) {
  float pixels[64];
  pte_instance instance;
  pte_method forward;
  pte_value in = image(pixels), out;
  for (int i = 0; i < 64; i++) pixels[i] = (float)(i % 7) / 7;
  WANT(strcmp(pte_last_error(), "") == 0);
  WANT(pte_instance_create(shared, &instance) == PTE_OK && pte_instance_method(instance, "forward", &forward) == PTE_OK);
  for (int i = 0; i < 20; i++) {
    memset(&out, 0xff, sizeof out);
    WANT(pte_method_set_input(forward, 0, &in) == PTE_OK && pte_method_run(forward) == PTE_OK);
    WANT(pte_method_get_output(forward, 0, &out) == PTE_OK && out.nbytes == 40 && out.rank == 2);
  }
  memcpy(result, out.data, 40);
  pte_instance_destroy(instance);
  return NULL;
}

static void check_threads(void) {
  pthread_t threads[4];
  float results[4][10];
  pte_options options = {.threads = 1};
  WANT(pte_program_load_embedded("digits", &options, &shared) == PTE_OK);
  for (int i = 0; i < 4; i++) WANT(pthread_create(&threads[i], NULL, user, results[i]) == 0);
  for (int i = 0; i < 4; i++) WANT(pthread_join(threads[i], NULL) == 0 && memcmp(results[i], results[0], 40) == 0);
  pte_program_destroy(shared);
}

int main(int argc, char **argv) {
  pte_program embedded, file;
  const char *name = NULL;
  WANT(argc == 4);
  WANT(pte_abi_version() == PTE_ABI_VERSION);
  WANT(pte_embedded_count() == 1 && pte_embedded_name(0, &name) == PTE_OK && strcmp(name, "digits") == 0);
  WANT(pte_program_load_embedded(NULL, NULL, &embedded) == PTE_OK);
  WANT(pte_program_load_file(argv[1], NULL, &file) == PTE_OK);
  check_metadata(embedded);
  check_metadata(file);
  check_refused(embedded);
  check_data(argv[2]);
  check_cache(argv[3]);
  check_threads();
  pte_program_destroy(embedded);
  pte_program_destroy(file);
  puts("ok");
  return 0;
}
