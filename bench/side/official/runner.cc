// A worker of bench/side: the official ExecuTorch runtime behind lines of text on standard input and output.
//
//   load FILE METHOD THREADS INPUT...  loads a program and runs it once    -> ok LOAD_NS FIRST_NS BASE_KIB PEAK_KIB
//   run SAMPLES CALLS                  times samples of some calls each    -> ok NS...       (of one call)
//   outputs DIR                        writes results to DIR/N: a line of text, then the elements    -> ok COUNT
//
// Words are divided by tabs. An INPUT is t:TYPE:SIZES:ORDER:FILE, with numbers of ExecuTorch's ScalarType and commas
// between sizes, or int:N, float:X, bool:N, none:. What fails is answered with a line that begins with "error".

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/executor/method.h>

// The wheel has the library of threadpool.h and not the header.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(uint32_t threads);
};
ThreadPool* get_threadpool();
} // namespace executorch::extension::threadpool

namespace {

using executorch::aten::ScalarType;
using executorch::extension::from_blob;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::EValue;
using executorch::runtime::Method;

using Clock = std::chrono::steady_clock;

int64_t since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

void check(executorch::runtime::Error e, const char* what) {
  if (e != executorch::runtime::Error::Ok) {
    throw std::runtime_error(std::string(what) + ": code " + std::to_string(static_cast<int>(e)));
  }
}

std::vector<std::string> split(const std::string& s, char by, size_t most = SIZE_MAX) {
  std::vector<std::string> out;
  size_t from = 0, to;
  while (out.size() + 1 < most && (to = s.find(by, from)) != std::string::npos) {
    out.push_back(s.substr(from, to - from));
    from = to + 1;
  }
  out.push_back(s.substr(from));
  return out;
}

template <typename T>
std::vector<T> numbers(const std::string& s) {
  std::vector<T> out;
  if (!s.empty()) {
    for (const auto& word : split(s, ',')) {
      out.push_back(static_cast<T>(std::stoll(word)));
    }
  }
  return out;
}

// A line of /proc/self/status in KiB.
int64_t memory(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key + ":", 0) == 0) {
      return std::stoll(line.substr(key.size() + 1));
    }
  }
  return 0;
}

struct Worker {
  std::unique_ptr<Module> module;
  Method* method = nullptr;
  std::vector<std::vector<char>> bytes;
  std::vector<TensorPtr> tensors;
  std::vector<EValue> inputs;

  std::string load(const std::vector<std::string>& args) {
    auto* pool = executorch::extension::threadpool::get_threadpool();
    if (pool != nullptr) {
      pool->_unsafe_reset_threadpool(std::stoul(args.at(3)));
    }
    const int64_t base = memory("VmRSS");
    auto start = Clock::now();
    method = nullptr;
    module = std::make_unique<Module>(args.at(1), Module::LoadMode::Mmap);
    check(module->load_method(args.at(2)), "load method");
    auto loaded = module->method(args.at(2));
    check(loaded.error(), "get method");
    method = loaded.get();
    const int64_t load = since(start);
    bytes.clear();
    tensors.clear();
    inputs.clear();
    for (size_t i = 4; i < args.size(); i++) {
      inputs.push_back(input(args[i]));
    }
    start = Clock::now();
    call();
    std::ostringstream out;
    out << load << '\t' << since(start) << '\t' << base << '\t' << memory("VmHWM");
    return out.str();
  }

  EValue input(const std::string& spec) {
    const auto kind = split(spec, ':', 2);
    if (kind[0] == "t") {
      return tensor(split(kind[1], ':', 4));
    }
    if (kind[0] == "int") {
      return EValue(static_cast<int64_t>(std::stoll(kind[1])));
    }
    if (kind[0] == "float") {
      return EValue(std::stod(kind[1]));
    }
    if (kind[0] == "bool") {
      return EValue(kind[1] != "0");
    }
    return EValue();
  }

  EValue tensor(const std::vector<std::string>& part) {
    auto type = static_cast<ScalarType>(std::stoi(part.at(0)));
    auto sizes = numbers<executorch::aten::SizesType>(part.at(1));
    auto order = numbers<executorch::aten::DimOrderType>(part.at(2));
    std::ifstream in(part.at(3), std::ios::binary);
    if (!in) {
      throw std::runtime_error("no file " + part.at(3));
    }
    bytes.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    tensors.push_back(executorch::extension::make_tensor_ptr(std::move(sizes), bytes.back().data(), std::move(order), {}, type));
    return EValue(*tensors.back());
  }

  void call() {
    for (size_t i = 0; i < inputs.size(); i++) {
      check(method->set_input(inputs[i], i), "set input");
    }
    check(method->execute(), "execute");
  }

  std::string run(const std::vector<std::string>& args) {
    const long samples = std::stol(args.at(1)), calls = std::stol(args.at(2));
    std::ostringstream out;
    for (long i = 0; i < samples; i++) {
      const auto start = Clock::now();
      for (long k = 0; k < calls; k++) {
        call();
      }
      out << (i == 0 ? "" : "\t") << static_cast<double>(since(start)) / calls;
    }
    return out.str();
  }

  std::string outputs(const std::vector<std::string>& args) {
    for (size_t i = 0; i < method->outputs_size(); i++) {
      std::ofstream out(args.at(1) + "/" + std::to_string(i), std::ios::binary);
      write(out, method->get_output(i));
    }
    return std::to_string(method->outputs_size());
  }

  static void write(std::ostream& out, const EValue& value) {
    if (!value.isTensor()) {
      out << "none\n";
      return;
    }
    const auto& t = value.toTensor();
    out << static_cast<int>(t.scalar_type()) << ':';
    for (ssize_t i = 0; i < t.dim(); i++) {
      out << (i == 0 ? "" : ",") << t.size(i);
    }
    out << ':';
    for (ssize_t i = 0; i < t.dim(); i++) {
      out << (i == 0 ? "" : ",") << static_cast<int>(t.dim_order()[i]);
    }
    out << '\n';
    out.write(static_cast<const char*>(t.const_data_ptr()), t.nbytes());
  }

  std::string answer(const std::vector<std::string>& args) {
    if (args[0] == "load") {
      return load(args);
    }
    if (args[0] == "run") {
      return run(args);
    }
    if (args[0] == "outputs") {
      return outputs(args);
    }
    throw std::runtime_error("unknown request " + args[0]);
  }
};

} // namespace

int main() {
  // Libraries print to standard output, too.
  FILE* out = fdopen(dup(1), "w");
  dup2(2, 1);
  Worker worker;
  for (std::string line; std::getline(std::cin, line);) {
    std::string text;
    try {
      text = "ok\t" + worker.answer(split(line, '\t'));
    } catch (const std::exception& e) {
      text = std::string("error\t") + e.what();
    }
    std::fprintf(out, "%s\n", text.c_str());
    std::fflush(out);
  }
}
