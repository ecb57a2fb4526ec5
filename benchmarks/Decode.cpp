// One query row against many keys: bound by reading keys and values, for information.
#include "benchmarks/Session.h"

namespace attnc::bench {

void measureDecode(Session &session) {
  const int64_t keys = session.isQuick ? 2048 : 32768;
  for (DType dtype : {DType::F32, DType::BF16})
    for (int64_t kvHeads : {32, 8}) {
      const Case measured{.variant = "full",
                          .target = session.targets.front(),
                          .dtype = dtype,
                          .headDim = 128,
                          .queries = 1,
                          .keys = keys,
                          .heads = 32,
                          .kvHeads = kvHeads};
      PreparedCase prepared(session.context, measured);
      const Timing timing = timeTogether({[&] { prepared.run(); }}, session.timing)[0];
      nlohmann::json row = describe("decode", measured, timing, session.threads);
      row["gb_per_s"] = measured.bytes() / timing.best * 1e-9;
      session.add(row);
    }
}

} // namespace attnc::bench
