// Cache entries in one file, to carry kernels to machines that must not compile.
//
//   attnc cache export 1
//   entry SIDECAR_BYTES BINARY_BYTES          then the two, without anything between
//   ...
//   end ENTRIES SHA256                        of all bytes before this line
//
// Sidecars are those of the cache (CacheEntry.h). No path stands in the file: an entry's name
// is made from its key, and the key from its fields.
#pragma once

#include "runtime/KernelCache.h"

namespace attnc {

// Every good entry of all layers. Errors: Io. Gives the number of entries.
Result<int64_t> exportCache(const KernelCache &cache, const std::string &path);

// Publishes into the user's layer what is whole, entry by entry; what is not is counted among
// the refused. Errors: NotFound, Io (no such file, none of this format, truncated, the cache
// cannot be written).
Result<Context::CacheImport> importCache(KernelCache &cache, const std::string &path);

} // namespace attnc
