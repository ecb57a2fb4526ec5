// .npy and .safetensors: round trips, files as NumPy writes them, and hostile headers.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "attnc/Files.h"
#include "runtime/FileBytes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attnc;
using testing::HasSubstr;

namespace {

class FilesTest : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/attnc_files_XXXXXX";
    ASSERT_TRUE(mkdtemp(name));
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string &bytes) {
    std::ofstream(folder + "/file", std::ios::binary) << bytes;
    return folder + "/file";
  }
  std::string npy(const std::string &header, const std::string &data) {
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(header.size() & 255);
    bytes += static_cast<char>(header.size() >> 8);
    return write(bytes + header + data);
  }
  std::string safetensors(const std::string &header, const std::string &data) {
    std::string bytes(8, '\0');
    uint64_t size = header.size();
    std::memcpy(bytes.data(), &size, 8);
    return write(bytes + header + data);
  }
  std::string npyError(const std::string &path) {
    auto tensor = readNpy(path);
    return tensor ? "" : tensor.error().message;
  }
  std::string safetensorsError(const std::string &path, const std::string &name = "") {
    auto tensor = readSafetensors(path, name);
    return tensor ? "" : tensor.error().message;
  }

  std::string folder;
};

template <typename T> std::string bytesOf(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char *>(values.begin()), values.size() * sizeof(T));
}

} // namespace

TEST_F(FilesTest, npyRoundTripOfEveryDtypeAndRank) {
  std::mt19937 random(1);
  for (DType dtype : {DType::F32, DType::F16, DType::I32, DType::I64, DType::Bool})
    for (std::vector<int64_t> shape :
         std::vector<std::vector<int64_t>>{{}, {5}, {0}, {3, 4}, {2, 0, 3}, {2, 3, 4, 5}}) {
      auto tensor = OwnedTensor::zeros(dtype, shape);
      ASSERT_TRUE(tensor.ok());
      const size_t size = tensor->view.elements() * dtypeSize(dtype);
      for (size_t i = 0; i < size; ++i)
        static_cast<char *>(tensor->view.data)[i] = static_cast<char>(dtype == DType::Bool ? random() % 2 : random());
      ASSERT_TRUE(writeNpy(folder + "/t.npy", tensor->view).ok());
      auto again = readNpy(folder + "/t.npy");
      ASSERT_TRUE(again.ok()) << again.error().message;
      EXPECT_EQ(toString(again->view), toString(tensor->view));
      EXPECT_EQ(std::memcmp(again->view.data, tensor->view.data, size), 0);
      EXPECT_EQ(again->note, "");
    }
}

TEST_F(FilesTest, npyWritesStridedViewsRowMajor) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  TensorView view{data + 2, DType::F32, {3, 2}, {-1, 3}}; // columns of a 2 x 3 matrix, reversed
  ASSERT_TRUE(writeNpy(folder + "/t.npy", view).ok());
  auto again = readNpy(folder + "/t.npy");
  ASSERT_TRUE(again.ok());
  const float expected[6] = {2, 5, 1, 4, 0, 3};
  EXPECT_EQ(std::memcmp(again->view.data, expected, sizeof expected), 0);
}

TEST_F(FilesTest, npyWritesBf16AsF32) {
  const uint16_t values[3] = {0x3f80, 0xc040, 0x7f80}; // 1, -3, inf
  ASSERT_TRUE(writeNpy(folder + "/t.npy", TensorView::contiguous(values, DType::BF16, {3})).ok());
  auto again = readNpy(folder + "/t.npy");
  ASSERT_TRUE(again.ok());
  const float *read = static_cast<const float *>(again->view.data);
  EXPECT_EQ(read[0], 1.f);
  EXPECT_EQ(read[1], -3.f);
  EXPECT_EQ(read[2], INFINITY);
}

