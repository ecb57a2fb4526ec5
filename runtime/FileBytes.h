// Whole files: read with checks, written so that they appear whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "attnc/Status.h"

namespace attnc {

// Errors: NotFound, or Io (a folder, unreadable, larger than `limit`).
Result<std::string> readBytes(const std::string &path, uint64_t limit);

// Writes `path`.<random> beside it with permissions `mode`, then renames.
Status writeBytes(const std::string &path, std::string_view bytes, unsigned mode);

} // namespace attnc
