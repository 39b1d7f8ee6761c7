// digits classifies the images of a .npy file with the C++ interface of the model.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "pte.hpp"

namespace {

constexpr int64_t kSide = 8, kClasses = 10;

// read_npy gives the elements of a .npy file.
template <class T>
std::vector<T> read_npy(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.size() < 10 || std::string(bytes.data() + 1, 5) != "NUMPY") throw std::runtime_error(path + " is no .npy file");
  size_t start = 10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  if (start > bytes.size()) throw std::runtime_error(path + " ends early");
  std::vector<T> elements((bytes.size() - start) / sizeof(T));
  std::copy_n(bytes.data() + start, elements.size() * sizeof(T), reinterpret_cast<char *>(elements.data()));
  return elements;
}

void run(const std::string &images_path, const std::string &labels_path) {
  const auto images = read_npy<float>(images_path);
  const auto labels = read_npy<int64_t>(labels_path);
  const auto n = std::min<int64_t>(images.size() / (kSide * kSide), labels.size());

  auto program = pte::Program::embedded();
  auto instance = program.instance();
  auto forward = instance.method("forward");
  forward.set_input(0, pte::Value::tensor(images.data(), {n, 1, kSide, kSide}));
  forward.run();
  const auto scores = forward.output(0);

  int64_t right = 0;
  for (int64_t i = 0; i < n; i++) {
    const float *score = scores.data<float>() + kClasses * i;
    right += std::max_element(score, score + kClasses) - score == labels[i];
  }
  std::printf("%d of %d right: accuracy %.1f %%\n", static_cast<int>(right), static_cast<int>(n), 100.0 * right / n);
}

}  // namespace

int main(int argc, char **argv) try {
  if (argc != 3) throw std::runtime_error("want images.npy labels.npy");
  run(argv[1], argv[2]);
} catch (const std::exception &e) {
  std::fprintf(stderr, "digits: %s\n", e.what());
  return 1;
}
