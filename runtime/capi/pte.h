/* pte.h: the C interface of a pte_library, which runs ExecuTorch programs (.pte).
 *
 * A program is loaded once, an instance has the memory and the state of one user of it, and a method of an instance
 * takes inputs, runs, and has outputs:
 *
 *     pte_program program;
 *     pte_instance instance;
 *     pte_method forward;
 *     pte_value in = {.kind = PTE_TENSOR, .dtype = PTE_FLOAT32, .data = pixels, .nbytes = sizeof pixels,
 *                     .rank = 4, .sizes = {1, 1, 8, 8}};
 *     pte_value out;
 *     if (pte_program_load_embedded(NULL, NULL, &program) || pte_instance_create(program, &instance) ||
 *         pte_instance_method(instance, "forward", &forward) || pte_method_set_input(forward, 0, &in) ||
 *         pte_method_run(forward) || pte_method_get_output(forward, 0, &out))
 *       fprintf(stderr, "%s\n", pte_last_error());
 *
 * Errors. Functions return a pte_status; pte_last_error() has the text of the last one in the calling thread. What a
 * function writes through a pointer is meaningless after an error, but a handle is then 0. A handle of something that was
 * destroyed, or of another kind, is PTE_INVALID_ARGUMENT and no crash.
 *
 * Threads. Any thread may call any function. A program may be used by all at once. An instance and its methods belong to
 * one thread at a time; another call of one of its methods meanwhile is PTE_INVALID_STATE. pte_options.threads is how many
 * threads one run uses.
 *
 * Processes. The library holds a Go runtime: it starts threads and handles signals (with SA_ONSTACK, and passes on what is
 * not its own), it does not survive fork() without exec, and it cannot be unloaded with dlclose(). A process holds one
 * pte_library: put several programs into it.
 *
 * Layout. Structs are the same on all 64-bit platforms and asserted below. There is no 32-bit form.
 */
#ifndef PTE_H
#define PTE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* PTE_ABI_VERSION changes when callers must be compiled again; compare it with pte_abi_version(). */
#define PTE_ABI_VERSION 3

/* PTE_MAX_RANK is the largest number of dimensions of a tensor. */
#define PTE_MAX_RANK 16

/* pte_status is an error code of ExecuTorch. */
typedef int32_t pte_status;
enum {
  PTE_OK = 0x00,
  PTE_INTERNAL = 0x01,
  PTE_INVALID_STATE = 0x02, /* a run is under way, or there was none yet */
  PTE_END_OF_METHOD = 0x03,
  PTE_NOT_SUPPORTED = 0x10,
  PTE_NOT_IMPLEMENTED = 0x11,
  PTE_INVALID_ARGUMENT = 0x12,
  PTE_INVALID_TYPE = 0x13,
  PTE_OPERATOR_MISSING = 0x14, /* the program calls a kernel that is not linked */
  PTE_NOT_FOUND = 0x20,
  PTE_MEMORY_ALLOCATION_FAILED = 0x21, /* more than pte_options.max_memory */
  PTE_ACCESS_FAILED = 0x22,            /* the file cannot be read */
  PTE_INVALID_PROGRAM = 0x23,
  PTE_INVALID_EXTERNAL_DATA = 0x24,
  PTE_OUT_OF_RESOURCES = 0x25,
  PTE_DELEGATE_INVALID_COMPATIBILITY = 0x30,
  PTE_DELEGATE_MEMORY_ALLOCATION_FAILED = 0x31,
  PTE_DELEGATE_INVALID_HANDLE = 0x32
};

/* pte_kind is what a value is. */
enum { PTE_NONE = 0, PTE_TENSOR = 1, PTE_INT = 2, PTE_FLOAT = 3, PTE_BOOL = 4, PTE_STRING = 5 };

