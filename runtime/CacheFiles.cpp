#include "runtime/CacheFiles.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "runtime/CacheEntry.h"

namespace attnc::cache_files {

bool belongsToUs(const struct stat &status) {
  return (status.st_uid == geteuid() || status.st_uid == 0) && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

std::string distrustFile(const std::string &path, bool &isAbsent) {
  struct stat status;
  isAbsent = false;
  if (lstat(path.c_str(), &status) != 0) {
    isAbsent = errno == ENOENT;
    return isAbsent ? "it is missing" : std::strerror(errno);
  }
  if (!S_ISREG(status.st_mode))
    return "it is no regular file";
  return belongsToUs(status) ? "" : "others own it or can write it";
}

bool isOurs(std::string_view name) {
  if (name.find_first_not_of("0123456789abcdef") != 64 || name[64] != '.')
    return false;
  std::string_view extension = name.substr(65);
  if (const size_t dot = extension.find('.'); dot != extension.npos) {
    if (extension.size() != dot + 7)
      return false;
    extension = extension.substr(0, dot);
  }
  return extension == "json" || isBinaryKind(extension);
}

bool isTemporary(std::string_view name) { return name.find('.', 65) != name.npos; }

bool isSidecar(std::string_view name) { return isOurs(name) && name.substr(64) == ".json"; }

std::vector<std::string> namesIn(const std::string &directory) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR *)> stream(opendir(directory.c_str()), closedir);
  if (stream)
    while (const dirent *entry = readdir(stream.get()))
      names.push_back(entry->d_name);
  return names;
}

bool makeDirectories(const std::string &path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST)
    return true;
  const size_t slash = path.find_last_of('/');
  if (errno != ENOENT || slash == path.npos || slash == 0)
    return false;
  return makeDirectories(path.substr(0, slash)) && (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

} // namespace attnc::cache_files
