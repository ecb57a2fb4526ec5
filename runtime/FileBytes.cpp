#include "runtime/FileBytes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace attnc {

namespace {

Error failure(const char *what, const std::string &path, int number) {
  return {number == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
          fmt::format("cannot {} '{}': {}", what, path, std::strerror(number))};
}

// A write beyond RLIMIT_FSIZE ends the process by a signal unless the thread blocks it; then
// the write fails like on a full disk, and the signal is taken off again.
class FileSizeSignalBlocked {
public:
  FileSizeSignalBlocked() {
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    wasPending = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signals, &before);
  }
  ~FileSizeSignalBlocked() {
    const timespec now = {};
    const int number = errno;
    if (!wasPending)
      sigtimedwait(&signals, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = number;
  }
  FileSizeSignalBlocked(const FileSizeSignalBlocked &) = delete;
  FileSizeSignalBlocked &operator=(const FileSizeSignalBlocked &) = delete;

private:
  sigset_t signals, before;
  bool wasPending;
};

} // namespace

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

FileWriter::FileWriter(std::string path, std::string temporary, int descriptor)
    : path(std::move(path)), temporary(std::move(temporary)), descriptor(descriptor) {}

FileWriter::FileWriter(FileWriter &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      descriptor(std::exchange(other.descriptor, -1)) {}

FileWriter::~FileWriter() {
  if (descriptor < 0)
    return;
  close(descriptor);
  unlink(temporary.c_str());
}

Result<FileWriter> FileWriter::create(const std::string &path) {
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return failure("write", path, errno);
  return FileWriter(path, std::move(temporary), descriptor);
}

Status FileWriter::write(std::string_view bytes) {
  const FileSizeSignalBlocked blocked;
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return failure("write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

Status FileWriter::commit(unsigned mode) {
  if (fchmod(descriptor, mode) != 0 || rename(temporary.c_str(), path.c_str()) != 0)
    return failure("write", path, errno);
  close(std::exchange(descriptor, -1));
  return {};
}

Status writeBytes(const std::string &path, std::string_view bytes, unsigned mode) {
  Result<FileWriter> file = FileWriter::create(path);
  if (!file)
    return file.error();
  if (Status written = file->write(bytes); !written)
    return written;
  return file->commit(mode);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

FileReader::FileReader(std::string path, int descriptor, uint64_t size)
    : path(std::move(path)), descriptor(descriptor), size(size) {}

FileReader::FileReader(FileReader &&other) noexcept
    : path(std::move(other.path)), descriptor(std::exchange(other.descriptor, -1)), size(other.size),
      position(other.position) {}

FileReader::~FileReader() {
  if (descriptor >= 0)
    close(descriptor);
}

Result<FileReader> FileReader::open(const std::string &path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return failure("read", path, errno);
  FileReader reader(path, descriptor, 0);
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    return failure("read", path, errno);
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::Io, fmt::format("cannot read '{}': not a regular file", path)};
  reader.size = static_cast<uint64_t>(status.st_size);
  return reader;
}

Result<std::string> FileReader::read(uint64_t count) {
  if (count > left())
    return Error{ErrorCode::Io, fmt::format("cannot read '{}': expected {} more bytes, found {}", path, count, left())};
  std::string bytes(static_cast<size_t>(count), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = pread(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(position));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return failure("read", path, errno);
    if (got == 0)
      break; // it shrank: the caller's checks see a truncated file
    done += static_cast<size_t>(got);
    position += static_cast<uint64_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Result<std::string> FileReader::readLine(uint64_t limit) {
  const uint64_t start = position;
  Result<std::string> bytes = read(std::min(limit, left()));
  if (!bytes)
    return bytes;
  const size_t end = bytes->find('\n');
  if (end == bytes->npos)
    return Error{ErrorCode::Io,
                 fmt::format("cannot read '{}': no end of line within {} bytes of byte {}", path, limit, start)};
  position = start + end + 1;
  bytes->resize(end);
  return bytes;
}

Result<std::string> readBytes(const std::string &path, uint64_t limit) {
  Result<FileReader> file = FileReader::open(path);
  if (!file)
    return file.error();
  if (file->left() > limit)
    return Error{ErrorCode::Io,
                 fmt::format("cannot read '{}': it holds {} bytes, expected at most {}", path, file->left(), limit)};
  return file->read(file->left());
}

} // namespace attnc
