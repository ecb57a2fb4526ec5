// Where NVRTC may be: in a toolkit, in a Python package, or in the process already. Only looks at
// names of files and of loaded libraries; Nvrtc::open opens what is found.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::cuda {

struct NvrtcSearch {
  // Of the library itself, or a name for the loader; nothing else is tried then.
  std::string path = {};
  // Looked at before all others. Each may be a toolkit ($CUDA_HOME), a Python environment
  // ($VIRTUAL_ENV, $CONDA_PREFIX), a site-packages folder, or hold the library itself.
  // Empty ones are skipped.
  std::vector<std::string> folders = {};
};

struct NvrtcPlaces {
  std::vector<std::string> libraries; // to try, the best first
  std::vector<std::string> looked;    // at folders and elsewhere, for the message that none is found
};

// In this order, in each place the newest first: the given folders; libraries the process has
// loaded (torch loads one that suits its driver); the loader's path; the site-packages that
// loaded libraries lie in; the toolkits' usual folders.
NvrtcPlaces findNvrtc(const NvrtcSearch &search);

// The version in a file name: {13} of "libnvrtc.so.13", {12, 4} of "libnvrtc-1a2b3c.so.12.4" (as
// torch ships it), {} of "libnvrtc.so". Null for all other libraries.
std::optional<std::vector<int>> nvrtcFileVersion(std::string_view fileName);

} // namespace attnc::cuda
