// Names of instruction families, the host's own, and the JSON that keys are made of.
#include "codegen/cpu/KernelConfig.h"
#include "nlohmann/json.hpp"
#include "gtest/gtest.h"

using namespace attnc;
using namespace attnc::cpu;

TEST(Isa, namesRoundTrip) {
  for (Isa isa : {Isa::Sse, Isa::Avx2, Isa::Avx512, Isa::Avx512Bf16, Isa::Neon})
    EXPECT_EQ(isaFromName(isaName(isa)), isa);
  EXPECT_FALSE(isaFromName("mmx").has_value());
}

TEST(Isa, theHostRunsItsOwnAndAllBelow) {
  EXPECT_TRUE(hostRuns(hostIsa()));
#if defined(__x86_64__)
  for (int i = 0; i < static_cast<int>(hostIsa()); ++i)
    EXPECT_TRUE(hostRuns(static_cast<Isa>(i))) << i;
  EXPECT_FALSE(hostRuns(Isa::Neon));
#endif
}

TEST(KernelConfig, printsJsonWithEveryField) {
  KernelConfig config;
  config.isa = Isa::Avx2;
  config.dtype = DType::BF16;
  config.headDim = 96;
  config.valueDim = 80;
  config.splitSize = 512;
  config.captures = {{"slopes", DType::F16}, {"doc", DType::I64}};
  auto json = nlohmann::json::parse(config.toJson());
  EXPECT_EQ(json["isa"], "avx2");
  EXPECT_EQ(json["dtype"], "bf16");
  EXPECT_EQ(json["head_dim"], 96);
  EXPECT_EQ(json["value_dim"], 80);
  EXPECT_EQ(json["split_size"], 512);
  EXPECT_EQ(json["captures"][1]["name"], "doc");
  EXPECT_EQ(json["captures"][1]["dtype"], "i64");
}
