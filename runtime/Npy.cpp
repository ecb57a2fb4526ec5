// NumPy's .npy, versions 1 to 3: magic, version, header length, a Python dict of three
// keys, then the elements.
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attnc/Files.h"
#include "runtime/FileBytes.h"
#include "runtime/FileElements.h"

namespace attnc {

namespace {

struct Header {
  std::string descr;
  bool isFortran = false;
  std::vector<int64_t> shape;
};

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }: three keys in any
// order, and nothing else.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  bool parse(Header &header) {
    if (!take('{'))
      return false;
    int seen = 0;
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':'))
        return false;
      const bool isRead = key == "descr"           ? string(header.descr)
                          : key == "fortran_order" ? boolean(header.isFortran)
                          : key == "shape"         ? tuple(header.shape)
                                                   : false;
      if (!isRead)
        return false;
      seen |= key == "descr" ? 1 : key == "fortran_order" ? 2 : 4;
      take(',');
    }
    skipSpace();
    return seen == 7 && text.empty();
  }

private:
  void skipSpace() {
    const size_t start = text.find_first_not_of(" \n\t");
    text.remove_prefix(start == text.npos ? text.size() : start);
  }
  bool take(char expected) {
    skipSpace();
    if (text.empty() || text[0] != expected)
      return false;
    text.remove_prefix(1);
    return true;
  }
  bool string(std::string &into) {
    skipSpace();
    const char quote = text.empty() ? 0 : text[0];
    const size_t end = quote == '\'' || quote == '"' ? text.find(quote, 1) : text.npos;
    if (end == text.npos)
      return false;
    into = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return true;
  }
  bool boolean(bool &into) {
    skipSpace();
    into = text.starts_with("True");
    if (!into && !text.starts_with("False"))
      return false;
    text.remove_prefix(into ? 4 : 5);
    return true;
  }
  bool tuple(std::vector<int64_t> &into) {
    if (!take('('))
      return false;
    while (!take(')')) {
      skipSpace();
      int64_t size = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
      if (error != std::errc() || size < 0 || into.size() == kMaxFileRank)
        return false;
      text.remove_prefix(static_cast<size_t>(end - text.data()));
      into.push_back(size);
      if (!take(',') && !(skipSpace(), text.starts_with(')')))
        return false;
    }
    return true;
  }

  std::string_view text;
};

Error bad(const std::string &path, const std::string &what) {
  return {ErrorCode::Io, fmt::format("'{}' is no .npy file that can be read: {}", path, what)};
}

const char *npyDescr(DType dtype) {
  switch (dtype) {
  case DType::F32:
  case DType::BF16: // there is no bf16 in NumPy; f32 holds each value exactly
    return "<f4";
  case DType::F16:
    return "<f2";
  case DType::I32:
    return "<i4";
  case DType::I64:
    return "<i8";
  case DType::Bool:
    return "|b1";
  }
  return "";
}

// Calls body(pointer) for each element in row-major order.
template <typename Body> void forEachElement(const TensorView &view, Body body) {
  if (view.elements() == 0)
    return;
  std::vector<int64_t> index(view.shape.size(), 0);
  const char *at = static_cast<const char *>(view.data);
  const int64_t size = static_cast<int64_t>(dtypeSize(view.dtype));
  for (;;) {
    body(at);
    size_t axis = view.shape.size();
    while (axis-- > 0) {
      at += view.strides[axis] * size;
      if (++index[axis] < view.shape[axis])
        break;
      at -= view.strides[axis] * size * index[axis];
      index[axis] = 0;
    }
    if (axis == size_t(-1))
      return;
  }
}

} // namespace

Result<OwnedTensor> readNpy(const std::string &path) {
  Result<std::string> bytes = readBytes(path, kMaxFileBytes);
  if (!bytes)
    return bytes.error();
  std::string_view rest = *bytes;
  if (rest.size() < 10 || !rest.starts_with("\x93NUMPY"))
    return bad(path, "expected the magic bytes of NumPy's format");
  const int major = static_cast<uint8_t>(rest[6]);
  if (major < 1 || major > 3)
    return bad(path, fmt::format("expected format version 1 to 3, found {}", major));
  const size_t start = major == 1 ? 10 : 12;
  if (rest.size() < start)
    return bad(path, "it is truncated");
  size_t length = 0;
  for (size_t i = start; i-- > 8;)
    length = length << 8 | static_cast<uint8_t>(rest[i]);
  rest.remove_prefix(start);
  if (length > rest.size())
    return bad(path, fmt::format("its header needs {} bytes, the file has {}", length, rest.size()));
  Header header;
  if (!HeaderParser(rest.substr(0, length)).parse(header))
    return bad(path, "its header is malformed");
  if (header.isFortran)
    return Error{ErrorCode::Unsupported,
                 fmt::format("'{}' is in Fortran order; save it with numpy.ascontiguousarray", path)};
  std::optional<FileDtype> dtype;
  const std::pair<const char *, FileDtype> known[] = {
      {"<f4", FileDtype::F32}, {"<f2", FileDtype::F16},  {"<f8", FileDtype::F64}, {"<i4", FileDtype::I32},
      {"<i8", FileDtype::I64}, {"|b1", FileDtype::Bool}, {"|u1", FileDtype::U8}};
  for (const auto &[descr, candidate] : known)
    if (header.descr == descr)
      dtype = candidate;
  if (!dtype)
    return Error{ErrorCode::Unsupported,
                 fmt::format("'{}' holds dtype '{}'; expected one of <f4 <f2 <f8 <i4 <i8 |b1 |u1: convert it "
                             "with numpy's astype",
                             path, header.descr)};
  return readElements(path, *dtype, std::move(header.shape), rest.substr(length));
}

Status writeNpy(const std::string &path, const TensorView &view) {
  if (view.strides.size() != view.shape.size())
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("expected {} strides, found {}", view.shape.size(), view.strides.size())};
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", npyDescr(view.dtype),
                                   fmt::join(view.shape, ", "), view.rank() == 1 ? "," : "");
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  const size_t size = dtypeSize(view.dtype);
  forEachElement(view, [&](const char *element) {
    if (view.dtype == DType::BF16)
      bytes.append(2, '\0'); // bf16 is the high half of an f32
    bytes.append(element, size);
  });
  return writeBytes(path, bytes, 0644);
}

} // namespace attnc