TEST_F(FilesTest, npyConvertsFloat64WithANote) {
  auto tensor = readNpy(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n", bytesOf({0.5, 0.1, 2.0})));
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  EXPECT_EQ(tensor->note, "float64 converted to f32, 1 of 3 values rounded");
  EXPECT_EQ(static_cast<float *>(tensor->view.data)[1], 0.1f);
}

TEST_F(FilesTest, npyRefusals) {
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  const std::string two = bytesOf({1.f, 2.f});
  EXPECT_EQ(npyError(npy(dict, two)), "");
  EXPECT_THAT(npyError(folder + "/absent"), HasSubstr("No such file"));
  EXPECT_THAT(npyError(folder), HasSubstr("not a regular file"));
  EXPECT_THAT(npyError(write("PK\3\4 something else")), HasSubstr("magic bytes"));
  EXPECT_THAT(npyError(write(std::string("\x93NUMPY\x09\x00\x00\x00\x00\x00", 12))),
              HasSubstr("version 1 to 3, found 9"));
  EXPECT_THAT(npyError(write(std::string("\x93NUMPY\x01\x00\xff\xff{}", 12))), HasSubstr("header needs 65535"));
  EXPECT_THAT(npyError(npy(dict, two + "x")), HasSubstr("needs 8 bytes, the file has 9"));
  EXPECT_THAT(npyError(npy(dict, "")), HasSubstr("needs 8 bytes, the file has 0"));
  EXPECT_THAT(npyError(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", two)),
              HasSubstr("ascontiguousarray"));
  EXPECT_THAT(npyError(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", two)),
              HasSubstr("dtype '>f4'"));
  EXPECT_THAT(npyError(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", "\1\2")),
              HasSubstr("holds 2 where a bool"));
  for (const char *header :
       {"", "{", "{}", "{'descr': '<f4'}", "{'shape': (-1,), 'descr': '<f4', 'fortran_order': False}",
        "{'shape': (1 2), 'descr': '<f4', 'fortran_order': False}",
        "{'shape': (99999999999999999999,), 'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } tail"})
    EXPECT_THAT(npyError(npy(header, two)), HasSubstr("malformed")) << header;
  // Sizes that overflow 64 bits must not look small.
  for (const char *shape :
       {"(4611686018427387904, 4)", "(9223372036854775807,)", "(4294967296, 4294967296, 4294967296)"})
    EXPECT_THAT(npyError(npy(std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ") + shape + "}", two)),
                HasSubstr("does not fit its header"))
        << shape;
}

TEST_F(FilesTest, safetensorsReadsByName) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},)"
      R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
  const std::string path = safetensors(header, bytesOf({1.f, 2.f}) + bytesOf<uint16_t>({0x3f80, 0x4000}));
  auto list = listSafetensors(path);
  ASSERT_TRUE(list.ok()) << list.error().message;
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0].name, "a");
  EXPECT_EQ((*list)[1].dtype, "BF16");
  auto a = readSafetensors(path, "a"), b = readSafetensors(path, "b");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(toString(a->view), "f32[1, 2]");
  EXPECT_EQ(static_cast<float *>(a->view.data)[1], 2.f);
  EXPECT_EQ(toString(b->view), "bf16[2]");
  EXPECT_EQ(static_cast<uint16_t *>(b->view.data)[1], 0x4000);
  EXPECT_THAT(safetensorsError(path), HasSubstr("holds 2 tensors: name one"));
  EXPECT_THAT(safetensorsError(path, "c"), HasSubstr("holds no tensor 'c'"));
}

TEST_F(FilesTest, safetensorsRefusals) {
  EXPECT_THAT(safetensorsError(write("1234")), HasSubstr("truncated"));
  EXPECT_THAT(safetensorsError(write(std::string(8, '\xff'))), HasSubstr("header needs"));
  EXPECT_THAT(safetensorsError(safetensors("[1]", "")), HasSubstr("no JSON object"));
  EXPECT_THAT(safetensorsError(safetensors("{", "")), HasSubstr("no JSON object"));
  EXPECT_THAT(safetensorsError(safetensors(std::string(200000, '['), "")), HasSubstr("no JSON object"));
  for (const char *entry :
       {R"({"dtype":"F32","shape":[2],"data_offsets":[0,9]})", R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})",
        R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", R"({"dtype":"F32","shape":[2]})",
        R"({"dtype":1,"shape":[2],"data_offsets":[0,8]})", R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})",
        R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})", "7"})
    EXPECT_THAT(safetensorsError(safetensors(std::string("{\"t\":") + entry + "}", bytesOf({1.f, 2.f}))),
                HasSubstr("entry 't'"))
        << entry;
  EXPECT_THAT(
      safetensorsError(safetensors(R"({"t":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", bytesOf({1.f, 2.f}))),
      HasSubstr("needs 12 bytes"));
  EXPECT_THAT(safetensorsError(
                  safetensors(R"({"t":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", bytesOf({1.f, 2.f}))),
              HasSubstr("dtype F8_E4M3"));
}

// Any change of any byte of a header is read or refused.
TEST_F(FilesTest, survivesFlippedBits) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto tensor = OwnedTensor::zeros(DType::F32, {3, 4});
  ASSERT_TRUE(writeNpy(folder + "/t.npy", tensor->view).ok());
  const std::string good = *readBytes(folder + "/t.npy", 1 << 20);
  const std::string header = R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
  const std::string other = *readBytes(safetensors(header, std::string(8, 'x')), 1 << 20);
  for (int round = 0; round < 300; ++round) {
    for (const std::string &original : {good, other}) {
      std::string bytes = original;
      for (int flips = 1 + random() % 3; flips > 0; --flips)
        bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
      const std::string path = write(bytes);
      (void)readNpy(path);
      (void)readSafetensors(path);
    }
  }
}

TEST_F(FilesTest, writingToAMissingFolderFails) {
  auto status = writeNpy(folder + "/no/such/t.npy", OwnedTensor::zeros(DType::F32, {2})->view);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("cannot write"));
}
