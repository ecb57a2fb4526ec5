// Errors as values: what went wrong, in words a user can act on.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "attnc/Export.h"

namespace attnc {

enum class ErrorCode {
  InvalidArgument, // shapes, dtypes, strides, captures that do not fit the variant
  InvalidVariant,  // the .attn text is wrong; the message holds every diagnostic
  NotFound,        // no such file, variant, target
  Io,              // unreadable, truncated or unwritable file
  Unsupported,     // meaningful, but not done by this build or machine
  JitForbidden,    // not in the cache, and compiling was forbidden
  Internal,        // a defect of attnc
};

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
};

// A value or an Error. `if (!result) return result.error();`
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }
  T &operator*() & { return std::get<0>(state); }
  const T &operator*() const & { return std::get<0>(state); }
  T &&operator*() && { return std::get<0>(std::move(state)); }
  T *operator->() { return &std::get<0>(state); }
  const T *operator->() const { return &std::get<0>(state); }
  const Error &error() const { return std::get<1>(state); }

private:
  std::variant<T, Error> state;
};

// Success or an Error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failed(true), failure(std::move(error)) {}

  bool ok() const { return !failed; }
  explicit operator bool() const { return ok(); }
  const Error &error() const { return failure; }

private:
  bool failed = false;
  Error failure;
};

} // namespace attnc
