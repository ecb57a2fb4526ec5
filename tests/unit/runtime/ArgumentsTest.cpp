// Every complaint about a call, and that good calls become the right KernelArgs.
#include <bit>
#include <cmath>

#include "ir/Program.h"
#include "runtime/Arguments.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attnc;
using testing::HasSubstr;

namespace {

constexpr const char *kVariant = R"(attn.variant @sample {
  attn.capture @slopes : f32 [H]
  attn.capture @table : i32 [3, ?]
  attn.capture @rows : f32 [Q, KV]
  attn.scalar @window : i32
  attn.scalar @cap : f32 = 5.000000e+01 : f32
  attn.scalar @on : i1 = true
  attn.score_mod (%score: f32, %b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {
    attn.yield %score : f32
  }
}
)";

// A good call of batch 2, heads 4, kvHeads 2, 5 queries, 7 keys; tests spoil one thing.
struct Call {
  std::vector<float> memory = std::vector<float>(4096);
  std::vector<int32_t> integers = std::vector<int32_t>(64);
  cpu::KernelConfig config;
  RunArguments arguments;
  std::shared_ptr<Program> program;
  CallArguments read;

  Call() {
    ParsedProgram parsed = parseProgram(kVariant);
    EXPECT_TRUE(parsed.program.has_value()) << parsed.failure.message;
    program = std::make_shared<Program>(std::move(*parsed.program));
    config.headDim = 8;
    config.valueDim = 4;
    config.captures = {{"slopes", DType::F32}, {"table", DType::I32}, {"rows", DType::F32}};
    float *at = memory.data();
    auto tensor = [&](std::vector<int64_t> shape) {
      TensorView view = TensorView::contiguous(at, DType::F32, std::move(shape));
      at += view.elements();
      return view;
    };
    arguments.query = tensor({2, 4, 5, 8});
    arguments.key = tensor({2, 2, 7, 8});
    arguments.value = tensor({2, 2, 7, 4});
    arguments.output = tensor({2, 4, 5, 4});
    arguments.lse = tensor({2, 4, 5});
    arguments.bindings.captures = {{"slopes", tensor({4})},
                                   {"table", TensorView::contiguous(integers.data(), DType::I32, {3, 9})},
                                   {"rows", tensor({5, 7})}};
    arguments.bindings.params = {{"window", 128}};
  }
  TensorView &capture(int i) { return arguments.bindings.captures[i].view; }
  std::string error() {
    Status status = readArguments(*program, config, cpu::kBlockN, arguments, read);
    return status ? "" : status.error().message;
  }
};

} // namespace

TEST(Arguments, goodCallIsRead) {
  Call call;
  call.arguments.queryOffset = 0;
  ASSERT_EQ(call.error(), "");
  const cpu::KernelArgs &args = call.read.args;
  EXPECT_EQ(args.batch, 2);
  EXPECT_EQ(args.heads, 4);
  EXPECT_EQ(args.kvHeads, 2);
  EXPECT_EQ(args.queryLength, 5);
  EXPECT_EQ(args.kvLength, 7);
  EXPECT_EQ(args.keyStrides[1], 7 * 8);
  EXPECT_EQ(args.lseStrides[2], 1);
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(args.scaleBits)), static_cast<float>(1 / std::sqrt(8.0)));
  EXPECT_EQ(args.params[0], 128u);
  EXPECT_EQ(std::bit_cast<float>(args.params[1]), 50.f) << "the default";
  EXPECT_EQ(args.params[2], 1u);
  EXPECT_EQ(args.captures[1].shape[1], 9);
  EXPECT_EQ(args.captures[2].strides[0], 7);
}

TEST(Arguments, scaleOfCallThenOfVariant) {
  Call call;
  call.program->scale = 0.25f;
  ASSERT_EQ(call.error(), "");
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(call.read.args.scaleBits)), 0.25f);
  Call other;
  other.arguments.scale = 2.f;
  ASSERT_EQ(other.error(), "");
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(other.read.args.scaleBits)), 2.f);
}

