// Names of a cache directory's files, and whether to trust them.
#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

struct stat; // of <sys/stat.h>

namespace attnc::cache_files {

// A writer that died leaves a temporary name or a binary without its sidecar; one that is at
// work is younger than this.
inline constexpr time_t kAbandonedSeconds = 3600;

// Others must not be able to put code where we execute it: only this user or root may own it,
// and nobody else write it.
bool belongsToUs(const struct stat &status);
// What keeps a file from being read; empty if nothing does. Links are not followed.
std::string distrustFile(const std::string &path, bool &isAbsent);

// "<64 hex digits>.<kind>", "<64 hex digits>.json", or one of these with ".XXXXXX" while it is
// written. Nothing else counts as ours.
bool isOurs(std::string_view name);
bool isTemporary(std::string_view name); // of what is ours
bool isSidecar(std::string_view name);
inline std::string keyOf(std::string_view name) { return std::string(name.substr(0, 64)); }

std::vector<std::string> namesIn(const std::string &directory);
// mkdir -p; only folders that we make are made private.
bool makeDirectories(const std::string &path);

} // namespace attnc::cache_files
