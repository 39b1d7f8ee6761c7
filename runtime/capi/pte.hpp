// pte.hpp: pte.h for C++17, with objects that free what they own and throw pte::Error. Header only.
//
//     auto program = pte::Program::embedded();
//     auto instance = program.instance();
//     auto forward = instance.method("forward");
//     forward.set_input(0, pte::Value::tensor(pixels, {1, 1, 8, 8}));
//     forward.run();
//     const float *scores = forward.output(0).data<float>();
//
// Rules of threads and lifetimes are those of pte.h.
#ifndef PTE_HPP
#define PTE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pte.h"

namespace pte {

// Error is a status that is not PTE_OK, with its text.
class Error : public std::runtime_error {
 public:
  Error(pte_status code, const char *text) : std::runtime_error(text), code_(code) {}
  pte_status code() const { return code_; }

 private:
  pte_status code_;
};

inline void check(pte_status status) {
  if (status != PTE_OK) throw Error(status, pte_last_error());
}

// dtype_of is the pte_dtype of a C++ type.
template <class T>
constexpr int32_t dtype_of() {
  using E = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<E, bool>) return PTE_BOOL8;
  else if constexpr (std::is_same_v<E, float>) return PTE_FLOAT32;
  else if constexpr (std::is_same_v<E, double>) return PTE_FLOAT64;
  else if constexpr (std::is_same_v<E, uint8_t>) return PTE_UINT8;
  else if constexpr (std::is_same_v<E, int8_t>) return PTE_INT8;
  else if constexpr (std::is_same_v<E, int16_t>) return PTE_INT16;
  else if constexpr (std::is_same_v<E, uint16_t>) return PTE_UINT16;
  else if constexpr (std::is_same_v<E, int32_t>) return PTE_INT32;
  else if constexpr (std::is_same_v<E, uint32_t>) return PTE_UINT32;
  else if constexpr (std::is_same_v<E, int64_t>) return PTE_INT64;
  else {
    static_assert(std::is_same_v<E, uint64_t>, "no element type of tensors");
    return PTE_UINT64;
  }
}

// Value is an input or output. It does not own what data points to.
class Value {
 public:
  Value() = default;
  explicit Value(const pte_value &raw) : raw_(raw) {}

  // tensor has dense elements in row-major order. The method must not write the input if T is const.
  template <class T>
  static Value tensor(T *data, const std::vector<int64_t> &sizes) {
    if (sizes.size() > PTE_MAX_RANK) throw std::invalid_argument("a tensor of more than PTE_MAX_RANK dimensions");
    Value v;
    v.raw_.kind = PTE_TENSOR;
    v.raw_.dtype = dtype_of<T>();
    v.raw_.data = const_cast<std::remove_cv_t<T> *>(data);
    v.raw_.nbytes = sizeof(T);
    v.raw_.rank = static_cast<uint32_t>(sizes.size());
    std::copy(sizes.begin(), sizes.end(), v.raw_.sizes);
    for (int64_t n : sizes) v.raw_.nbytes *= static_cast<uint64_t>(n);
    return v;
  }
  static Value integer(int64_t n) { return scalar(PTE_INT, n, 0); }
  static Value number(double x) { return scalar(PTE_FLOAT, 0, x); }
  static Value boolean(bool b) { return scalar(PTE_BOOL, b, 0); }
  static Value string(std::string_view s) {
    Value v = scalar(PTE_STRING, 0, 0);
    v.raw_.data = const_cast<char *>(s.data());
    v.raw_.nbytes = s.size();
    return v;
  }

  int32_t kind() const { return raw_.kind; }
  int32_t dtype() const { return raw_.dtype; }
  int64_t integer() const { return raw_.integer; }
  double number() const { return raw_.number; }
  std::string_view string() const { return {static_cast<const char *>(raw_.data), static_cast<size_t>(raw_.nbytes)}; }
  std::vector<int64_t> sizes() const { return {raw_.sizes, raw_.sizes + raw_.rank}; }

  // data is the elements, size() of them. It throws if they are no Ts.
  template <class T>
  const T *data() const {
    if (raw_.kind != PTE_TENSOR || raw_.dtype != dtype_of<T>()) throw std::invalid_argument("the value holds no such elements");
    return static_cast<const T *>(raw_.data);
  }
  size_t size() const {
    size_t n = 1;
    for (int64_t s : sizes()) n *= static_cast<size_t>(s);
    return n;
  }

