// The device library as text, in the order in which its files build on each other.
#pragma once

#include <span>
#include <string_view>

namespace attnc::cuda {

struct DeviceFile {
  std::string_view name, text;
};
std::span<const DeviceFile> deviceFiles();

} // namespace attnc::cuda
