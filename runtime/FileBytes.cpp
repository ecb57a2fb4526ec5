#include "runtime/FileBytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace attnc {

namespace {

// Closes on every way out.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0)
      close(fd);
  }
};

Error failure(const char *what, const std::string &path, int number) {
  return {number == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
          fmt::format("cannot {} '{}': {}", what, path, std::strerror(number))};
}

} // namespace

Result<std::string> readBytes(const std::string &path, uint64_t limit) {
  Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status;
  if (file.fd < 0 || fstat(file.fd, &status) != 0)
    return failure("read", path, errno);
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::Io, fmt::format("cannot read '{}': not a regular file", path)};
  if (static_cast<uint64_t>(status.st_size) > limit)
    return Error{ErrorCode::Io,
                 fmt::format("cannot read '{}': it holds {} bytes, expected at most {}", path, status.st_size, limit)};
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = read(file.fd, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return failure("read", path, errno);
    if (got == 0)
      break; // it shrank: the caller's checks see a truncated file
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Status writeBytes(const std::string &path, std::string_view bytes, unsigned mode) {
  std::string temporary = path + ".XXXXXX";
  Descriptor file{mkostemp(temporary.data(), O_CLOEXEC)};
  if (file.fd < 0)
    return failure("write", path, errno);
  auto giveUp = [&](int number) {
    unlink(temporary.c_str());
    return failure("write", path, number);
  };
  while (!bytes.empty()) {
    ssize_t put = write(file.fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return giveUp(errno);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  if (fchmod(file.fd, mode) != 0 || rename(temporary.c_str(), path.c_str()) != 0)
    return giveUp(errno);
  return {};
}

} // namespace attnc
