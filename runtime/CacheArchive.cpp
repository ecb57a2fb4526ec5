#include "runtime/CacheArchive.h"

#include <charconv>
#include <set>

#include <fmt/format.h>

#include "runtime/FileBytes.h"
#include "runtime/Sha256.h"

namespace attnc {

static constexpr std::string_view kFirstLine = "attnc cache export 1";
static constexpr uint64_t kMaxLine = 128;

Result<int64_t> exportCache(const KernelCache &cache, const std::string &path) {
  Result<FileWriter> file = FileWriter::create(path);
  if (!file)
    return file.error();
  Sha256 hash;
  Status status;
  auto write = [&](std::string_view bytes) {
    hash.update(bytes);
    if (status)
      status = file->write(bytes);
  };
  write(fmt::format("{}\n", kFirstLine));
  std::set<std::string> seen;
  for (const auto &layer : cache.layers())
    for (const Sidecar &listed : layer->list()) {
      if (seen.contains(listed.key.hex()))
        continue;
      const std::optional<CacheEntry> entry = layer->find(listed.key, /*isUse=*/false);
      if (!entry)
        continue; // a bad one is logged
      seen.insert(listed.key.hex());
      const std::string sidecar = sidecarText(listed.key, *entry);
      write(fmt::format("entry {} {}\n", sidecar.size(), entry->binary.size()));
      write(sidecar);
      write(entry->binary);
      if (!status)
        return status.error();
    }
  if (status)
    status = file->write(fmt::format("end {} {}\n", seen.size(), hash.hex()));
  if (status)
    status = file->commit(0600);
  if (!status)
    return status.error();
  return static_cast<int64_t>(seen.size());
}

namespace {

// Decimal digits and nothing else.
std::optional<uint64_t> readNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// The two words after `first` in a line of three; empty where it is no such line.
std::pair<std::string_view, std::string_view> wordsAfter(std::string_view first, std::string_view line) {
  if (!line.starts_with(first))
    return {};
  line.remove_prefix(first.size());
  const size_t space = line.find(' ');
  if (space == line.npos)
    return {};
  return {line.substr(0, space), line.substr(space + 1)};
}

class Importer {
public:
  Importer(KernelCache &cache, const std::string &path) : cache(cache), path(path) {}

  Result<Context::CacheImport> run() {
    if (!cache.userLayer())
      return Error{ErrorCode::InvalidArgument, "the cache is in memory only: expected a directory to import into"};
    Result<FileReader> file = FileReader::open(path);
    if (!file)
      return file.error();
    Result<std::string> line = readLine(*file);
    if (!line || *line != kFirstLine)
      return bad(fmt::format("expected a file that begins with '{}'", kFirstLine));
    for (;;) {
      line = readLine(*file);
      if (!line)
        return bad("it is truncated");
      if (auto [count, rest] = wordsAfter("end ", *line); !count.empty())
        return readNumber(count) == entries && rest == beforeLine && file->left() == 0
                   ? Result<Context::CacheImport>(report)
                   : bad("its last line does not fit what stands before it");
      const auto [sidecarText, binaryText] = wordsAfter("entry ", *line);
      const std::optional<uint64_t> sidecarBytes = readNumber(sidecarText), binaryBytes = readNumber(binaryText);
      if (!sidecarBytes || !binaryBytes)
        return bad("expected 'entry SIDECAR_BYTES BINARY_BYTES' or 'end ENTRIES SHA256'");
      if (Status read = readEntry(*file, *sidecarBytes, *binaryBytes); !read)
        return read.error();
    }
  }

private:
  // Sizes are held against what a cache may hold and what the file has before memory is taken.
  Status readEntry(FileReader &file, uint64_t sidecarBytes, uint64_t binaryBytes) {
    if (sidecarBytes > kMaxSidecarBytes || binaryBytes > kMaxBinaryBytes)
      return bad(fmt::format("an entry of {} + {} bytes, expected at most {} + {}", sidecarBytes, binaryBytes,
                             kMaxSidecarBytes, kMaxBinaryBytes));
    if (sidecarBytes + binaryBytes > file.left())
      return bad("it is truncated");
    Result<std::string> sidecar = file.read(sidecarBytes), binary = file.read(binaryBytes);
    if (!sidecar || !binary)
      return sidecar ? binary.error() : sidecar.error();
    hash.update(*sidecar);
    hash.update(*binary);
    ++entries;
    return publish(*sidecar, *std::move(binary));
  }

  Status publish(const std::string &text, std::string binary) {
    Result<Sidecar> sidecar = readSidecar(text);
    const std::string problem = sidecar ? binaryMismatch(*sidecar, binary) : "the sidecar: " + sidecar.error().message;
    if (!problem.empty()) {
      report.refused.push_back(fmt::format("entry {}: {}", entries, problem));
      return {};
    }
    if (cache.userLayer()->find(sidecar->key)) {
      ++report.present;
      return {};
    }
    sidecar->entry.binary = std::move(binary);
    if (Status written = cache.userLayer()->write(sidecar->key, sidecar->entry); !written)
      return written;
    ++report.imported;
    return {};
  }

  Result<std::string> readLine(FileReader &file) {
    Result<std::string> line = file.readLine(kMaxLine);
    if (line) {
      beforeLine = Sha256(hash).hex();
      hash.update(*line);
      hash.update("\n");
    }
    return line;
  }

  Error bad(const std::string &what) const {
    return {ErrorCode::Io,
            fmt::format("cannot import '{}': {}; {} entries before that were imported", path, what, report.imported)};
  }

  KernelCache &cache;
  const std::string &path;
  Sha256 hash;
  std::string beforeLine; // the hash of all that stands before the line read last
  uint64_t entries = 0;
  Context::CacheImport report;
};

} // namespace

Result<Context::CacheImport> importCache(KernelCache &cache, const std::string &path) {
  return Importer(cache, path).run();
}

} // namespace attnc
