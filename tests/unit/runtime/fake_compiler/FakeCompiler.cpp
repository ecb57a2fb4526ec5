// attnc_compiler.h with one answer: the object of FakeKernel.c. Refuses configurations
// that the object was not written for, counts compiles, and can be made slow.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "compiler/attnc_compiler.h"

struct attnc_result {
  bool ok = false;
  std::string bytes, info, message;
};

#define EXPORT __attribute__((visibility("default")))

static std::atomic<int> compiles = 0;
extern "C" EXPORT int fake_compile_count() { return compiles; }

static std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '\n' ? std::string("\\n") : c == '"' ? std::string("\\\"") : std::string(1, c);
  return out;
}

static std::string schedule(const char *suffix, int blockM) {
  const int bytes = blockM * 6 * 4; // of the carry, and of the partial after it
  return std::string("{\"suffix\":\"") + suffix + "\",\"block_m\":" + std::to_string(blockM) +
         ",\"scratch_bytes\":" + std::to_string(2 * bytes) + ",\"partial_offset\":" + std::to_string(bytes) +
         ",\"partial_floats\":" + std::to_string(blockM * 6) + "}";
}

extern "C" {

EXPORT attnc_result *attnc_compile(const char *text, size_t size, const char *config, const char *stage) {
  auto *result = new attnc_result;
  const std::string variant(text, size), settings(config);
  if (std::string(stage) != "object") {
    result->ok = true;
    result->bytes = std::string(stage) + " of\n" + variant;
    return result;
  }
  ++compiles;
  if (const char *delay = std::getenv("FAKE_COMPILE_MS"))
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(delay)));
  if (variant.find("@broken") != variant.npos) {
    result->message = "broken.attn:1:2: error: this variant is broken";
    return result;
  }
  if (settings.find("\"head_dim\": 8, \"value_dim\": 4") == settings.npos ||
      settings.find("\"dtype\": \"f32\"") == settings.npos) {
    result->message = "the fake kernel is f32 with head dim 8 and value dim 4";
    return result;
  }
  std::ifstream file(FAKE_KERNEL, std::ios::binary);
  result->bytes.assign(std::istreambuf_iterator<char>(file), {});
  result->info = "{\"variant\":\"" + escaped(variant) + "\",\"schedules\":[" + schedule("_wide", 64) + "," +
                 schedule("_narrow", 16) + "],\"timings_ms\":{}}";
  result->ok = true;
  return result;
}

EXPORT int attnc_result_ok(const attnc_result *result) { return result->ok; }
EXPORT const char *attnc_result_bytes(const attnc_result *result, size_t *size) {
  *size = result->bytes.size();
  return result->bytes.data();
}
EXPORT const char *attnc_result_info(const attnc_result *result) { return result->info.c_str(); }
EXPORT size_t attnc_result_message_count(const attnc_result *result) { return !result->message.empty(); }
EXPORT const char *attnc_result_message(const attnc_result *result, size_t) { return result->message.c_str(); }
EXPORT void attnc_result_free(attnc_result *result) { delete result; }
EXPORT int attnc_compiler_abi(void) { return 1; }
EXPORT const char *attnc_compiler_build(void) { return "fake compiler"; }
}
