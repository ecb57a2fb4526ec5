// What a user of the installed package writes: a variant of their own, a kernel, a call.
#include <cmath>
#include <cstdio>
#include <vector>

#include <attnc/attnc.h>

static int fail(const char *what, const attnc::Error &error) {
  std::fprintf(stderr, "%s: %s\n", what, error.message.c_str());
  return 1;
}

int main() {
  auto variant = attnc::Variant::parse("variant windowed { mask_mod = 0 <= q_idx - kv_idx < 32; }", "windowed.attn");
  if (!variant)
    return fail("variant", variant.error());
  std::printf("%s", variant->ir().c_str());
  auto standard = attnc::Variant::load("std", "causal");
  if (!standard)
    return fail("std", standard.error());

  constexpr int64_t kRows = 100, kDim = 16;
  std::vector<float> q(kRows * kDim, 0.5f), k(kRows * kDim, 0.25f), v(kRows * kDim), o(kRows * kDim),
      expected(kRows * kDim);
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = std::sin(static_cast<float>(i));
  auto view = [](std::vector<float> &data) {
    return attnc::TensorView::contiguous(data.data(), attnc::DType::F32, {1, 1, kRows, kDim});
  };
  attnc::RunArguments arguments;
  arguments.query = view(q);
  arguments.key = view(k);
  arguments.value = view(v);
  arguments.output = view(expected);
  if (auto status = attnc::runReference(*variant, arguments); !status)
    return fail("reference", status.error());

  auto context = attnc::Context::create();
  if (!context)
    return fail("context", context.error());
  auto kernel = context->compile(*variant, {.headDim = kDim, .valueDim = kDim});
  if (!kernel && kernel.error().code == attnc::ErrorCode::NotFound) {
    std::printf("no compiler library installed: %s\n", kernel.error().message.c_str());
    return 0;
  }
  if (!kernel)
    return fail("compile", kernel.error());
  arguments.output = view(o);
  if (auto status = kernel->run(arguments); !status)
    return fail("run", status.error());
  for (size_t i = 0; i < o.size(); ++i)
    if (std::abs(o[i] - expected[i]) > 1e-5f) {
      std::fprintf(stderr, "output %zu: expected %g, found %g\n", i, expected[i], o[i]);
      return 1;
    }
  std::printf("kernel %.12s: %lld rows agree with the reference\n", kernel->info().key.c_str(),
              static_cast<long long>(kRows));
  return 0;
}
