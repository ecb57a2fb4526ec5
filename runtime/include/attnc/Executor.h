// Who runs the tasks of a call. Results never depend on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "attnc/Export.h"

namespace attnc {

class ATTNC_EXPORT Executor {
public:
  virtual ~Executor();

  // The largest number of workers that parallelFor uses at once.
  virtual int concurrency() const = 0;

  // Calls body(index, worker) once for each index in [0, count), in any order and in
  // parallel, worker in [0, concurrency()), never two at once with one worker number.
  // Returns when all are done. Must accept calls from several threads at once.
  virtual void parallelFor(int64_t count, const std::function<void(int64_t index, int worker)> &body) = 0;
};

// A pool of `threads` workers, the calling thread included; 0 means one a processor.
ATTNC_EXPORT std::unique_ptr<Executor> makeThreadPool(int threads = 0);

} // namespace attnc