TEST(Arguments, broadcastAndPermutedInputsAreFine) {
  Call call;
  call.arguments.query.strides[0] = 0; // one sequence for all batches
  call.arguments.key.strides = {0, 0, 8, 1};
  call.arguments.value.strides[2] = 0;
  call.arguments.output.strides = {80, 4, 16, 1}; // [batch, queryLength, heads, valueDim] in memory
  call.capture(0).strides = {0};
  EXPECT_EQ(call.error(), "");
}

TEST(Arguments, tensorComplaints) {
  auto complaint = [](auto spoil) {
    Call call;
    spoil(call, call.arguments);
    return call.error();
  };
  using A = RunArguments;
  EXPECT_THAT(complaint([](Call &, A &a) { a.query.shape.pop_back(); }),
              HasSubstr("query: expected rank 4 [batch, heads, queryLength, headDim], found f32[2, 4, 5]"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.key.strides.clear(); }), HasSubstr("key: expected 4 strides, found 0"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.value.shape[2] = -1; }), HasSubstr("value: expected sizes of 0 to"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.key.shape[2] = int64_t(1) << 31; }),
              HasSubstr("key: expected sizes of 0 to"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.value.data = nullptr; }), HasSubstr("value: expected memory"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.query.data = static_cast<char *>(a.query.data) + 1; }),
              HasSubstr("a multiple of 4"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.query.dtype = DType::F16; }),
              HasSubstr("query: expected f32, which the kernel was compiled for, found f16[2, 4, 5, 8]; convert it, or "
                        "compile with dtype f16"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.key.strides[3] = 2; }), HasSubstr("key: expected a last stride of 1"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.output.data = a.key.data; }),
              HasSubstr("output: expected memory of its own, found that of key"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.output.strides[0] = 0; }),
              HasSubstr("output: expected elements that do not overlap"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.output.strides[2] = 3; }),
              HasSubstr("output: expected elements that do not overlap"));
  EXPECT_THAT(complaint([](Call &c, A &) { c.config.headDim = 16; }), HasSubstr("compile with headDim 8"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.key.shape[0] = 1; }),
              HasSubstr("key: expected [2, kvHeads, kvLength, 8] as in query"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.key.shape[1] = 3; }),
              HasSubstr("key: expected a number of heads that divides query's 4"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.value.shape[2] = 6; }), HasSubstr("value: expected shape [2, 2, 7, 4]"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.output.shape[2] = 4; }), HasSubstr("output: expected shape [2, 4, 5, 4]"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.queryOffset = -1; }), HasSubstr("queryOffset: expected 0 to"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.queryOffset = INT32_MAX; }), HasSubstr("queryOffset: expected 0 to"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.lse->dtype = DType::I32; }), HasSubstr("lse: expected f32"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.lse->shape[1] = 3; }), HasSubstr("lse: expected shape [2, 4, 5]"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.lse->strides[0] = 0; }),
              HasSubstr("lse: expected elements that do not overlap"));
  EXPECT_THAT(complaint([](Call &, A &a) { a.scale = NAN; }), HasSubstr("scale: expected a finite number"));
}

