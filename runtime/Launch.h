// Runs the tasks of one checked call. Which worker runs what, and in what order, never
// enters the arithmetic: see the contract in docs/architecture.md.
#pragma once

#include "attnc/Context.h"
#include "runtime/Arguments.h"
#include "runtime/LoadedKernel.h"
#include "runtime/TileRuns.h"

namespace attnc {

// How a call is cut, for tests: the bits are the same whatever is chosen.
struct LaunchChoices {
  enum Schedule { AutoSchedule, Narrowest, Widest } schedule = AutoSchedule;
  enum Splits { AutoSplits, NeverParallel, AlwaysParallel } splits = AutoSplits;
};

Status launch(const LoadedKernel &kernel, const CallArguments &call, const TileSource &tiles, Executor &executor,
              RunStats &stats, LaunchChoices choices = {});

} // namespace attnc
