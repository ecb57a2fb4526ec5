// Random block masks of falling density: the rate on visited tiles should stay that of
// dense attention, so that time is proportional to what a mask leaves.
#include "benchmarks/Session.h"

namespace attnc::bench {

void measureSparse(Session &session) {
  const int64_t size = session.isQuick ? 1024 : 8192;
  const std::string &target = session.targets.front();
  for (int headDim : {64, 128}) {
    const Case dense{.variant = "full",
                     .target = target,
                     .headDim = headDim,
                     .queries = size,
                     .keys = size,
                     .heads = 4,
                     .kvHeads = 4};
    PreparedCase reference(session.context, dense);
    for (double density : {1.0, 0.5, 0.25, 0.125, 0.0625}) {
      Case sparse = dense;
      sparse.variant = "blocks";
      sparse.density = density;
      PreparedCase prepared(session.context, sparse);
      const auto timings = timeTogether({[&] { reference.run(); }, [&] { prepared.run(); }}, session.timing);
      nlohmann::json row = describe("sparse", sparse, timings[1], session.threads);
      row["density"] = density;
      row["dense_gflops"] = dense.flops() / timings[0].best * 1e-9;
      row["rate_of_dense"] = sparse.flops() / timings[1].best / (dense.flops() / timings[0].best);
      row["rate_of_dense_median"] = sparse.flops() / timings[1].median / (dense.flops() / timings[0].median);
      session.add(row);
    }
  }
}

} // namespace attnc::bench