/* pte_dtype is the element type of a tensor, numbered as in ExecuTorch and PyTorch. */
enum {
  PTE_UINT8 = 0,
  PTE_INT8 = 1,
  PTE_INT16 = 2,
  PTE_INT32 = 3,
  PTE_INT64 = 4,
  PTE_FLOAT16 = 5,
  PTE_FLOAT32 = 6,
  PTE_FLOAT64 = 7,
  PTE_BOOL8 = 11, /* one byte, 0 or 1 */
  PTE_BFLOAT16 = 15,
  PTE_UINT16 = 27,
  PTE_UINT32 = 28,
  PTE_UINT64 = 29
};

/* pte_dynamism is how the sizes of a tensor may change between runs. */
enum { PTE_STATIC = 0, PTE_DYNAMIC_BOUND = 1, PTE_DYNAMIC_UNBOUND = 2 };

/* Flags of a pte_value_info. */
enum {
  PTE_PLANNED = 1, /* it has memory in the instance, where a run may copy it; without, an input is read where the caller has it */
  PTE_WRITTEN = 2  /* the method writes to this input */
};

/* Handles. 0 names nothing; none is used twice. */
typedef struct pte_program { uint64_t id; } pte_program;
typedef struct pte_instance { uint64_t id; } pte_instance;
typedef struct pte_method { uint64_t id; } pte_method;
typedef struct pte_data { uint64_t id; } pte_data;

/* pte_options is what a program may use. All zeros, or a null pointer, are the defaults. 48 bytes. */
typedef struct pte_options {
  int64_t max_memory;       /* bytes of an instance and of packed weights; 0 is 4 GiB */
  int64_t max_instructions; /* of one run; 0 is 10 million */
  uint64_t seed;            /* of random numbers */
  int32_t threads;          /* of one run, the caller's included; 0 is one for each CPU */
  int32_t reserved;         /* 0 */
  pte_data data;            /* the file with the constants that are not in the program; 0 if all are */
  const char *weight_cache; /* a file of this program's that keeps packed weights for the next load, or null */
} pte_options;

/* pte_method_info is what a method takes and gives. 16 bytes. */
typedef struct pte_method_info {
  uint32_t inputs;
  uint32_t outputs;
  int64_t arena_bytes; /* planned memory of an instance for this method */
} pte_method_info;

/* pte_value_info is what is known of an input or output before a run. 168 bytes. */
typedef struct pte_value_info {
  int32_t kind;
  int32_t dtype;
  int32_t dynamism;
  uint32_t flags;
  uint32_t rank;
  uint32_t reserved;
  uint8_t dim_order[PTE_MAX_RANK]; /* the dimensions from the outermost in memory to the innermost */
  int64_t sizes[PTE_MAX_RANK];     /* the largest ones if dynamism is PTE_DYNAMIC_BOUND */
} pte_value_info;

/* pte_value is an input or output. 192 bytes. Only the fields of its kind are read. */
typedef struct pte_value {
  int32_t kind;
  int32_t dtype;                   /* PTE_TENSOR */
  int64_t integer;                 /* PTE_INT; PTE_BOOL: 0 or 1 */
  double number;                   /* PTE_FLOAT */
  void *data;                      /* PTE_TENSOR: the elements, dense, each at a multiple of its size; PTE_STRING: UTF-8 */
  uint64_t nbytes;                 /* of data */
  uint32_t rank;                   /* PTE_TENSOR */
  uint32_t reserved;               /* 0 */
  uint8_t dim_order[PTE_MAX_RANK]; /* PTE_TENSOR; all zeros are row-major order */
  int64_t sizes[PTE_MAX_RANK];     /* PTE_TENSOR, outermost first */
} pte_value;

#if defined(__cplusplus)
#define PTE_ASSERT_SIZE(type, size) static_assert(sizeof(type) == (size), #type)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define PTE_ASSERT_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
#else
#define PTE_ASSERT_SIZE(type, size) typedef char type##_has_its_size[sizeof(type) == (size) ? 1 : -1]
#endif
PTE_ASSERT_SIZE(pte_options, 48);
PTE_ASSERT_SIZE(pte_method_info, 16);
PTE_ASSERT_SIZE(pte_value_info, 168);
PTE_ASSERT_SIZE(pte_value, 192);
#undef PTE_ASSERT_SIZE

