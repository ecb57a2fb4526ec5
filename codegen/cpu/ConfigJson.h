// Reads the JSON that the runtime writes (KernelConfig::toJson), and writes the compile
// info that goes back.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/cpu/KernelConfig.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace attnc::cpu {

// The "captures" of a configuration, none where it has none; false where one is malformed.
bool parseCaptures(const llvm::json::Object &config, std::vector<CaptureType> &captures);

// Also checks ranges: an error names the field.
llvm::Expected<KernelConfig> parseConfig(llvm::StringRef json);

std::string compileInfo(llvm::StringRef variant, const std::vector<ScheduleInfo> &schedules,
                        const std::vector<std::pair<std::string, double>> &timingsMs);

} // namespace attnc::cpu
