// An attention variant: checked, not yet compiled.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attnc/Status.h"
#include "attnc/Tensor.h"

namespace attnc {

struct Program;

// Immutable and cheap to copy.
class ATTNC_EXPORT Variant {
public:
  // Reads `path` and picks the variant `name`; an empty name picks the only one.
  // `path` may be "std" for the standard library's own variants.
  static Result<Variant> load(const std::string &path, const std::string &name = "");
  // The same from text; `fileName` is what messages call it. Imports resolve against
  // its folder, then the standard library.
  static Result<Variant> parse(std::string_view text, const std::string &fileName, const std::string &name = "");
  // From the text form of the attn dialect (one attn.variant).
  static Result<Variant> fromIr(std::string_view text);
  // From a front end's own Program (ir/Program.h; not installed).
  static Variant fromProgram(std::shared_ptr<const Program> program);
  // The names of the variants that a file defines, in order.
  static Result<std::vector<std::string>> list(const std::string &path);

  const std::string &name() const;
  // The text of the attn dialect, as the front end made it.
  std::string ir(bool withLocations = false) const;

  const Program &program() const { return *state; }

private:
  explicit Variant(std::shared_ptr<const Program> program) : state(std::move(program)) {}
  std::shared_ptr<const Program> state;
};

} // namespace attnc