/* pte_abi_version is PTE_ABI_VERSION of the library. */
uint32_t pte_abi_version(void);

/* pte_last_error is the text of the last error in this thread, "" before the first. It stays until the next one. */
const char *pte_last_error(void);

/* pte_embedded_count is how many programs are in the library, and pte_embedded_name the name of one, which stays. */
uint32_t pte_embedded_count(void);
pte_status pte_embedded_name(uint32_t index, const char **name);

/* pte_data_load reads a data file (.ptd), which pte_options.data gives to any number of programs. It is checked, not trusted, and
 * not copied: the bytes must stay as they are until it is destroyed and all programs that were loaded with it, and their
 * instances. pte_data_load_file maps one. */
pte_status pte_data_load(const void *data, size_t size, pte_data *out);
pte_status pte_data_load_file(const char *path, pte_data *out);

/* pte_data_destroy frees a data file as soon as the last program that was loaded with it is freed. */
void pte_data_destroy(pte_data data);

/* pte_program_load makes a program of the bytes of a .pte at any address. They are checked, not trusted, and not copied:
 * they must stay as they are until the program and its instances are destroyed. options may be null. */
pte_status pte_program_load(const void *data, size_t size, const pte_options *options, pte_program *program);

/* pte_program_load_file maps a .pte. To truncate the file while it is in use ends the process. */
pte_status pte_program_load_file(const char *path, const pte_options *options, pte_program *program);

/* pte_program_load_embedded makes a program of one that is in the library; of the first if name is null. */
pte_status pte_program_load_embedded(const char *name, const pte_options *options, pte_program *program);

/* pte_program_destroy frees a program as soon as its last instance is destroyed. */
void pte_program_destroy(pte_program program);

/* pte_program_weight_cache_error is what went last wrong with pte_options.weight_cache, "" if nothing did: that the file cannot be
 * read, is damaged, is of another program or machine, or cannot be written, which is done by the first pte_instance_create. The
 * program runs in any case; its weights are packed anew. That there is no file yet is no error. The text stays until the program
 * is destroyed. */
pte_status pte_program_weight_cache_error(pte_program program, const char **message);

/* The methods of a program. A name stays until the program is destroyed. */
pte_status pte_program_method_count(pte_program program, uint32_t *count);
pte_status pte_program_method_name(pte_program program, uint32_t index, const char **name);
pte_status pte_program_method_info(pte_program program, const char *method, pte_method_info *info);
pte_status pte_program_input_info(pte_program program, const char *method, uint32_t index, pte_value_info *info);
pte_status pte_program_output_info(pte_program program, const char *method, uint32_t index, pte_value_info *info);

/* pte_instance_create allocates the memory of an instance, with its state as the file has it. */
pte_status pte_instance_create(pte_program program, pte_instance *instance);

/* pte_instance_destroy frees an instance and its methods, after the run that is under way. */
void pte_instance_destroy(pte_instance instance);

/* pte_instance_method finds a method by name. It lives as long as the instance. */
pte_status pte_instance_method(pte_instance instance, const char *name, pte_method *method);

/* pte_method_set_input sets an input of the runs that follow. The value is copied, a string too, but a tensor's elements
 * are not: each run reads them, and writes them if the input is PTE_WRITTEN, so they must stay until another input is set
 * or the instance is destroyed. */
pte_status pte_method_set_input(pte_method method, uint32_t index, const pte_value *value);

/* pte_method_run runs the method. All inputs must be set. After an error, state and written inputs may be half written. */
pte_status pte_method_run(pte_method method);

/* pte_method_get_output describes an output of the last run. Its data belongs to the instance: it must not be written, and
 * stays until the next run of any method of the instance, or until the instance is destroyed. */
pte_status pte_method_get_output(pte_method method, uint32_t index, pte_value *value);

#ifdef __cplusplus
}
#endif

#endif /* PTE_H */