TEST(Arguments, captureComplaints) {
  auto complaint = [](auto spoil) {
    Call call;
    spoil(call, call.arguments.bindings);
    return call.error();
  };
  EXPECT_THAT(complaint([](Call &, Bindings &b) { b.captures.erase(b.captures.begin()); }),
              HasSubstr("capture 'slopes': missing; variant 'sample' reads it"));
  EXPECT_THAT(complaint([](Call &, Bindings &b) { b.captures[0].name = "slope"; }),
              HasSubstr("did you mean 'slopes'?"));
  EXPECT_THAT(complaint([](Call &, Bindings &b) { b.captures[0].name = "completely_else"; }),
              HasSubstr("declares no such capture; it has 'slopes', 'table', 'rows'"));
  EXPECT_THAT(complaint([](Call &, Bindings &b) { b.captures.push_back(b.captures[0]); }),
              HasSubstr("expected once, found several"));
  EXPECT_THAT(complaint([](Call &c, Bindings &) { c.capture(0).dtype = DType::BF16; }),
              HasSubstr("compile with captureDtypes {\"slopes\", bf16}"));
  EXPECT_THAT(complaint([](Call &c, Bindings &) { c.capture(1).dtype = DType::F32; }),
              HasSubstr("capture 'table': expected i32"));
  EXPECT_THAT(complaint([](Call &c, Bindings &) { c.capture(1).shape = {27}; }), HasSubstr("expected rank 2"));
  EXPECT_THAT(complaint([](Call &c, Bindings &) { c.capture(0).shape = {2}; }),
              HasSubstr("capture 'slopes': expected axis 0 to be H = 4, found f32[2]"));
  EXPECT_THAT(complaint([](Call &c, Bindings &) { c.capture(1).shape[0] = 4; }), HasSubstr("expected axis 0 to be 3"));
  EXPECT_THAT(complaint([](Call &c, Bindings &) { c.capture(1).shape[1] = 0; }),
              HasSubstr("at least one element along axis 1"));
  EXPECT_THAT(complaint([](Call &c, Bindings &) { c.capture(1).shape[1] = int64_t(1) << 40; }),
              HasSubstr("any size up to"));
  EXPECT_THAT(complaint([](Call &c, Bindings &) { c.capture(2).data = nullptr; }),
              HasSubstr("capture 'rows': expected memory"));
  EXPECT_THAT(complaint([](Call &c, Bindings &) { c.arguments.queryOffset = 3; }),
              HasSubstr("expected axis 0 to be at least queryOffset + Q = 8"));
}

TEST(Arguments, paramComplaints) {
  auto complaint = [](const char *name, double value) {
    Call call;
    auto &params = call.arguments.bindings.params;
    if (std::string(name) == params[0].name)
      params[0].value = value;
    else
      params.push_back({name, value});
    return call.error();
  };
  Call missing;
  missing.arguments.bindings.params.clear();
  EXPECT_THAT(missing.error(), HasSubstr("param 'window': missing, and variant 'sample' gives no default"));
  EXPECT_THAT(complaint("windw", 1), HasSubstr("did you mean 'window'?"));
  EXPECT_THAT(complaint("window", 1.5), HasSubstr("an integer of 32 bits (i32), found 1.5"));
  EXPECT_THAT(complaint("window", 3e9), HasSubstr("an integer of 32 bits"));
  EXPECT_THAT(complaint("window", NAN), HasSubstr("an integer of 32 bits"));
  EXPECT_THAT(complaint("on", 2), HasSubstr("0 or 1 (bool)"));
  EXPECT_THAT(complaint("cap", 1e300), HasSubstr("within the range of f32"));
  EXPECT_EQ(complaint("cap", 0.1), "") << "f32 rounds";
  EXPECT_EQ(complaint("cap", INFINITY), "");
}

TEST(Arguments, blockMaskOfOtherSizesIsRefused) {
  Call call;
  call.arguments.bindings.captures.clear();
  auto variant =
      Variant::fromIr("attn.variant @plain {\n  attn.mask_mod (%b: i32, %h: i32, %q_idx: i32, %kv_idx: i32) {\n"
                      "    %0 = arith.cmpi sge, %q_idx, %kv_idx : i32\n    attn.yield %0 : i1\n  }\n}\n");
  ASSERT_TRUE(variant.ok()) << variant.error().message;
  Problem problem = {2, 4, 2, 5, 8, 8, 4, 0};
  auto mask = BlockMask::create(*variant, problem, {});
  ASSERT_TRUE(mask.ok()) << mask.error().message;
  Call other;
  other.arguments.blockMask = &*mask;
  EXPECT_THAT(other.error(),
              HasSubstr("kvLength 7, queryOffset 0, found one for batch 2, heads 4, queryLength 5, kvLength 8"));
  problem.kvLength = 7;
  auto wide = BlockMask::create(*variant, problem, {}, 64, 96);
  ASSERT_TRUE(wide.ok());
  other.arguments.blockMask = &*wide;
  EXPECT_THAT(other.error(), HasSubstr("make it with blockN = 64"));
}
