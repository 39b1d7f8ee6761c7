/* digits classifies the images of a .npy file with the C library of the model. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pte.h"

enum { SIDE = 8, CLASSES = 10 };

/* read_npy gives the elements of a .npy file, and their bytes; the caller frees them. */
static void *read_npy(const char *path, size_t *nbytes) {
  unsigned char head[10];
  void *data = NULL;
  long end;
  FILE *f = fopen(path, "rb");
  if (f == NULL) return NULL;
  if (fread(head, 1, sizeof head, f) == sizeof head && memcmp(head, "\x93NUMPY", 6) == 0 && fseek(f, 0, SEEK_END) == 0) {
    long start = 10 + head[8] + 256 * head[9];
    end = ftell(f);
    if (end > start && fseek(f, start, SEEK_SET) == 0 && (data = malloc((size_t)(end - start))) != NULL)
      *nbytes = fread(data, 1, (size_t)(end - start), f);
  }
  fclose(f);
  return data;
}

/* scores runs the model over n images, and returns its output, or NULL. */
static const float *scores(pte_instance instance, float *images, size_t nbytes, int64_t n) {
  pte_method forward;
  pte_value out;
  pte_value in = {.kind = PTE_TENSOR, .dtype = PTE_FLOAT32, .data = images, .nbytes = nbytes, .rank = 4};
  in.sizes[0] = n;
  in.sizes[1] = 1;
  in.sizes[2] = in.sizes[3] = SIDE;
  if (pte_instance_method(instance, "forward", &forward) || pte_method_set_input(forward, 0, &in) ||
      pte_method_run(forward) || pte_method_get_output(forward, 0, &out))
    return NULL;
  return out.data;
}

static int right(const float *score, int64_t label) {
  for (int i = 0; i < CLASSES; i++)
    if (i != label && score[i] >= score[label]) return 0;
  return 1;
}

int main(int argc, char **argv) {
  size_t image_bytes = 0, label_bytes = 0;
  pte_program program;
  pte_instance instance;
  if (argc != 3) {
    fprintf(stderr, "usage: digits images.npy labels.npy\n");
    return 2;
  }
  float *images = read_npy(argv[1], &image_bytes);
  int64_t *labels = read_npy(argv[2], &label_bytes);
  int64_t n = (int64_t)(image_bytes / (SIDE * SIDE * sizeof *images)), good = 0;
  if (images == NULL || labels == NULL || label_bytes / sizeof *labels < (size_t)n) {
    fprintf(stderr, "digits: want a .npy of images and one of as many labels\n");
    return 1;
  }
  if (pte_program_load_embedded(NULL, NULL, &program) || pte_instance_create(program, &instance)) {
    fprintf(stderr, "digits: %s\n", pte_last_error());
    return 1;
  }
  const float *score = scores(instance, images, image_bytes, n);
  if (score == NULL) {
    fprintf(stderr, "digits: %s\n", pte_last_error());
    return 1;
  }
  for (int64_t i = 0; i < n; i++) good += right(score + CLASSES * i, labels[i]);
  printf("%d of %d right: accuracy %.1f %%\n", (int)good, (int)n, 100.0 * (double)good / (double)n);
  pte_instance_destroy(instance);
  pte_program_destroy(program);
  free(images);
  free(labels);
  return 0;
}
