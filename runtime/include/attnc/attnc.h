// The C++ API of attnc.
//
//   auto variant = attnc::Variant::load("alibi.attn");
//   auto context = attnc::Context::create();
//   auto kernel = context->compile(*variant, {.dtype = attnc::DType::F32, .headDim = 64, .valueDim = 64});
//   auto status = kernel->run({.query = q, .key = k, .value = v, .output = o,
//                              .bindings = {.captures = {{"slopes", slopes}}}});
//
// Nothing throws; every call that can fail returns a Result or a Status.
#pragma once

#include "attnc/BlockMask.h"
#include "attnc/Context.h"
#include "attnc/Executor.h"
#include "attnc/Files.h"
#include "attnc/Status.h"
#include "attnc/Tensor.h"
#include "attnc/Variant.h"