  const pte_value &raw() const { return raw_; }

 private:
  static Value scalar(int32_t kind, int64_t n, double x) {
    Value v;
    v.raw_.kind = kind;
    v.raw_.integer = n;
    v.raw_.number = x;
    return v;
  }

  pte_value raw_{};
};

// Method is a method of an instance, which must outlive it.
class Method {
 public:
  void set_input(uint32_t index, const Value &value) { check(pte_method_set_input(handle_, index, &value.raw())); }
  void run() { check(pte_method_run(handle_)); }

  // output is valid until the next run of a method of the instance.
  Value output(uint32_t index) const {
    pte_value raw{};
    check(pte_method_get_output(handle_, index, &raw));
    return Value(raw);
  }

 private:
  friend class Instance;
  explicit Method(pte_method handle) : handle_(handle) {}
  pte_method handle_;
};

// Owner destroys a handle once.
template <class Handle, void (*Destroy)(Handle)>
class Owner {
 public:
  Owner(Owner &&other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owner &operator=(Owner &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owner() {
    if (handle_.id != 0) Destroy(handle_);
  }
  Handle handle() const { return handle_; }

 protected:
  explicit Owner(Handle handle) : handle_(handle) {}
  Handle handle_;
};

// Instance is the memory and the state of one user of a program. It keeps the program alive.
class Instance : public Owner<pte_instance, pte_instance_destroy> {
 public:
  Method method(const char *name) {
    pte_method m{};
    check(pte_instance_method(handle_, name, &m));
    return Method(m);
  }

 private:
  friend class Program;
  using Owner::Owner;
};

// Data is a data file (.ptd). options is what programs are loaded with that have constants in it.
class Data : public Owner<pte_data, pte_data_destroy> {
 public:
  static Data file(const char *path) {
    pte_data d{};
    check(pte_data_load_file(path, &d));
    return Data(d);
  }
  // bytes must stay until the data, the programs that were loaded with it, and their instances are gone.
  static Data bytes(const void *data, size_t size) {
    pte_data d{};
    check(pte_data_load(data, size, &d));
    return Data(d);
  }

  pte_options options(pte_options o = {}) const {
    o.data = handle_;
    return o;
  }

 private:
  using Owner::Owner;
};

// Program is a loaded .pte, which any threads may share.
class Program : public Owner<pte_program, pte_program_destroy> {
 public:
  // embedded loads a program that is in the library, the first if name is null.
  static Program embedded(const char *name = nullptr, const pte_options &options = {}) {
    pte_program p{};
    check(pte_program_load_embedded(name, &options, &p));
    return Program(p);
  }
  static Program file(const char *path, const pte_options &options = {}) {
    pte_program p{};
    check(pte_program_load_file(path, &options, &p));
    return Program(p);
  }
  // bytes must stay until the program and its instances are gone.
  static Program bytes(const void *data, size_t size, const pte_options &options = {}) {
    pte_program p{};
    check(pte_program_load(data, size, &options, &p));
    return Program(p);
  }

  std::vector<std::string> methods() const {
    uint32_t n = 0;
    check(pte_program_method_count(handle_, &n));
    std::vector<std::string> names;
    for (uint32_t i = 0; i < n; i++) {
      const char *name = nullptr;
      check(pte_program_method_name(handle_, i, &name));
      names.emplace_back(name);
    }
    return names;
  }
  pte_method_info info(const char *method) const {
    pte_method_info info{};
    check(pte_program_method_info(handle_, method, &info));
    return info;
  }
  pte_value_info input_info(const char *method, uint32_t index) const {
    pte_value_info info{};
    check(pte_program_input_info(handle_, method, index, &info));
    return info;
  }
  pte_value_info output_info(const char *method, uint32_t index) const {
    pte_value_info info{};
    check(pte_program_output_info(handle_, method, index, &info));
    return info;
  }
  // weight_cache_error is what went last wrong with options.weight_cache, "" if nothing did.
  std::string weight_cache_error() const {
    const char *message = nullptr;
    check(pte_program_weight_cache_error(handle_, &message));
    return message;
  }

  Instance instance() const {
    pte_instance i{};
    check(pte_instance_create(handle_, &i));
    return Instance(i);
  }

 private:
  using Owner::Owner;
};

}  // namespace pte

#endif  // PTE_HPP
