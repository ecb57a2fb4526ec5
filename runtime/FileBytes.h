// Whole files: read with checks, written so that they appear whole or not at all.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "attnc/Status.h"

namespace attnc {

// Errors: NotFound, or Io (a folder, unreadable, larger than `limit`).
Result<std::string> readBytes(const std::string &path, uint64_t limit);

// Writes `path`.<random> beside it with permissions `mode`, then renames.
Status writeBytes(const std::string &path, std::string_view bytes, unsigned mode);

// The same piece by piece. Without a commit nothing is left.
class FileWriter {
public:
  static Result<FileWriter> create(const std::string &path);
  FileWriter(FileWriter &&other) noexcept;
  FileWriter &operator=(FileWriter &&) = delete;
  ~FileWriter();

  Status write(std::string_view bytes);
  Status commit(unsigned mode);

private:
  FileWriter(std::string path, std::string temporary, int descriptor);
  std::string path, temporary;
  int descriptor;
};

// Reads a regular file from front to back. No memory is taken for what is not there.
class FileReader {
public:
  static Result<FileReader> open(const std::string &path);
  FileReader(FileReader &&other) noexcept;
  FileReader &operator=(FileReader &&) = delete;
  ~FileReader();

  uint64_t left() const { return size - position; }
  // Errors: Io, also where fewer than `count` bytes are left.
  Result<std::string> read(uint64_t count);
  // Up to the next '\n', which is dropped; Io if there is none within `limit` bytes.
  Result<std::string> readLine(uint64_t limit);

private:
  FileReader(std::string path, int descriptor, uint64_t size);
  std::string path;
  int descriptor;
  uint64_t size, position = 0;
};

} // namespace attnc
